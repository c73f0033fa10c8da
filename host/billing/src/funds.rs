//! The funds of an account.

use std::fmt;

use trawl_model::Nanodollars;
use trawl_model::clock::Timestamp;
use trawl_store::KeyPrefix;

/// Balance and reserved money of an account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Funds {
    /// Sum of its ledger entries.
    pub balance: Nanodollars,
    /// Money reserved for pages in flight; never more than the balance.
    pub held: Nanodollars,
}

impl Funds {
    /// The available balance: what is not reserved.
    pub fn available(&self) -> Nanodollars {
        self.balance - self.held
    }

    /// What keeps a page that needs this much from it. `own` is the part of the reserved money that
    /// the page can use: its reservation, and what its run has reserved for no page.
    pub(crate) fn shortfall(&self, wanted: Nanodollars, own: Nanodollars) -> Shortfall {
        Shortfall {
            cap: Cap::Balance,
            wanted,
            of: self.balance,
            spent: Nanodollars::ZERO,
            elsewhere: self.held - own,
        }
    }
}

/// Why nothing could be reserved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FundsError {
    /// The balance is used up. Decision D74.
    #[error("balance is zero")]
    Empty,
    /// The remaining balance is reserved for pages in flight: another try may succeed once one of
    /// them ends.
    #[error("the remaining balance is reserved for pages in flight")]
    AllHeld,
    /// A page costs more than a cap leaves for it.
    #[error("{0}")]
    Short(Shortfall),
    /// The key that the page was requested with has spent its budget of this month.
    #[error("{0}")]
    KeySpent(KeySpent),
    /// The run has reached its ceiling, or its budget is closed.
    #[error("the run has spent all that `max_credits_allowed` allows")]
    CeilingReached,
    /// There is no such account.
    #[error("the account does not exist")]
    UnknownAccount,
    /// The ledger has too many open reservations, or it is closing. Retry later.
    #[error("too many pages are in flight")]
    Busy,
}

impl FundsError {
    /// This error, or the shortfall if money was awaited in vain.
    pub(crate) fn or_short(self, shortfall: impl FnOnce() -> Shortfall) -> Self {
        match self {
            Self::AllHeld => Self::Short(shortfall()),
            other => other,
        }
    }
}

/// A key that has spent its budget of this month.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeySpent {
    /// First characters of the key.
    pub key: KeyPrefix,
    /// Its monthly budget.
    pub budget: Nanodollars,
    /// What it was charged in this month.
    pub spent: Nanodollars,
    /// When the next month begins.
    pub until: Timestamp,
}

impl fmt::Display for KeySpent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            key,
            budget,
            spent,
            until,
        } = self;
        write!(
            f,
            "the key `{key}` has spent {spent} of its monthly budget of {budget}: raise its budget, \
             use another key, or wait until {until}"
        )
    }
}

/// What bounds the cost of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cap {
    /// `max_credits_per_page`.
    Page,
    /// `max_credits_allowed`.
    Run,
    /// The monthly budget of the key that the page was requested with.
    Key(KeyPrefix),
    /// The balance of the account.
    Balance,
}

/// A page that costs more than a cap leaves for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shortfall {
    /// The cap.
    pub cap: Cap,
    /// What the page needs in all.
    pub wanted: Nanodollars,
    /// What the cap allows in all: a ceiling, a budget, or the balance.
    pub of: Nanodollars,
    /// What the run was charged before, or the key in this month; zero for other caps.
    pub spent: Nanodollars,
    /// What is reserved for other pages.
    pub elsewhere: Nanodollars,
}

impl Shortfall {
    /// Whether the page could be paid once the pages in flight have ended, if they cost nothing.
    pub fn may_pass(&self) -> bool {
        self.wanted <= self.of - self.spent
    }
}

impl fmt::Display for Shortfall {
    /// In credits, the unit of the caps in requests.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [wanted, of, spent, elsewhere] =
            [self.wanted, self.of, self.spent, self.elsewhere].map(Nanodollars::credits_text);
        write!(f, "the page needs {wanted} credits: ")?;
        match self.cap {
            Cap::Page => write!(f, "`max_credits_per_page` allows {of}"),
            Cap::Run => write!(
                f,
                "`max_credits_allowed` is {of}, of which {spent} are spent and {elsewhere} reserved for \
                 other pages"
            ),
            Cap::Key(key) => write!(
                f,
                "the monthly budget of the key `{key}` is {of}, of which {spent} are spent and \
                 {elsewhere} reserved for other pages"
            ),
            Cap::Balance => write!(
                f,
                "the balance is {of}, of which {elsewhere} are reserved for other pages"
            ),
        }
    }
}
