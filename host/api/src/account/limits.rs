//! The limits of an account, and what is used of them.

use std::collections::BTreeMap;
use std::time::Instant;

use serde::Serialize;
use utoipa::ToSchema;

use crate::Api;
use crate::http::error::ApiError;
use trawl_billing::AccountId;

/// A limit.
#[derive(Serialize, ToSchema)]
#[schema(as = Limit)]
pub(crate) struct LimitView {
    /// Maximum; null if there is none.
    limit: Option<u64>,
    /// What the account uses of it now.
    used: u64,
}

/// The limits of an account by name.
///
/// # Errors
/// The store failed.
pub(crate) async fn limits(
    api: &Api,
    account: &AccountId,
) -> Result<BTreeMap<&'static str, LimitView>, ApiError> {
    let totals = api.rooms.store.totals(account).await?;
    let crawls = &api.rooms.crawls;
    let (crawl_limits, in_use) = (crawls.limits(), crawls.in_use(account));
    let (n_queued_bytes, queued_bytes_max) = crawls.queued_bytes(account);
    let webhooks = crawls.webhook_limits();
    let (requests, n_requests) = api.rate_limits.used(account, Instant::now());
    let (tabs, n_tabs) = api.service.tabs(account);
    let limit = |limit: Option<u64>, used: u64| LimitView { limit, used };
    let number = |limit: usize, used: usize| LimitView {
        limit: Some(limit as u64),
        used: used as u64,
    };
    Ok(BTreeMap::from([
        (
            "requests_per_minute",
            limit(Some(requests.into()), n_requests.into()),
        ),
        (
            "streaming_crawls",
            number(crawl_limits.streaming, in_use.streaming),
        ),
        (
            "background_crawls",
            number(crawl_limits.background, in_use.background),
        ),
        (
            "queued_crawl_bytes",
            limit(Some(queued_bytes_max), n_queued_bytes),
        ),
        ("browser_tabs", number(tabs, n_tabs)),
        (
            "queries",
            number(api.queries.limit(), api.queries.used(account)),
        ),
        (
            "stored_bytes",
            limit(api.rooms.storage.bytes_max(), totals.stored_bytes()),
        ),
        (
            "webhook_events",
            limit(Some(webhooks.events), totals.n_events),
        ),
        (
            "webhook_bytes",
            limit(Some(webhooks.bytes), totals.event_bytes),
        ),
    ]))
}
