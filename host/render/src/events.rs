//! The events of one session on their way from the reader of the pipe to the page, bounded in
//! number and bytes.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::wire::MESSAGE_BYTES_MAX;

/// Queued events of one page. A page that causes events faster than they are read is flooding.
const EVENTS_MAX: usize = 16_384;
/// Bytes of the queued events of one page: one message of the largest size, and as much again.
pub(super) const EVENT_BYTES_MAX: usize = 2 * MESSAGE_BYTES_MAX;

/// An event of a session.
#[derive(Debug)]
pub(super) struct Event {
    /// The name under which it was delivered: that of its session, or of the page's context.
    pub(super) session: Arc<str>,
    pub(super) method: String,
    pub(super) params: Box<RawValue>,
    _queued: Queued,
}

impl Event {
    /// The session of this event, if it is not this one.
    pub(super) fn of_another(&self, session: &str) -> Option<Arc<str>> {
        (&*self.session != session).then(|| Arc::clone(&self.session))
    }
}

/// The bytes of an event that counts among the queued ones of its session until it is dropped.
#[derive(Debug)]
struct Queued {
    bytes: usize,
    all: Arc<AtomicUsize>,
}

impl Drop for Queued {
    fn drop(&mut self) {
        self.all.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// Why a session gets no further events although its browser runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SessionEnd {
    /// It caused more events than were read, by number or bytes.
    Flood,
    /// It caused a message of this many bytes, more than any may have.
    Oversize(u64),
}

/// The events of a session.
pub(super) struct Events {
    events: mpsc::Receiver<Event>,
    end: Arc<End>,
}

/// How a session ended before its browser did.
#[derive(Default)]
struct End {
    cause: OnceLock<SessionEnd>,
    /// A session may have several names, each with a sender: this ends them together.
    token: CancellationToken,
}

impl End {
    fn set(&self, cause: SessionEnd) {
        let _ended_already = self.cause.set(cause);
        self.token.cancel();
    }
}

impl Events {
    /// The next event; `None` when the session has ended.
    pub(super) async fn recv(&mut self) -> Option<Event> {
        tokio::select! {
            biased;
            () = self.end.token.cancelled() => None,
            event = self.events.recv() => event,
        }
    }

    /// Why the session ended; `None` while it runs, and when its browser exited.
    pub(super) fn end(&self) -> Option<SessionEnd> {
        self.end.cause.get().copied()
    }
}

/// Where the events of a session go.
#[derive(Clone)]
pub(super) struct Listener {
    name: Arc<str>,
    events: mpsc::Sender<Event>,
    end: Arc<End>,
    queued: Arc<AtomicUsize>,
}

impl Listener {
    /// A queue for the events of a session.
    pub(super) fn new() -> (Self, Events) {
        let (sender, events) = mpsc::channel(EVENTS_MAX);
        let end = Arc::new(End::default());
        let listener = Self {
            name: Arc::from(""),
            events: sender,
            end: Arc::clone(&end),
            queued: Arc::default(),
        };
        (listener, Events { events, end })
    }

    /// The same queue under a name, which its events then have.
    pub(super) fn named(&self, name: &str) -> Self {
        let name = Arc::from(name);
        Self {
            name,
            ..self.clone()
        }
    }

    /// Whether both have the same queue.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.end, &other.end)
    }

    /// Queues an event. `false` when its reader does not keep up, which ends the session.
    pub(super) fn deliver(&self, method: String, params: Box<RawValue>) -> bool {
        let bytes = params.get().len();
        let before = self.queued.fetch_add(bytes, Ordering::Relaxed);
        let event = Event {
            session: Arc::clone(&self.name),
            method,
            params,
            _queued: Queued {
                bytes,
                all: Arc::clone(&self.queued),
            },
        };
        let is_queued = before + bytes <= EVENT_BYTES_MAX && self.events.try_send(event).is_ok();
        if !is_queued {
            self.end(SessionEnd::Flood);
        }
        is_queued
    }

    /// Ends the session for its reader.
    pub(super) fn end(&self, cause: SessionEnd) {
        self.end.set(cause);
    }
}
