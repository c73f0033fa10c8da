//! The end of a conversation with a provider as JSON: all that the adapter made of the replies.

use serde_json::{Value, json};

use trawl_contract::provider::{Charged, Class, Content, Cost, Failure, Page, Reply};
use trawl_engine::providers::deserves_retry;
use trawl_plugins::Grant;

/// A page, without its body. `last` is the reply that it was made of.
pub(super) fn page(page: &Page, last: Option<&Reply<'_>>, grant: &Grant) -> Value {
    let bytes = match &page.content {
        Content::Reply => last.map_or(0, |reply| reply.body.len()),
        Content::Bytes(bytes) => bytes.len(),
        Content::Text(text) => text.len(),
    };
    let mut shown = json!({
        "status": page.status, "url": page.url, "bytes": bytes, "content_type": content_type(page),
        "headers": page.headers, "cookies": page.cookies, "rendered": page.rendered,
        "screenshot_bytes": page.screenshot.as_ref().map(Vec::len),
        "route": page.variant, "request_id": page.request_id,
    });
    add_cost(&mut shown, &page.cost, grant);
    json!({"page": shown})
}

/// A failure, and whether a retry can help.
pub(super) fn failure(failure: &Failure, grant: &Grant) -> Value {
    let is_limit = failure.class == Class::RateLimited;
    let mut shown = json!({
        "class": failure.class.name(), "message": failure.message, "code": failure.code,
        "target_status": failure.target_status, "request_id": failure.request_id,
        "retry_after": failure.retry_after, "retryable": failure.retryable,
        "retry_helps": is_limit || deserves_retry(failure.class, failure.retryable),
    });
    add_cost(&mut shown, &failure.cost, grant);
    json!({"failure": shown})
}

/// What it costs in dollars, whether that is charged, and whether the service reported it.
fn add_cost(shown: &mut Value, cost: &Cost, grant: &Grant) {
    shown["cost"] = grant.prices.dollars(cost).dollars_text().into();
    shown["charged"] = match cost.charged {
        Charged::Yes => "yes",
        Charged::No => "no",
        Charged::Unknown => "unknown",
    }
    .into();
    shown["cost_reported"] = cost.reported.into();
}

fn content_type(page: &Page) -> Option<&str> {
    let mut headers = page.headers.iter().flatten();
    let found = headers.find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    let found = found.map(|(_, value)| value.as_str());
    found.or(page.content_type.as_deref())
}
