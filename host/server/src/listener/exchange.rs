//! Requests on a connection: the parts of bodies, in both directions, that wait for the peer.

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::ConnectInfo;
use axum::{BoxError, Router};
use http::{HeaderValue, Request, Response, StatusCode, Version, header};
use hyper::body::{Frame, Incoming, SizeHint};
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;
use tokio::time::Sleep;

use super::access_log::{AccessLog, LogEntry};
use super::connection::{Connection, Exchange, RequestInFlight, Unsent};
use super::keyless::{Keyless, is_keyless};
use super::limits::ListenerLimits;

/// HTTP/2: largest part of a response that is handed over at once. The HTTP/2 library takes a whole
/// part, whatever the peer's window, and keeps it in memory. A reader must take one part within the
/// write time-out; this is also the size of a frame.
const PART_BYTES_MAX: usize = 16 << 10;

/// Answers the requests of one connection with the router.
pub(super) struct Requests {
    router: TowerToHyperService<Router>,
    connection: Arc<Connection>,
    log: AccessLog,
    body_time: Duration,
    /// Counts requests without a key, unless the peer is a proxy, with many clients behind it.
    keyless: Option<Arc<Keyless>>,
}

impl Requests {
    pub(super) fn new(
        router: Router,
        connection: Arc<Connection>,
        log: AccessLog,
        limits: &ListenerLimits,
        keyless: Arc<Keyless>,
    ) -> Self {
        let is_proxy = limits.is_trusted(connection.peer.ip());
        Self {
            router: TowerToHyperService::new(router),
            connection,
            log,
            body_time: limits.body_time,
            keyless: Some(keyless).filter(|_| !is_proxy),
        }
    }
}

impl Service<Request<Incoming>> for Requests {
    type Response = Response<ResponseBody>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<ResponseBody>, Infallible>> + Send>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let in_flight = self.connection.begin();
        let is_http2 = request.version() == Version::HTTP_2;
        let mut entry = self.log.begin(self.connection.peer, &request);
        let keyless = self.keyless.as_ref();
        let keyless = keyless.filter(|_| is_keyless(request.headers()));
        let counted = keyless.map(|keyless| keyless.enter(self.connection.peer.ip()));
        if let (Some(keyless), Some(None)) = (keyless, &counted) {
            let refusal = keyless.refusal();
            return Box::pin(async move {
                entry.answered(&refusal);
                Ok(refusal.map(|body| ResponseBody::new(body, in_flight, is_http2, entry)))
            });
        }
        let mut request = request.map(|incoming| RequestBody {
            incoming,
            connection: Arc::clone(&in_flight.connection),
            exchange: Arc::clone(&in_flight.exchange),
            time: self.body_time,
            timer: None,
        });
        let peer = ConnectInfo(self.connection.peer);
        request.extensions_mut().insert(peer);
        let answering = self.router.call(request);
        Box::pin(async move {
            let mut response = answering.await?;
            drop(counted);
            entry.answered(&response);
            if response.status() == StatusCode::REQUEST_TIMEOUT && !is_http2 {
                // The rest of the body may still arrive; it is not a request.
                let close = HeaderValue::from_static("close");
                response.headers_mut().insert(header::CONNECTION, close);
            }
            Ok(response.map(|body| ResponseBody::new(body, in_flight, is_http2, entry)))
        })
    }
}

/// A request body that must make progress.
pub(super) struct RequestBody {
    incoming: Incoming,
    connection: Arc<Connection>,
    exchange: Arc<Exchange>,
    time: Duration,
    /// Runs while the body waits for bytes.
    timer: Option<Pin<Box<Sleep>>>,
}

impl HttpBody for RequestBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = &mut *self;
        if let Poll::Ready(frame) = Pin::new(&mut this.incoming).poll_frame(context) {
            this.timer = None;
            this.exchange.body_waits(false);
            this.connection.used();
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        this.exchange.body_waits(true);
        let time = this.time;
        let timer = this
            .timer
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(time)));
        ready!(timer.as_mut().poll(context));
        this.exchange.body_waits(false);
        let error = io::Error::new(
            io::ErrorKind::TimedOut,
            "the request body makes no progress",
        );
        Poll::Ready(Some(Err(error.into())))
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        self.exchange.body_waits(false);
    }
}

