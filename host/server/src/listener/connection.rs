//! One connection as the sweeper and the table see it: what it waits for, since when, and why it
//! was ended.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::{Body, Bytes};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::limits::{
    CONTROL_BYTES_MAX, CONTROL_PERIOD, ListenerLimits, READ_BYTES_PER_SECOND_MIN, STALLED_TIME_MIN,
    peer_group,
};

/// Why the server ended a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EndReason {
    /// A request's line and headers took too long.
    HeadTimeout,
    /// There was no request for too long.
    IdleTimeout,
    /// The reader of a response took nothing for too long.
    WriteTimeout,
    /// It waited for its peer, and another connection needed its place.
    Evicted,
    /// The peer sent too many control frames.
    Flood,
}

impl EndReason {
    /// Its name in the metrics.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::HeadTimeout => "header_timeout",
            Self::IdleTimeout => "idle_timeout",
            Self::WriteTimeout => "write_timeout",
            Self::Evicted => "evicted",
            Self::Flood => "flood",
        }
    }
}

/// What a connection that waits for its peer waits for, in the order in which connections make room
/// for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum WaitsFor {
    /// The rest of a request's line and headers.
    Head,
    /// The next request.
    Request,
    /// A request body, or the reader of a response.
    Stream,
}

/// An open connection.
#[derive(Debug)]
pub(super) struct Connection {
    /// The peer's address.
    pub(super) peer: SocketAddr,
    /// The peer as it is counted.
    pub(super) group: IpAddr,
    /// Cancelled when the connection must end at once.
    pub(super) end: CancellationToken,
    /// Cancelled when the connection must end after the requests in flight.
    pub(super) retire: CancellationToken,
    requests_max: u64,
    state: Mutex<ConnectionState>,
}

#[derive(Debug)]
struct ConnectionState {
    is_http2: bool,
    n_requests: u64,
    n_bytes_received: u64,
    /// Requests in flight, each until the last byte of its response is handed over.
    exchanges: Vec<Arc<Exchange>>,
    /// Since when the head of an HTTP/1.1 request, or the preface, is incomplete.
    head_since: Option<Instant>,
    /// Since when there is no request in flight.
    idle_since: Instant,
    /// Since when the socket takes no byte that waits to be sent.
    blocked_since: Option<Instant>,
    /// How slowly the reader of responses takes them.
    pace: ReaderPace,
    /// HTTP/2: bytes that no request has used, and the start of the period that they count in.
    control_bytes: usize,
    control_since: Instant,
    ended: Option<EndReason>,
}

/// What a socket has taken, and for how long it took nothing meanwhile.
#[derive(Clone, Copy, Debug, Default)]
struct ReaderPace {
    blocked: Duration,
    bytes: u64,
}

impl Connection {
    /// A connection that was just accepted.
    pub(super) fn new(peer: SocketAddr, limits: &ListenerLimits, now: Instant) -> Self {
        Self {
            peer,
            group: peer_group(peer.ip()),
            end: CancellationToken::new(),
            retire: CancellationToken::new(),
            requests_max: limits.requests_per_connection,
            state: Mutex::new(ConnectionState {
                is_http2: false,
                n_requests: 0,
                n_bytes_received: 0,
                exchanges: Vec::new(),
                head_since: Some(now),
                idle_since: now,
                blocked_since: None,
                pace: ReaderPace::default(),
                control_bytes: 0,
                control_since: now,
                ended: None,
            }),
        }
    }

    /// Ends the connection; the first reason counts.
    pub(super) fn end(&self, reason: EndReason) {
        self.state().ended.get_or_insert(reason);
        self.end.cancel();
    }

    /// Why it was ended.
    pub(super) fn ended(&self) -> Option<EndReason> {
        self.state().ended
    }

    /// The preface of HTTP/2 is complete.
    pub(super) fn is_http2_now(&self) {
        let mut state = self.state();
        state.is_http2 = true;
        state.head_since = None;
        state.idle_since = Instant::now();
    }

