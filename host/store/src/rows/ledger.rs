//! Accounts, keys, ledger entries and their sums.

use std::time::Duration;

use trawl_model::clock::Timestamp;
use trawl_model::{Charge, Nanodollars};

use super::{StoredRow, bytes_column, column, number};
use crate::{
    AccountId, AccountRecord, AccountTotals, AccountUsage, Consumed, EntryKind, KeyPrefix,
    KeyRecord, KeySpending, LedgerEntry, Notice, NoticeState, OpenReserve, Posted, PricesRow,
    StoreError, Subscription, SubscriptionState,
};

/// An account.
pub(crate) fn account(row: &impl StoredRow) -> Result<AccountRecord, StoreError> {
    Ok(AccountRecord {
        id: AccountId::new(column::<&str>(row, "id")?),
        name: column(row, "name")?,
        created: Timestamp(column(row, "created")?),
        balance: Nanodollars(column(row, "balance")?),
        held: Nanodollars(column(row, "held")?),
        notice: Notice {
            destination: column(row, "notice_to")?,
            below: Nanodollars(column(row, "notice_below")?),
            low: notice_state(row, "low_count", "low_told")?,
            empty: notice_state(row, "empty_count", "empty_told")?,
        },
    })
}

fn notice_state(
    row: &impl StoredRow,
    count: &'static str,
    is_sent: &'static str,
) -> Result<NoticeState, StoreError> {
    Ok(NoticeState {
        count: column::<i64>(row, count)?.unsigned_abs(),
        is_sent: column(row, is_sent)?,
    })
}

/// A key.
pub(crate) fn key(row: &impl StoredRow) -> Result<KeyRecord, StoreError> {
    Ok(KeyRecord {
        prefix: column(row, "prefix")?,
        account: AccountId::new(column::<&str>(row, "account")?),
        hash: bytes_column(row, "hash")?,
        created: Timestamp(column(row, "created")?),
        name: column(row, "name")?,
        last_used: column::<Option<i64>>(row, "last_used")?.map(Timestamp),
        revoked: column::<Option<i64>>(row, "revoked")?.map(Timestamp),
        spending: KeySpending {
            budget: column::<Option<i64>>(row, "budget")?.map(Nanodollars),
            month: Timestamp(column(row, "month")?),
            spent: Nanodollars(column(row, "month_spent")?),
        },
    })
}

/// The kind of an entry by its name.
pub(crate) fn entry_kind(name: &str) -> Result<EntryKind, StoreError> {
    EntryKind::named(name).ok_or(StoreError::Unreadable { what: "kind" })
}

/// An entry that is a reserve.
pub(crate) fn open_reserve(row: &impl StoredRow) -> Result<OpenReserve, StoreError> {
    Ok(OpenReserve {
        account: AccountId::new(column::<&str>(row, "account")?),
        reservation: column(row, "hold")?,
        held: Nanodollars(column(row, "held")?),
        run: column::<&str>(row, "run")?.into(),
        url: column::<&str>(row, "url")?.into(),
        key: KeyPrefix::new(column(row, "key")?),
    })
}

/// An entry with its number.
pub(crate) fn posted(row: &impl StoredRow) -> Result<Posted, StoreError> {
    let entry = LedgerEntry {
        id: column(row, "id")?,
        account: AccountId::new(column::<&str>(row, "account")?),
        kind: entry_kind(column(row, "kind")?)?,
        amount: Nanodollars(column(row, "amount")?),
        held: Nanodollars(column(row, "held")?),
        reservation: column(row, "hold")?,
        run: column::<&str>(row, "run")?.into(),
        url: column::<&str>(row, "url")?.into(),
        key: KeyPrefix::new(column(row, "key")?),
        charge: charge(row)?,
        consumed: Consumed {
            n_bytes: column::<i64>(row, "n_bytes")?.unsigned_abs(),
            cpu: Duration::from_micros(column::<i64>(row, "cpu")?.unsigned_abs()),
        },
        reason: column(row, "reason")?,
        at: Timestamp(column(row, "at")?),
    };
    Ok(Posted {
        seq: column(row, "seq")?,
        entry,
    })
}

/// The components of a charge, or of a sum of charges.
pub(crate) fn charge(row: &impl StoredRow) -> Result<Charge, StoreError> {
    let amount = |name| column(row, name).map(Nanodollars);
    Ok(Charge {
        ai: amount("ai")?,
        compute: amount("compute")?,
        file: amount("file")?,
        bytes_transferred: amount("bytes_transferred")?,
        transform: amount("transform")?,
        vendor_billed: amount("vendor_billed")?,
    })
}

/// Sums of an account's entries.
pub(crate) fn account_usage(row: &impl StoredRow) -> Result<AccountUsage, StoreError> {
    Ok(AccountUsage {
        account: AccountId::new(column::<&str>(row, "account")?),
        n_pages: number(row, "n_pages")?,
        n_failed: number(row, "n_failed")?,
        consumed: Consumed {
            n_bytes: number(row, "n_bytes")?,
            cpu: Duration::from_micros(number(row, "cpu")?),
        },
        charge: charge(row)?,
        top_ups: Nanodollars(column(row, "top_ups")?),
        bonuses: Nanodollars(column(row, "bonuses")?),
        seats: Nanodollars(column(row, "seats")?),
    })
}

/// A subscription.
pub(crate) fn subscription(row: &impl StoredRow) -> Result<Subscription, StoreError> {
    let state: &str = column(row, "state")?;
    Ok(Subscription {
        account: AccountId::new(column::<&str>(row, "account")?),
        seats: number(row, "seats")?,
        next_seats: number(row, "next_seats")?,
        begun: Timestamp(column(row, "begun")?),
        from: Timestamp(column(row, "period_from")?),
        to: Timestamp(column(row, "period_to")?),
        price: Nanodollars(column(row, "price")?),
        state: SubscriptionState::named(state).ok_or(StoreError::Unreadable { what: "state" })?,
    })
}

/// What an account has stored.
pub(crate) fn totals(row: &impl StoredRow) -> Result<AccountTotals, StoreError> {
    Ok(AccountTotals {
        n_crawls: number(row, "n_crawls")?,
        n_batches: number(row, "n_batches")?,
        n_pages: number(row, "n_pages")?,
        n_background_pages: number(row, "n_background_pages")?,
        crawl_bytes: number(row, "crawl_bytes")?,
        n_answers: number(row, "n_answers")?,
        answer_bytes: number(row, "answer_bytes")?,
        n_contacts: number(row, "n_contacts")?,
        contact_bytes: number(row, "contact_bytes")?,
        n_events: number(row, "n_events")?,
        event_bytes: number(row, "event_bytes")?,
    })
}

/// Prices of a time.
pub(crate) fn prices(row: &impl StoredRow) -> Result<PricesRow, StoreError> {
    Ok(PricesRow {
        at: Timestamp(column(row, "at")?),
        prices: column(row, "prices")?,
    })
}
