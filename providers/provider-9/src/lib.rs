//! `provider_9`: Browserless REST API. Pages without JavaScript come from `/smart-scrape` as JSON,
//! rendered pages from `/chromium/content` as the response body. The vendor bills time, not pages.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use trawl_sdk::provider::{
    Abilities, Class, Cost, Description, Failure, Page, Provider, Reply, Request, Step, Task,
    header_object, names_unreachable,
};

/// Adapter for the Browserless REST API.
pub struct Browserless;

const TOKEN: &str = "PROVIDER9_TOKEN";
const UNIT: &str = "unit";
/// Milliseconds covered by one unit.
const MS_PER_UNIT: u32 = 30_000;
/// Range of the `timeout` parameter in milliseconds.
const TIMEOUT_MS: (u32, u32) = (1_000, 30_000);
/// Time for the vendor to deliver the response after `timeout` has passed.
const GRACE_MS: u32 = 5_000;
/// The vendor truncates the final URL at this many characters.
const FINAL_URL_CHARS_MAX: usize = 1_000;
/// Value of `strategy` when no browser was used.
const NO_BROWSER: &str = "http-fetch";

trawl_sdk::export!(provider: Browserless);

impl Provider for Browserless {
    type Settings = ();

    fn describe() -> Description {
        let in_browser = Abilities::SERVES
            | Abilities::FIXED_WAIT
            | Abilities::WAIT_SELECTOR
            | Abilities::SCRIPT
            | Abilities::HEADERS
            | Abilities::COOKIES
            | Abilities::COUNTRY_RESIDENTIAL
            | Abilities::RESIDENTIAL
            | Abilities::FINAL_URL;
        Description::new(
            "provider_9",
            env!("CARGO_PKG_VERSION"),
            "Browserless (REST)",
            "https://production-sfo.browserless.io",
        )
        .credentials(&[TOKEN])
        .hosts(&["production-sfo.browserless.io"])
        .plain(Abilities::SERVES | Abilities::TARGET_HEADERS)
        .rendered(in_browser)
        .units(&[UNIT])
        .seconds(35)
    }

    fn start(task: &Task, (): ()) -> Result<Step, Failure> {
        let timeout = task.time_ms.saturating_sub(GRACE_MS);
        let timeout = timeout.clamp(TIMEOUT_MS.0, TIMEOUT_MS.1);
        let (path, body) = if task.javascript {
            ("/chromium/content", browser_body(task, timeout))
        } else {
            (
                "/smart-scrape",
                json!({"url": task.url, "formats": ["html"]}),
            )
        };
        let request = Request::post(task.at(path))
            .bearer(TOKEN)
            .query("timeout", &timeout.to_string())
            .query_if(task.is_residential(), "proxy", "residential")
            .query_some("proxyCountry", task.country_lower());
        Ok(request.json(&body).send())
    }

    fn resume(task: &Task, (): (), _memo: &[u8], reply: &Reply<'_>) -> Result<Step, Failure> {
        if reply.status != 200 {
            return Err(failure(reply));
        }
        let page = if task.javascript {
            from_browser(task, reply)
        } else {
            from_json(task, reply)
        };
        // The time is charged in either case.
        match page {
            Ok(page) => Ok(page.cost(duration_cost(reply)).done()),
            Err(failure) => Err(failure.cost(duration_cost(reply))),
        }
    }
}

/// Body of `/chromium/content`. With `bestAttempt` a wait that times out does not fail the page,
/// but then the vendor conceals failed navigations too: it is set only for a wait.
fn browser_body(task: &Task, timeout: u32) -> Value {
    let goto = json!({"waitUntil": "load", "timeout": timeout});
    let mut body = json!({"url": task.url, "gotoOptions": goto});
    if let Some(ms) = task.wait_ms {
        body["waitForTimeout"] = ms.into();
    }
    if let Some(wait) = &task.wait_for {
        let (selector, timeout) = (&wait.selector, wait.time_ms);
        body["waitForSelector"] =
            json!({"selector": selector, "timeout": timeout, "visible": true});
        body["bestAttempt"] = true.into();
    }
    if let Some(script) = &task.script {
        body["addScriptTag"] = json!([{"content": script}]);
    }
    if !task.headers.is_empty() {
        body["setExtraHTTPHeaders"] = header_object(&task.headers);
    }
    if !task.cookies.is_empty() {
        let cookies = task.cookies.iter();
        let cookies =
            cookies.map(|(name, value)| json!({"name": name, "value": value, "url": task.url}));
        body["cookies"] = cookies.collect();
    }
    body
}

