//! The store in one SQLite file: one connection writes, a few others read. In WAL mode neither
//! blocks the other.

mod accounts;
mod answers;
mod contacts;
mod crawl_progress;
mod crawls;
mod entries;
mod interrupted;
mod ledger;
mod lists;
mod logs;
mod mark;
mod outbox;
mod prices;
mod row;
mod schema;
mod snapshot;
mod subscriptions;
mod totals;
mod usage;

use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use sqlx::pool::PoolConnection;
use sqlx::sqlite::{
    Sqlite, SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqlitePool,
    SqlitePoolOptions, SqliteSynchronous,
};
use sqlx::{ConnectOptions, Connection};
use tokio::sync::{Mutex, MutexGuard};

use crate::data_dir::DataDir;
use crate::error::StoreError;
use crate::store::Store;

pub(crate) use snapshot::snapshot;

use mark::LedgerMark;
use row::{LIST_TIME_MAX, failed_to};

/// Connections for the server's own reads, which find few rows by key.
const READERS_MAX: u32 = 2;
/// Connections for lists and statements, so that the queries of many callers delay each other and
/// nothing else.
const LISTS_MAX: u32 = 2;
/// Longest wait for one of them.
const LIST_WAIT_MAX: Duration = Duration::from_secs(5);
/// Instructions of SQLite's virtual machine between two looks at the time: about a millisecond.
const LIST_CHECK_STEPS: i32 = 20_000;
/// Size of the write-ahead log at which it is checkpointed, in pages: 16 MiB, so that checkpoints
/// are rare.
const CHECKPOINT_PAGES: &str = "4096";
/// Timeout for another connection's lock. Only read connections of this process can hold one.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// The store in `trawl.db` of a data directory.
#[derive(Debug)]
pub struct SqliteStore {
    writer: Mutex<Option<SqliteConnection>>,
    /// To open the write connection again.
    write_options: SqliteConnectOptions,
    readers: SqlitePool,
    lists: SqlitePool,
    mark: LedgerMark,
    // Fields drop in order: the directory's lock is released last.
    data: DataDir,
}

impl SqliteStore {
    /// Opens the database of a data directory. Creates it if it is missing, and migrates an older
    /// schema.
    ///
    /// # Errors
    /// [`StoreError::SchemaTooNew`] or [`StoreError::NotOurs`] for a file that this program must
    /// not write to, [`StoreError::Damaged`], [`StoreError::Emptied`] or [`StoreError::Shortened`]
    /// for a database that is not as it was left, [`StoreError::Database`] if SQLite fails.
    pub async fn open(data: DataDir) -> Result<Self, StoreError> {
        let options = SqliteConnectOptions::new()
            .filename(data.database()?)
            .foreign_keys(true)
            .busy_timeout(BUSY_TIMEOUT)
            // Large sorts and statements would otherwise open temporary files.
            .pragma("temp_store", "MEMORY")
            .disable_statement_logging();
        let mut unchecked = options
            .connect()
            .await
            .map_err(failed_to("open the database"))?;
        let is_empty = schema::check(&mut unchecked).await?;
        if is_empty && let Some(found) = data.left_by_a_database() {
            return Err(StoreError::Emptied { found });
        }
        unchecked
            .close()
            .await
            .map_err(failed_to("open the database"))?;

        let write_options = options
            .clone()
            .journal_mode(SqliteJournalMode::Wal)
            // A commit returns after fsync: a charge is durable before its page is delivered.
            .synchronous(SqliteSynchronous::Full)
            .pragma("wal_autocheckpoint", CHECKPOINT_PAGES);
        let mut writer = write_options
            .connect()
            .await
            .map_err(failed_to("open the database"))?;
        schema::migrate(&mut writer).await?;
        schema::verify(&mut writer).await?;
        let mark = LedgerMark::check(data.ledger_mark()?, &mut writer).await?;
        logs::name_missing(&mut writer, data.path()).await?;
        let options = options.read_only(true);
        let lists = held_open(LISTS_MAX).acquire_timeout(LIST_WAIT_MAX);
        let readers = held_open(READERS_MAX).connect_with(options.clone()).await;
        let lists = lists.connect_with(options).await;
        Ok(Self {
            writer: Mutex::new(Some(writer)),
            write_options,
            readers: readers.map_err(failed_to("open the database"))?,
            lists: lists.map_err(failed_to("open the database"))?,
            mark,
            data,
        })
    }

    /// The connections that read, for what moves the whole database.
    pub(crate) fn readers(&self) -> &SqlitePool {
        &self.readers
    }

    /// The data directory, which is locked for this process.
    pub(crate) fn data(&self) -> &DataDir {
        &self.data
    }

    /// A connection for one list, whose statements fail with [`StoreError::TooSlow`] from
    /// [`LIST_TIME_MAX`] on. Fails so itself when none is free within [`LIST_WAIT_MAX`].
    async fn list_connection(&self) -> Result<PoolConnection<Sqlite>, StoreError> {
        let failed = failed_to("read a list");
        let mut connection = self.lists.acquire().await.map_err(|error| match error {
            sqlx::Error::PoolTimedOut => StoreError::TooSlow(LIST_WAIT_MAX),
            error => failed(error),
        })?;
        let deadline = Instant::now() + LIST_TIME_MAX;
        let mut handle = connection.lock_handle().await.map_err(&failed)?;
        // Replaces the one of the last list.
        handle.set_progress_handler(LIST_CHECK_STEPS, move || Instant::now() < deadline);
        drop(handle);
        Ok(connection)
    }

    async fn writer(&self) -> Result<Writer<'_>, StoreError> {
        let mut guard = self.writer.lock().await;
        let Some(connection) = guard.as_mut() else {
            return Err(failed_to("write")(sqlx::Error::PoolClosed));
        };
        // After a failed commit, as on a full disk, SQLite has rolled back but the connection still
        // counts a transaction, and would refuse to begin another one for good.
        if connection.is_in_transaction() {
            let opened = self.write_options.connect().await;
            *connection = opened.map_err(failed_to("open the database again"))?;
        }
        Ok(Writer(guard))
    }
}

/// A pool that opens all its connections at once and never closes one: opening another takes file
/// descriptors, of which there may be none when a charge needs it.
fn held_open(n_connections: u32) -> SqlitePoolOptions {
    SqlitePoolOptions::new()
        .max_connections(n_connections)
        .min_connections(n_connections)
        .idle_timeout(None)
        .max_lifetime(None)
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
            self.lists.close().await;
            if let Some(writer) = self.writer.lock().await.take()
                && let Err(error) = writer.close().await
            {
                tracing::error!(error = %error, "the database did not close cleanly");
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_wait_for_a_list_is_bounded() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let data = DataDir::create(directory.path()).expect("a data directory");
        let store = SqliteStore::open(data).await.expect("a store");
        let mut lists = Vec::new();
        for _ in 0..LISTS_MAX {
            lists.push(store.list_connection().await.expect("a connection"));
        }
        // Far longer than the bound, for a slow machine, and shorter than the pool's default.
        let refused = tokio::time::timeout(LIST_WAIT_MAX * 4, store.list_connection());
        let refused = refused.await.expect("in time").map(drop);
        let is_too_slow =
            matches!(refused, Err(StoreError::TooSlow(wait)) if wait == LIST_WAIT_MAX);
        assert!(is_too_slow, "{refused:?}");
        drop(lists);
        let next = store.list_connection().await;
        next.map(drop).expect("a free connection");
        store.close().await;
    }
}
