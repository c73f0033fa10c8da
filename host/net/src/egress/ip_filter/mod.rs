//! Which IP addresses may be dialled. Pure: IP addresses in, a yes or a no out.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

const fn v4(a: u8, b: u8, c: u8, d: u8, bits: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), bits)
}

const fn v6(head: [u16; 4], bits: u8) -> Ipv6Net {
    let [a, b, c, d] = head;
    Ipv6Net::new_assert(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0), bits)
}

/// IPv4 ranges that are not globally reachable: the IANA IPv4 special-purpose registry, multicast
/// (RFC 5771), and one metadata service of a cloud provider that has a public IP address.
const SPECIAL_V4: [Ipv4Net; 16] = [
    v4(0, 0, 0, 0, 8),        // this network
    v4(10, 0, 0, 0, 8),       // private
    v4(100, 64, 0, 0, 10),    // carrier-grade NAT, a cloud metadata service
    v4(127, 0, 0, 0, 8),      // loopback
    v4(168, 63, 129, 16, 32), // a cloud metadata service
    v4(169, 254, 0, 0, 16),   // link-local, cloud metadata
    v4(172, 16, 0, 0, 12),    // private
    v4(192, 0, 0, 0, 24),     // protocol assignments
    v4(192, 0, 2, 0, 24),     // documentation
    v4(192, 88, 99, 0, 24),   // former 6to4 relays
    v4(192, 168, 0, 0, 16),   // private
    v4(198, 18, 0, 0, 15),    // benchmarking
    v4(198, 51, 100, 0, 24),  // documentation
    v4(203, 0, 113, 0, 24),   // documentation
    v4(224, 0, 0, 0, 4),      // multicast
    v4(240, 0, 0, 0, 4),      // reserved, broadcast
];

/// Exceptions inside [`SPECIAL_V4`] that the registry lists as globally reachable.
const GLOBAL_V4: [Ipv4Net; 2] = [v4(192, 0, 0, 9, 32), v4(192, 0, 0, 10, 32)];

/// The only IPv6 space allocated to the public internet (RFC 4291 section 2.4 and IANA); everything
/// outside it is special.
const GLOBAL_UNICAST: Ipv6Net = v6([0x2000, 0, 0, 0], 3);

/// IPv6 ranges inside global unicast that are not globally reachable: the IANA IPv6 special-purpose
/// registry.
const SPECIAL_V6: [Ipv6Net; 3] = [
    v6([0x2001, 0, 0, 0], 23),     // protocol assignments, Teredo among them
    v6([0x2001, 0xdb8, 0, 0], 32), // documentation
    v6([0x3fff, 0, 0, 0], 20),     // documentation
];

/// Exceptions inside [`SPECIAL_V6`] that the registry lists as globally reachable.
const GLOBAL_V6: [Ipv6Net; 7] = [
    Ipv6Net::new_assert(Ipv6Addr::new(0x2001, 1, 0, 0, 0, 0, 0, 1), 128),
    Ipv6Net::new_assert(Ipv6Addr::new(0x2001, 1, 0, 0, 0, 0, 0, 2), 128),
    Ipv6Net::new_assert(Ipv6Addr::new(0x2001, 1, 0, 0, 0, 0, 0, 3), 128),
    v6([0x2001, 3, 0, 0], 32),
    v6([0x2001, 4, 0x112, 0], 48),
    v6([0x2001, 0x20, 0, 0], 28),
    v6([0x2001, 0x30, 0, 0], 28),
];

/// NAT64 (RFC 6052): the last 32 bits are the IPv4 address that is actually reached.
const NAT64: Ipv6Net = v6([0x64, 0xff9b, 0, 0], 96);
/// 6to4 (RFC 3056): bits 16 to 47 are the IPv4 address of the router that is actually reached.
const SIX_TO_FOUR: Ipv6Net = v6([0x2002, 0, 0, 0], 16);

/// Whether an IP address is globally reachable. Forms that embed an IPv4 address (mapped, NAT64,
/// 6to4) are judged by it; forms that no public host uses (IPv4-compatible, the local NAT64 prefix,
/// Teredo) are not global.
pub(super) fn is_global(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => is_global_v4(address),
        IpAddr::V6(address) => is_global_v6(address),
    }
}

fn is_global_v4(address: Ipv4Addr) -> bool {
    let within = |nets: &[Ipv4Net]| nets.iter().any(|net| net.contains(&address));
    !within(&SPECIAL_V4) || within(&GLOBAL_V4)
}

fn is_global_v6(address: Ipv6Addr) -> bool {
    let within = |nets: &[Ipv6Net]| nets.iter().any(|net| net.contains(&address));
    let octets = address.octets();
    let embedded =
        |at: usize| Ipv4Addr::new(octets[at], octets[at + 1], octets[at + 2], octets[at + 3]);
    if NAT64.contains(&address) {
        return is_global_v4(embedded(12));
    }
    if SIX_TO_FOUR.contains(&address) {
        return is_global_v4(embedded(2));
    }
    GLOBAL_UNICAST.contains(&address) && (!within(&SPECIAL_V6) || within(&GLOBAL_V6))
}

/// IP ranges that may be dialled although they are not global (`allow_private`), for tests and
/// intranets. Empty by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowList(Vec<IpNet>);

impl AllowList {
    /// Builds a list of these ranges.
    pub fn new(nets: impl IntoIterator<Item = IpNet>) -> Self {
        Self(nets.into_iter().collect())
    }

    /// Parses ranges such as `127.0.0.1/32` or `fd00::/8`; a single IP address is a range of one.
    ///
    /// # Errors
    /// A sentence with the first text that is neither.
    pub fn parse<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<Self, String> {
        texts
            .into_iter()
            .map(Self::parse_range)
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// Parses a range or a single IP address.
    ///
    /// # Errors
    /// A sentence with the text that is neither.
    pub fn parse_range(text: &str) -> Result<IpNet, String> {
        let text = text.trim();
        text.parse::<IpNet>()
            .or_else(|_| text.parse::<IpAddr>().map(IpNet::from))
            .map_err(|_| {
                format!("`{text}` is not an IP address or range: write it like `10.0.0.1` or `10.0.0.0/8`")
            })
    }

    /// Whether an IP address is in one of the ranges; an IPv4-mapped address counts as its IPv4
    /// address.
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.iter().any(|net| net.contains(&address))
    }
}

/// Whether dialling `target` would reach this server's own listener: the same socket, the
/// unspecified address on the same port, or any IP address of this machine when the listener is
/// bound to all of them.
pub(super) fn reaches(listener: SocketAddr, target: SocketAddr) -> bool {
    let (ours, theirs) = (listener.ip().to_canonical(), target.ip().to_canonical());
    listener.port() == target.port()
        && (ours == theirs
            || theirs.is_unspecified()
            || (ours.is_unspecified() && is_of_this_machine(theirs)))
}

/// An IP address belongs to this machine when a socket can be bound to it. Nothing is sent.
fn is_of_this_machine(address: IpAddr) -> bool {
    address.is_loopback() || UdpSocket::bind((address, 0)).is_ok()
}

#[cfg(test)]
mod tests;
