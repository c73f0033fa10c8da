//! The number of the last ledger entry in a file next to the database. SQLite drops what follows a
//! damaged frame of its write-ahead log without an error; the file shows that there was more.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use sqlx::sqlite::SqliteConnection;

use super::row::failed_to;
use crate::{DataDir, StoreError};

/// Bytes of the number in the file.
const BYTES: usize = size_of::<i64>();

/// The file. It is written after the entries are durable, so it is never ahead of them; after a
/// power failure its number may be lower.
#[derive(Debug)]
pub(super) struct LedgerMark(File);

impl LedgerMark {
    /// Refuses a ledger that ends before the entry that the file names.
    pub(super) async fn check(
        file: File,
        connection: &mut SqliteConnection,
    ) -> Result<Self, StoreError> {
        let mark = Self(file);
        mark.write(require(mark.read(), connection).await?);
        Ok(mark)
    }

    /// Notes the last entry of the ledger.
    pub(super) async fn update(&self, connection: &mut SqliteConnection) {
        match last_entry(connection).await {
            Ok(last) => self.write(last),
            Err(error) => tracing::error!(%error, "the last ledger entry was not noted"),
        }
    }

    /// The number in the file; 0 if there is none.
    fn read(&self) -> i64 {
        let mut bytes = [0; BYTES];
        match self.0.read_exact_at(&mut bytes, 0) {
            Ok(()) => i64::from_le_bytes(bytes),
            Err(error) => {
                if error.kind() != io::ErrorKind::UnexpectedEof {
                    tracing::error!(%error, "`ledger.last` cannot be read");
                }
                0
            }
        }
    }

    fn write(&self, last: i64) {
        // The bytes are there already except at the first time, so that a full disk does not fail
        // it.
        if let Err(error) = self.0.write_all_at(&last.to_le_bytes(), 0) {
            tracing::warn!(%error, "`ledger.last` cannot be written");
        }
    }
}

/// The number in the file of a data directory that another process may use; 0 if there is none.
pub(super) fn noted(data: &Path) -> i64 {
    File::open(DataDir::ledger_mark_path(data)).map_or(0, |file| LedgerMark(file).read())
}

/// The number of a ledger's last entry, which must not be before the one that was noted.
pub(super) async fn require(
    written: i64,
    connection: &mut SqliteConnection,
) -> Result<i64, StoreError> {
    let found = last_entry(connection).await?;
    if found < written {
        return Err(StoreError::Shortened { found, written });
    }
    Ok(found)
}

async fn last_entry(connection: &mut SqliteConnection) -> Result<i64, StoreError> {
    sqlx::query_scalar("SELECT COALESCE(MAX(seq), 0) FROM entries")
        .fetch_one(connection)
        .await
        .map_err(failed_to("read the ledger"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::conformance::fixtures::{account, entry, key, with_accounts};
    use crate::sqlite::SqliteStore;
    use crate::{DataDir, EntryKind, LedgerEntry, LedgerStore as _, Store as _, StoreError};

    async fn open(directory: &Path) -> Result<SqliteStore, StoreError> {
        SqliteStore::open(DataDir::create(directory).expect("a data directory")).await
    }

    fn top_up(id: &str) -> LedgerEntry {
        entry(id, EntryKind::TopUp, 5, 0)
    }

    /// What a database without its write-ahead log is after a crash.
    #[tokio::test]
    async fn a_ledger_that_lost_its_end_is_refused() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let store = open(directory.path()).await.expect("a store");
        store
            .create_account(&account(1), &key(1, 1), &[top_up("t:1")])
            .await
            .expect("an account");
        store.close().await;
        drop(store);
        let database = directory.path().join("trawl.db");
        let before = std::fs::read(&database).expect("the database");

        let store = open(directory.path()).await.expect("the store");
        store.post_group(&[top_up("t:2")]).await.expect("posted");
        store.close().await;
        drop(store);
        let whole = std::fs::read(&database).expect("the database");
        let mark = std::fs::read(directory.path().join("ledger.last")).expect("the mark");

        let refusal = copied(&before, Some(&mark)).await.expect_err("refused");
        let StoreError::Shortened { found, written } = refusal else {
            panic!("{refusal}");
        };
        assert_eq!((found, written), (1, 2));
        copied(&whole, Some(&mark)).await.expect("all is there");
        copied(&before, None).await.expect("accepted as it is");
    }

    /// Opens a copy of a data directory.
    async fn copied(database: &[u8], mark: Option<&[u8]>) -> Result<(), StoreError> {
        let directory = tempfile::tempdir().expect("a temporary directory");
        std::fs::write(directory.path().join("trawl.db"), database).expect("a copy");
        if let Some(mark) = mark {
            std::fs::write(directory.path().join("ledger.last"), mark).expect("a copy");
        }
        open(directory.path()).await.map(drop)
    }

    #[tokio::test]
    async fn an_empty_database_in_a_used_directory_is_refused() {
        for left in ["admin.key", "ledger.last", "crawls"] {
            let directory = tempfile::tempdir().expect("a temporary directory");
            std::fs::write(directory.path().join(left), "").expect("a file");
            let refusal = open(directory.path()).await.expect_err("refused");
            assert!(
                matches!(&refusal, StoreError::Emptied { found } if *found == left),
                "{refusal}"
            );
        }
        let directory = tempfile::tempdir().expect("a temporary directory");
        std::fs::create_dir(directory.path().join("compiled")).expect("a folder");
        let store = open(directory.path()).await.expect("a first start");
        with_accounts(&store).await;
        store.close().await;
        drop(store);
        std::fs::write(directory.path().join("admin.key"), "").expect("a file");
        drop(open(directory.path()).await.expect("a later start"));
    }
}
