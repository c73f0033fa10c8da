//! `provider_1`: Zyte API. One JSON request, one JSON response. The page is base64 without a
//! browser and text with one. The price depends on the site's tier, which the response does not
//! report: an operator can set it per domain.

use std::collections::BTreeMap;
use std::iter::successors;
use std::net::IpAddr;

use serde::Deserialize;
use serde_json::{Value, json};
use trawl_sdk::provider::{
    Abilities, Class, Cost, Description, Failure, Page, Provider, Reply, Request, Screenshot, Step,
    Task, base64,
};

/// Adapter for Zyte API.
pub struct Zyte;

/// Operator settings.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Price tier (1 to 5) by lower-case domain. An entry also covers subdomains; any other domain
    /// is tier 1.
    pub tiers: BTreeMap<String, u8>,
}

const KEY: &str = "PROVIDER1_API_KEY";
const SCREENSHOT: &str = "screenshot";
/// Lowest and highest price tier.
const TIERS: (u8, u8) = (1, 5);
/// Maximum URL length in characters.
const URL_CHARS_MAX: usize = 8_192;
/// Maximum request body size in bytes.
const REQUEST_BYTES_MAX: usize = 5 * 1024 * 1024;
/// Maximum timeout of `waitForSelector` in milliseconds.
const SELECTOR_MS_MAX: u32 = 15_000;

/// JSON Schema of [`Settings`].
const SETTINGS: &str = r#"{
    "type": "object",
    "properties": {
        "tiers": {
            "type": "object",
            "description": "Price tier by lower-case domain; an entry also covers subdomains",
            "additionalProperties": {"type": "integer", "minimum": 1, "maximum": 5}
        }
    },
    "additionalProperties": false
}"#;

trawl_sdk::export!(provider: Zyte);

impl Provider for Zyte {
    type Settings = Settings;

    fn describe() -> Description {
        let always = Abilities::SERVES
            | Abilities::COOKIES
            | Abilities::COUNTRY
            | Abilities::RESIDENTIAL
            | Abilities::TARGET_HEADERS
            | Abilities::TARGET_COOKIES
            | Abilities::FINAL_URL;
        let without_browser = Abilities::HEADERS | Abilities::BODY | Abilities::BINARY;
        let in_browser = Abilities::FIXED_WAIT
            | Abilities::WAIT_SELECTOR
            | Abilities::SCRIPT
            | Abilities::SCREENSHOT;
        Description::new(
            "provider_1",
            env!("CARGO_PKG_VERSION"),
            "Zyte (Zyte API)",
            "https://api.zyte.com",
        )
        .credentials(&[KEY])
        .hosts(&["api.zyte.com"])
        .plain(always | without_browser)
        .rendered(always | in_browser)
        .units(&[
            "http_1",
            "http_2",
            "http_3",
            "http_4",
            "http_5",
            "browser_1",
            "browser_2",
            "browser_3",
            "browser_4",
            "browser_5",
            SCREENSHOT,
        ])
        .seconds(210)
        .settings_schema(SETTINGS)
    }

    fn start(task: &Task, _: Settings) -> Result<Step, Failure> {
        let unsupported = |why| Err(Failure::new(Class::Unsupported, why));
        if task.url.chars().count() > URL_CHARS_MAX {
            return unsupported("the vendor accepts no URL longer than 8192 characters");
        }
        let host = task.host();
        if host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok() {
            return unsupported("the vendor accepts no IP address as the host of a URL");
        }
        let request = Request::post(task.at("/v1/extract"))
            .basic(Some(KEY), None)
            .json(&request_body(task, &host));
        if request.body.len() > REQUEST_BYTES_MAX {
            return unsupported("the vendor accepts no request larger than 5 MiB");
        }
        Ok(request.send())
    }

    fn resume(
        task: &Task,
        settings: Settings,
        _memo: &[u8],
        reply: &Reply<'_>,
    ) -> Result<Step, Failure> {
        if reply.status != 200 {
            return Err(failure(reply));
        }
        let extracted: Extracted = reply.json()?;
        let page = match (extracted.browser_html, extracted.http_response_body) {
            (Some(html), _) => Page::of_text(task, html),
            (None, Some(body)) => Page::of_base64(task, &body)?,
            (None, None) => {
                return Err(Failure::new(
                    Class::Drift,
                    "the response has neither `browserHtml` nor `httpResponseBody`",
                ));
            }
        };
        Ok(page
            .screenshot_base64(extracted.screenshot.as_deref())?
            .status(extracted.status_code)
            .url(Some(&extracted.url))
            .cookies(pairs(extracted.response_cookies))
            .headers(pairs(extracted.http_response_headers))
            .request_id(reply.header("request-id"))
            .cost(cost(task, &settings))
            .done())
    }
}