    /// Bytes have arrived.
    pub(super) fn received(&self, n_bytes: usize) {
        let mut state = self.state();
        state.n_bytes_received += n_bytes as u64;
        if !state.is_http2 {
            if state.exchanges.is_empty() && state.head_since.is_none() {
                state.head_since = Some(Instant::now());
            }
            return;
        }
        let now = Instant::now();
        if now.duration_since(state.control_since) > CONTROL_PERIOD {
            state.control_bytes = 0;
            state.control_since = now;
        }
        state.control_bytes += n_bytes;
        if state.control_bytes > CONTROL_BYTES_MAX {
            drop(state);
            self.end(EndReason::Flood);
        }
    }

    /// Bytes that arrived were of use to a request.
    pub(super) fn used(&self) {
        self.state().control_bytes = 0;
    }

    /// The socket has taken this many bytes, or there are none to send.
    pub(super) fn written(&self, n_bytes: usize) {
        let mut state = self.state();
        if let Some(since) = state.blocked_since.take() {
            state.pace.blocked += since.elapsed();
        }
        state.pace.bytes += n_bytes as u64;
    }

    /// The socket takes no bytes at the moment.
    pub(super) fn blocked(&self) {
        self.state().blocked_since.get_or_insert_with(Instant::now);
    }

    /// Whether a request has begun on it.
    pub(super) fn has_begun(&self) -> bool {
        self.state().n_requests > 0
    }

    /// Whether it ends in the middle of the head of an HTTP/1.1 request.
    pub(super) fn is_in_head(&self) -> bool {
        let state = self.state();
        state.head_since.is_some() && state.n_bytes_received > 0
    }

    /// A request begins; it is in flight until the guard is dropped.
    pub(super) fn begin(self: &Arc<Self>) -> RequestInFlight {
        let exchange = Arc::new(Exchange::default());
        let mut state = self.state();
        state.n_requests += 1;
        state.head_since = None;
        state.control_bytes = 0;
        state.exchanges.push(Arc::clone(&exchange));
        if state.n_requests == self.requests_max {
            self.retire.cancel();
        }
        drop(state);
        RequestInFlight {
            connection: Arc::clone(self),
            exchange,
        }
    }

    /// What it waits for if it waits for its peer, and since when. Requests must have waited for a
    /// moment.
    pub(super) fn waits(&self, now: Instant) -> Option<(WaitsFor, Instant)> {
        let state = self.state();
        if let Some(since) = state.head_since {
            return Some((WaitsFor::Head, since));
        }
        if state.exchanges.is_empty() {
            return Some((WaitsFor::Request, state.idle_since));
        }
        let stalled = |since: &Instant| now.duration_since(*since) >= STALLED_TIME_MIN;
        if let Some(since) = state.blocked_since.filter(stalled) {
            return Some((WaitsFor::Stream, since));
        }
        // A connection whose requests are not all waiting is at work.
        let mut waits = state
            .exchanges
            .iter()
            .map(|exchange| exchange.waits_since());
        let since = waits.try_fold(state.idle_since, |latest, since| Some(latest.max(since?)))?;
        stalled(&since).then_some((WaitsFor::Stream, since))
    }

    /// Checks all time-outs. Releases responses whose readers have taken nothing for too long, and
    /// returns why the connection must end, if it must.
    pub(super) fn check(&self, now: Instant, limits: &ListenerLimits) -> Option<EndReason> {
        let over = |since: Instant, time: Duration| now.duration_since(since) >= time;
        let mut state = self.state();
        if state
            .head_since
            .is_some_and(|since| over(since, limits.head_time))
        {
            return Some(EndReason::HeadTimeout);
        }
        if state
            .blocked_since
            .is_some_and(|since| over(since, limits.write_time))
        {
            return Some(EndReason::WriteTimeout);
        }
        if state.is_too_slow(now, limits.write_time) {
            return Some(EndReason::WriteTimeout);
        }
        if state.exchanges.is_empty() {
            let is_idle = state.head_since.is_none() && over(state.idle_since, limits.idle_time);
            return is_idle.then_some(EndReason::IdleTimeout);
        }
        let exchanges = state.exchanges.clone();
        drop(state);
        let stalled = |since: Instant| over(since, limits.write_time);
        let mut n_released = 0;
        for exchange in &exchanges {
            n_released += usize::from(exchange.release_if(stalled));
        }
        (n_released == exchanges.len()).then_some(EndReason::WriteTimeout)
    }

