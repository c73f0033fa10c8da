//! The one door out. Every outgoing connection goes through [`Egress::send`]: it looks a name up once, refuses what is not
//! public, dials the address it checked, and counts the bytes. It follows no redirect: each hop comes back and is checked anew.

pub mod address;
mod connect;
mod error;
mod pool;
mod proxy;
mod resolve;
mod sample;

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};
use reqwest::{Client, Request, Response};
use url::{Host, Url};

pub use address::AllowList;
pub use error::{EgressError, EgressFault};
pub use pool::{PoolConfig, PoolUse, Route, UpstreamProxy};
pub use proxy::{ProxyChannel, ProxyLimits, Refusal};
pub use sample::SAMPLE_HOST;

use connect::Dial;
use pool::Pools;
use resolve::Names;
use trawl_model::Nanodollars;

/// Time for one connection to open, unless the configuration says otherwise.
pub const CONNECT_TIME_MAX: Duration = Duration::from_secs(10);
/// Time for one name to be looked up, unless the configuration says otherwise.
pub const LOOKUP_TIME_MAX: Duration = Duration::from_secs(5);
/// How often a request is sent again because the idle connection it went out on turned out to be closed.
const STALE_RETRIES_MAX: usize = 3;

/// Settings of the room.
#[derive(Clone, Debug)]
pub struct EgressConfig {
    /// Ranges that are open although they are not public.
    pub allow_private: AllowList,
    /// Pools of upstream proxies by name.
    pub pools: BTreeMap<String, PoolConfig>,
    /// Addresses that the operator wrote in the configuration: reachable in the operator's name whatever they resolve to.
    pub grants: Vec<Url>,
    /// Names with addresses of their own, before any lookup.
    pub hosts: BTreeMap<String, Vec<IpAddr>>,
    /// Name servers to ask; the machine's own when empty.
    pub name_servers: Vec<SocketAddr>,
    /// Time for one connection to open.
    pub connect_time_max: Duration,
    /// Time for one name to be looked up.
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

/// The door. One for the whole server.
pub struct Egress {
    allow_private: AllowList,
    grants: BTreeSet<(String, u16)>,
    own_listeners: ArcSwap<Vec<SocketAddr>>,
    names: Names,
    pools: Pools,
    connect_time_max: Duration,
    /// For addresses that callers wrote.
    direct: Client,
    /// For granted addresses; apart, so that no caller's request finds an idle connection to one.
    granted: Client,
    received: Arc<AtomicU64>,
}

/// In whose name a request is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trust {
    Caller,
    Operator,
}

/// A destination and the only addresses it may be dialled at.
struct Checked {
    host: String,
    port: u16,
    addresses: Vec<IpAddr>,
    /// Whether the host is a name, not an address.
    is_name: bool,
}

/// An answer whose body is still on its way.
#[derive(Debug)]
pub struct Reply {
    response: Response,
    through_proxy: bool,
    body_bytes: u64,
    received: Arc<AtomicU64>,
}

impl Egress {
    /// Opens the door. Call it inside the runtime.
    ///
    /// # Errors
    /// [`EgressError::SetUp`] when name lookup or TLS cannot be set up.
    pub fn new(config: EgressConfig) -> Result<Arc<Self>, EgressError> {
        let granted = config.grants.iter().filter_map(host_and_port);
        Ok(Arc::new(Self {
            grants: granted.collect(),
            own_listeners: ArcSwap::default(),
            names: Names::new(config.hosts, &config.name_servers, config.lookup_time_max)?,
            pools: Pools::new(config.pools),
            connect_time_max: config.connect_time_max,
            direct: connect::client(config.connect_time_max, None)?,
            granted: connect::client(config.connect_time_max, None)?,
            allow_private: config.allow_private,
            received: Arc::default(),
        }))
    }

    /// Refuses a server of our own from now on, whatever is allowed or granted: an API listener, a browser's debug port.
    pub fn refuse_listener(&self, listener: SocketAddr) {
        self.own_listeners.rcu(|known| {
            let mut known = Vec::clone(known);
            known.push(listener);
            known
        });
    }

    /// Takes back one call of [`Egress::refuse_listener`]: the listener is closed.
    fn forget_listener(&self, listener: SocketAddr) {
        self.own_listeners.rcu(|known| {
            let mut known = Vec::clone(known);
            if let Some(place) = known.iter().position(|one| *one == listener) {
                known.swap_remove(place);
            }
            known
        });
    }

    /// The way out for a page that asks for this pool of proxies and this country.
    pub fn route(&self, pool: &str, country: Option<&str>) -> Route {
        self.pools.route(pool, country)
    }

    /// What a gigabyte (10^9 bytes) costs on top of the ordinary price for a page that asks for this pool.
    pub fn pool_price(&self, pool: &str) -> Nanodollars {
        self.pools.price(pool)
    }

