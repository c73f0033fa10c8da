//! The bound of connections to sites. Each takes a file descriptor, of which a process has a fixed
//! number; accounts share them fairly. Decision D292.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection};

use trawl_model::fair::{FairPermit, FairSemaphore, PermitUse};

/// Connections to sites at once, unless configured otherwise.
pub const CONNECTIONS_MAX: usize = 4_096;
/// Share of the connections below which none is kept for a next request, as a divisor: an idle
/// connection to one site would keep a page of another waiting.
const SCARCE_SHARE: usize = 4;
/// Share of the connections that names may be looked up at once, as a divisor: each lookup has a
/// socket of its own, for milliseconds.
const LOOKUPS_SHARE: usize = 8;
/// Names that may always be looked up at once.
const LOOKUPS_MIN: usize = 8;

tokio::task_local! {
    /// The account on whose behalf the current task sends requests.
    static ACCOUNT: Arc<str>;
}

/// Runs work whose requests are sent on behalf of an account: their connections count as its own.
/// What is sent outside of it counts as the server's.
pub fn on_behalf_of<F: Future>(account: &str, work: F) -> impl Future<Output = F::Output> + use<F> {
    ACCOUNT.scope(account.into(), work)
}

/// The account of the current task; empty for the server itself.
pub(super) fn current_account() -> Arc<str> {
    ACCOUNT.try_with(Arc::clone).unwrap_or_default()
}

/// All connections to sites.
#[derive(Clone, Debug)]
pub(super) struct Connections {
    permits: Arc<FairSemaphore>,
    lookups: Arc<FairSemaphore>,
}

/// The right to have a connection open; returned on drop.
pub(super) type ConnectionPermit = FairPermit;

impl Connections {
    /// At most so many; at least one.
    pub(super) fn new(connections_max: usize) -> Self {
        let lookups = (connections_max / LOOKUPS_SHARE).max(LOOKUPS_MIN);
        Self {
            permits: FairSemaphore::sharing(connections_max.max(1)),
            lookups: FairSemaphore::sharing(lookups),
        }
    }

    /// Waits until this account may open a connection.
    pub(super) async fn permit(&self, account: &Arc<str>) -> ConnectionPermit {
        self.permits.acquire(Arc::clone(account)).await
    }

    /// Waits until this account may look up a name.
    pub(super) async fn lookup(&self, account: &Arc<str>) -> FairPermit {
        self.lookups.acquire(Arc::clone(account)).await
    }

    /// Whether so few are left that none should be kept without use.
    pub(super) fn are_scarce(&self) -> bool {
        self.permits.n_free() < self.permits.n_permits() / SCARCE_SHARE
    }

    pub(super) fn usage(&self) -> PermitUse {
        self.permits.usage()
    }
}

/// A connection that counts until it is closed.
#[derive(Debug)]
pub(super) struct Counted<T> {
    stream: T,
    _permit: ConnectionPermit,
    is_for_one_response: bool,
}

impl<T> Counted<T> {
    pub(super) fn new(stream: T, permit: ConnectionPermit) -> Self {
        Self {
            stream,
            _permit: permit,
            is_for_one_response: false,
        }
    }

    /// Has a client close the connection after its first response, if that is true. An HTTP/2
    /// connection has several at once and is kept.
    pub(super) fn for_one_response(self, is_for_one_response: bool) -> Self {
        Self {
            is_for_one_response,
            ..self
        }
    }
}

impl<T: Connection> Connection for Counted<T> {
    fn connected(&self) -> Connected {
        let connected = self.stream.connected();
        if self.is_for_one_response && !connected.is_negotiated_h2() {
            connected.poison();
        }
        connected
    }
}

impl<T: Read + Unpin> Read for Counted<T> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_read(cx, buf)
    }
}

impl<T: Write + Unpin> Write for Counted<T> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(cx, buf)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write_vectored(cx, bufs)
    }
}
