//! `provider_10`: Oxylabs Web Scraper API, realtime integration. The response is JSON. The page in
//! it is base64 without a browser, so that any media type survives, and text with one.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use trawl_sdk::provider::Mode::{Both, Plain, Rendered};
use trawl_sdk::provider::{
    Abilities, Class, Cost, Description, Failure, Named, Page, Provider, Reply, Request, Step,
    Task, json_text, mentions,
};

/// Adapter for the Oxylabs Web Scraper API.
pub struct Oxylabs;

const USERNAME: &str = "PROVIDER10_USERNAME";
const PASSWORD: &str = "PROVIDER10_PASSWORD";
const PLAIN: &str = "plain";
const RENDERED: &str = "rendered";
/// Target statuses that the vendor treats as success, so that it returns their bodies.
const SUCCESSFUL_STATUSES: [u16; 8] = [400, 401, 403, 404, 410, 429, 500, 503];
/// Added to the message of a rejected credential.
const NEWER_KEYS: &str = "; this API takes a user name and a password, keys of the vendor's newer product (`webapi…`) do not fit";
/// Statuses from here on are the vendor's own and mean a failed job.
const VENDOR_STATUS_MIN: u16 = 600;
/// Countries whose names in the vendor's list differ from the common ones.
const COUNTRY_NAMES: [(&str, &str); 10] = [
    ("AX", "Aaland Islands"),
    ("BN", "Brunei Darussalam"),
    ("BO", "Bolivia Plurinational State of"),
    ("BQ", "Bonaire Sint Eustatius and Saba"),
    ("CC", "Cocos Keeling Islands"),
    ("CD", "Congo the Democratic Republic of the"),
    ("CG", "Congo"),
    ("CI", "Côte dIvoire"),
    ("IR", "Iran Islamic Republic of"),
    ("VA", "Holy See"),
];

trawl_sdk::export!(provider: Oxylabs);

impl Provider for Oxylabs {
    type Settings = ();

    fn describe() -> Description {
        Description::new(
            "provider_10",
            env!("CARGO_PKG_VERSION"),
            "Oxylabs (Web Scraper API)",
            "https://realtime.oxylabs.io",
        )
        .credentials(&[USERNAME, PASSWORD])
        .hosts(&["realtime.oxylabs.io"])
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
            (Abilities::BINARY, Plain),
            (Abilities::FIXED_WAIT, Rendered),
            (Abilities::WAIT_SELECTOR, Rendered),
        ])
        .units(&[PLAIN, RENDERED])
        .seconds(180)
    }

    fn start(task: &Task, (): ()) -> Result<Step, Failure> {
        let request = Request::post(task.at("/v1/queries"))
            .basic(Some(USERNAME), Some(PASSWORD))
            .json_some(json!({
                "source": "universal",
                "url": task.url,
                // Rendering is off only if `render` is absent.
                "render": task.javascript.then_some("html"),
                "content_encoding": (!task.javascript).then_some("base64"),
                "browser_instructions": instructions(task),
                "geo_location": task.country_named(&COUNTRY_NAMES)?,
                "context": context(task),
            }));
        Ok(request.send())
    }

    fn resume(task: &Task, (): (), _memo: &[u8], reply: &Reply<'_>) -> Result<Step, Failure> {
        if reply.status != 200 {
            return Err(failure(reply));
        }
        let response: Response = reply.json()?;
        let Some(result) = response.results.into_iter().next() else {
            return Err(Failure::of_reply(Class::Drift, reply));
        };
        let id = result.job_id.as_ref().map(json_text);
        let id = id.as_deref().or(reply.header("x-oxylabs-job-id"));
        let status = result.status_code;
        if status >= VENDOR_STATUS_MIN {
            let message = format!("the job failed with status {status}");
            let failure = Failure::new(Class::TargetBlocked, message);
            return Err(failure.code(&status.to_string()).request_id(id));
        }
        let page = match result.content {
            Value::Null => return Err(Failure::of_reply(Class::Drift, reply).request_id(id)),
            // The vendor does not honour `content_encoding` for every page.
            Value::String(text) if !task.javascript => {
                Page::of_base64(task, &text).unwrap_or_else(|_| Page::of_text(task, text))
            }
            content => Page::of_json(task, content),
        };
        let target = result.response.unwrap_or_default();
        Ok(page
            .status(status)
            .url(result.url.as_deref())
            .cookies(Named::pairs(target.cookies.unwrap_or_default()))
            .header_object(target.headers.as_ref())
            .request_id(id)
            .cost(cost(task, status))
            .done())
    }
}

