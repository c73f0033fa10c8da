//! Why a page failed. A failed page is a value, never an error that ends the batch.

/// Why one page has no good result. It becomes an entry with `error` and `cause` set and costs
/// nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct PageFailure {
    /// What went wrong, for programs.
    pub cause: Cause,
    /// For the caller: lower case, no full stop, no secret.
    pub message: String,
}

impl PageFailure {
    /// A failure with this cause and text.
    pub fn new(cause: Cause, message: impl Into<String>) -> Self {
        Self {
            cause,
            message: message.into(),
        }
    }

    /// Status of the entry of a page whose site sent no response.
    pub const fn status(&self) -> u16 {
        self.cause.status()
    }
}

/// What went wrong with a page: a name for programs, where a status stands for several causes and
/// the text of an error may change. Decision D231.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Cause {
    /// More redirects than allowed.
    TooManyRedirects,
    /// The site refused the connection.
    ConnectionRefused,
    /// The connection ended early, or the response broke the protocol.
    ConnectionClosed,
    /// The body is shorter than announced, or its end is missing.
    Incomplete,
    /// The body is not what its content coding says.
    BadEncoding,
    /// The body exceeds the size limit.
    TooLarge,
    /// The target of a redirect is not a URL, or there are two.
    BadRedirect,
    /// The connection was reset.
    ConnectionReset,
    /// The page took longer than its timeout.
    Timeout,
    /// Connecting or waiting for data took too long.
    ConnectionTimeout,
    /// The body sent nothing for too long.
    Stalled,
    /// The site asked for a pause that is longer than the page may wait.
    RateLimited,
    /// The host name has no IP address.
    Dns,
    /// The name servers did not answer in time.
    DnsTimeout,
    /// Not a URL, or not an `http` or `https` one.
    BadUrl,
    /// The IP address is not public, or is this server's.
    PrivateAddress,
    /// robots.txt disallows the page.
    Robots,
    /// The site answered the request for robots.txt with an error.
    RobotsUnavailable,
    /// The site refuses the use that the request states as its purpose.
    Rights,
    /// The TLS handshake failed, mostly because of the certificate.
    Tls,
    /// There is no route to the host.
    Unreachable,
    /// The upstream proxy did not connect to the site.
    Proxy,
    /// A redirect or a navigation leads to a page that may not be fetched.
    RedirectRefused,
    /// The page needs a browser, and none is installed or was used.
    NoBrowser,
    /// No browser tab became free in time.
    BrowserBusy,
    /// The browser did not start, crashed or failed.
    BrowserFailed,
    /// The page has or loads more than one page may.
    PageLimit,
    /// The URL is a download, which a browser does not show.
    Download,
    /// The screenshot was not captured in time.
    Screenshot,
    /// The balance, the budget of the key or a ceiling does not cover the page.
    Funds,
    /// There was no memory for the page.
    Memory,
    /// The provider that the request pins did not serve the page.
    Provider,
    /// The page's document is too large or too complex to be parsed.
    DocumentLimit,
    /// The requested format cannot render the page's media type.
    UnsupportedMedia,
    /// A plugin that the request needs is not loaded.
    PluginMissing,
    /// A plugin failed.
    PluginFailed,
    /// A header of the request cannot be sent.
    BadHeader,
    /// A crawl of sitemaps only found no page.
    NoSitemap,
    /// A crawl ended without any page.
    NoPages,
    /// The server failed.
    Internal,
    /// The site answered with a status of 400 or more.
    HttpStatus,
    /// The site answered with a bot wall's challenge and a good status, or blocked every route.
    Blocked,
}

impl Cause {
    /// Every cause.
    pub const ALL: [Self; 42] = [
        Self::TooManyRedirects,
        Self::ConnectionRefused,
        Self::ConnectionClosed,
        Self::Incomplete,
        Self::BadEncoding,
        Self::TooLarge,
        Self::BadRedirect,
        Self::ConnectionReset,
        Self::Timeout,
        Self::ConnectionTimeout,
        Self::Stalled,
        Self::RateLimited,
        Self::Dns,
        Self::DnsTimeout,
        Self::BadUrl,
        Self::PrivateAddress,
        Self::Robots,
        Self::RobotsUnavailable,
        Self::Rights,
        Self::Tls,
        Self::Unreachable,
        Self::Proxy,
        Self::RedirectRefused,
        Self::NoBrowser,
        Self::BrowserBusy,
        Self::BrowserFailed,
        Self::PageLimit,
        Self::Download,
        Self::Screenshot,
        Self::Funds,
        Self::Memory,
        Self::Provider,
        Self::DocumentLimit,
        Self::UnsupportedMedia,
        Self::PluginMissing,
        Self::PluginFailed,
        Self::BadHeader,
        Self::NoSitemap,
        Self::NoPages,
        Self::Internal,
        Self::HttpStatus,
        Self::Blocked,
    ];

