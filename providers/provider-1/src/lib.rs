//! `provider_1`: Zyte API. One JSON request, one JSON response. The page is base64 without a
//! browser and text with one. The price depends on the site's tier, which the response does not
//! report: an operator can set it per domain.

use std::collections::BTreeMap;
use std::iter::successors;
use std::net::IpAddr;

use serde::Deserialize;
use serde_json::{Value, json};
use trawl_sdk::provider::Mode::{Both, Plain, Rendered};
use trawl_sdk::provider::{
    Abilities, Class, Cost, Description, Failure, Named, Page, Problem, Provider, Reply, Request,
    Screenshot, Step, Task,
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

trawl_sdk::export!(provider: Zyte);

impl Provider for Zyte {
    type Settings = Settings;

    fn describe() -> Description {
        Description::new(
            "provider_1",
            env!("CARGO_PKG_VERSION"),
            "Zyte (Zyte API)",
            "https://api.zyte.com",
        )
        .credentials(&[KEY])
        .hosts(&["api.zyte.com"])
        .abilities(&[
            (Abilities::SERVES, Both),
            (Abilities::COOKIES, Both),
            (Abilities::COUNTRY, Both),
            (Abilities::RESIDENTIAL, Both),
            (Abilities::TARGET_HEADERS, Both),
            (Abilities::TARGET_COOKIES, Both),
            (Abilities::FINAL_URL, Both),
            (Abilities::HEADERS, Plain),
            (Abilities::BODY, Plain),
            (Abilities::BINARY, Plain),
            (Abilities::FIXED_WAIT, Rendered),
            (Abilities::WAIT_SELECTOR, Rendered),
            (Abilities::SCRIPT, Rendered),
            (Abilities::SCREENSHOT, Rendered),
        ])
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
        .settings_schema(include_str!("settings.json"))
    }

    fn start(task: &Task, _: Settings) -> Result<Step, Failure> {
        let unsupported = |why| Err(Failure::unsupported(why));
        if task.url.chars().count() > URL_CHARS_MAX {
            return unsupported("the vendor accepts no URL longer than 8192 characters");
        }
        let host = task.host();
        if host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok() {
            return unsupported("the vendor accepts no IP address as the host of a URL");
        }
        let request = Request::post(task.at("/v1/extract"))
            .basic(Some(KEY), None)
            .json_some(parameters(task, &host));
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
            .cookies(Named::pairs(extracted.response_cookies))
            .headers(Named::pairs(extracted.http_response_headers))
            .request_id(reply.header("request-id"))
            .cost(cost(task, &settings))
            .done())
    }
}

/// The parameters of the request; those that are null are left out.
fn parameters(task: &Task, host: &str) -> Value {
    let header = |name: &str, value: &str| json!({"name": name, "value": value});
    let cookie = |name: &str, value: &str| json!({"name": name, "value": value, "domain": host});
    let screenshot =
        |part: Screenshot| json!({"format": "png", "fullPage": part == Screenshot::FullPage});
    json!({
        "url": task.url,
        "httpResponseBody": (!task.javascript).then_some(true),
        "browserHtml": task.javascript.then_some(true),
        "httpResponseHeaders": true,
        "responseCookies": true,
        "customHttpRequestHeaders": task.header_list(header),
        "requestCookies": task.cookie_list(cookie),
        "geolocation": task.country,
        "ipType": task.is_residential().then_some("residential"),
        "httpRequestMethod": (task.method != "GET").then_some(&task.method),
        "httpRequestBody": task.body_base64(),
        "actions": actions(task),
        "screenshot": task.screenshot.map(|_| true),
        "screenshotOptions": task.screenshot.map(screenshot),
    })
}

/// Browser actions after load, in this order. Times are in seconds.
fn actions(task: &Task) -> Option<Value> {
    let seconds = |ms: u32| f64::from(ms) / 1000.0;
    let selector = task.wait_for.as_ref().map(|wait| {
        json!({
            "action": "waitForSelector",
            "selector": {"type": "css", "value": wait.selector, "state": "visible"},
            "timeout": seconds(wait.time_ms.min(SELECTOR_MS_MAX)),
        })
    });
    let pause = |ms| json!({"action": "waitForTimeout", "timeout": seconds(ms)});
    let script = |script: &String| json!({"action": "evaluate", "source": script});
    let pause = task.wait_ms.map(pause);
    let script = task.script.as_ref().map(script);
    let actions: Vec<_> = [selector, pause, script].into_iter().flatten().collect();
    (!actions.is_empty()).then(|| actions.into())
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

/// Classifies a response without a page. The vendor charges nothing for it.
fn failure(reply: &Reply<'_>) -> Failure {
    let problem = Problem::of_reply(reply);
    let kind = problem.kind().unwrap_or_default();
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
    Failure::quoting_some(class, reply, problem.words())
        .request_id(reply.header("request-id"))
        .code_some(problem.kind())
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
    use trawl_sdk::testkit::{check_cases, converse};

    use super::*;

    #[test]
    fn all_cases_hold() {
        check_cases::<Zyte>(concat!(env!("CARGO_MANIFEST_DIR"), "/cases"));
    }

    #[test]
    fn what_is_too_long_is_not_sent() {
        let refused = |task: &Task| {
            let talk = converse::<Zyte>(task, &[]);
            assert_eq!(talk.class(), Class::Unsupported);
            assert!(talk.requests().is_empty());
        };
        let at = |url: &str| Task::new(url, "https://api.zyte.com");
        refused(&at(&format!("https://shop.example/{}", "a".repeat(8_192))));
        let body = vec![0; 4 * 1024 * 1024];
        let task = at("https://shop.example/");
        refused(&Task { body, ..task });
    }
}
