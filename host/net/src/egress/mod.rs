//! Egress control. Every outgoing connection goes through [`Egress::send`]: it resolves a name
//! once, refuses IP addresses that are not public, dials the IP address it checked, and counts the
//! bytes. It follows no redirect: each hop comes back and is checked anew.

mod connect;
mod error;
mod ip_filter;
mod pool;
mod proxy;
mod resolve;
mod sample;
mod tunnels;

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arc_swap::ArcSwap;
use bytes::Bytes;
use http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use http::{HeaderMap, Method, StatusCode};
use reqwest::{Client, Request, Response};
use url::{Host, Url};

pub use error::{EgressError, EgressFault};
pub use ip_filter::AllowList;
pub use pool::{PoolConfig, PoolUse, Resolve, Route, UpstreamProxy};
pub use proxy::{ProxyChannel, ProxyLimits, Refusal};
pub use sample::SAMPLE_HOST;

use connect::Dial;
use pool::{Pools, Proxy};
use resolve::Resolver;
use trawl_model::Nanodollars;
use tunnels::TunnelClient;

/// Time in which one connection must open, unless configured otherwise.
pub const CONNECT_TIME_MAX: Duration = Duration::from_secs(10);
/// Time in which one name must be resolved, unless configured otherwise.
pub const LOOKUP_TIME_MAX: Duration = Duration::from_secs(5);
/// How often a request is sent again because the pooled connection it went out on was already
/// closed.
const STALE_RETRIES_MAX: usize = 3;

/// Settings of [`Egress`]. No `Debug`: URLs of the operator may have passwords.
#[derive(Clone)]
pub struct EgressConfig {
    /// IP ranges that may be dialled although they are not public.
    pub allow_private: AllowList,
    /// Pools of upstream proxies by name.
    pub pools: BTreeMap<String, PoolConfig>,
    /// URLs that the operator wrote in the configuration: reachable on the operator's behalf
    /// whatever they resolve to.
    pub grants: Vec<Url>,
    /// Host names with fixed IP addresses, used before any lookup.
    pub hosts: BTreeMap<String, Vec<IpAddr>>,
    /// DNS servers to use; the machine's own when empty.
    pub name_servers: Vec<SocketAddr>,
    /// Time in which one connection must open.
    pub connect_time_max: Duration,
    /// Time in which one name must be resolved.
    pub lookup_time_max: Duration,
}

impl Default for EgressConfig {
    fn default() -> Self {
        Self {
            allow_private: AllowList::default(),
            pools: BTreeMap::new(),
            grants: Vec::new(),
            hosts: BTreeMap::new(),
            name_servers: Vec::new(),
            connect_time_max: CONNECT_TIME_MAX,
            lookup_time_max: LOOKUP_TIME_MAX,
        }
    }
}

/// Sends all outgoing requests. One for the whole server.
pub struct Egress {
    allow_private: AllowList,
    grants: BTreeSet<(String, u16)>,
    own_listeners: ArcSwap<Vec<SocketAddr>>,
    resolver: Resolver,
    pools: Pools,
    connect_time_max: Duration,
    /// For URLs that callers wrote.
    direct: Client,
    /// For requests that need a connection of their own over HTTP/1.1; built on first use.
    fresh: OnceLock<Client>,
    /// For granted URLs; separate, so that no caller's request reuses a pooled connection to one.
    granted: Client,
    received: Arc<AtomicU64>,
}

/// On whose behalf a request is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trust {
    Caller,
    Operator,
}

/// A destination and the only IP addresses it may be dialled at.
struct Checked {
    host: String,
    port: u16,
    ip_addresses: Vec<IpAddr>,
    /// Whether the host is a name rather than an IP address.
    is_name: bool,
}

/// A response whose body is still arriving.
#[derive(Debug)]
pub struct Reply {
    response: Response,
    through_proxy: bool,
    /// Where the body ends although the connection stays open.
    length: Option<u64>,
    body_bytes: u64,
    received: Arc<AtomicU64>,
}

impl Egress {
    /// Builds the clients and the resolver. Call it inside the runtime.
    ///
    /// # Errors
    /// [`EgressError::SetUp`] when the resolver or TLS cannot be set up.
    pub fn new(config: EgressConfig) -> Result<Arc<Self>, EgressError> {
        let granted = config.grants.iter().filter_map(host_and_port);
        Ok(Arc::new(Self {
            grants: granted.collect(),
            own_listeners: ArcSwap::default(),
            resolver: Resolver::new(config.hosts, &config.name_servers, config.lookup_time_max)?,
            pools: Pools::new(config.pools),
            connect_time_max: config.connect_time_max,
            direct: connect::client(config.connect_time_max, None)?,
            fresh: OnceLock::new(),
            granted: connect::client(config.connect_time_max, None)?,
            allow_private: config.allow_private,
            received: Arc::default(),
        }))
    }

