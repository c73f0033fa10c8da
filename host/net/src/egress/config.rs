//! Settings of egress.

use std::collections::BTreeMap;
use std::net::{AddrParseError, IpAddr, SocketAddr};
use std::str::FromStr;
use std::time::Duration;

use url::Url;

use super::{AllowList, CONNECTIONS_MAX, PoolConfig};

/// Time in which one connection must open, unless configured otherwise.
pub const CONNECT_TIME_MAX: Duration = Duration::from_secs(10);
/// Time in which one name must be resolved, unless configured otherwise.
pub const LOOKUP_TIME_MAX: Duration = Duration::from_secs(5);

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
    /// Addresses by which this server is reached from outside, at one port or at all: refused to
    /// callers.
    pub own_addresses: Vec<OwnAddress>,
    /// Connections to sites and services at once.
    pub connections_max: usize,
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
            own_addresses: Vec::new(),
            connections_max: CONNECTIONS_MAX,
        }
    }
}

/// An address by which this server is reached from outside, which it cannot see itself: of a router
/// or load balancer in front of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnAddress {
    /// The IP address.
    pub ip: IpAddr,
    /// The port; `None` for all.
    pub port: Option<u16>,
}

impl FromStr for OwnAddress {
    type Err = AddrParseError;

    /// Reads an IP address, or an IP address and a port.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Ok(socket) = text.parse::<SocketAddr>() {
            return Ok(Self {
                ip: socket.ip(),
                port: Some(socket.port()),
            });
        }
        let ip = text.parse()?;
        Ok(Self { ip, port: None })
    }
}
