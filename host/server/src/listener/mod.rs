//! The listener: accepts connections, bounds how many there are and how long each may wait for its
//! peer, and serves HTTP/1.1 and HTTP/2 on them. Decision D160, Decision D161.
//!
//! Nobody can keep others out by holding connections: a connection that waits for its peer makes
//! room for a new one, those of the peer that holds most of them first (`table`).

mod access_log;
mod connection;
pub(crate) mod descriptors;
mod exchange;
mod io;
mod limits;
mod protocol;
mod refusal;
mod table;
#[cfg(test)]
mod tests;

use std::io::{Error, ErrorKind};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub(crate) use access_log::{AccessLog, LineFormat};
pub(crate) use limits::ListenerLimits;
use protocol::Serving;
use table::Connections;

/// How often connections are checked for expired time-outs: their precision.
const SWEEP_PERIOD: Duration = Duration::from_millis(500);
/// Pause after an accept that failed for want of descriptors or memory: an immediate retry would
/// fail again and keep a processor busy.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Refused connections that stay open until the peer has read the refusal; more are closed at once.
const LINGERING_MAX: usize = 64;
/// How long each of them stays open.
const LINGER_TIME: Duration = Duration::from_secs(1);

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
    let serving = async {
        let serving = Serving {
            router,
            limits,
            log,
            drained,
        };
        accept(socket, &connections, &tasks, &serving).await;
        tasks.close();
        tasks.wait().await;
    };
    tokio::select! {
        () = serving => {}
        () = sweep(&connections) => {}
    }
}

/// Accepts connections until `drained`; closes the socket at the end.
async fn accept(
    socket: TcpListener,
    connections: &Arc<Connections>,
    tasks: &TaskTracker,
    serving: &Serving,
) {
    let lingering = Arc::new(Semaphore::new(LINGERING_MAX));
    let mut is_failing = false;
    loop {
        let accepted = tokio::select! {
            biased;
            () = serving.drained.cancelled() => return,
            accepted = socket.accept() => accepted,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) if is_of_peer(&error) => continue,
            Err(error) => {
                if !std::mem::replace(&mut is_failing, true) {
                    tracing::warn!(error = %error, "cannot accept connections, closing those that wait for their peers");
                }
                connections.make_room(Instant::now());
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        is_failing = false;
        match connections.admit(peer).await {
            Ok(admitted) => {
                tasks.spawn(protocol::serve(stream, admitted, serving.clone()));
            }
            Err(refused) => {
                let response = refused.response();
                serving.log.refused(peer, &response);
                tracing::debug!(peer = %peer, reason = refused.name(), "refused a connection");
                refuse(stream, &response, tasks, &lingering);
            }
        }
    }
}

/// Sends a refusal. The connection stays open for a moment if possible: a peer that is still
/// sending when it closes never sees the answer.
fn refuse(stream: TcpStream, response: &[u8], tasks: &TaskTracker, lingering: &Arc<Semaphore>) {
    // The socket's buffer is empty: either all of it fits, or the peer is gone.
    let _sent = stream.try_write(response);
    if let Ok(permit) = Arc::clone(lingering).try_acquire_owned() {
        tasks.spawn(async move {
            let _late = tokio::time::timeout(LINGER_TIME, io::discard(stream)).await;
            drop(permit);
        });
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
