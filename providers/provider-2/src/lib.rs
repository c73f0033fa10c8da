//! `provider_2`: ScrapingBee HTML API. The response body is the page, with metadata in `Spb-*`
//! headers. The vendor's JSON response is used for screenshots only.

use serde::Deserialize;
use serde_json::Value;
use trawl_sdk::provider::Mode::{Both, Plain, Rendered};
use trawl_sdk::provider::{
    Abilities, Class, Cost, Description, Failure, Page, Provider, Reply, Request, Screenshot, Step,
    Task, base64, mentions,
};

/// Adapter for the ScrapingBee HTML API.
pub struct ScrapingBee;

const KEY: &str = "PROVIDER2_API_KEY";
const CREDIT: &str = "credit";
/// `Spb-*` headers that the vendor sets itself; the others are the target's.
const VENDOR_HEADERS: [&str; 4] = ["cost", "initial-status-code", "resolved-url", "request-id"];
/// Range of the `timeout` parameter in milliseconds.
const TIMEOUT_MS: (u32, u32) = (1_000, 140_000);
/// Time for the vendor to deliver the response after `timeout` has passed.
const GRACE_MS: u32 = 15_000;
/// Maximum of the `wait` parameter in milliseconds.
const WAIT_MS_MAX: u32 = 35_000;

trawl_sdk::export!(provider: ScrapingBee);

impl Provider for ScrapingBee {
    type Settings = ();

    fn describe() -> Description {
        Description::new(
            "provider_2",
            env!("CARGO_PKG_VERSION"),
            "ScrapingBee (HTML API)",
            "https://app.scrapingbee.com",
        )
        .credentials(&[KEY])
        .hosts(&["app.scrapingbee.com"])
        .abilities(&[
            (Abilities::SERVES, Both),
            (Abilities::HEADERS, Both),
            (Abilities::COOKIES, Both),
            (Abilities::COUNTRY_RESIDENTIAL, Both),
            (Abilities::RESIDENTIAL, Both),
            (Abilities::BODY, Both),
            (Abilities::TARGET_HEADERS, Both),
            (Abilities::TARGET_COOKIES, Both),
            (Abilities::FINAL_URL, Both),
            (Abilities::BINARY, Plain),
            (Abilities::FIXED_WAIT, Rendered),
            (Abilities::WAIT_SELECTOR, Rendered),
            (Abilities::SCRIPT, Rendered),
            (Abilities::SCREENSHOT, Rendered),
        ])
        .units(&[CREDIT])
        .seconds(155)
    }

    fn start(task: &Task, (): ()) -> Result<Step, Failure> {
        let headers = task.extra_headers();
        let window = task.screenshot == Some(Screenshot::Window);
        let full_page = task.screenshot == Some(Screenshot::FullPage);
        let request = Request::new(&task.method, task.at("/api/v1/"))
            .bearer(KEY)
            .query("url", &task.url)
            .query("render_js", task.javascript)
            .query("transparent_status_code", true)
            .query("timeout", task.timeout_ms(GRACE_MS, TIMEOUT_MS))
            .query_if(task.is_residential(), "premium_proxy", true)
            .query_some("country_code", task.country_lower())
            .query_some("cookies", task.cookies_with(";"))
            .query_if(!headers.is_empty(), "forward_headers", true)
            .query_if(task.javascript, "block_resources", false)
            .query_some("wait", task.wait_ms.map(|ms| ms.min(WAIT_MS_MAX)))
            .query_some("wait_for", task.selector())
            .query_some("js_snippet", task.script.as_ref().map(base64))
            .query_if(task.screenshot.is_some(), "json_response", true)
            .query_if(window, "screenshot", true)
            .query_if(full_page, "screenshot_full_page", true)
            .prefixed_headers("Spb-", &headers)
            .header_some("Content-Type", task.body_type())
            .body(task.body.clone());
        Ok(request.send())
    }

    fn resume(task: &Task, (): (), _memo: &[u8], reply: &Reply<'_>) -> Result<Step, Failure> {
        let Some(status) = reply.number("spb-initial-status-code") else {
            return Err(failure(reply));
        };
        let cost = Cost::reported_or_unknown(CREDIT, reply.header("spb-cost"));
        let id = reply.header("spb-request-id");
        let is_free = cost
            .quantities
            .iter()
            .all(|credits| credits.billionths == 0);
        if status == 503 && is_free && reply.text().contains("Proxy connection error") {
            return Err(Failure::of_reply(Class::TargetUnreachable, reply).request_id(id));
        }
        let mut headers = reply.headers_after("spb-");
        headers.retain(|(name, _)| !VENDOR_HEADERS.contains(&name.as_str()));
        let page = match task.screenshot {
            Some(_) => from_json(task, reply)?,
            None => Page::of_reply(task),
        };
        Ok(page
            .status(status)
            .url(reply.header("spb-resolved-url"))
            .headers(headers)
            .request_id(id)
            .cost(cost)
            .done())
    }
}

/// Response with `json_response=true`; only the fields in use.
#[derive(Deserialize)]
struct JsonResponse {
    body: Value,
    #[serde(rename = "type")]
    kind: String,
    screenshot: Option<String>,
}

fn from_json(task: &Task, reply: &Reply<'_>) -> Result<Page, Failure> {
    let response: JsonResponse = reply.json()?;
    let page = match (response.kind.as_str(), response.body) {
        ("b64_bytes", Value::String(text)) => Page::of_base64(task, &text)?,
        (_, body) => Page::of_json(task, body),
    };
    page.screenshot_base64(response.screenshot.as_deref())
}

/// Classifies a response without the target's status: the target has not answered.
fn failure(reply: &Reply<'_>) -> Failure {
    let is_used_up = mentions(&reply.text(), &["credit", "limit", "quota"]);
    let class = match reply.status {
        // 401 means a wrong key as well as an exhausted quota; only the message tells them apart.
        401 | 403 if is_used_up => Class::NoCredit,
        status => Class::of_status(status),
    };
    Failure::of_reply(class, reply).request_id(reply.header("spb-request-id"))
}

#[cfg(test)]
mod tests {
    use super::ScrapingBee;

    #[test]
    fn all_cases_hold() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/cases");
        trawl_sdk::testkit::check_cases::<ScrapingBee>(folder);
    }
}
