//! The proxy through which a browser reaches the network: HTTP and CONNECT (RFC 9110 sections 7 and
//! 9.3.6), with the same egress rules for each destination as any other request.
//!
//! A channel is a listener on loopback for one browser context, with a password of its own.
//! `connection` serves what the browser opens, `forward` carries plain HTTP (WebSocket upgrades
//! included) through [`Egress::send`], `dial` opens the connection of a tunnel, `tunnel` carries
//! its bytes, `kept_cookies` keeps the caller's cookies out of some, `meter` counts them and
//! records destinations that were not reached.

mod connection;
mod dial;
mod forward;
mod kept_cookies;
mod meter;
mod response;
mod tunnel;

#[cfg(test)]
mod tests;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use trawl_model::secret::Secret;

use super::Egress;
use super::route::Route;
use meter::Meter;

pub use kept_cookies::KeptCookies;
pub use meter::Refusal;

/// Bytes of one request's line and headers: browsers store up to 180 cookies of 4 KiB for a site,
/// sites take some 16 KiB.
const HEADER_BYTES_MAX: usize = 128 * 1024;
/// Connections of one channel at once: Chromium opens 32 to one proxy for requests and as many for
/// WebSockets.
const CONNECTIONS_MAX: usize = 80;
/// Bytes of one channel in both directions: a very heavy page has some 50 MB, a video has no end.
const CHANNEL_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// Longest idle time of a connection: sites that hold one open for updates send a heartbeat every
/// 15 to 55 seconds.
const IDLE_TIME_MAX: Duration = Duration::from_secs(60);
/// Longest life of a channel: more than the longest deadline of a page, so that only a leaked
/// channel reaches it.
const CHANNEL_TIME_MAX: Duration = Duration::from_secs(900);

/// User name of every channel; the password is what authenticates.
const USER: &str = "page";
/// Bytes of a password: 128 bits cannot be guessed.
const PASSWORD_BYTES: usize = 16;
/// Pause after a connection could not be accepted, mostly because file descriptors ran out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Limits of one channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProxyLimits {
    /// Bytes of one request's line and headers; at least 8192.
    pub header_bytes_max: usize,
    /// Connections open at once; more wait until one is closed.
    pub connections_max: usize,
    /// Bytes of bodies and tunnels, both directions together. Beyond them every open connection is
    /// aborted and further requests are refused.
    pub total_bytes_max: u64,
    /// Longest wait for a request's headers, for a response's, and between two pieces of a body or
    /// tunnel.
    pub idle_time_max: Duration,
    /// Life of the channel, after which it is closed.
    pub total_time_max: Duration,
}

impl Default for ProxyLimits {
    fn default() -> Self {
        Self {
            header_bytes_max: HEADER_BYTES_MAX,
            connections_max: CONNECTIONS_MAX,
            total_bytes_max: CHANNEL_BYTES_MAX,
            idle_time_max: IDLE_TIME_MAX,
            total_time_max: CHANNEL_TIME_MAX,
        }
    }
}

/// A proxy on loopback for one browser context. Dropping it closes all of its connections at once.
pub struct ProxyChannel {
    address: SocketAddr,
    password: Secret,
    meter: Arc<Meter>,
    kept: KeptCookies,
    closing: CancellationToken,
    listening: AbortOnDropHandle<()>,
}

/// What the connections of a channel share.
struct Channel {
    egress: Arc<Egress>,
    route: Route,
    limits: ProxyLimits,
    /// The expected value of `Proxy-Authorization` after `Basic`.
    expected: Secret,
    meter: Arc<Meter>,
    kept: KeptCookies,
}

