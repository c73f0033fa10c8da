//! Crawls with their URLs and pages, webhook events and contacts.

use trawl_model::clock::Timestamp;
use trawl_model::{ContentHash, Nanodollars, SkipReason, StopReason, Terms, UrlRow, UrlState};

use super::{StoredRow, column, number};
use crate::{
    AccountId, Contact, CrawlCounts, CrawlLeft, CrawlRecord, CrawlState, CrawlSummary, CrawledPage,
    CrawlsLeft, DeliveryFailure, EventSummary, FoundCrawl, KeyPrefix, LogPosition, LoggedPage,
    OutboxRow, PageContent, PageRow, StoreError,
};

/// The columns of a crawl for [`crawl`], without its request.
pub(crate) const WITHOUT_REQUEST: &str =
    "id, account, key, '' AS request, verb, terms, needs_secrets, in_background,
         state, stop, created, ended, n_pages, n_failed, n_bytes, spent, left_out";

/// Stored states of URLs. From `SKIPPED` on, the number of the skip reason is added.
pub(crate) const WAITING: i64 = 0;
const DONE: i64 = 1;
pub(crate) const SKIPPED: i64 = 16;

/// A crawl.
pub(crate) fn crawl(row: &impl StoredRow) -> Result<CrawlRecord, StoreError> {
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

/// A crawl, with the length of its request.
pub(crate) fn found_crawl(row: &impl StoredRow) -> Result<FoundCrawl, StoreError> {
    Ok(FoundCrawl {
        request_bytes: number(row, "request_bytes")?,
        record: crawl(row)?,
    })
}

/// A crawl that the last process left, with its number and the length of its request.
pub(crate) fn crawl_left(row: &impl StoredRow) -> Result<CrawlLeft, StoreError> {
    Ok(CrawlLeft {
        number: column(row, "number")?,
        request_bytes: number(row, "request_bytes")?,
        record: crawl(row)?,
    })
}

/// How many crawls of an account the last process left.
pub(crate) fn crawls_left(row: &impl StoredRow) -> Result<CrawlsLeft, StoreError> {
    Ok(CrawlsLeft {
        account: AccountId::new(column::<&str>(row, "account")?),
        n_crawls: number(row, "n_crawls")?,
        n_unlimited: number(row, "n_unlimited")?,
        request_bytes: number(row, "request_bytes")?,
    })
}

/// A crawl in a list that has a short request as `short_request`, and its first URL as `first_url`.
pub(crate) fn listed_crawl(row: &impl StoredRow) -> Result<CrawlSummary, StoreError> {
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
fn summary(row: &impl StoredRow) -> Result<CrawlSummary, StoreError> {
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

/// A URL of a crawl.
pub(crate) fn url(row: &impl StoredRow) -> Result<UrlRow, StoreError> {
    const REFERRER: &str = "referrer";
    let referrer: Option<i64> = column(row, REFERRER)?;
    let referrer = referrer.map(u32::try_from).transpose();
    Ok(UrlRow {
        n: number(row, "n")?,
        url: column(row, "url")?,
        depth: number(row, "depth")?,
        referrer: referrer.map_err(|_| StoreError::Unreadable { what: REFERRER })?,
        anchor: column(row, "anchor")?,
        target: column(row, "target")?,
        state: state_of(column(row, "state")?)?,
    })
}

/// The state of a URL as the column has it.
pub(crate) fn state_number(state: UrlState) -> i64 {
    match state {
        UrlState::Waiting => WAITING,
        UrlState::Done => DONE,
        UrlState::Skipped(skip) => SKIPPED + i64::from(skip.number()),
    }
}

fn state_of(number: i64) -> Result<UrlState, StoreError> {
    let skipped = || {
        let skip = u8::try_from(number - SKIPPED).ok();
        skip.and_then(SkipReason::numbered).map(UrlState::Skipped)
    };
    match number {
        WAITING => Ok(UrlState::Waiting),
        DONE => Ok(UrlState::Done),
        _ => skipped().ok_or(StoreError::Unreadable { what: "state" }),
    }
}

/// Where a page of a crawl is, in the file of the crawl.
pub(crate) fn page(row: &impl StoredRow) -> Result<PageRow, StoreError> {
    Ok(PageRow {
        seq: number(row, "seq")?,
        n: number(row, "n")?,
        status: number(row, "status")?,
        is_failed: column(row, "is_failed")?,
        place: LogPosition {
            segment: None,
            offset: number(row, "place")?,
            length: number(row, "length")?,
        },
        at: column::<Option<i64>>(row, "at")?.map(Timestamp),
        cost: Nanodollars(column(row, "cost")?),
        cause: column(row, "cause")?,
        error: column(row, "error")?,
        content: content(row)?,
    })
}

/// What is known of a page's content.
pub(crate) fn page_content(row: &impl StoredRow) -> Result<PageContent, StoreError> {
    Ok(PageContent {
        seq: number(row, "seq")?,
        n: number(row, "n")?,
        is_failed: column(row, "is_failed")?,
        content: content(row)?,
    })
}

fn content(row: &impl StoredRow) -> Result<Option<ContentHash>, StoreError> {
    const NAME: &str = "content";
    let bytes: Option<&[u8]> = column(row, NAME)?;
    let hash = bytes.map(|bytes| <[u8; 16]>::try_from(bytes).map(ContentHash::from_bytes));
    hash.transpose()
        .map_err(|_| StoreError::Unreadable { what: NAME })
}

/// A page in a list, with the id of its crawl.
pub(crate) fn crawled_page(row: &impl StoredRow) -> Result<CrawledPage, StoreError> {
    Ok(CrawledPage {
        crawl: column(row, "id")?,
        seq: number(row, "seq")?,
        url: column(row, "url")?,
        status: number(row, "status")?,
        cause: column(row, "cause")?,
        error: column(row, "error")?,
        cost: Nanodollars(column(row, "cost")?),
        at: column::<Option<i64>>(row, "at")?.map(Timestamp),
    })
}

/// A page in a list, with the length of its entry.
pub(crate) fn logged_page(row: &impl StoredRow) -> Result<LoggedPage, StoreError> {
    Ok(LoggedPage {
        page: crawled_page(row)?,
        entry_bytes: number(row, "length")?,
    })
}

/// An event in a list, with the time of its channel.
pub(crate) fn event_summary(row: &impl StoredRow) -> Result<EventSummary, StoreError> {
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
pub(crate) fn event(row: &impl StoredRow) -> Result<OutboxRow, StoreError> {
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

fn last_failure(row: &impl StoredRow) -> Result<Option<DeliveryFailure>, StoreError> {
    let reason: Option<String> = column(row, "last_error")?;
    let at: Option<i64> = column(row, "last_failed")?;
    let failure = reason.zip(at).map(|(reason, at)| DeliveryFailure {
        reason,
        at: Timestamp(at),
    });
    Ok(failure)
}

/// A contact.
pub(crate) fn contact(row: &impl StoredRow) -> Result<Contact, StoreError> {
    Ok(Contact {
        domain: column(row, "domain")?,
        kind: column(row, "kind")?,
        value: column(row, "value")?,
        details: column(row, "details")?,
        pages: contact_pages(row)?,
        first_seen: Timestamp(column(row, "first_seen")?),
        last_seen: Timestamp(column(row, "last_seen")?),
    })
}

/// The pages that a contact was found on.
pub(crate) fn contact_pages(row: &impl StoredRow) -> Result<Vec<String>, StoreError> {
    let text: &str = column(row, "pages")?;
    serde_json::from_str(text).map_err(|_| StoreError::Unreadable { what: "pages" })
}
