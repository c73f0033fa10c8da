//! `provider_4`: Scrapfly Web Scraping API. The response is JSON with the page inside. For a large
//! page it carries only a URL, which is fetched in a second exchange.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use trawl_sdk::provider::Mode::{Both, Rendered};
use trawl_sdk::provider::{
    Abilities, Class, Cost, Description, Failure, MEMO_BYTES_MAX, Page, Provider, Reply, Request,
    Step, Task, base64_url, header_pairs, json_text,
};

/// Adapter for the Scrapfly Web Scraping API.
pub struct Scrapfly;

/// Operator settings.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Whether the vendor may bypass protection against bots.
    pub asp: bool,
    /// Most credits that a page may cost with it.
    pub cost_budget: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            asp: true,
            cost_budget: 100,
        }
    }
}

const KEY: &str = "PROVIDER4_KEY";
const BASE: &str = "https://api.scrapfly.io";
const CREDIT: &str = "credit";
/// Range of the `timeout` parameter in milliseconds.
const TIMEOUT_MS: (u32, u32) = (15_000, 155_000);
/// Least `timeout` with `asp`: the vendor needs several attempts.
const ASP_TIMEOUT_MS_MIN: u32 = 30_000;
/// Time for the vendor to deliver the response after `timeout` has passed.
const GRACE_MS: u32 = 5_000;
/// Error code of a target that answered with an error status. The result still has its page.
const BAD_UPSTREAM_RESPONSE: &str = "ERR::SCRAPE::BAD_UPSTREAM_RESPONSE";

trawl_sdk::export!(provider: Scrapfly);

impl Provider for Scrapfly {
    type Settings = Settings;

    fn describe() -> Description {
        Description::new(
            "provider_4",
            env!("CARGO_PKG_VERSION"),
            "Scrapfly (Web Scraping API)",
            BASE,
        )
        .credentials(&[KEY])
        .hosts(&["api.scrapfly.io"])
        .abilities(&[
            (Abilities::SERVES, Both),
            (Abilities::HEADERS, Both),
            (Abilities::COOKIES, Both),
            (Abilities::COUNTRY, Both),
            (Abilities::RESIDENTIAL, Both),
            (Abilities::BODY, Both),
            (Abilities::BINARY, Both),
            (Abilities::TARGET_HEADERS, Both),
            (Abilities::TARGET_COOKIES, Both),
            (Abilities::FINAL_URL, Both),
            (Abilities::FIXED_WAIT, Rendered),
            (Abilities::WAIT_SELECTOR, Rendered),
            (Abilities::SCRIPT, Rendered),
        ])
        .units(&[CREDIT])
        .seconds(160)
        .settings_schema(include_str!("settings.json"))
    }

    fn start(task: &Task, settings: Settings) -> Result<Step, Failure> {
        let limits = if settings.asp {
            (ASP_TIMEOUT_MS_MIN, TIMEOUT_MS.1)
        } else {
            TIMEOUT_MS
        };
        let pool = if task.is_residential() {
            "public_residential_pool"
        } else {
            "public_datacenter_pool"
        };
        let request = Request::new(&task.method, task.at("/scrape"))
            .secret_query("key", KEY)
            .query("url", &task.url)
            .query("render_js", task.javascript)
            .query_if(task.javascript, "rendering_stage", "complete")
            .query("cache", false)
            .query("retry", false)
            .query("timeout", task.timeout_ms(GRACE_MS, limits))
            .query_if(settings.asp, "asp", true)
            .query_if(settings.asp, "cost_budget", settings.cost_budget)
            .query("proxy_pool", pool)
            .query_some("country", task.country_lower())
            .query_some("rendering_wait", task.wait_ms)
            .query_some("wait_for_selector", task.selector())
            .query_some("js", task.script.as_ref().map(base64_url))
            .query_some("headers[cookie]", task.cookie_line())
            .body(task.body.clone());
        let headers = task.headers.iter();
        let headers = headers.filter(|(name, _)| !name.eq_ignore_ascii_case("cookie"));
        let request = headers.fold(request, |request, (name, value)| {
            request.query(&format!("headers[{name}]"), value)
        });
        Ok(request.send())
    }

