//! The server side: answers requests of the command line on the control socket.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use trawl_billing::Billing;
use trawl_store::DataDir;

use crate::error::ControlError;
use crate::perform::perform_to_reply;
use crate::reply::Reply;
use crate::request::Request;
use crate::socket;

/// Concurrent connections; more wait to be accepted.
const CONNECTIONS_MAX: usize = 16;
/// Maximum length of a request line in bytes.
const REQUEST_BYTES_MAX: u64 = 64 * 1024;
/// Idle timeout of a connection.
const IDLE_MAX: Duration = Duration::from_secs(60);
/// Delay after a connection could not be accepted, for instance for lack of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Answers requests from the state of a running server.
#[derive(Clone)]
pub struct ControlHandler {
    /// Accounts and the ledger.
    pub billing: Billing,
    /// Returns the loaded plugins, as in `GET /plugins`; `None` before they are loaded.
    pub plugins: Arc<dyn Fn() -> Option<Value> + Send + Sync>,
}

impl ControlHandler {
    async fn answer(&self, request: Request) -> Reply {
        match request {
            Request::Plugins {} => (self.plugins)().map_or_else(
                || Reply::Error("the server is loading its plugins, try again".to_owned()),
                Reply::Plugins,
            ),
            request => perform_to_reply(&self.billing, request).await,
        }
    }
}

/// Listens on the socket of a data directory until `stop`. The process must have locked the
/// directory.
///
/// # Errors
/// [`ControlError::Socket`] if the socket cannot be created.
pub fn listen(
    data: &Path,
    handler: ControlHandler,
    stop: CancellationToken,
    tasks: &TaskTracker,
) -> Result<(), ControlError> {
    let path = DataDir::socket_path(data);
    let listener = socket::bind_listener(data).map_err(|source| ControlError::Socket {
        path: path.clone(),
        source,
    })?;
    let connections = tasks.clone();
    tasks.spawn(async move {
        accept(listener, handler, &stop, &connections).await;
        // A stale socket file is harmless: the next server replaces it.
        let _ignored = std::fs::remove_file(path);
    });
    Ok(())
}

async fn accept(
    listener: UnixListener,
    handler: ControlHandler,
    stop: &CancellationToken,
    tasks: &TaskTracker,
) {
    let permits = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let permit = Arc::clone(&permits).acquire_owned();
        let accepted = async { (permit.await, listener.accept().await) };
        let (permit, accepted) = tokio::select! {
            () = stop.cancelled() => return,
            accepted = accepted => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                let (handler, stop) = (handler.clone(), stop.clone());
                tasks.spawn(async move {
                    let _permit = permit;
                    // The client reports a broken connection itself.
                    let _ignored = stop.run_until_cancelled(serve(stream, &handler)).await;
                });
            }
            Err(error) => {
                tracing::warn!(error = %error, "could not accept a control connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

async fn serve(stream: UnixStream, handler: &ControlHandler) -> io::Result<()> {
    let (reader, mut writer) = stream.into_split();
    let mut reader = BufReader::new(reader);
    loop {
        let mut line = String::new();
        let mut limited = (&mut reader).take(REQUEST_BYTES_MAX);
        let n_bytes = tokio::time::timeout(IDLE_MAX, limited.read_line(&mut line)).await??;
        if n_bytes == 0 {
            return Ok(());
        }
        let is_complete = line.ends_with('\n');
        let reply = match serde_json::from_str(&line) {
            Ok(request) => handler.answer(request).await,
            Err(error) => Reply::Error(format!("the request is invalid: {error}")),
        };
        let mut text = serde_json::to_string(&reply)?;
        text.push('\n');
        writer.write_all(text.as_bytes()).await?;
        if !is_complete {
            // The rest of an overlong line must not be read as a request.
            return Ok(());
        }
    }
}
