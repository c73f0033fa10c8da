//! A back end with all stores.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::contacts::ContactStore;
use crate::crawls::CrawlStore;
use crate::data_dir::DataDir;
use crate::error::StoreError;
use crate::ledger::LedgerStore;
use crate::outbox::OutboxStore;
use crate::postgres::{PostgresStore, PostgresUrl};
use crate::sqlite::SqliteStore;
use crate::totals::TotalsStore;

/// A back end that implements every store.
///
/// `Arc<dyn Store>` coerces to `Arc<dyn LedgerStore>` and the others: pass each caller only the
/// trait that it needs.
pub trait Store: LedgerStore + CrawlStore + OutboxStore + ContactStore + TotalsStore {
    /// Finishes pending writes and closes the connections.
    fn close(&self) -> BoxFuture<'_, ()>;
}

/// Opens the store of a data directory: the PostgreSQL database with this URL, or the SQLite file in
/// the directory.
///
/// # Errors
/// Those of [`PostgresStore::open`] and [`SqliteStore::open`]; [`StoreError::InPostgres`] without a
/// URL if the accounts of the directory are in such a database.
pub async fn open(data: DataDir, url: Option<&PostgresUrl>) -> Result<Arc<dyn Store>, StoreError> {
    if let Some(url) = url {
        return Ok(Arc::new(PostgresStore::open(data, url).await?));
    }
    match data.postgres() {
        Some(server) => Err(StoreError::InPostgres { server }),
        None => Ok(Arc::new(SqliteStore::open(data).await?)),
    }
}
