//! `provider_10`: Oxylabs Web Scraper API, realtime integration. The response is JSON. The page in
//! it is base64 without a browser, so that any media type survives, and text with one.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use trawl_sdk::provider::{
    Abilities, Class, Cost, Description, Failure, Page, Provider, Reply, Request, Step, Task,
    base64, country_name, header_object,
};

/// Adapter for the Oxylabs Web Scraper API.
pub struct Oxylabs;

const USERNAME: &str = "PROVIDER10_USERNAME";
const PASSWORD: &str = "PROVIDER10_PASSWORD";
const PLAIN: &str = "plain";
const RENDERED: &str = "rendered";
/// Target statuses that the vendor treats as success, so that it returns their bodies.
const SUCCESSFUL_STATUSES: [u16; 8] = [400, 401, 403, 404, 410, 429, 500, 503];
/// Added to the message of a rejected credential.
const NEWER_KEYS: &str = "; this API takes a user name and a password, keys of the vendor's newer product (`webapi…`) do not fit";
/// Statuses from here on are the vendor's own and mean a failed job.
const VENDOR_STATUS_MIN: u16 = 600;
/// Countries whose names in the vendor's list differ from [`country_name`].
const COUNTRY_NAMES: [(&str, &str); 10] = [
    ("AX", "Aaland Islands"),
    ("BN", "Brunei Darussalam"),
    ("BO", "Bolivia Plurinational State of"),
    ("BQ", "Bonaire Sint Eustatius and Saba"),
    ("CC", "Cocos Keeling Islands"),
    ("CD", "Congo the Democratic Republic of the"),
    ("CG", "Congo"),
    ("CI", "Côte dIvoire"),
    ("IR", "Iran Islamic Republic of"),
    ("VA", "Holy See"),
];

trawl_sdk::export!(provider: Oxylabs);

impl Provider for Oxylabs {
    type Settings = ();

    fn describe() -> Description {
        let always = Abilities::SERVES
            | Abilities::HEADERS
            | Abilities::COOKIES
            | Abilities::COUNTRY
            | Abilities::RESIDENTIAL
            | Abilities::BODY
            | Abilities::TARGET_HEADERS
            | Abilities::TARGET_COOKIES
            | Abilities::FINAL_URL;
        let in_browser = Abilities::FIXED_WAIT | Abilities::WAIT_SELECTOR;
        Description::new(
            "provider_10",
            env!("CARGO_PKG_VERSION"),
            "Oxylabs (Web Scraper API)",
            "https://realtime.oxylabs.io",
        )
        .credentials(&[USERNAME, PASSWORD])
        .hosts(&["realtime.oxylabs.io"])
        .plain(always | Abilities::BINARY)
        .rendered(always | in_browser)
        .units(&[PLAIN, RENDERED])
        .seconds(180)
    }

    fn start(task: &Task, (): ()) -> Result<Step, Failure> {
        let mut body = json!({"source": "universal", "url": task.url, "context": context(task)});
        // Rendering is off only if `render` is absent.
        if task.javascript {
            body["render"] = "html".into()
        } else {
            body["content_encoding"] = "base64".into()
        }
        let instructions = instructions(task);
        if !instructions.is_empty() {
            body["browser_instructions"] = instructions.into();
        }
        if let Some(code) = &task.country {
            body["geo_location"] = country(code)?.into();
        }
        let request = Request::post(task.at("/v1/queries")).basic(Some(USERNAME), Some(PASSWORD));
        Ok(request.json(&body).send())
    }

    fn resume(task: &Task, (): (), _memo: &[u8], reply: &Reply<'_>) -> Result<Step, Failure> {
        if reply.status != 200 {
            return Err(failure(reply));
        }
        let response: Response = reply.json()?;
        let Some(result) = response.results.into_iter().next() else {
            return Err(Failure::of_reply(Class::Drift, reply));
        };
        let id = result.job_id.as_ref().map(Value::to_string);
        let id = id.as_deref().map(|id| id.trim_matches('"'));
        let id = id.or(reply.header("x-oxylabs-job-id"));
        let status = result.status_code;
        if status >= VENDOR_STATUS_MIN {
            let message = format!("the job failed with status {status}");
            let failure = Failure::new(Class::TargetBlocked, message);
            return Err(failure.code(&status.to_string()).request_id(id));
        }
        let page = match result.content {
            Value::String(text) if task.javascript => Page::of_text(task, text),
            // The vendor does not honour `content_encoding` for every page.
            Value::String(text) => match Page::of_base64(task, &text) {
                Ok(page) => page,
                Err(_) => Page::of_text(task, text),
            },
            Value::Null => return Err(Failure::of_reply(Class::Drift, reply).request_id(id)),
            parsed => Page::of_text(task, parsed.to_string()),
        };
        let page = page
            .status(status)
            .url(result.url.as_deref())
            .request_id(id);
        let page = match result.response {
            Some(response) => with_metadata(page, response),
            None => page,
        };
        Ok(page.cost(cost(task, status)).done())
    }
}

