//! `provider_4`: Scrapfly Web Scraping API. The response is JSON with the page inside. For a large
//! page it carries only a URL, which is fetched in a second exchange.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use trawl_sdk::provider::{
    Abilities, Class, Cost, Description, Failure, MEMO_BYTES_MAX, Page, Provider, Reply, Request,
    Step, Task, base64_url, header_pairs,
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

/// JSON Schema of [`Settings`].
const SETTINGS: &str = r#"{
    "type": "object",
    "additionalProperties": false,
    "properties": {
        "asp": { "type": "boolean", "default": true, "description": "Bypasses protection against bots; costs more only where a site blocks" },
        "cost_budget": { "type": "integer", "minimum": 1, "default": 100, "description": "Most credits of a page with `asp`; not above the price table's `most`" }
    }
}"#;

const KEY: &str = "PROVIDER4_KEY";
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
        let always = Abilities::SERVES
            | Abilities::HEADERS
            | Abilities::COOKIES
            | Abilities::COUNTRY
            | Abilities::RESIDENTIAL
            | Abilities::BODY
            | Abilities::BINARY
            | Abilities::TARGET_HEADERS
            | Abilities::TARGET_COOKIES
            | Abilities::FINAL_URL;
        let in_browser = Abilities::FIXED_WAIT | Abilities::WAIT_SELECTOR | Abilities::SCRIPT;
        Description::new(
            "provider_4",
            env!("CARGO_PKG_VERSION"),
            "Scrapfly (Web Scraping API)",
            "https://api.scrapfly.io",
        )
        .credentials(&[KEY])
        .hosts(&["api.scrapfly.io"])
        .plain(always)
        .rendered(always | in_browser)
        .units(&[CREDIT])
        .seconds(160)
        .settings_schema(SETTINGS)
    }

    fn start(task: &Task, settings: Settings) -> Result<Step, Failure> {
        let timeout = task.time_ms.saturating_sub(GRACE_MS);
        let timeout_min = if settings.asp {
            ASP_TIMEOUT_MS_MIN
        } else {
            TIMEOUT_MS.0
        };
        let budget = settings.asp.then(|| settings.cost_budget.to_string());
        let pool = if task.is_residential() {
            "public_residential_pool"
        } else {
            "public_datacenter_pool"
        };
        let mut request = Request::new(&task.method, task.at("/scrape"))
            .secret_query("key", KEY)
            .query("url", &task.url)
            .query("render_js", if task.javascript { "true" } else { "false" })
            .query_if(task.javascript, "rendering_stage", "complete")
            .query("cache", "false")
            .query("retry", "false")
            .query(
                "timeout",
                &timeout.clamp(timeout_min, TIMEOUT_MS.1).to_string(),
            )
            .query_if(settings.asp, "asp", "true")
            .query_some("cost_budget", budget)
            .query("proxy_pool", pool)
            .query_some("country", task.country_lower())
            .query_some("rendering_wait", task.wait_ms.map(|ms| ms.to_string()))
            .query_some(
                "wait_for_selector",
                task.wait_for.as_ref().map(|wait| &wait.selector),
            )
            .query_some("js", task.script.as_ref().map(base64_url))
            .query_some("headers[cookie]", task.cookie_line())
            .body(task.body.clone());
        for (name, value) in &task.headers {
            if !name.eq_ignore_ascii_case("cookie") {
                request = request.query(&format!("headers[{name}]"), value);
            }
        }
        Ok(request.send())
    }

    fn resume(task: &Task, _: Settings, memo: &[u8], reply: &Reply<'_>) -> Result<Step, Failure> {
        if !memo.is_empty() {
            return large_page(task, memo, reply);
        }
        let response: Response = reply.json().unwrap_or_default();
        let code = response.code(reply);
        let Some(result) = &response.result else {
            return Err(failure(&response, reply));
        };
        if result.success != Some(true) && code.as_deref() != Some(BAD_UPSTREAM_RESPONSE) {
            return Err(failure(&response, reply));
        }
        let (Some(status), Some(format)) = (result.status_code, &result.format) else {
            return Err(Failure::new(
                Class::Drift,
                "the result has no `status_code` or `format`",
            ));
        };
        let metadata = Metadata {
            status,
            url: result.url.clone(),
            headers: result.headers(),
            cookies: result.cookies(),
            credits: response.credits(reply),
            id: response.uuid.clone(),
        };
        let content = result.content.as_deref().unwrap_or_default();
        match format.as_str() {
            "text" => Ok(metadata.complete(Page::of_text(task, content))),
            "binary" => Ok(metadata.complete(Page::of_base64(task, content)?)),
            "clob" | "blob" => metadata.fetch_body(content),
            other => {
                let message = format!("the result has the unknown format `{other}`");
                Err(Failure::new(Class::Drift, message).cost(metadata.cost()))
            }
        }
    }
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

    /// The step that fetches the body from its URL.
    fn fetch_body(&self, url: &str) -> Result<Step, Failure> {
        let failed = |class, why| Err(Failure::new(class, why).cost(self.cost()));
        if !url.starts_with("https://") && !url.starts_with("http://") {
            return failed(Class::Drift, "the URL of the large page is not an HTTP URL");
        }
        match serde_json::to_vec(self) {
            Ok(memo) if memo.len() <= MEMO_BYTES_MAX => {
                Ok(Request::get(url).secret_query("key", KEY).send_with(memo))
            }
            _ => failed(
                Class::ProviderError,
                "the page's headers do not fit in the memo",
            ),
        }
    }
}

