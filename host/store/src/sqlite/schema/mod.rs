//! The database schema, one migration per version. A released version is never edited; a change is
//! a new version at the end.

use std::collections::BTreeSet;

use sqlx::sqlite::SqliteConnection;
use sqlx::{Connection, Row};

use super::row::failed_to;
use crate::StoreError;

/// Identifies databases of this program: `trwl` in ASCII.
const APPLICATION_ID: i64 = 0x7472_776c;
/// Error code of a statement that does not fit the schema.
const SQLITE_ERROR: &str = "1";
/// Error code of a file that is not a database.
const SQLITE_NOTADB: &str = "26";

/// The migration at index `n` upgrades a database from version `n` to `n + 1`.
const MIGRATIONS: &[&str] = &[
    VERSION_1, VERSION_2, VERSION_3, VERSION_4, VERSION_5, VERSION_6, VERSION_7, VERSION_8,
    VERSION_9, VERSION_10, VERSION_11, VERSION_12, VERSION_13, VERSION_14,
];

/// Accounts, keys, ledger, answers.
///
/// A trigger updates the balance of an account with each entry, so the two cannot drift apart; the
/// check constraints refuse an entry that would overdraw. Post and void of a reservation have the
/// same id, so it ends only once.
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

/// Crawls, their URLs and pages, and an index on the ledger entries of their allotments. `state` of
/// a URL: 0 waiting, 1 done, from 16 on 16 plus the skip reason.
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

/// Undelivered webhook events, and the secrets that sign them.
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

/// Seats: subscriptions, the entry kind of their charges, and the terms of crawls.
///
/// SQLite cannot alter a check constraint, so the ledger is copied into a new table; its indexes
/// and triggers are dropped with the old one and created again. The balances stay unchanged,
/// because the triggers are created after the copy.
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

/// Names and uses of keys, balance notices, usage of pages, columns for page lists, and the price
/// history.
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

/// Contacts that pipelines extracted. `details` is a JSON object, `pages` an array of URLs.
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

