//! `provider_5`: Scrape.do. The response body is the page. The headers are the target's, plus
//! metadata in `scrape.do-*` headers. The vendor's JSON response is used for screenshots only.

use serde::Deserialize;
use serde_json::{Value, json};
use trawl_sdk::provider::{
    Abilities, Class, Cost, Description, Failure, Page, Provider, Reply, Request, Screenshot, Step,
    Task,
};

/// Adapter for the Scrape.do Web Scraping API.
pub struct ScrapeDo;

const TOKEN: &str = "PROVIDER5_TOKEN";
const CREDIT: &str = "credit";
/// Prefix of the vendor's own headers among the target's.
const VENDOR_PREFIX: &str = "scrape.do-";
/// Headers that describe the connection to the vendor, not the target's response.
const CONNECTION_HEADERS: [&str; 2] = ["content-encoding", "content-length"];
/// Range of the `timeout` parameter in milliseconds.
const TIMEOUT_MS: (u32, u32) = (5_000, 120_000);
/// Time for the vendor to deliver the response after `timeout` has passed.
const GRACE_MS: u32 = 5_000;

trawl_sdk::export!(provider: ScrapeDo);

impl Provider for ScrapeDo {
    type Settings = ();

    fn describe() -> Description {
        let always = Abilities::SERVES
            | Abilities::HEADERS
            | Abilities::COOKIES
            | Abilities::COUNTRY
            | Abilities::RESIDENTIAL
            | Abilities::BODY
            | Abilities::BINARY
            | Abilities::TARGET_HEADERS
            | Abilities::TARGET_COOKIES
            | Abilities::FINAL_URL;
        let in_browser = Abilities::FIXED_WAIT
            | Abilities::WAIT_SELECTOR
            | Abilities::SCRIPT
            | Abilities::SCREENSHOT;
        Description::new(
            "provider_5",
            env!("CARGO_PKG_VERSION"),
            "Scrape.do (Web Scraping API)",
            "https://api.scrape.do",
        )
        .credentials(&[TOKEN])
        .hosts(&["api.scrape.do"])
        .plain(always)
        .rendered(always | in_browser)
        .units(&[CREDIT])
        .seconds(90)
    }

    fn start(task: &Task, (): ()) -> Result<Step, Failure> {
        let timeout = task.time_ms.saturating_sub(GRACE_MS);
        let headers = task.extra_headers();
        let has_headers = !headers.is_empty();
        // The vendor ignores `setCookies` when headers are forwarded; cookies are then sent as a
        // header.
        let (in_query, in_header) = if has_headers {
            (None, task.cookie_line())
        } else {
            (task.cookies_with(";"), None)
        };
        let request = Request::new(&task.method, task.at("/"))
            .secret_query("token", TOKEN)
            .query("url", &task.url)
            .query("render", if task.javascript { "true" } else { "false" })
            .query("transparentResponse", "true")
            .query("disableRetry", "true")
            .query(
                "timeout",
                &timeout.clamp(TIMEOUT_MS.0, TIMEOUT_MS.1).to_string(),
            )
            .query_if(task.is_residential(), "super", "true")
            .query_some("geoCode", task.country_lower())
            .query_some("setCookies", in_query.map(|pairs| format!("{pairs};")))
            .query_if(has_headers, "extraHeaders", "true")
            .prefixed_headers("sd-", &headers)
            .header_some("sd-Cookie", in_header)
            .header_some("Content-Type", task.body_type())
            .body(task.body.clone());
        let script = task
            .script
            .as_ref()
            .map(|script| json!([{"Action": "Execute", "Execute": script}]).to_string());
        let request = request
            .query_if(task.javascript, "blockResources", "false")
            .query_some("customWait", task.wait_ms.map(|ms| ms.to_string()))
            .query_some(
                "waitSelector",
                task.wait_for.as_ref().map(|wait| &wait.selector),
            )
            .query_some("playWithBrowser", script)
            .query_if(task.screenshot.is_some(), "returnJSON", "true")
            .query_if(
                task.screenshot == Some(Screenshot::Window),
                "screenShot",
                "true",
            )
            .query_if(
                task.screenshot == Some(Screenshot::FullPage),
                "fullScreenShot",
                "true",
            );
        Ok(request.send())
    }

