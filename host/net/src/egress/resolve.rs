//! DNS: resolves a host name once per hop, within a timeout and with a bounded cache.

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

use trawl_model::timing;

use super::EgressError;

/// Cached answers; one takes a few hundred bytes.
const CACHED_ANSWERS_MAX: u64 = 8_192;
/// Longest time a DNS answer is cached, whatever its own time to live: sites move.
const CACHED_POSITIVE_MAX: Duration = Duration::from_secs(300);
/// Longest time a negative answer is cached: the name may be registered meanwhile.
const CACHED_NEGATIVE_MAX: Duration = Duration::from_secs(30);
/// Timeout of one query to one DNS server before it is repeated.
const ATTEMPT_TIME: Duration = Duration::from_secs(2);
/// IP addresses of one name that are tried: usually two are enough, a hostile answer has hundreds.
const ADDRESSES_MAX: usize = 16;

/// Resolves host names.
pub(super) struct Resolver {
    fixed: BTreeMap<String, Vec<IpAddr>>,
    system_hosts: Hosts,
    resolver: TokioResolver,
    time_max: Duration,
}

impl Resolver {
    /// Builds a resolver that looks in `fixed` first, then in the machine's hosts file, then asks
    /// `name_servers` (the machine's own when empty). `time_max` bounds one lookup as a whole.
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
                .map_err(|error| EgressError::SetUp(format!("DNS resolver: {error}")))?,
            time_max,
        })
    }

    /// Returns all IP addresses of a host name, at least one, at most [`ADDRESSES_MAX`].
    ///
    /// # Errors
    /// [`EgressError::NotResolved`] when there is none, [`EgressError::ResolveTimedOut`] when no
    /// server answered in time.
    pub(super) async fn lookup(&self, host: &str) -> Result<Vec<IpAddr>, EgressError> {
        let name = host.trim_end_matches('.');
        if let Some(ip_addresses) = self.local(name) {
            return Ok(ip_addresses);
        }
        // The final dot bypasses the machine's search domains: the name is fully qualified.
        let lookup = self.resolver.lookup_ip(format!("{name}."));
        let lookup = tokio::time::timeout(self.time_max, lookup);
        let found = match timing::step("dns", lookup).await {
            Err(_) => return Err(EgressError::ResolveTimedOut(host.to_owned())),
            Ok(Err(NetError::Timeout)) => {
                return Err(EgressError::ResolveTimedOut(host.to_owned()));
            }
            Ok(Err(error)) => {
                tracing::debug!(host, %error, "DNS lookup failed");
                return Err(EgressError::NotResolved(host.to_owned()));
            }
            Ok(Ok(found)) => found,
        };
        let ip_addresses: Vec<IpAddr> = found.iter().take(ADDRESSES_MAX).collect();
        if ip_addresses.is_empty() {
            Err(EgressError::NotResolved(host.to_owned()))
        } else {
            Ok(ip_addresses)
        }
    }

    /// Resolves what needs no DNS server. RFC 6761 section 6.3: `localhost` and all names below it
    /// are loopback and never looked up.
    fn local(&self, name: &str) -> Option<Vec<IpAddr>> {
        if let Some(ip_addresses) = self.fixed.get(name) {
            return Some(ip_addresses.clone());
        }
        if name == "localhost" || name.ends_with(".localhost") {
            return Some(vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]);
        }
        let name = Name::from_ascii(name).ok()?;
        let ip_addresses: Vec<IpAddr> = [RecordType::A, RecordType::AAAA]
            .into_iter()
            .filter_map(|kind| {
                self.system_hosts
                    .lookup_static_host(&Query::query(name.clone(), kind))
            })
            .flat_map(|found| {
                let ip_addresses: Vec<_> = found
                    .answers()
                    .iter()
                    .filter_map(|record| record.data.ip_addr())
                    .collect();
                ip_addresses
            })
            .take(ADDRESSES_MAX)
            .collect();
        (!ip_addresses.is_empty()).then_some(ip_addresses)
    }
}

fn resolver(name_servers: &[SocketAddr]) -> Result<TokioResolver, NetError> {
    let provider = TokioRuntimeProvider::default();
    let mut builder = match name_servers {
        [] => TokioResolver::builder_tokio().unwrap_or_else(|error| {
            tracing::warn!(%error, "no DNS server is configured on this machine; set one in `/etc/resolv.conf` or in the configuration");
            TokioResolver::builder_with_config(ResolverConfig::default(), provider)
        }),
        servers => TokioResolver::builder_with_config(configured(servers), provider),
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

fn configured(servers: &[SocketAddr]) -> ResolverConfig {
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
