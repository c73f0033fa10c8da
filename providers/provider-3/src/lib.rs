//! `provider_3`: ScraperAPI. The response body is the page, with metadata in `sa-*` headers. The
//! vendor treats every body as text and does not return the target's headers.

use serde::Deserialize;
use trawl_sdk::provider::Mode::{Both, Rendered};
use trawl_sdk::provider::{
    Abilities, Class, Cost, Description, Failure, Page, Provider, Reply, Request, Step, Task,
    mentions,
};

/// Adapter for the ScraperAPI scraping API.
pub struct ScraperApi;

/// Operator settings.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Sends the key as a query parameter instead of a header.
    pub key_in_query: bool,
}

const KEY: &str = "PROVIDER3_API_KEY";
const CREDIT: &str = "credit";
/// Headers with this prefix are vendor options, which can raise the price.
const OPTION_PREFIX: &str = "x-sapi-";

trawl_sdk::export!(provider: ScraperApi);

impl Provider for ScraperApi {
    type Settings = Settings;

    fn describe() -> Description {
        Description::new(
            "provider_3",
            env!("CARGO_PKG_VERSION"),
            "ScraperAPI (Scraping API)",
            "https://api.scraperapi.com",
        )
        .credentials(&[KEY])
        .hosts(&["api.scraperapi.com"])
        .abilities(&[
            (Abilities::SERVES, Both),
            (Abilities::HEADERS, Both),
            (Abilities::COOKIES, Both),
            (Abilities::COUNTRY, Both),
            (Abilities::RESIDENTIAL, Both),
            (Abilities::BODY, Both),
            (Abilities::FINAL_URL, Both),
            (Abilities::WAIT_SELECTOR, Rendered),
        ])
        .units(&[CREDIT])
        .seconds(80)
        .settings_schema(include_str!("settings.json"))
    }

    fn start(task: &Task, settings: Settings) -> Result<Step, Failure> {
        let mut names = task.headers.iter().map(|(name, _)| name);
        if let Some(name) = names.find(|name| is_consumed(name)) {
            let message = format!("the header `{name}` does not reach the target");
            return Err(Failure::unsupported(message));
        }
        let (headers, cookies) = (task.extra_headers(), task.cookie_line());
        // The vendor advises against it: its own headers are blocked less often.
        let keep_headers = !headers.is_empty() || cookies.is_some();
        let request = Request::new(&task.method, task.at("/"))
            .query("url", &task.url)
            .query("render", task.javascript)
            .query_if(task.is_residential(), "premium", true)
            .query_some("country_code", task.country_lower())
            .query_some("wait_for_selector", task.selector())
            .query_if(keep_headers, "keep_headers", true)
            .prefixed_headers("", &headers)
            .header_some("Cookie", cookies)
            .header_some("Content-Type", task.body_type())
            .body(task.body.clone());
        let request = if settings.key_in_query {
            request.secret_query("api_key", KEY)
        } else {
            request.secret_header("x-sapi-api_key", KEY)
        };
        Ok(request.send())
    }

    fn resume(task: &Task, _: Settings, _memo: &[u8], reply: &Reply<'_>) -> Result<Step, Failure> {
        let cost = match reply.header("sa-credit-cost") {
            credits @ Some(_) => Cost::reported_or_unknown(CREDIT, credits),
            // The vendor reports every charge.
            None => Cost::free(),
        };
        match (reply.status, reply.number("sa-statuscode")) {
            (200..=299 | 404, Some(status)) => Ok(Page::of_reply(task)
                .status(status)
                .url(reply.header("sa-final-url"))
                .content_type(reply.header("content-type"))
                .cost(cost)
                .done()),
            (_, Some(status)) => Err(target_failure(status, reply).cost(cost)),
            (_, None) => Err(vendor_failure(reply).cost(cost)),
        }
    }
}

/// Whether the vendor or the host consumes this request header, so that it never reaches the
/// target.
fn is_consumed(name: &str) -> bool {
    let name = name.to_lowercase();
    name == "authorization" || name.starts_with(OPTION_PREFIX)
}

/// Classifies a failed response of the target: its page is not delivered.
fn target_failure(status: u16, reply: &Reply<'_>) -> Failure {
    let class = match status {
        403 | 429 => Class::TargetBlocked,
        504 => Class::TargetUnreachable,
        _ => Class::TargetFailed,
    };
    Failure::of_reply(class, reply).target_status(status)
}

/// Classifies a failure without a response of the target.
fn vendor_failure(reply: &Reply<'_>) -> Failure {
    let mentions = |words: &[&str]| mentions(&reply.text(), words);
    let class = match reply.status {
        // 403 means an exhausted account, a feature outside the plan, a page that costs more than
        // the request allows, or a site that blocks the vendor; only the message tells them apart.
        // A wrong key is a 401.
        403 if mentions(&["max_cost"]) => Class::BadRequest,
        403 if mentions(&["credit", "exhausted", "limit"]) => Class::NoCredit,
        403 if mentions(&["plan"]) => Class::BadRequest,
        403 => Class::TargetBlocked,
        status => Class::of_status(status),
    };
    Failure::of_reply(class, reply)
}

#[cfg(test)]
mod tests {
    use super::ScraperApi;

    #[test]
    fn all_cases_hold() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/cases");
        trawl_sdk::testkit::check_cases::<ScraperApi>(folder);
    }
}