    fn resume(task: &Task, (): (), _memo: &[u8], reply: &Reply<'_>) -> Result<Step, Failure> {
        let Some(status) = reply.number("scrape.do-initial-status-code") else {
            return Err(failure(reply));
        };
        let cost = Cost::reported_or_unknown(CREDIT, reply.header("scrape.do-request-cost"));
        let mut headers = reply.passed_headers(VENDOR_PREFIX);
        headers.retain(|(name, _)| !CONNECTION_HEADERS.contains(&name.as_str()));
        let page = match task.screenshot {
            Some(_) => {
                // This is the type of the JSON envelope, not of the page.
                headers.retain(|(name, _)| name != "content-type");
                from_json(task, reply)?
            }
            None => Page::of_reply(task),
        };
        Ok(page
            .status(status)
            .cookie_line(reply.header("scrape.do-cookies"))
            .url(reply.header("scrape.do-resolved-url"))
            .headers(headers)
            .request_id(request_id(reply))
            .cost(cost)
            .done())
    }
}

fn request_id<'a>(reply: &'a Reply<'_>) -> Option<&'a str> {
    let id = reply.header("scrape.do-request-id");
    id.or_else(|| reply.header("scrape.do-rid"))
}

/// Response with `returnJSON=true`; only the fields in use.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct JsonResponse {
    content: String,
    #[serde(default)]
    screen_shots: Option<Vec<Shot>>,
}

#[derive(Deserialize)]
struct Shot {
    image: Option<String>,
}

fn from_json(task: &Task, reply: &Reply<'_>) -> Result<Page, Failure> {
    let response: JsonResponse = reply.json()?;
    let page = Page::of_text(task, response.content);
    let mut shots = response.screen_shots.into_iter().flatten();
    let image = shots.find_map(|shot| shot.image.filter(|image| !image.is_empty()));
    page.screenshot_base64(image.as_deref())
}

/// Classifies a response without the target's status: the target has not answered.
fn failure(reply: &Reply<'_>) -> Failure {
    let problem: Value = reply.json().unwrap_or_default();
    let words = match &problem["Message"] {
        Value::String(text) => text.clone(),
        Value::Array(lines) => {
            let lines = lines.iter().filter_map(Value::as_str);
            lines.collect::<Vec<_>>().join(" ")
        }
        _ => String::new(),
    };
    let mentions = |word: &str| words.to_lowercase().contains(word);
    let class = match reply.status {
        // 401 means a wrong token as well as an exhausted or suspended account; only the message
        // tells them apart. The causes next to it may name both.
        401 if mentions("credit") || mentions("suspend") || mentions("limit") => Class::NoCredit,
        // The vendor reports an unreachable target in the same way.
        502 => Class::TargetBlocked,
        510 => Class::ProviderTimeout,
        status => Class::of_status(status),
    };
    let words = Some(words.as_str()).filter(|words| !words.is_empty());
    let code = match (&problem["ErrorCode"], &problem["ErrorType"]) {
        (Value::String(code), _) => Some(code.clone()),
        (Value::Number(code), _) => Some(code.to_string()),
        (_, Value::String(kind)) => Some(kind.clone()),
        _ => None,
    };
    Failure::quoting_some(class, reply, words)
        .code_some(code.as_deref())
        .request_id(request_id(reply))
}

#[cfg(test)]
mod tests {
    use trawl_sdk::provider::{Charged, Content, Credential, Pool, WaitFor};
    use trawl_sdk::testkit::{converse, pair, reply};

    use super::*;

    fn task() -> Task {
        Task::new("https://shop.example/a?b=1&c=2#d", "https://api.scrape.do")
    }

