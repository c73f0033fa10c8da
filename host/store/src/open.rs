//! The choice of the back end.

use std::sync::Arc;

use tokio::sync::watch;

use crate::data_dir::DataDir;
use crate::error::StoreError;
use crate::postgres::{PostgresStore, PostgresUrl};
use crate::serving::Serving;
use crate::sqlite::SqliteStore;
use crate::store::Store;

/// Opens the store of a data directory: the PostgreSQL database with this URL, or the SQLite file
/// in the directory.
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

/// As [`open`] with a URL, but waits while another process uses the database. `serving` gets where
/// the other one serves, as it has announced it.
///
/// # Errors
/// Those of [`PostgresStore::open_when_free`].
pub async fn open_when_free(
    data: DataDir,
    url: &PostgresUrl,
    serving: &watch::Sender<Option<Serving>>,
) -> Result<Arc<dyn Store>, StoreError> {
    let store = PostgresStore::open_when_free(data, url, serving).await?;
    Ok(Arc::new(store))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn accounts_in_postgres_are_not_forgotten() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let data = || DataDir::create(directory.path()).expect("a data directory");
        data().note_postgres("db.example:5432").expect("noted");
        let refusal = open(data(), None).await.map(drop).expect_err("refused");
        let text = refusal.to_string();
        assert!(matches!(refusal, StoreError::InPostgres { .. }), "{text}");
        assert!(text.contains("db.example:5432"), "{text}");
        std::fs::remove_file(directory.path().join("store.postgres")).expect("removed");
        let store = open(data(), None).await.expect("a new store");
        store.close().await;
    }
}
