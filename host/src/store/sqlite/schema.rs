//! The tables, version by version. A version that was released is never edited; a change is a new one at the end.

use sqlx::sqlite::SqliteConnection;
use sqlx::{Connection, Row};

use super::failed_to;
use crate::store::StoreError;

/// Marks a file as ours: `trwl` in ASCII.
const APPLICATION_ID: i64 = 0x7472_776c;

/// What brings a database from version `n` to `n + 1`, in order.
const MIGRATIONS: &[&str] = &[
    VERSION_1, VERSION_2, VERSION_3, VERSION_4, VERSION_5, VERSION_6,
];

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

/// Crawls, their addresses and pages, and a way to what their slices of money have set aside. `state` of an address: 0 waiting, 1 done, from 16 on the reason it was left out.
const VERSION_2: &str = "
CREATE INDEX entries_of_slice ON entries (hold) WHERE hold >= 'p:' AND hold < 'p;';

CREATE TABLE crawls (
    number        INTEGER PRIMARY KEY,
    id            TEXT NOT NULL UNIQUE,
    account       TEXT NOT NULL REFERENCES accounts (id),
    request       TEXT NOT NULL,
    verb          TEXT NOT NULL,
    needs_secrets INTEGER NOT NULL,
    in_background INTEGER NOT NULL,
    state         TEXT NOT NULL CHECK (state IN ('queued', 'running', 'parked', 'ended')),
    stop          TEXT,
    created       INTEGER NOT NULL,
    ended         INTEGER,
    n_pages       INTEGER NOT NULL,
    n_failed      INTEGER NOT NULL,
    n_bytes       INTEGER NOT NULL,
    spent         INTEGER NOT NULL
) STRICT;

CREATE INDEX crawls_of_account ON crawls (account, created);
CREATE INDEX crawls_by_end ON crawls (ended);
CREATE INDEX crawls_unfinished ON crawls (state) WHERE state <> 'ended';

CREATE TABLE crawl_urls (
    crawl INTEGER NOT NULL,
    n     INTEGER NOT NULL,
    url   TEXT NOT NULL,
    depth INTEGER NOT NULL,
    state INTEGER NOT NULL,
    PRIMARY KEY (crawl, n)
) STRICT, WITHOUT ROWID;

CREATE TABLE crawl_pages (
    crawl     INTEGER NOT NULL,
    seq       INTEGER NOT NULL,
    n         INTEGER NOT NULL,
    status    INTEGER NOT NULL,
    is_failed INTEGER NOT NULL,
    place     INTEGER NOT NULL,
    length    INTEGER NOT NULL,
    PRIMARY KEY (crawl, seq)
) STRICT, WITHOUT ROWID;
";

/// Events that wait for their delivery, and what they are signed with.
const VERSION_3: &str = "
CREATE TABLE outbox (
    seq         INTEGER PRIMARY KEY,
    id          TEXT NOT NULL UNIQUE,
    account     TEXT NOT NULL REFERENCES accounts (id),
    destination TEXT NOT NULL,
    event       TEXT NOT NULL,
    body        TEXT NOT NULL,
    created     INTEGER NOT NULL,
    due         INTEGER NOT NULL,
    n_attempts  INTEGER NOT NULL
) STRICT;

CREATE INDEX outbox_by_time ON outbox (due, seq, destination);
CREATE INDEX outbox_by_destination ON outbox (destination, due, seq);

CREATE TABLE webhook_secrets (
    account TEXT PRIMARY KEY REFERENCES accounts (id),
    secret  TEXT NOT NULL
) STRICT, WITHOUT ROWID;
";

