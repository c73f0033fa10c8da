//! Backups: a copy of a data directory that a server may use, and a data directory made of one.
//!
//! A backup is a folder with files of a data directory. The database is copied first, since page
//! logs grow: they have every page that it knows. It gets its name last, so that a copy which was
//! interrupted is taken for nothing else.

use std::fs::{DirBuilder, File, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::data_dir::{DataDir, DataDirError};
use crate::error::StoreError;
use crate::sqlite::{self, SqliteStore};
use crate::store::Store;

/// The database while it is copied.
const UNFINISHED: &str = "trawl.db.unfinished";
/// Single files that are part of a backup; not each directory has all of them.
const FILES: [&str; 2] = ["admin.key", "admin.key.new"];
/// What a directory that was copied may have as well: the end of the database, and the number of
/// the last ledger entry, which shows whether that end is whole.
const OF_A_COPY: [&str; 2] = ["trawl.db-wal", "ledger.last"];
/// The folder of page logs.
const LOGS: &str = "crawls";
const PRIVATE_FOLDER: u32 = 0o700;
const PRIVATE_FILE: u32 = 0o600;

/// Why a backup or a data directory could not be made.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The folder has files already.
    #[error("`{path}` is not empty: name a folder that is not there yet")]
    NotEmpty {
        /// The folder.
        path: PathBuf,
    },
    /// The folder has no database.
    #[error("`{path}` has no database: it is no backup, or one that was interrupted")]
    NoDatabase {
        /// The folder.
        path: PathBuf,
    },
    /// The accounts are in a PostgreSQL database.
    #[error(
        "the accounts of this data directory are in the PostgreSQL database at {server}: back that up with PostgreSQL's own tools, and then the folder `crawls`"
    )]
    InPostgres {
        /// The server and the database, without user and password.
        server: String,
    },
    /// The database cannot be read, or not be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An I/O error.
    #[error("failed to {doing} `{path}`")]
    Io {
        /// The operation.
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
}

/// Copies what cannot be made again of a data directory to a new folder. A server may use the
/// directory: the copy is of one moment, and every page that the database has is in it.
///
/// # Errors
/// [`BackupError`]. What is in the new folder then is no backup.
pub async fn back_up(data: &Path, to: &Path) -> Result<(), BackupError> {
    if !data.is_dir() {
        let path = data.to_path_buf();
        return Err(StoreError::from(DataDirError::Missing { path }).into());
    }
    if let Some(server) = DataDir::postgres_of(data) {
        return Err(BackupError::InPostgres { server });
    }
    require_database(data)?;
    new_folder(to)?;
    let unfinished = to.join(UNFINISHED);
    let name = unfinished.to_str().ok_or(io::ErrorKind::InvalidInput);
    let name = name.map_err(|kind| io_error("name", to)(kind.into()))?;
    sqlite::snapshot(data, name).await?;
    make_durable(&unfinished)?;
    copy_files(&FILES, data, to)?;
    copy_logs(data, to)?;
    finish(to)
}

/// Makes a new data directory of a backup, or of a copy of a directory that no server used. Opens
/// its database once: one that this program cannot use is an error.
///
/// # Errors
/// [`BackupError`].
pub async fn restore(backup: &Path, data: &Path) -> Result<(), BackupError> {
    require_database(backup)?;
    new_folder(data)?;
    // A server that finds these files without a database refuses to start.
    copy_files(&OF_A_COPY, backup, data)?;
    copy_files(&FILES, backup, data)?;
    copy_logs(backup, data)?;
    let database = DataDir::database_path(backup);
    copy_file(&database, &data.join(UNFINISHED))?;
    finish(data)?;
    let directory = DataDir::open(data).map_err(StoreError::from)?;
    let store = SqliteStore::open(directory).await?;
    store.close().await;
    Ok(())
}

