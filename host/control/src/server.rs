//! The server's end: answers the command line, one connection a command.

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

use super::perform::performed;
use super::request::{Reply, Request};
use super::{ControlError, socket};
use trawl_billing::Billing;
use trawl_store::DataDir;

/// Commands at work at once; more wait their turn.
const CONNECTIONS_MAX: usize = 16;
/// Longest request line in bytes.
const REQUEST_BYTES_MAX: u64 = 64 * 1024;
/// How long a connection may say nothing.
const IDLE_MAX: Duration = Duration::from_secs(60);
/// Pause after a connection could not be accepted (no more file descriptors, say).
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// What a running server answers from.
#[derive(Clone)]
pub struct ControlHandler {
    /// Accounts and the ledger.
    pub billing: Billing,
    /// Tells the plugins in effect, as `GET /plugins` does.
    pub plugins: Arc<dyn Fn() -> Value + Send + Sync>,
}

impl ControlHandler {
    async fn answer(&self, request: Request) -> Reply {
        match request {
            Request::Plugins {} => Reply::Plugins((self.plugins)()),
            request => performed(&self.billing, request).await,
        }
    }
}

/// Answers at the socket of a data directory until `stop`. The process must have taken the directory.
///
/// # Errors
/// [`ControlError::Socket`] when the socket cannot be made.
pub fn listen(
    data: &Path,
    desk: ControlHandler,
    stop: CancellationToken,
    tasks: &TaskTracker,
) -> Result<(), ControlError> {
    let path = DataDir::socket_path(data);
    let listener = socket::bound(data).map_err(|source| ControlError::Socket {
        path: path.clone(),
        source,
    })?;
    let connections = tasks.clone();
    tasks.spawn(async move {
        accept(listener, desk, &stop, &connections).await;
        // A file without a listener does no harm: the next server replaces it.
        let _is_gone = std::fs::remove_file(path);
    });
    Ok(())
}

async fn accept(
    listener: UnixListener,
    desk: ControlHandler,
    stop: &CancellationToken,
    tasks: &TaskTracker,
) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let place = Arc::clone(&places).acquire_owned();
        let accepted = async { (place.await, listener.accept().await) };
        let (place, accepted) = tokio::select! {
            () = stop.cancelled() => return,
            accepted = accepted => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                let (desk, stop) = (desk.clone(), stop.clone());
                tasks.spawn(async move {
                    let _place = place;
                    // The client sees a closed connection and says so itself.
                    let _ended = stop.run_until_cancelled(converse(stream, &desk)).await;
                });
            }
            Err(error) => {
                tracing::warn!(error = %error, "a command line could not connect");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

async fn converse(stream: UnixStream, desk: &ControlHandler) -> io::Result<()> {
    let (reader, mut writer) = stream.into_split();
    let mut reader = BufReader::new(reader);
    loop {
        let mut line = String::new();
        let mut limited = (&mut reader).take(REQUEST_BYTES_MAX);
        let n_bytes = tokio::time::timeout(IDLE_MAX, limited.read_line(&mut line)).await??;
        if n_bytes == 0 {
            return Ok(());
        }
        let is_whole = line.ends_with('\n');
        let reply = match serde_json::from_str(&line) {
            Ok(request) => desk.answer(request).await,
            Err(error) => Reply::Error(format!("the request is not understood: {error}")),
        };
        let mut text = serde_json::to_string(&reply)?;
        text.push('\n');
        writer.write_all(text.as_bytes()).await?;
        if !is_whole {
            // The rest of a line that is too long is not a request.
            return Ok(());
        }
    }
}
