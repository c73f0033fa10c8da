//! The tables, version by version. A version that was released is never edited; a change is a new one at the end.

use sqlx::sqlite::SqliteConnection;
use sqlx::{Connection, Row};

use super::failed_to;
use crate::store::StoreError;

/// Marks a file as ours: `trwl` in ASCII.
const APPLICATION_ID: i64 = 0x7472_776c;

/// What brings a database from version `n` to `n + 1`, in order.
const MIGRATIONS: &[&str] = &[VERSION_1];

/// Accounts, keys, ledger, answers.
///
/// The sums of an account move with each entry, by a trigger, so they cannot drift from the entries; the checks on them
/// refuse an entry that would overdraw. Post and void of a hold have the same id, so a hold ends once.
const VERSION_1: &str = "
CREATE TABLE accounts (
    id      TEXT PRIMARY KEY,
    name    TEXT NOT NULL UNIQUE,
    created INTEGER NOT NULL,
    balance INTEGER NOT NULL DEFAULT 0 CHECK (balance >= 0),
    held    INTEGER NOT NULL DEFAULT 0 CHECK (held BETWEEN 0 AND balance)
) STRICT, WITHOUT ROWID;

CREATE TABLE keys (
    prefix  TEXT PRIMARY KEY,
    account TEXT NOT NULL REFERENCES accounts (id),
    hash    BLOB NOT NULL UNIQUE,
    created INTEGER NOT NULL,
    revoked INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE entries (
    seq     INTEGER PRIMARY KEY,
    id      TEXT NOT NULL UNIQUE,
    account TEXT NOT NULL REFERENCES accounts (id),
    kind    TEXT NOT NULL CHECK (kind IN ('top_up', 'bonus', 'reserve', 'post', 'void')),
    amount  INTEGER NOT NULL,
    held    INTEGER NOT NULL,
    hold    TEXT NOT NULL,
    run     TEXT NOT NULL,
    url     TEXT NOT NULL,
    ai                INTEGER NOT NULL,
    compute           INTEGER NOT NULL,
    file              INTEGER NOT NULL,
    bytes_transferred INTEGER NOT NULL,
    transform         INTEGER NOT NULL,
    vendor_billed     INTEGER NOT NULL,
    reason  TEXT NOT NULL,
    at      INTEGER NOT NULL
) STRICT;

CREATE INDEX entries_of_account ON entries (account);

CREATE TRIGGER entries_move_sums AFTER INSERT ON entries BEGIN
    UPDATE accounts SET balance = balance + NEW.amount, held = held + NEW.held WHERE id = NEW.account;
END;

CREATE TRIGGER entries_are_not_changed BEFORE UPDATE ON entries BEGIN
    SELECT RAISE(ABORT, 'ledger entries are final');
END;

CREATE TRIGGER entries_are_not_removed BEFORE DELETE ON entries BEGIN
    SELECT RAISE(ABORT, 'ledger entries are final');
END;

CREATE TABLE answers (
    account      TEXT NOT NULL REFERENCES accounts (id),
    key          TEXT NOT NULL,
    body_hash    BLOB NOT NULL,
    status       INTEGER,
    content_type TEXT,
    body         BLOB,
    at           INTEGER NOT NULL,
    PRIMARY KEY (account, key)
) STRICT;

CREATE INDEX answers_by_age ON answers (at);
";

/// Refuses a file that a newer program or another program wrote, before anything in it is touched.
pub(super) async fn check(connection: &mut SqliteConnection) -> Result<(), StoreError> {
    let found = version(connection).await?;
    let is_empty = number(connection, "SELECT COUNT(*) FROM sqlite_schema").await? == 0;
    let application = number(connection, "PRAGMA application_id").await?;
    if !is_empty && application != APPLICATION_ID {
        return Err(StoreError::NotOurs);
    }
    if found > latest() {
        let known = latest();
        return Err(StoreError::SchemaTooNew { found, known });
    }
    Ok(())
}

/// Brings the tables up to date, all or nothing.
pub(super) async fn migrate(connection: &mut SqliteConnection) -> Result<(), StoreError> {
    let failed = failed_to("bring its tables up to date");
    let found = version(connection).await?;
    let missing = usize::try_from(found)
        .ok()
        .and_then(|from| MIGRATIONS.get(from..));
    let mut transaction = connection
        .begin_with("BEGIN IMMEDIATE")
        .await
        .map_err(&failed)?;
    for migration in missing.unwrap_or_default() {
        sqlx::raw_sql(*migration)
            .execute(&mut *transaction)
            .await
            .map_err(&failed)?;
    }
    // A pragma takes no bound values; both numbers are ours.
    let marks = format!(
        "PRAGMA user_version = {}; PRAGMA application_id = {APPLICATION_ID}",
        latest()
    );
    sqlx::raw_sql(sqlx::AssertSqlSafe(marks))
        .execute(&mut *transaction)
        .await
        .map_err(&failed)?;
    transaction.commit().await.map_err(&failed)
}

fn latest() -> i64 {
    MIGRATIONS.len() as i64
}

async fn version(connection: &mut SqliteConnection) -> Result<i64, StoreError> {
    number(connection, "PRAGMA user_version").await
}

async fn number(connection: &mut SqliteConnection, sql: &'static str) -> Result<i64, StoreError> {
    let row = sqlx::query(sql).fetch_one(connection).await;
    row.and_then(|row| row.try_get(0)).map_err(|error| {
        let is_no_database = error
            .as_database_error()
            .and_then(|error| error.code())
            .is_some_and(|code| code == SQLITE_NOTADB);
        if is_no_database {
            StoreError::NotOurs
        } else {
            failed_to("read its version")(error)
        }
    })
}

const SQLITE_NOTADB: &str = "26";