    /// Its name on the wire and in the store.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TooManyRedirects => "too_many_redirects",
            Self::ConnectionRefused => "connection_refused",
            Self::ConnectionClosed => "connection_closed",
            Self::Incomplete => "incomplete",
            Self::BadEncoding => "bad_encoding",
            Self::TooLarge => "too_large",
            Self::BadRedirect => "bad_redirect",
            Self::ConnectionReset => "connection_reset",
            Self::Timeout => "timeout",
            Self::ConnectionTimeout => "connection_timeout",
            Self::Stalled => "stalled",
            Self::RateLimited => "rate_limited",
            Self::Dns => "dns",
            Self::DnsTimeout => "dns_timeout",
            Self::BadUrl => "bad_url",
            Self::PrivateAddress => "private_address",
            Self::Robots => "robots",
            Self::RobotsUnavailable => "robots_unavailable",
            Self::Rights => "rights",
            Self::Tls => "tls",
            Self::Unreachable => "unreachable",
            Self::Proxy => "proxy",
            Self::RedirectRefused => "redirect_refused",
            Self::NoBrowser => "no_browser",
            Self::BrowserBusy => "browser_busy",
            Self::BrowserFailed => "browser_failed",
            Self::PageLimit => "page_limit",
            Self::Download => "download",
            Self::Screenshot => "screenshot",
            Self::Funds => "funds",
            Self::Memory => "memory",
            Self::Provider => "provider",
            Self::DocumentLimit => "document_limit",
            Self::UnsupportedMedia => "unsupported_media",
            Self::PluginMissing => "plugin_missing",
            Self::PluginFailed => "plugin_failed",
            Self::BadHeader => "bad_header",
            Self::NoSitemap => "no_sitemap",
            Self::NoPages => "no_pages",
            Self::Internal => "internal",
            Self::HttpStatus => "http_status",
            Self::Blocked => "blocked",
        }
    }

    /// The cause with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|cause| cause.name() == name)
    }

    /// Status of the entry of a page that failed with it and has no response of its site. One that
    /// has a response has the site's status.
    pub const fn status(self) -> u16 {
        match self {
            Self::TooManyRedirects => status::TOO_MANY_REDIRECTS,
            Self::ConnectionRefused => status::CONNECTION_REFUSED,
            Self::ConnectionClosed
            | Self::Incomplete
            | Self::BadEncoding
            | Self::TooLarge
            | Self::BadRedirect => status::ABORTED,
            Self::ConnectionReset => status::RESET,
            Self::Timeout | Self::ConnectionTimeout | Self::Stalled | Self::RateLimited => {
                status::TIMED_OUT
            }
            Self::Dns | Self::DnsTimeout => status::NAME_NOT_RESOLVED,
            Self::BadUrl
            | Self::PrivateAddress
            | Self::Robots
            | Self::RobotsUnavailable
            | Self::Rights
            | Self::Tls
            | Self::Unreachable
            | Self::Proxy
            | Self::RedirectRefused => status::UNREACHABLE_OR_REFUSED,
            Self::NoBrowser
            | Self::BrowserBusy
            | Self::BrowserFailed
            | Self::PageLimit
            | Self::Download
            | Self::Screenshot => status::BROWSER_FAILED,
            Self::Funds
            | Self::Memory
            | Self::Provider
            | Self::DocumentLimit
            | Self::UnsupportedMedia
            | Self::PluginMissing
            | Self::PluginFailed
            | Self::BadHeader
            | Self::NoSitemap
            | Self::NoPages
            | Self::Internal
            | Self::HttpStatus
            | Self::Blocked => status::UNKNOWN,
        }
    }

    /// Whether a rule forbids the page, so that no other route may fetch it either. Decision D93.
    pub const fn is_refusal(self) -> bool {
        matches!(
            self,
            Self::BadUrl
                | Self::PrivateAddress
                | Self::Robots
                | Self::RobotsUnavailable
                | Self::Rights
                | Self::RedirectRefused
        )
    }
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_cause_has_a_name_of_its_own() {
        let names: BTreeSet<_> = Cause::ALL.map(Cause::name).into_iter().collect();
        assert_eq!(names.len(), Cause::ALL.len());
        for cause in Cause::ALL {
            assert_eq!(Cause::named(cause.name()), Some(cause));
        }
        assert_eq!(Cause::named("526"), None);
    }

    #[test]
    fn causes_that_share_a_status_are_distinct() {
        let rules = [
            Cause::BadUrl,
            Cause::PrivateAddress,
            Cause::Robots,
            Cause::Tls,
        ];
        let names: BTreeSet<_> = rules.map(Cause::name).into_iter().collect();
        assert_eq!(names.len(), rules.len());
        assert!(rules.iter().all(|cause| cause.status() == 526));
        assert!(rules[..3].iter().all(|cause| cause.is_refusal()));
        assert!(!Cause::Tls.is_refusal(), "another route may succeed");
    }
}
