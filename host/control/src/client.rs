//! The command line's end: a running server when there is one, the store itself otherwise.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use super::perform::performed;
use super::request::{Reply, Request};
use super::{ControlError, socket};
use trawl_billing::{Billing, SeatPrices};
use trawl_model::clock::Clock;
use trawl_store::sqlite::SqliteStore;
use trawl_store::{DataDir, DataDirError, Store, StoreError};

/// How long to wait for a server that has taken the directory and is not listening yet, or for another command.
const START_UP_MAX: Duration = Duration::from_secs(3);
const LOOK_AGAIN: Duration = Duration::from_millis(50);
/// How long the server may take for one answer. Adding up a large ledger takes a while.
const ANSWER_MAX: Duration = Duration::from_secs(600);

/// Whoever answers the operator.
#[derive(Debug)]
pub struct Operator(Door);

#[derive(Debug)]
enum Door {
    Server(BufReader<UnixStream>),
    Store {
        billing: Billing,
        store: Arc<dyn Store>,
    },
}

impl Operator {
    /// Reaches the server that uses this data directory, or takes the directory when none does. With `create`, a
    /// directory that is missing is made.
    ///
    /// # Errors
    /// [`ControlError::NoAnswer`] when a process has taken the directory and does not listen; otherwise what kept the
    /// store from opening.
    pub async fn reach(data: &Path, create: bool) -> Result<Self, ControlError> {
        let give_up = Instant::now() + START_UP_MAX;
        loop {
            if let Ok(stream) = socket::connected(data).await {
                return Ok(Self(Door::Server(BufReader::new(stream))));
            }
            let taken = if create {
                DataDir::create(data)
            } else {
                DataDir::open(data)
            };
            match taken {
                Ok(data) => return Self::alone(data).await,
                Err(error @ DataDirError::InUse { .. }) if Instant::now() >= give_up => {
                    let socket = DataDir::socket_path(data);
                    let in_use = error.into();
                    return Err(ControlError::NoAnswer { in_use, socket });
                }
                Err(DataDirError::InUse { .. }) => tokio::time::sleep(LOOK_AGAIN).await,
                Err(error) => return Err(StoreError::from(error).into()),
            }
        }
    }

    /// Reaches the server that uses this data directory; `None` when none does.
    pub async fn beside(data: &Path) -> Option<Self> {
        let stream = socket::connected(data).await.ok()?;
        Some(Self(Door::Server(BufReader::new(stream))))
    }

    async fn alone(data: DataDir) -> Result<Self, ControlError> {
        let store: Arc<dyn Store> = Arc::new(SqliteStore::open(data).await?);
        let tasks = TaskTracker::new();
        let billing = Billing::start(Arc::clone(&store), Clock::wall(), &tasks).await?;
        Ok(Self(Door::Store { billing, store }))
    }

    /// The same with these prices of seats, unless a running server answers, which knows its own.
    #[must_use]
    pub fn with_seat_prices(self, prices: SeatPrices) -> Self {
        Self(match self.0 {
            Door::Store { billing, store } => Door::Store {
                billing: billing.with_seat_prices(prices),
                store,
            },
            server @ Door::Server(_) => server,
        })
    }

    /// Asks one question.
    ///
    /// # Errors
    /// [`ControlError::Refused`] when it cannot be done, [`ControlError::Broken`] or [`ControlError::Version`] when the
    /// server did not answer properly.
    pub async fn ask(&mut self, request: Request) -> Result<Reply, ControlError> {
        let reply = match &mut self.0 {
            Door::Server(stream) => {
                let line = exchange(stream, &request)
                    .await
                    .map_err(ControlError::Broken)?;
                serde_json::from_str(&line).map_err(ControlError::Version)?
            }
            Door::Store { billing, .. } => performed(billing, request).await,
        };
        match reply {
            Reply::Error(text) => Err(ControlError::Refused(text)),
            reply => Ok(reply),
        }
    }

    /// Finishes what was begun and gives the data directory back.
    pub async fn leave(self) {
        if let Door::Store { billing, store } = self.0 {
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
    match tokio::time::timeout(ANSWER_MAX, read).await?? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(reply),
    }
}
