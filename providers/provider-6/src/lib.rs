//! `provider_6`: ZenRows Universal Scraper API. The response is the page with the target's status,
//! and metadata in `Zr-*` and `X-Request-*` headers. The vendor's JSON response is used for
//! screenshots only.

use serde::Deserialize;
use serde_json::{Value, json};
use trawl_sdk::provider::Mode::{Both, Rendered};
use trawl_sdk::provider::{
    Abilities, Class, Cost, Description, Failure, Page, Problem, Provider, Reply, Request,
    Screenshot, Step, Task,
};

/// Adapter for the ZenRows Universal Scraper API.
pub struct ZenRows;

const KEY: &str = "PROVIDER6_API_KEY";
const CREDIT: &str = "credit";
const PREFIX: &str = "zr-";
/// `Zr-*` headers that the vendor sets itself; the others are the target's.
const VENDOR_ZR_HEADERS: [&str; 2] = ["cookies", "final-url"];
/// Other headers that only the vendor sends.
const VENDOR_HEADERS: [&str; 4] = [
    "x-request-credits",
    "x-request-cost",
    "x-request-id",
    "concurrency-limit",
];
/// Error code of a 404 from the target.
const TARGET_NOT_FOUND: &str = "RESP002";
/// What the vendor's error codes start with; a number follows.
const CODE_PREFIXES: [&str; 5] = ["AUTH", "BLK", "CTX", "REQS", "RESP"];
/// Maximum of the `wait` parameter in milliseconds.
const WAIT_MS_MAX: u32 = 30_000;

trawl_sdk::export!(provider: ZenRows);

impl Provider for ZenRows {
    type Settings = ();

    fn describe() -> Description {
        Description::new(
            "provider_6",
            env!("CARGO_PKG_VERSION"),
            "ZenRows (Universal Scraper API)",
            "https://api.zenrows.com",
        )
        .credentials(&[KEY])
        .hosts(&["api.zenrows.com"])
        .abilities(&[
            (Abilities::SERVES, Both),
            (Abilities::HEADERS, Both),
            (Abilities::COOKIES, Both),
            (Abilities::COUNTRY_RESIDENTIAL, Both),
            (Abilities::RESIDENTIAL, Both),
            (Abilities::BODY, Both),
            (Abilities::BINARY, Both),
            (Abilities::TARGET_HEADERS, Both),
            (Abilities::TARGET_COOKIES, Both),
            (Abilities::FINAL_URL, Both),
            (Abilities::FIXED_WAIT, Rendered),
            (Abilities::WAIT_SELECTOR, Rendered),
            (Abilities::SCRIPT, Rendered),
            (Abilities::SCREENSHOT, Rendered),
        ])
        .units(&[CREDIT, "plain", "js", "residential", "js_residential"])
        .seconds(180)
    }

    fn start(task: &Task, (): ()) -> Result<Step, Failure> {
        let mut names = task.headers.iter().map(|(name, _)| name);
        if names.any(|name| name.eq_ignore_ascii_case("authorization")) {
            // The host uses this header to authenticate with the vendor.
            let message = "the header `authorization` does not reach the target";
            return Err(Failure::unsupported(message));
        }
        let (headers, cookies) = (task.extra_headers(), task.cookie_line());
        let custom_headers = !headers.is_empty() || cookies.is_some();
        let script = task.script.as_ref();
        let script = script.map(|script| json!([{"evaluate": script}]));
        let window = task.screenshot == Some(Screenshot::Window);
        let full_page = task.screenshot == Some(Screenshot::FullPage);
        let request = Request::new(&task.method, task.at("/v1/"))
            .secret_query("apikey", KEY)
            .query("url", &task.url)
            .query("js_render", task.javascript)
            .query("original_status", true)
            // A 404 costs the same without its body.
            .query("allowed_status_codes", 404)
            .query_if(task.is_residential(), "premium_proxy", true)
            .query_some("proxy_country", task.country_lower())
            .query_if(custom_headers, "custom_headers", true)
            .query_some("wait", task.wait_ms.map(|ms| ms.min(WAIT_MS_MAX)))
            .query_some("wait_for", task.selector())
            .query_some("js_instructions", script)
            .query_if(task.screenshot.is_some(), "json_response", true)
            .query_if(task.screenshot.is_some(), "screenshot_format", "png")
            .query_if(window, "screenshot", true)
            .query_if(full_page, "screenshot_fullpage", true)
            .prefixed_headers("", &headers)
            .header_some("Cookie", cookies)
            .header_some("Content-Type", task.body_type())
            .body(task.body.clone());
        Ok(request.send())
    }

