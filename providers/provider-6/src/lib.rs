//! `provider_6`: ZenRows Universal Scraper API. The response is the page with the target's status,
//! and metadata in `Zr-*` and `X-Request-*` headers. The vendor's JSON response is used for
//! screenshots only.

use serde::Deserialize;
use serde_json::{Value, json};
use trawl_sdk::provider::{
    Abilities, Class, Cost, Description, Failure, Page, Provider, Reply, Request, Screenshot, Step,
    Task,
};

/// Adapter for the ZenRows Universal Scraper API.
pub struct ZenRows;

const KEY: &str = "PROVIDER6_API_KEY";
const CREDIT: &str = "credit";
const PREFIX: &str = "zr-";
/// `Zr-*` headers that the vendor sets itself; the others are the target's.
const VENDOR_ZR_HEADERS: [&str; 2] = ["cookies", "final-url"];
/// Other headers that only the vendor sends.
const VENDOR_HEADERS: [&str; 4] = [
    "x-request-credits",
    "x-request-cost",
    "x-request-id",
    "concurrency-limit",
];
/// Error code of a 404 from the target.
const TARGET_NOT_FOUND: &str = "RESP002";
/// What the vendor's error codes start with; a number follows.
const CODE_PREFIXES: [&str; 5] = ["AUTH", "BLK", "CTX", "REQS", "RESP"];
/// Maximum of the `wait` parameter in milliseconds.
const WAIT_MS_MAX: u32 = 30_000;

trawl_sdk::export!(provider: ZenRows);

impl Provider for ZenRows {
    type Settings = ();

    fn describe() -> Description {
        let always = Abilities::SERVES
            | Abilities::HEADERS
            | Abilities::COOKIES
            | Abilities::COUNTRY_RESIDENTIAL
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
            "provider_6",
            env!("CARGO_PKG_VERSION"),
            "ZenRows (Universal Scraper API)",
            "https://api.zenrows.com",
        )
        .credentials(&[KEY])
        .hosts(&["api.zenrows.com"])
        .plain(always)
        .rendered(always | in_browser)
        .units(&[CREDIT, "plain", "js", "residential", "js_residential"])
        .seconds(180)
    }

    fn start(task: &Task, (): ()) -> Result<Step, Failure> {
        let mut names = task.headers.iter().map(|(name, _)| name);
        if names.any(|name| name.eq_ignore_ascii_case("authorization")) {
            // The host uses this header to authenticate with the vendor.
            let message = "the header `authorization` does not reach the target";
            return Err(Failure::new(Class::Unsupported, message));
        }
        let (headers, cookies) = (task.extra_headers(), task.cookie_line());
        let custom_headers = !headers.is_empty() || cookies.is_some();
        let request = Request::new(&task.method, task.at("/v1/"))
            .secret_query("apikey", KEY)
            .query("url", &task.url)
            .query("js_render", if task.javascript { "true" } else { "false" })
            .query("original_status", "true")
            // A 404 costs the same without its body.
            .query("allowed_status_codes", "404")
            .query_if(task.is_residential(), "premium_proxy", "true")
            .query_some("proxy_country", task.country_lower())
            .query_if(custom_headers, "custom_headers", "true")
            .prefixed_headers("", &headers)
            .header_some("Cookie", cookies)
            .header_some("Content-Type", task.body_type())
            .body(task.body.clone());
        let wait = task.wait_ms.map(|ms| ms.min(WAIT_MS_MAX).to_string());
        let script = task
            .script
            .as_ref()
            .map(|script| json!([{"evaluate": script}]).to_string());
        let request = request
            .query_some("wait", wait)
            .query_some(
                "wait_for",
                task.wait_for.as_ref().map(|wait| &wait.selector),
            )
            .query_some("js_instructions", script)
            .query_if(task.screenshot.is_some(), "json_response", "true")
            .query_if(task.screenshot.is_some(), "screenshot_format", "png")
            .query_if(
                task.screenshot == Some(Screenshot::Window),
                "screenshot",
                "true",
            )
            .query_if(
                task.screenshot == Some(Screenshot::FullPage),
                "screenshot_fullpage",
                "true",
            );
        Ok(request.send())
    }

    fn resume(task: &Task, (): (), _memo: &[u8], reply: &Reply<'_>) -> Result<Step, Failure> {
        let page = match problem(reply) {
            // The body is the vendor's; the target's is not delivered.
            Some(problem) if problem.code == TARGET_NOT_FOUND => {
                Page::of_text(task, "").status(404)
            }
            Some(problem) => return Err(problem_failure(&problem, reply)),
            None if !has_vendor_headers(reply) => return Err(unmarked_failure(reply)),
            None => match task.screenshot {
                Some(_) => from_json(task, reply)?,
                None => Page::of_reply(task).content_type(reply.header("content-type")),
            }
            .status(reply.status),
        };
        let mut headers = reply.headers_after(PREFIX);
        headers.retain(|(name, _)| !VENDOR_ZR_HEADERS.contains(&name.as_str()));
        let cost = credits(reply).unwrap_or_else(|| Cost::listed(task.variant()));
        Ok(page
            .cookie_line(reply.header("zr-cookies"))
            .url(reply.header("zr-final-url"))
            .headers(headers)
            .request_id(reply.header("x-request-id"))
            .cost(cost)
            .done())
    }
}