/// Cost of the exchange, by its duration.
fn duration_cost(reply: &Reply<'_>) -> Cost {
    let n_units = reply.elapsed_ms.div_ceil(MS_PER_UNIT).max(1);
    Cost::free().and_units(UNIT, n_units.into())
}

/// The page as rendered by the browser.
fn from_browser(task: &Task, reply: &Reply<'_>) -> Result<Page, Failure> {
    let Some(status) = reply.number("x-response-code") else {
        if task.wait_for.is_some() {
            // This is how a failed navigation looks with `bestAttempt`.
            let message = "the page has no status: its URL cannot be reached";
            return Err(Failure::new(Class::TargetUnreachable, message));
        }
        return Err(Failure::of_reply(Class::Drift, reply));
    };
    let url = reply.header("x-response-url");
    Ok(Page::of_reply(task)
        .status(status)
        .url(url.filter(|url| url.chars().count() < FINAL_URL_CHARS_MAX))
        .content_type(reply.header("content-type")))
}

/// Response of `/smart-scrape`; only the fields in use.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Scraped {
    ok: bool,
    status_code: Option<u16>,
    #[serde(default)]
    content: Value,
    headers: Option<Map<String, Value>>,
    strategy: Option<String>,
    message: Option<String>,
}

fn from_json(task: &Task, reply: &Reply<'_>) -> Result<Page, Failure> {
    let scraped: Scraped = reply.json()?;
    if !scraped.ok {
        let words = scraped.message.unwrap_or_default();
        let class = if names_unreachable(&words) {
            Class::TargetUnreachable
        } else {
            Class::TargetBlocked
        };
        return Err(Failure::quoting(class, reply, &words).target_status(scraped.status_code));
    }
    let page = match scraped.content {
        Value::Null => return Err(Failure::of_reply(Class::Drift, reply)),
        Value::String(text) => Page::of_text(task, text),
        // The vendor has already parsed the target's JSON.
        parsed => Page::of_text(task, parsed.to_string()).content_type(Some("application/json")),
    };
    let (variant, rendered) = match scraped.strategy.as_deref() {
        None => ("plain", None),
        Some(NO_BROWSER) => ("plain", Some(false)),
        Some(_) => ("plain_browser", Some(true)),
    };
    let page = page
        .status(scraped.status_code)
        .variant(variant)
        .rendered(rendered);
    Ok(page.header_object(scraped.headers.as_ref()))
}

