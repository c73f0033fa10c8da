//! The DevTools protocol connection to one browser over a pair of pipes: commands with responses,
//! and events by session. A pipe rather than a debug port, so that no other process can control the
//! browser, and so that it ends with this process.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chromiumoxide::types::{CallId, Command, MethodCall};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::events::{Event, Events, Listener, SessionEnd};
use super::wire::{Frame, MESSAGE_BYTES_MAX, next_frame};

/// Queued commands.
const COMMANDS_MAX: usize = 1_024;

/// Why a command has no response.
#[derive(Debug, thiserror::Error)]
pub(super) enum CallError {
    /// The browser exited.
    #[error("the browser exited")]
    Gone,
    /// The browser refused the command.
    #[error("{0}")]
    Refused(String),
    /// The response was larger than any may be, and was dropped.
    #[error("the browser's response has {0} bytes; at most {MESSAGE_BYTES_MAX} are read")]
    Oversize(u64),
    /// The response does not match the protocol.
    #[error("the browser sent an invalid response")]
    Invalid(#[source] serde_json::Error),
}

type Response = Result<Box<RawValue>, CallError>;

/// A command that waits for its response; forgotten on drop, also when the call is cancelled.
struct PendingCommand<'a> {
    shared: &'a Shared,
    id: u64,
}

impl Drop for PendingCommand<'_> {
    fn drop(&mut self) {
        locked(&self.shared.waiting).remove(&self.id);
    }
}

/// The two pipes of one browser. Closes with the browser, or on drop.
pub(super) struct Connection {
    commands: mpsc::Sender<Vec<u8>>,
    shared: Arc<Shared>,
}

struct Shared {
    next_id: AtomicU64,
    waiting: Mutex<HashMap<u64, oneshot::Sender<Response>>>,
    sessions: Mutex<HashMap<String, Listener>>,
    gone: CancellationToken,
}

#[derive(Deserialize)]
struct Message<'a> {
    id: Option<u64>,
    #[serde(borrow)]
    method: Option<std::borrow::Cow<'a, str>>,
    #[serde(rename = "sessionId", borrow)]
    session: Option<std::borrow::Cow<'a, str>>,
    params: Option<Box<RawValue>>,
    result: Option<Box<RawValue>>,
    error: Option<Refusal>,
}

#[derive(Deserialize)]
struct Refusal {
    message: String,
}

impl Connection {
    /// Starts the reader and the writer. Call it inside the runtime.
    pub(super) fn open(
        input: impl AsyncWrite + Send + Unpin + 'static,
        output: impl AsyncRead + Send + Unpin + 'static,
    ) -> Self {
        let (commands, queue) = mpsc::channel(COMMANDS_MAX);
        let shared = Arc::new(Shared {
            next_id: AtomicU64::new(1),
            waiting: Mutex::default(),
            sessions: Mutex::default(),
            gone: CancellationToken::new(),
        });
        tokio::spawn(write(input, queue, Arc::clone(&shared)));
        tokio::spawn(read(output, Arc::clone(&shared)));
        Self { commands, shared }
    }

    /// Cancelled when the browser exits.
    pub(super) fn gone(&self) -> &CancellationToken {
        &self.shared.gone
    }

    /// Subscribes to the events of a session; those without a session have the empty name.
    pub(super) fn listen(&self, session: &str) -> Events {
        self.listen_as(&[session])
    }

    /// Subscribes to events under several names. See [`Forwarder::forward`].
    pub(super) fn listen_as(&self, names: &[&str]) -> Events {
        let (listener, events) = Listener::new();
        let mut sessions = locked(&self.shared.sessions);
        for name in names {
            sessions.insert((*name).to_owned(), listener.named(name));
        }
        events
    }