/// The page whose body was fetched from its URL.
fn large_page(task: &Task, memo: &[u8], reply: &Reply<'_>) -> Result<Step, Failure> {
    let metadata: Metadata = serde_json::from_slice(memo).map_err(|error| {
        Failure::new(
            Class::ProviderError,
            format!("the memo is invalid: {error}"),
        )
    })?;
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

/// Response with a page, or either form of an error; only the fields in use.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Response {
    uuid: Option<String>,
    error_id: Option<String>,
    code: Value,
    message: Value,
    context: Value,
    result: Option<Scraped>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Scraped {
    status_code: Option<u16>,
    url: Option<String>,
    format: Option<String>,
    content: Option<String>,
    response_headers: Option<Map<String, Value>>,
    cookies: Option<Vec<BTreeMap<String, Value>>>,
    success: Option<bool>,
    error: Option<Problem>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Problem {
    code: Option<String>,
    message: Option<String>,
    retryable: Option<bool>,
}

impl Response {
    fn problem(&self) -> Option<&Problem> {
        self.result.as_ref()?.error.as_ref()
    }

    fn code(&self, reply: &Reply<'_>) -> Option<String> {
        let result_code = self.problem().and_then(|problem| problem.code.as_deref());
        let code = result_code.or(self.code.as_str());
        code.or(reply.header("x-scrapfly-reject-code"))
            .map(str::to_owned)
    }

    /// Credits charged, as reported by the vendor.
    fn credits(&self, reply: &Reply<'_>) -> Option<String> {
        match &self.context["cost"]["total"] {
            Value::Number(total) => Some(total.to_string()),
            _ => reply.header("x-scrapfly-api-cost").map(str::to_owned),
        }
    }
}

impl Scraped {
    /// Headers sorted by name; a repeated header has a list of values.
    fn headers(&self) -> Vec<(String, String)> {
        let headers = self.response_headers.as_ref();
        headers.map(header_pairs).unwrap_or_default()
    }

    fn cookies(&self) -> Vec<(String, String)> {
        let cookies = self.cookies.iter().flatten();
        cookies
            .filter_map(|cookie| Some((text(cookie.get("name")?), text(cookie.get("value")?))))
            .collect()
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Classifies a response without a page.
fn failure(response: &Response, reply: &Reply<'_>) -> Failure {
    let problem = response.problem();
    let code = response.code(reply);
    let words = problem.and_then(|problem| problem.message.as_deref());
    let words = words.or(response.message.as_str());
    let class = class(
        reply.status,
        code.as_deref().unwrap_or_default(),
        words.unwrap_or_default(),
    );
    let retryable = problem.and_then(|problem| problem.retryable).or_else(|| {
        let retryable = reply.header("x-scrapfly-reject-retryable")?;
        retryable.to_lowercase().parse().ok()
    });
    let status = response
        .result
        .as_ref()
        .and_then(|result| result.status_code);
    let credits = response.credits(reply);
    let cost = credits.and_then(|credits| Cost::reported(CREDIT, &credits));
    Failure::quoting_some(class, reply, words)
        .code_some(code.as_deref())
        // 0 means that there is no status.
        .target_status(status.filter(|status| *status > 0))
        .retryable(retryable)
        .request_id(response.uuid.as_deref().or(response.error_id.as_deref()))
        .cost(cost.unwrap_or_else(Cost::free))
}

fn class(status: u16, code: &str, words: &str) -> Class {
    match code {
        // A host name that does not resolve is reported like an invalid parameter.
        _ if status == 400 && words.contains("Invalid hostname") => Class::TargetUnreachable,
        "ERR::SCRAPE::CONFIG_ERROR" => Class::BadRequest,
        "ERR::SCRAPE::NETWORK_ERROR" => Class::TargetUnreachable,
        "ERR::SCRAPE::OPERATION_TIMEOUT" => Class::ProviderTimeout,
        "ERR::THROTTLE::MAX_API_CREDIT_BUDGET_EXCEEDED" => Class::NoCredit,
        BAD_UPSTREAM_RESPONSE => Class::TargetFailed,
        // Of the account, of a project.
        _ if code.ends_with("QUOTA_LIMIT_REACHED") => Class::NoCredit,
        _ if code.ends_with("UPSTREAM_TIMEOUT") => Class::TargetUnreachable,
        // The page would cost more than `cost_budget`.
        _ if code.ends_with("COST_BUDGET_LIMIT") => Class::TargetBlocked,
        _ if code.starts_with("ERR::SCRAPE::DNS") => Class::TargetUnreachable,
        _ if code.starts_with("ERR::THROTTLE::") => Class::RateLimited,
        _ if code.starts_with("ERR::ASP::") => Class::TargetBlocked,
        _ if code.starts_with("ERR::PROXY::") => Class::ProviderError,
        _ if status == 422 => Class::TargetFailed,
        _ => Class::of_status(status),
    }
}

#[cfg(test)]
mod tests;