fn require_database(path: &Path) -> Result<(), BackupError> {
    if DataDir::database_path(path).is_file() {
        Ok(())
    } else {
        let path = path.to_path_buf();
        Err(BackupError::NoDatabase { path })
    }
}

/// Creates a private folder. One that is there must be empty.
fn new_folder(path: &Path) -> Result<(), BackupError> {
    match std::fs::read_dir(path) {
        Ok(mut entries) => {
            if entries.next().is_some() {
                let path = path.to_path_buf();
                return Err(BackupError::NotEmpty { path });
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            DirBuilder::new()
                .recursive(true)
                .mode(PRIVATE_FOLDER)
                .create(path)
                .map_err(io_error("create", path))?;
        }
        Err(error) => return Err(io_error("read", path)(error)),
    }
    let private = Permissions::from_mode(PRIVATE_FOLDER);
    std::fs::set_permissions(path, private).map_err(io_error("change the mode of", path))
}

/// Copies the files of these names that are there.
fn copy_files(names: &[&str], from: &Path, to: &Path) -> Result<(), BackupError> {
    let mut there = names.iter().filter(|name| from.join(name).is_file());
    there.try_for_each(|name| copy_file(&from.join(name), &to.join(name)))
}

fn copy_logs(from: &Path, to: &Path) -> Result<(), BackupError> {
    let (from, to) = (from.join(LOGS), to.join(LOGS));
    if !from.is_dir() {
        return Ok(());
    }
    let created = DirBuilder::new().mode(PRIVATE_FOLDER).create(&to);
    created.map_err(io_error("create", &to))?;
    let logs = std::fs::read_dir(&from).map_err(io_error("read", &from))?;
    for log in logs {
        let log = log.map_err(io_error("read", &from))?;
        copy_file(&log.path(), &to.join(log.file_name()))?;
    }
    sync(&to)
}

/// Copies a file. One that is gone meanwhile is of a crawl that was deleted.
fn copy_file(from: &Path, to: &Path) -> Result<(), BackupError> {
    match std::fs::copy(from, to) {
        Ok(_) => make_durable(to),
        Err(error) if error.kind() == io::ErrorKind::NotFound && !from.exists() => Ok(()),
        Err(error) => Err(io_error("copy", from)(error)),
    }
}

fn make_durable(file: &Path) -> Result<(), BackupError> {
    let private = Permissions::from_mode(PRIVATE_FILE);
    std::fs::set_permissions(file, private).map_err(io_error("change the mode of", file))?;
    sync(file)
}

/// Gives the database its name, once everything else is there.
fn finish(folder: &Path) -> Result<(), BackupError> {
    let unfinished = folder.join(UNFINISHED);
    let named = std::fs::rename(&unfinished, DataDir::database_path(folder));
    named.map_err(io_error("rename", &unfinished))?;
    sync(folder)
}

fn sync(path: &Path) -> Result<(), BackupError> {
    let synced = File::open(path).and_then(|file| file.sync_all());
    synced.map_err(io_error("flush", path))
}

fn io_error(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> BackupError {
    let path = path.to_path_buf();
    move |source| BackupError::Io {
        doing,
        path,
        source,
    }
}

#[cfg(test)]
mod tests {
    use trawl_model::memory::{MemoryBudget, MemoryKind};

    use super::*;
    use crate::conformance::fixtures::{account, crawl, entry, first_page, key};
    use crate::{
        CrawlCounts, CrawlStore as _, EntryKind, LedgerEntry, LedgerStore as _, PageLog, Progress,
        ReadEntry,
    };

    const ENTRY: &[u8] = b"{\"url\":\"http://a.example/\"}";

    fn top_up(id: &str) -> LedgerEntry {
        entry(id, EntryKind::TopUp, 5, 0)
    }

    /// A store with an account and a crawl of one page, in a directory with more than that.
    async fn in_use(directory: &Path) -> SqliteStore {
        let data = DataDir::create(directory).expect("a data directory");
        let store = SqliteStore::open(data).await.expect("a store");
        store
            .create_account(&account(1), &key(1, 1), &[top_up("t:1")])
            .await
            .expect("an account");
        store.create_crawl(&crawl("aa")).await.expect("a new crawl");
        let mut log = PageLog::open(directory, "aa").expect("a log");
        let place = log.append(&[ENTRY]).expect("appended").remove(0);
        let progress = Progress {
            urls: Vec::new(),
            pages: vec![first_page(place)],
            counts: CrawlCounts::default(),
        };
        let saved = store.save_crawl_progress("aa", &progress);
        saved.await.expect("saved");
        std::fs::write(directory.join("admin.key"), "hash").expect("a file");
        std::fs::create_dir(directory.join("cache")).expect("a folder");
        store
    }

    #[tokio::test]
    async fn a_directory_in_use_is_backed_up_and_restored() {
        let folder = tempfile::tempdir().expect("a folder");
        let [data, backup, restored] =
            ["data", "a/backup", "restored"].map(|name| folder.path().join(name));
        let store = in_use(&data).await;
        back_up(&data, &backup).await.expect("backed up");
        store.post_group(&[top_up("t:2")]).await.expect("posted");
        store.close().await;
        assert!(!backup.join("cache").exists(), "it can be made again");
        let refusal = back_up(&data, &backup).await.expect_err("it is there");
        assert!(matches!(refusal, BackupError::NotEmpty { .. }), "{refusal}");

        restore(&backup, &restored).await.expect("restored");
        let mode = std::fs::metadata(&restored)
            .expect("a folder")
            .permissions();
        assert_eq!(mode.mode() & 0o777, PRIVATE_FOLDER);
        let admin = std::fs::read(restored.join("admin.key")).expect("a file");
        assert_eq!(admin, b"hash");
        let directory = DataDir::open(&restored).expect("a data directory");
        let store = SqliteStore::open(directory).await.expect("a store");
        let accounts = store.accounts().await.expect("accounts");
        let balances: Vec<i64> = accounts.iter().map(|account| account.balance.0).collect();
        assert_eq!(balances, [5], "of the moment of the backup");
        let pages = store.crawl_pages("aa", 0, 9).await.expect("pages");
        let log = PageLog::open(&restored, "aa").expect("a log");
        let mut lease = MemoryBudget::unlimited()
            .share("a")
            .page()
            .lease_for(MemoryKind::Stored);
        lease.record(1 << 20);
        let Ok(ReadEntry::Entry(entry)) = log.read(&pages[0].place, lease) else {
            panic!("no entry")
        };
        assert_eq!(entry.into_bytes(), ENTRY);
        store.close().await;
    }

    #[tokio::test]
    async fn what_is_not_whole_is_neither_backed_up_nor_restored() {
        let folder = tempfile::tempdir().expect("a folder");
        let [data, backup, restored] =
            ["data", "backup", "restored"].map(|name| folder.path().join(name));
        let refusal = back_up(&data, &backup).await.expect_err("there is none");
        assert!(
            refusal
                .to_string()
                .starts_with("there is no data directory")
        );
        in_use(&data).await.close().await;
        std::fs::write(data.join("ledger.last"), 9_i64.to_le_bytes()).expect("a mark");
        let refusal = back_up(&data, &backup).await.expect_err("it lost its end");
        let BackupError::Store(StoreError::Shortened { found, written }) = refusal else {
            panic!("{refusal}")
        };
        assert_eq!((found, written), (1, 9));
        // What the backup that failed has left.
        let refusal = restore(&backup, &restored).await.expect_err("unfinished");
        assert!(
            matches!(refusal, BackupError::NoDatabase { .. }),
            "{refusal}"
        );
        std::fs::write(data.join("store.postgres"), "db.example:5432").expect("a file");
        let refusal = back_up(&data, &restored).await.expect_err("elsewhere");
        assert!(
            matches!(refusal, BackupError::InPostgres { .. }),
            "{refusal}"
        );
    }
}
