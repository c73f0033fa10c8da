//! `provider_11`: Decodo Web Scraping API. The response is JSON with the page as text.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use trawl_sdk::provider::{
    Abilities, Class, Cost, Description, Failure, Page, Provider, Reply, Request, Step, Task,
    base64, country_name, header_object,
};

/// Adapter for the Decodo Web Scraping API.
pub struct Decodo;

const USERNAME: &str = "PROVIDER11_USERNAME";
const PASSWORD: &str = "PROVIDER11_PASSWORD";
/// Price table units, by proxy pool and by rendering.
const UNITS: [&str; 4] = ["standard", "standard_js", "premium", "premium_js"];
/// Maximum URL length in characters.
const URL_CHARS_MAX: usize = 2056;
/// Target statuses that the vendor treats as success, so that it returns their bodies.
const SUCCESSFUL_STATUSES: [u16; 8] = [400, 401, 403, 404, 410, 429, 500, 503];
/// Statuses from here on are the vendor's own and mean a failed task.
const VENDOR_STATUS_MIN: u16 = 600;

trawl_sdk::export!(provider: Decodo);

impl Provider for Decodo {
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
        Description::new(
            "provider_11",
            env!("CARGO_PKG_VERSION"),
            "Decodo (Web Scraping API)",
            "https://scraper-api.decodo.com",
        )
        .credentials(&[USERNAME, PASSWORD])
        .hosts(&["scraper-api.decodo.com"])
        .plain(always)
        .rendered(always)
        .units(&UNITS)
        .seconds(185)
    }

    fn start(task: &Task, (): ()) -> Result<Step, Failure> {
        if task.url.chars().count() > URL_CHARS_MAX {
            let message =
                format!("the vendor accepts no URL longer than {URL_CHARS_MAX} characters");
            return Err(Failure::new(Class::Unsupported, message));
        }
        let request = Request::post(task.at("/v2/scrape"))
            .basic(Some(USERNAME), Some(PASSWORD))
            .header("accept", "application/json");
        Ok(request.json(&request_body(task)?).send())
    }

    fn resume(task: &Task, (): (), _memo: &[u8], reply: &Reply<'_>) -> Result<Step, Failure> {
        if reply.status != 200 {
            return Err(failure(reply));
        }
        let response: Response = reply.json()?;
        let Some(result) = response.results.into_iter().next() else {
            let class = match response.status.as_deref() {
                Some("failed") => Class::TargetBlocked,
                _ => Class::Drift,
            };
            return Err(Failure::quoting(
                class,
                reply,
                &response.message.unwrap_or_default(),
            ));
        };
        let id = result.task_id.as_ref().map(Value::to_string);
        let id = id.as_deref().map(|id| id.trim_matches('"'));
        let status = result.status_code;
        if status >= VENDOR_STATUS_MIN {
            let message = format!("the task failed with status {status}");
            let failure = Failure::new(Class::TargetBlocked, message);
            return Err(failure.code(&status.to_string()).request_id(id));
        }
        let page = match result.content {
            Value::String(text) => Page::of_text(task, text),
            Value::Null => return Err(Failure::of_reply(Class::Drift, reply).request_id(id)),
            parsed => Page::of_text(task, parsed.to_string()),
        };
        let cookies = result.cookies.unwrap_or_default().into_iter();
        let page = page
            .status(status)
            .url(result.url.as_deref())
            .cookies(cookies.map(|cookie| (cookie.key, cookie.value)).collect())
            .request_id(id)
            .cost(Cost::listed(unit(task)));
        Ok(page.header_object(result.headers.as_ref()).done())
    }
}

