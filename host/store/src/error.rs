//! Why an operation on the store failed.

use std::path::PathBuf;

use trawl_model::memory::MemoryError;

use crate::data_dir::DataDirError;

/// Why the store could not carry out an operation.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The data directory could not be opened or is in use.
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    /// The database was written by a later version of the program.
    #[error(
        "the database has schema version {found}, this program knows versions up to {known}: use the newer program that wrote it"
    )]
    SchemaTooNew {
        /// Schema version of the database.
        found: i64,
        /// Latest version that this program knows.
        known: i64,
    },
    /// The file is not a database of this program.
    #[error(
        "the database was not written by this program: choose another data directory, or move the file away"
    )]
    NotOurs,
    /// The database is not as this program left it.
    #[error("the database is damaged: {what}; restore a backup of the data directory")]
    Damaged {
        /// What is wrong with it.
        what: String,
    },
    /// The database is empty, and the data directory is not new.
    #[error(
        "the database is empty, but the data directory has `{found}`: `trawl.db` is lost, or `trawl.db-wal`, which belongs to it; restore a backup of both, or move the directory away to start anew"
    )]
    Emptied {
        /// A file that only a directory with a used database has.
        found: &'static str,
    },
    /// The ledger lacks its newest entries.
    #[error(
        "the ledger ends with entry {found}, but entry {written} was written: part of `trawl.db-wal` is lost or damaged; restore a backup of the whole data directory, or remove `ledger.last` to go on without these entries"
    )]
    Shortened {
        /// Number of its last entry.
        found: i64,
        /// Number of the last entry that was written.
        written: i64,
    },
    /// There is no connection to PostgreSQL.
    #[error(
        "cannot connect to PostgreSQL at {server}: see that it runs, and that `[store] url` names an existing user and database, and the right password"
    )]
    Unreachable {
        /// The server and the database, without user and password.
        server: String,
        /// The cause.
        #[source]
        source: sqlx::Error,
    },
    /// Another process uses the PostgreSQL database.
    #[error(
        "another process uses the database at {server}: stop it first, give this one a database of its own, or start it with `--standby` to take over when that one ends"
    )]
    DatabaseInUse {
        /// The server and the database, without user and password.
        server: String,
    },
    /// The PostgreSQL server is too old.
    #[error("the PostgreSQL server has version {found}, and 15 or later is needed: upgrade it")]
    ServerTooOld {
        /// Its major version.
        found: i32,
    },
    /// The PostgreSQL database has another encoding than UTF-8.
    #[error(
        "the database has the encoding {found}: create one with `createdb --encoding UTF8 --template template0`"
    )]
    NotUtf8 {
        /// Its encoding.
        found: String,
    },
    /// The accounts are in the data directory, and the PostgreSQL database is empty.
    #[error(
        "the database that `[store] url` names is empty, but the data directory has `trawl.db`, whose accounts would be missing: move them with `trawl migrate`, name another data directory, or remove `[store] url` to use that file"
    )]
    NotMoved,
    /// The data directory has no accounts that could be moved.
    #[error("the data directory `{path}` has no accounts in `trawl.db`: there is nothing to move")]
    NothingToMove {
        /// The directory.
        path: PathBuf,
    },
    /// The database that a data directory would be moved into is not empty.
    #[error(
        "the database at {server} has other accounts, entries or crawls than this data directory: name an empty one"
    )]
    NotEmpty {
        /// The server and the database, without user and password.
        server: String,
    },
    /// The entries of a data directory do not add up to its balances, so it is not moved.
    #[error("the ledger of the data directory is inconsistent, nothing was moved: {what}")]
    Inconsistent {
        /// What differs.
        what: String,
    },
    /// What was written is not what was read, so nothing is kept of it.
    #[error("the copy differs from the data directory, nothing was moved: {what}")]
    CopyDiffers {
        /// What differs.
        what: String,
    },
    /// A PostgreSQL database has no tables of this program.
    #[error("the database at {server} has no tables of this program: see that its URL is right")]
    NoTables {
        /// The server and the database, without user and password.
        server: String,
    },
    /// The accounts are in a PostgreSQL database, which was not named.
    #[error(
        "the accounts of this data directory are in the PostgreSQL database at {server}: name it by `[store] url`, `--store` or TRAWL_STORE; remove the file `store.postgres` to use the directory without them"
    )]
    InPostgres {
        /// The server and the database, without user and password.
        server: String,
    },
    /// A record with this name or id exists.
    #[error("{what} exists already")]
    Taken {
        /// Which kind of record.
        what: &'static str,
    },
    /// A stored value cannot be decoded.
    #[error("the database has an unreadable {what}")]
    Unreadable {
        /// The column or value.
        what: &'static str,
    },
    /// A list took too long to read.
    #[error("the query took longer than {} s and was stopped", .0.as_secs())]
    TooSlow(std::time::Duration),
    /// There was no memory for what would be read.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// I/O on the page log of a crawl failed.
    #[error("the page log of a crawl failed to {doing}")]
    PageLog {
        /// The operation.
        doing: &'static str,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// The object store failed.
    #[error("the object store failed to {doing}: {reason}")]
    Objects {
        /// The operation.
        doing: &'static str,
        /// The cause.
        reason: String,
        /// Whether it may succeed later.
        is_passing: bool,
    },
    /// The database failed.
    #[error("the database failed to {doing}")]
    Database {
        /// The operation.
        doing: &'static str,
        /// The cause.
        #[source]
        source: sqlx::Error,
    },
}

impl StoreError {
    /// Whether the disk is full, so that the operation may succeed once there is space.
    pub fn is_full(&self) -> bool {
        /// Result codes of SQLite: `SQLITE_FULL`, and `SQLITE_IOERR_SHMSIZE` for the shared memory
        /// of the write-ahead log, which it enlarges in a way of its own; `disk_full` of
        /// PostgreSQL.
        const CODES: [&str; 3] = ["13", "4874", "53100"];
        match self {
            Self::Database { source, .. } => source
                .as_database_error()
                .and_then(|error| error.code())
                .is_some_and(|code| CODES.contains(&&*code)),
            Self::PageLog { source, .. } => matches!(
                source.kind(),
                std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded
            ),
            _ => false,
        }
    }

    /// Whether the database or the object store cannot be reached at the moment, so that the
    /// operation may succeed once it can. It may also have been carried out.
    pub fn is_unreachable(&self) -> bool {
        /// `admin_shutdown`, `crash_shutdown` and `cannot_connect_now` of PostgreSQL, and the class
        /// of its connection exceptions.
        const CODES: [&str; 3] = ["57P01", "57P02", "57P03"];
        const CLASS: &str = "08";
        match self {
            Self::Unreachable { .. } => true,
            Self::Objects { is_passing, .. } => *is_passing,
            Self::Database { source, .. } => match source {
                sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut => true,
                source => source
                    .as_database_error()
                    .and_then(|error| error.code())
                    .is_some_and(|code| CODES.contains(&&*code) || code.starts_with(CLASS)),
            },
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_connection_is_no_refusal() {
        let failed = |source: sqlx::Error| StoreError::Database {
            doing: "read",
            source,
        };
        let closed = std::io::Error::from(std::io::ErrorKind::ConnectionReset);
        assert!(failed(closed.into()).is_unreachable());
        assert!(failed(sqlx::Error::PoolTimedOut).is_unreachable());
        assert!(!failed(sqlx::Error::RowNotFound).is_unreachable());
        let fenced = sqlx::Error::Protocol("another process uses the database".to_owned());
        assert!(!failed(fenced).is_unreachable());
    }
}
