//! Records from rows of the database.

use sqlx::postgres::PgRow;

use trawl_model::clock::Timestamp;
use trawl_model::{Nanodollars, StopReason, Terms};

use super::row::{column, number};
use crate::{
    AccountId, Contact, CrawlCounts, CrawlRecord, CrawlState, CrawlSummary, DeliveryFailure,
    EventSummary, KeyPrefix, OutboxRow, StoreError,
};

/// The columns of a crawl for [`record`], without its request.
pub(super) const WITHOUT_REQUEST: &str =
    "id, account, key, '' AS request, verb, terms, needs_secrets, in_background,
         state, stop, created, ended, n_pages, n_failed, n_bytes, spent, left_out";

/// A crawl.
pub(super) fn record(row: &PgRow) -> Result<CrawlRecord, StoreError> {
    let summary = summary(row)?;
    let terms: &str = column(row, "terms")?;
    Ok(CrawlRecord {
        id: summary.id,
        account: AccountId::new(column::<&str>(row, "account")?),
        key: KeyPrefix::new(column(row, "key")?),
        request: column(row, "request")?,
        verb: summary.verb,
        terms: Terms::named(terms).ok_or(StoreError::Unreadable { what: "terms" })?,
        needs_secrets: column(row, "needs_secrets")?,
        in_background: summary.in_background,
        state: summary.state,
        stop: summary.stop,
        created: summary.created,
        ended: summary.ended,
        counts: summary.counts,
        left_out: column(row, "left_out")?,
    })
}

/// A crawl in a list that has a short request as `short_request`, and its first URL as `first_url`.
pub(super) fn listed(row: &PgRow) -> Result<CrawlSummary, StoreError> {
    let request: Option<&str> = column(row, "short_request")?;
    let requested = request.and_then(requested_url);
    Ok(CrawlSummary {
        url: match requested.filter(|url| !url.is_empty()) {
            None => column(row, "first_url")?,
            requested => requested,
        },
        ..summary(row)?
    })
}

/// The `url` of a request.
fn requested_url(request: &str) -> Option<String> {
    let request: serde_json::Value = serde_json::from_str(request).ok()?;
    match request.get("url")? {
        serde_json::Value::String(url) => Some(url.clone()),
        serde_json::Value::Null => None,
        other => Some(other.to_string()),
    }
}

/// A crawl without its URL.
fn summary(row: &PgRow) -> Result<CrawlSummary, StoreError> {
    let state: &str = column(row, "state")?;
    let stop: Option<&str> = column(row, "stop")?;
    Ok(CrawlSummary {
        id: column(row, "id")?,
        url: None,
        verb: column(row, "verb")?,
        in_background: column(row, "in_background")?,
        state: CrawlState::named(state).ok_or(StoreError::Unreadable { what: "state" })?,
        stop: stop
            .map(|stop| StopReason::named(stop).ok_or(StoreError::Unreadable { what: "stop" }))
            .transpose()?,
        created: Timestamp(column(row, "created")?),
        ended: column::<Option<i64>>(row, "ended")?.map(Timestamp),
        counts: CrawlCounts {
            n_pages: number(row, "n_pages")?,
            n_failed: number(row, "n_failed")?,
            n_bytes: number(row, "n_bytes")?,
            spent: Nanodollars(column(row, "spent")?),
        },
    })
}

/// An event in a list, with the time of its channel.
pub(super) fn event_summary(row: &PgRow) -> Result<EventSummary, StoreError> {
    Ok(EventSummary {
        id: column(row, "id")?,
        destination: column(row, "destination")?,
        event: column(row, "event")?,
        created: Timestamp(column(row, "created")?),
        due: Timestamp(column(row, "channel_due")?),
        n_attempts: number(row, "n_attempts")?,
        last_failure: last_failure(row)?,
    })
}

/// An event, with the time of its channel.
pub(super) fn event(row: &PgRow) -> Result<OutboxRow, StoreError> {
    Ok(OutboxRow {
        id: column(row, "id")?,
        account: AccountId::new(column::<&str>(row, "account")?),
        destination: column(row, "destination")?,
        event: column(row, "event")?,
        body: column(row, "body")?,
        created: Timestamp(column(row, "created")?),
        due: Timestamp(column(row, "channel_due")?),
        n_attempts: number(row, "n_attempts")?,
        last_failure: last_failure(row)?,
    })
}

fn last_failure(row: &PgRow) -> Result<Option<DeliveryFailure>, StoreError> {
    let reason: Option<String> = column(row, "last_error")?;
    let at: Option<i64> = column(row, "last_failed")?;
    let failure = reason.zip(at).map(|(reason, at)| DeliveryFailure {
        reason,
        at: Timestamp(at),
    });
    Ok(failure)
}

/// A contact.
pub(super) fn contact(row: &PgRow) -> Result<Contact, StoreError> {
    Ok(Contact {
        domain: column(row, "domain")?,
        kind: column(row, "kind")?,
        value: column(row, "value")?,
        details: column(row, "details")?,
        pages: read_pages(row)?,
        first_seen: Timestamp(column(row, "first_seen")?),
        last_seen: Timestamp(column(row, "last_seen")?),
    })
}

/// The pages that a contact was found on.
pub(super) fn read_pages(row: &PgRow) -> Result<Vec<String>, StoreError> {
    let text: &str = column(row, "pages")?;
    serde_json::from_str(text).map_err(|_| StoreError::Unreadable { what: "pages" })
}