    /// Delivers the events of another session to the listener of this one as well, unless it has
    /// a listener already.
    pub(super) fn listen_too(&self, session: &str, other: &str) {
        let mut sessions = locked(&self.shared.sessions);
        if let Some(listener) = sessions.get(session).map(|own| own.named(other)) {
            sessions.entry(other.to_owned()).or_insert(listener);
        }
    }

    /// Ends the subscription to one session; others of the same listener go on.
    pub(super) fn forget(&self, name: &str) {
        locked(&self.shared.sessions).remove(name);
    }

    /// Ends the subscription that has this name, under all of its names.
    pub(super) fn forget_all(&self, name: &str) {
        let mut sessions = locked(&self.shared.sessions);
        if let Some(gone) = sessions.remove(name) {
            sessions.retain(|_, listener| !listener.is_same(&gone));
        }
    }

    /// Sends a command and waits for its response.
    ///
    /// # Errors
    /// [`CallError`].
    pub(super) async fn call<T: Command>(
        &self,
        session: Option<&str>,
        params: T,
    ) -> Result<T::Response, CallError> {
        let (sender, response) = oneshot::channel();
        let id = self.shared.next_id.fetch_add(1, Ordering::Relaxed);
        let message = encode(id, session, &params)?;
        locked(&self.shared.waiting).insert(id, sender);
        let _waiting = PendingCommand {
            shared: &self.shared,
            id,
        };
        let sent = self.commands.send(message).await;
        if sent.is_err() || self.shared.gone.is_cancelled() {
            return Err(CallError::Gone);
        }
        let result = response.await.map_err(|_| CallError::Gone)??;
        serde_json::from_str(result.get()).map_err(CallError::Invalid)
    }

    /// Sends a command without waiting for its response.
    pub(super) fn post<T: Command>(&self, session: &str, params: &T) {
        post(&self.commands, &self.shared, Some(session), params);
    }

    /// Sends commands to the browser itself without waiting for their responses, and events of the
    /// browser to a session, without keeping the pipes open.
    pub(super) fn forwarder(&self) -> Forwarder {
        Forwarder {
            commands: self.commands.clone(),
            shared: Arc::clone(&self.shared),
        }
    }
}

/// See [`Connection::forwarder`].
pub(super) struct Forwarder {
    commands: mpsc::Sender<Vec<u8>>,
    shared: Arc<Shared>,
}

impl Forwarder {
    pub(super) fn post<T: Command>(&self, params: &T) {
        post(&self.commands, &self.shared, None, params);
    }

    /// Cancelled when the browser exits; cancelling it ends the browser.
    pub(super) fn gone(&self) -> &CancellationToken {
        &self.shared.gone
    }

    /// Hands an event of the browser itself to the listener of this name.
    pub(super) fn forward(&self, name: &str, event: Event) {
        self.shared.deliver(name, event.method, event.params);
    }
}

/// A full queue drops the command: the browser no longer reads.
fn post<T: Command>(
    commands: &mpsc::Sender<Vec<u8>>,
    shared: &Shared,
    session: Option<&str>,
    params: &T,
) {
    let id = shared.next_id.fetch_add(1, Ordering::Relaxed);
    if let Ok(message) = encode(id, session, params) {
        let _full = commands.try_send(message);
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.shared.gone.cancel();
    }
}

fn encode<T: Command>(id: u64, session: Option<&str>, params: &T) -> Result<Vec<u8>, CallError> {
    let call = MethodCall {
        id: CallId::new(usize::try_from(id).unwrap_or(usize::MAX)),
        method: params.identifier(),
        session_id: session.map(str::to_owned),
        params: serde_json::to_value(params).map_err(CallError::Invalid)?,
    };
    let mut message = serde_json::to_vec(&call).map_err(CallError::Invalid)?;
    message.push(0);
    Ok(message)
}