/// The `context` parameter: everything about the request to the target.
fn context(task: &Task) -> Value {
    let mut context = vec![
        json!({"key": "successful_status_codes", "value": SUCCESSFUL_STATUSES}),
        json!({"key": "follow_redirects", "value": true}),
    ];
    if !task.headers.is_empty() {
        context.push(json!({"key": "force_headers", "value": true}));
        context.push(json!({"key": "headers", "value": header_object(&task.headers)}));
    }
    if !task.cookies.is_empty() {
        let cookies = task.cookies.iter();
        let cookies = cookies.map(|(name, value)| json!({"key": name, "value": value}));
        context.push(json!({"key": "force_cookies", "value": true}));
        context.push(json!({"key": "cookies", "value": cookies.collect::<Value>()}));
    }
    if task.method != "GET" {
        context.push(json!({"key": "http_method", "value": task.method.to_lowercase()}));
    }
    if !task.body.is_empty() {
        context.push(json!({"key": "content", "value": base64(&task.body)}));
    }
    context.into()
}

/// The `browser_instructions` parameter. Times are in seconds.
fn instructions(task: &Task) -> Vec<Value> {
    let mut instructions = Vec::new();
    if let Some(wait) = &task.wait_for {
        instructions.push(json!({
            "type": "wait_for_element",
            "selector": {"type": "css", "value": wait.selector},
            "timeout_s": wait.time_ms.div_ceil(1000),
        }));
    }
    if let Some(ms) = task.wait_ms {
        instructions.push(json!({"type": "wait", "wait_time_s": ms.div_ceil(1000)}));
    }
    instructions
}

/// The vendor's name of a country.
fn country(code: &str) -> Result<&'static str, Failure> {
    let vendor_name = COUNTRY_NAMES.iter().find(|(known, _)| *known == code);
    let name = vendor_name
        .map(|(_, name)| *name)
        .or_else(|| country_name(code));
    name.ok_or_else(|| {
        Failure::new(
            Class::Unsupported,
            format!("the vendor does not support the country `{code}`"),
        )
    })
}

/// Cost according to the price table: a result is charged unless the target failed.
fn cost(task: &Task, status: u16) -> Cost {
    match (status / 100, task.javascript) {
        (2 | 4, false) => Cost::listed(PLAIN),
        (2 | 4, true) => Cost::listed(RENDERED),
        _ => Cost::free(),
    }
}

/// Response with results; only the fields in use.
#[derive(Deserialize)]
struct Response {
    #[serde(default)]
    results: Vec<JobResult>,
}

#[derive(Deserialize)]
struct JobResult {
    #[serde(default)]
    content: Value,
    status_code: u16,
    url: Option<String>,
    job_id: Option<Value>,
    #[serde(rename = "_response")]
    response: Option<TargetResponse>,
}

/// Metadata of the target's response.
#[derive(Deserialize)]
struct TargetResponse {
    headers: Option<Map<String, Value>>,
    cookies: Option<Vec<Cookie>>,
}

#[derive(Deserialize)]
struct Cookie {
    #[serde(alias = "name")]
    key: String,
    value: String,
}

fn with_metadata(page: Page, response: TargetResponse) -> Page {
    let cookies = response.cookies.unwrap_or_default().into_iter();
    let page = page.cookies(cookies.map(|cookie| (cookie.key, cookie.value)).collect());
    page.header_object(response.headers.as_ref())
}

/// Classifies a response without results.
fn failure(reply: &Reply<'_>) -> Failure {
    #[derive(Deserialize)]
    struct Error {
        message: String,
    }
    let words = reply.json().map(|error: Error| error.message);
    let words = words.unwrap_or_else(|_| reply.text().into_owned());
    let class = match reply.status {
        // The job is not finished.
        204 => Class::ProviderTimeout,
        // An exhausted account has the status of a rate limit, or of a wrong password; only the
        // message tells them apart.
        401 | 403 | 429 if words.to_lowercase().contains("out of") => Class::NoCredit,
        // The vendor's word for a service that is not available.
        524 => Class::ProviderError,
        status => Class::of_status(status),
    };
    let mut failure = Failure::quoting(class, reply, &words);
    if reply.status == 401 && class == Class::BadKey {
        failure.message.push_str(NEWER_KEYS);
    }
    failure.request_id(reply.header("x-oxylabs-job-id"))
}

