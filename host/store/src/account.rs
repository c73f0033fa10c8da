//! Accounts and keys as they are stored.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use trawl_model::Nanodollars;
use trawl_model::clock::Timestamp;

/// Identifier of an account: `acc_` and letters and digits. Cheap to clone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AccountId(Arc<str>);

impl AccountId {
    /// What every identifier begins with. No name may.
    pub const PREFIX: &'static str = "acc_";

    /// Takes an identifier as it was given out before.
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

/// An account with its materialised sums.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountRecord {
    /// Its identifier.
    pub id: AccountId,
    /// Its name, unique.
    pub name: String,
    /// When it was made.
    pub created: Timestamp,
    /// Sum of the amounts of its entries.
    pub balance: Nanodollars,
    /// Sum of what its entries have set aside: what its open reserves hold.
    pub held: Nanodollars,
    /// Who is told when the balance runs low.
    pub notice: Notice,
}

/// Who is told when an account's balance runs low, and what was told so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notice {
    /// Address of the receiver; nobody is told without one.
    pub destination: Option<String>,
    /// Told when the balance falls below this; zero tells of an empty balance only.
    pub below: Nanodollars,
    /// What was told of falling below it.
    pub low: Told,
    /// What was told of an empty balance.
    pub empty: Told,
}

/// How often the balance was told to be below a threshold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// So many times: the number of the last one.
    pub count: u64,
    /// Whether it has been told and was not above since.
    pub is_told: bool,
}

/// An API key. The key itself is not kept anywhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRecord {
    /// Its first characters, unique: names the key in lists.
    pub prefix: String,
    /// Account that it opens.
    pub account: AccountId,
    /// BLAKE3 hash of the key.
    pub hash: [u8; 32],
    /// When it was made.
    pub created: Timestamp,
    /// What its owner calls it; empty without a name. Several keys may have the same.
    pub name: String,
    /// When it was used last, up to a minute ago; `None` when it never was.
    pub last_used: Option<Timestamp>,
    /// When it was ended.
    pub revoked: Option<Timestamp>,
}