/// What each account has stored, and the channels of webhook events.
///
/// Triggers keep the totals, like the balances. A row of each kind counts as a flat number of bytes
/// plus its texts. `due` of an event is no longer used: its channel's holds for all its
/// events, so that postponing them is one row.
const VERSION_7: &str = "
CREATE TABLE account_totals (
    account            TEXT PRIMARY KEY,
    n_crawls           INTEGER NOT NULL DEFAULT 0,
    n_pages            INTEGER NOT NULL DEFAULT 0,
    n_background_pages INTEGER NOT NULL DEFAULT 0,
    crawl_bytes        INTEGER NOT NULL DEFAULT 0,
    n_answers          INTEGER NOT NULL DEFAULT 0,
    answer_bytes       INTEGER NOT NULL DEFAULT 0,
    n_contacts         INTEGER NOT NULL DEFAULT 0,
    contact_bytes      INTEGER NOT NULL DEFAULT 0,
    n_events           INTEGER NOT NULL DEFAULT 0,
    event_bytes        INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

ALTER TABLE crawls ADD COLUMN stored_bytes INTEGER NOT NULL DEFAULT 0;
UPDATE crawls SET stored_bytes = octet_length(request) + 256
    + (SELECT COALESCE(SUM(length + 64 + COALESCE(octet_length(error), 0)), 0) FROM crawl_pages WHERE crawl = number)
    + (SELECT COALESCE(SUM(octet_length(url) + 64), 0) FROM crawl_urls WHERE crawl = number);

CREATE TABLE outbox_channels (
    account     TEXT NOT NULL,
    destination TEXT NOT NULL,
    due         INTEGER NOT NULL,
    n_events    INTEGER NOT NULL,
    PRIMARY KEY (account, destination)
) STRICT, WITHOUT ROWID;

INSERT INTO outbox_channels (account, destination, due, n_events)
    SELECT account, destination, MIN(due), COUNT(*) FROM outbox GROUP BY account, destination;

CREATE INDEX outbox_channels_by_time ON outbox_channels (due);
CREATE INDEX outbox_of_channel ON outbox (account, destination, seq);
DROP INDEX outbox_by_time;
DROP INDEX outbox_by_destination;
CREATE INDEX contacts_of_domain ON contacts (account, domain, last_seen, seq);

INSERT INTO account_totals SELECT id,
    (SELECT COUNT(*) FROM crawls WHERE account = accounts.id),
    (SELECT COALESCE(SUM(n_pages), 0) FROM crawls WHERE account = accounts.id),
    (SELECT COALESCE(SUM(n_pages), 0) FROM crawls WHERE account = accounts.id AND in_background),
    (SELECT COALESCE(SUM(stored_bytes), 0) FROM crawls WHERE account = accounts.id),
    (SELECT COUNT(*) FROM answers WHERE account = accounts.id),
    (SELECT COALESCE(SUM(COALESCE(length(body), 0) + 256), 0) FROM answers WHERE account = accounts.id),
    (SELECT COUNT(*) FROM contacts WHERE account = accounts.id),
    (SELECT COALESCE(SUM(octet_length(value) + octet_length(details) + octet_length(pages) + 128), 0)
        FROM contacts WHERE account = accounts.id),
    (SELECT COUNT(*) FROM outbox WHERE account = accounts.id),
    (SELECT COALESCE(SUM(octet_length(body) + octet_length(destination) + 256), 0) FROM outbox WHERE account = accounts.id)
    FROM accounts;

CREATE TRIGGER accounts_have_totals AFTER INSERT ON accounts BEGIN
    INSERT INTO account_totals (account) VALUES (NEW.id);
END;

CREATE TRIGGER crawls_are_counted AFTER INSERT ON crawls BEGIN
    UPDATE account_totals SET n_crawls = n_crawls + 1, crawl_bytes = crawl_bytes + NEW.stored_bytes,
        n_pages = n_pages + NEW.n_pages, n_background_pages = n_background_pages + NEW.in_background * NEW.n_pages
        WHERE account = NEW.account;
END;

CREATE TRIGGER crawls_are_counted_again AFTER UPDATE OF n_pages, stored_bytes ON crawls BEGIN
    UPDATE account_totals SET crawl_bytes = crawl_bytes + NEW.stored_bytes - OLD.stored_bytes,
        n_pages = n_pages + NEW.n_pages - OLD.n_pages,
        n_background_pages = n_background_pages + NEW.in_background * (NEW.n_pages - OLD.n_pages)
        WHERE account = NEW.account;
END;

CREATE TRIGGER crawls_are_discounted AFTER DELETE ON crawls BEGIN
    UPDATE account_totals SET n_crawls = n_crawls - 1, crawl_bytes = crawl_bytes - OLD.stored_bytes,
        n_pages = n_pages - OLD.n_pages, n_background_pages = n_background_pages - OLD.in_background * OLD.n_pages
        WHERE account = OLD.account;
END;

CREATE TRIGGER answers_are_counted AFTER INSERT ON answers BEGIN
    UPDATE account_totals SET n_answers = n_answers + 1,
        answer_bytes = answer_bytes + COALESCE(length(NEW.body), 0) + 256
        WHERE account = NEW.account;
END;

CREATE TRIGGER answers_are_discounted AFTER DELETE ON answers BEGIN
    UPDATE account_totals SET n_answers = n_answers - 1,
        answer_bytes = answer_bytes - COALESCE(length(OLD.body), 0) - 256
        WHERE account = OLD.account;
END;

CREATE TRIGGER contacts_are_counted AFTER INSERT ON contacts BEGIN
    UPDATE account_totals SET n_contacts = n_contacts + 1, contact_bytes = contact_bytes
        + octet_length(NEW.value) + octet_length(NEW.details) + octet_length(NEW.pages) + 128
        WHERE account = NEW.account;
END;

CREATE TRIGGER contacts_are_counted_again AFTER UPDATE OF details, pages ON contacts BEGIN
    UPDATE account_totals SET contact_bytes = contact_bytes
        + octet_length(NEW.details) + octet_length(NEW.pages)
        - octet_length(OLD.details) - octet_length(OLD.pages)
        WHERE account = NEW.account;
END;

CREATE TRIGGER outbox_is_counted AFTER INSERT ON outbox BEGIN
    INSERT INTO outbox_channels (account, destination, due, n_events)
        VALUES (NEW.account, NEW.destination, NEW.due, 1)
        ON CONFLICT (account, destination) DO UPDATE SET n_events = n_events + 1;
    UPDATE account_totals SET n_events = n_events + 1,
        event_bytes = event_bytes + octet_length(NEW.body) + octet_length(NEW.destination) + 256
        WHERE account = NEW.account;
END;

CREATE TRIGGER outbox_is_discounted AFTER DELETE ON outbox BEGIN
    UPDATE outbox_channels SET n_events = n_events - 1
        WHERE account = OLD.account AND destination = OLD.destination;
    DELETE FROM outbox_channels
        WHERE account = OLD.account AND destination = OLD.destination AND n_events = 0;
    UPDATE account_totals SET n_events = n_events - 1,
        event_bytes = event_bytes - octet_length(OLD.body) - octet_length(OLD.destination) - 256
        WHERE account = OLD.account;
END;
";

/// The last failure of each channel of webhook events.
const VERSION_8: &str = "
ALTER TABLE outbox_channels ADD COLUMN last_error TEXT;
ALTER TABLE outbox_channels ADD COLUMN last_failed INTEGER;
";

/// Headers of stored answers, what crawls left out, and the cause of a page's failure, as a name.
///
/// Version 8 has the latter within the request object, under the key U+001E `left_out`, which
/// `serde_json` writes as `\u001eleft_out`. `headers` is a JSON array of pairs, `left_out` a JSON
/// object. Their bytes count as stored.
const VERSION_9: &str = r#"
ALTER TABLE answers ADD COLUMN headers TEXT;

DROP TRIGGER answers_are_counted;
CREATE TRIGGER answers_are_counted AFTER INSERT ON answers BEGIN
    UPDATE account_totals SET n_answers = n_answers + 1, answer_bytes = answer_bytes
        + COALESCE(length(NEW.body), 0) + COALESCE(octet_length(NEW.headers), 0) + 256
        WHERE account = NEW.account;
END;

DROP TRIGGER answers_are_discounted;
CREATE TRIGGER answers_are_discounted AFTER DELETE ON answers BEGIN
    UPDATE account_totals SET n_answers = n_answers - 1, answer_bytes = answer_bytes
        - COALESCE(length(OLD.body), 0) - COALESCE(octet_length(OLD.headers), 0) - 256
        WHERE account = OLD.account;
END;

ALTER TABLE crawls ADD COLUMN left_out TEXT;
UPDATE crawls SET left_out = json_extract(request, '$."\u001eleft_out"')
    WHERE instr(request, '"\u001eleft_out"') > 0
    AND CASE WHEN json_valid(request) THEN json_type(request, '$."\u001eleft_out"') END = 'object';
UPDATE crawls SET request = json_remove(request, '$."\u001eleft_out"'),
    stored_bytes = stored_bytes + octet_length(left_out) - octet_length(request)
        + octet_length(json_remove(request, '$."\u001eleft_out"'))
    WHERE left_out IS NOT NULL;

ALTER TABLE crawl_pages ADD COLUMN cause TEXT;
"#;

/// The link that a crawl found a URL by, and where the URL redirects to.
const VERSION_10: &str = "
ALTER TABLE crawl_urls ADD COLUMN referrer INTEGER;
ALTER TABLE crawl_urls ADD COLUMN anchor TEXT;
ALTER TABLE crawl_urls ADD COLUMN target TEXT;
";

/// The keys that pages and crawls were requested with, and the budgets of keys.
///
/// A trigger adds up what a key is charged in a calendar month, so that its budget needs no sum
/// over the ledger. `month` is its beginning in Unix milliseconds.
const VERSION_11: &str = "
ALTER TABLE entries ADD COLUMN key TEXT NOT NULL DEFAULT '';
ALTER TABLE crawls ADD COLUMN key TEXT NOT NULL DEFAULT '';

ALTER TABLE keys ADD COLUMN budget INTEGER CHECK (budget >= 0);
ALTER TABLE keys ADD COLUMN month INTEGER NOT NULL DEFAULT 0;
ALTER TABLE keys ADD COLUMN month_spent INTEGER NOT NULL DEFAULT 0;

CREATE TRIGGER entries_count_for_keys AFTER INSERT ON entries
WHEN NEW.kind = 'post' AND NEW.amount <> 0 AND NEW.key <> '' BEGIN
    UPDATE keys SET
        month_spent = CASE WHEN month < unixepoch(NEW.at / 1000, 'unixepoch', 'start of month') * 1000
            THEN 0 ELSE month_spent END - NEW.amount,
        month = MAX(month, unixepoch(NEW.at / 1000, 'unixepoch', 'start of month') * 1000)
        WHERE prefix = NEW.key;
END;
";

/// The contents of a crawl's pages, where later pages are compared with them: hashes of 16 bytes.
const VERSION_12: &str = "
ALTER TABLE crawl_pages ADD COLUMN content BLOB;
";

/// The webhook secret before the current one, and when it was replaced: it signs for a while too.
const VERSION_13: &str = "
ALTER TABLE webhook_secrets ADD COLUMN previous TEXT;
ALTER TABLE webhook_secrets ADD COLUMN renewed INTEGER;
";

/// Batches are crawls with a verb of their own: their number, and an index for each of both lists.
const VERSION_14: &str = "
ALTER TABLE account_totals ADD COLUMN n_batches INTEGER NOT NULL DEFAULT 0;

CREATE INDEX batches_of_account ON crawls (account, created) WHERE verb = 'batch';
CREATE INDEX other_crawls_of_account ON crawls (account, created) WHERE verb <> 'batch';

CREATE TRIGGER batches_are_counted AFTER INSERT ON crawls WHEN NEW.verb = 'batch' BEGIN
    UPDATE account_totals SET n_batches = n_batches + 1 WHERE account = NEW.account;
END;

CREATE TRIGGER batches_are_discounted AFTER DELETE ON crawls WHEN OLD.verb = 'batch' BEGIN
    UPDATE account_totals SET n_batches = n_batches - 1 WHERE account = OLD.account;
END;
";

/// Refuses a file that a newer version or another program wrote, before anything is written to it.
/// Returns whether it is empty.
pub(super) async fn check(connection: &mut SqliteConnection) -> Result<bool, StoreError> {
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
    if found < 0 || (found == 0) != is_empty {
        let what = format!("it has tables of another schema version than {found}, which it names");
        return Err(StoreError::Damaged { what });
    }
    Ok(is_empty)
}

/// Upgrades the schema to the latest version in one transaction.
pub(super) async fn migrate(connection: &mut SqliteConnection) -> Result<(), StoreError> {
    let failed = failed_to("migrate its schema");
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
            .map_err(|error| unfit(found, &error).unwrap_or_else(|| failed(error)))?;
    }
    // Pragmas take no bound values; both numbers are constants.
    let pragmas = format!(
        "PRAGMA user_version = {}; PRAGMA application_id = {APPLICATION_ID}",
        latest()
    );
    sqlx::raw_sql(sqlx::AssertSqlSafe(pragmas))
        .execute(&mut *transaction)
        .await
        .map_err(&failed)?;
    transaction.commit().await.map_err(&failed)
}

