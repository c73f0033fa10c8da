//! Accounts, API keys and balance notices as they are stored.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use trawl_model::Nanodollars;
use trawl_model::clock::Timestamp;
use trawl_model::redact::shown_url;

/// Identifier of an account: `acc_` and letters and digits. Cheap to clone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AccountId(Arc<str>);

impl AccountId {
    /// Prefix of every identifier. Account names must not start with it.
    pub const PREFIX: &'static str = "acc_";

    /// Wraps an existing identifier.
    pub fn new(id: impl Into<Arc<str>>) -> Self {
        Self(id.into())
    }

    /// The identifier as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for AccountId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for AccountId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Borrow<str> for AccountId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

/// An account with its materialised balance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountRecord {
    /// Identifier.
    pub id: AccountId,
    /// Unique name.
    pub name: String,
    /// Creation time.
    pub created: Timestamp,
    /// Sum of the amounts of its entries.
    pub balance: Nanodollars,
    /// Money reserved for pages in flight: the sum of `held` of its entries.
    pub held: Nanodollars,
    /// Low-balance notice.
    pub notice: Notice,
}

/// Where to send low-balance notices, and which have been sent.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Notice {
    /// URL of the receiver. Without one, no notices are sent.
    pub destination: Option<String>,
    /// A notice is sent when the balance falls below this; zero for empty balances only.
    pub below: Nanodollars,
    /// Notices about the low balance.
    pub low: NoticeState,
    /// Notices about the empty balance.
    pub empty: NoticeState,
}

/// Notices sent for one threshold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NoticeState {
    /// Number of notices so far, which is also the number of the last one.
    pub count: u64,
    /// Whether a notice was sent and the balance has not recovered since.
    pub is_sent: bool,
}

impl fmt::Debug for Notice {
    /// Without the receiver's secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Notice")
            .field("destination", &self.destination.as_deref().map(shown_url))
            .field("below", &self.below)
            .field("low", &self.low)
            .field("empty", &self.empty)
            .finish()
    }
}

/// A level that a balance can fall below.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Threshold {
    /// The level that the account has configured.
    Low,
    /// The smallest amount that can be spent.
    Empty,
}

/// An API key. The key itself is not stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRecord {
    /// First characters of the key, unique; identifies the key in lists.
    pub prefix: String,
    /// Account of the key.
    pub account: AccountId,
    /// BLAKE3 hash of the key.
    pub hash: [u8; 32],
    /// Creation time.
    pub created: Timestamp,
    /// Display name, possibly empty. Names are not unique.
    pub name: String,
    /// Last use, accurate to a minute; `None` if never used.
    pub last_used: Option<Timestamp>,
    /// When it was revoked.
    pub revoked: Option<Timestamp>,
}

/// The last use of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyUse {
    /// First characters of the key.
    pub prefix: String,
    /// Time of the use.
    pub at: Timestamp,
}