    fn finish(&self, exchange: &Arc<Exchange>) {
        let mut state = self.state();
        state
            .exchanges
            .retain(|other| !Arc::ptr_eq(other, exchange));
        if state.exchanges.is_empty() {
            state.idle_since = Instant::now();
        }
    }

    fn state(&self) -> MutexGuard<'_, ConnectionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ConnectionState {
    /// Whether the reader took too little in the time that it let the server wait. Quiet times,
    /// when there was nothing to send, do not count.
    fn is_too_slow(&mut self, now: Instant, write_time: Duration) -> bool {
        let waits = self.blocked_since.map(|since| now.duration_since(since));
        if self.pace.blocked + waits.unwrap_or_default() < write_time {
            return false;
        }
        let least = write_time.as_secs_f64() * READ_BYTES_PER_SECOND_MIN as f64;
        let is_slow = waits.is_some() && (self.pace.bytes as f64) < least;
        self.pace = ReaderPace::default();
        is_slow
    }
}

/// A request in flight. Dropping it ends the request.
#[derive(Debug)]
pub(super) struct RequestInFlight {
    pub(super) connection: Arc<Connection>,
    pub(super) exchange: Arc<Exchange>,
}

impl Drop for RequestInFlight {
    fn drop(&mut self) {
        self.connection.finish(&self.exchange);
    }
}

/// The parts of a request and its response that wait for the peer.
#[derive(Debug, Default)]
pub(super) struct Exchange {
    state: Mutex<ExchangeState>,
}

#[derive(Debug, Default)]
struct ExchangeState {
    /// Since when the reader of the request body waits for bytes.
    body_since: Option<Instant>,
    /// HTTP/2: since when a part of the response waits for its reader. On HTTP/1.1 the socket says
    /// that; a part may be large and take long there.
    reader_since: Option<Instant>,
    /// The rest of the response, while it is not polled.
    response: Option<Unsent>,
    /// Whether the response was dropped because its reader does not read.
    is_released: bool,
}

/// What is left of a response.
#[derive(Debug)]
pub(super) struct Unsent {
    pub(super) body: Body,
    /// The rest of a part that is handed over in several. It comes before the rest of the body.
    pub(super) rest: Bytes,
}

impl Exchange {
    /// The request body waits for bytes, or no longer does.
    pub(super) fn body_waits(&self, does_wait: bool) {
        let mut state = self.state();
        if does_wait {
            state.body_since.get_or_insert_with(Instant::now);
        } else {
            state.body_since = None;
        }
    }

    /// Takes the response to poll it; `None` after it has ended or was released.
    pub(super) fn take(&self) -> Option<Unsent> {
        let mut state = self.state();
        state.reader_since = None;
        state.response.take()
    }

    /// Puts the response back. `is_handed_over` says that the reader has something to read, and
    /// that the response is not polled again before the reader has taken it.
    pub(super) fn put(&self, response: Unsent, is_handed_over: bool) {
        let mut state = self.state();
        state.reader_since = is_handed_over.then(Instant::now);
        state.response = Some(response);
    }

    /// Calls `read` with the response if it is not polled now.
    pub(super) fn peek<T>(&self, read: impl FnOnce(&Unsent) -> T) -> Option<T> {
        self.state().response.as_ref().map(read)
    }

    fn waits_since(&self) -> Option<Instant> {
        let state = self.state();
        state.reader_since.or(state.body_since)
    }

    /// Drops the response, with its memory and everything that produces it, if `is_over` says that
    /// its reader has been slow for too long. Returns whether it is released.
    fn release_if(&self, is_over: impl Fn(Instant) -> bool) -> bool {
        let mut state = self.state();
        if state.is_released {
            return true;
        }
        if !state.reader_since.is_some_and(is_over) {
            return false;
        }
        state.is_released = true;
        let response = state.response.take();
        drop(state);
        // Outside the lock: it may end a whole crawl.
        drop(response);
        metrics::counter!("trawl_responses_released_total").increment(1);
        true
    }

    fn state(&self) -> MutexGuard<'_, ExchangeState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