async fn write(
    mut input: impl AsyncWrite + Unpin,
    mut queue: mpsc::Receiver<Vec<u8>>,
    shared: Arc<Shared>,
) {
    let writing = async {
        while let Some(message) = queue.recv().await {
            if input.write_all(&message).await.is_err() || input.flush().await.is_err() {
                break;
            }
        }
    };
    shared.gone.run_until_cancelled(writing).await;
    shared.end();
}

async fn read(output: impl AsyncRead + Unpin, shared: Arc<Shared>) {
    let mut output = BufReader::with_capacity(256 * 1024, output);
    let mut message = Vec::new();
    let reading = async {
        while let Some(frame) = next_frame(&mut output, &mut message).await {
            match frame {
                Frame::Whole => shared.handle(&message),
                Frame::Oversize { bytes, tail } => shared.drop_oversize(&message, &tail, bytes),
            }
        }
    };
    shared.gone.run_until_cancelled(reading).await;
    shared.end();
}

impl Shared {
    fn handle(&self, message: &[u8]) {
        let Ok(message) = serde_json::from_slice::<Message<'_>>(message) else {
            return;
        };
        if let Some(id) = message.id {
            let Some(waiting) = locked(&self.waiting).remove(&id) else {
                return;
            };
            let response = match (message.result, message.error) {
                (Some(result), None) => Ok(result),
                (_, Some(refusal)) => Err(CallError::Refused(refusal.message)),
                (None, None) => Err(CallError::Refused("an empty response".to_owned())),
            };
            let _cancelled = waiting.send(response);
        } else if let (Some(method), Some(params)) = (message.method, message.params) {
            let session = message.session.unwrap_or_default();
            self.deliver(&session, method.into_owned(), params);
        }
    }

    /// Queues an event for its subscriber. One that does not keep up loses its channel, which ends
    /// its page.
    fn deliver(&self, session: &str, method: String, params: Box<RawValue>) {
        let mut sessions = locked(&self.sessions);
        let Some(listener) = sessions.get(session) else {
            return;
        };
        if !listener.deliver(method, params) {
            sessions.remove(session);
        }
    }

    /// Ends what caused a message beyond the size limit, and nothing else: the command that waits
    /// for it, or the session whose event it is.
    fn drop_oversize(&self, head: &[u8], tail: &[u8], bytes: u64) {
        let cause = oversize_cause(head, tail);
        tracing::warn!(
            bytes,
            "a message of the browser was too large and was dropped"
        );
        match cause {
            Some(Cause::Call(id)) => {
                if let Some(waiting) = locked(&self.waiting).remove(&id) {
                    let _cancelled = waiting.send(Err(CallError::Oversize(bytes)));
                }
            }
            Some(Cause::Session(session)) => {
                if let Some(listener) = locked(&self.sessions).remove(&session) {
                    listener.end(SessionEnd::Oversize(bytes));
                }
            }
            None => {}
        }
    }

    fn end(&self) {
        self.gone.cancel();
        locked(&self.waiting).clear();
        locked(&self.sessions).clear();
    }
}

/// What a message belongs to if only its two ends are known.
#[derive(Debug, PartialEq, Eq)]
enum Cause {
    /// The command with this number.
    Call(u64),
    /// This session.
    Session(String),
}

/// The browser writes `id` or `method` first and `sessionId` last, in the order in which they are
/// set, and escapes strings inside, so that no page can imitate either end.
fn oversize_cause(head: &[u8], tail: &[u8]) -> Option<Cause> {
    if let Some(rest) = head.strip_prefix(b"{\"id\":") {
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let id = std::str::from_utf8(&rest[..digits]).ok()?.parse().ok()?;
        return Some(Cause::Call(id));
    }
    let tail = tail.strip_suffix(b"\"}")?;
    let start = tail.iter().rposition(|byte| *byte == b'"')? + 1;
    let session = std::str::from_utf8(&tail[start..]).ok()?;
    let before = tail[..start].ends_with(b",\"sessionId\":\"");
    before.then(|| Cause::Session(session.to_owned()))
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod tests;