/// The body of the request.
fn request_body(task: &Task, host: &str) -> Value {
    let mut body = json!({
        "url": task.url, "httpResponseHeaders": true, "responseCookies": true,
    });
    let kind = if task.javascript {
        "browserHtml"
    } else {
        "httpResponseBody"
    };
    body[kind] = json!(true);
    if !task.headers.is_empty() {
        let headers = task.headers.iter();
        body["customHttpRequestHeaders"] = headers
            .map(|(name, value)| json!({"name": name, "value": value}))
            .collect();
    }
    if !task.cookies.is_empty() {
        let cookies = task.cookies.iter();
        body["requestCookies"] = cookies
            .map(|(name, value)| json!({"name": name, "value": value, "domain": host}))
            .collect();
    }
    if let Some(country) = &task.country {
        body["geolocation"] = json!(country);
    }
    if task.is_residential() {
        body["ipType"] = json!("residential");
    }
    if task.method != "GET" {
        body["httpRequestMethod"] = json!(task.method);
    }
    if !task.body.is_empty() {
        body["httpRequestBody"] = json!(base64(&task.body));
    }
    let actions = actions(task);
    if !actions.is_empty() {
        body["actions"] = json!(actions);
    }
    if let Some(screenshot) = task.screenshot {
        let full_page = screenshot == Screenshot::FullPage;
        body[SCREENSHOT] = json!(true);
        body["screenshotOptions"] = json!({"format": "png", "fullPage": full_page});
    }
    body
}

/// Browser actions after load, in this order. Times are in seconds.
fn actions(task: &Task) -> Vec<Value> {
    let seconds = |ms: u32| f64::from(ms) / 1000.0;
    let selector = task.wait_for.as_ref().map(|wait| {
        json!({
            "action": "waitForSelector",
            "selector": {"type": "css", "value": wait.selector, "state": "visible"},
            "timeout": seconds(wait.time_ms.min(SELECTOR_MS_MAX)),
        })
    });
    let pause = task
        .wait_ms
        .map(|ms| json!({"action": "waitForTimeout", "timeout": seconds(ms)}));
    let script = task
        .script
        .as_ref()
        .map(|script| json!({"action": "evaluate", "source": script}));
    [selector, pause, script].into_iter().flatten().collect()
}

/// Cost of a page according to the price table.
fn cost(task: &Task, settings: &Settings) -> Cost {
    let host = task.host();
    let mut domains = successors(Some(host.as_str()), |domain| {
        Some(domain.split_once('.')?.1)
    });
    let tier = domains.find_map(|domain| settings.tiers.get(domain).copied());
    let tier = tier.unwrap_or(TIERS.0).clamp(TIERS.0, TIERS.1);
    let kind = if task.javascript { "browser" } else { "http" };
    let cost = Cost::listed(&format!("{kind}_{tier}"));
    match task.screenshot {
        Some(_) => cost.and_units(SCREENSHOT, 1),
        None => cost,
    }
}

/// Response with a page; only the fields in use. Failed actions are reported here too and do not
/// fail the page.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Extracted {
    url: String,
    status_code: u16,
    http_response_body: Option<String>,
    browser_html: Option<String>,
    #[serde(default)]
    http_response_headers: Vec<Named>,
    #[serde(default)]
    response_cookies: Vec<Named>,
    screenshot: Option<String>,
}

#[derive(Deserialize)]
struct Named {
    name: String,
    value: String,
}

fn pairs(named: Vec<Named>) -> Vec<(String, String)> {
    let named = named.into_iter();
    named.map(|one| (one.name, one.value)).collect()
}

/// Classifies a response without a page. The vendor charges nothing for it.
fn failure(reply: &Reply<'_>) -> Failure {
    let problem: Value = reply.json().unwrap_or_default();
    let text = |name: &str| problem[name].as_str();
    let kind = text("type").unwrap_or_default();
    let class = match (reply.status, kind) {
        (403, "/auth/account-suspended") => Class::NoCredit,
        (421, _) => Class::TargetUnreachable,
        // The key still works for every other domain.
        (429, _) if is_domain_limit(kind) => Class::TargetBlocked,
        (503, "/limits/over-global-limit") => Class::RateLimited,
        (451 | 520, _) => Class::TargetBlocked,
        (500, "/server/timed-out") => Class::ProviderTimeout,
        (status, _) => Class::of_status(status),
    };
    let retryable = match reply.status {
        // The vendor never serves this domain.
        451 => Some(false),
        429 if is_domain_limit(kind) => reply.retry_after().map(|_| true),
        _ => None,
    };
    Failure::quoting_some(class, reply, text("detail").or(text("title")))
        .request_id(reply.header("request-id"))
        .code_some(text("type").filter(|kind| !kind.is_empty()))
        .retryable(retryable)
}

