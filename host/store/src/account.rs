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

/// Longest prefix of a key, in bytes.
const PREFIX_BYTES_MAX: usize = 16;

/// The first characters of an API key, by which lists and the ledger name it; empty where no key is
/// known. It is not a secret. Copied, because it is short.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyPrefix([u8; PREFIX_BYTES_MAX]);

impl KeyPrefix {
    /// The prefix with this text, of which the first 16 bytes count.
    pub fn new(text: &str) -> Self {
        let text = &text[..text.floor_char_boundary(PREFIX_BYTES_MAX)];
        let mut bytes = [0; PREFIX_BYTES_MAX];
        bytes[..text.len()].copy_from_slice(text.as_bytes());
        Self(bytes)
    }

    /// The prefix as text.
    pub fn as_str(&self) -> &str {
        let end = self.0.iter().position(|byte| *byte == 0);
        let text = &self.0[..end.unwrap_or(PREFIX_BYTES_MAX)];
        std::str::from_utf8(text).unwrap_or_default()
    }

    /// Whether no key is known.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl fmt::Debug for KeyPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for KeyPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
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
    /// Its budget, and what of it is spent.
    pub spending: KeySpending,
}

/// What a key may spend in a calendar month (UTC), and what it has spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeySpending {
    /// Most that its pages may cost in a month; `None` without a budget.
    pub budget: Option<Nanodollars>,
    /// Beginning of the month of the last charge.
    pub month: Timestamp,
    /// Charges of that month without its refunds: below zero if those are of charges of earlier
    /// months. Decision D440.
    pub spent: Nanodollars,
}

impl KeySpending {
    /// The same at a later time: nothing is spent of a month that begins.
    #[must_use]
    pub fn at(self, now: Timestamp) -> Self {
        let month = now.month_begin();
        if month <= self.month {
            return self;
        }
        Self {
            month,
            spent: Nanodollars::ZERO,
            ..self
        }
    }
}

/// The last use of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyUse {
    /// First characters of the key.
    pub prefix: String,
    /// Time of the use.
    pub at: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_are_the_text_that_they_were_made_of() {
        for text in ["", "tr_1", "tr_9aK2bX7q", "0123456789abcdef"] {
            let prefix = KeyPrefix::new(text);
            assert_eq!(
                (prefix.as_str(), prefix.is_empty()),
                (text, text.is_empty())
            );
        }
        assert_eq!(
            KeyPrefix::new("0123456789abcdefg").as_str(),
            "0123456789abcdef"
        );
        assert_eq!(
            KeyPrefix::new("0123456789abcdeü").as_str(),
            "0123456789abcde"
        );
    }

    #[test]
    fn a_month_begins_with_nothing_spent() {
        let time = |text: &str| Timestamp::parse(text).expect("a time");
        let spending = KeySpending {
            budget: Some(Nanodollars(9)),
            month: time("2026-01-01"),
            spent: Nanodollars(5),
        };
        for same in ["2025-12-31", "2026-01-01", "2026-01-31T23:59:59.999Z"] {
            assert_eq!(spending.at(time(same)), spending, "{same}");
        }
        let next = KeySpending {
            month: time("2026-02-01"),
            spent: Nanodollars::ZERO,
            ..spending
        };
        assert_eq!(spending.at(time("2026-02-01")), next);
        assert_eq!(spending.at(time("2026-02-28T10:20:30Z")), next);
    }
}