impl Egress {
    /// Opens a proxy for one browser context, whose requests leave by `route`.
    ///
    /// # Errors
    /// No port or no randomness is available, or [`io::ErrorKind::Unsupported`]: tunnels cannot go
    /// through an upstream proxy that is itself reached over TLS.
    pub async fn open_proxy(
        self: &Arc<Self>,
        route: Route,
        limits: ProxyLimits,
    ) -> io::Result<ProxyChannel> {
        dial::supports(self, &route)?;
        let password = password()?;
        let expected = STANDARD.encode(format!("{USER}:{}", password.expose()));
        let meter = Arc::new(Meter::new(
            limits.total_bytes_max,
            Arc::clone(&self.received),
        ));
        let kept = KeptCookies::default();
        let channel = Channel {
            egress: Arc::clone(self),
            route,
            limits: ProxyLimits {
                header_bytes_max: limits.header_bytes_max.max(connection::HEADER_BYTES_MIN),
                ..limits
            },
            expected: Secret::new(expected),
            meter: Arc::clone(&meter),
            kept: kept.clone(),
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let refused = RefusedListener::new(Arc::clone(self), address);
        let closing = CancellationToken::new();
        let listening = listen(listener, Arc::new(channel), closing.clone(), refused);
        Ok(ProxyChannel {
            address,
            password,
            meter,
            kept,
            closing,
            listening: AbortOnDropHandle::new(tokio::spawn(listening)),
        })
    }
}

impl ProxyChannel {
    /// The socket address it listens on: 127.0.0.1 and a port of its own.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// User name and password for its `Basic` challenge (RFC 7617). No request passes without them.
    pub fn credentials(&self) -> (&str, &str) {
        (USER, self.password.expose())
    }

    /// The cookies that it keeps from other ports of their host; none at first.
    pub fn kept_cookies(&self) -> KeptCookies {
        self.kept.clone()
    }

    /// Bytes received so far: bodies as they came over the wire, and what arrived through tunnels.
    pub fn received_bytes(&self) -> u64 {
        self.meter.received()
    }

    /// Bytes sent so far: request bodies, and what was sent into tunnels.
    pub fn sent_bytes(&self) -> u64 {
        self.meter.sent()
    }

    /// Destinations that were not reached, oldest first; at most the last 64 of them.
    pub fn refused(&self) -> Vec<Refusal> {
        self.meter.refused()
    }

    /// Whether a response with these headers, names in lower case, is what the browser gets for a
    /// destination that was not reached.
    pub fn is_refusal(headers: &[(String, String)]) -> bool {
        response::is_refusal(headers)
    }

    /// Closes it and waits until every connection is closed.
    pub async fn close(self) {
        self.closing.cancel();
        if let Err(_panic) = self.listening.await {
            tracing::error!("a browser's proxy channel panicked");
        }
    }
}

/// Omits the password.
impl std::fmt::Debug for ProxyChannel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProxyChannel")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

/// Refuses requests to a channel's own listener for as long as it is open.
struct RefusedListener {
    egress: Arc<Egress>,
    address: SocketAddr,
}

impl RefusedListener {
    fn new(egress: Arc<Egress>, address: SocketAddr) -> Self {
        egress.refuse_listener(address);
        Self { egress, address }
    }
}

impl Drop for RefusedListener {
    fn drop(&mut self) {
        self.egress.forget_listener(self.address);
    }
}

fn password() -> io::Result<Secret> {
    let mut bytes = [0; PASSWORD_BYTES];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(Secret::new(format!("{:032x}", u128::from_ne_bytes(bytes))))
}

/// Accepts connections until the channel is closed or too old. It owns its connections: they end
/// with it.
async fn listen(
    listener: TcpListener,
    channel: Arc<Channel>,
    closing: CancellationToken,
    refused: RefusedListener,
) {
    let end = Instant::now() + channel.limits.total_time_max;
    let mut connections = JoinSet::new();
    loop {
        let has_room = connections.len() < channel.limits.connections_max;
        tokio::select! {
            () = closing.cancelled() => break,
            () = tokio::time::sleep_until(end) => break,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept(), if has_room => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(connection::serve(stream, Arc::clone(&channel)));
                }
                Err(error) => {
                    tracing::warn!(%error, "a browser's connection could not be accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            },
        }
    }
    drop(listener);
    connections.shutdown().await;
    drop(refused);
}