/// Whether this is the problem type of a rate limit for the page's domain alone.
fn is_domain_limit(kind: &str) -> bool {
    matches!(
        kind,
        "/limits/over-domain-limit" | "/limits/over-org-domain-limit"
    )
}

#[cfg(test)]
mod tests {
    use trawl_sdk::provider::{Charged, Content, Credential, Pool, WaitFor};
    use trawl_sdk::testkit::{converse, pair, reply};

    use super::*;

    fn task() -> Task {
        Task::new(
            "https://www.shop.example/a?b=1&c=2#d",
            "https://api.zyte.com",
        )
    }

    #[test]
    fn a_plain_request_has_every_option() {
        let task = Task {
            method: "POST".to_owned(),
            body: b"x=1".to_vec(),
            headers: vec![pair("Accept", "a/b"), pair("X-One", "1")],
            cookies: vec![pair("n", "v")],
            country: Some("US".to_owned()),
            pool: Pool::Residential,
            ..task()
        };
        let talk = converse::<Zyte>(&task, &[]);
        let request = talk.first();
        assert_eq!(request.method, "POST");
        assert_eq!(request.url, "https://api.zyte.com/v1/extract");
        assert_eq!(
            request.credentials,
            [Credential::Basic(Some(KEY.to_owned()), None)]
        );
        let expected = json!({
            "url": task.url, "httpResponseBody": true,
            "httpResponseHeaders": true, "responseCookies": true,
            "httpRequestMethod": "POST", "httpRequestBody": "eD0x",
            "customHttpRequestHeaders": [
                {"name": "Accept", "value": "a/b"}, {"name": "X-One", "value": "1"},
            ],
            "requestCookies": [{"name": "n", "value": "v", "domain": "www.shop.example"}],
            "geolocation": "US", "ipType": "residential",
        });
        assert_eq!(request.body_json(), expected);
    }

    #[test]
    fn a_browser_request_has_every_option() {
        let task = Task {
            javascript: true,
            wait_ms: Some(1_500),
            wait_for: Some(WaitFor {
                selector: "#x".to_owned(),
                time_ms: 20_000,
            }),
            script: Some("go()".to_owned()),
            screenshot: Some(Screenshot::FullPage),
            ..task()
        };
        let expected = json!({
            "url": task.url, "browserHtml": true,
            "httpResponseHeaders": true, "responseCookies": true,
            "actions": [
                {
                    "action": "waitForSelector", "timeout": 15.0,
                    "selector": {"type": "css", "value": "#x", "state": "visible"},
                },
                {"action": "waitForTimeout", "timeout": 1.5},
                {"action": "evaluate", "source": "go()"},
            ],
            "screenshot": true, "screenshotOptions": {"format": "png", "fullPage": true},
        });
        let talk = converse::<Zyte>(&task, &[]);
        assert_eq!(talk.first().body_json(), expected);
    }

    #[test]
    fn unsupported_tasks_are_not_sent() {
        let refused = |task: &Task| {
            let talk = converse::<Zyte>(task, &[]);
            assert_eq!(talk.class(), Class::Unsupported, "{}", task.url);
            assert!(talk.requests().is_empty());
        };
        let at = |url: &str| Task::new(url, "https://api.zyte.com");
        refused(&at("http://192.0.2.1/"));
        refused(&at("http://[2001:db8::1]:8080/"));
        refused(&at(&format!("https://shop.example/{}", "a".repeat(8_192))));
        let body = vec![0; 4 * 1024 * 1024];
        refused(&Task { body, ..task() });
    }

    #[test]
    fn a_page_has_its_metadata() {
        let body = json!({
            "url": "https://www.shop.example/gone", "statusCode": 404, "httpResponseBody": "AP9nb25l",
            "httpResponseHeaders": [
                {"name": "Vary", "value": "a"}, {"name": "Vary", "value": "b"},
            ],
            "responseCookies": [{"name": "n", "value": "v", "domain": "shop.example"}],
        });
        let answered = reply(200, &[("request-id", "r1")], body.to_string().into_bytes());
        let talk = converse::<Zyte>(&task(), &[answered]);
        let page = talk.page();
        assert_eq!(page.status, Some(404));
        assert_eq!(page.content, Content::Bytes(b"\0\xffgone".to_vec()));
        assert_eq!(page.url.as_deref(), Some("https://www.shop.example/gone"));
        let headers = [pair("Vary", "a"), pair("Vary", "b")];
        assert_eq!(page.headers.as_deref(), Some(headers.as_slice()));
        assert_eq!(page.cookies, [pair("n", "v")]);
        assert_eq!(page.request_id.as_deref(), Some("r1"));
        assert_eq!(page.cost, Cost::listed("http_1"));
    }

