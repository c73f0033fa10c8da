//! The shards that hosts are hashed into.

use std::net::{Ipv4Addr, Ipv6Addr};

/// Number of host shards. It never changes: nodes of two versions agree on the shard of a host.
pub const HOST_SHARDS: u16 = 1024;

/// A shard of hosts. All hosts of a registrable domain are in one, so that what a site learns of a
/// visitor (cookies, pauses) is known in one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostShard(u16);

impl HostShard {
    /// The shard of a host, a name or an IP address. Case and a trailing dot make no difference.
    pub fn of(host: &str) -> Self {
        let name = host.trim_end_matches('.').to_ascii_lowercase();
        let shard = hash(registrable(&name)) % u64::from(HOST_SHARDS);
        Self(u16::try_from(shard).expect("below the number of shards"))
    }

    /// The shard of this number, if there is one.
    pub const fn new(number: u16) -> Option<Self> {
        match number < HOST_SHARDS {
            true => Some(Self(number)),
            false => None,
        }
    }

    /// Its number, below [`HOST_SHARDS`].
    pub const fn number(self) -> u16 {
        self.0
    }

    /// All shards, in the order of their numbers.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..HOST_SHARDS).map(Self)
    }
}

/// The registrable domain by the public suffix list; the host itself if it is an IP address or a
/// public suffix.
fn registrable(host: &str) -> &str {
    let inner = host.trim_start_matches('[').trim_end_matches(']');
    if host.parse::<Ipv4Addr>().is_ok() || inner.parse::<Ipv6Addr>().is_ok() {
        return inner;
    }
    psl::domain_str(host).unwrap_or(host)
}

/// The first eight bytes of the BLAKE3 hash of a text.
pub(crate) fn hash(text: &str) -> u64 {
    let hash = blake3::hash(text.as_bytes());
    let (first, _) = hash.as_bytes().split_first_chunk().expect("32 bytes");
    u64::from_le_bytes(*first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_a_registrable_domain_share_a_shard() {
        let shard = HostShard::of("example.co.uk");
        for host in ["www.example.co.uk", "A.B.Example.co.uk.", "example.CO.UK"] {
            assert_eq!(HostShard::of(host), shard, "{host}");
        }
        assert_ne!(HostShard::of("other.co.uk"), shard);
        // Users of a hosting service are registrants of their own.
        assert_ne!(
            HostShard::of("ann.github.io"),
            HostShard::of("ben.github.io")
        );
    }

    #[test]
    fn an_ip_address_is_a_host_of_its_own() {
        assert_ne!(HostShard::of("10.0.0.1"), HostShard::of("10.1.0.1"));
        assert_eq!(HostShard::of("[::1]"), HostShard::of("::1"));
        assert_ne!(HostShard::of("[::1]"), HostShard::of("[::2]"));
    }

    #[test]
    fn the_shard_of_a_host_is_the_same_in_each_version() {
        let number = |host| HostShard::of(host).number();
        let found = ["example.com", "127.0.0.1", "localhost"].map(number);
        assert_eq!(found, [628, 990, 511]);
    }

    #[test]
    fn hosts_are_spread_evenly() {
        let mut n_hosts = vec![0; usize::from(HOST_SHARDS)];
        for n in 0..102_400 {
            let shard = HostShard::of(&format!("site-{n}.example"));
            n_hosts[usize::from(shard.number())] += 1;
        }
        // 100 expected; six standard deviations.
        assert!(n_hosts.iter().all(|n| (40..=160).contains(n)));
    }

    #[test]
    fn there_are_as_many_as_the_constant_says() {
        assert_eq!(HostShard::all().count(), usize::from(HOST_SHARDS));
        assert_eq!(HostShard::new(HOST_SHARDS), None);
        let last = HostShard::new(HOST_SHARDS - 1);
        assert_eq!(HostShard::all().last(), last);
    }
}
