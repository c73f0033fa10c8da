//! Egress control. Every outgoing connection goes through [`Egress::send`]: it resolves a name
//! once, refuses IP addresses that are not public, dials the IP address it checked, and counts the
//! bytes. It follows no redirect: each hop comes back and is checked anew.

mod client;
mod config;
mod connect;
pub(crate) mod connection_auth;
mod connections;
mod destination;
mod dial;
mod direct;
mod error;
mod ip_filter;
mod pool;
mod ports;
mod post;
mod proxy;
mod reply;
mod resolve;
mod route;
mod sample;
mod trace;
mod tunnels;
mod upstream;

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use http::{Method, StatusCode};
use reqwest::{Request, Response};
use url::Url;

pub use config::{CONNECT_TIME_MAX, EgressConfig, LOOKUP_TIME_MAX, OwnAddress};
pub use connection_auth::authenticates_connection;
pub use connections::{CONNECTIONS_MAX, on_behalf_of};
pub use error::{EgressError, EgressFault};
pub use ip_filter::AllowList;
pub use pool::PoolConfig;
pub use proxy::{KeptCookies, ProxyChannel, ProxyLimits, Refusal};
pub use reply::Reply;
pub use route::{PoolUse, Route};
pub use sample::SAMPLE_HOST;
pub use trace::traced;
pub use upstream::{Resolve, UpstreamProxy};

use client::{Connector, HttpClient, Sender};
use connect::Dial;
use connections::{Connections, current_account};
use destination::{Checked, host_and_port, literal};
use direct::{Direct, DirectClient};
use pool::{Pools, Proxy};
use resolve::Resolver;
use trawl_model::Nanodollars;
use trawl_model::fair::PermitUse;
use tunnels::{TunnelClient, Tunnels};

/// How often a request is sent again because the pooled connection it went out on was already
/// closed.
const STALE_RETRIES_MAX: usize = 3;

/// Sends all outgoing requests. One for the whole server.
pub struct Egress {
    allow_private: AllowList,
    grants: BTreeSet<(String, u16)>,
    own_listeners: ArcSwap<Vec<SocketAddr>>,
    own_addresses: Vec<OwnAddress>,
    resolver: Resolver,
    pools: Pools,
    connect_time_max: Duration,
    connections: Connections,
    /// For URLs that callers wrote.
    direct: DirectClient,
    /// For granted URLs; separate, so that no caller's request reuses a pooled connection to one.
    granted: DirectClient,
    received: Arc<AtomicU64>,
}

/// On whose behalf a request is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trust {
    Caller,
    Operator,
}

