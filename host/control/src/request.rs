//! What can be asked and answered. Amounts are integers in nanodollars, times are RFC 3339 text.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// Make an account with its first key, paying in what it starts with.
    CreateAccount {
        /// Its name.
        name: String,
        /// Nanodollars to start with.
        top_up: i64,
    },
    /// Every account.
    Accounts {},
    /// One account with its keys in force.
    Account {
        /// Identifier or name.
        account: String,
    },
    /// Pay in.
    TopUp {
        /// Identifier or name.
        account: String,
        /// Nanodollars.
        amount: i64,
        /// Makes a repeat of the same payment harmless.
        id: Option<String>,
    },
    /// Make another key.
    CreateKey {
        /// Identifier or name.
        account: String,
        /// What it is called; empty without a name.
        name: String,
    },
    /// The keys of an account.
    Keys {
        /// Identifier or name.
        account: String,
        /// With those that were ended.
        all: bool,
    },
    /// End a key.
    RevokeKey {
        /// Identifier or name.
        account: String,
        /// First characters of the key as listed.
        key: String,
    },
    /// What the webhook events of an account are signed with.
    WebhookSecret {
        /// Identifier or name.
        account: String,
        /// Make a new one first.
        renew: bool,
    },
    /// Set who is told when the balance runs low.
    SetNotices {
        /// Identifier or name.
        account: String,
        /// Address of the receiver; nobody is told without one.
        destination: Option<String>,
        /// Nanodollars below which the balance is told to be low; 0 tells of an empty one only.
        below: i64,
    },
    /// Set how many seats an account has.
    SetSeats {
        /// Identifier or name.
        account: String,
        /// Seats; 0 ends the subscription with its period.
        seats: u32,
    },
    /// Stop the use of an account's seats.
    SuspendSeats {
        /// Identifier or name.
        account: String,
    },
    /// Let an account use its seats again.
    ResumeSeats {
        /// Identifier or name.
        account: String,
    },
    /// A page of a statement.
    Statement {
        /// Identifier or name.
        account: String,
        /// Earliest time in milliseconds since 1970, included.
        from: i64,
        /// Latest time in milliseconds since 1970, not included.
        to: i64,
        /// Only entries after this place; 0 for the first page.
        after: i64,
    },
    /// The prices in effect.
    Prices {},
    /// All prices there ever were.
    PriceHistory {},
    /// What accounts consumed and paid.
    Usage {
        /// Earliest time in milliseconds since 1970, included.
        from: i64,
        /// Latest time in milliseconds since 1970, not included.
        to: i64,
    },
    /// Add everything up.
    Verify {},
    /// The plugins in effect. Only a running server knows.
    Plugins {},
}

/// One answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// It cannot be done, for this reason.
    Error(String),
    /// The plugins in effect, as `GET /plugins` tells them.
    Plugins(Value),
    /// An account and its key, which is shown here only.
    Created {
        /// The account.
        account: AccountView,
        /// The key.
        api_key: String,
    },
    /// Accounts in the order of names.
    Accounts(Vec<AccountView>),
    /// An account with its keys in force.
    Account {
        /// The account.
        account: AccountView,
        /// Its keys, oldest first.
        keys: Vec<KeyView>,
    },
    /// The account after a change of who is told of its balance.
    Notices(AccountView),
    /// Money was paid in.
    ToppedUp {
        /// The account afterwards.
        account: AccountView,
        /// Id of the top-up.
        id: String,
        /// What was paid in.
        amount: i64,
        /// What was added to it.
        bonus: i64,
        /// Whether the same id was paid in before, so that nothing was paid in now.
        is_repeat: bool,
    },
    /// A new key, which is shown here only.
    Key {
        /// The key.
        api_key: String,
    },
    /// What the webhook events are signed with.
    WebhookSecret {
        /// The secret.
        secret: String,
    },
    /// Keys, oldest first.
    Keys(Vec<KeyView>),
    /// The key is ended.
    Revoked {},
    /// What became of an account's seats.
    Seats {
        /// The account afterwards, with its subscription.
        account: AccountView,
        /// What was charged now.
        charged: i64,
    },
    /// A page of a statement.
    Statement {
        /// The account at this moment.
        account: AccountView,
        /// Its entries in the order they were written.
        entries: Vec<EntryView>,
        /// Sums by kind over the whole window, on the first page only.
        sums: BTreeMap<String, SumView>,
    },
    /// The prices in effect since the last start; `None` when no server was ever started.
    Prices(Option<PricesView>),
    /// All prices there ever were, oldest first.
    PriceHistory(Vec<PricesView>),
    /// What accounts consumed and paid.
    Usage {
        /// Of each account that did, in the order of identifiers.
        accounts: Vec<UsageView>,
        /// Of all.
        total: UsageView,
    },
    /// The result of adding up.
    Audit(AuditView),
}

