//! Opens connections to IP addresses that were checked: directly, or through an upstream proxy.

use std::convert::Infallible;
use std::error::Error as StdError;
use std::future::{Ready, ready};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderValue, Uri};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::Name;
use hyper_util::client::legacy::connect::proxy::{SocksV4, SocksV5, Tunnel};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tower::Service;
use tower::util::ServiceFn;
use url::Url;

use trawl_model::timing;

use super::destination::Checked;
use super::upstream::{Resolve, UpstreamProxy};

/// Stands for the host of a connection: it resolves to the checked IP addresses only.
const CHECKED_HOST: &str = "checked.invalid";

/// Time without a packet after which the system looks whether the other side is still there.
const KEEPALIVE: Duration = Duration::from_secs(15);

/// Why a connection was not opened.
pub(super) type Cause = Box<dyn StdError + Send + Sync>;

/// Opens a direct connection to one of the checked IP addresses.
pub(super) async fn direct(target: Checked, time_max: Duration) -> Result<TcpStream, Cause> {
    let uri = checked_uri(target.port);
    let opening = connector(&target, time_max).call(uri);
    let stream = timing::step("connect", opening).await?;
    Ok(stream.into_inner())
}

/// Opens a tunnel through an upstream proxy. The proxy resolves the name itself, except where its
/// setting or its scheme leaves that to the client: then it gets the IP address.
pub(super) async fn through(
    upstream: &UpstreamProxy,
    via: Checked,
    target: Checked,
    time_max: Duration,
) -> Result<TcpStream, Cause> {
    let proxy = checked_uri(via.port);
    let connector = connector(&via, time_max);
    let ip_address = preferred(&target.ip_addresses);
    let resolved = destination(&bracketed(SocketAddr::new(ip_address, 0)), target.port)?;
    let named = match upstream.resolve {
        Resolve::Proxy => destination(&target.host, target.port)?,
        Resolve::Local => resolved.clone(),
    };
    let upstream = &upstream.url;
    let login = login(upstream);
    let stream: TokioIo<TcpStream> = match upstream.scheme() {
        "socks5" | "socks5h" => {
            let is_local = upstream.scheme() == "socks5";
            let socks = SocksV5::new(proxy, connector);
            let mut socks = match login {
                Some((user, password)) => socks.with_auth(user, password),
                None => socks,
            };
            socks.call(if is_local { resolved } else { named }).await?
        }
        "socks4" => SocksV4::new(proxy, connector).call(resolved).await?,
        "socks4a" => SocksV4::new(proxy, connector).call(named).await?,
        _ => {
            let tunnel = Tunnel::new(proxy, connector);
            let mut tunnel = match login {
                Some((user, password)) => {
                    let pair = STANDARD.encode(format!("{user}:{password}"));
                    tunnel.with_auth(HeaderValue::try_from(format!("Basic {pair}"))?)
                }
                None => tunnel,
            };
            tunnel.call(named).await?
        }
    };
    Ok(stream.into_inner())
}

/// The IP address that a proxy receives: one of version 4 if there is one, since fewer proxies
/// reach version 6.
fn preferred(ip_addresses: &[IpAddr]) -> IpAddr {
    let version_4 = ip_addresses.iter().find(|address| address.is_ipv4());
    *version_4
        .or(ip_addresses.first())
        .expect("a checked host has an IP address")
}

/// User and password in an upstream proxy's URL, percent-decoded.
fn login(upstream: &Url) -> Option<(String, String)> {
    let has_none = upstream.username().is_empty() && upstream.password().is_none();
    let decoded = |text: &str| {
        // Form decoding is percent-decoding except for three characters.
        let text = text
            .replace('+', "%2B")
            .replace('&', "%26")
            .replace('=', "%3D");
        let mut pairs = url::form_urlencoded::parse(text.as_bytes());
        pairs
            .next()
            .map_or_else(String::new, |(key, _)| key.into_owned())
    };
    (!has_none).then(|| {
        let password = upstream.password().unwrap_or_default();
        (decoded(upstream.username()), decoded(password))
    })
}

type Resolved = Ready<Result<std::vec::IntoIter<SocketAddr>, Infallible>>;

/// A connector that dials these IP addresses only, both families in turn (RFC 8305).
fn connector(
    checked: &Checked,
    time_max: Duration,
) -> HttpConnector<ServiceFn<impl Fn(Name) -> Resolved + Clone + use<>>> {
    let socket_addresses: Vec<SocketAddr> = checked
        .ip_addresses
        .iter()
        .map(|address| SocketAddr::new(*address, 0))
        .collect();
    let resolver =
        tower::service_fn(move |_: Name| ready(Ok(socket_addresses.clone().into_iter())));
    let mut connector = HttpConnector::new_with_resolver(resolver);
    connector.set_connect_timeout(Some(time_max));
    // Small packets of a handshake or a WebSocket must not wait for one another (Nagle's
    // algorithm).
    connector.set_nodelay(true);
    connector.set_keepalive(Some(KEEPALIVE));
    connector
}

fn checked_uri(port: u16) -> Uri {
    Uri::try_from(format!("http://{CHECKED_HOST}:{port}")).expect("a constant host and a port")
}

fn destination(host: &str, port: u16) -> Result<Uri, http::uri::InvalidUri> {
    Uri::try_from(format!("http://{host}:{port}"))
}

fn bracketed(address: SocketAddr) -> String {
    match address {
        SocketAddr::V4(address) => address.ip().to_string(),
        SocketAddr::V6(address) => format!("[{}]", address.ip()),
    }
}
