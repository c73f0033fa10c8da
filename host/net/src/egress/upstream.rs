//! Upstream proxies, through which requests leave.

use url::Url;

/// One upstream proxy.
#[derive(Clone)]
pub struct UpstreamProxy {
    /// `http`, `https`, `socks5` or `socks5h`, with user and password if it needs them.
    pub url: Url,
    /// ISO 3166 code, upper case, of the country of its exit IP addresses.
    pub country: Option<String>,
    /// How it receives a page's host: as a name or as an IP address.
    pub resolve: Resolve,
}

/// Who resolves the host name of a page behind an upstream proxy. Every name is resolved and
/// checked here first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Resolve {
    /// The proxy: it receives the name, unless its scheme (`socks4`, `socks5`) has the client
    /// resolve.
    #[default]
    Proxy,
    /// This server: the proxy receives the checked IP address, in a tunnel for every page.
    /// So a name cannot lead the proxy to another IP address (DNS rebinding).
    Local,
}

/// Omits the password.
impl std::fmt::Debug for UpstreamProxy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UpstreamProxy")
            .field("host", &self.url.host_str())
            .field("country", &self.country)
            .finish_non_exhaustive()
    }
}
