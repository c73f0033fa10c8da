//! The actors: their input, with the page function that they run, and their output.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use trawl_sdk::provider::{
    Class, Failure, Page, Reply, Task, error_status_in, header_object, mentions, names_unreachable,
};

/// Runs in the actor after the page has loaded.
const PAGE_FUNCTION: &str = include_str!("page_function.js");
/// Placeholder in the page function for the browser actions of the request.
const ACTIONS: &str = "/* actions */";
/// Maximum page load timeout in seconds.
const LOAD_SECONDS_MAX: u32 = 60;
/// Media types accepted in addition to HTML and JSON; the actor skips any other type.
const MEDIA_TYPES: [&str; 24] = [
    "*/*",
    "application/atom+xml",
    "application/gzip",
    "application/javascript",
    "application/ld+json",
    "application/octet-stream",
    "application/pdf",
    "application/rss+xml",
    "application/xml",
    "application/zip",
    "audio/mpeg",
    "font/woff2",
    "image/avif",
    "image/gif",
    "image/jpeg",
    "image/png",
    "image/svg+xml",
    "image/webp",
    "text/css",
    "text/csv",
    "text/javascript",
    "text/plain",
    "text/xml",
    "video/mp4",
];

/// Input of a run with this timeout in seconds; members that are null are left out.
pub(crate) fn input(task: &Task, seconds: u32) -> Result<Value, Failure> {
    let mut target = json!({
        "url": task.url,
        "method": task.method,
        "headers": header_object(&task.headers),
    });
    if let Some(text) = task.body_text()? {
        target["payload"] = text.into();
    }
    let mut proxy = json!({"useApifyProxy": true});
    if task.is_residential() {
        proxy["apifyProxyGroups"] = json!(["RESIDENTIAL"]);
    }
    if let Some(country) = &task.country {
        proxy["apifyProxyCountry"] = country.as_str().into();
    }
    let host = task.host();
    let cookie = |name: &str, value: &str| {
        let domain = &host;
        json!({"name": name, "value": value, "domain": domain, "path": "/"})
    };
    Ok(json!({
        "startUrls": [target],
        "keepUrlFragments": true,
        "pageFunction": page_function(task),
        "maxPagesPerCrawl": 1,
        "maxConcurrency": 1,
        "maxRequestRetries": 0,
        "proxyConfiguration": proxy,
        "initialCookies": task.cookie_list(cookie).unwrap_or_else(|| json!([])),
        "pageLoadTimeoutSecs": seconds.min(LOAD_SECONDS_MAX),
        "pageFunctionTimeoutSecs": seconds,
        "additionalMimeTypes": (!task.javascript).then_some(MEDIA_TYPES),
        // By default the browser's actor waits for network idle and scrolls.
        "waitUntil": task.javascript.then_some("load"),
        "maxScrollHeightPixels": task.javascript.then_some(0),
    }))
}

/// The page function, with the request's browser actions before it returns the page. A wait that
/// times out or a script that throws does not fail the page.
pub(crate) fn page_function(task: &Task) -> String {
    let mut actions = Vec::new();
    if let Some(wait) = &task.wait_for {
        let (selector, timeout) = (literal(&wait.selector), wait.time_ms);
        let wait =
            format!("waitForSelector({selector}, {{ timeout: {timeout} }}).catch(() => null)");
        actions.push(wait);
    }
    if let Some(ms) = task.wait_ms {
        actions.push(format!("waitForTimeout({ms})"));
    }
    if let Some(script) = &task.script {
        actions.push(format!("evaluate({}).catch(() => null)", literal(script)));
    }
    let actions = actions
        .iter()
        .map(|action| format!("await context.page.{action};"));
    let actions = actions.collect::<Vec<_>>().join("\n  ");
    PAGE_FUNCTION.replacen(ACTIONS, &actions, 1)
}

/// A JavaScript string literal. JSON strings are valid JavaScript.
fn literal(text: &str) -> String {
    Value::from(text).to_string()
}

/// Item of the run's dataset: the return value of the page function, or the actor's error.
#[derive(Deserialize)]
struct Item {
    url: Option<String>,
    status: Option<u16>,
    headers: Option<Map<String, Value>>,
    body: Option<String>,
    encoding: Option<String>,
    #[serde(rename = "#error", default)]
    is_error: bool,
    #[serde(rename = "#debug", default)]
    debug: Debug,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Debug {
    status_code: Option<u16>,
    error_messages: Option<Vec<String>>,
}

/// The page in the run's dataset.
pub(crate) fn page(task: &Task, reply: &Reply<'_>) -> Result<Page, Failure> {
    let items: Vec<Item> = reply.json()?;
    let drift = || Failure::new(Class::Drift, "the run's dataset has no page");
    let item = items.into_iter().next().ok_or_else(drift)?;
    if item.is_error {
        return Err(actor_failure(item.debug));
    }
    let body = item.body.ok_or_else(drift)?;
    let page = match item.encoding.as_deref() {
        Some("base64") => Page::of_base64(task, &body)?,
        _ => Page::of_text(task, body),
    };
    let page = page.status(item.status).url(item.url.as_deref());
    Ok(page.header_object(item.headers.as_ref()))
}

/// Classifies an error of the actor.
fn actor_failure(debug: Debug) -> Failure {
    let words = debug.error_messages.unwrap_or_default().join(" ");
    let is_unreachable = names_unreachable(&words) || mentions(&words, &["timed out"]);
    let reported = debug.status_code.filter(|status| *status >= 400);
    let status = reported.or_else(|| error_status_in(&words).filter(|_| !is_unreachable));
    let class = match status {
        _ if is_unreachable => Class::TargetUnreachable,
        _ if mentions(&words, &["content-type", "content type"]) => Class::BadRequest,
        Some(401 | 403 | 429) => Class::TargetBlocked,
        _ if mentions(&words, &["request blocked"]) => Class::TargetBlocked,
        Some(500..=599) => Class::TargetFailed,
        _ => Class::ProviderError,
    };
    let words = words.lines().next().unwrap_or_default();
    Failure::new(class, format!("the actor failed: {words}")).target_status(status)
}
