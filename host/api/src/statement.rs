//! A statement, written while it is read from the ledger: an account may have millions of entries.

use std::io;
use std::ops::Range;

use axum::body::Bytes;
use futures_util::{Stream, StreamExt, stream};
use serde::Serialize;
use utoipa::ToSchema;

use super::error::ApiError;
use trawl_billing::{AccountId, Billing, LedgerEntryKind, Posted, Window};
use trawl_model::Nanodollars;
use trawl_model::clock::Timestamp;
use trawl_wire::{Costs, dollars};

/// Entries that are read at once.
const ENTRIES_AT_ONCE: u32 = 1_000;

/// How entries are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lines {
    /// One JSON object with everything.
    Json,
    /// One JSON object an entry.
    Jsonl,
    /// One line an entry, amounts as exact decimal text.
    Csv,
}

/// A statement. Amounts are dollars.
#[derive(Serialize, ToSchema)]
pub(super) struct Statement {
    /// The account.
    account: String,
    /// Balance before the first entry.
    opening_balance: f64,
    /// Changes in the order of writing.
    entries: Vec<StatementEntry>,
    /// Balance after the last entry: the opening one and all amounts.
    closing_balance: f64,
}

/// One change of an account.
#[derive(Serialize, ToSchema)]
struct StatementEntry {
    /// Its place in the ledger.
    seq: i64,
    /// When.
    at: String,
    /// `top_up`, `bonus`, `reserve` (set aside for a page), `post` (a page's charge), `void` (a page that failed or was refused),
    /// `seats` (paid for by the month).
    kind: &'static str,
    /// Change of the balance in dollars.
    amount: f64,
    /// Change of what is set aside in dollars.
    reserved: f64,
    /// The request or crawl that the page belongs to; empty for money in.
    run: String,
    /// Address of the page; empty for money in.
    url: String,
    /// Parts of a charge.
    #[serde(skip_serializing_if = "Option::is_none")]
    costs: Option<Costs>,
    /// The provider's part of a charge, in dollars; it is in `total_cost`.
    #[serde(skip_serializing_if = "is_zero")]
    billed_cost: f64,
    /// Why a page was not charged, or which seats were paid.
    reason: String,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde calls it with a reference"
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
        }
    }
}

/// The statement piece by piece.
///
/// # Errors
/// The store failed.
pub(super) async fn pieces(
    billing: Billing,
    account: AccountId,
    time: Range<Timestamp>,
    lines: Lines,
) -> Result<impl Stream<Item = io::Result<Bytes>> + Send + 'static, ApiError> {
    let opening = balance_before(&billing, &account, time.start).await?;
    let head = lines.head(&account, opening);
    let reader = Reader {
        billing,
        account,
        time,
        lines,
        after: 0,
        balance: opening,
        is_done: false,
    };
    let head = stream::iter((!head.is_empty()).then_some(Ok(head)));
    Ok(head.chain(stream::try_unfold(reader, Reader::next)))
}

/// The sum of everything written before a time.
async fn balance_before(
    billing: &Billing,
    account: &AccountId,
    time: Timestamp,
) -> Result<Nanodollars, ApiError> {
    let window = Window {
        from: Timestamp::MIN,
        to: time,
        after: 0,
        limit: 0,
    };
    let page = billing.statement(account, window).await?;
    Ok(page.sums.iter().map(|sum| sum.amount).sum())
}

struct Reader {
    billing: Billing,
    account: AccountId,
    time: Range<Timestamp>,
    lines: Lines,
    after: i64,
    /// After the last entry that was read.
    balance: Nanodollars,
    is_done: bool,
}

impl Reader {
    /// The next entries as they are written, at last the end, and the rest.
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
        let page = self.billing.statement(&self.account, window).await;
        let entries = page.map_err(io::Error::other)?.entries;
        self.is_done = entries.is_empty();
        let mut text = Vec::new();
        for posted in entries {
            let is_first = self.after == 0;
            self.after = posted.seq;
            self.balance += posted.entry.amount;
            self.lines.write(posted, is_first, &mut text)?;
        }
        if self.is_done {
            text = self.lines.end(self.balance).into_bytes();
        }
        Ok(Some((text.into(), self)))
    }
}

/// Columns of the CSV form.
const COLUMNS: [&str; 14] = [
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
];

impl Lines {
    /// What stands before the entries.
    fn head(self, account: &AccountId, opening: Nanodollars) -> Bytes {
        match self {
            Self::Jsonl => Bytes::new(),
            Self::Csv => format!("{}\r\n", COLUMNS.join(",")).into(),
            Self::Json => format!(
                "{{\"account\":\"{account}\",\"opening_balance\":{},\"entries\":[",
                dollars(opening)
            )
            .into(),
        }
    }

    /// What stands behind them.
    fn end(self, closing: Nanodollars) -> String {
        match self {
            Self::Json => format!("],\"closing_balance\":{}}}", dollars(closing)),
            Self::Jsonl | Self::Csv => String::new(),
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
            Self::Jsonl => {
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
    fields.push(quoted(&entry.reason));
    fields.join(",") + "\r\n"
}

/// A text as a CSV field (RFC 4180). One that a spreadsheet would take for a formula gets an apostrophe in front.
fn quoted(text: &str) -> String {
    let guard = if text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        "'"
    } else {
        ""
    };
    match text.contains(['"', ',', '\n', '\r']) || !guard.is_empty() {
        true => format!("\"{guard}{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_quoted_where_it_must_be() {
        assert_eq!(quoted("https://a.com/?b=1"), "https://a.com/?b=1");
        assert_eq!(quoted("a,\"b\"\n"), "\"a,\"\"b\"\"\n\"");
        assert_eq!(quoted("=1+1"), "\"'=1+1\"");
        assert_eq!(quoted(""), "");
    }
}
