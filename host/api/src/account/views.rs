//! Accounts, subscriptions and keys as owners and the operator see them. Amounts are in dollars.

use std::collections::BTreeMap;

use serde::Serialize;
use utoipa::ToSchema;

use trawl_model::Nanodollars;
use trawl_wire::dollars;

use super::limits::LimitView;

/// An account.
#[derive(Serialize, ToSchema)]
#[schema(as = Account, example = json!({
    "id": "acc_4nWzLbQ2vTg0yR1s", "name": "alice", "balance": 24.99, "reserved": 0.02, "available": 24.97, "credits": "249900",
    "keys": [{"key": "tr_9aK2bX7q", "name": "ci", "created": "2026-01-31T10:20:30.000Z", "last_used": "2026-02-01T08:00:00.000Z",
        "monthly_budget": 5.0, "month_spent": 0.25}],
    "subscription": {"state": "active", "seats": 8, "active": 3, "next_seats": 8, "price": 160.0,
        "from": "2026-01-31T10:20:30.000Z", "to": "2026-02-28T10:20:30.000Z"},
    "notices": {"destination": "https://you.example/hook", "low_balance_dollars": 5.0},
    "limits": {"streaming_crawls": {"limit": 100, "used": 2}, "stored_bytes": {"limit": 10737418240_u64, "used": 52110233}},
}))]
pub(crate) struct AccountView {
    /// Its identifier.
    id: String,
    /// Its name.
    name: String,
    /// Balance in dollars.
    balance: f64,
    /// The part of the balance that is reserved for pages in flight.
    reserved: f64,
    /// The part of the balance that is not reserved.
    available: f64,
    /// The balance in credits as decimal text; 10,000 credits are one dollar.
    credits: String,
    /// Its active keys, by their first characters; absent in lists of accounts.
    #[serde(skip_serializing_if = "Option::is_none")]
    keys: Option<Vec<KeyView>>,
    /// Its Unlimited subscription; null if it has none.
    subscription: Option<SubscriptionView>,
    /// Webhook for a low balance; null if none is set.
    notices: Option<NoticesView>,
    /// Its limits by name: `requests_per_minute`; crawls at once, `streaming_crawls` and
    /// `background_crawls` (queued ones included); `queued_crawl_bytes` of the requests of queued
    /// crawls; `browser_tabs`; lists and statements at once,
    /// `queries`; `stored_bytes` of crawls, stored answers, contacts and webhook events;
    /// undelivered `webhook_events` and `webhook_bytes`. Absent in lists of accounts.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<BTreeMap<String, LimitView>>)]
    limits: Option<BTreeMap<&'static str, LimitView>>,
}

impl AccountView {
    /// The account with its keys.
    pub(crate) fn with_keys(self, keys: Vec<trawl_control::KeyView>) -> Self {
        let keys = keys.into_iter().map(KeyView::from).collect();
        Self {
            keys: Some(keys),
            ..self
        }
    }

    /// The account with its limits.
    pub(crate) fn with_limits(self, limits: BTreeMap<&'static str, LimitView>) -> Self {
        Self {
            limits: Some(limits),
            ..self
        }
    }
}

impl From<trawl_control::AccountView> for AccountView {
    fn from(view: trawl_control::AccountView) -> Self {
        let (balance, held) = (Nanodollars(view.balance), Nanodollars(view.held));
        Self {
            id: view.account,
            name: view.name,
            balance: dollars(balance),
            reserved: dollars(held),
            available: dollars(balance - held),
            credits: balance.credits_text(),
            keys: None,
            subscription: view.subscription.map(SubscriptionView::from),
            notices: view.notices.map(NoticesView::from),
            limits: None,
        }
    }
}

/// An Unlimited subscription.
#[derive(Serialize, ToSchema)]
#[schema(as = Subscription)]
pub(crate) struct SubscriptionView {
    /// `active`, `suspended` (by the operator) or `lapsed` (the balance did not cover the renewal).
    state: String,
    /// Maximum number of requests in flight.
    seats: u32,
    /// Requests in flight.
    active: u32,
    /// Seats from the next renewal on; 0 if it is not renewed.
    next_seats: u32,
    /// Start of the period.
    from: String,
    /// End of the period.
    to: String,
    /// Dollars charged for the period.
    price: f64,
}

impl From<trawl_control::SubscriptionView> for SubscriptionView {
    fn from(view: trawl_control::SubscriptionView) -> Self {
        Self {
            state: view.state,
            seats: view.seats,
            active: view.active,
            next_seats: view.next_seats,
            from: view.from,
            to: view.to,
            price: dollars(Nanodollars(view.price)),
        }
    }
}

/// Webhook for the events `on_low_balance` and `on_empty_balance`.
#[derive(Serialize, ToSchema)]
#[schema(as = Notices)]
pub(crate) struct NoticesView {
    /// Webhook URL.
    destination: String,
    /// `on_low_balance` is sent when the balance falls below this; 0 means only `on_empty_balance`
    /// is sent.
    low_balance_dollars: f64,
}

impl From<trawl_control::NoticesView> for NoticesView {
    fn from(view: trawl_control::NoticesView) -> Self {
        Self {
            destination: view.destination,
            low_balance_dollars: dollars(Nanodollars(view.low_balance)),
        }
    }
}

/// A key in a list.
#[derive(Serialize, ToSchema)]
#[schema(as = Key)]
pub(crate) struct KeyView {
    /// Its first characters.
    key: String,
    /// Its name; null if it has none.
    name: Option<String>,
    /// When it was created.
    created: String,
    /// When it was last used; null if never. May be up to a minute old after a crash.
    last_used: Option<String>,
    /// When it was revoked; absent for an active key.
    #[serde(skip_serializing_if = "Option::is_none")]
    revoked: Option<String>,
    /// Dollars that its pages may cost in a calendar month (UTC); null without a budget.
    monthly_budget: Option<f64>,
    /// Dollars that its pages have cost in the current month.
    month_spent: f64,
}

impl From<trawl_control::KeyView> for KeyView {
    fn from(view: trawl_control::KeyView) -> Self {
        Self {
            key: view.key,
            name: Some(view.name).filter(|name| !name.is_empty()),
            created: view.created,
            last_used: view.last_used,
            revoked: view.revoked,
            monthly_budget: view
                .monthly_budget
                .map(|budget| dollars(Nanodollars(budget))),
            month_spent: dollars(Nanodollars(view.month_spent)),
        }
    }
}
