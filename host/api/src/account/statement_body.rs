//! The body of a statement, streamed from the ledger: an account may have millions of entries.

use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use axum::body::Bytes;
use futures_util::{Stream, StreamExt, stream};
use serde::Serialize;
use utoipa::ToSchema;

use trawl_billing::{AccountId, Billing, LedgerEntryKind, Posted, StatementPage, Window};
use trawl_model::Nanodollars;
use trawl_model::clock::Timestamp;
use trawl_model::memory::{MemoryKind, MemoryShare};
use trawl_wire::{Costs, dollars};

use crate::http::error::ApiError;
use crate::http::format::ResponseFormat;
use crate::http::queries::Queries;
use crate::http::stream::read_in_tasks;

/// Entries that are read from the ledger at a time.
const ENTRIES_AT_ONCE: u32 = 1_000;
/// Bytes of a chunk, before they are known.
const CHUNK_BYTES_LIKELY: usize = 512 * 1024;

/// Format of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StatementFormat {
    /// One JSON object.
    Json,
    /// One JSON object per entry.
    JsonLines,
    /// One line per entry, amounts as exact decimal text.
    Csv,
}

/// A statement. Amounts are dollars.
#[derive(Serialize, ToSchema)]
pub(crate) struct Statement {
    /// The account.
    account: String,
    /// Balance before the first entry.
    opening_balance: f64,
    /// Ledger entries in order.
    entries: Vec<StatementEntry>,
    /// Balance after the last entry: the opening balance plus all amounts.
    closing_balance: f64,
    /// Send it as `cursor` to get the entries after these; absent if none follows, and without
    /// `limit`.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// A place in a statement. Its text is opaque to callers: two numbers, joined by `.`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StatementCursor {
    /// Position in the ledger of the entry before it.
    after: i64,
    /// Balance after that entry.
    balance: Nanodollars,
}

impl StatementCursor {
    /// The place that a text names; `None` if it names none. The balance is the one that the caller
    /// sends: without it, each page would add up all entries before it.
    pub(super) fn read(text: &str) -> Option<Self> {
        /// More than any account has, and far from an overflow.
        const BALANCE_MAX: u64 = u64::MAX / 4;
        let (after, balance) = text.split_once('.')?;
        let (after, balance) = (after.parse().ok()?, balance.parse::<i64>().ok()?);
        let is_place = after > 0 && balance.unsigned_abs() <= BALANCE_MAX;
        is_place.then_some(Self {
            after,
            balance: Nanodollars(balance),
        })
    }
}

impl fmt::Display for StatementCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.after, self.balance.0)
    }
}