/// An account and its money.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccountView {
    /// Its identifier.
    pub account: String,
    /// Its name.
    pub name: String,
    /// Sum of its entries.
    pub balance: i64,
    /// What is set aside of it.
    pub held: i64,
    /// Its seats, when it has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subscription: Option<SubscriptionView>,
    /// Who is told when the balance runs low.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notices: Option<NoticesView>,
}

/// Who is told when a balance runs low.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoticesView {
    /// Address of the receiver.
    pub destination: String,
    /// Told below this; 0 is when it is empty.
    pub low_balance: i64,
}

/// The seats of an account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubscriptionView {
    /// `active`, `suspended` or `lapsed`.
    pub state: String,
    /// Requests that may be in flight at once.
    pub seats: u32,
    /// Requests in flight.
    pub active: u32,
    /// Seats from the next renewal on.
    pub next_seats: u32,
    /// Begin of the period.
    pub from: String,
    /// End of the period.
    pub to: String,
    /// What was paid for the period.
    pub price: i64,
}

/// A key as listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyView {
    /// Its first characters.
    pub key: String,
    /// What it is called; empty without a name.
    pub name: String,
    /// When it was made.
    pub created: String,
    /// When it was used last, if ever.
    pub last_used: Option<String>,
    /// When it was ended.
    pub revoked: Option<String>,
}

/// Prices and since when they are in effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PricesView {
    /// When they came into effect.
    pub since: String,
    /// All of them: dollars as decimal text, percents as numbers.
    pub prices: Value,
}

/// What an account consumed and paid.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsageView {
    /// Its identifier; empty for the sum of all.
    pub account: String,
    /// Its name.
    pub name: String,
    /// Pages that were charged, at nothing under the Unlimited plan.
    pub pages: u64,
    /// Pages that failed.
    pub failed: u64,
    /// Decoded bytes of all of them.
    pub bytes: u64,
    /// Their CPU time in microseconds.
    pub cpu_micros: u64,
    /// What was charged for pages, by the names in `costs`.
    pub costs: BTreeMap<String, i64>,
    /// What was paid in.
    pub top_ups: i64,
    /// What was added to it.
    pub bonuses: i64,
    /// What was charged for seats.
    pub seats: i64,
}

/// A ledger entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryView {
    /// Its place in the ledger.
    pub seq: i64,
    /// Its unique id.
    pub id: String,
    /// `top_up`, `bonus`, `reserve`, `post`, `void` or `seats`.
    pub kind: String,
    /// Change of the balance.
    pub amount: i64,
    /// Change of what is set aside.
    pub held: i64,
    /// The run of its page.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub run: String,
    /// The page.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub url: String,
    /// Parts of a charge by their names in `costs`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub costs: BTreeMap<String, i64>,
    /// Why.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// When.
    pub at: String,
}

/// Entries of one kind together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SumView {
    /// How many.
    pub entries: u64,
    /// Sum of their amounts.
    pub amount: i64,
}

/// The result of adding everything up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditView {
    /// Accounts looked at.
    pub accounts: u64,
    /// Entries added up.
    pub entries: u64,
    /// Accounts that do not add up.
    pub disagreements: Vec<DisagreementView>,
}

/// An account that does not add up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DisagreementView {
    /// The account.
    pub account: String,
    /// Its balance.
    pub balance: i64,
    /// Sum of its entries.
    pub entries_balance: i64,
    /// What is set aside.
    pub held: i64,
    /// What its entries have set aside.
    pub entries_held: i64,
}
