//! The address that `--listen` names.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::config::LISTEN_DEFAULT;

/// Reads an IP address with a port. What is missing is taken from the default: a port alone is one
/// of this machine, as is `localhost`.
///
/// # Errors
/// It is neither, in words.
pub(super) fn listen_address(text: &str) -> Result<SocketAddr, String> {
    let text = text.trim();
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    if let Ok(ip) = text.parse::<IpAddr>() {
        return Ok(SocketAddr::new(ip, LISTEN_DEFAULT.port()));
    }
    let (host, port) = match text.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None if text.bytes().all(|byte| byte.is_ascii_digit()) => ("localhost", Some(text)),
        None => (text, None),
    };
    let port = match port {
        Some(port) => port.parse().ok(),
        None => Some(LISTEN_DEFAULT.port()),
    };
    match port {
        Some(port) if host.eq_ignore_ascii_case("localhost") => {
            Ok(SocketAddr::new(LISTEN_DEFAULT.ip(), port))
        }
        _ => Err(format!(
            "not an IP address with a port from 0 to 65535: write `{LISTEN_DEFAULT}` for this machine \
             alone, or `0.0.0.0:{}` for all of its networks",
            LISTEN_DEFAULT.port()
        )),
    }
}

/// The address at which a server that listens on `address` is reached from its own machine.
pub(super) fn on_this_machine(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        address.set_ip(match address.ip() {
            IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        });
    }
    address
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_address_lacks_is_that_of_the_default() {
        let check = |text: &str, expected: &str| {
            let address = listen_address(text).map(|address| address.to_string());
            assert_eq!(address.as_deref(), Ok(expected), "{text}");
        };
        check("0.0.0.0:80", "0.0.0.0:80");
        check("[::1]:8799", "[::1]:8799");
        check("8799", "127.0.0.1:8799");
        check("localhost:8799", "127.0.0.1:8799");
        check("localhost", "127.0.0.1:8700");
        check("0.0.0.0", "0.0.0.0:8700");
        check("::1", "[::1]:8700");
    }

    #[test]
    fn all_networks_are_reached_through_this_machine() {
        let check = |text: &str, expected: &str| {
            let address = text.parse().expect("an address");
            assert_eq!(on_this_machine(address).to_string(), expected);
        };
        check("0.0.0.0:80", "127.0.0.1:80");
        check("[::]:80", "[::1]:80");
        check("192.0.2.1:80", "192.0.2.1:80");
    }

    #[test]
    fn what_is_no_address_comes_with_one() {
        for wrong in [
            "",
            ":80",
            "a.example:80",
            "80000",
            "localhost:x",
            "1.2.3:80",
        ] {
            let error = listen_address(wrong).expect_err(wrong);
            let expected = "write `127.0.0.1:8700` for this machine alone";
            assert!(error.contains(expected), "{wrong}: {error}");
        }
    }
}