    fn resume(task: &Task, _: Settings, memo: &[u8], reply: &Reply<'_>) -> Result<Step, Failure> {
        if !memo.is_empty() {
            return large_page(task, memo, reply);
        }
        let mut response: Value = reply.json().unwrap_or_default();
        let is_page = response["result"]["success"] == true
            || code(&response, reply) == Some(BAD_UPSTREAM_RESPONSE);
        if !is_page || !response["result"].is_object() {
            return Err(failure(&response, reply));
        }
        let scraped = serde_json::from_value::<Scraped>(response["result"].take());
        let scraped = scraped.map_err(|error| {
            let message = format!("the result does not have the documented shape: {error}");
            Failure::new(Class::Drift, message)
        })?;
        let headers = scraped.response_headers.as_ref().map(header_pairs);
        let cookies = scraped.cookies.iter().flatten();
        let metadata = Metadata {
            status: scraped.status_code,
            url: scraped.url,
            headers: headers.unwrap_or_default(),
            cookies: cookies.filter_map(pair).collect(),
            credits: credits(&response, reply),
            id: response["uuid"].as_str().map(str::to_owned),
        };
        let content = scraped.content.unwrap_or_default();
        match scraped.format.as_str() {
            "text" => Ok(metadata.complete(Page::of_text(task, content))),
            "binary" => Ok(metadata.complete(Page::of_base64(task, &content)?)),
            "clob" | "blob" => metadata.fetch_body(task, &content),
            other => {
                let message = format!("the result has the unknown format `{other}`");
                Err(Failure::new(Class::Drift, message).cost(metadata.cost()))
            }
        }
    }
}

/// Result of a scrape with a page; only the fields in use.
#[derive(Deserialize)]
struct Scraped {
    status_code: u16,
    url: Option<String>,
    format: String,
    content: Option<String>,
    response_headers: Option<Map<String, Value>>,
    cookies: Option<Vec<Map<String, Value>>>,
}

fn pair(cookie: &Map<String, Value>) -> Option<(String, String)> {
    let text = |name: &str| cookie.get(name).map(json_text);
    Some((text("name")?, text("value")?))
}

/// Metadata of a page whose body is still missing; the memo of the second exchange.
#[derive(Deserialize, Serialize)]
struct Metadata {
    status: u16,
    url: Option<String>,
    headers: Vec<(String, String)>,
    cookies: Vec<(String, String)>,
    credits: Option<String>,
    id: Option<String>,
}

impl Metadata {
    fn cost(&self) -> Cost {
        Cost::reported_or_unknown(CREDIT, self.credits.as_deref())
    }

    fn complete(self, page: Page) -> Step {
        let cost = self.cost();
        page.status(self.status)
            .url(self.url.as_deref())
            .cookies(self.cookies)
            .headers(self.headers)
            .request_id(self.id.as_deref())
            .cost(cost)
            .done()
    }

    /// The step that fetches the body from its URL, which gets the key only if it is the vendor's.
    fn fetch_body(&self, task: &Task, url: &str) -> Result<Step, Failure> {
        let failed = |class, why| Err(Failure::new(class, why).cost(self.cost()));
        let is_below = |base: &str| url.starts_with(&format!("{base}/"));
        if !is_below(BASE) && !is_below(&task.base) {
            return failed(Class::Drift, "the URL of the large page is elsewhere");
        }
        let memo = serde_json::to_vec(self).unwrap_or_default();
        if memo.is_empty() || memo.len() > MEMO_BYTES_MAX {
            return failed(Class::ProviderError, "its headers do not fit in the memo");
        }
        Ok(Request::get(url).secret_query("key", KEY).send_with(memo))
    }
}

