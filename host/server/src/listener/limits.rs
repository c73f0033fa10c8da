//! Bounds of connections. Those that operators may change come from the section `[http]`.

use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

use ipnet::IpNet;

/// Maximum size of a request's line and headers. Clients put long URLs into the path of `/fetch`;
/// cookies and keys need a tenth of it.
pub(super) const HEAD_BYTES_MAX: u32 = 64 << 10;
/// HTTP/2: streams that a peer has reset before a request was begun for them. More are the "rapid
/// reset" attack (CVE-2023-44487).
pub(super) const PENDING_RESETS_MAX: usize = 20;
/// HTTP/2: streams that the server reset because of the peer's errors (RUSTSEC-2024-0003).
pub(super) const ERROR_RESETS_MAX: usize = 64;
/// HTTP/2: bytes of a request body that may be in flight, on a stream and on a connection.
pub(super) const WINDOW_BYTES: u32 = 1 << 20;
/// HTTP/2: bytes of a response that wait in memory for the peer's window, per stream.
pub(super) const SEND_BUFFER_BYTES: usize = 128 << 10;
/// HTTP/2: interval of pings while there are streams, and how long a peer may take to answer one. A
/// peer that disappears without closing the connection is noticed after both.
pub(super) const PING_INTERVAL: Duration = Duration::from_secs(20);
pub(super) const PING_TIME_MAX: Duration = Duration::from_secs(20);
/// HTTP/2: bytes that a peer may send in [`CONTROL_PERIOD`] without a request that begins or reads
/// them: settings, pings, window updates, empty frames. A window's worth of a body that is
/// not read yet is below it.
pub(super) const CONTROL_BYTES_MAX: usize = 4 << 20;
/// The period of [`CONTROL_BYTES_MAX`].
pub(super) const CONTROL_PERIOD: Duration = Duration::from_secs(10);
/// Bytes that the reader of a response takes at least for each second that it lets the server wait:
/// a slower one would hold the response, its memory and its seat for as long as it likes.
pub(super) const READ_BYTES_PER_SECOND_MIN: u64 = 1 << 10;
/// How long a request must have waited for its peer before its connection makes room for another.
pub(super) const STALLED_TIME_MIN: Duration = Duration::from_secs(2);
/// Share of the connections that make room at once when all are taken, as a divisor: looking for
/// them takes time in proportion to their number.
pub(super) const ROOM_SHARE: usize = 64;

/// Bounds of the listener.
#[derive(Clone, Debug)]
pub(crate) struct ListenerLimits {
    /// Open connections.
    pub(crate) connections: usize,
    /// Open connections of one peer: an IPv4 address, or a /64 network of IPv6 addresses.
    pub(crate) connections_per_peer: usize,
    /// Requests of one peer without a key that are being answered at a time.
    pub(crate) keyless_per_peer: usize,
    /// Networks of reverse proxies, which connect for many clients: only
    /// `connections` bounds them.
    pub(crate) trusted_proxies: Vec<IpNet>,
    /// How long the line and headers of a request may take to arrive.
    pub(crate) head_time: Duration,
    /// How long a connection may be without a request.
    pub(crate) idle_time: Duration,
    /// How long a request body may make no progress.
    pub(crate) body_time: Duration,
    /// How long a response may make no progress because its reader does not read, or less than
    /// [`READ_BYTES_PER_SECOND_MIN`].
    pub(crate) write_time: Duration,
    /// Requests of one connection, after which it is closed.
    pub(crate) requests_per_connection: u64,
    /// Concurrent requests of one HTTP/2 connection.
    pub(crate) streams_per_connection: u32,
}

impl ListenerLimits {
    /// Whether only the total bounds the connections of this peer.
    pub(super) fn is_trusted(&self, peer: IpAddr) -> bool {
        is_within(&self.trusted_proxies, peer)
    }
}

/// Whether an IP address is in one of these networks; an IPv4-mapped one counts as its IPv4
/// address.
pub(super) fn is_within(networks: &[IpNet], address: IpAddr) -> bool {
    let address = address.to_canonical();
    networks.iter().any(|network| network.contains(&address))
}

/// What counts as one peer: an IPv4 address, or a /64 network of IPv6, the smallest that one
/// customer of a provider gets.
pub(super) fn peer_group(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
        address @ IpAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_of_ipv6_is_one_peer() {
        let group = |text: &str| peer_group(text.parse().expect("an address")).to_string();
        assert_eq!(group("192.0.2.7"), "192.0.2.7");
        assert_eq!(group("::ffff:192.0.2.7"), "192.0.2.7");
        assert_eq!(group("2001:db8:1:2:3::4"), "2001:db8:1:2::");
    }
}