/// The `context` parameter: everything about the request to the target.
fn context(task: &Task) -> Value {
    let cookie = |name: &str, value: &str| json!({"key": name, "value": value});
    let (headers, cookies) = (task.header_object(), task.cookie_list(cookie));
    let method = (task.method != "GET").then(|| task.method.to_lowercase());
    let parameters = [
        ("successful_status_codes", json!(SUCCESSFUL_STATUSES)),
        ("follow_redirects", json!(true)),
        ("force_headers", json!(headers.as_ref().map(|_| true))),
        ("headers", json!(headers)),
        ("force_cookies", json!(cookies.as_ref().map(|_| true))),
        ("cookies", json!(cookies)),
        ("http_method", json!(method)),
        ("content", json!(task.body_base64())),
    ];
    let parameters = parameters.into_iter().filter(|(_, value)| !value.is_null());
    let parameters = parameters.map(|(key, value)| json!({"key": key, "value": value}));
    parameters.collect()
}

/// The `browser_instructions` parameter. Times are in seconds.
fn instructions(task: &Task) -> Option<Value> {
    let element = task.wait_for.as_ref().map(|wait| {
        json!({
            "type": "wait_for_element",
            "selector": {"type": "css", "value": wait.selector},
            "timeout_s": wait.time_ms.div_ceil(1000),
        })
    });
    let pause = |ms: u32| json!({"type": "wait", "wait_time_s": ms.div_ceil(1000)});
    let pause = task.wait_ms.map(pause);
    let instructions: Vec<_> = [element, pause].into_iter().flatten().collect();
    (!instructions.is_empty()).then(|| instructions.into())
}

/// Cost according to the price table: a result is charged unless the target failed.
fn cost(task: &Task, status: u16) -> Cost {
    match (status / 100, task.javascript) {
        (2 | 4, false) => Cost::listed(PLAIN),
        (2 | 4, true) => Cost::listed(RENDERED),
        _ => Cost::free(),
    }
}

/// Response with results; only the fields in use.
#[derive(Deserialize)]
struct Response {
    #[serde(default)]
    results: Vec<JobResult>,
}

#[derive(Deserialize)]
struct JobResult {
    #[serde(default)]
    content: Value,
    status_code: u16,
    url: Option<String>,
    job_id: Option<Value>,
    #[serde(rename = "_response")]
    response: Option<TargetResponse>,
}

/// Metadata of the target's response.
#[derive(Default, Deserialize)]
struct TargetResponse {
    headers: Option<Map<String, Value>>,
    cookies: Option<Vec<Named>>,
}

/// Classifies a response without results.
fn failure(reply: &Reply<'_>) -> Failure {
    let problem: Value = reply.json().unwrap_or_default();
    let text = reply.text();
    let words = problem["message"].as_str().unwrap_or(&text);
    let class = match reply.status {
        // The job is not finished.
        204 => Class::ProviderTimeout,
        // An exhausted account has the status of a rate limit, or of a wrong password; only the
        // message tells them apart.
        401 | 403 | 429 if mentions(words, &["out of"]) => Class::NoCredit,
        // The vendor's word for a service that is not available.
        524 => Class::ProviderError,
        status => Class::of_status(status),
    };
    let mut failure = Failure::quoting(class, reply, words);
    if reply.status == 401 && class == Class::BadKey {
        failure.message.push_str(NEWER_KEYS);
    }
    failure.request_id(reply.header("x-oxylabs-job-id"))
}

#[cfg(test)]
mod tests {
    use trawl_sdk::provider::country_name;
    use trawl_sdk::testkit::check_cases;

    use super::*;

    #[test]
    fn all_cases_hold() {
        check_cases::<Oxylabs>(concat!(env!("CARGO_MANIFEST_DIR"), "/cases"));
    }

    #[test]
    fn countries_have_other_names_only_where_they_differ() {
        for (code, name) in COUNTRY_NAMES {
            assert!(
                country_name(code).is_some_and(|usual| usual != name),
                "{code}"
            );
        }
    }
}
