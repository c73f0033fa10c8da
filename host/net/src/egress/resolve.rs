//! Names to addresses: once a hop, with a time bound and a bounded memory.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use hickory_resolver::config::{
    ConnectionConfig, LookupIpStrategy, NameServerConfig, ResolveHosts, ResolverConfig,
};
use hickory_resolver::net::NetError;
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::proto::op::Query;
use hickory_resolver::proto::rr::{Name, RecordType};
use hickory_resolver::{Hosts, TokioResolver};

use super::EgressError;

/// Answers remembered at once; one is a few hundred bytes.
const CACHED_ANSWERS_MAX: u64 = 8_192;
/// Longest use of an answer, whatever its own time to live: sites move.
const CACHED_POSITIVE_MAX: Duration = Duration::from_secs(300);
/// Longest memory of "there is no such name": a typo's owner may register it.
const CACHED_NEGATIVE_MAX: Duration = Duration::from_secs(30);
/// Wait for one answer of one name server before it is asked again.
const ATTEMPT_TIME: Duration = Duration::from_secs(2);
/// Addresses of one name that are tried: the happy path needs two, a hostile answer has hundreds.
const ADDRESSES_MAX: usize = 16;

/// Looks names up.
pub(super) struct Names {
    fixed: BTreeMap<String, Vec<IpAddr>>,
    system_hosts: Hosts,
    resolver: TokioResolver,
    time_max: Duration,
}

impl Names {
    /// A resolver that knows `fixed` first, then the machine's hosts file, then asks `name_servers` (the machine's own when
    /// empty). `time_max` bounds one lookup as a whole.
    ///
    /// # Errors
    /// [`EgressError::SetUp`] when the resolver cannot be built.
    pub(super) fn new(
        fixed: BTreeMap<String, Vec<IpAddr>>,
        name_servers: &[SocketAddr],
        time_max: Duration,
    ) -> Result<Self, EgressError> {
        Ok(Self {
            fixed,
            system_hosts: Hosts::from_system().unwrap_or_default(),
            resolver: resolver(name_servers)
                .map_err(|error| EgressError::SetUp(format!("name lookup: {error}")))?,
            time_max,
        })
    }

    /// All addresses of a host name, at least one, at most [`ADDRESSES_MAX`].
    ///
    /// # Errors
    /// [`EgressError::NotResolved`] when there is none, [`EgressError::ResolveTimedOut`] when nobody could say in time.
    pub(super) async fn lookup(&self, host: &str) -> Result<Vec<IpAddr>, EgressError> {
        let name = host.trim_end_matches('.');
        if let Some(addresses) = self.known(name) {
            return Ok(addresses);
        }
        // The final dot keeps the machine's search domains out: a caller means the name as written.
        let lookup = self.resolver.lookup_ip(format!("{name}."));
        let found = match tokio::time::timeout(self.time_max, lookup).await {
            Err(_) => return Err(EgressError::ResolveTimedOut(host.to_owned())),
            Ok(Err(NetError::Timeout)) => {
                return Err(EgressError::ResolveTimedOut(host.to_owned()));
            }
            Ok(Err(error)) => {
                tracing::debug!(host, %error, "name lookup failed");
                return Err(EgressError::NotResolved(host.to_owned()));
            }
            Ok(Ok(found)) => found,
        };
        let addresses: Vec<IpAddr> = found.iter().take(ADDRESSES_MAX).collect();
        match addresses.is_empty() {
            true => Err(EgressError::NotResolved(host.to_owned())),
            false => Ok(addresses),
        }
    }

    /// What needs no name server. RFC 6761 section 6.3: `localhost` and all below it are loopback and never looked up.
    fn known(&self, name: &str) -> Option<Vec<IpAddr>> {
        if let Some(addresses) = self.fixed.get(name) {
            return Some(addresses.clone());
        }
        if name == "localhost" || name.ends_with(".localhost") {
            return Some(vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]);
        }
        let name = Name::from_ascii(name).ok()?;
        let addresses: Vec<IpAddr> = [RecordType::A, RecordType::AAAA]
            .into_iter()
            .filter_map(|kind| {
                self.system_hosts
                    .lookup_static_host(&Query::query(name.clone(), kind))
            })
            .flat_map(|found| {
                let addresses: Vec<_> = found
                    .answers()
                    .iter()
                    .filter_map(|record| record.data.ip_addr())
                    .collect();
                addresses
            })
            .take(ADDRESSES_MAX)
            .collect();
        (!addresses.is_empty()).then_some(addresses)
    }
}

fn resolver(name_servers: &[SocketAddr]) -> Result<TokioResolver, NetError> {
    let provider = TokioRuntimeProvider::default();
    let mut builder = match name_servers {
        [] => TokioResolver::builder_tokio().unwrap_or_else(|error| {
            tracing::warn!(%error, "no name server is configured on this machine");
            TokioResolver::builder_with_config(ResolverConfig::default(), provider)
        }),
        servers => TokioResolver::builder_with_config(chosen(servers), provider),
    };
    let options = builder.options_mut();
    options.cache_size = CACHED_ANSWERS_MAX;
    options.positive_max_ttl = Some(CACHED_POSITIVE_MAX);
    options.negative_max_ttl = Some(CACHED_NEGATIVE_MAX);
    options.timeout = ATTEMPT_TIME;
    options.ip_strategy = LookupIpStrategy::Ipv4AndIpv6;
    options.use_hosts_file = ResolveHosts::Never;
    builder.build()
}

fn chosen(servers: &[SocketAddr]) -> ResolverConfig {
    let servers = servers.iter().map(|server| {
        let connections = [ConnectionConfig::udp(), ConnectionConfig::tcp()]
            .map(|mut connection| {
                connection.port = server.port();
                connection
            })
            .to_vec();
        NameServerConfig::new(server.ip(), true, connections)
    });
    ResolverConfig::from_parts(None, Vec::new(), servers.collect())
}
