//! Why a page failed. A failed page is a value, never an error that ends the batch.

/// Why one page has no good result. It becomes an entry with `error` set and costs nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct PageFailure {
    /// HTTP status of the entry: the site's own, or one of the synthetic codes below.
    pub status: u16,
    /// For the caller: lower case, no full stop, no secret.
    pub message: String,
}

/// Synthetic statuses of failure entries, never sent as the status of an HTTP answer.
pub mod status {
    /// More redirects than allowed.
    pub const TOO_MANY_REDIRECTS: u16 = 310;
    /// The site refused the connection.
    pub const CONNECTION_REFUSED: u16 = 521;
    /// The connection was aborted, or the reply broke the protocol.
    pub const ABORTED: u16 = 522;
    /// The connection was reset.
    pub const RESET: u16 = 523;
    /// The page took longer than its deadline.
    pub const TIMED_OUT: u16 = 524;
    /// The host name has no IP address.
    pub const NAME_NOT_RESOLVED: u16 = 525;
    /// The URL is unreachable or refused by policy, or TLS failed.
    pub const UNREACHABLE_OR_REFUSED: u16 = 526;
    /// The browser failed or is not installed.
    pub const BROWSER_FAILED: u16 = 598;
    /// Anything else.
    pub const UNKNOWN: u16 = 599;
}

impl PageFailure {
    /// A failure with this status and text.
    pub fn new(status: u16, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
        }
    }
}
