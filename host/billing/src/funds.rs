//! The funds of an account.

use std::fmt;

use trawl_model::Nanodollars;

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
    /// The money that is left is reserved for pages in flight: another try may succeed once one of
    /// them ends.
    #[error("the money that is left is reserved for pages in flight")]
    AllHeld,
    /// A page costs more than a cap leaves for it.
    #[error("{0}")]
    Short(Shortfall),
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

/// What bounds the cost of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cap {
    /// `max_credits_per_page`.
    Page,
    /// `max_credits_allowed`.
    Run,
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
    /// What the cap allows in all: a ceiling, or the balance.
    pub of: Nanodollars,
    /// What the run was charged before; zero for other caps than its ceiling.
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
            Cap::Balance => write!(
                f,
                "the balance is {of}, of which {elsewhere} are reserved for other pages"
            ),
        }
    }
}
