//! The client side: talks to a running server, or opens the store itself if there is none.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use trawl_billing::{Billing, SeatPrices};
use trawl_model::clock::Clock;
use trawl_store::postgres::PostgresUrl;
use trawl_store::{DataDir, DataDirError, Store, StoreError};

use crate::error::ControlError;
use crate::perform::perform_to_reply;
use crate::reply::Reply;
use crate::request::Request;
use crate::socket;

/// How long to wait for a process that has locked the directory: a server that does not listen yet,
/// or another command.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
const RETRY_DELAY: Duration = Duration::from_millis(50);
/// Timeout of a reply. The audit of a large ledger takes a while.
const REPLY_TIMEOUT: Duration = Duration::from_secs(600);

/// Carries out the operator's requests.
#[derive(Debug)]
pub struct Operator(Backend);

#[derive(Debug)]
enum Backend {
    Server(BufReader<UnixStream>),
    Store {
        billing: Billing,
        store: Arc<dyn Store>,
    },
}

impl Operator {
    /// Connects to the server that uses this data directory, or locks the directory and opens its
    /// store if there is none. `create` creates a missing directory.
    ///
    /// # Errors
    /// [`ControlError::NoAnswer`] if a process has locked the directory but does not listen;
    /// otherwise why the store could not be opened.
    pub async fn reach(data: &Path, create: bool) -> Result<Self, ControlError> {
        Self::reach_store(data, create, None).await
    }

    /// The same for a server whose accounts are in the PostgreSQL database with this URL.
    ///
    /// # Errors
    /// As [`Self::reach`].
    pub async fn reach_store(
        data: &Path,
        create: bool,
        url: Option<&PostgresUrl>,
    ) -> Result<Self, ControlError> {
        let deadline = Instant::now() + CONNECT_TIMEOUT;
        loop {
            if let Ok(stream) = socket::connect(data).await {
                return Ok(Self(Backend::Server(BufReader::new(stream))));
            }
            let locked = if create {
                DataDir::create(data)
            } else {
                DataDir::open(data)
            };
            match locked {
                Ok(data) => return Self::open_store(data, url).await,
                Err(error @ DataDirError::InUse { .. }) if Instant::now() >= deadline => {
                    let socket = DataDir::socket_path(data);
                    let in_use = error.into();
                    return Err(ControlError::NoAnswer { in_use, socket });
                }
                Err(DataDirError::InUse { .. }) => tokio::time::sleep(RETRY_DELAY).await,
                Err(error) => return Err(StoreError::from(error).into()),
            }
        }
    }

    /// Connects to the server that uses this data directory; `None` if there is none.
    pub async fn connect(data: &Path) -> Option<Self> {
        let stream = socket::connect(data).await.ok()?;
        Some(Self(Backend::Server(BufReader::new(stream))))
    }

    async fn open_store(data: DataDir, url: Option<&PostgresUrl>) -> Result<Self, ControlError> {
        let store = trawl_store::open(data, url).await?;
        let tasks = TaskTracker::new();
        let billing = Billing::start(store.clone(), Clock::wall(), &tasks).await?;
        Ok(Self(Backend::Store { billing, store }))
    }

    /// Sets the seat prices. A running server uses its own.
    #[must_use]
    pub fn with_seat_prices(self, prices: SeatPrices) -> Self {
        Self(match self.0 {
            Backend::Store { billing, store } => Backend::Store {
                billing: billing.with_seat_prices(prices),
                store,
            },
            server @ Backend::Server(_) => server,
        })
    }

    /// Carries out a request.
    ///
    /// # Errors
    /// [`ControlError::Refused`] if it failed, [`ControlError::Broken`] or
    /// [`ControlError::Version`] if the server sent no valid reply.
    pub async fn ask(&mut self, request: Request) -> Result<Reply, ControlError> {
        let reply = match &mut self.0 {
            Backend::Server(stream) => {
                let line = exchange(stream, &request)
                    .await
                    .map_err(ControlError::Broken)?;
                serde_json::from_str(&line).map_err(ControlError::Version)?
            }
            Backend::Store { billing, .. } => perform_to_reply(billing, request).await,
        };
        match reply {
            Reply::Error(text) => Err(ControlError::Refused(text)),
            reply => Ok(reply),
        }
    }

    /// Finishes pending writes and releases the data directory.
    pub async fn leave(self) {
        if let Backend::Store { billing, store } = self.0 {
            billing.close().await;
            store.close().await;
        }
    }
}

async fn exchange(stream: &mut BufReader<UnixStream>, request: &Request) -> io::Result<String> {
    let mut line = serde_json::to_string(request)?;
    line.push('\n');
    stream.write_all(line.as_bytes()).await?;
    let mut reply = String::new();
    let read = stream.read_line(&mut reply);
    let n_bytes = tokio::time::timeout(REPLY_TIMEOUT, read).await??;
    if n_bytes == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(reply)
}
