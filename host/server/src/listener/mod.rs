//! The listener: accepts connections, bounds how many there are and how long each may wait for its
//! peer, and serves HTTP/1.1 and HTTP/2 on them. Decision D160, Decision D161.
//!
//! No client can lock others out by holding connections: a connection that waits for its peer makes
//! room for a new one, those of the peer with the most connections first (`table`).

mod access_log;
mod connection;
pub(crate) mod descriptors;
mod exchange;
mod io;
mod keyless;
mod limits;
mod protocol;
mod refusal;
mod table;
#[cfg(test)]
mod tests;

use std::io::{Error, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub(crate) use access_log::{AccessLog, LineFormat};
use keyless::Keyless;
pub(crate) use limits::ListenerLimits;
use protocol::Serving;
use table::{Admitted, Connections, Refused};

/// How often connections are checked for expired time-outs: their precision.
const SWEEP_PERIOD: Duration = Duration::from_millis(500);
/// Pause after an accept that failed for lack of descriptors or memory: an immediate retry would
/// fail again and keep a processor busy.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Refused connections that stay open until the peer has read the refusal; more are closed at once.
const LINGERING_MAX: usize = 64;
/// How long each of them stays open.
const LINGER_TIME: Duration = Duration::from_secs(1);
/// New connections that wait until others of their peers have had a moment to send a request.
const WAITING_MAX: usize = 256;

/// What new connections need.
#[derive(Clone)]
struct Entrance {
    connections: Arc<Connections>,
    tasks: TaskTracker,
    serving: Serving,
    lingering: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
}

/// Serves `router` at `socket` until `drained`, then closes idle connections and waits for the
/// others. Requests carry their peer as `ConnectInfo<SocketAddr>`.
pub(crate) async fn serve(
    socket: TcpListener,
    router: Router,
    limits: ListenerLimits,
    log: AccessLog,
    drained: CancellationToken,
) {
    let limits = Arc::new(limits);
    let connections = Connections::new(Arc::clone(&limits));
    let tasks = TaskTracker::new();
    let entrance = Entrance {
        connections: Arc::clone(&connections),
        tasks: tasks.clone(),
        serving: Serving {
            router,
            keyless: Keyless::new(limits.keyless_per_peer),
            limits,
            log,
            drained,
        },
        lingering: Arc::new(Semaphore::new(LINGERING_MAX)),
        waiting: Arc::new(Semaphore::new(WAITING_MAX)),
    };
    let serving = async {
        accept(socket, &entrance).await;
        tasks.close();
        tasks.wait().await;
    };
    tokio::select! {
        () = serving => {}
        () = sweep(&connections) => {}
    }
}

/// Accepts connections until the server drains; closes the socket at the end. No connection makes
/// the next one wait.
async fn accept(socket: TcpListener, entrance: &Entrance) {
    let mut is_failing = false;
    loop {
        let accepted = tokio::select! {
            biased;
            () = entrance.serving.drained.cancelled() => return,
            accepted = socket.accept() => accepted,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) if is_of_peer(&error) => continue,
            Err(error) => {
                if !std::mem::replace(&mut is_failing, true) {
                    tracing::warn!(error = %error, "cannot accept connections, closing those that wait for their peers");
                }
                entrance.connections.make_room(Instant::now());
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        is_failing = false;
        entrance.enter(stream, peer);
    }
}

impl Entrance {
    /// Serves a new connection, lets it wait for a moment, or refuses it.
    fn enter(&self, stream: TcpStream, peer: SocketAddr) {
        let no_room = match self.connections.admit(peer, Instant::now()) {
            Ok(admitted) => return self.serve(stream, admitted),
            Err(no_room) => no_room,
        };
        let Some(later) = no_room.later else {
            return self.refuse(stream, peer, no_room.refused);
        };
        match Arc::clone(&self.waiting).try_acquire_owned() {
            Ok(permit) => {
                let waiting = self.clone().wait(stream, peer, later, permit);
                self.tasks.spawn(waiting);
            }
            Err(_too_many) => self.enter_late(stream, peer),
        }
    }

    /// Serves a connection that waits no longer, or refuses it.
    fn enter_late(&self, stream: TcpStream, peer: SocketAddr) {
        match self.connections.admit_late(peer, Instant::now()) {
            Ok(admitted) => self.serve(stream, admitted),
            Err(no_room) => self.refuse(stream, peer, no_room.refused),
        }
    }

    /// Tries once more at this time to serve a connection, otherwise refuses it.
    async fn wait(
        self,
        stream: TcpStream,
        peer: SocketAddr,
        later: Instant,
        permit: OwnedSemaphorePermit,
    ) {
        tokio::select! {
            () = self.serving.drained.cancelled() => return,
            () = tokio::time::sleep_until(later) => {}
        }
        drop(permit);
        self.enter_late(stream, peer);
    }

    fn serve(&self, stream: TcpStream, admitted: Admitted) {
        let serving = self.serving.clone();
        self.tasks.spawn(protocol::serve(stream, admitted, serving));
    }

    /// Answers 503. The connection stays open for a moment if possible: a peer that is still
    /// sending when it closes never sees the response.
    fn refuse(&self, stream: TcpStream, peer: SocketAddr, refused: Refused) {
        let reason = refused.name();
        metrics::counter!("trawl_connections_refused_total", "reason" => reason).increment(1);
        tracing::debug!(peer = %peer, reason, "refused a connection");
        // The socket's buffer is empty: either all of it fits, or the peer is gone.
        let response = refused.response();
        self.serving.log.refused(peer, &response);
        let _sent = stream.try_write(&response);
        if let Ok(permit) = Arc::clone(&self.lingering).try_acquire_owned() {
            self.tasks.spawn(async move {
                let _late = tokio::time::timeout(LINGER_TIME, io::discard(stream)).await;
                drop(permit);
            });
        }
    }
}

/// Ends connections whose time-outs have expired, for ever.
async fn sweep(connections: &Connections) {
    let mut period = tokio::time::interval(SWEEP_PERIOD);
    loop {
        period.tick().await;
        connections.sweep(Instant::now());
    }
}

/// Whether an accept failed because the new connection is gone already.
fn is_of_peer(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset | ErrorKind::ConnectionRefused
    )
}
