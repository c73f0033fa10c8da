//! Serves one connection: recognizes the protocol and runs it until its end.

use std::pin::{Pin, pin};
use std::sync::Arc;

use axum::Router;
use hyper::server::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

use super::access_log::AccessLog;
use super::exchange::Requests;
use super::io::Io;
use super::keyless::Keyless;
use super::limits::{
    ERROR_RESETS_MAX, HEAD_BYTES_MAX, ListenerLimits, PENDING_RESETS_MAX, PING_INTERVAL,
    PING_TIME_MAX, SEND_BUFFER_BYTES, WINDOW_BYTES,
};
use super::table::Admitted;

/// What all connections share.
#[derive(Clone)]
pub(super) struct Serving {
    pub(super) router: Router,
    pub(super) keyless: Arc<Keyless>,
    pub(super) limits: Arc<ListenerLimits>,
    pub(super) log: AccessLog,
    /// Cancelled when connections must end after the requests in flight.
    pub(super) drained: CancellationToken,
}

/// Serves a connection until either side ends it.
pub(super) async fn serve(stream: TcpStream, admitted: Admitted, serving: Serving) {
    let connection = Arc::clone(&admitted.connection);
    // A response is written whole or streamed in parts that the reader waits for.
    let _set = stream.set_nodelay(true);
    let how = tokio::select! {
        biased;
        () = connection.end.cancelled() => "ended",
        how = run(stream, &admitted, serving) => how,
    };
    let reason = connection.ended().map_or(how, |reason| reason.name());
    metrics::counter!("trawl_connections_ended_total", "reason" => reason).increment(1);
    tracing::debug!(peer = %connection.peer, reason, "connection ended");
}

async fn run(stream: TcpStream, admitted: &Admitted, serving: Serving) -> &'static str {
    let connection = &admitted.connection;
    let Serving {
        router,
        limits,
        log,
        drained,
        keyless,
    } = serving;
    let mut io = Io::new(stream, Arc::clone(connection), log.clone());
    let is_http2 = tokio::select! {
        () = drained.cancelled() => return "drained",
        is_http2 = io.is_http2() => match is_http2 {
            Ok(is_http2) => is_http2,
            Err(_) => return "closed",
        },
    };
    let requests = Requests::new(router, Arc::clone(connection), log, &limits, keyless);
    let (io, retire) = (TokioIo::new(io), &connection.retire);
    let stop = async {
        tokio::select! {
            () = drained.cancelled() => {}
            () = retire.cancelled() => {}
        }
    };
    let served = if is_http2 {
        let serving = http2(&limits).serve_connection(io, requests);
        drive(serving, |serving| serving.graceful_shutdown(), stop).await
    } else {
        let serving = http1().serve_connection(io, requests);
        drive(serving, |serving| serving.graceful_shutdown(), stop).await
    };
    match served {
        Ok(()) if drained.is_cancelled() => "drained",
        Ok(()) if retire.is_cancelled() => "requests",
        Ok(()) => "closed",
        Err(error) if error.is_parse() => "protocol",
        Err(error) if error.is_timeout() => "ping_timeout",
        Err(_) => "broken",
    }
}

/// Runs a connection; asks it to end after the requests in flight once `stop` is ready.
async fn drive<C: Future<Output = hyper::Result<()>>>(
    serving: C,
    shut_down: impl FnOnce(Pin<&mut C>),
    stop: impl Future<Output = ()>,
) -> hyper::Result<()> {
    let mut serving = pin!(serving);
    tokio::select! {
        served = serving.as_mut() => return served,
        () = stop => shut_down(serving.as_mut()),
    }
    serving.await
}

/// The sweeper has the time-outs, so there is no timer.
fn http1() -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder
        .header_read_timeout(None)
        .max_header_size(HEAD_BYTES_MAX as usize);
    builder
}

/// Floods of CONTINUATION frames end at a number that follows from the maximum of the header list.
fn http2(limits: &ListenerLimits) -> http2::Builder<TokioExecutor> {
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .max_concurrent_streams(limits.streams_per_connection)
        .max_pending_accept_reset_streams(PENDING_RESETS_MAX)
        .max_local_error_reset_streams(ERROR_RESETS_MAX)
        .max_header_list_size(HEAD_BYTES_MAX)
        .initial_stream_window_size(WINDOW_BYTES)
        .initial_connection_window_size(WINDOW_BYTES)
        .max_send_buf_size(SEND_BUFFER_BYTES)
        .keep_alive_interval(PING_INTERVAL)
        .keep_alive_timeout(PING_TIME_MAX);
    builder
}