    #[test]
    fn a_failed_action_leaves_the_page() {
        let body = json!({
            "url": "https://www.shop.example/", "statusCode": 200, "browserHtml": "<p>",
            "actions": [{"action": "evaluate", "status": "returned", "error": "no"}],
            "screenshot": "AQI=",
        });
        let answered = reply(200, &[], body.to_string().into_bytes());
        let task = Task {
            javascript: true,
            screenshot: Some(Screenshot::Window),
            settings: r#"{"tiers":{"shop.example":3,"example":2}}"#.to_owned(),
            ..task()
        };
        let talk = converse::<Zyte>(&task, &[answered]);
        let page = talk.page();
        assert_eq!(page.content, Content::Text("<p>".to_owned()));
        assert_eq!(page.screenshot.as_deref(), Some([1, 2].as_slice()));
        assert_eq!(
            page.cost,
            Cost::listed("browser_3").and_units(SCREENSHOT, 1)
        );
    }

    #[test]
    fn every_unit_that_is_charged_is_declared() {
        let units = Zyte::describe().units;
        for (javascript, tier) in (0..=9).flat_map(|tier| [(false, tier), (true, tier)]) {
            let tiers = [("shop.example".to_owned(), tier)].into();
            let task = Task {
                javascript,
                ..task()
            };
            let cost = cost(&task, &Settings { tiers });
            assert!(units.contains(&cost.quantities[0].unit), "{cost:?}");
        }
    }

    #[test]
    fn failures_have_their_classes() {
        let check = |status: u16, kind: &str, expected: Class| {
            let body = json!({"type": kind, "title": "Title", "detail": "Words"});
            let headers = [("retry-after", "3"), ("request-id", "r1")];
            let answered = reply(status, &headers, body.to_string().into_bytes());
            let talk = converse::<Zyte>(&task(), &[answered]);
            let failure = talk.failure();
            assert_eq!(failure.class, expected, "{status} {kind}");
            assert_eq!(
                failure.message,
                format!("responded with status {status}: Words")
            );
            assert_eq!(failure.code.as_deref(), Some(kind));
            assert_eq!(failure.retry_after, Some(3));
            assert_eq!(failure.request_id.as_deref(), Some("r1"));
            assert_eq!(failure.cost.charged, Charged::No);
            let retryable = match (status, expected) {
                (451, _) => Some(false),
                (429, Class::TargetBlocked) => Some(true),
                _ => None,
            };
            assert_eq!(failure.retryable, retryable);
        };
        check(400, "/request/invalid", Class::BadRequest);
        check(422, "/request/unprocessable", Class::BadRequest);
        check(401, "/auth/key-not-found", Class::BadKey);
        check(401, "/auth/not-valid", Class::BadKey);
        check(403, "/auth/account-suspended", Class::NoCredit);
        check(403, "/auth/other", Class::BadKey);
        check(421, "/website/domain-unreachable", Class::TargetUnreachable);
        check(429, "/limits/over-user-limit", Class::RateLimited);
        check(429, "/limits/over-domain-limit", Class::TargetBlocked);
        check(429, "/limits/over-org-domain-limit", Class::TargetBlocked);
        check(402, "/auth/other", Class::NoCredit);
        check(503, "/limits/over-global-limit", Class::RateLimited);
        check(503, "/other", Class::ProviderError);
        check(451, "/download/domain-forbidden", Class::TargetBlocked);
        check(500, "/server/timed-out", Class::ProviderTimeout);
        check(500, "/server/internal", Class::ProviderError);
        check(520, "/download/temporary-error", Class::TargetBlocked);
        check(521, "/download/internal-error", Class::ProviderError);
        check(404, "/other", Class::BadRequest);
        check(408, "/other", Class::ProviderTimeout);
        check(504, "/other", Class::ProviderTimeout);
        check(202, "/other", Class::Drift);
    }

    #[test]
    fn a_reply_of_another_shape_is_drift() {
        for body in [
            "",
            "<html>",
            "{}",
            r#"{"url":"https://a.example/","statusCode":200}"#,
        ] {
            let talk = converse::<Zyte>(&task(), &[reply(200, &[], body.as_bytes())]);
            assert_eq!(talk.class(), Class::Drift, "{body}");
        }
        let talk = converse::<Zyte>(&task(), &[reply(502, &[], b"<html>".as_slice())]);
        assert_eq!(talk.class(), Class::ProviderError);
    }
}