/// Seats: subscriptions, the ledger's word for their charges, and the terms of crawls. SQLite cannot change a check, so the
/// ledger moves into a table of its own; its indexes and triggers go with the old one and are made again. The sums of accounts
/// stay as they are, since the triggers are made after the move.
const VERSION_4: &str = "
CREATE TABLE entries_4 (
    seq     INTEGER PRIMARY KEY,
    id      TEXT NOT NULL UNIQUE,
    account TEXT NOT NULL REFERENCES accounts (id),
    kind    TEXT NOT NULL CHECK (kind IN ('top_up', 'bonus', 'reserve', 'post', 'void', 'seats')),
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

INSERT INTO entries_4 (seq, id, account, kind, amount, held, hold, run, url,
        ai, compute, file, bytes_transferred, transform, vendor_billed, reason, at)
    SELECT seq, id, account, kind, amount, held, hold, run, url,
        ai, compute, file, bytes_transferred, transform, vendor_billed, reason, at
    FROM entries ORDER BY seq;

DROP TABLE entries;
ALTER TABLE entries_4 RENAME TO entries;

CREATE INDEX entries_of_account ON entries (account);
CREATE INDEX entries_of_slice ON entries (hold) WHERE hold >= 'p:' AND hold < 'p;';

CREATE TRIGGER entries_move_sums AFTER INSERT ON entries BEGIN
    UPDATE accounts SET balance = balance + NEW.amount, held = held + NEW.held WHERE id = NEW.account;
END;

CREATE TRIGGER entries_are_not_changed BEFORE UPDATE ON entries BEGIN
    SELECT RAISE(ABORT, 'ledger entries are final');
END;

CREATE TRIGGER entries_are_not_removed BEFORE DELETE ON entries BEGIN
    SELECT RAISE(ABORT, 'ledger entries are final');
END;

CREATE TABLE subscriptions (
    account     TEXT PRIMARY KEY REFERENCES accounts (id),
    seats       INTEGER NOT NULL CHECK (seats >= 0),
    next_seats  INTEGER NOT NULL CHECK (next_seats >= 0),
    begun       INTEGER NOT NULL,
    period_from INTEGER NOT NULL,
    period_to   INTEGER NOT NULL CHECK (period_to > period_from),
    price       INTEGER NOT NULL,
    state       TEXT NOT NULL CHECK (state IN ('active', 'suspended', 'lapsed'))
) STRICT, WITHOUT ROWID;

ALTER TABLE crawls ADD COLUMN terms TEXT NOT NULL DEFAULT 'pay_as_you_go' CHECK (terms IN ('pay_as_you_go', 'unlimited'));
";

/// Names and uses of keys, who is told of a balance and what was, what pages consumed, what lists show of them, and prices with
/// their times.
const VERSION_5: &str = "
ALTER TABLE keys ADD COLUMN name TEXT NOT NULL DEFAULT '';
ALTER TABLE keys ADD COLUMN last_used INTEGER;
CREATE INDEX keys_of_account ON keys (account, created);

ALTER TABLE accounts ADD COLUMN notice_to TEXT;
ALTER TABLE accounts ADD COLUMN notice_below INTEGER NOT NULL DEFAULT 0 CHECK (notice_below >= 0);
ALTER TABLE accounts ADD COLUMN low_count INTEGER NOT NULL DEFAULT 0;
ALTER TABLE accounts ADD COLUMN low_told INTEGER NOT NULL DEFAULT 0;
ALTER TABLE accounts ADD COLUMN empty_count INTEGER NOT NULL DEFAULT 0;
ALTER TABLE accounts ADD COLUMN empty_told INTEGER NOT NULL DEFAULT 0;

ALTER TABLE entries ADD COLUMN n_bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE entries ADD COLUMN cpu INTEGER NOT NULL DEFAULT 0;

ALTER TABLE crawl_pages ADD COLUMN at INTEGER;
ALTER TABLE crawl_pages ADD COLUMN cost INTEGER NOT NULL DEFAULT 0;
ALTER TABLE crawl_pages ADD COLUMN error TEXT;

CREATE INDEX outbox_of_account ON outbox (account, seq);

CREATE TABLE price_history (
    seq    INTEGER PRIMARY KEY,
    at     INTEGER NOT NULL,
    prices TEXT NOT NULL
) STRICT;

CREATE TRIGGER price_history_is_not_changed BEFORE UPDATE ON price_history BEGIN
    SELECT RAISE(ABORT, 'past prices are final');
END;

CREATE TRIGGER price_history_is_not_removed BEFORE DELETE ON price_history BEGIN
    SELECT RAISE(ABORT, 'past prices are final');
END;
";

/// Contacts that pipelines found. `details` is a JSON object, `pages` a list of addresses.
const VERSION_6: &str = "
CREATE TABLE contacts (
    seq        INTEGER PRIMARY KEY,
    account    TEXT NOT NULL REFERENCES accounts (id),
    domain     TEXT NOT NULL,
    kind       TEXT NOT NULL,
    value      TEXT NOT NULL,
    details    TEXT NOT NULL,
    pages      TEXT NOT NULL,
    first_seen INTEGER NOT NULL,
    last_seen  INTEGER NOT NULL,
    UNIQUE (account, domain, kind, value)
) STRICT;

CREATE INDEX contacts_by_time ON contacts (account, last_seen, seq);
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::store::sqlite::SqliteStore;
    use crate::store::{DataDir, Store};

    async fn open(directory: &Path) -> Result<SqliteStore, StoreError> {
        SqliteStore::open(DataDir::create(directory).expect("a data directory")).await
    }

    async fn execute(directory: &Path, sql: &'static str) -> Result<(), sqlx::Error> {
        let options = sqlx::sqlite::SqliteConnectOptions::new()
            .filename(directory.join("trawl.db"))
            .create_if_missing(true);
        let mut connection = SqliteConnection::connect_with(&options).await?;
        sqlx::raw_sql(sql).execute(&mut connection).await?;
        connection.close().await
    }

    #[tokio::test]
    async fn a_newer_schema_is_refused_untouched() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        drop(open(directory.path()).await.expect("a new store"));
        let newer = execute(directory.path(), "PRAGMA user_version = 99").await;
        newer.expect("a database of the future");
        let refusal = open(directory.path()).await.expect_err("refused");
        assert_eq!(
            refusal.to_string(),
            "the database has schema version 99, this program knows versions up to 6: use the newer program that wrote it"
        );
    }

    #[tokio::test]
    async fn a_database_of_the_first_version_goes_on() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        execute(directory.path(), VERSION_1).await.expect("tables");
        let rows = "PRAGMA user_version = 1; PRAGMA application_id = 0x7472776c;
            INSERT INTO accounts (id, name, created) VALUES ('a', 'a', 0);
            INSERT INTO entries VALUES (1, 't', 'a', 'top_up', 5, 0, '', '', '', 0, 0, 0, 0, 0, 0, '', 0)";
        execute(directory.path(), rows).await.expect("an account");
        for _ in 0..2 {
            let store = open(directory.path()).await.expect("brought up to date");
            let accounts = store.accounts().await.expect("accounts");
            assert_eq!(accounts[0].balance.0, 5);
            assert_eq!(store.unfinished_crawls().await.expect("none"), []);
            store.close().await;
        }
    }

    #[tokio::test]
    async fn a_ledger_of_the_third_version_moves_whole() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        for tables in [VERSION_1, VERSION_2, VERSION_3] {
            execute(directory.path(), tables).await.expect("tables");
        }
        let rows = "PRAGMA user_version = 3; PRAGMA application_id = 0x7472776c;
            INSERT INTO accounts (id, name, created) VALUES ('a', 'a', 0), ('b', 'b', 0);
            INSERT INTO entries VALUES (1, 't', 'a', 'top_up', 500, 0, '', '', '', 0, 0, 0, 0, 0, 0, '', 0);
            INSERT INTO entries VALUES (2, 'r:1', 'a', 'reserve', 0, 90, '1', 'x', 'u', 0, 0, 0, 0, 0, 0, '', 1);
            INSERT INTO entries VALUES (3, 's:1', 'a', 'post', -30, -90, '1', 'x', 'u', 0, 10, 0, 20, 0, 0, '', 2);
            INSERT INTO entries VALUES (5, 'r:p:2/1', 'a', 'reserve', 0, 70, 'p:2', 'y', '', 0, 0, 0, 0, 0, 0, '', 3);
            INSERT INTO crawls VALUES (1, 'c', 'a', '{}', 'crawl', 0, 1, 'queued', NULL, 0, NULL, 0, 0, 0, 0)";
        execute(directory.path(), rows).await.expect("an account");
        for _ in 0..2 {
            let store = open(directory.path()).await.expect("brought up to date");
            let accounts = store.accounts().await.expect("accounts");
            let sums: Vec<_> = accounts
                .iter()
                .map(|account| (account.balance.0, account.held.0))
                .collect();
            assert_eq!(sums, [(470, 70), (0, 0)]);
            let audit = store.audit().await.expect("an audit");
            assert_eq!((audit.disagreements, audit.n_entries), (Vec::new(), 4));
            let post = store.entry("s:1").await.expect("read").expect("a post");
            assert_eq!((post.seq, post.entry.charge.total().0), (3, 30));
            let open = store.open_reserves().await.expect("a search");
            assert_eq!((open.len(), open[0].held.0), (1, 70));
            let crawls = store.unfinished_crawls().await.expect("crawls");
            assert_eq!(crawls[0].terms, crate::model::Terms::PayAsYouGo);
            assert_eq!(store.subscriptions().await.expect("none"), []);
            store.close().await;
        }
        for sql in ["UPDATE entries SET amount = 9", "DELETE FROM entries"] {
            let refusal = execute(directory.path(), sql).await.expect_err("final");
            assert!(refusal.to_string().contains("ledger entries are final"));
        }
        let seats = "INSERT INTO entries VALUES (6, 'seats:a', 'a', 'seats', -400, 0, '', '', '', 0, 0, 0, 0, 0, 0, '', 4, 0, 0)";
        execute(directory.path(), seats).await.expect("a new kind");
        let too_much = "INSERT INTO entries VALUES (7, 'seats:b', 'a', 'seats', -1, 0, '', '', '', 0, 0, 0, 0, 0, 0, '', 4, 0, 0)";
        let refusal = execute(directory.path(), too_much).await;
        refusal.expect_err("what is set aside is not spent");
        let store = open(directory.path()).await.expect("the same");
        let audit = store.audit().await.expect("an audit");
        assert_eq!(audit.disagreements, []);
    }

    #[tokio::test]
    async fn keys_and_pages_of_the_fourth_version_are_kept() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        for tables in [VERSION_1, VERSION_2, VERSION_3, VERSION_4] {
            execute(directory.path(), tables).await.expect("tables");
        }
        let rows = "PRAGMA user_version = 4; PRAGMA application_id = 0x7472776c;
            INSERT INTO accounts (id, name, created) VALUES ('a', 'a', 0);
            INSERT INTO keys VALUES ('tr_1', 'a', zeroblob(32), 1, NULL), ('tr_2', 'a', x'0101010101010101010101010101010101010101010101010101010101010101', 2, 3);
            INSERT INTO entries VALUES (1, 't', 'a', 'top_up', 500, 0, '', '', '', 0, 0, 0, 0, 0, 0, '', 0);
            INSERT INTO crawls VALUES (1, 'c', 'a', '{}', 'crawl', 0, 1, 'ended', NULL, 0, 5, 1, 0, 9, 7, 'pay_as_you_go');
            INSERT INTO crawl_urls VALUES (1, 0, 'http://a.example/', 0, 1);
            INSERT INTO crawl_pages VALUES (1, 1, 0, 200, 0, 0, 9)";
        execute(directory.path(), rows).await.expect("an account");
        for _ in 0..2 {
            let store = open(directory.path()).await.expect("brought up to date");
            let keys = store.keys().await.expect("keys");
            assert_eq!(
                (keys.len(), keys[0].name.as_str(), keys[0].last_used),
                (1, "", None)
            );
            let account = keys[0].account.clone();
            let all = store.records().all_keys(&account).await.expect("keys");
            assert_eq!(all[1].revoked, Some(crate::clock::Timestamp(3)));
            let accounts = store.accounts().await.expect("accounts");
            assert_eq!(accounts[0].notice, crate::store::Notice::default());
            let pages = store.crawl_pages("c", 0, 9).await.expect("pages");
            assert_eq!((pages.len(), pages[0].at, pages[0].cost.0), (1, None, 0));
            assert_eq!(store.records().prices().await.expect("none"), []);
            let audit = store.audit().await.expect("an audit");
            assert_eq!((audit.disagreements, audit.n_entries), (Vec::new(), 1));
            store.close().await;
        }
        let old = "INSERT INTO price_history VALUES (1, 2, '{}')";
        execute(directory.path(), old).await.expect("a row");
        for sql in [
            "UPDATE price_history SET prices = ''",
            "DELETE FROM price_history",
        ] {
            let refusal = execute(directory.path(), sql).await.expect_err("final");
            assert!(refusal.to_string().contains("past prices are final"));
        }
    }

    #[tokio::test]
    async fn a_file_of_another_program_is_refused() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let other = execute(directory.path(), "CREATE TABLE bookmarks (url TEXT)").await;
        other.expect("a database of another program");
        let refusal = open(directory.path()).await.expect_err("refused");
        assert!(matches!(refusal, StoreError::NotOurs));

        let directory = tempfile::tempdir().expect("a temporary directory");
        let text = "this is no database at all, but it is long enough to be one".repeat(100);
        std::fs::write(directory.path().join("trawl.db"), text).expect("a text file");
        let refusal = open(directory.path()).await.expect_err("refused");
        assert!(matches!(refusal, StoreError::NotOurs));
    }

    #[tokio::test]
    async fn ledger_entries_are_final() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        drop(open(directory.path()).await.expect("a new store"));
        let sql = "INSERT INTO accounts (id, name, created) VALUES ('a', 'a', 0);
            INSERT INTO entries VALUES (1, 't', 'a', 'top_up', 5, 0, '', '', '', 0, 0, 0, 0, 0, 0, '', 0, 0, 0)";
        execute(directory.path(), sql).await.expect("an entry");
        for sql in ["UPDATE entries SET amount = 9", "DELETE FROM entries"] {
            let refusal = execute(directory.path(), sql).await.expect_err("final");
            assert!(refusal.to_string().contains("ledger entries are final"));
        }
    }
}
