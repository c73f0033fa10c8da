//! Where requests go: the host and port of a URL, and the IP addresses that were checked for it.

use std::net::IpAddr;

use url::{Host, Url};

/// A destination and the only IP addresses it may be dialled at.
pub(super) struct Checked {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) ip_addresses: Vec<IpAddr>,
    /// Whether the host is a name rather than an IP address.
    pub(super) is_name: bool,
}

/// Host and port of a URL; `None` without a host or with port 0, on which nothing can listen.
pub(super) fn host_and_port(url: &Url) -> Option<(String, u16)> {
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
pub(super) fn literal(host: &str) -> Option<IpAddr> {
    match Host::parse(host).ok()? {
        Host::Ipv4(address) => Some(address.into()),
        Host::Ipv6(address) => Some(address.into()),
        Host::Domain(_) => None,
    }
}
