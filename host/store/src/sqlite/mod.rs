//! The store in one SQLite file: one connection writes, a few others read. In WAL mode neither
//! blocks the other.

mod accounts;
mod answers;
mod contacts;
mod crawl_progress;
mod crawls;
mod entries;
mod ledger;
mod outbox;
mod prices;
mod row;
mod schema;
mod subscriptions;
mod usage;

use std::time::Duration;

use futures_util::future::BoxFuture;
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqlitePool, SqlitePoolOptions,
    SqliteSynchronous,
};
use sqlx::{ConnectOptions, Connection};
use tokio::sync::{Mutex, MutexGuard};

use crate::data_dir::DataDir;
use crate::error::StoreError;
use crate::store::Store;

use row::failed_to;

/// Read connections. Reads are rare; with two, a slow query does not delay the next one.
const READERS_MAX: u32 = 2;
/// Size of the write-ahead log at which it is checkpointed, in pages: 16 MiB, so that checkpoints
/// are rare.
const CHECKPOINT_PAGES: &str = "4096";
/// Timeout for another connection's lock. Only read connections of this process can hold one.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// The store in `trawl.db` of a data directory.
#[derive(Debug)]
pub struct SqliteStore {
    writer: Mutex<Option<SqliteConnection>>,
    readers: SqlitePool,
    // Fields drop in order: the directory's lock is released last.
    _data: DataDir,
}

impl SqliteStore {
    /// Opens the database of a data directory. Creates it if it is missing, and migrates an older
    /// schema.
    ///
    /// # Errors
    /// [`StoreError::SchemaTooNew`] or [`StoreError::NotOurs`] for a file that this program must
    /// not write to, [`StoreError::Database`] if SQLite fails.
    pub async fn open(data: DataDir) -> Result<Self, StoreError> {
        let options = SqliteConnectOptions::new()
            .filename(data.database()?)
            .foreign_keys(true)
            .busy_timeout(BUSY_TIMEOUT)
            .disable_statement_logging();
        let mut unchecked = options
            .connect()
            .await
            .map_err(failed_to("open the database"))?;
        schema::check(&mut unchecked).await?;
        unchecked
            .close()
            .await
            .map_err(failed_to("open the database"))?;

        let mut writer = options
            .clone()
            .journal_mode(SqliteJournalMode::Wal)
            // A commit returns after fsync: a charge is durable before its page is delivered.
            .synchronous(SqliteSynchronous::Full)
            .pragma("wal_autocheckpoint", CHECKPOINT_PAGES)
            .connect()
            .await
            .map_err(failed_to("open the database"))?;
        schema::migrate(&mut writer).await?;
        let readers = SqlitePoolOptions::new()
            .max_connections(READERS_MAX)
            .connect_lazy_with(options.read_only(true));
        Ok(Self {
            writer: Mutex::new(Some(writer)),
            readers,
            _data: data,
        })
    }

    async fn writer(&self) -> Result<Writer<'_>, StoreError> {
        let guard = self.writer.lock().await;
        if guard.is_none() {
            return Err(failed_to("write")(sqlx::Error::PoolClosed));
        }
        Ok(Writer(guard))
    }
}

/// Exclusive access to the write connection of an open store.
struct Writer<'a>(MutexGuard<'a, Option<SqliteConnection>>);

impl Writer<'_> {
    fn connection(&mut self) -> &mut SqliteConnection {
        self.0
            .as_mut()
            .expect("a writer exists only while the store is open")
    }
}

impl Store for SqliteStore {
    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.readers.close().await;
            if let Some(writer) = self.writer.lock().await.take()
                && let Err(error) = writer.close().await
            {
                tracing::error!(error = %error, "the database did not close cleanly");
            }
        })
    }
}