    #[test]
    fn a_minimal_request_states_its_switches() {
        let cookies = vec![pair("n", "v"), pair("m", "w")];
        let talk = converse::<ScrapeDo>(&Task { cookies, ..task() }, &[]);
        let request = talk.first();
        assert_eq!(
            request.url,
            "https://api.scrape.do/?url=https%3A%2F%2Fshop.example%2Fa%3Fb%3D1%26c%3D2%23d\
             &render=false&transparentResponse=true&disableRetry=true&timeout=55000\
             &setCookies=n%3Dv%3Bm%3Dw%3B"
        );
        let token = Credential::Query("token".to_owned(), TOKEN.to_owned());
        assert_eq!(request.credentials, [token]);
        assert_eq!((request.method.as_str(), request.headers.len()), ("GET", 0));
    }

    #[test]
    fn a_request_has_every_option() {
        let task = Task {
            method: "POST".to_owned(),
            body: b"x=1".to_vec(),
            headers: vec![pair("Accept", "a/b")],
            cookies: vec![pair("n", "v"), pair("m", "w")],
            javascript: true,
            wait_ms: Some(1_500),
            wait_for: Some(WaitFor {
                selector: "#x".to_owned(),
                time_ms: 5_000,
            }),
            script: Some("go(\"&\")".to_owned()),
            country: Some("US".to_owned()),
            pool: Pool::Residential,
            screenshot: Some(Screenshot::Window),
            time_ms: 600_000,
            ..task()
        };
        let talk = converse::<ScrapeDo>(&task, &[]);
        let request = talk.first();
        let check = |name: &str, value: &str| {
            assert_eq!(request.query_value(name).as_deref(), Some(value), "{name}");
        };
        check("url", &task.url);
        check("render", "true");
        check("blockResources", "false");
        check("customWait", "1500");
        check("waitSelector", "#x");
        check(
            "playWithBrowser",
            r#"[{"Action":"Execute","Execute":"go(\"&\")"}]"#,
        );
        check("geoCode", "us");
        check("super", "true");
        check("extraHeaders", "true");
        check("screenShot", "true");
        check("returnJSON", "true");
        check("timeout", "120000");
        assert_eq!(request.query_value("setCookies"), None);
        assert_eq!(request.query_value("fullScreenShot"), None);
        assert_eq!(
            request.headers,
            [
                pair("sd-Accept", "a/b"),
                pair("sd-Cookie", "n=v; m=w"),
                pair("Content-Type", "application/x-www-form-urlencoded")
            ]
        );
        assert_eq!(
            (request.method.as_str(), request.body.as_slice()),
            ("POST", b"x=1".as_slice())
        );
        let screenshot = Some(Screenshot::FullPage);
        let talk = converse::<ScrapeDo>(&Task { screenshot, ..task }, &[]);
        let full = talk.first().query_value("fullScreenShot");
        assert_eq!(full.as_deref(), Some("true"));
    }

    #[test]
    fn the_type_of_a_body_is_that_of_the_call() {
        let json = pair("Content-Type", "application/json");
        let task = Task {
            method: "POST".to_owned(),
            body: b"{}".to_vec(),
            headers: vec![json.clone()],
            cookies: vec![pair("n", "v")],
            ..task()
        };
        let talk = converse::<ScrapeDo>(&task, &[]);
        let request = talk.first();
        assert_eq!(request.query_value("extraHeaders"), None);
        assert_eq!(request.query_value("setCookies").as_deref(), Some("n=v;"));
        assert_eq!(request.headers, [json]);
    }

