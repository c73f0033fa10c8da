//! Input of the actors.

use serde_json::{Value, json};
use trawl_sdk::provider::{Class, Failure, Task, header_object};

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

/// Input of a run with this timeout in seconds.
pub(crate) fn input(task: &Task, seconds: u32) -> Result<Value, Failure> {
    let mut target = json!({
        "url": task.url,
        "method": task.method,
        "headers": header_object(&task.headers),
    });
    if !task.body.is_empty() {
        let text = std::str::from_utf8(&task.body).map_err(|_| {
            Failure::new(
                Class::Unsupported,
                "the vendor accepts no request body that is not UTF-8",
            )
        })?;
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
    let cookies = task.cookies.iter();
    let cookies = cookies
        .map(|(name, value)| json!({"name": name, "value": value, "domain": host, "path": "/"}));
    let mut input = json!({
        "startUrls": [target],
        "keepUrlFragments": true,
        "pageFunction": page_function(task),
        "maxPagesPerCrawl": 1,
        "maxConcurrency": 1,
        "maxRequestRetries": 0,
        "proxyConfiguration": proxy,
        "initialCookies": cookies.collect::<Value>(),
        "pageLoadTimeoutSecs": seconds.min(LOAD_SECONDS_MAX),
        "pageFunctionTimeoutSecs": seconds,
    });
    if task.javascript {
        // By default the actor waits for network idle and scrolls.
        input["waitUntil"] = "load".into();
        input["maxScrollHeightPixels"] = 0.into();
    } else {
        input["additionalMimeTypes"] = json!(MEDIA_TYPES)
    }
    Ok(input)
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
