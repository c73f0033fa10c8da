//! `provider_11`: Decodo Web Scraping API. The response is JSON with the page as text.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use trawl_sdk::provider::Mode::Both;
use trawl_sdk::provider::{
    Abilities, Class, Cost, Description, Failure, Named, Page, Provider, Reply, Request, Step,
    Task, json_text, mentions,
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
        Description::new(
            "provider_11",
            env!("CARGO_PKG_VERSION"),
            "Decodo (Web Scraping API)",
            "https://scraper-api.decodo.com",
        )
        .credentials(&[USERNAME, PASSWORD])
        .hosts(&["scraper-api.decodo.com"])
        .abilities(&[
            (Abilities::SERVES, Both),
            (Abilities::HEADERS, Both),
            (Abilities::COOKIES, Both),
            (Abilities::COUNTRY, Both),
            (Abilities::RESIDENTIAL, Both),
            (Abilities::BODY, Both),
            (Abilities::TARGET_HEADERS, Both),
            (Abilities::TARGET_COOKIES, Both),
            (Abilities::FINAL_URL, Both),
        ])
        .units(&UNITS)
        .seconds(185)
    }

    fn start(task: &Task, (): ()) -> Result<Step, Failure> {
        if task.url.chars().count() > URL_CHARS_MAX {
            let message =
                format!("the vendor accepts no URL longer than {URL_CHARS_MAX} characters");
            return Err(Failure::unsupported(message));
        }
        let request = Request::post(task.at("/v2/scrape"))
            .basic(Some(USERNAME), Some(PASSWORD))
            .header("accept", "application/json");
        Ok(request.json_some(parameters(task)?).send())
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
            let words = response.message.unwrap_or_default();
            return Err(Failure::quoting(class, reply, &words));
        };
        let id = result.task_id.as_ref().map(json_text);
        let id = id.as_deref();
        let status = result.status_code;
        if status >= VENDOR_STATUS_MIN {
            let message = format!("the task failed with status {status}");
            let failure = Failure::new(Class::TargetBlocked, message);
            return Err(failure.code(&status.to_string()).request_id(id));
        }
        let page = match result.content {
            Value::Null => return Err(Failure::of_reply(Class::Drift, reply).request_id(id)),
            content => Page::of_json(task, content),
        };
        Ok(page
            .status(status)
            .url(result.url.as_deref())
            .cookies(Named::pairs(result.cookies.unwrap_or_default()))
            .header_object(result.headers.as_ref())
            .request_id(id)
            .cost(Cost::listed(unit(task)))
            .done())
    }
}

/// The parameters of the request; those that are null are left out. The vendor rejects unknown
/// ones.
fn parameters(task: &Task) -> Result<Value, Failure> {
    // By default the vendor may use the more expensive pool.
    let pool = if task.is_residential() {
        "premium"
    } else {
        "standard"
    };
    let cookies: Value = task.cookies.iter().cloned().collect();
    Ok(json!({
        "target": "universal",
        "url": task.url,
        "proxy_pool": pool,
        "successful_status_codes": SUCCESSFUL_STATUSES,
        // Rendering is off only if `headless` is absent.
        "headless": task.javascript.then_some("html"),
        "geo": task.country_named(&[])?,
        "headers": task.header_object(),
        "force_headers": (!task.headers.is_empty()).then_some(true),
        "cookies": (!task.cookies.is_empty()).then_some(cookies),
        "force_cookies": (!task.cookies.is_empty()).then_some(true),
        "http_method": (task.method != "GET").then(|| task.method.to_lowercase()),
        "payload": task.body_base64(),
    }))
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
    cookies: Option<Vec<Named>>,
}

/// Classifies a response without results.
fn failure(reply: &Reply<'_>) -> Failure {
    let problem: Value = reply.json().unwrap_or_default();
    let text = reply.text();
    let words = problem["message"].as_str().unwrap_or(&text);
    let is_used_up = mentions(words, &["out of", "credit", "quota"]);
    let class = match reply.status {
        // An exhausted account has the status of a rate limit, or of a wrong password; only the
        // message tells them apart.
        401 | 403 | 429 if is_used_up => Class::NoCredit,
        status => Class::of_status(status),
    };
    Failure::quoting(class, reply, words)
}

#[cfg(test)]
mod tests {
    use trawl_sdk::testkit::{check_cases, converse};

    use super::*;

    #[test]
    fn all_cases_hold() {
        check_cases::<Decodo>(concat!(env!("CARGO_MANIFEST_DIR"), "/cases"));
    }

    #[test]
    fn a_url_that_is_too_long_is_not_sent() {
        let converse_at = |n_chars: usize| {
            let url = format!("https://shop.example/{}", "x".repeat(n_chars - 21));
            let task = Task::new(&url, "https://scraper-api.decodo.com");
            converse::<Decodo>(&task, &[])
        };
        assert_eq!(converse_at(2056).requests().len(), 1);
        let refused = converse_at(2057);
        assert_eq!(refused.class(), Class::Unsupported);
        assert_eq!(refused.requests().len(), 0);
    }
}
