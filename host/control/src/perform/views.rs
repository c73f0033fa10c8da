//! Views of billing's values.

use std::collections::BTreeMap;
use std::time::Duration;

use trawl_billing::{
    Account, AccountUsage, Billing, Funds, KeyRecord, KeyUsage, LedgerEntryKind, Notice, Posted,
    PricesRow,
};
use trawl_model::Charge;
use trawl_model::redact::shown_url;

use crate::reply::{
    AccountView, EntryView, KeyUsageView, KeyView, NoticesView, PricesView, SubscriptionView,
    UsageView,
};

/// An account with its current funds.
pub(super) fn account(billing: &Billing, account: &Account) -> AccountView {
    account_with(billing, account, billing.funds(&account.id))
}

/// An account with these funds.
pub(super) fn account_with(billing: &Billing, account: &Account, funds: Funds) -> AccountView {
    AccountView {
        account: account.id.to_string(),
        name: account.name.clone(),
        balance: funds.balance.0,
        held: funds.held.0,
        subscription: subscription(billing, account),
        notices: notices(billing.notice(&account.id)),
    }
}

fn notices(notice: Notice) -> Option<NoticesView> {
    Some(NoticesView {
        destination: shown_url(&notice.destination?),
        low_balance: notice.below.0,
    })
}

fn subscription(billing: &Billing, account: &Account) -> Option<SubscriptionView> {
    let row = billing.subscription(&account.id)?;
    Some(SubscriptionView {
        state: row.state.name().to_owned(),
        seats: row.seats,
        active: billing.slots(&account.id).active,
        next_seats: row.next_seats,
        from: row.from.to_string(),
        to: row.to.to_string(),
        price: row.price.0,
    })
}

pub(super) fn key(key: KeyRecord) -> KeyView {
    KeyView {
        key: key.prefix,
        name: key.name,
        created: key.created.to_string(),
        last_used: key.last_used.map(|at| at.to_string()),
        revoked: key.revoked.map(|at| at.to_string()),
        monthly_budget: key.spending.budget.map(|budget| budget.0),
        month_spent: key.spending.spent.0,
    }
}

pub(super) fn entry(posted: Posted) -> EntryView {
    let entry = posted.entry;
    let costs = match entry.kind {
        LedgerEntryKind::Post => costs(&entry.charge),
        _ => BTreeMap::new(),
    };
    EntryView {
        seq: posted.seq,
        id: entry.id,
        kind: entry.kind.name().to_owned(),
        amount: entry.amount.0,
        held: entry.held.0,
        run: entry.run.to_string(),
        url: entry.url.to_string(),
        costs,
        reason: entry.reason,
        key: entry.key.to_string(),
        at: entry.at.to_string(),
    }
}

pub(super) fn usage(billing: &Billing, row: &AccountUsage) -> UsageView {
    let account = billing.find(row.account.as_str());
    UsageView {
        account: row.account.to_string(),
        name: account
            .map(|account| account.name.clone())
            .unwrap_or_default(),
        pages: row.n_pages,
        failed: row.n_failed,
        bytes: row.consumed.n_bytes,
        cpu_micros: micros(row.consumed.cpu),
        costs: costs(&row.charge),
        top_ups: row.top_ups.0,
        bonuses: row.bonuses.0,
        seats: row.seats.0,
        keys: None,
    }
}

pub(super) fn key_usage(usage: &KeyUsage) -> KeyUsageView {
    let used = &usage.used;
    KeyUsageView {
        key: usage.key.to_string(),
        name: usage.name.clone(),
        revoked: usage.revoked.map(|at| at.to_string()),
        pages: used.n_pages,
        failed: used.n_failed,
        bytes: used.consumed.n_bytes,
        cpu_micros: micros(used.consumed.cpu),
        costs: costs(&used.charge),
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// Prices; `null` if the stored JSON is unreadable.
pub(super) fn prices(row: PricesRow) -> PricesView {
    PricesView {
        since: row.at.to_string(),
        prices: serde_json::from_str(&row.prices).unwrap_or_default(),
    }
}

/// A charge by component, with the names of `costs` in responses.
pub(super) fn costs(charge: &Charge) -> BTreeMap<String, i64> {
    let parts = [
        ("ai_cost", charge.ai),
        ("compute_cost", charge.compute),
        ("file_cost", charge.file),
        ("bytes_transferred_cost", charge.bytes_transferred),
        ("transform_cost", charge.transform),
        ("billed_cost", charge.vendor_billed),
        ("total_cost", charge.total()),
    ];
    parts.map(|(name, part)| (name.to_owned(), part.0)).into()
}