/// What a migration that does not fit the tables says about the database.
fn unfit(found: i64, error: &sqlx::Error) -> Option<StoreError> {
    let error = error.as_database_error()?;
    (error.code()? == SQLITE_ERROR).then(|| StoreError::Damaged {
        what: format!(
            "it names schema version {found}, and its tables do not match that version: {}",
            error.message()
        ),
    })
}

/// Refuses a database that lacks a table, a column, an index or a trigger.
pub(super) async fn verify(connection: &mut SqliteConnection) -> Result<(), StoreError> {
    let failed = failed_to("read its schema");
    let mut model = SqliteConnection::connect("sqlite::memory:")
        .await
        .map_err(&failed)?;
    for migration in MIGRATIONS {
        let migrated = sqlx::raw_sql(*migration).execute(&mut model).await;
        migrated.map_err(&failed)?;
    }
    let expected = parts(&mut model).await?;
    model.close().await.map_err(&failed)?;
    let found = parts(connection).await?;
    match expected.difference(&found).next() {
        Some(part) => Err(StoreError::Damaged {
            what: format!("its {part} is missing"),
        }),
        None => Ok(()),
    }
}

/// The tables, indexes and triggers of a database, and the columns of its tables.
async fn parts(connection: &mut SqliteConnection) -> Result<BTreeSet<String>, StoreError> {
    let names: Vec<String> = sqlx::query_scalar(
        "SELECT type || ' `' || name || '`' FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'
         UNION ALL SELECT 'column `' || tables.name || '.' || columns.name || '`'
         FROM sqlite_schema AS tables, pragma_table_info(tables.name) AS columns
         WHERE tables.type = 'table' AND tables.name NOT LIKE 'sqlite_%'",
    )
    .fetch_all(connection)
    .await
    .map_err(failed_to("read its schema"))?;
    Ok(names.into_iter().collect())
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
        let is_not_a_database = error
            .as_database_error()
            .and_then(|error| error.code())
            .is_some_and(|code| code == SQLITE_NOTADB);
        if is_not_a_database {
            StoreError::NotOurs
        } else {
            failed_to("read its schema version")(error)
        }
    })
}

#[cfg(test)]
mod tests;