    /// Sends a request that a caller caused and returns the answer's head. Redirects are answers.
    ///
    /// # Errors
    /// [`EgressError`]: refused before anything is sent, or broken on the way.
    pub async fn send(&self, request: Request, route: &Route) -> Result<Reply, EgressError> {
        if sample::is_sample(request.url()) {
            let page = Response::from(sample::answer(request.url()));
            return Ok(self.reply(page, false));
        }
        let mut names = self.check(request.url(), Trust::Caller).await?;
        let Some(proxy) = self.pools.proxy(route) else {
            return self.dispatch(&self.direct, request, names, false).await;
        };
        // The proxy makes its own lookup of the target; ours above has refused what it could, and is used by SOCKS4 and 5.
        names.extend(self.check(&proxy.upstream.url, Trust::Operator).await?);
        let client = match proxy.client.get() {
            Some(client) => client,
            None => {
                let client = connect::client(self.connect_time_max, Some(&proxy.upstream.url))?;
                proxy.client.get_or_init(|| client)
            }
        };
        self.dispatch(client, request, names, true).await
    }

    /// Sends a request in the operator's name to an address that the configuration grants. Never pass a caller's address.
    ///
    /// # Errors
    /// [`EgressError::NotGranted`] for any other address, otherwise as [`Egress::send`].
    pub async fn send_granted(&self, request: Request) -> Result<Reply, EgressError> {
        let place = host_and_port(request.url()).ok_or(EgressError::NoHost)?;
        if !self.grants.contains(&place) {
            return Err(EgressError::NotGranted(place.0));
        }
        let names = self.check(request.url(), Trust::Operator).await?;
        self.dispatch(&self.granted, request, names, false).await
    }

    /// Sends a request in the operator's name to a service that the operator grants: `may` says of its address whether it is one.
    /// Never pass a caller's address.
    ///
    /// # Errors
    /// [`EgressError::NotGranted`] for any other address, otherwise as [`Egress::send`].
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

    /// Why a caller may not have this address fetched, whoever fetches it; `None` when nothing is against it. A name that cannot be
    /// looked up here is nobody's fault.
    pub async fn refuses(&self, url: &Url) -> Option<EgressError> {
        let refusal = self.check(url, Trust::Caller).await.err()?;
        match refusal {
            EgressError::Scheme(_)
            | EgressError::NoHost
            | EgressError::NotPublic(_)
            | EgressError::OwnListener(_) => Some(refusal),
            _ => None,
        }
    }

    /// Bytes of bodies received since the start, as they came over the wire.
    pub fn received_bytes(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }

    /// Checks an address and returns the names in it with the only addresses they may be dialled at.
    async fn check(
        &self,
        url: &Url,
        trust: Trust,
    ) -> Result<Vec<(String, Vec<IpAddr>)>, EgressError> {
        let checked = self.checked(url, trust).await?;
        Ok(match checked.is_name {
            true => vec![(checked.host, checked.addresses)],
            false => Vec::new(),
        })
    }

    /// Checks an address: its scheme, its host, and each address of the host.
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
            None => (self.names.lookup(&host).await?, true),
        };
        let addresses = self.permitted(&host, port, &found, trust)?;
        Ok(Checked {
            host,
            port,
            addresses,
            is_name,
        })
    }

    /// The addresses among `found` that may be dialled: a bad one is dropped, not the whole name.
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
                .any(|listener| address::reaches(*listener, target))
        };
        let is_open = |address: IpAddr| {
            trust == Trust::Operator
                || self.allow_private.contains(address)
                || address::is_global(address)
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

    /// Sends; and sends again when an idle connection had been closed by the other side in the meantime.
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
            let error = match dial.run(client, current).await {
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

    /// Headers in the order received, repeats kept.
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
    /// [`EgressError::Broken`] when the connection breaks or the body ends before its announced end.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, EgressError> {
        let chunk = self.response.chunk().await;
        let chunk = chunk.map_err(|error| EgressError::from_client(error, self.through_proxy))?;
        let bytes = chunk.as_ref().map_or(0, |chunk| chunk.len() as u64);
        self.body_bytes += bytes;
        self.received.fetch_add(bytes, Ordering::Relaxed);
        Ok(chunk)
    }
}

/// Whether sending a request twice does no more than sending it once. RFC 9110 section 9.2.2, as far as we send them.
fn is_repeatable(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}

/// Host and port of an address; `None` without a host or with port 0, which nobody can listen on.
fn host_and_port(url: &Url) -> Option<(String, u16)> {
    let host = url.host_str().filter(|host| !host.is_empty())?;
    let default_port = match url.scheme().starts_with("socks") {
        true => Some(1080),
        false => url.port_or_known_default(),
    };
    let port = url.port().or(default_port).filter(|port| *port != 0)?;
    Some((host.to_owned(), port))
}

/// The address that a host is, in any of the spellings that the URL standard reads as one.
fn literal(host: &str) -> Option<IpAddr> {
    match Host::parse(host).ok()? {
        Host::Ipv4(address) => Some(address.into()),
        Host::Ipv6(address) => Some(address.into()),
        Host::Domain(_) => None,
    }
}
