//! Accounts and what belongs to them, as their owners and the operator see them. Amounts are dollars.

use serde::Serialize;
use utoipa::ToSchema;

use trawl_model::Nanodollars;
use trawl_wire::dollars;

/// An account.
#[derive(Serialize, ToSchema)]
#[schema(as = Account, example = json!({
    "id": "acc_4nWzLbQ2vTg0yR1s", "name": "alice", "balance": 24.99, "reserved": 0.02, "available": 24.97, "credits": "249900",
    "keys": [{"key": "tr_9aK2bX7q", "name": "ci", "created": "2026-01-31T10:20:30.000Z", "last_used": "2026-02-01T08:00:00.000Z"}],
    "subscription": {"state": "active", "seats": 8, "active": 3, "next_seats": 8, "price": 160.0,
        "from": "2026-01-31T10:20:30.000Z", "to": "2026-02-28T10:20:30.000Z"},
    "notices": {"destination": "https://you.example/hook", "low_balance_dollars": 5.0},
}))]
pub(super) struct AccountView {
    /// Its identifier.
    id: String,
    /// Its name.
    name: String,
    /// Dollars paid in and not charged.
    balance: f64,
    /// Dollars of them that are set aside for pages in flight.
    reserved: f64,
    /// Dollars that can be spent now.
    available: f64,
    /// The balance in credits as decimal text; 10,000 are a dollar.
    credits: String,
    /// Its keys that are in force, by their first characters; left out in lists of accounts.
    #[serde(skip_serializing_if = "Option::is_none")]
    keys: Option<Vec<KeyView>>,
    /// Its seats under the Unlimited plan; null when it has none.
    subscription: Option<SubscriptionView>,
    /// Who is told when the balance runs low; null when nobody is.
    notices: Option<NoticesView>,
}

impl AccountView {
    /// The account with its keys.
    pub(super) fn with_keys(self, keys: Vec<trawl_control::KeyView>) -> Self {
        let keys = keys.into_iter().map(KeyView::from).collect();
        Self {
            keys: Some(keys),
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
        }
    }
}

/// The seats of an account.
#[derive(Serialize, ToSchema)]
pub(super) struct SubscriptionView {
    /// `active`, `suspended` (by the operator) or `lapsed` (the balance did not cover the renewal).
    state: String,
    /// Requests that may be in flight at once.
    seats: u32,
    /// Requests in flight.
    active: u32,
    /// Seats from the next renewal on; 0 when it is not renewed.
    next_seats: u32,
    /// Begin of the period.
    from: String,
    /// End of the period.
    to: String,
    /// Dollars paid for the period.
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

/// Who is told when a balance runs low, by the events `on_low_balance` and `on_empty_balance`.
#[derive(Serialize, ToSchema)]
pub(super) struct NoticesView {
    /// Address of the receiver.
    destination: String,
    /// Told when the balance falls below so many dollars; 0 is only when it is empty.
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
pub(super) struct KeyView {
    /// Its first characters.
    key: String,
    /// What it is called; null without a name.
    name: Option<String>,
    /// When it was made.
    created: String,
    /// When it was used last, up to a minute ago after a crash; null when it never was.
    last_used: Option<String>,
    /// When it was ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    revoked: Option<String>,
}

impl From<trawl_control::KeyView> for KeyView {
    fn from(view: trawl_control::KeyView) -> Self {
        Self {
            key: view.key,
            name: Some(view.name).filter(|name| !name.is_empty()),
            created: view.created,
            last_used: view.last_used,
            revoked: view.revoked,
        }
    }
}
