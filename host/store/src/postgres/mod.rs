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
mod lease;
mod ledger;
mod lists;
mod logs;
mod outbox;
mod prices;
mod recent;
mod records;
mod row;
mod schema;
mod segments;
#[cfg(test)]
pub(crate) mod server;
mod standby;
mod subscriptions;
#[cfg(test)]
mod tests;
mod totals;
mod url;
mod usage;

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgConnectOptions, PgConnection, PgPool, PgPoolOptions, Postgres};
use sqlx::{ConnectOptions, Connection};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::data_dir::DataDir;
use crate::error::StoreError;
use crate::future::StoreFuture;
use crate::segments::SegmentStore;
use crate::store::Store;

use claim::Nonce;
use lease::Renewal;
use recent::Recent;
use row::{LIST_TIME_MAX, failed_to};

pub use url::{NotAPostgresUrl, PostgresUrl};

const OPENING: &str = "open it";

/// Upper bounds of a pool of connections.
#[derive(Clone, Copy)]
struct Bounds {
    connections: u32,
    /// Wait for a connection.
    wait: Duration,
    /// Time of a statement.
    time: Duration,
}

/// Connections that write.
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

/// The connection that renews the lease. It is no writer: under another nonce it changes nothing.
const RENEWAL: Bounds = Bounds {
    connections: 1,
    wait: Duration::from_secs(2),
    time: Duration::from_secs(2),
};

/// The store in a PostgreSQL database and a data directory.
#[derive(Debug)]
pub struct PostgresStore {
    writers: PgPool,
    readers: PgPool,
    lists: PgPool,
    renewal: Renewal,
    recent: Arc<Recent>,
    rewriting: JoinHandle<()>,
    // Fields drop in order: the directory's lock is released last.
    _data: DataDir,
}

impl PostgresStore {
    /// Connects to a database, and claims it for this process. Creates its tables if there are
    /// none, and migrates an older schema. A process that was suspended or cut off from the
    /// database for longer than its lease is no obstacle: its connections are ended.
    ///
    /// # Errors
    /// [`StoreError::Unreachable`] if there is no connection, [`StoreError::DatabaseInUse`] if
    /// another process uses the database, [`StoreError::ServerTooOld`], [`StoreError::NotUtf8`],
    /// [`StoreError::SchemaTooNew`] or [`StoreError::Damaged`] for a database that this program
    /// must not write to, [`StoreError::NotMoved`] if the accounts are in the data directory.
    pub async fn open(data: DataDir, url: &PostgresUrl) -> Result<Self, StoreError> {
        let options = options(url);
        let mut first = connect(&options, url).await?;
        let found = schema::check(&mut first).await?;
        if found == 0 && data.has_database() {
            return Err(StoreError::NotMoved);
        }
        claim::lock(&mut first, url.shown(), found >= schema::LEASES_SINCE).await?;
        schema::migrate(&mut first).await?;
        let (nonce, lease) = claim::take(&mut first).await?;
        data.note_postgres(url.shown())?;
        logs::name_missing(&mut first, data.path()).await?;
        let recent = recent::timeline(&mut first).await.map(Recent::on);
        let recent = Arc::new(recent.map_err(failed_to(OPENING))?);
        let warned = recent::warn_of_standbys(&mut first).await;
        warned.map_err(failed_to(OPENING))?;
        first.close().await.map_err(failed_to(OPENING))?;
        let joined = |bounds| joined(pool(&options, bounds), nonce, Arc::clone(&recent));
        let renewal = opened(pool(&options, RENEWAL)).await?;
        let writers = opened(joined(WRITERS)).await?;
        Ok(Self {
            readers: opened(joined(READERS)).await?,
            lists: opened(joined(LISTS)).await?,
            renewal: Renewal::start(lease, renewal, nonce),
            rewriting: tokio::spawn({
                let (recent, writers) = (Arc::clone(&recent), writers.clone());
                async move { recent.rewrite(&writers).await }
            }),
            writers,
            recent,
            _data: data,
        })
    }

    /// As [`Self::open`], but waits while another process uses the database: until that has closed
    /// it, or its lease has ended. A database that cannot be reached is waited for as well, once it
    /// was reached. `serving` gets the address of that process, as it has announced it.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub async fn open_when_free(
        data: DataDir,
        url: &PostgresUrl,
        serving: &watch::Sender<Option<String>>,
    ) -> Result<Self, StoreError> {
        standby::wait(&options(url), url, serving).await?;
        Self::open(data, url).await
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

fn options(url: &PostgresUrl) -> PgConnectOptions {
    let options = url.options().clone();
    options
        .application_name("trawl")
        .options([("search_path", schema::NAME)])
        .disable_statement_logging()
}

/// A pool that will open all its connections at once, and others only for those that broke.
fn pool(options: &PgConnectOptions, bounds: Bounds) -> (PgPoolOptions, PgConnectOptions) {
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
    let pool = PgPoolOptions::new()
        .max_connections(bounds.connections)
        .min_connections(bounds.connections)
        .idle_timeout(None)
        .max_lifetime(None)
        .acquire_timeout(bounds.wait);
    (pool, options)
}

/// The same, whose connections write for the process with this nonce.
fn joined(
    (pool, options): (PgPoolOptions, PgConnectOptions),
    nonce: Nonce,
    recent: Arc<Recent>,
) -> (PgPoolOptions, PgConnectOptions) {
    let pool = pool.after_connect(move |connection, _| {
        let recent = Arc::clone(&recent);
        Box::pin(async move { claim::join(connection, nonce, &recent).await })
    });
    (pool, options)
}

async fn opened((pool, options): (PgPoolOptions, PgConnectOptions)) -> Result<PgPool, StoreError> {
    pool.connect_with(options).await.map_err(failed_to(OPENING))
}

impl Drop for PostgresStore {
    fn drop(&mut self) {
        self.rewriting.abort();
    }
}

impl Store for PostgresStore {
    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.rewriting.abort();
            self.lists.close().await;
            self.readers.close().await;
            self.writers.close().await;
            // Last: until then nothing else may write.
            self.renewal.give_up().await;
        })
    }

    fn taken_over(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.renewal.lease.lost())
    }

    fn announce<'a>(&'a self, address: &'a str) -> StoreFuture<'a, ()> {
        Box::pin(self.renewal.announce(address))
    }

    fn segments(self: Arc<Self>) -> Option<Arc<dyn SegmentStore>> {
        Some(self)
    }
}
