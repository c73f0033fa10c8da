//! The operator's requests. Amounts are nanodollars, times Unix milliseconds.

use serde::{Deserialize, Serialize};

/// An operator's request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// Create an account with its first key and an optional top-up.
    CreateAccount {
        /// Name of the account.
        name: String,
        /// Opening top-up in nanodollars; 0 for none.
        top_up: i64,
    },
    /// List all accounts.
    Accounts {},
    /// Show an account with its active keys.
    Account {
        /// Identifier or name.
        account: String,
    },
    /// Top up an account.
    TopUp {
        /// Identifier or name.
        account: String,
        /// Amount in nanodollars.
        amount: i64,
        /// Makes the top-up idempotent.
        id: Option<String>,
    },
    /// Create another key.
    CreateKey {
        /// Identifier or name.
        account: String,
        /// Display name, possibly empty.
        name: String,
        /// Monthly budget in nanodollars; `None` for none.
        budget: Option<i64>,
    },
    /// Set or remove the monthly budget of a key.
    SetKeyBudget {
        /// Identifier or name.
        account: String,
        /// First characters of the key as listed.
        key: String,
        /// The budget in nanodollars; `None` removes it.
        budget: Option<i64>,
    },
    /// List the keys of an account.
    Keys {
        /// Identifier or name.
        account: String,
        /// Whether to include revoked keys.
        all: bool,
    },
    /// Revoke a key.
    RevokeKey {
        /// Identifier or name.
        account: String,
        /// First characters of the key as listed.
        key: String,
    },
    /// Show the secret that signs the webhook events of an account.
    WebhookSecret {
        /// Identifier or name.
        account: String,
        /// Whether to replace it first.
        renew: bool,
    },
    /// Set the low-balance notice.
    SetNotices {
        /// Identifier or name.
        account: String,
        /// URL of the receiver; `None` stops the notices.
        destination: Option<String>,
        /// Threshold in nanodollars; 0 for empty balances only.
        below: i64,
    },
    /// Set the number of seats.
    SetSeats {
        /// Identifier or name.
        account: String,
        /// Number of seats; 0 ends the subscription with its period.
        seats: u32,
    },
    /// Suspend the subscription.
    SuspendSeats {
        /// Identifier or name.
        account: String,
    },
    /// Resume a suspended subscription.
    ResumeSeats {
        /// Identifier or name.
        account: String,
    },
    /// Show a page of a statement.
    Statement {
        /// Identifier or name.
        account: String,
        /// Start time in Unix milliseconds, inclusive.
        from: i64,
        /// End time in Unix milliseconds, exclusive.
        to: i64,
        /// Only entries after this sequence number; 0 for the first page.
        after: i64,
    },
    /// Show the current prices.
    Prices {},
    /// Show the price history.
    PriceHistory {},
    /// Show usage and payments per account.
    Usage {
        /// Start time in Unix milliseconds, inclusive.
        from: i64,
        /// End time in Unix milliseconds, exclusive.
        to: i64,
    },
    /// Audit the ledger.
    Verify {},
    /// List the loaded plugins. Needs a running server.
    Plugins {},
}

impl Request {
    /// Whether carrying it out changes nothing. A secret is created when it is first asked for.
    pub(crate) fn only_reads(&self) -> bool {
        match self {
            Self::Accounts {}
            | Self::Account { .. }
            | Self::Keys { .. }
            | Self::Statement { .. }
            | Self::Prices {}
            | Self::PriceHistory {}
            | Self::Usage { .. }
            | Self::Verify {}
            | Self::Plugins {} => true,
            Self::CreateAccount { .. }
            | Self::TopUp { .. }
            | Self::CreateKey { .. }
            | Self::SetKeyBudget { .. }
            | Self::RevokeKey { .. }
            | Self::WebhookSecret { .. }
            | Self::SetNotices { .. }
            | Self::SetSeats { .. }
            | Self::SuspendSeats { .. }
            | Self::ResumeSeats { .. } => false,
        }
    }
}