    /// Refuses requests to a listener of this server from now on, whatever is allowed or granted:
    /// an API listener, a proxy channel.
    pub fn refuse_listener(&self, listener: SocketAddr) {
        self.own_listeners.rcu(|known| {
            let mut known = Vec::clone(known);
            known.push(listener);
            known
        });
    }

    /// Undoes one call of [`Egress::refuse_listener`]: the listener is closed.
    fn forget_listener(&self, listener: SocketAddr) {
        self.own_listeners.rcu(|known| {
            let mut known = Vec::clone(known);
            if let Some(at) = known.iter().position(|one| *one == listener) {
                known.swap_remove(at);
            }
            known
        });
    }

    /// Chooses the route for a page that requests this proxy pool and country.
    pub fn route(&self, pool: &str, country: Option<&str>) -> Route {
        self.pools.route(pool, country)
    }

    /// Price of a gigabyte (10^9 bytes) through the pool that a page requests, on top of the
    /// ordinary price.
    pub fn pool_price(&self, pool: &str) -> Nanodollars {
        self.pools.price(pool)
    }

    /// Sends a request on a caller's behalf and returns the head of the response. Redirects are
    /// returned, not followed.
    ///
    /// # Errors
    /// [`EgressError`]: refused before anything is sent, or failed on the way.
    pub async fn send(&self, request: Request, route: &Route) -> Result<Reply, EgressError> {
        if sample::is_sample(request.url()) {
            let page = Response::from(sample::respond(request.url()));
            return Ok(self.reply(page, false));
        }
        let mut names = self.check(request.url(), Trust::Caller).await?;
        let Some(proxy) = self.pools.proxy(route) else {
            return self.dispatch(&self.direct, request, names, false).await;
        };
        names.extend(self.check(&proxy.upstream.url, Trust::Operator).await?);
        if proxy.upstream.resolve == Resolve::Local {
            return self.send_in_tunnel(proxy, request, names).await;
        }
        // The proxy resolves the target itself; the check above has refused what it could, and
        // SOCKS4 and 5 use its result.
        let client = match proxy.client.get() {
            Some(client) => client,
            None => {
                let client = connect::client(self.connect_time_max, Some(&proxy.upstream.url))?;
                proxy.client.get_or_init(|| client)
            }
        };
        self.dispatch(client, request, names, true).await
    }

    /// Sends a request through a proxy that receives the checked IP address.
    async fn send_in_tunnel(
        &self,
        proxy: &Proxy,
        request: Request,
        names: Vec<(String, Vec<IpAddr>)>,
    ) -> Result<Reply, EgressError> {
        let build = || TunnelClient::new(&proxy.upstream, self.connect_time_max);
        let client = proxy.tunnels.get_or_init(build);
        // The client itself repeats what it could not send on a pooled connection.
        let response = Dial::new(names).scope(client.send(request)).await?;
        Ok(self.reply(response, true))
    }

    /// Sends a request on the operator's behalf to a URL that the configuration grants. Never pass
    /// a URL that a caller wrote.
    ///
    /// # Errors
    /// [`EgressError::NotGranted`] for any other URL, otherwise as [`Egress::send`].
    pub async fn send_granted(&self, request: Request) -> Result<Reply, EgressError> {
        let target = host_and_port(request.url()).ok_or(EgressError::NoHost)?;
        if !self.grants.contains(&target) {
            return Err(EgressError::NotGranted(target.0));
        }
        let names = self.check(request.url(), Trust::Operator).await?;
        self.dispatch(&self.granted, request, names, false).await
    }

    /// Sends a request on the operator's behalf to a service that the operator allows: `may`
    /// decides by the URL. Never pass a URL that a caller wrote.
    ///
    /// # Errors
    /// [`EgressError::NotGranted`] for any other URL, otherwise as [`Egress::send`].
    pub async fn send_to_service(
        &self,
        request: Request,
        may: impl FnOnce(&Url) -> bool,
    ) -> Result<Reply, EgressError> {
        if !may(request.url()) {
            let host = request.url().host_str().unwrap_or_default();
            return Err(EgressError::NotGranted(host.to_owned()));
        }
        let names = self.check(request.url(), Trust::Operator).await?;
        self.dispatch(&self.granted, request, names, false).await
    }

