//! The proxy through which a browser reaches the network: HTTP and CONNECT (RFC 9110 sections 7 and 9.3.6), with the same rules
//! for each destination as everything else that leaves.
//!
//! A channel is a listener on loopback for one browser context, with a password of its own. `connection` serves what the
//! browser opens, `forward` carries plain HTTP (WebSocket upgrades among it) through [`Egress::send`], `dial` opens the way of
//! a tunnel, `tunnel` carries its bytes, `meter` counts them and keeps what was not reached.

mod connection;
mod dial;
mod forward;
mod meter;
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

use super::{Egress, Route};
use trawl_model::secret::Secret;

use meter::Meter;
pub use meter::Refusal;

/// Bytes of one request's line and headers: browsers keep up to 180 cookies of 4 KiB for a site, sites take some 16 KiB.
const HEADER_BYTES_MAX: usize = 128 * 1024;
/// Connections of one channel at once: Chromium opens 32 to one proxy for requests and as many for WebSockets.
const CONNECTIONS_MAX: usize = 80;
/// Bytes of one channel in both directions: a very heavy page has some 50 MB, a film has no end.
const CHANNEL_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// Time in which nothing moves: sites that keep a connection open for news send a sign of life every 15 to 55 seconds.
const IDLE_TIME_MAX: Duration = Duration::from_secs(60);
/// Life of a channel: more than the longest deadline of a page, so that only a forgotten one gets there.
const CHANNEL_TIME_MAX: Duration = Duration::from_secs(900);

/// User name of every channel; what opens it is the password.
const USER: &str = "page";
/// Bytes of a password: nobody guesses 128 bits.
const PASSWORD_BYTES: usize = 16;
/// Wait after a connection could not be accepted, for want of file descriptors above all.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Bounds of one channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProxyLimits {
    /// Bytes of one request's line and headers; at least 8192.
    pub header_bytes_max: usize,
    /// Connections open at once; more wait until one is closed.
    pub connections_max: usize,
    /// Bytes of bodies and tunnels, both directions together. Beyond, everything open breaks and nothing more is let through.
    pub total_bytes_max: u64,
    /// Time for a request's headers, for an answer's, and between two pieces of a body or tunnel.
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

/// A proxy on loopback for one browser context. Dropped, it ends at once with all that goes through it.
pub struct ProxyChannel {
    address: SocketAddr,
    password: Secret,
    meter: Arc<Meter>,
    closing: CancellationToken,
    listening: AbortOnDropHandle<()>,
}

/// What the connections of a channel share.
struct Channel {
    egress: Arc<Egress>,
    route: Route,
    limits: ProxyLimits,
    /// What `Proxy-Authorization` says behind `Basic`.
    expected: Secret,
    meter: Arc<Meter>,
}

impl Egress {
    /// Opens a proxy of its own for one browser context, whose requests leave by `route`.
    ///
    /// # Errors
    /// No port or no randomness is to be had, or [`io::ErrorKind::Unsupported`]: tunnels cannot go through an upstream proxy
    /// that is itself reached over TLS.
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
        let channel = Channel {
            egress: Arc::clone(self),
            route,
            limits: ProxyLimits {
                header_bytes_max: limits.header_bytes_max.max(connection::HEADER_BYTES_MIN),
                ..limits
            },
            expected: Secret::new(expected),
            meter: Arc::clone(&meter),
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
            closing,
            listening: AbortOnDropHandle::new(tokio::spawn(listening)),
        })
    }
}

impl ProxyChannel {
    /// Where it listens: 127.0.0.1 at a port of its own.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// User name and password for its `Basic` challenge (RFC 7617). Without them nobody gets through.
    pub fn credentials(&self) -> (&str, &str) {
        (USER, self.password.expose())
    }

    /// Bytes received so far: bodies as they came over the wire, and what came out of tunnels.
    pub fn received_bytes(&self) -> u64 {
        self.meter.received()
    }

    /// Bytes sent so far: bodies of requests, and what went into tunnels.
    pub fn sent_bytes(&self) -> u64 {
        self.meter.sent()
    }

    /// Destinations that were not reached, oldest first; at most the last 64 of them.
    pub fn refused(&self) -> Vec<Refusal> {
        self.meter.refused()
    }

    /// Ends it and waits until every connection is closed.
    pub async fn close(self) {
        self.closing.cancel();
        if let Err(error) = self.listening.await {
            tracing::error!(%error, "a browser's proxy channel ended with a panic");
        }
    }
}

/// Without the password.
impl std::fmt::Debug for ProxyChannel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProxyChannel")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

/// Keeps pages away from a channel's own listener for as long as it is open.
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

/// Accepts connections until the channel is closed or too old. Its connections are its own: they end with it.
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
