//! The store in a PostgreSQL database. The page logs of crawls are files in the data directory, or
//! segments in an object store, of which the database knows.
//!
//! Transactions of several connections run at the same time. Where they must be exact, a
//! transaction first locks the rows that it decides by, in the order of their keys.

mod accounts;
mod answers;
mod claim;
mod connections;
mod contacts;
mod crawl_progress;
mod crawls;
mod doubts;
mod entries;
mod interrupted;
mod lease;
mod ledger;
mod lists;
mod logs;
mod moving;
mod outbox;
mod prices;
mod recent;
mod rewriting;
mod row;
mod schema;
mod segments;
#[cfg(test)]
pub(crate) mod server;
mod standby;
mod status;
mod subscriptions;
#[cfg(test)]
mod tests;
mod totals;
mod url;
mod usage;
mod verify;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use sqlx::Connection as _;
use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgPool, Postgres};
use tokio::sync::watch;

use trawl_model::secret::Secret;

use crate::data_dir::DataDir;
use crate::error::StoreError;
use crate::future::StoreFuture;
use crate::segments::SegmentStore;
use crate::serving::Serving;
use crate::store::Store;

use connections::{
    LEDGER, LISTS, OPENING, READERS, RENEWAL, WRITERS, connect, joined, opened, options, pool,
};
use doubts::Doubts;
use lease::Renewal;
use recent::Recent;
use rewriting::Rewriting;
use row::failed_to;

pub use moving::{Moved, move_data};
pub use status::{DatabaseLease, DatabaseStatus, status};
pub use url::{NotAPostgresUrl, PostgresUrl};
pub use verify::{Verified, verify};

/// The store in a PostgreSQL database and a data directory.
#[derive(Debug)]
pub struct PostgresStore {
    ledger: PgPool,
    writers: PgPool,
    readers: PgPool,
    lists: PgPool,
    renewal: Renewal,
    recent: Arc<Recent>,
    doubts: Arc<Doubts>,
    rewriting: Rewriting,
    // Fields drop in order: the directory's lock is released last.
    _data: Option<DataDir>,
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
        let store = Self::claim(&data, url).await?;
        Ok(store.with(data))
    }

    /// The same, which keeps its data directory locked.
    fn with(self, data: DataDir) -> Self {
        Self {
            _data: Some(data),
            ..self
        }
    }

    async fn claim(data: &DataDir, url: &PostgresUrl) -> Result<Self, StoreError> {
        let options = options(url);
        let mut first = connect(&options, url).await?;
        let found = schema::check(&mut first).await?;
        // A move that was interrupted has left the tables, without rows.
        if data.has_database() && (found == 0 || !accounts::exist(&mut first).await?) {
            return Err(StoreError::NotMoved);
        }
        claim::lock(&mut first, url.shown(), found >= schema::LEASES_SINCE).await?;
        schema::migrate(&mut first).await?;
        // Before the lease begins: it takes a while where there are many crawls.
        logs::name_missing(&mut first, data.path()).await?;
        let (nonce, lease) = claim::take(&mut first).await?;
        data.note_postgres(url.shown())?;
        let recent = recent::timeline(&mut first).await.map(Recent::on);
        let recent = Arc::new(recent.map_err(failed_to(OPENING))?);
        let warned = recent::warn_of_standbys(&mut first).await;
        warned.map_err(failed_to(OPENING))?;
        first.close().await.map_err(failed_to(OPENING))?;
        let joined = |bounds| joined(pool(&options, bounds), nonce, Arc::clone(&recent));
        let renewal = opened(pool(&options, RENEWAL)).await?;
        let ledger = opened(joined(LEDGER)).await?;
        let doubts = Arc::new(Doubts::default());
        Ok(Self {
            readers: opened(joined(READERS)).await?,
            lists: opened(joined(LISTS)).await?,
            writers: opened(joined(WRITERS)).await?,
            renewal: Renewal::start(lease, renewal, nonce),
            rewriting: Rewriting::start(Arc::clone(&recent), Arc::clone(&doubts), ledger.clone()),
            ledger,
            recent,
            doubts,
            _data: None,
        })
    }

    /// As [`Self::open`], but waits while another process uses the database: until that has closed
    /// it, or its lease has ended. A database that cannot be reached is waited for as well, once it
    /// was reached. `serving` gets where that process serves, as it has announced it.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub async fn open_when_free(
        data: DataDir,
        url: &PostgresUrl,
        serving: &watch::Sender<Option<Serving>>,
    ) -> Result<Self, StoreError> {
        let mut was_reached = false;
        let store = loop {
            standby::wait(url, serving, was_reached).await?;
            was_reached = true;
            match Self::claim(&data, url).await {
                // Another one was quicker, or the server of the database is replaced just now.
                Err(StoreError::DatabaseInUse { .. }) => {}
                Err(error) if error.is_unreachable() => {
                    tracing::warn!(error = %error, "the database cannot be taken over yet");
                }
                claimed => break claimed?,
            }
        };
        Ok(store.with(data))
    }

    /// A connection for one list, whose statements fail with [`StoreError::TooSlow`] when they take
    /// too long. Fails so itself when none is free in time.
    async fn list_connection(&self) -> Result<PoolConnection<Postgres>, StoreError> {
        self.lists.acquire().await.map_err(|error| match error {
            sqlx::Error::PoolTimedOut => StoreError::TooSlow(LISTS.wait),
            error => failed_to("read a list")(error),
        })
    }
}

impl Store for PostgresStore {
    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.rewriting.end();
            self.lists.close().await;
            self.readers.close().await;
            self.writers.close().await;
            self.ledger.close().await;
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

    fn cluster_key(&self) -> Option<Secret> {
        Some(self.renewal.key())
    }

    fn segments(self: Arc<Self>) -> Option<Arc<dyn SegmentStore>> {
        Some(self)
    }
}
