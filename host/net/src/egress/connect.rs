//! What the HTTP clients may dial: only the IP addresses that were checked for the current request.
//! Also the client for upstream proxies that resolve names themselves.

use std::future::ready;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http::Uri;
use hyper_rustls::ConfigBuilderExt;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Client, ClientBuilder, Proxy, redirect};
use tower::util::MapRequestLayer;

use url::Url;

use trawl_model::timing;

use super::destination::{Checked, host_and_port, literal};
use super::error::EgressError;

/// Idle connections pooled per host: twice the number of pages fetched from one host at once.
pub(super) const IDLE_PER_HOST_MAX: usize = 128;
/// How long an idle connection stays pooled: long enough for the next page of a crawl, and less
/// than the time after which most servers close it. Each takes a descriptor.
pub(super) const IDLE_TIME_MAX: Duration = Duration::from_secs(15);
/// Header lines of one response: browsers accept far more than the default limit of 100, attackers
/// send 10,000.
pub(super) const HEADERS_MAX: usize = 512;
/// Bytes of one response's header block over HTTP/2.
pub(super) const HEADER_BYTES_MAX: u32 = 256 * 1024;

tokio::task_local! {
    /// The destinations that the request running in this task may dial.
    static DIAL: Arc<Dial>;
}

/// The IP addresses checked for one request, and whether a connection was opened for it.
#[derive(Debug)]
pub(super) struct Dial {
    names: Vec<(String, Vec<IpAddr>)>,
    /// Whose connection it is.
    account: Arc<str>,
    opened: AtomicBool,
}

impl Dial {
    /// Allows these host names to be dialled at these IP addresses, for this account.
    pub(super) fn new(names: Vec<(String, Vec<IpAddr>)>, account: Arc<str>) -> Arc<Self> {
        Arc::new(Self {
            names,
            account,
            opened: AtomicBool::new(false),
        })
    }

    /// The one of the current request.
    pub(super) fn current() -> Option<Arc<Self>> {
        DIAL.try_with(Arc::clone).ok()
    }

    /// Whose connection it is.
    pub(super) fn account(&self) -> &Arc<str> {
        &self.account
    }

    /// Notes that a connection is opened.
    pub(super) fn open(&self) {
        self.opened.store(true, Ordering::Relaxed);
    }

    /// Whether a connection was opened; if not, a pooled one was reused.
    pub(super) fn opened(&self) -> bool {
        self.opened.load(Ordering::Relaxed)
    }

    /// Runs what sends one request: it may dial what this allows.
    pub(super) async fn scope<F: Future>(self: &Arc<Self>, sending: F) -> F::Output {
        timing::step("first_byte", DIAL.scope(Arc::clone(self), sending)).await
    }

    fn socket_addresses(&self, name: &str) -> Option<Vec<SocketAddr>> {
        let (_, ip_addresses) = self.names.iter().find(|(known, _)| known == name)?;
        Some(
            ip_addresses
                .iter()
                .map(|address| (*address, 0).into())
                .collect(),
        )
    }
}

/// The IP addresses at which the current request may dial a host, and whether the host is a name.
/// An IP address is its own: it was checked before the request was sent.
fn permitted(host: &str) -> Option<(Vec<IpAddr>, bool)> {
    if let Some(address) = literal(host) {
        return Some((vec![address], false));
    }
    let dial = Dial::current()?;
    let (_, ip_addresses) = dial.names.iter().find(|(known, _)| known == host)?;
    Some((ip_addresses.clone(), true))
}

/// The host of a URI that a client dials, with the IP addresses that were checked for the current
/// request.
pub(super) fn checked_for_request(uri: &Uri) -> Option<Checked> {
    checked_url_for_request(&Url::parse(&uri.to_string()).ok()?)
}

/// [`checked_for_request`] for a URL.
pub(super) fn checked_url_for_request(url: &Url) -> Option<Checked> {
    let (host, port) = host_and_port(url)?;
    let (ip_addresses, is_name) = permitted(&host)?;
    Some(Checked {
        host,
        port,
        ip_addresses,
        is_name,
    })
}

/// Resolves the client's lookups from the checked IP addresses of the current request and from
/// nothing else: no second lookup can return a different answer (DNS rebinding), and a request that
/// bypassed the check cannot dial.
struct CheckedOnly;

impl Resolve for CheckedOnly {
    fn resolve(&self, name: Name) -> Resolving {
        // The client resolves when it is first polled, in the task of the request, so the value is
        // there.
        let found = DIAL
            .try_with(|dial| dial.socket_addresses(name.as_str()))
            .ok()
            .flatten();
        Box::pin(ready(match found {
            Some(sockets) => Ok(Box::new(sockets.into_iter()) as Addrs),
            None => Err("the host was not checked before it was dialled".into()),
        }))
    }
}

/// A client that sends through `proxy`, and keeps connections for later requests if it is shared.
///
/// # Errors
/// [`EgressError::SetUp`] when the proxy's URL is invalid or TLS cannot be set up.
pub(super) fn client(
    connect_time_max: Duration,
    proxy: &Url,
    is_shared: bool,
) -> Result<Client, EgressError> {
    install_crypto();
    let build = || -> Result<ClientBuilder, reqwest::Error> {
        let idle_max = if is_shared { IDLE_PER_HOST_MAX } else { 0 };
        let builder = settings(connect_time_max).pool_max_idle_per_host(idle_max);
        Ok(builder.proxy(Proxy::all(proxy.as_str())?))
    };
    let set_up = |error: reqwest::Error| EgressError::SetUp(error.without_url().to_string());
    build().map_err(set_up)?.build().or_else(|error| {
        warn_of_no_roots(&error);
        let no_certificates = std::iter::empty();
        let builder = build().map_err(set_up)?.tls_certs_only(no_certificates);
        builder.build().map_err(set_up)
    })
}

/// The configuration of TLS with the root certificates of this machine.
pub(super) fn tls() -> rustls::ClientConfig {
    install_crypto();
    rustls::ClientConfig::builder()
        .try_with_platform_verifier()
        .unwrap_or_else(|error| {
            warn_of_no_roots(&error);
            let roots = rustls::RootCertStore::empty();
            rustls::ClientConfig::builder().with_root_certificates(roots)
        })
        .with_no_client_auth()
}

fn warn_of_no_roots(error: &dyn std::fmt::Display) {
    tracing::warn!(%error, "no root certificates were found on this machine, so no `https` site can be reached; install `ca-certificates`");
}

/// Makes `ring` the provider of TLS.
fn install_crypto() {
    // Another caller may have installed a provider first; it is the same one.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

#[expect(
    clippy::disallowed_methods,
    reason = "the only place that builds HTTP clients: all traffic leaves through egress"
)]
fn settings(connect_time_max: Duration) -> ClientBuilder {
    Client::builder()
        .no_proxy()
        .redirect(redirect::Policy::none())
        .referer(false)
        .dns_resolver(CheckedOnly)
        .connect_timeout(connect_time_max)
        .pool_idle_timeout(IDLE_TIME_MAX)
        .http1_max_headers(HEADERS_MAX)
        .http1_ignore_invalid_headers_in_responses(true)
        .http1_allow_spaces_after_header_name_in_responses(true)
        .http1_allow_obsolete_multiline_headers_in_responses(true)
        .http2_max_header_list_size(HEADER_BYTES_MAX)
        .connector_layer(MapRequestLayer::new(|destination| {
            let _ = DIAL.try_with(|dial| dial.open());
            destination
        }))
}