/// The page whose body was fetched from its URL.
fn large_page(task: &Task, memo: &[u8], reply: &Reply<'_>) -> Result<Step, Failure> {
    let broken = |_| Failure::new(Class::ProviderError, "the memo is invalid");
    let metadata: Metadata = serde_json::from_slice(memo).map_err(broken)?;
    let class = match reply.status {
        200..=299 => return Ok(metadata.complete(Page::of_reply(task))),
        status @ (401 | 403 | 408 | 429 | 504 | 524) => Class::of_status(status),
        // The page was scraped: whatever is wrong with its URL is not the task's fault.
        _ => Class::ProviderError,
    };
    Err(Failure::of_reply(class, reply)
        .target_status(metadata.status)
        .request_id(metadata.id.as_deref())
        .cost(metadata.cost()))
}

/// The error code, in any of the three places where the vendor has it.
fn code<'a>(response: &'a Value, reply: &'a Reply<'_>) -> Option<&'a str> {
    let code = response["result"]["error"]["code"].as_str();
    let code = code.or_else(|| response["code"].as_str());
    code.or_else(|| reply.header("x-scrapfly-reject-code"))
}

/// Credits charged, as reported by the vendor.
fn credits(response: &Value, reply: &Reply<'_>) -> Option<String> {
    match &response["context"]["cost"]["total"] {
        Value::Number(total) => Some(total.to_string()),
        _ => reply.header("x-scrapfly-api-cost").map(str::to_owned),
    }
}

/// Classifies a response without a page.
fn failure(response: &Value, reply: &Reply<'_>) -> Failure {
    let result = &response["result"];
    let error = &result["error"];
    let code = code(response, reply);
    let words = error["message"].as_str().or(response["message"].as_str());
    let (known, said) = (code.unwrap_or_default(), words.unwrap_or_default());
    let class = class(reply.status, known, said);
    let retryable = error["retryable"].as_bool().or_else(|| {
        let retryable = reply.header("x-scrapfly-reject-retryable")?;
        retryable.to_lowercase().parse().ok()
    });
    // 0 means that there is no status.
    let status = result["status_code"].as_u64().filter(|status| *status > 0);
    let cost = credits(response, reply).and_then(|credits| Cost::reported(CREDIT, &credits));
    let id = response["uuid"].as_str().or(response["error_id"].as_str());
    Failure::quoting_some(class, reply, words)
        .code_some(code)
        .target_status(status.and_then(|status| u16::try_from(status).ok()))
        .retryable(retryable)
        .request_id(id)
        .cost(cost.unwrap_or_else(Cost::free))
}

fn class(status: u16, code: &str, words: &str) -> Class {
    match code {
        // A host name that does not resolve is reported like an invalid parameter.
        _ if status == 400 && words.contains("Invalid hostname") => Class::TargetUnreachable,
        "ERR::SCRAPE::CONFIG_ERROR" => Class::BadRequest,
        "ERR::SCRAPE::OPERATION_TIMEOUT" => Class::ProviderTimeout,
        "ERR::THROTTLE::MAX_API_CREDIT_BUDGET_EXCEEDED" => Class::NoCredit,
        BAD_UPSTREAM_RESPONSE => Class::TargetFailed,
        // Of the account, of a project.
        _ if code.ends_with("QUOTA_LIMIT_REACHED") => Class::NoCredit,
        _ if code.ends_with("UPSTREAM_TIMEOUT") => Class::TargetUnreachable,
        // The page would cost more than `cost_budget`.
        _ if code.ends_with("COST_BUDGET_LIMIT") => Class::TargetBlocked,
        _ if code.starts_with("ERR::SCRAPE::DNS") => Class::TargetUnreachable,
        "ERR::SCRAPE::NETWORK_ERROR" => Class::TargetUnreachable,
        _ if code.starts_with("ERR::THROTTLE::") => Class::RateLimited,
        _ if code.starts_with("ERR::ASP::") => Class::TargetBlocked,
        _ if code.starts_with("ERR::PROXY::") => Class::ProviderError,
        _ if status == 422 => Class::TargetFailed,
        _ => Class::of_status(status),
    }
}

#[cfg(test)]
mod tests {
    use super::Scrapfly;

    #[test]
    fn all_cases_hold() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/cases");
        trawl_sdk::testkit::check_cases::<Scrapfly>(folder);
    }
}
