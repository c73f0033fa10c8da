//! Why a page could not be fetched.

use std::time::Duration;

use url::Url;

use trawl_model::memory::MemoryError;
use trawl_model::{Cause, PageFailure};

use super::decode::CodingError;
use super::limits::REDIRECTS_MAX;
use crate::egress::{EgressError, EgressFault};

/// Why a page could not be fetched. The text is for the caller.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// Refused by egress, or failed on the network.
    #[error(transparent)]
    Egress(#[from] EgressError),
    /// The page as a whole took longer than its deadline.
    #[error("the page did not load within {} seconds", .0.as_secs_f64())]
    TimedOut(Duration),
    /// More redirects than [`REDIRECTS_MAX`].
    #[error("the page redirects more than {REDIRECTS_MAX} times; it may redirect in a loop")]
    TooManyRedirects,
    /// The target of a redirect is not a URL.
    #[error("the page redirects to `{0}`, which is not a valid URL")]
    BadRedirect(String),
    /// The response has different targets in several `Location` lines.
    #[error("the page redirects to two different URLs at once")]
    TwoRedirects,
    /// The site answered 304, although nothing was asked for by condition.
    #[error(
        "the site answered 304 (not modified) without a page, although the request had no condition"
    )]
    NotModified,
    /// A redirect that the run does not allow: out of scope, or disallowed by robots.txt.
    #[error("the page redirects to `{0}`, which this run may not fetch")]
    RedirectRefused(Url),
    /// A rule refuses the page: robots.txt.
    #[error(transparent)]
    Refused(PageFailure),
    /// The host requested a pause that is longer than the page can wait.
    #[error("the site asked not to be contacted for another {} s, which exceeds the page's timeout; try again later", .0.as_secs_f64().ceil())]
    Paused(Duration),
    /// The body exceeds its limit before it is decoded.
    #[error("the body is larger than {0} bytes, the limit")]
    TooLarge(u64),
    /// The body is incomplete, or its coding is corrupt.
    #[error("the response is incomplete or corrupt")]
    Incomplete,
    /// The body has no announced end, and the connection ended without the closing message of TLS
    /// that says that it is whole. RFC 9112 section 9.8.
    #[error(
        "the response has no length, and its connection was not closed properly, so it may be incomplete"
    )]
    Unclosed,
    /// The body sent nothing for this long.
    #[error("the body stalled: no byte arrived for {} seconds", .0.as_secs_f64())]
    Stalled(Duration),
    /// There was no memory for the body.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// The body cannot be decoded.
    #[error(transparent)]
    Coding(#[from] CodingError),
    /// A header value of the request is not valid.
    #[error("the value for header `{0}` has a line break or another control character; remove it")]
    Unsendable(&'static str),
}

impl FetchError {
    /// The failure of the page.
    pub fn failure(&self) -> PageFailure {
        if let Self::Refused(failure) = self {
            return failure.clone();
        }
        PageFailure::new(self.cause(), self.to_string())
    }

    /// Whether another route (another proxy, a browser, a provider) may succeed.
    pub fn retryable(&self) -> bool {
        match self {
            Self::Egress(EgressError::Broken { .. } | EgressError::ResolveTimedOut(_)) => true,
            Self::Egress(_) => false,
            Self::TimedOut(_)
            | Self::Paused(_)
            | Self::TooManyRedirects
            | Self::Incomplete
            | Self::Unclosed
            | Self::Stalled(_)
            | Self::NotModified
            | Self::Coding(_) => true,
            Self::BadRedirect(_)
            | Self::TwoRedirects
            | Self::RedirectRefused(_)
            | Self::Refused(_)
            | Self::TooLarge(_)
            | Self::Memory(_)
            | Self::Unsendable(_) => false,
        }
    }

    /// Whether the connection was refused, or ended before there was an answer, as a server does
    /// that restarts.
    pub fn is_of_restart(&self) -> bool {
        let Self::Egress(EgressError::Broken { fault, .. }) = self else {
            return false;
        };
        matches!(
            fault,
            EgressFault::Refused | EgressFault::Reset | EgressFault::Closed
        )
    }

    /// Whether a browser may get the page all the same: it is more lenient, or has older cipher
    /// suites. Decision D316.
    pub fn may_suit_browsers(&self) -> bool {
        match self {
            Self::Egress(error) => error.may_suit_browsers(),
            Self::Coding(error) => !matches!(
                error,
                CodingError::TooLarge(_) | CodingError::TooMany | CodingError::TooManyMembers
            ),
            Self::Unclosed => true,
            _ => false,
        }
    }

    /// Whether the request may have reached the other side, which may have acted on it.
    pub fn may_have_arrived(&self) -> bool {
        match self {
            Self::Egress(EgressError::Broken { fault, .. }) => matches!(
                fault,
                EgressFault::Closed
                    | EgressFault::Reset
                    | EgressFault::Malformed
                    | EgressFault::TimedOut
            ),
            Self::Egress(_) | Self::Refused(_) | Self::Paused(_) | Self::Unsendable(_) => false,
            Self::TimedOut(_)
            | Self::TooManyRedirects
            | Self::BadRedirect(_)
            | Self::TwoRedirects
            | Self::NotModified
            | Self::RedirectRefused(_)
            | Self::TooLarge(_)
            | Self::Incomplete
            | Self::Unclosed
            | Self::Stalled(_)
            | Self::Memory(_)
            | Self::Coding(_) => true,
        }
    }

    /// Whether the site or the network failed, rather than the caller or one of this server's
    /// rules.
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
            | Self::Incomplete
            | Self::Unclosed
            | Self::Stalled(_)
            | Self::NotModified
            | Self::Coding(_) => true,
            Self::Egress(_)
            | Self::BadRedirect(_)
            | Self::TwoRedirects
            | Self::RedirectRefused(_)
            | Self::Refused(_)
            | Self::TooLarge(_)
            | Self::Memory(_)
            | Self::Unsendable(_) => false,
        }
    }

    fn cause(&self) -> Cause {
        match self {
            Self::Egress(error) => error.cause(),
            Self::Refused(failure) => failure.cause,
            Self::TimedOut(_) => Cause::Timeout,
            Self::Paused(_) => Cause::RateLimited,
            Self::Stalled(_) => Cause::Stalled,
            Self::Memory(error) => error.failure().cause,
            Self::TooManyRedirects => Cause::TooManyRedirects,
            Self::RedirectRefused(_) => Cause::RedirectRefused,
            Self::BadRedirect(_) | Self::TwoRedirects => Cause::BadRedirect,
            Self::NotModified => Cause::ConnectionClosed,
            Self::TooLarge(_) => Cause::TooLarge,
            Self::Incomplete | Self::Unclosed => Cause::Incomplete,
            Self::Coding(_) => Cause::BadEncoding,
            Self::Unsendable(_) => Cause::BadHeader,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_connection_without_an_answer_is_of_a_restart() {
        for (fault, expected) in [
            (EgressFault::Refused, true),
            (EgressFault::Reset, true),
            (EgressFault::Closed, true),
            (EgressFault::Malformed, false),
            (EgressFault::TimedOut, false),
            (EgressFault::Unreachable, false),
            (EgressFault::Tls, false),
            (EgressFault::Proxy, false),
        ] {
            let broken = FetchError::Egress(EgressError::Broken {
                fault,
                cause: "a test".into(),
            });
            assert_eq!(broken.is_of_restart(), expected, "{fault:?}");
        }
        for answered in [
            FetchError::Incomplete,
            FetchError::Unclosed,
            FetchError::NotModified,
            FetchError::Egress(EgressError::NotResolved("a.example".to_owned())),
        ] {
            assert!(!answered.is_of_restart(), "{answered}");
        }
    }

    /// Decision D316.
    #[test]
    fn a_browser_is_tried_for_answers_that_it_may_read() {
        let broken = |fault| {
            let cause = "a test".into();
            FetchError::Egress(EgressError::Broken { fault, cause })
        };
        for (error, expected) in [
            (broken(EgressFault::Closed), true),
            (broken(EgressFault::Malformed), true),
            (broken(EgressFault::Tls), true),
            (FetchError::Unclosed, true),
            (FetchError::Coding(CodingError::Corrupt("br")), true),
            (FetchError::Coding(CodingError::TooLarge(9)), false),
            (FetchError::Incomplete, false),
            (broken(EgressFault::Refused), false),
            (broken(EgressFault::Reset), false),
            (broken(EgressFault::TimedOut), false),
            (broken(EgressFault::Unreachable), false),
            (broken(EgressFault::Proxy), false),
        ] {
            assert_eq!(error.may_suit_browsers(), expected, "{error:?}");
        }
    }
}