/// A response body that the sweeper can release when its reader does not read.
pub(super) struct ResponseBody {
    in_flight: RequestInFlight,
    is_http2: bool,
    has_ended: bool,
    has_failed: bool,
    entry: LogEntry,
}

impl ResponseBody {
    fn new(body: Body, in_flight: RequestInFlight, is_http2: bool, entry: LogEntry) -> Self {
        let rest = Bytes::new();
        in_flight.exchange.put(Unsent { body, rest }, is_http2);
        Self {
            in_flight,
            is_http2,
            has_ended: false,
            has_failed: false,
            entry,
        }
    }

    fn poll_next(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if self.has_ended {
            return Poll::Ready(None);
        }
        let exchange = Arc::clone(&self.in_flight.exchange);
        let Some(mut unsent) = exchange.take() else {
            self.has_ended = true;
            let reason = "the client stopped reading the response";
            let error = io::Error::new(io::ErrorKind::TimedOut, reason);
            return Poll::Ready(Some(Err(error.into())));
        };
        self.in_flight.connection.used();
        if !unsent.rest.is_empty() {
            let part = unsent.next_part();
            exchange.put(unsent, self.is_http2);
            return Poll::Ready(Some(Ok(part)));
        }
        match Pin::new(&mut unsent.body).poll_frame(context) {
            Poll::Pending => {
                exchange.put(unsent, false);
                Poll::Pending
            }
            Poll::Ready(Some(Ok(frame))) => {
                let frame = match frame.into_data() {
                    Ok(data) if self.is_http2 && data.len() > PART_BYTES_MAX => {
                        unsent.rest = data;
                        unsent.next_part()
                    }
                    Ok(data) => Frame::data(data),
                    Err(frame) => frame,
                };
                exchange.put(unsent, self.is_http2);
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(last) => {
                self.has_ended = true;
                Poll::Ready(last.map(|last| last.map_err(Into::into)))
            }
        }
    }
}

impl Drop for ResponseBody {
    fn drop(&mut self) {
        if self.is_end_stream() && !self.has_failed {
            self.entry.complete();
        }
    }
}

impl Unsent {
    /// The next part of what is left of the last frame. It is copied: the HTTP/2 library holds it
    /// until the peer's window opens, and a slice would hold the memory of the whole frame.
    fn next_part(&mut self) -> Frame<Bytes> {
        let n_bytes = self.rest.len().min(PART_BYTES_MAX);
        Frame::data(Bytes::copy_from_slice(&self.rest.split_to(n_bytes)))
    }

    fn size_hint(&self) -> SizeHint {
        let hint = self.body.size_hint();
        let n_rest = self.rest.len() as u64;
        let mut with_rest = SizeHint::new();
        with_rest.set_lower(hint.lower() + n_rest);
        if let Some(upper) = hint.upper() {
            with_rest.set_upper(upper + n_rest);
        }
        with_rest
    }
}

impl HttpBody for ResponseBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let polled = self.poll_next(context);
        match &polled {
            Poll::Ready(Some(Ok(frame))) => {
                let n_bytes = frame.data_ref().map_or(0, Bytes::len);
                self.entry.sent(n_bytes);
            }
            Poll::Ready(Some(Err(_))) => self.has_failed = true,
            Poll::Ready(None) | Poll::Pending => {}
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        let is_over = |unsent: &Unsent| unsent.rest.is_empty() && unsent.body.is_end_stream();
        self.has_ended || self.in_flight.exchange.peek(is_over).unwrap_or(false)
    }

    fn size_hint(&self) -> SizeHint {
        let hint = self.in_flight.exchange.peek(Unsent::size_hint);
        hint.unwrap_or_default()
    }
}
