//! The store in a PostgreSQL database. The page logs of crawls stay files in the data directory.
//!
//! Transactions of several connections run at the same time. Where they must be exact, a
//! transaction first locks the rows that it decides by, in the order of their keys.

mod accounts;
mod answers;
mod claim;
mod contacts;
mod crawl_progress;
mod crawls;
mod entries;
mod interrupted;
mod ledger;
mod lists;
mod logs;
mod outbox;
mod prices;
mod row;
mod schema;
#[cfg(test)]
pub(crate) mod server;
mod subscriptions;
#[cfg(test)]
mod tests;
mod totals;
mod url;
mod usage;

use std::time::Duration;

use futures_util::future::BoxFuture;
use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgConnectOptions, PgConnection, PgPool, PgPoolOptions, Postgres};
use sqlx::{ConnectOptions, Connection};

use crate::data_dir::DataDir;
use crate::error::StoreError;
use crate::store::Store;

use claim::Nonce;
use row::{LIST_TIME_MAX, failed_to};

pub use url::{NotAPostgresUrl, PostgresUrl};

/// Upper bounds of a pool of connections.
#[derive(Clone, Copy)]
struct Bounds {
    connections: u32,
    /// Wait for a connection.
    wait: Duration,
    /// Time of a statement.
    time: Duration,
}

/// Connections for ledger entries alone: a charge must not wait for rows of crawls, answers and
/// webhook events, of which one account may write very many.
const LEDGER: Bounds = Bounds {
    connections: 2,
    wait: Duration::from_secs(10),
    time: Duration::from_secs(60),
};
/// Connections for everything else that is written.
const WRITERS: Bounds = Bounds {
    connections: 4,
    wait: Duration::from_secs(10),
    time: Duration::from_secs(60),
};
/// Connections for the server's own reads. An audit of a large ledger takes a while.
const READERS: Bounds = Bounds {
    connections: 4,
    wait: Duration::from_secs(10),
    time: Duration::from_secs(600),
};
/// Connections for lists and statements, so that the queries of many callers delay each other and
/// nothing else.
const LISTS: Bounds = Bounds {
    connections: 2,
    wait: Duration::from_secs(5),
    time: LIST_TIME_MAX,
};

/// The store in a PostgreSQL database and a data directory.
#[derive(Debug)]
pub struct PostgresStore {
    ledger: PgPool,
    writers: PgPool,
    readers: PgPool,
    lists: PgPool,
    // Fields drop in order: the directory's lock is released last.
    _data: DataDir,
}

impl PostgresStore {
    /// Connects to a database, and claims it for this process. Creates its tables if there are
    /// none, and migrates an older schema.
    ///
    /// # Errors
    /// [`StoreError::Unreachable`] if there is no connection, [`StoreError::DatabaseInUse`] if
    /// another process uses the database, [`StoreError::ServerTooOld`], [`StoreError::NotUtf8`],
    /// [`StoreError::SchemaTooNew`] or [`StoreError::Damaged`] for a database that this program
    /// must not write to, [`StoreError::NotMoved`] if the accounts are in the data directory.
    pub async fn open(data: DataDir, url: &PostgresUrl) -> Result<Self, StoreError> {
        let options = url.options().clone();
        let options = options
            .application_name("trawl")
            .options([("search_path", schema::NAME)])
            .disable_statement_logging();
        let mut first = connect(&options, url).await?;
        let is_empty = schema::check(&mut first).await?;
        if is_empty && data.has_database() {
            return Err(StoreError::NotMoved);
        }
        claim::lock(&mut first, url.shown()).await?;
        schema::migrate(&mut first).await?;
        let nonce = claim::take(&mut first).await?;
        data.note_postgres(url.shown())?;
        logs::name_missing(&mut first, data.path()).await?;
        first.close().await.map_err(failed_to("open it"))?;
        Ok(Self {
            ledger: pool(&options, nonce, LEDGER).await?,
            writers: pool(&options, nonce, WRITERS).await?,
            readers: pool(&options, nonce, READERS).await?,
            lists: pool(&options, nonce, LISTS).await?,
            _data: data,
        })
    }

    /// A connection for one list, whose statements fail with [`StoreError::TooSlow`] from
    /// [`LIST_TIME_MAX`] on. Fails so itself when none is free in time.
    async fn list_connection(&self) -> Result<PoolConnection<Postgres>, StoreError> {
        self.lists.acquire().await.map_err(|error| match error {
            sqlx::Error::PoolTimedOut => StoreError::TooSlow(LISTS.wait),
            error => failed_to("read a list")(error),
        })
    }
}

async fn connect(
    options: &PgConnectOptions,
    url: &PostgresUrl,
) -> Result<PgConnection, StoreError> {
    let connected = options.connect().await;
    connected.map_err(|source| StoreError::Unreachable {
        server: url.shown().to_owned(),
        source,
    })
}

/// A pool that opens all its connections at once, and others only for those that broke.
async fn pool(
    options: &PgConnectOptions,
    nonce: Nonce,
    bounds: Bounds,
) -> Result<PgPool, StoreError> {
    let options = options.clone().options([
        ("statement_timeout", bounds.time.as_millis().to_string()),
        // A connection whose process is gone must not keep its locks.
        ("idle_in_transaction_session_timeout", "60000".to_owned()),
        ("tcp_keepalives_idle", "10".to_owned()),
        ("tcp_keepalives_interval", "5".to_owned()),
        ("tcp_keepalives_count", "3".to_owned()),
        // Keepalives are not sent while an answer waits to be acknowledged.
        ("tcp_user_timeout", "25000".to_owned()),
    ]);
    PgPoolOptions::new()
        .max_connections(bounds.connections)
        .min_connections(bounds.connections)
        .idle_timeout(None)
        .max_lifetime(None)
        .acquire_timeout(bounds.wait)
        .after_connect(move |connection, _| Box::pin(claim::join(connection, nonce)))
        .connect_with(options)
        .await
        .map_err(failed_to("open it"))
}

impl Store for PostgresStore {
    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.lists.close().await;
            self.readers.close().await;
            self.writers.close().await;
            self.ledger.close().await;
        })
    }
}