/// One ledger entry of an account.
#[derive(Serialize, ToSchema)]
struct StatementEntry {
    /// Its position in the ledger.
    seq: i64,
    /// Time of the entry.
    at: String,
    /// `top_up`, `bonus`, `reserve` (reserved for a page), `post` (the charge of a page, or its
    /// refund, with a positive amount), `void` (a page that failed or was refused), `seats` (the
    /// monthly price of seats).
    kind: &'static str,
    /// Change of the balance in dollars.
    amount: f64,
    /// Change of the reserved amount in dollars.
    reserved: f64,
    /// The request or crawl of the page; empty for top-ups.
    run: String,
    /// URL of the page; empty for top-ups.
    url: String,
    /// The parts of a charge; negative of a refund.
    #[serde(skip_serializing_if = "Option::is_none")]
    costs: Option<Costs>,
    /// The provider's part of a charge in dollars, included in `total_cost`.
    #[serde(skip_serializing_if = "is_zero")]
    billed_cost: f64,
    /// Why a page was not charged or is refunded, or which seats were charged.
    reason: String,
    /// First characters of the key that the page was requested with; empty for top-ups, and for
    /// pages from before keys were recorded.
    key: String,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(amount: &f64) -> bool {
    *amount == 0.0
}

impl From<Posted> for StatementEntry {
    fn from(posted: Posted) -> Self {
        let entry = posted.entry;
        let is_charge = entry.kind == LedgerEntryKind::Post;
        Self {
            seq: posted.seq,
            at: entry.at.to_string(),
            kind: entry.kind.name(),
            amount: dollars(entry.amount),
            reserved: dollars(entry.held),
            run: entry.run.to_string(),
            url: entry.url.to_string(),
            costs: is_charge.then(|| Costs::new(&entry.charge, None)),
            billed_cost: dollars(entry.charge.vendor_billed),
            reason: entry.reason,
            key: entry.key.to_string(),
        }
    }
}

/// Where a statement is read from.
pub(super) struct StatementSource {
    /// The ledger.
    pub(super) billing: Billing,
    /// The queries of the account; `None` for the operator, who waits for no turn.
    pub(super) queries: Option<Arc<Queries>>,
    /// The share that each chunk takes its memory from until it is sent.
    pub(super) memory: MemoryShare,
}

/// At most `limit` entries of a statement, from `start` on, and the place after them if more
/// follow.
///
/// # Errors
/// The store failed, the account's earlier queries take too long, or it has no memory.
pub(super) async fn page(
    source: StatementSource,
    account: &AccountId,
    time: Range<Timestamp>,
    format: StatementFormat,
    (start, limit): (Option<StatementCursor>, u32),
) -> Result<(Bytes, Option<StatementCursor>), ApiError> {
    let mut lease = source.memory.page().lease_for(MemoryKind::Stored);
    let granted = lease.grow_to(CHUNK_BYTES_LIKELY).await;
    granted.map_err(|_error| ApiError::no_memory())?;
    let permit = match &source.queries {
        Some(queries) => Some(queries.take(account).await?),
        None => None,
    };
    let opening = match start {
        Some(place) => place.balance,
        None => total(&sums_before(&source.billing, account, time.start, None).await?),
    };
    let window = Window {
        from: time.start,
        to: time.end,
        after: start.map_or(Window::WITHOUT_SUMS, |place| place.after),
        limit: limit + 1,
    };
    let mut entries = source.billing.statement(account, window).await?.entries;
    drop(permit);
    let has_more = entries.len() > limit as usize;
    entries.truncate(limit as usize);
    let mut text = format.head(account, opening).to_vec();
    let (mut after, mut balance) = (0, opening);
    for (number, posted) in entries.into_iter().enumerate() {
        after = posted.seq;
        balance += posted.entry.amount;
        let written = format.write(posted, number == 0, &mut text);
        written.map_err(|error| {
            tracing::error!(error = %error, "cannot serialize an entry of a statement");
            ApiError::Internal
        })?;
    }
    let next = has_more.then_some(StatementCursor { after, balance });
    text.extend_from_slice(format.end(balance, next).as_bytes());
    lease.record(text.capacity());
    Ok((lease.attach(text), next))
}

/// The statement in chunks, from `start` on, up to the newest entry that there is now: that of an
/// account whose pages are charged meanwhile ends, too. The account waits for its turn before each
/// chunk, unless the operator asks.
///
/// # Errors
/// The store failed, or the account's earlier queries take too long.
pub(super) async fn chunks(
    source: StatementSource,
    account: AccountId,
    time: Range<Timestamp>,
    format: StatementFormat,
    start: Option<StatementCursor>,
) -> Result<impl Stream<Item = io::Result<Bytes>> + Send + 'static, ApiError> {
    let permit = match &source.queries {
        Some(queries) => Some(queries.take(&account).await?),
        None => None,
    };
    let before = sums_before(&source.billing, &account, time.start, start).await?;
    drop(permit);
    let opening = match start {
        Some(place) => place.balance,
        None => total(&before),
    };
    let head = format.head(&account, opening);
    let reader = Reader {
        source,
        account,
        time,
        format,
        after: start.map_or(Window::WITHOUT_SUMS, |place| place.after),
        last: before.last,
        balance: opening,
        is_at_start: true,
        is_done: false,
    };
    let head = stream::iter((!head.is_empty()).then_some(Ok(head)));
    Ok(head.chain(read_in_tasks(reader, Reader::next)))
}

/// The sums of all entries before a time; without them from a place on, which has its balance.
async fn sums_before(
    billing: &Billing,
    account: &AccountId,
    time: Timestamp,
    start: Option<StatementCursor>,
) -> Result<StatementPage, ApiError> {
    let window = Window {
        from: Timestamp::MIN,
        to: time,
        after: start.map_or(0, |place| place.after),
        limit: 0,
    };
    Ok(billing.statement(account, window).await?)
}

/// The balance that these sums add up to.
fn total(page: &StatementPage) -> Nanodollars {
    page.sums.iter().map(|sum| sum.amount).sum()
}

struct Reader {
    source: StatementSource,
    account: AccountId,
    time: Range<Timestamp>,
    format: StatementFormat,
    after: i64,
    /// Position in the ledger of the last entry of the statement.
    last: i64,
    /// Balance after the last entry that was read.
    balance: Nanodollars,
    /// Whether no entry was read yet.
    is_at_start: bool,
    is_done: bool,
}

impl Reader {
    /// The next serialized entries, or the end of the body, and the reader of the rest.
    async fn next(mut self) -> io::Result<Option<(Bytes, Self)>> {
        if self.is_done {
            return Ok(None);
        }
        let window = Window {
            from: self.time.start,
            to: self.time.end,
            after: self.after,
            limit: ENTRIES_AT_ONCE,
        };
        let mut lease = self.source.memory.page().lease_for(MemoryKind::Stored);
        let granted = lease.grow_to(CHUNK_BYTES_LIKELY).await;
        granted.map_err(io::Error::other)?;
        let permit = match &self.source.queries {
            Some(queries) => Some(queries.next(&self.account).await),
            None => None,
        };
        let page = self.source.billing.statement(&self.account, window).await;
        drop(permit);
        let mut entries = page.map_err(io::Error::other)?.entries;
        // Others were written after the start of the statement.
        entries.retain(|posted| posted.seq <= self.last);
        self.is_done = entries.is_empty();
        let mut text = Vec::new();
        for posted in entries {
            let is_first = std::mem::take(&mut self.is_at_start);
            self.after = posted.seq;
            self.balance += posted.entry.amount;
            self.format.write(posted, is_first, &mut text)?;
        }
        if self.is_done {
            text = self.format.end(self.balance, None).into_bytes();
        }
        lease.record(text.capacity());
        Ok(Some((lease.attach(text), self)))
    }
}