#[cfg(test)]
mod tests {
    use trawl_sdk::provider::{Charged, Content, Credential, Pool, WaitFor};
    use trawl_sdk::testkit::{converse, pair, reply};

    use super::*;

    fn task() -> Task {
        Task::new(
            "https://shop.example/a?b=1&c=2#d",
            "https://realtime.oxylabs.io",
        )
    }

    fn rendered() -> Task {
        Task {
            javascript: true,
            ..task()
        }
    }

    #[test]
    fn a_minimal_request() {
        let talk = converse::<Oxylabs>(&task(), &[]);
        let request = talk.first();
        assert_eq!(
            (request.method.as_str(), request.url.as_str()),
            ("POST", "https://realtime.oxylabs.io/v1/queries")
        );
        let credentials = Credential::Basic(Some(USERNAME.to_owned()), Some(PASSWORD.to_owned()));
        assert_eq!(request.credentials, [credentials]);
        let context = json!([
            {"key": "successful_status_codes", "value": [400, 401, 403, 404, 410, 429, 500, 503]},
            {"key": "follow_redirects", "value": true},
        ]);
        let expected = json!({"source": "universal", "url": task().url, "content_encoding": "base64", "context": context});
        assert_eq!(request.body_json(), expected);
        let expected =
            json!({"source": "universal", "url": task().url, "render": "html", "context": context});
        assert_eq!(
            converse::<Oxylabs>(&rendered(), &[]).first().body_json(),
            expected
        );
    }

    #[test]
    fn a_request_has_every_option() {
        let wished = Task {
            method: "POST".to_owned(),
            body: b"x=1".to_vec(),
            headers: vec![pair("Accept", "text/html")],
            cookies: vec![pair("a", "1")],
            wait_ms: Some(1500),
            wait_for: Some(WaitFor {
                selector: "#x".to_owned(),
                time_ms: 5000,
            }),
            country: Some("DE".to_owned()),
            pool: Pool::Residential,
            ..rendered()
        };
        let expected = json!({
            "source": "universal",
            "url": wished.url,
            "render": "html",
            "geo_location": "Germany",
            "browser_instructions": [
                {"type": "wait_for_element", "selector": {"type": "css", "value": "#x"}, "timeout_s": 5},
                {"type": "wait", "wait_time_s": 2},
            ],
            "context": [
                {"key": "successful_status_codes", "value": [400, 401, 403, 404, 410, 429, 500, 503]},
                {"key": "follow_redirects", "value": true},
                {"key": "force_headers", "value": true},
                {"key": "headers", "value": {"Accept": "text/html"}},
                {"key": "force_cookies", "value": true},
                {"key": "cookies", "value": [{"key": "a", "value": "1"}]},
                {"key": "http_method", "value": "post"},
                {"key": "content", "value": "eD0x"},
            ],
        });
        assert_eq!(
            converse::<Oxylabs>(&wished, &[]).first().body_json(),
            expected
        );
    }

    #[test]
    fn countries_have_the_names_of_the_vendor() {
        assert!(
            COUNTRY_NAMES
                .iter()
                .all(|(code, name)| country_name(code).is_some_and(|usual| usual != *name))
        );
        assert_eq!(country("IR").ok(), Some("Iran Islamic Republic of"));
        assert_eq!(country("US").ok(), Some("United States"));
        let nowhere = Task {
            country: Some("XX".to_owned()),
            ..task()
        };
        assert_eq!(
            converse::<Oxylabs>(&nowhere, &[]).class(),
            Class::Unsupported
        );
    }