/// Credits charged, as reported by the vendor.
fn credits(reply: &Reply<'_>) -> Option<Cost> {
    Cost::reported(CREDIT, reply.header("x-request-credits")?)
}

/// Whether the response has any of the vendor's headers.
fn has_vendor_headers(reply: &Reply<'_>) -> bool {
    let mut names = reply.headers.iter().map(|(name, _)| name.as_str());
    names.any(|name| name.starts_with(PREFIX) || VENDOR_HEADERS.contains(&name))
}

/// Response with `json_response=true`; only the fields in use.
#[derive(Deserialize)]
struct JsonResponse {
    html: String,
    #[serde(default)]
    screenshot: Value,
}

fn from_json(task: &Task, reply: &Reply<'_>) -> Result<Page, Failure> {
    let response: JsonResponse = reply.json()?;
    let page = Page::of_text(task, response.html);
    // Either the image itself or an object that contains it.
    let image = response.screenshot.as_str();
    page.screenshot_base64(image.or(response.screenshot["data"].as_str()))
}

/// Problem document (RFC 9457) of a failed request.
#[derive(Deserialize)]
struct Problem {
    code: String,
    title: Option<String>,
    detail: Option<String>,
}

/// The vendor's problem document, if this is one. Only its media type and code distinguish it from
/// a problem document of the target. Some have the media type of any JSON; there the code must be
/// one of the vendor's.
fn problem(reply: &Reply<'_>) -> Option<Problem> {
    let media = reply.header("content-type")?.to_lowercase();
    if media.starts_with("application/problem+json") {
        return reply.json().ok();
    }
    if reply.status < 400 || !media.starts_with("application/json") {
        return None;
    }
    let problem: Problem = reply.json().ok()?;
    is_vendor_code(&problem.code).then_some(problem)
}