    /// Checks whether a caller may have this URL fetched, by this server or by a third-party
    /// provider. A name that cannot be resolved here passes.
    pub async fn check_target(&self, url: &Url) -> Result<(), EgressError> {
        let checked = self.check(url, Trust::Caller).await;
        permanent(checked)
    }

    /// Checks whether events may be sent to this URL. A name that cannot be resolved now passes if
    /// it is a domain name: its owner may still be setting it up.
    ///
    /// # Errors
    /// It can never receive one.
    pub async fn check_receiver(&self, url: &Url) -> Result<(), EgressError> {
        match self.check(url, Trust::Caller).await {
            Err(EgressError::NotResolved(host)) if !host.contains('.') => {
                Err(EgressError::NotResolved(host))
            }
            checked => permanent(checked),
        }
    }

    /// Body bytes received since the start, as they came over the wire.
    pub fn received_bytes(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }

    /// Checks a URL and returns its host name with the only IP addresses it may be dialled at.
    async fn check(
        &self,
        url: &Url,
        trust: Trust,
    ) -> Result<Vec<(String, Vec<IpAddr>)>, EgressError> {
        let checked = self.checked(url, trust).await?;
        Ok(if checked.is_name {
            vec![(checked.host, checked.ip_addresses)]
        } else {
            Vec::new()
        })
    }

    /// Checks a URL: its scheme, its host, and each IP address of the host.
    async fn checked(&self, url: &Url, trust: Trust) -> Result<Checked, EgressError> {
        let schemes: &[&str] = match trust {
            Trust::Caller => &["http", "https"],
            Trust::Operator => &["http", "https", "socks4", "socks4a", "socks5", "socks5h"],
        };
        if !schemes.contains(&url.scheme()) {
            return Err(EgressError::Scheme(url.scheme().to_owned()));
        }
        let (host, port) = host_and_port(url).ok_or(EgressError::NoHost)?;
        let (found, is_name) = match literal(&host) {
            Some(address) => (vec![address], false),
            None => (self.resolver.lookup(&host).await?, true),
        };
        let ip_addresses = self.permitted(&host, port, &found, trust)?;
        Ok(Checked {
            host,
            port,
            ip_addresses,
            is_name,
        })
    }

    /// The IP addresses among `found` that may be dialled: a refused one is dropped, not the whole
    /// name.
    fn permitted(
        &self,
        host: &str,
        port: u16,
        found: &[IpAddr],
        trust: Trust,
    ) -> Result<Vec<IpAddr>, EgressError> {
        let own_listeners = self.own_listeners.load();
        let is_own = |address: IpAddr| {
            let target = SocketAddr::new(address, port);
            own_listeners
                .iter()
                .any(|listener| ip_filter::reaches(*listener, target))
        };
        let is_open = |address: IpAddr| {
            trust == Trust::Operator
                || self.allow_private.contains(address)
                || ip_filter::is_global(address)
        };
        let open: Vec<IpAddr> = found
            .iter()
            .copied()
            .filter(|address| is_open(*address))
            .collect();
        let permitted: Vec<IpAddr> = open
            .iter()
            .copied()
            .filter(|address| !is_own(*address))
            .collect();
        match (open.is_empty(), permitted.is_empty()) {
            (true, _) => Err(EgressError::NotPublic(host.to_owned())),
            (false, true) => Err(EgressError::OwnListener(host.to_owned())),
            (false, false) => Ok(permitted),
        }
    }

    /// A client without a pool that speaks HTTP/1.1 alone.
    fn fresh(&self) -> Result<&Client, EgressError> {
        match self.fresh.get() {
            Some(client) => Ok(client),
            None => {
                let client = connect::fresh_client(self.connect_time_max)?;
                Ok(self.fresh.get_or_init(|| client))
            }
        }
    }

