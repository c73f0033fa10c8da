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
/// What is the same in every input. The actor without a browser skips other media types than HTML,
/// JSON and those listed.
const CHEERIO: &str = include_str!("cheerio.json");
/// The same for the browser's actor, which by default waits for network idle and scrolls.
const PLAYWRIGHT: &str = include_str!("playwright.json");

/// Input of a run with this timeout in seconds.
pub(crate) fn input(task: &Task, seconds: u32) -> Result<Value, Failure> {
    let fixed = if task.javascript { PLAYWRIGHT } else { CHEERIO };
    let mut input: Value = serde_json::from_str(fixed).expect("the file is JSON");
    let mut target = json!({
        "url": task.url,
        "method": task.method,
        "headers": header_object(&task.headers),
    });
    if let Some(text) = task.body_text()? {
        target["payload"] = text.into();
    }
    input["startUrls"] = json!([target]);
    if task.is_residential() {
        input["proxyConfiguration"]["apifyProxyGroups"] = json!(["RESIDENTIAL"]);
    }
    if let Some(country) = &task.country {
        input["proxyConfiguration"]["apifyProxyCountry"] = country.as_str().into();
    }
    let domain = task.host();
    let cookie = |name: &str, value: &str| json!({"name": name, "value": value, "domain": domain, "path": "/"});
    if let Some(cookies) = task.cookie_list(cookie) {
        input["initialCookies"] = cookies;
    }
    input["pageFunction"] = page_function(task).into();
    input["pageLoadTimeoutSecs"] = seconds.min(LOAD_SECONDS_MAX).into();
    input["pageFunctionTimeoutSecs"] = seconds.into();
    Ok(input)
}

/// The page function, with the request's browser actions before it returns the page. A wait that
/// times out or a script that throws does not fail the page.
pub(crate) fn page_function(task: &Task) -> String {
    let wait = task.wait_for.as_ref().map(|wait| {
        let (selector, timeout) = (literal(&wait.selector), wait.time_ms);
        format!("waitForSelector({selector}, {{ timeout: {timeout} }}).catch(() => null)")
    });
    let pause = task.wait_ms.map(|ms| format!("waitForTimeout({ms})"));
    let script = task.script.as_ref();
    let script = script.map(|script| format!("evaluate({}).catch(() => null)", literal(script)));
    let actions = [wait, pause, script].into_iter().flatten();
    let actions = actions.map(|action| format!("await context.page.{action};"));
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
