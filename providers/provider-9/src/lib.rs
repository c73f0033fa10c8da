//! `provider_9`: Browserless REST API. Pages without JavaScript come from `/smart-scrape` as JSON,
//! rendered pages from `/chromium/content` as the response body. The vendor bills time, not pages.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use trawl_sdk::provider::Mode::{Both, Plain, Rendered};
use trawl_sdk::provider::{
    Abilities, Class, Cost, Description, Failure, Page, Provider, Reply, Request, Step, Task,
    mentions, names_unreachable,
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
        Description::new(
            "provider_9",
            env!("CARGO_PKG_VERSION"),
            "Browserless (REST)",
            "https://production-sfo.browserless.io",
        )
        .credentials(&[TOKEN])
        .hosts(&["production-sfo.browserless.io"])
        .abilities(&[
            (Abilities::SERVES, Both),
            (Abilities::TARGET_HEADERS, Plain),
            (Abilities::FIXED_WAIT, Rendered),
            (Abilities::WAIT_SELECTOR, Rendered),
            (Abilities::SCRIPT, Rendered),
            (Abilities::HEADERS, Rendered),
            (Abilities::COOKIES, Rendered),
            (Abilities::COUNTRY_RESIDENTIAL, Rendered),
            (Abilities::RESIDENTIAL, Rendered),
            (Abilities::FINAL_URL, Rendered),
        ])
        .units(&[UNIT])
        .seconds(35)
    }

    fn start(task: &Task, (): ()) -> Result<Step, Failure> {
        let timeout = task.timeout_ms(GRACE_MS, TIMEOUT_MS);
        let (path, parameters) = if task.javascript {
            ("/chromium/content", browser_parameters(task, timeout))
        } else {
            let parameters = json!({"url": task.url, "formats": ["html"]});
            ("/smart-scrape", parameters)
        };
        let request = Request::post(task.at(path))
            .bearer(TOKEN)
            .query("timeout", timeout)
            .query_if(task.is_residential(), "proxy", "residential")
            .query_some("proxyCountry", task.country_lower());
        Ok(request.json_some(parameters).send())
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

/// Parameters of `/chromium/content`. With `bestAttempt` a wait that times out does not fail the
/// page, but then the vendor conceals failed navigations too: it is set only for a wait.
fn browser_parameters(task: &Task, timeout: u32) -> Value {
    let selector = task
        .wait_for
        .as_ref()
        .map(|wait| json!({"selector": wait.selector, "timeout": wait.time_ms, "visible": true}));
    let cookie = |name: &str, value: &str| json!({"name": name, "value": value, "url": task.url});
    let script = |script: &String| json!([{"content": script}]);
    json!({
        "url": task.url,
        "gotoOptions": {"waitUntil": "load", "timeout": timeout},
        "bestAttempt": task.wait_for.as_ref().map(|_| true),
        "waitForTimeout": task.wait_ms,
        "waitForSelector": selector,
        "addScriptTag": task.script.as_ref().map(script),
        "setExtraHTTPHeaders": task.header_object(),
        "cookies": task.cookie_list(cookie),
    })
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
        parsed => Page::of_json(task, parsed).content_type(Some("application/json")),
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
    let text = reply.text();
    let is_out_of_units = mentions(&text, &["units", "credit", "quota"]);
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
    use super::Browserless;

    #[test]
    fn all_cases_hold() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/cases");
        trawl_sdk::testkit::check_cases::<Browserless>(folder);
    }
}