    fn answer(content: &str, status: u16) -> Reply<'static> {
        let result = json!({
            "content": content,
            "status_code": status,
            "url": "https://shop.example/gone",
            "job_id": "7",
            "_response": {
                "headers": {"content-type": "text/html"},
                "cookies": [{"key": "a", "value": "b", "path": "/"}],
            },
        });
        reply(
            200,
            &[],
            json!({"results": [result]}).to_string().into_bytes(),
        )
    }

    #[test]
    fn the_page_is_in_the_first_result() {
        let check = |task: &Task, content: &str, expected: Content, unit: &str| {
            let talk = converse::<Oxylabs>(task, &[answer(content, 404)]);
            let page = talk.page();
            assert_eq!((page.status, &page.content), (Some(404), &expected));
            assert_eq!(page.url.as_deref(), Some("https://shop.example/gone"));
            assert_eq!(
                page.headers.as_deref(),
                Some([pair("content-type", "text/html")].as_slice())
            );
            assert_eq!(
                (page.cookies.as_slice(), page.request_id.as_deref()),
                ([pair("a", "b")].as_slice(), Some("7"))
            );
            assert_eq!(
                (page.rendered, &page.cost),
                (Some(task.javascript), &Cost::listed(unit))
            );
        };
        check(&task(), "Z29uZQ==", Content::Bytes(b"gone".to_vec()), PLAIN);
        check(
            &rendered(),
            "gone",
            Content::Text("gone".to_owned()),
            RENDERED,
        );
        // Text although base64 was requested.
        check(
            &task(),
            "<p>gone</p>",
            Content::Text("<p>gone</p>".to_owned()),
            PLAIN,
        );
        let talk = converse::<Oxylabs>(&rendered(), &[answer("oops", 503)]);
        assert_eq!(
            (talk.page().status, talk.page().cost.charged),
            (Some(503), Charged::No)
        );
        let bare = br#"{"results":[{"content":{"a":1},"status_code":200,"job_id":8}]}"#.as_slice();
        let talk = converse::<Oxylabs>(&task(), &[reply(200, &[], bare)]);
        let page = talk.page();
        assert_eq!(
            (&page.content, page.request_id.as_deref()),
            (&Content::Text(r#"{"a":1}"#.to_owned()), Some("8"))
        );
        assert_eq!((&page.url, &page.headers), (&None, &None));
    }

    #[test]
    fn failures_have_their_classes() {
        let check = |status: u16, body: &'static str, expected: Class| {
            let facts = [("Retry-After", "7"), ("x-oxylabs-job-id", "9")];
            let talk = converse::<Oxylabs>(&task(), &[reply(status, &facts, body.as_bytes())]);
            assert_eq!(talk.class(), expected, "{status} {body}");
            assert_eq!(talk.failure().cost.charged, Charged::No);
        };
        check(
            200,
            r#"{"results":[{"content":"","status_code":612}]}"#,
            Class::TargetBlocked,
        );
        check(
            200,
            r#"{"results":[{"content":"","status_code":613}]}"#,
            Class::TargetBlocked,
        );
        check(200, r#"{"results":[]}"#, Class::Drift);
        check(200, r#"{"results":[{"content":"Z28="}]}"#, Class::Drift);
        check(200, r#"{"results":[{"status_code":200}]}"#, Class::Drift);
        check(200, "<html>", Class::Drift);
        check(202, "{}", Class::Drift);
        check(204, "", Class::ProviderTimeout);
        check(400, r#"{"message":"no"}"#, Class::BadRequest);
        check(422, r#"{"message":"no"}"#, Class::BadRequest);
        check(401, "", Class::BadKey);
        check(402, "", Class::NoCredit);
        check(403, "", Class::BadKey);
        check(
            403,
            r#"{"message":"You are out of total requests"}"#,
            Class::NoCredit,
        );
        check(404, "", Class::BadRequest);
        check(408, "", Class::ProviderTimeout);
        check(
            429,
            r#"{"message":"Too many requests"}"#,
            Class::RateLimited,
        );
        check(
            429,
            r#"{"message":"You are out of total requests"}"#,
            Class::NoCredit,
        );
        check(500, "oops", Class::ProviderError);
        check(504, "", Class::ProviderTimeout);
        check(524, "", Class::ProviderError);
        let talk = converse::<Oxylabs>(&task(), &[reply(401, &[], b"".as_slice())]);
        let message = &talk.failure().message;
        assert!(message.contains("`webapi…`"), "{message}");
        let talk = converse::<Oxylabs>(&task(), &[answer("", 612)]);
        assert_eq!(
            (
                talk.failure().code.as_deref(),
                talk.failure().request_id.as_deref()
            ),
            (Some("612"), Some("7"))
        );
        let refused = reply(
            429,
            &[("Retry-After", "7"), ("x-oxylabs-job-id", "9")],
            br#"{"message":"slow down"}"#.as_slice(),
        );
        let talk = converse::<Oxylabs>(&task(), &[refused]);
        assert_eq!(
            talk.failure().message,
            "responded with status 429: slow down"
        );
        assert_eq!(
            (
                talk.failure().retry_after,
                talk.failure().request_id.as_deref()
            ),
            (Some(7), Some("9"))
        );
    }
}