    /// Sends a request, and sends it again when the pooled connection it used had been closed by
    /// the peer, and over a connection of its own when the site refuses the one it came on.
    async fn dispatch(
        &self,
        client: &Client,
        request: Request,
        names: Vec<(String, Vec<IpAddr>)>,
        through_proxy: bool,
    ) -> Result<Reply, EgressError> {
        let dial = Dial::new(names);
        let mut request = Some(request);
        let mut retries = 0;
        loop {
            let current = request.take().expect("a retry puts a request back");
            let spare = current
                .try_clone()
                .filter(|_| is_repeatable(current.method()));
            let sent = dial.run(client, current).await;
            let is_refused = match &sent {
                // RFC 9110 section 15.5.20: the connection led to another server.
                Ok(response) => response.status() == StatusCode::MISDIRECTED_REQUEST,
                Err(error) => error::wants_http1(error),
            };
            if is_refused
                && !through_proxy
                && let Some(spare) = spare
            {
                let answer = dial.run(self.fresh()?, spare).await;
                let answer = answer.map_err(|error| EgressError::from_client(error, false));
                return answer.map(|response| self.reply(response, false));
            }
            let error = match sent {
                Ok(response) => return Ok(self.reply(response, through_proxy)),
                Err(error) => error,
            };
            let was_stale = !dial.opened() && error.is_request() && !error.is_timeout();
            if !was_stale || spare.is_none() || retries == STALE_RETRIES_MAX {
                return Err(EgressError::from_client(error, through_proxy));
            }
            request = spare;
            retries += 1;
        }
    }

    fn reply(&self, response: Response, through_proxy: bool) -> Reply {
        Reply {
            length: identity_length(response.headers()),
            response,
            through_proxy,
            body_bytes: 0,
            received: Arc::clone(&self.received),
        }
    }
}

impl Reply {
    /// HTTP status.
    pub fn status(&self) -> StatusCode {
        self.response.status()
    }

    /// Headers in the order received, with repeats.
    pub fn headers(&self) -> &HeaderMap {
        self.response.headers()
    }

    /// Body bytes received so far, as they came over the wire.
    pub fn body_bytes(&self) -> u64 {
        self.body_bytes
    }

    /// The next piece of the body as it came over the wire; `None` at its end.
    ///
    /// # Errors
    /// [`EgressError::Broken`] when the connection breaks or the body ends before its announced
    /// end.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, EgressError> {
        let left = self.length.map(|length| length - self.body_bytes);
        if left == Some(0) {
            return Ok(None);
        }
        let chunk = self.response.chunk().await;
        let chunk = chunk.map_err(|error| EgressError::from_client(error, self.through_proxy))?;
        let chunk = match (chunk, left) {
            (Some(mut chunk), Some(left)) => {
                chunk.truncate(usize::try_from(left).unwrap_or(usize::MAX));
                Some(chunk)
            }
            (None, Some(_)) => return Err(EgressError::early_end()),
            (chunk, None) => chunk,
        };
        let bytes = chunk.as_ref().map_or(0, |chunk| chunk.len() as u64);
        self.body_bytes += bytes;
        self.received.fetch_add(bytes, Ordering::Relaxed);
        Ok(chunk)
    }
}

/// The length of a body with `Transfer-Encoding: identity`, which RFC 2616 had servers send along
/// with `Content-Length`. The client reads such a body up to the end of the connection.
fn identity_length(headers: &HeaderMap) -> Option<u64> {
    let mut codings = headers.get_all(TRANSFER_ENCODING).into_iter().peekable();
    codings.peek()?;
    let is_identity = codings.all(|coding| coding.as_bytes().eq_ignore_ascii_case(b"identity"));
    let length = headers.get(CONTENT_LENGTH).filter(|_| is_identity)?;
    length.to_str().ok()?.parse().ok()
}

/// Whether a request can be repeated safely: RFC 9110 section 9.2.2, for the methods sent here.
fn is_repeatable(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}

/// Host and port of a URL; `None` without a host or with port 0, on which nothing can listen.
fn host_and_port(url: &Url) -> Option<(String, u16)> {
    let host = url.host_str().filter(|host| !host.is_empty())?;
    let default_port = if url.scheme().starts_with("socks") {
        Some(1080)
    } else {
        url.port_or_known_default()
    };
    let port = url.port().or(default_port).filter(|port| *port != 0)?;
    Some((host.to_owned(), port))
}

/// The IP address that a host is, in any of the spellings that the URL standard accepts.
fn literal(host: &str) -> Option<IpAddr> {
    match Host::parse(host).ok()? {
        Host::Ipv4(address) => Some(address.into()),
        Host::Ipv6(address) => Some(address.into()),
        Host::Domain(_) => None,
    }
}

/// A refusal that no other moment would change.
fn permanent<T>(checked: Result<T, EgressError>) -> Result<(), EgressError> {
    match checked {
        Err(
            refusal @ (EgressError::Scheme(_)
            | EgressError::NoHost
            | EgressError::NotPublic(_)
            | EgressError::OwnListener(_)),
        ) => Err(refusal),
        _ => Ok(()),
    }
}