    #[test]
    fn the_body_is_the_page_and_headers_are_metadata() {
        let headers = [
            ("scrape.do-initial-status-code", "404"),
            ("scrape.do-resolved-url", "https://shop.example/gone"),
            ("scrape.do-request-cost", "1"),
            ("scrape.do-cookies", "n=v;m=w;"),
            ("scrape.do-rid", "r1"),
            ("transfer-encoding", "chunked"),
            ("content-type", "text/html"),
        ];
        let talk = converse::<ScrapeDo>(&task(), &[reply(404, &headers, b"gone".as_slice())]);
        let page = talk.page();
        assert_eq!((page.status, &page.content), (Some(404), &Content::Reply));
        assert_eq!(page.url.as_deref(), Some("https://shop.example/gone"));
        let headers = [pair("content-type", "text/html")];
        assert_eq!(page.headers.as_deref(), Some(headers.as_slice()));
        assert_eq!(page.cookies, [pair("n", "v"), pair("m", "w")]);
        assert_eq!(page.request_id.as_deref(), Some("r1"));
        assert_eq!(page.cost, Cost::reported(CREDIT, "1").expect("a number"));
    }

    #[test]
    fn cookies_may_be_headers_and_the_cost_may_be_missing() {
        let headers = [
            ("scrape.do-initial-status-code", "200"),
            ("set-cookie", "n=v; Path=/"),
        ];
        let talk = converse::<ScrapeDo>(&task(), &[reply(200, &headers, b"".as_slice())]);
        assert_eq!(talk.page().cookies, [pair("n", "v")]);
        assert_eq!(talk.page().cost, Cost::unknown());
    }

    #[test]
    fn a_screenshot_comes_in_json() {
        let task = Task {
            javascript: true,
            screenshot: Some(Screenshot::Window),
            ..task()
        };
        let headers = [
            ("scrape.do-initial-status-code", "200"),
            ("content-type", "application/json"),
        ];
        let body = json!({
            "statusCode": 200, "content": "<p>",
            "screenShots": [{"type": "ScreenShot", "image": "AQI=", "error": ""}],
        });
        let answered = reply(200, &headers, body.to_string().into_bytes());
        let talk = converse::<ScrapeDo>(&task, &[answered]);
        let page = talk.page();
        assert_eq!(page.content, Content::Text("<p>".to_owned()));
        assert_eq!(page.screenshot.as_deref(), Some([1, 2].as_slice()));
        assert_eq!(page.headers.as_deref(), Some([].as_slice()));
        let talk = converse::<ScrapeDo>(&task, &[reply(200, &headers, b"<p>".as_slice())]);
        assert_eq!(talk.class(), Class::Drift);
    }

    #[test]
    fn failures_have_their_classes() {
        let check = |status: u16, words: &str, expected: Class| {
            let body = json!({
                "StatusCode": status, "Message": [words], "ErrorType": "kind", "ErrorCode": 17,
                "PossibleCauses": ["the token is wrong", "no credits are left"],
            });
            let headers = [("retry-after", "2"), ("scrape.do-request-id", "r1")];
            let answered = reply(status, &headers, body.to_string().into_bytes());
            let talk = converse::<ScrapeDo>(&task(), &[answered]);
            let failure = talk.failure();
            assert_eq!(failure.class, expected, "{status} {words}");
            assert_eq!(
                failure.message,
                format!("responded with status {status}: {words}")
            );
            assert_eq!(failure.code.as_deref(), Some("17"));
            assert_eq!(failure.retry_after, Some(2));
            assert_eq!(failure.request_id.as_deref(), Some("r1"));
            assert_eq!(failure.cost.charged, Charged::No);
        };
        check(400, "wrong parameter", Class::BadRequest);
        check(401, "token not found", Class::BadKey);
        check(401, "Your subscription is suspended", Class::NoCredit);
        check(401, "You have no credits left", Class::NoCredit);
        check(402, "pay first", Class::NoCredit);
        check(429, "too many", Class::RateLimited);
        check(502, "target failed", Class::TargetBlocked);
        check(510, "canceled", Class::ProviderTimeout);
        check(405, "not allowed", Class::BadRequest);
        check(408, "late", Class::ProviderTimeout);
        check(500, "oops", Class::ProviderError);
        check(200, "hm", Class::Drift);
        let talk = converse::<ScrapeDo>(&task(), &[reply(503, &[], b"<html>".as_slice())]);
        assert_eq!(
            (talk.class(), &talk.failure().code),
            (Class::ProviderError, &None)
        );
    }
}