/// The body of the request. The vendor rejects unknown fields.
fn request_body(task: &Task) -> Result<Value, Failure> {
    // By default the vendor may use the more expensive pool.
    let pool = if task.is_residential() {
        "premium"
    } else {
        "standard"
    };
    let mut body = json!({
        "target": "universal",
        "url": task.url,
        "proxy_pool": pool,
        "successful_status_codes": SUCCESSFUL_STATUSES,
    });
    // Rendering is off only if `headless` is absent.
    if task.javascript {
        body["headless"] = "html".into();
    }
    if let Some(code) = &task.country {
        let unknown = || {
            Failure::new(
                Class::Unsupported,
                format!("the vendor does not support the country `{code}`"),
            )
        };
        body["geo"] = country_name(code).ok_or_else(unknown)?.into();
    }
    if !task.headers.is_empty() {
        body["headers"] = header_object(&task.headers);
        body["force_headers"] = true.into();
    }
    if !task.cookies.is_empty() {
        let cookies = task.cookies.iter().cloned();
        body["cookies"] = cookies.collect();
        body["force_cookies"] = true.into();
    }
    if task.method != "GET" {
        body["http_method"] = task.method.to_lowercase().into();
    }
    if !task.body.is_empty() {
        body["payload"] = base64(&task.body).into();
    }
    Ok(body)
}

/// Unit of the price table.
fn unit(task: &Task) -> &'static str {
    let pool = if task.is_residential() { 2 } else { 0 };
    UNITS[pool + usize::from(task.javascript)]
}

/// Response with results; only the fields in use.
#[derive(Deserialize)]
struct Response {
    #[serde(default)]
    results: Vec<TaskResult>,
    status: Option<String>,
    message: Option<String>,
}

#[derive(Deserialize)]
struct TaskResult {
    #[serde(default)]
    content: Value,
    status_code: u16,
    url: Option<String>,
    task_id: Option<Value>,
    headers: Option<Map<String, Value>>,
    cookies: Option<Vec<Cookie>>,
}

#[derive(Deserialize)]
struct Cookie {
    #[serde(alias = "name")]
    key: String,
    value: String,
}

/// Classifies a response without results.
fn failure(reply: &Reply<'_>) -> Failure {
    #[derive(Deserialize)]
    struct Error {
        message: String,
    }
    let words = reply.json().map(|error: Error| error.message);
    let words = words.unwrap_or_else(|_| reply.text().into_owned());
    let mentions = |word: &str| words.to_lowercase().contains(word);
    let class = match reply.status {
        // An exhausted account has the status of a rate limit, or of a wrong password; only the
        // message tells them apart.
        401 | 403 | 429 if mentions("out of") || mentions("credit") || mentions("quota") => {
            Class::NoCredit
        }
        status => Class::of_status(status),
    };
    Failure::quoting(class, reply, &words)
}

#[cfg(test)]
mod tests {
    use trawl_sdk::provider::{Charged, Content, Credential, Pool};
    use trawl_sdk::testkit::{converse, pair, reply};

    use super::*;

    fn task() -> Task {
        Task::new(
            "https://shop.example/a?b=1&c=2#d",
            "https://scraper-api.decodo.com",
        )
    }

    #[test]
    fn a_minimal_request() {
        let talk = converse::<Decodo>(&task(), &[]);
        let request = talk.first();
        assert_eq!(
            (request.method.as_str(), request.url.as_str()),
            ("POST", "https://scraper-api.decodo.com/v2/scrape")
        );
        let credentials = Credential::Basic(Some(USERNAME.to_owned()), Some(PASSWORD.to_owned()));
        assert_eq!(request.credentials, [credentials]);
        assert!(
            request
                .headers
                .contains(&pair("accept", "application/json"))
        );
        let expected = json!({
            "target": "universal",
            "url": task().url,
            "proxy_pool": "standard",
            "successful_status_codes": [400, 401, 403, 404, 410, 429, 500, 503],
        });
        assert_eq!(request.body_json(), expected);
    }

    #[test]
    fn a_request_has_every_option() {
        let wished = Task {
            method: "POST".to_owned(),
            body: b"x=1".to_vec(),
            headers: vec![pair("Accept", "text/html")],
            cookies: vec![pair("a", "1")],
            javascript: true,
            country: Some("DE".to_owned()),
            pool: Pool::Residential,
            ..task()
        };
        let expected = json!({
            "target": "universal",
            "url": wished.url,
            "proxy_pool": "premium",
            "successful_status_codes": [400, 401, 403, 404, 410, 429, 500, 503],
            "headless": "html",
            "geo": "Germany",
            "headers": {"Accept": "text/html"},
            "force_headers": true,
            "cookies": {"a": "1"},
            "force_cookies": true,
            "http_method": "post",
            "payload": "eD0x",
        });
        assert_eq!(
            converse::<Decodo>(&wished, &[]).first().body_json(),
            expected
        );
    }

