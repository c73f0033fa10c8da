//! Why a page could not be fetched.

use std::time::Duration;

use url::Url;

use super::REDIRECTS_MAX;
use super::decode::CodingError;
use crate::egress::{EgressError, EgressFault};
use trawl_model::PageFailure;
use trawl_model::failure::status;

/// Why a page could not be fetched. The text is for the caller.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// Refused at the door, or broken behind it.
    #[error(transparent)]
    Egress(#[from] EgressError),
    /// The page as a whole took longer than its deadline.
    #[error("the page took longer than {} seconds", .0.as_secs_f64())]
    TimedOut(Duration),
    /// More redirects than [`REDIRECTS_MAX`].
    #[error("the page redirects more than {REDIRECTS_MAX} times")]
    TooManyRedirects,
    /// A redirect that leads to no address.
    #[error("the page redirects to `{0}`, which is not an address")]
    BadRedirect(String),
    /// A redirect that the run does not follow.
    #[error("the page redirects to {0}, where this run does not go")]
    RedirectRefused(Url),
    /// A rule that the page goes by refuses it: robots.txt.
    #[error(transparent)]
    Refused(PageFailure),
    /// The host wants to be left alone for longer than the page can wait.
    #[error("the site asked not to be contacted for another {} s, longer than this page may take", .0.as_secs_f64().ceil())]
    Paused(Duration),
    /// The body is larger than allowed, before it is decoded.
    #[error("the body is larger than {0} bytes")]
    TooLarge(u64),
    /// The body ended before its end, or its coding is damaged.
    #[error("the answer was cut off or is damaged")]
    BrokenOff,
    /// The body cannot be decoded.
    #[error(transparent)]
    Coding(#[from] CodingError),
    /// A value of the request cannot be sent in a header.
    #[error("the value for header `{0}` has a line break or another control character")]
    Unsendable(&'static str),
}

impl FetchError {
    /// The failure of the page, with the synthetic status that tells its kind.
    pub fn failure(&self) -> PageFailure {
        if let Self::Refused(failure) = self {
            return failure.clone();
        }
        PageFailure::new(self.status(), self.to_string())
    }

    /// Whether another route (another proxy, a browser, a provider) may have more luck.
    pub fn retryable(&self) -> bool {
        match self {
            Self::Egress(EgressError::Broken { .. } | EgressError::ResolveTimedOut(_)) => true,
            Self::Egress(_) => false,
            Self::TimedOut(_)
            | Self::Paused(_)
            | Self::TooManyRedirects
            | Self::BrokenOff
            | Self::Coding(_) => true,
            Self::BadRedirect(_)
            | Self::RedirectRefused(_)
            | Self::Refused(_)
            | Self::TooLarge(_)
            | Self::Unsendable(_) => false,
        }
    }

    /// Whether the connection was refused or reset: a server that restarts does both.
    pub fn is_turned_away(&self) -> bool {
        let Self::Egress(EgressError::Broken { trouble, .. }) = self else {
            return false;
        };
        matches!(trouble, EgressFault::Refused | EgressFault::Reset)
    }

    /// Whether the site or the network between failed: not the caller, not a rule of ours.
    pub fn is_failure_of_site(&self) -> bool {
        match self {
            Self::Egress(
                EgressError::Broken { .. }
                | EgressError::ResolveTimedOut(_)
                | EgressError::NotResolved(_),
            ) => true,
            Self::TimedOut(_)
            | Self::Paused(_)
            | Self::TooManyRedirects
            | Self::BrokenOff
            | Self::Coding(_) => true,
            Self::Egress(_)
            | Self::BadRedirect(_)
            | Self::RedirectRefused(_)
            | Self::Refused(_)
            | Self::TooLarge(_)
            | Self::Unsendable(_) => false,
        }
    }

    fn status(&self) -> u16 {
        match self {
            Self::Egress(error) => error.status(),
            Self::Refused(failure) => failure.status,
            Self::TimedOut(_) | Self::Paused(_) => status::TIMED_OUT,
            Self::TooManyRedirects => status::TOO_MANY_REDIRECTS,
            Self::RedirectRefused(_) => status::UNREACHABLE_OR_REFUSED,
            Self::BadRedirect(_) | Self::TooLarge(_) | Self::BrokenOff | Self::Coding(_) => {
                status::ABORTED
            }
            Self::Unsendable(_) => status::UNKNOWN,
        }
    }
}
