//! The DevTools protocol connection to one browser over a pair of pipes: commands with responses,
//! and events by session. A pipe rather than a debug port, so that no other process can control the
//! browser, and so that it ends with this process.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chromiumoxide::types::{CallId, Command, MethodCall};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

/// Bytes of one message from the browser: a page's HTML (64 MiB) with every character escaped as
/// JSON, and some reserve.
const MESSAGE_BYTES_MAX: usize = 256 * 1024 * 1024;
/// Queued events of one page. A page that causes events faster than they are read is flooding.
const EVENTS_MAX: usize = 16_384;
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
    /// The response does not match the protocol.
    #[error("the browser sent an invalid response")]
    Invalid(#[source] serde_json::Error),
}

/// An event of a session.
#[derive(Debug)]
pub(super) struct Event {
    pub(super) method: String,
    pub(super) params: Box<RawValue>,
}

type Response = Result<Box<RawValue>, CallError>;

/// The two pipes of one browser. Closes with the browser, or on drop.
pub(super) struct Connection {
    commands: mpsc::Sender<Vec<u8>>,
    shared: Arc<Shared>,
}

struct Shared {
    next_id: AtomicU64,
    waiting: Mutex<HashMap<u64, oneshot::Sender<Response>>>,
    sessions: Mutex<HashMap<String, mpsc::Sender<Event>>>,
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
    pub(super) fn listen(&self, session: &str) -> mpsc::Receiver<Event> {
        let (sender, events) = mpsc::channel(EVENTS_MAX);
        locked(&self.shared.sessions).insert(session.to_owned(), sender);
        events
    }

    /// Ends the subscription of a session.
    pub(super) fn forget(&self, session: &str) {
        locked(&self.shared.sessions).remove(session);
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
        locked(&self.shared.waiting).insert(id, sender);
        let message = encode(id, session, &params)?;
        let sent = self.commands.send(message).await;
        if sent.is_err() || self.shared.gone.is_cancelled() {
            locked(&self.shared.waiting).remove(&id);
            return Err(CallError::Gone);
        }
        let result = response.await.map_err(|_| CallError::Gone)??;
        serde_json::from_str(result.get()).map_err(CallError::Invalid)
    }

    /// Sends a command without waiting for its response.
    pub(super) fn post<T: Command>(&self, session: &str, params: &T) {
        post(&self.commands, &self.shared, Some(session), params);
    }

    /// Sends commands to the browser itself without waiting for their responses, and without
    /// keeping the pipes open.
    pub(super) fn poster(&self) -> Poster {
        Poster {
            commands: self.commands.clone(),
            shared: Arc::clone(&self.shared),
        }
    }
}

/// See [`Connection::poster`].
pub(super) struct Poster {
    commands: mpsc::Sender<Vec<u8>>,
    shared: Arc<Shared>,
}

impl Poster {
    pub(super) fn post<T: Command>(&self, params: &T) {
        post(&self.commands, &self.shared, None, params);
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
        loop {
            message.clear();
            let limit = MESSAGE_BYTES_MAX as u64;
            let read = (&mut output).take(limit).read_until(0, &mut message).await;
            match read {
                Ok(_) if message.last() == Some(&0) => {
                    message.pop();
                    shared.handle(&message);
                }
                // The end of the pipe, or a message beyond the size limit.
                _ => break,
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
            let mut sessions = locked(&self.sessions);
            let event = Event {
                method: method.into_owned(),
                params,
            };
            // A subscriber that does not keep up loses its channel, which ends its page.
            if let Some(listener) = sessions.get(&*session)
                && listener.try_send(event).is_err()
            {
                sessions.remove(&*session);
            }
        }
    }

    fn end(&self) {
        self.gone.cancel();
        locked(&self.waiting).clear();
        locked(&self.sessions).clear();
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use chromiumoxide::cdp::browser_protocol::browser::GetVersionParams;
    use tokio::io::duplex;

    use super::*;

    #[tokio::test]
    async fn calls_fail_when_the_browser_exits() {
        let (ours, theirs) = duplex(1024);
        let (output, input) = tokio::io::split(ours);
        let connection = Connection::open(input, output);
        let call = connection.call(None, GetVersionParams::default());
        let end = async {
            tokio::task::yield_now().await;
            drop(theirs);
        };
        let (response, ()) = tokio::join!(call, end);
        assert!(matches!(response, Err(CallError::Gone)), "{response:?}");
        let later = connection.call(None, GetVersionParams::default()).await;
        assert!(matches!(later, Err(CallError::Gone)), "{later:?}");
    }

    #[tokio::test]
    async fn events_reach_their_session_only() {
        let (ours, mut theirs) = duplex(4096);
        let (output, input) = tokio::io::split(ours);
        let connection = Connection::open(input, output);
        let (mut one, mut all) = (connection.listen("one"), connection.listen(""));
        for message in [
            r#"{"method":"A.b","params":{},"sessionId":"one"}"#,
            r#"{"method":"A.c","params":{"x":1}}"#,
            "not a message",
            r#"{"method":"A.d","params":{},"sessionId":"two"}"#,
            r#"{"method":"A.e","params":{},"sessionId":"one"}"#,
        ] {
            let sent = theirs.write_all(format!("{message}\0").as_bytes()).await;
            sent.expect("the other end reads");
        }
        assert_eq!(
            one.recv().await.map(|event| event.method),
            Some("A.b".to_owned())
        );
        assert_eq!(
            one.recv().await.map(|event| event.method),
            Some("A.e".to_owned())
        );
        assert_eq!(
            all.recv().await.map(|event| event.method),
            Some("A.c".to_owned())
        );
    }
}