/// Whether this is a code of the vendor: a known prefix and a number.
fn is_vendor_code(code: &str) -> bool {
    let mut numbers = CODE_PREFIXES.iter().filter_map(|it| code.strip_prefix(it));
    numbers.any(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

fn problem_failure(problem: &Problem, reply: &Reply<'_>) -> Failure {
    let class = match problem.code.as_str() {
        "AUTH001" | "AUTH002" | "AUTH003" | "AUTH009" | "BLK0001" => Class::BadKey,
        "AUTH004" | "AUTH005" | "AUTH010" | "AUTH011" | "AUTH012" => Class::NoCredit,
        "AUTH006" | "AUTH008" => Class::RateLimited,
        "REQS001" | "REQS002" | "RESP001" | "RESP006" => Class::TargetBlocked,
        "RESP007" => Class::TargetUnreachable,
        "RESP003" | "RESP005" => Class::ProviderError,
        "CTX0002" => Class::ProviderTimeout,
        "REQS007" => Class::BadRequest,
        _ => class_of_status(reply.status),
    };
    // A blocked domain, a page that is too large, missing data: a retry does not help.
    let is_permanent = matches!(
        problem.code.as_str(),
        "REQS001" | "RESP005" | "no_data_extracted"
    );
    let words = problem.detail.as_deref().or(problem.title.as_deref());
    Failure::quoting_some(class, reply, words)
        .code(&problem.code)
        .retryable(is_permanent.then_some(false))
        .request_id(reply.header("x-request-id"))
        .cost(credits(reply).unwrap_or_else(Cost::free))
}

/// Classifies a response without any of the vendor's headers.
fn unmarked_failure(reply: &Reply<'_>) -> Failure {
    Failure::of_reply(class_of_status(reply.status), reply)
}

fn class_of_status(status: u16) -> Class {
    match status {
        422 | 424 => Class::TargetBlocked,
        _ => Class::of_status(status),
    }
}

#[cfg(test)]
mod tests {
    use trawl_sdk::provider::{Charged, Content, Credential, Pool, WaitFor};
    use trawl_sdk::testkit::{converse, pair, reply};

    use super::*;

    fn task() -> Task {
        Task::new(
            "https://shop.example/a?b=1&c=2#d",
            "https://api.zenrows.com",
        )
    }

    fn refused(status: u16, code: &str) -> Reply<'static> {
        let body = json!({"code": code, "title": "Title", "detail": "Words", "status": status});
        let headers = [
            ("content-type", "application/problem+json; charset=utf-8"),
            ("retry-after", "2"),
            ("x-request-id", "r1"),
        ];
        reply(status, &headers, body.to_string().into_bytes())
    }

    #[test]
    fn a_minimal_request_states_its_switches() {
        let talk = converse::<ZenRows>(&task(), &[]);
        let request = talk.first();
        assert_eq!(
            request.url,
            "https://api.zenrows.com/v1/?url=https%3A%2F%2Fshop.example%2Fa%3Fb%3D1%26c%3D2%23d\
             &js_render=false&original_status=true&allowed_status_codes=404"
        );
        let key = Credential::Query("apikey".to_owned(), KEY.to_owned());
        assert_eq!(request.credentials, [key]);
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
            wait_ms: Some(60_000),
            wait_for: Some(WaitFor {
                selector: "#x".to_owned(),
                time_ms: 5_000,
            }),
            script: Some("go(\"&\")".to_owned()),
            country: Some("US".to_owned()),
            pool: Pool::Residential,
            screenshot: Some(Screenshot::FullPage),
            ..task()
        };
        let talk = converse::<ZenRows>(&task, &[]);
        let request = talk.first();
        let check = |name: &str, value: &str| {
            assert_eq!(request.query_value(name).as_deref(), Some(value), "{name}");
        };
        check("url", &task.url);
        check("js_render", "true");
        check("original_status", "true");
        check("premium_proxy", "true");
        check("proxy_country", "us");
        check("custom_headers", "true");
        check("wait", "30000");
        check("wait_for", "#x");
        check("js_instructions", r#"[{"evaluate":"go(\"&\")"}]"#);
        check("json_response", "true");
        check("screenshot_fullpage", "true");
        check("screenshot_format", "png");
        assert_eq!(request.query_value("screenshot"), None);
        assert_eq!(
            request.headers,
            [
                pair("Accept", "a/b"),
                pair("Cookie", "n=v; m=w"),
                pair("Content-Type", "application/x-www-form-urlencoded")
            ]
        );
        assert_eq!(
            (request.method.as_str(), request.body.as_slice()),
            ("POST", b"x=1".as_slice())
        );
    }

    #[test]
    fn the_type_of_a_body_is_no_custom_header() {
        let json = pair("Content-Type", "application/json");
        let task = Task {
            method: "POST".to_owned(),
            body: b"{}".to_vec(),
            headers: vec![json.clone()],
            ..task()
        };
        let talk = converse::<ZenRows>(&task, &[]);
        assert_eq!(talk.first().query_value("custom_headers"), None);
        assert_eq!(talk.first().headers, [json]);
    }

    #[test]
    fn the_authorization_header_is_refused() {
        let headers = vec![pair("Authorization", "Basic x")];
        let talk = converse::<ZenRows>(&Task { headers, ..task() }, &[]);
        assert_eq!(talk.class(), Class::Unsupported);
    }

    #[test]
    fn the_body_is_the_page_and_headers_are_metadata() {
        let headers = [
            ("Zr-Final-Url", "https://shop.example/down"),
            ("Zr-Content-Type", "text/html"),
            ("Zr-Cookies", "n=v; m=w"),
            ("X-Request-Credits", "10"),
            ("X-Request-Id", "r1"),
        ];
        let talk = converse::<ZenRows>(&task(), &[reply(503, &headers, b"down".as_slice())]);
        let page = talk.page();
        assert_eq!((page.status, &page.content), (Some(503), &Content::Reply));
        assert_eq!(page.url.as_deref(), Some("https://shop.example/down"));
        let headers = [pair("content-type", "text/html")];
        assert_eq!(page.headers.as_deref(), Some(headers.as_slice()));
        assert_eq!(page.cookies, [pair("n", "v"), pair("m", "w")]);
        assert_eq!(page.request_id.as_deref(), Some("r1"));
        assert_eq!(page.cost, Cost::reported(CREDIT, "10").expect("a number"));
    }

    #[test]
    fn without_reported_credits_the_price_table_applies() {
        let units = ZenRows::describe().units;
        let check = |javascript: bool, pool: Pool, unit: &str| {
            let task = Task {
                javascript,
                pool,
                ..task()
            };
            let answered = reply(200, &[("x-request-id", "r1")], b"".as_slice());
            let talk = converse::<ZenRows>(&task, &[answered]);
            assert_eq!(talk.page().cost, Cost::listed(unit));
            assert!(units.iter().any(|known| known == unit));
        };
        check(false, Pool::Standard, "plain");
        check(true, Pool::Standard, "js");
        check(false, Pool::Residential, "residential");
        check(true, Pool::Residential, "js_residential");
    }

    #[test]
    fn a_problem_of_the_target_is_its_page() {
        let headers = [
            ("content-type", "application/problem+json"),
            ("x-request-credits", "1"),
        ];
        let body = br#"{"title":"of the target"}"#.as_slice();
        let talk = converse::<ZenRows>(&task(), &[reply(409, &headers, body)]);
        let page = talk.page();
        assert_eq!((page.status, &page.content), (Some(409), &Content::Reply));
    }

    #[test]
    fn a_problem_with_the_media_type_of_any_json_is_a_failure() {
        let check = |status: u16, code: &str, expected: Option<Class>| {
            let body = json!({"code": code, "title": "Title", "status": status});
            let headers = [
                ("content-type", "application/json"),
                ("x-request-id", "r1"),
                ("concurrency-limit", "5"),
            ];
            let answered = reply(status, &headers, body.to_string().into_bytes());
            let talk = converse::<ZenRows>(&task(), &[answered]);
            match expected {
                Some(class) => {
                    assert_eq!(talk.class(), class, "{status} {code}");
                    assert_eq!(talk.failure().cost.charged, Charged::No);
                }
                None => assert_eq!(talk.page().status, Some(status), "{status} {code}"),
            }
        };
        check(401, "AUTH002", Some(Class::BadKey));
        check(402, "AUTH004", Some(Class::NoCredit));
        check(429, "AUTH008", Some(Class::RateLimited));
        check(429, "AUTH006", Some(Class::RateLimited));
        // The target has codes of its own.
        check(401, "AUTH", None);
        check(401, "AUTH00X", None);
        check(402, "E402", None);
        check(200, "AUTH002", None);
    }

    #[test]
    fn a_404_of_the_target_is_a_page() {
        let talk = converse::<ZenRows>(&task(), &[refused(404, "RESP002")]);
        let page = talk.page();
        assert_eq!(page.status, Some(404));
        assert_eq!(page.content, Content::Text(String::new()));
    }

    #[test]
    fn a_screenshot_comes_in_json() {
        let task = Task {
            javascript: true,
            screenshot: Some(Screenshot::Window),
            ..task()
        };
        let headers = [("x-request-credits", "5")];
        for screenshot in [json!("AQI="), json!({"type": "image/png", "data": "AQI="})] {
            let body = json!({"html": "<p>", "screenshot": screenshot});
            let answered = reply(200, &headers, body.to_string().into_bytes());
            let talk = converse::<ZenRows>(&task, &[answered]);
            assert_eq!(talk.page().content, Content::Text("<p>".to_owned()));
            assert_eq!(talk.page().screenshot.as_deref(), Some([1, 2].as_slice()));
        }
        let talk = converse::<ZenRows>(&task, &[reply(200, &headers, b"<p>".as_slice())]);
        assert_eq!(talk.class(), Class::Drift);
    }

    #[test]
    fn failures_have_their_classes() {
        let check = |status: u16, code: &str, expected: Class, retryable: Option<bool>| {
            let talk = converse::<ZenRows>(&task(), &[refused(status, code)]);
            let failure = talk.failure();
            assert_eq!(failure.class, expected, "{status} {code}");
            assert_eq!(failure.retryable, retryable, "{status} {code}");
            assert_eq!(
                failure.message,
                format!("responded with status {status}: Words")
            );
            assert_eq!(failure.code.as_deref(), Some(code));
            assert_eq!(failure.retry_after, Some(2));
            assert_eq!(failure.request_id.as_deref(), Some("r1"));
            assert_eq!(failure.cost.charged, Charged::No);
        };
        check(400, "REQS001", Class::TargetBlocked, Some(false));
        check(400, "REQS002", Class::TargetBlocked, None);
        check(400, "REQS004", Class::BadRequest, None);
        check(400, "RESP004", Class::BadRequest, None);
        check(400, "RESP008", Class::BadRequest, None);
        for code in ["AUTH001", "AUTH002", "AUTH003"] {
            check(401, code, Class::BadKey, None);
        }
        for code in ["AUTH004", "AUTH005", "AUTH010", "AUTH011", "AUTH012"] {
            check(402, code, Class::NoCredit, None);
        }
        check(403, "AUTH009", Class::BadKey, None);
        check(403, "BLK0001", Class::BadKey, None);
        check(403, "REQS007", Class::BadRequest, None);
        check(404, "RESP007", Class::TargetUnreachable, None);
        check(405, "REQS005", Class::BadRequest, None);
        check(408, "OTHER", Class::ProviderTimeout, None);
        check(413, "RESP005", Class::ProviderError, Some(false));
        check(422, "RESP001", Class::TargetBlocked, None);
        check(422, "no_data_extracted", Class::TargetBlocked, Some(false));
        check(424, "RESP006", Class::TargetBlocked, None);
        check(429, "AUTH006", Class::RateLimited, None);
        check(429, "AUTH008", Class::RateLimited, None);
        check(502, "RESP003", Class::ProviderError, None);
        check(500, "OTHER", Class::ProviderError, None);
        check(503, "OTHER", Class::ProviderError, None);
        check(504, "CTX0002", Class::ProviderTimeout, None);
        check(200, "OTHER", Class::Drift, None);
    }

    #[test]
    fn a_response_without_vendor_headers_is_not_a_page() {
        let check = |status: u16, expected: Class| {
            let talk = converse::<ZenRows>(&task(), &[reply(status, &[], b"<html>".as_slice())]);
            assert_eq!(talk.class(), expected, "{status}");
        };
        check(200, Class::Drift);
        check(502, Class::ProviderError);
        check(429, Class::RateLimited);
    }
}