/// Classifies a response without a page.
fn failure(reply: &Reply<'_>) -> Failure {
    let text = reply.text().to_lowercase();
    let mentions = |word: &str| text.contains(word);
    let is_out_of_units = mentions("units") || mentions("credit") || mentions("quota");
    let class = match reply.status {
        // Exhausted units have the status of a wrong token or of too many concurrent requests; only
        // the message tells them apart.
        401 | 403 | 429 if is_out_of_units => Class::NoCredit,
        500 | 503 if names_unreachable(&text) => Class::TargetUnreachable,
        status => Class::of_status(status),
    };
    let failure = Failure::of_reply(class, reply);
    match reply.status {
        // The browser ran, so its time is charged.
        408 | 500 | 504 => failure.cost(duration_cost(reply)),
        _ => failure,
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
            "https://production-sfo.browserless.io",
        )
    }

    fn rendered() -> Task {
        Task {
            javascript: true,
            ..task()
        }
    }

    fn after_ms<'a>(elapsed_ms: u32, answered: Reply<'a>) -> Reply<'a> {
        Reply {
            elapsed_ms,
            ..answered
        }
    }

    #[test]
    fn each_mode_has_its_endpoint() {
        let check = |task: &Task, url: &str, body: Value| {
            let talk = converse::<Browserless>(task, &[]);
            let request = talk.first();
            assert_eq!(
                (request.method.as_str(), request.url.as_str()),
                ("POST", url)
            );
            assert_eq!(request.credentials, [Credential::Bearer(TOKEN.to_owned())]);
            assert_eq!(request.body_json(), body);
        };
        check(
            &task(),
            "https://production-sfo.browserless.io/smart-scrape?timeout=30000",
            json!({"url": task().url, "formats": ["html"]}),
        );
        check(
            &Task {
                time_ms: 12_000,
                ..rendered()
            },
            "https://production-sfo.browserless.io/chromium/content?timeout=7000",
            json!({"url": task().url, "gotoOptions": {"waitUntil": "load", "timeout": 7000}}),
        );
        let wished = Task {
            headers: vec![pair("Accept", "text/html")],
            cookies: vec![pair("a", "1")],
            wait_ms: Some(1500),
            wait_for: Some(WaitFor {
                selector: "#x".to_owned(),
                time_ms: 5000,
            }),
            script: Some("document.title = 'x'".to_owned()),
            country: Some("DE".to_owned()),
            pool: Pool::Residential,
            ..rendered()
        };
        check(
            &wished,
            "https://production-sfo.browserless.io/chromium/content?timeout=30000&proxy=residential&proxyCountry=de",
            json!({
                "url": task().url,
                "gotoOptions": {"waitUntil": "load", "timeout": 30000},
                "bestAttempt": true,
                "waitForTimeout": 1500,
                "waitForSelector": {"selector": "#x", "timeout": 5000, "visible": true},
                "addScriptTag": [{"content": "document.title = 'x'"}],
                "setExtraHTTPHeaders": {"Accept": "text/html"},
                "cookies": [{"name": "a", "value": "1", "url": task().url}],
            }),
        );
    }

    #[test]
    fn a_scraped_page_is_json() {
        let body = json!({
            "ok": true,
            "statusCode": 404,
            "content": "gone",
            "headers": {"content-type": "text/html"},
            "strategy": "http-fetch",
            "attempted": ["http-fetch"],
        });
        let answered = after_ms(30_001, reply(200, &[], body.to_string().into_bytes()));
        let talk = converse::<Browserless>(&task(), &[answered]);
        let page = talk.page();
        assert_eq!(
            (page.status, &page.content),
            (Some(404), &Content::Text("gone".to_owned()))
        );
        assert_eq!(
            page.headers.as_deref(),
            Some([pair("content-type", "text/html")].as_slice())
        );
        assert_eq!(
            (page.rendered, page.variant.as_str(), &page.url),
            (Some(false), "plain", &None)
        );
        assert_eq!(page.cost, Cost::free().and_units(UNIT, 2));
    }

    #[test]
    fn a_parsed_body_is_serialized_again() {
        let body = r#"{"ok":true,"statusCode":null,"content":{"a":[1]},"strategy":"stealth"}"#;
        let talk = converse::<Browserless>(&task(), &[reply(200, &[], body.as_bytes())]);
        let page = talk.page();
        assert_eq!(
            (page.status, &page.content),
            (None, &Content::Text(r#"{"a":[1]}"#.to_owned()))
        );
        assert_eq!(page.content_type.as_deref(), Some("application/json"));
        assert_eq!(
            (page.rendered, page.variant.as_str()),
            (Some(true), "plain_browser")
        );
        let body = r#"{"ok":true,"content":""}"#;
        let talk = converse::<Browserless>(&task(), &[reply(200, &[], body.as_bytes())]);
        assert_eq!(
            (talk.page().rendered, talk.page().variant.as_str()),
            (None, "plain")
        );
    }

    #[test]
    fn a_rendered_page_is_the_body() {
        let long = format!(
            "https://shop.example/{}",
            "x".repeat(FINAL_URL_CHARS_MAX - 21)
        );
        for (reported, known) in [("https://shop.example/gone", true), (long.as_str(), false)] {
            let facts = [
                ("X-Response-Code", "404"),
                ("X-Response-URL", reported),
                ("Content-Type", "text/html"),
            ];
            let talk =
                converse::<Browserless>(&rendered(), &[reply(200, &facts, b"gone".as_slice())]);
            let page = talk.page();
            assert_eq!((page.status, &page.content), (Some(404), &Content::Reply));
            assert_eq!(page.url.as_deref(), known.then_some(reported));
            assert_eq!(
                (&page.headers, page.content_type.as_deref()),
                (&None, Some("text/html"))
            );
            assert_eq!((page.rendered, page.variant.as_str()), (Some(true), "js"));
            assert_eq!(page.cost, Cost::free().and_units(UNIT, 1));
        }
    }

    #[test]
    fn failures_have_their_classes() {
        let check =
            |task: &Task, status: u16, body: &'static str, expected: Class, n_units: u64| {
                let answered = after_ms(
                    29_000,
                    reply(status, &[("Retry-After", "7")], body.as_bytes()),
                );
                let talk = converse::<Browserless>(task, &[answered]);
                assert_eq!(talk.class(), expected, "{status} {body}");
                match n_units {
                    0 => assert_eq!(talk.failure().cost.charged, Charged::No),
                    n_units => {
                        assert_eq!(talk.failure().cost, Cost::free().and_units(UNIT, n_units))
                    }
                }
            };
        check(
            &task(),
            200,
            r#"{"ok":false,"statusCode":403,"message":"blocked"}"#,
            Class::TargetBlocked,
            1,
        );
        check(
            &task(),
            200,
            r#"{"ok":false,"message":"getaddrinfo ENOTFOUND a"}"#,
            Class::TargetUnreachable,
            1,
        );
        check(
            &task(),
            200,
            r#"{"ok":true,"content":null}"#,
            Class::Drift,
            1,
        );
        check(&task(), 200, "<html>", Class::Drift, 1);
        for task in [task(), rendered()] {
            check(&task, 400, "no", Class::BadRequest, 0);
            check(&task, 401, "no", Class::BadKey, 0);
            check(&task, 403, "no", Class::BadKey, 0);
            check(&task, 401, "You have used all units", Class::NoCredit, 0);
            check(&task, 403, "Your quota is used up", Class::NoCredit, 0);
            check(&task, 405, "no", Class::BadRequest, 0);
            check(&task, 404, "no", Class::BadRequest, 0);
            check(&task, 402, "no", Class::NoCredit, 0);
            check(&task, 408, "late", Class::ProviderTimeout, 1);
            check(&task, 429, "Too many requests", Class::RateLimited, 0);
            check(&task, 429, "No units left", Class::NoCredit, 0);
            check(&task, 500, "oops", Class::ProviderError, 1);
            check(
                &task,
                500,
                "net::ERR_NAME_NOT_RESOLVED",
                Class::TargetUnreachable,
                1,
            );
            check(
                &task,
                500,
                "Navigation timeout of 30000 ms exceeded",
                Class::TargetUnreachable,
                1,
            );
            check(
                &task,
                500,
                "page.goto: Timeout 30000ms exceeded.",
                Class::TargetUnreachable,
                1,
            );
            check(&task, 503, "full", Class::ProviderError, 0);
            check(&task, 504, "late", Class::ProviderTimeout, 1);
            check(&task, 204, "", Class::Drift, 0);
        }
        check(&rendered(), 200, "<html>", Class::Drift, 1);
        let waiting = Task {
            wait_for: Some(WaitFor {
                selector: "#x".to_owned(),
                time_ms: 5000,
            }),
            ..rendered()
        };
        check(&waiting, 200, "<html>", Class::TargetUnreachable, 1);
        let body = r#"{"ok":false,"statusCode":403}"#;
        let talk = converse::<Browserless>(&task(), &[reply(200, &[], body.as_bytes())]);
        assert_eq!(talk.failure().target_status, Some(403));
        let talk = converse::<Browserless>(
            &task(),
            &[reply(429, &[("Retry-After", "7")], b"".as_slice())],
        );
        assert_eq!(talk.failure().retry_after, Some(7));
    }
}