    #[test]
    fn unsupported_tasks_are_not_sent() {
        let check = |task: &Task| {
            let talk = converse::<Decodo>(task, &[]);
            assert_eq!(
                (talk.class(), talk.requests().len()),
                (Class::Unsupported, 0)
            );
        };
        let url = |n_chars: usize| format!("https://shop.example/{}", "x".repeat(n_chars - 21));
        check(&Task {
            url: url(2057),
            ..task()
        });
        check(&Task {
            country: Some("XX".to_owned()),
            ..task()
        });
        let longest = Task {
            url: url(2056),
            ..task()
        };
        assert_eq!(converse::<Decodo>(&longest, &[]).requests().len(), 1);
    }

    fn answer(status: u16) -> Reply<'static> {
        let result = json!({
            "content": "gone",
            "status_code": status,
            "url": "https://shop.example/gone",
            "task_id": "7",
            "headers": {"content-type": "text/html"},
            "cookies": [{"key": "a", "value": "b"}],
        });
        reply(
            200,
            &[],
            json!({"results": [result]}).to_string().into_bytes(),
        )
    }

    #[test]
    fn the_page_is_in_the_first_result() {
        let check = |javascript: bool, pool: Pool, unit: &str, variant: &str| {
            let talk = converse::<Decodo>(
                &Task {
                    javascript,
                    pool,
                    ..task()
                },
                &[answer(404)],
            );
            let page = talk.page();
            assert_eq!(
                (page.status, &page.content),
                (Some(404), &Content::Text("gone".to_owned()))
            );
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
                (page.variant.as_str(), page.rendered),
                (variant, Some(javascript))
            );
            assert_eq!(page.cost, Cost::listed(unit));
        };
        check(false, Pool::Standard, "standard", "plain");
        check(true, Pool::Standard, "standard_js", "js");
        check(false, Pool::Residential, "premium", "residential");
        check(true, Pool::Residential, "premium_js", "js_residential");
    }

    #[test]
    fn failures_have_their_classes() {
        let check = |status: u16, body: &'static str, expected: Class| {
            let answered = reply(status, &[("Retry-After", "7")], body.as_bytes());
            let talk = converse::<Decodo>(&task(), &[answered]);
            assert_eq!(talk.class(), expected, "{status} {body}");
            assert_eq!(talk.failure().cost.charged, Charged::No);
        };
        check(
            200,
            r#"{"status":"failed","message":"no"}"#,
            Class::TargetBlocked,
        );
        check(
            200,
            r#"{"results":[{"content":"","status_code":613}]}"#,
            Class::TargetBlocked,
        );
        check(200, r#"{"results":[]}"#, Class::Drift);
        check(200, r#"{"results":[{"status_code":200}]}"#, Class::Drift);
        check(200, "<html>", Class::Drift);
        check(204, "", Class::Drift);
        check(400, r#"{"errors":[]}"#, Class::BadRequest);
        check(422, r#"{"errors":[]}"#, Class::BadRequest);
        check(402, "", Class::NoCredit);
        check(401, "", Class::BadKey);
        check(403, "", Class::BadKey);
        check(
            401,
            r#"{"message":"Your plan has no credit left"}"#,
            Class::NoCredit,
        );
        check(404, "", Class::BadRequest);
        check(408, "", Class::ProviderTimeout);
        check(504, "", Class::ProviderTimeout);
        check(429, "Too many requests", Class::RateLimited);
        check(429, r#"{"message":"Out of requests"}"#, Class::NoCredit);
        check(500, "oops", Class::ProviderError);
        check(524, "", Class::ProviderTimeout);
        let talk = converse::<Decodo>(&task(), &[answer(612)]);
        assert_eq!(
            (
                talk.failure().code.as_deref(),
                talk.failure().request_id.as_deref()
            ),
            (Some("612"), Some("7"))
        );
        let slow = reply(
            429,
            &[("Retry-After", "7")],
            br#"{"message":"slow down"}"#.as_slice(),
        );
        let talk = converse::<Decodo>(&task(), &[slow]);
        assert_eq!(
            talk.failure().message,
            "responded with status 429: slow down"
        );
        assert_eq!(talk.failure().retry_after, Some(7));
    }
}
