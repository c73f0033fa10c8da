//! Replies to operators' requests. Amounts are nanodollars, times RFC 3339 text.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The reply to an operator's request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// The request failed.
    Error(String),
    /// The loaded plugins, as in `GET /plugins`.
    Plugins(Value),
    /// A new account and its key, which is shown only here.
    Created {
        /// The account.
        account: AccountView,
        /// The API key.
        api_key: String,
    },
    /// All accounts, sorted by name.
    Accounts(Vec<AccountView>),
    /// An account with its active keys.
    Account {
        /// The account.
        account: AccountView,
        /// Its keys, oldest first.
        keys: Vec<KeyView>,
    },
    /// The account with its new low-balance notice.
    Notices(AccountView),
    /// The top-up was made, now or before.
    ToppedUp {
        /// The account afterwards.
        account: AccountView,
        /// Id of the top-up.
        id: String,
        /// Amount paid in.
        amount: i64,
        /// Bonus on it.
        bonus: i64,
        /// Whether a top-up with this id was made before, so that nothing was added now.
        is_repeat: bool,
    },
    /// A new key, which is shown only here.
    Key {
        /// The API key.
        api_key: String,
    },
    /// A key with its new budget.
    KeyBudget(KeyView),
    /// The secret that signs webhook events.
    WebhookSecret {
        /// The secret.
        secret: String,
    },
    /// Keys, oldest first.
    Keys(Vec<KeyView>),
    /// The key was revoked.
    Revoked {},
    /// The seats after a change.
    Seats {
        /// The account afterwards, with its subscription.
        account: AccountView,
        /// Amount charged.
        charged: i64,
    },
    /// A page of a statement.
    Statement {
        /// The account, with the funds of the same moment as the entries.
        account: AccountView,
        /// Its entries in write order.
        entries: Vec<EntryView>,
        /// Sums by kind over the whole window, on the first page only.
        sums: BTreeMap<String, SumView>,
    },
    /// The current prices, since the last start; `None` if no server was ever started.
    Prices(Option<PricesView>),
    /// The price history, oldest first.
    PriceHistory(Vec<PricesView>),
    /// Usage and payments.
    Usage {
        /// Of each account with entries, sorted by identifier.
        accounts: Vec<UsageView>,
        /// Total of all accounts.
        total: UsageView,
    },
    /// The result of an audit.
    Audit(AuditView),
}

/// An account and its funds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccountView {
    /// Identifier.
    pub account: String,
    /// Name.
    pub name: String,
    /// Sum of its ledger entries.
    pub balance: i64,
    /// Money reserved for pages in flight.
    pub held: i64,
    /// Its subscription, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subscription: Option<SubscriptionView>,
    /// Its low-balance notice, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notices: Option<NoticesView>,
}

/// A low-balance notice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoticesView {
    /// URL of the receiver, without user name, password and query, which may be secret.
    pub destination: String,
    /// Threshold; 0 for empty balances only.
    pub low_balance: i64,
}

/// The subscription of an account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubscriptionView {
    /// `active`, `suspended` or `lapsed`.
    pub state: String,
    /// Requests that may be in flight at once.
    pub seats: u32,
    /// Requests in flight.
    pub active: u32,
    /// Seats after the next renewal.
    pub next_seats: u32,
    /// Start of the period.
    pub from: String,
    /// End of the period.
    pub to: String,
    /// Price paid for the period.
    pub price: i64,
}

/// A key as listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyView {
    /// First characters of the key.
    pub key: String,
    /// Display name, possibly empty.
    pub name: String,
    /// Creation time.
    pub created: String,
    /// Last use, if any.
    pub last_used: Option<String>,
    /// When it was revoked.
    pub revoked: Option<String>,
    /// What its pages may cost in a calendar month (UTC); `None` without a budget.
    pub monthly_budget: Option<i64>,
    /// What its pages have cost in the current month.
    pub month_spent: i64,
}

/// Prices and when they came into effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PricesView {
    /// When they came into effect.
    pub since: String,
    /// All prices: dollars as decimal text, percentages as numbers.
    pub prices: Value,
}

/// Usage and payments of an account.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsageView {
    /// Identifier; empty for the total.
    pub account: String,
    /// Name.
    pub name: String,
    /// Number of charged pages, including those at zero under the Unlimited plan.
    pub pages: u64,
    /// Number of failed pages.
    pub failed: u64,
    /// Decoded bytes of all pages.
    pub bytes: u64,
    /// CPU time of all pages in microseconds.
    pub cpu_micros: u64,
    /// Charges for pages by component, with the names of `costs` in responses.
    pub costs: BTreeMap<String, i64>,
    /// Top-ups.
    pub top_ups: i64,
    /// Bonuses.
    pub bonuses: i64,
    /// Charges for seats.
    pub seats: i64,
    /// Usage of its keys, sorted by key; `None` if it was not asked for, and in the total.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys: Option<Vec<KeyUsageView>>,
}

/// Usage of a key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyUsageView {
    /// First characters of the key; empty for pages from before keys were recorded.
    pub key: String,
    /// Display name, possibly empty.
    pub name: String,
    /// When it was revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked: Option<String>,
    /// Number of charged pages, including those at zero under the Unlimited plan.
    pub pages: u64,
    /// Number of failed pages.
    pub failed: u64,
    /// Decoded bytes of all pages.
    pub bytes: u64,
    /// CPU time of all pages in microseconds.
    pub cpu_micros: u64,
    /// Charges for pages by component, with the names of `costs` in responses.
    pub costs: BTreeMap<String, i64>,
}

/// A ledger entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryView {
    /// Sequence number in the ledger.
    pub seq: i64,
    /// Unique id.
    pub id: String,
    /// `top_up`, `bonus`, `reserve`, `post`, `void` or `seats`.
    pub kind: String,
    /// Change of the balance.
    pub amount: i64,
    /// Change of the reserved money.
    pub held: i64,
    /// Run of the page.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub run: String,
    /// URL of the page.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub url: String,
    /// Charge by component, with the names of `costs` in responses.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub costs: BTreeMap<String, i64>,
    /// Reason or note.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// First characters of the key that the page was requested with.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub key: String,
    /// Creation time.
    pub at: String,
}

/// Sum of the entries of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SumView {
    /// Number of entries.
    pub entries: u64,
    /// Sum of their amounts.
    pub amount: i64,
}

/// The result of an audit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditView {
    /// Number of accounts checked.
    pub accounts: u64,
    /// Number of entries added up.
    pub entries: u64,
    /// Accounts whose sums differ.
    pub disagreements: Vec<DisagreementView>,
    /// Keys whose sums differ.
    pub key_disagreements: Vec<KeyDisagreementView>,
}

impl AuditView {
    /// Whether all sums agree.
    pub fn is_consistent(&self) -> bool {
        self.disagreements.is_empty() && self.key_disagreements.is_empty()
    }
}

/// A key whose entries do not add up to what it has spent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyDisagreementView {
    /// Account of the key.
    pub account: String,
    /// First characters of the key.
    pub key: String,
    /// What it has spent in the month of its last charge, as its budget counts.
    pub month_spent: i64,
    /// Sum of its charges since that month began.
    pub entries_spent: i64,
}

/// An account whose entries do not add up to its balance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DisagreementView {
    /// The account.
    pub account: String,
    /// Materialised balance.
    pub balance: i64,
    /// Sum of the amounts of its entries.
    pub entries_balance: i64,
    /// Materialised reserved money.
    pub held: i64,
    /// Sum of the reserved money of its entries.
    pub entries_held: i64,
}