/// Columns of the CSV format.
const COLUMNS: [&str; 15] = [
    "seq",
    "at",
    "kind",
    "amount",
    "reserved",
    "run",
    "url",
    "ai_cost",
    "compute_cost",
    "file_cost",
    "bytes_transferred_cost",
    "transform_cost",
    "billed_cost",
    "reason",
    "key",
];

impl StatementFormat {
    /// The media type of the response.
    pub(super) const fn media_type(self) -> &'static str {
        match self {
            Self::Json => ResponseFormat::Json.media_type(),
            Self::JsonLines => ResponseFormat::JsonLines.media_type(),
            Self::Csv => "text/csv; charset=utf-8",
        }
    }

    /// What precedes the entries.
    fn head(self, account: &AccountId, opening: Nanodollars) -> Bytes {
        match self {
            Self::JsonLines => Bytes::new(),
            Self::Csv => format!("{}\r\n", COLUMNS.join(",")).into(),
            Self::Json => format!(
                "{{\"account\":\"{account}\",\"opening_balance\":{},\"entries\":[",
                dollars(opening)
            )
            .into(),
        }
    }

    /// What follows the entries.
    fn end(self, closing: Nanodollars, next: Option<StatementCursor>) -> String {
        let closing = dollars(closing);
        match (self, next) {
            (Self::Json, None) => format!("],\"closing_balance\":{closing}}}"),
            (Self::Json, Some(next)) => {
                format!("],\"closing_balance\":{closing},\"next_cursor\":\"{next}\"}}")
            }
            (Self::JsonLines | Self::Csv, _) => String::new(),
        }
    }

    fn write(self, posted: Posted, is_first: bool, text: &mut Vec<u8>) -> io::Result<()> {
        match self {
            Self::Csv => text.extend_from_slice(csv_line(&posted).as_bytes()),
            Self::Json => {
                if !is_first {
                    text.push(b',');
                }
                serde_json::to_writer(text, &StatementEntry::from(posted))?;
            }
            Self::JsonLines => {
                serde_json::to_writer(&mut *text, &StatementEntry::from(posted))?;
                text.push(b'\n');
            }
        }
        Ok(())
    }
}

fn csv_line(posted: &Posted) -> String {
    let entry = &posted.entry;
    let charge = &entry.charge;
    let parts = [
        charge.ai,
        charge.compute,
        charge.file,
        charge.bytes_transferred,
        charge.transform,
        charge.vendor_billed,
    ];
    let mut fields = vec![
        posted.seq.to_string(),
        entry.at.to_string(),
        entry.kind.name().to_owned(),
        entry.amount.dollars_text(),
        entry.held.dollars_text(),
        quoted(&entry.run),
        quoted(&entry.url),
    ];
    fields.extend(parts.map(Nanodollars::dollars_text));
    fields.extend([quoted(&entry.reason), quoted(entry.key.as_str())]);
    fields.join(",") + "\r\n"
}

/// A text as a CSV field (RFC 4180). Text that a spreadsheet would read as a formula is prefixed
/// with an apostrophe.
fn quoted(text: &str) -> String {
    let prefix = if text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        "'"
    } else {
        ""
    };
    if prefix.is_empty() && !text.contains(['"', ',', '\n', '\r']) {
        return text.to_owned();
    }
    format!("\"{prefix}{}\"", text.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_back_from_its_text() {
        let place = StatementCursor {
            after: 7,
            balance: Nanodollars(-5),
        };
        assert_eq!(StatementCursor::read(&place.to_string()), Some(place));
        for text in [
            "",
            "7",
            "7.",
            ".5",
            "0.5",
            "-1.5",
            "7.5.1",
            "7.x",
            "7.9223372036854775807",
        ] {
            assert_eq!(StatementCursor::read(text), None, "{text}");
        }
    }

    #[test]
    fn fields_are_quoted_where_needed() {
        assert_eq!(quoted("https://a.com/?b=1"), "https://a.com/?b=1");
        assert_eq!(quoted("a,\"b\"\n"), "\"a,\"\"b\"\"\n\"");
        assert_eq!(quoted("=1+1"), "\"'=1+1\"");
        assert_eq!(quoted(""), "");
    }
}
