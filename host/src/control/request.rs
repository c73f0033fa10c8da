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
    },
    /// The keys of an account.
    Keys {
        /// Identifier or name.
        account: String,
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
}

/// The seats of an account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubscriptionView {
    /// `active`, `suspended` or `lapsed`.
    pub state: String,
    /// Requests that may be in flight at once.
    pub seats: u32,
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
    /// When it was made.
    pub created: String,
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