impl Egress {
    /// Builds the clients and the resolver. Call it inside the runtime.
    ///
    /// # Errors
    /// [`EgressError::SetUp`] when the resolver or TLS cannot be set up.
    pub fn new(config: EgressConfig) -> Result<Arc<Self>, EgressError> {
        let granted = config.grants.iter().filter_map(host_and_port);
        let connections = Connections::new(config.connections_max);
        let direct = || {
            let time_max = config.connect_time_max;
            HttpClient::new(Direct { time_max }, time_max, &connections)
        };
        Ok(Arc::new(Self {
            grants: granted.collect(),
            own_listeners: ArcSwap::default(),
            own_addresses: config.own_addresses,
            resolver: Resolver::new(config.hosts, &config.name_servers, config.lookup_time_max)?,
            pools: Pools::new(config.pools),
            connect_time_max: config.connect_time_max,
            direct: direct(),
            granted: direct(),
            connections,
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
        Route {
            account: current_account(),
            ..self.pools.route(pool, country)
        }
    }

    /// Whether the pool that serves pages of this one has a proxy in a country.
    pub fn has_country(&self, pool: &str, country: &str) -> bool {
        self.pools.has_country(pool, country)
    }

    /// The connections to sites and services that are open, and their bound.
    pub fn connections(&self) -> PermitUse {
        self.connections.usage()
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
        trace::spanned(request, |request| self.send_as_caller(request, route)).await
    }

    async fn send_as_caller(&self, request: Request, route: &Route) -> Result<Reply, EgressError> {
        if sample::is_sample(request.url()) {
            let page = Response::from(sample::respond(request.url()));
            return Ok(self.reply(page, false));
        }
        let account = &route.account;
        let mut names = self.check(request.url(), Trust::Caller, account).await?;
        let Some(proxy) = self.pools.proxy(route) else {
            let dial = Dial::new(names, Arc::clone(account));
            return self.dispatch(&self.direct, request, &dial, false).await;
        };
        let upstream = &proxy.upstream;
        names.extend(self.check(&upstream.url, Trust::Operator, account).await?);
        let dial = Dial::new(names, Arc::clone(account));
        match upstream.resolve {
            Resolve::Local => {
                let tunnels = proxy.tunnels.get_or_init(|| self.tunnels(upstream));
                self.dispatch(tunnels, request, &dial, true).await
            }
            // The proxy resolves the target itself; the check above has refused what it could, and
            // SOCKS4 and 5 use its result.
            Resolve::Proxy => self.send_through(proxy, request, &dial).await,
        }
    }

    /// The client for a proxy that receives the checked IP addresses.
    fn tunnels(&self, upstream: &UpstreamProxy) -> TunnelClient {
        let tunnels = Tunnels {
            upstream: Arc::new(upstream.clone()),
            time_max: self.connect_time_max,
        };
        HttpClient::new(tunnels, self.connect_time_max, &self.connections)
    }

    /// Sends a request through a proxy that receives the names.
    async fn send_through(
        &self,
        proxy: &Proxy,
        request: Request,
        dial: &Arc<Dial>,
    ) -> Result<Reply, EgressError> {
        let is_shared = !connection_auth::is_sent(request.headers());
        let cell = if is_shared {
            &proxy.client
        } else {
            &proxy.alone
        };
        let client = match cell.get() {
            Some(client) => client,
            None => {
                let url = &proxy.upstream.url;
                let client = connect::client(self.connect_time_max, url, is_shared)?;
                cell.get_or_init(|| client)
            }
        };
        // This client does not count its connections: each request counts as one.
        let permit = self.connections.permit(dial.account()).await;
        let (_, response) = repeated(client, request, dial).await;
        let response = response.map_err(|error| EgressError::from_client(error, true))?;
        Ok(self.reply(response, true).holding(permit))
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
        trace::spanned(request, |request| self.send_as_operator(request)).await
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
        trace::spanned(request, |request| self.send_as_operator(request)).await
    }

    /// Sends a request to a URL that the operator has allowed.
    async fn send_as_operator(&self, request: Request) -> Result<Reply, EgressError> {
        let account = current_account();
        let names = self.check(request.url(), Trust::Operator, &account).await?;
        let dial = Dial::new(names, account);
        self.dispatch(&self.granted, request, &dial, false).await
    }

    /// Checks whether a caller may have this URL fetched, by this server or by a third-party
    /// provider. A name that cannot be resolved here passes.
    pub async fn check_target(&self, url: &Url) -> Result<(), EgressError> {
        let checked = self.check(url, Trust::Caller, &current_account()).await;
        permanent(checked)
    }

    /// Checks whether events may be sent to this URL. A name that cannot be resolved now passes if
    /// it is a domain name: its owner may still be setting it up.
    ///
    /// # Errors
    /// It can never receive one.
    pub async fn check_receiver(&self, url: &Url) -> Result<(), EgressError> {
        match self.check(url, Trust::Caller, &current_account()).await {
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
        account: &Arc<str>,
    ) -> Result<Vec<(String, Vec<IpAddr>)>, EgressError> {
        let checked = self.checked(url, trust, account).await?;
        Ok(if checked.is_name {
            vec![(checked.host, checked.ip_addresses)]
        } else {
            Vec::new()
        })
    }

    /// Checks a URL: its scheme, its host, and each IP address of the host.
    async fn checked(
        &self,
        url: &Url,
        trust: Trust,
        account: &Arc<str>,
    ) -> Result<Checked, EgressError> {
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
            None => {
                let _permit = self.connections.lookup(account).await;
                (self.resolver.lookup(&host).await?, true)
            }
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
        let is_named_own = |address: IpAddr| {
            let is_it = |own: &OwnAddress| {
                own.ip.to_canonical() == address.to_canonical()
                    && own.port.is_none_or(|own| own == port)
            };
            // The operator's own services may be behind the same address.
            trust == Trust::Caller && self.own_addresses.iter().any(is_it)
        };
        let is_own = |address: IpAddr| {
            let target = SocketAddr::new(address, port);
            let is_it = |listener: &SocketAddr| ip_filter::reaches(*listener, target);
            own_listeners.iter().any(is_it) || is_named_own(address)
        };
        let is_allowed =
            |address: IpAddr| trust == Trust::Operator || self.allow_private.contains(address);
        let is_bad_port = ports::is_bad(port);
        let is_open = |address: IpAddr| {
            is_allowed(address) || (ip_filter::is_global(address) && !is_bad_port)
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
            (true, _) if is_bad_port && found.iter().any(|ip| ip_filter::is_global(*ip)) => {
                Err(EgressError::BadPort(port))
            }
            (true, _) => Err(EgressError::NotPublic(host.to_owned())),
            (false, true) => Err(EgressError::OwnListener(host.to_owned())),
            (false, false) => Ok(permitted),
        }
    }

    /// Sends a request with a client that opens its connections here, and once more over a
    /// connection of its own when the site refuses the one that it came on.
    async fn dispatch<C: Connector>(
        &self,
        client: &HttpClient<C>,
        request: Request,
        dial: &Arc<Dial>,
        through_proxy: bool,
    ) -> Result<Reply, EgressError> {
        let (spare, mut sent) = repeated(client, request, dial).await;
        let is_refused = match &sent {
            // RFC 9110 section 15.5.20: the connection led to another server.
            Ok(response) => response.status() == StatusCode::MISDIRECTED_REQUEST,
            Err(error) => error.wants_http1(),
        };
        if is_refused
            && !through_proxy
            && let Some(spare) = spare
        {
            sent = dial.scope(client.send_afresh(spare)).await;
        }
        let response = sent.map_err(|error| error.classified(through_proxy))?;
        Ok(self.reply(response, through_proxy))
    }

    fn reply(&self, response: Response, through_proxy: bool) -> Reply {
        Reply::new(response, through_proxy, Arc::clone(&self.received))
    }
}

/// Sends a request, and sends it again when the pooled connection it used had been closed by the
/// peer. Returns the request as well, if it can be sent once more.
async fn repeated<C: Sender>(
    client: &C,
    mut request: Request,
    dial: &Arc<Dial>,
) -> (Option<Request>, Result<Response, C::Error>) {
    let mut retries = 0;
    loop {
        let spare = request
            .try_clone()
            .filter(|_| is_repeatable(request.method()));
        let error = match dial.scope(client.send(request)).await {
            Ok(response) => return (spare, Ok(response)),
            Err(error) => error,
        };
        let may_be_stale = C::is_after_connecting(&error) && !dial.opened();
        match spare {
            Some(spare) if may_be_stale && retries < STALE_RETRIES_MAX => {
                request = spare;
                retries += 1;
            }
            spare => return (spare, Err(error)),
        }
    }
}

/// Whether a request can be repeated safely: RFC 9110 section 9.2.2, for the methods sent here.
fn is_repeatable(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}

/// A refusal that no other moment would change.
fn permanent<T>(checked: Result<T, EgressError>) -> Result<(), EgressError> {
    match checked {
        Err(
            refusal @ (EgressError::Scheme(_)
            | EgressError::NoHost
            | EgressError::NotPublic(_)
            | EgressError::BadPort(_)
            | EgressError::OwnListener(_)),
        ) => Err(refusal),
        _ => Ok(()),
    }
}
