//! Moving the store of a data directory from SQLite to PostgreSQL: all rows in one transaction,
//! which is committed only if the copy has the same ledger and the same sums. The directory itself
//! keeps its database, which is not used any more, and the page logs of its crawls, unless they are
//! copied into an object store.

mod compare;
mod pages;
mod tables;
#[cfg(test)]
mod tests;

use sqlx::Connection as _;
use sqlx::postgres::PgConnection;
use sqlx::sqlite::SqlitePool;

use crate::data_dir::DataDir;
use crate::error::StoreError;
use crate::ledger::LedgerStore as _;
use crate::objects::Objects;
use crate::sqlite::SqliteStore;
use crate::store::Store as _;

use super::connections::{connect, options};
use super::row::failed_to;
use super::url::PostgresUrl;
use super::{claim, schema};
use pages::PageCopy;
use tables::{MOVING, READING, TABLES};

/// What a data directory had that is now in a PostgreSQL database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// The server and the database, without user and password.
    pub database: String,
    /// Whether it was there already, so that nothing was written.
    pub was_moved_before: bool,
    /// Accounts of the directory.
    pub n_accounts: u64,
    /// Its ledger entries.
    pub n_entries: u64,
    /// Its crawls, batches among them.
    pub n_crawls: u64,
    /// Their pages.
    pub n_pages: u64,
}

/// Moves what a data directory has in SQLite into an empty PostgreSQL database, and notes in the
/// directory that it is there. The page logs are copied into the object store if there is one. May
/// be repeated: an interrupted move leaves the database empty, and one that was finished changes
/// nothing.
///
/// # Errors
/// [`StoreError::NothingToMove`] or [`StoreError::Inconsistent`] for the directory, also those of
/// [`SqliteStore::open`]; [`StoreError::NotEmpty`] for the database, also those of
/// [`PostgresStore::open`](super::PostgresStore::open); [`StoreError::InPostgres`] if the directory
/// was moved into another database, or into one that has lost it; [`StoreError::CopyDiffers`];
/// [`StoreError::Objects`].
pub async fn move_data(
    data: DataDir,
    url: &PostgresUrl,
    objects: Option<&Objects>,
) -> Result<Moved, StoreError> {
    let path = data.path().to_owned();
    if !data.has_database() {
        return Err(StoreError::NothingToMove { path });
    }
    let source = SqliteStore::open(data).await?;
    let moved = move_store(&source, url, objects).await;
    source.close().await;
    match moved? {
        Some(moved) => Ok(moved),
        None => Err(StoreError::NothingToMove { path }),
    }
}

/// The same for an open store; `None` if it has no accounts.
async fn move_store(
    source: &SqliteStore,
    url: &PostgresUrl,
    objects: Option<&Objects>,
) -> Result<Option<Moved>, StoreError> {
    let mut moved = contents(source, url).await?;
    if moved.n_accounts == 0 {
        return Ok(None);
    }
    let noted = source.data().postgres();
    // A large ledger takes a while, whatever the database's defaults are.
    let options = options(url).options([
        ("statement_timeout", "0"),
        ("idle_in_transaction_session_timeout", "0"),
    ]);
    let mut target = connect(&options, url).await?;
    let found = schema::check(&mut target).await?;
    // Until this connection ends no other process uses the database.
    claim::lock(&mut target, url.shown(), found >= schema::LEASES_SINCE).await?;
    if found > 0 && !is_empty(&mut target).await? {
        if !compare::is_moved(source.readers(), &mut target).await? {
            let server = url.shown().to_owned();
            return Err(StoreError::NotEmpty { server });
        }
        moved.was_moved_before = true;
    } else if let Some(server) = noted.clone() {
        // What was charged there since then would be forgotten.
        return Err(StoreError::InPostgres { server });
    } else {
        schema::migrate(&mut target).await?;
        let pages = match objects {
            Some(objects) => Some(PageCopy {
                data: source.data().path(),
                objects,
                notes: connect(&options, url).await?,
            }),
            None => None,
        };
        copy(source.readers(), &mut target, pages).await?;
    }
    if noted.is_none() {
        // After the commit: until then the accounts are in the directory.
        source.data().note_postgres(url.shown())?;
    }
    target.close().await.map_err(failed_to(MOVING))?;
    Ok(Some(moved))
}

/// What a store has that is about to be moved.
async fn contents(source: &SqliteStore, url: &PostgresUrl) -> Result<Moved, StoreError> {
    let audit = source.audit().await?;
    let wrong = audit.lines();
    if !wrong.is_empty() {
        let what = wrong.join("; ");
        return Err(StoreError::Inconsistent { what });
    }
    let (n_crawls, n_pages): (i64, i64) =
        sqlx::query_as("SELECT (SELECT COUNT(*) FROM crawls), (SELECT COUNT(*) FROM crawl_pages)")
            .fetch_one(source.readers())
            .await
            .map_err(failed_to(READING))?;
    Ok(Moved {
        database: url.shown().to_owned(),
        was_moved_before: false,
        n_accounts: audit.n_accounts,
        n_entries: audit.n_entries,
        n_crawls: n_crawls.unsigned_abs(),
        n_pages: n_pages.unsigned_abs(),
    })
}

/// Whether no table has rows.
async fn is_empty(target: &mut PgConnection) -> Result<bool, StoreError> {
    for table in TABLES {
        if table.has_rows(target).await? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Copies all tables in one transaction, if the copy is as the source.
async fn copy(
    source: &SqlitePool,
    target: &mut PgConnection,
    pages: Option<PageCopy<'_>>,
) -> Result<(), StoreError> {
    let failed = failed_to(MOVING);
    tables::check_known(source).await?;
    claim::commit_durably(target).await.map_err(&failed)?;
    let mut transaction = target.begin().await.map_err(&failed)?;
    claim::end(&mut transaction).await?;
    for table in TABLES {
        table.copy(source, &mut transaction).await?;
    }
    if let Some(pages) = pages {
        pages.run(source, &mut transaction).await?;
    }
    compare::check(source, &mut transaction).await?;
    transaction.commit().await.map_err(&failed)
}