    fn resume(task: &Task, (): (), _memo: &[u8], reply: &Reply<'_>) -> Result<Step, Failure> {
        let page = match problem(reply) {
            // The body is the vendor's; the target's is not delivered.
            Some(problem) if problem.code() == Some(TARGET_NOT_FOUND) => {
                Page::of_text(task, "").status(404)
            }
            Some(problem) => return Err(problem_failure(&problem, reply)),
            None if !has_vendor_headers(reply) => return Err(unmarked_failure(reply)),
            None => match task.screenshot {
                Some(_) => from_json(task, reply)?,
                None => Page::of_reply(task).content_type(reply.header("content-type")),
            }
            .status(reply.status),
        };
        let mut headers = reply.headers_after(PREFIX);
        headers.retain(|(name, _)| !VENDOR_ZR_HEADERS.contains(&name.as_str()));
        let cost = credits(reply).unwrap_or_else(|| Cost::listed(task.variant()));
        Ok(page
            .cookie_line(reply.header("zr-cookies"))
            .url(reply.header("zr-final-url"))
            .headers(headers)
            .request_id(reply.header("x-request-id"))
            .cost(cost)
            .done())
    }
}

/// Credits charged, as reported by the vendor.
fn credits(reply: &Reply<'_>) -> Option<Cost> {
    Cost::reported(CREDIT, reply.header("x-request-credits")?)
}

/// Whether the response has any of the vendor's headers.
fn has_vendor_headers(reply: &Reply<'_>) -> bool {
    let mut names = reply.headers.iter().map(|(name, _)| name.as_str());
    names.any(|name| name.starts_with(PREFIX) || VENDOR_HEADERS.contains(&name))
}

/// Response with `json_response=true`; only the fields in use.
#[derive(Deserialize)]
struct JsonResponse {
    html: String,
    #[serde(default)]
    screenshot: Value,
}

fn from_json(task: &Task, reply: &Reply<'_>) -> Result<Page, Failure> {
    let response: JsonResponse = reply.json()?;
    let page = Page::of_text(task, response.html);
    // Either the image itself or an object that contains it.
    let image = response.screenshot.as_str();
    page.screenshot_base64(image.or(response.screenshot["data"].as_str()))
}

/// The vendor's problem document, if this is one. Only its media type and code distinguish it from
/// a problem document of the target. Some have the media type of any JSON; there the code must be
/// one of the vendor's.
fn problem(reply: &Reply<'_>) -> Option<Problem> {
    let media = reply.header("content-type")?.to_lowercase();
    let is_named = media.starts_with("application/problem+json");
    let may_be_one = reply.status >= 400 && media.starts_with("application/json");
    if !is_named && !may_be_one {
        return None;
    }
    let problem = Problem::of_reply(reply);
    let is_vendors = problem
        .code()
        .is_some_and(|code| is_named || is_vendor_code(code));
    is_vendors.then_some(problem)
}

/// Whether this is a code of the vendor: a known prefix and a number.
fn is_vendor_code(code: &str) -> bool {
    let mut numbers = CODE_PREFIXES.iter().filter_map(|it| code.strip_prefix(it));
    numbers.any(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

fn problem_failure(problem: &Problem, reply: &Reply<'_>) -> Failure {
    let code = problem.code().unwrap_or_default();
    let class = match code {
        "AUTH001" | "AUTH002" | "AUTH003" | "AUTH009" | "BLK0001" => Class::BadKey,
        "AUTH004" | "AUTH005" | "AUTH010" | "AUTH011" | "AUTH012" => Class::NoCredit,
        "AUTH006" | "AUTH008" => Class::RateLimited,
        "REQS001" | "REQS002" | "RESP001" | "RESP006" => Class::TargetBlocked,
        "RESP007" => Class::TargetUnreachable,
        "RESP003" | "RESP005" => Class::ProviderError,
        "CTX0002" => Class::ProviderTimeout,
        "REQS007" => Class::BadRequest,
        _ => class_of_status(reply.status),
    };
    // A blocked domain, a page that is too large, missing data: a retry does not help.
    let is_permanent = matches!(code, "REQS001" | "RESP005" | "no_data_extracted");
    Failure::quoting_some(class, reply, problem.words())
        .code_some(problem.code())
        .retryable(is_permanent.then_some(false))
        .request_id(reply.header("x-request-id"))
        .cost(credits(reply).unwrap_or_else(Cost::free))
}

/// Classifies a response without any of the vendor's headers.
fn unmarked_failure(reply: &Reply<'_>) -> Failure {
    Failure::of_reply(class_of_status(reply.status), reply)
}

fn class_of_status(status: u16) -> Class {
    match status {
        422 | 424 => Class::TargetBlocked,
        _ => Class::of_status(status),
    }
}

#[cfg(test)]
mod tests {
    use super::ZenRows;

    #[test]
    fn all_cases_hold() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/cases");
        trawl_sdk::testkit::check_cases::<ZenRows>(folder);
    }
}
