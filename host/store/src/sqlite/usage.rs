//! Sums over the ledger: statements, runs, usage, audits.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use futures_util::TryStreamExt;
use sqlx::AssertSqlSafe;
use sqlx::sqlite::{SqliteConnection, SqlitePool, SqliteRow};

use trawl_model::clock::{DAY_MS, Timestamp};
use trawl_model::{Charge, Nanodollars};

use super::SqliteStore;
use super::row::failed_to;
use crate::rows::{self, column};
use crate::statement::{AuditRow, KeyAudit};
use crate::{
    AccountId, AccountUsage, Audit, KeyDisagreement, KeyPrefix, KindSum, LedgerEntry,
    StatementPage, StoreError, WAITS_FOR_HOST, Window,
};

/// Total charge of a run by component. The ids of its posts start with its name, so this reads no
/// other entries.
pub(super) async fn run_charge(readers: &SqlitePool, run: &str) -> Result<Charge, StoreError> {
    let row = sqlx::query(
        "SELECT COALESCE(SUM(ai), 0) ai, COALESCE(SUM(compute), 0) compute, COALESCE(SUM(file), 0) file,
            COALESCE(SUM(bytes_transferred), 0) bytes_transferred, COALESCE(SUM(transform), 0) transform,
            COALESCE(SUM(vendor_billed), 0) vendor_billed
         FROM entries WHERE id >= 'c:' || ?1 || ':' AND id < 'c:' || ?1 || ';'",
    )
    .bind(run)
    .fetch_one(readers)
    .await
    .map_err(failed_to("add up a run"))?;
    rows::charge(&row)
}

pub(super) async fn has_run_posts(readers: &SqlitePool, run: &str) -> Result<bool, StoreError> {
    sqlx::query_scalar(
        "SELECT EXISTS (SELECT 1 FROM entries WHERE id >= 'c:' || ?1 || ':' AND id < 'c:' || ?1 || ';')",
    )
    .bind(run)
    .fetch_one(readers)
    .await
    .map_err(failed_to("look for charges of a run"))
}

/// The charges of a run by id. The ids have one lower bound, so that each call begins to read where
/// the last one ended.
pub(super) async fn run_posts(
    readers: &SqlitePool,
    run: &str,
    after: Option<&str>,
    count_max: u32,
) -> Result<Vec<LedgerEntry>, StoreError> {
    let after = after.map_or_else(|| format!("c:{run}:"), str::to_owned);
    let rows = sqlx::query(
        "SELECT * FROM entries WHERE id > ?1 AND id < 'c:' || ?2 || ';' AND amount < 0
         ORDER BY id LIMIT ?3",
    )
    .bind(after)
    .bind(run)
    .bind(i64::from(count_max))
    .fetch_all(readers)
    .await
    .map_err(failed_to("list the charges of a run"))?;
    let posts = rows.iter().map(|row| Ok(rows::posted(row)?.entry));
    posts.collect()
}

pub(super) async fn run_spent(readers: &SqlitePool, run: &str) -> Result<Nanodollars, StoreError> {
    let spent: i64 = sqlx::query_scalar(
        "SELECT COALESCE(-SUM(amount), 0) FROM entries WHERE id >= 'c:' || ?1 || ':' AND id < 'c:' || ?1 || ';'",
    )
    .bind(run)
    .fetch_one(readers)
    .await
    .map_err(failed_to("add up a run"))?;
    Ok(Nanodollars(spent))
}

/// Entries that one step of a statement reads: a few milliseconds, after which the statement of
/// another account may go on.
const STEP_ENTRIES: i64 = 10_000;

/// Read in steps of at most [`STEP_ENTRIES`] entries. The ledger only grows, so all steps together
/// see what it had when the balance was read.
pub(super) async fn statement(
    store: &SqliteStore,
    account: &AccountId,
    window: Window,
) -> Result<StatementPage, StoreError> {
    let failed = failed_to("read the ledger");
    let found: Option<(i64, i64, i64)> = sqlx::query_as(
        "SELECT balance, held, (SELECT COALESCE(MAX(seq), 0) FROM entries WHERE account = accounts.id)
         FROM accounts WHERE id = ?",
    )
    .bind(account.as_str())
    .fetch_optional(&mut *store.list_connection().await?)
    .await
    .map_err(&failed)?;
    let (balance, held, last) = found.unwrap_or_default();
    let mut entries = Vec::new();
    let mut after = window.after;
    while after < last && entries.len() < window.limit as usize {
        let mut connection = store.list_connection().await?;
        let end = end_of_step(&mut connection, account, after, last).await?;
        let rows = sqlx::query(
            "SELECT * FROM entries WHERE account = ? AND seq > ? AND seq <= ? AND at >= ? AND at < ?
             ORDER BY seq LIMIT ?",
        )
        .bind(account.as_str())
        .bind(after)
        .bind(end)
        .bind(window.from.0)
        .bind(window.to.0)
        .bind(i64::from(window.limit) - entries.len() as i64)
        .fetch_all(&mut *connection)
        .await
        .map_err(&failed)?;
        for row in &rows {
            entries.push(rows::posted(row)?);
        }
        after = end;
    }
    let sums = match window.after {
        0 => sums(store, account, window, last).await?,
        _ => Vec::new(),
    };
    Ok(StatementPage {
        entries,
        sums,
        last,
        balance: Nanodollars(balance),
        held: Nanodollars(held),
    })
}

/// The last entry of the step that begins after `after`.
async fn end_of_step(
    connection: &mut SqliteConnection,
    account: &AccountId,
    after: i64,
    last: i64,
) -> Result<i64, StoreError> {
    let end: Option<i64> = sqlx::query_scalar(
        "SELECT seq FROM entries WHERE account = ? AND seq > ? ORDER BY seq LIMIT 1 OFFSET ?",
    )
    .bind(account.as_str())
    .bind(after)
    // The entry after this many others: the last of the step.
    .bind(STEP_ENTRIES - 1)
    .fetch_optional(connection)
    .await
    .map_err(failed_to("read the ledger"))?;
    // Meanwhile there may be entries after `last`.
    Ok(end.map_or(last, |end| end.min(last)))
}

/// Sums by kind over a time window, of entries up to `last`.
async fn sums(
    store: &SqliteStore,
    account: &AccountId,
    window: Window,
    last: i64,
) -> Result<Vec<KindSum>, StoreError> {
    let mut sums: BTreeMap<String, (u64, Nanodollars)> = BTreeMap::new();
    let mut after = 0;
    while after < last {
        let mut connection = store.list_connection().await?;
        let end = end_of_step(&mut connection, account, after, last).await?;
        let rows: Vec<(String, i64, i64)> = sqlx::query_as(
            "SELECT kind, COUNT(*), SUM(amount) FROM entries
             WHERE account = ? AND seq > ? AND seq <= ? AND at >= ? AND at < ? GROUP BY kind",
        )
        .bind(account.as_str())
        .bind(after)
        .bind(end)
        .bind(window.from.0)
        .bind(window.to.0)
        .fetch_all(&mut *connection)
        .await
        .map_err(failed_to("add up the ledger"))?;
        for (kind, n_entries, amount) in rows {
            let sum = sums.entry(kind).or_default();
            sum.0 += n_entries.unsigned_abs();
            sum.1 += Nanodollars(amount);
        }
        after = end;
    }
    let sums = sums.into_iter().map(|(kind, (n_entries, amount))| {
        Ok(KindSum {
            kind: rows::entry_kind(&kind)?,
            n_entries,
            amount,
        })
    });
    sums.collect()
}

pub(super) async fn audit(readers: &SqlitePool) -> Result<Audit, StoreError> {
    // One statement, so that entries and balances are consistent.
    let rows: Vec<AuditRow> = sqlx::query_as(
        "SELECT accounts.id, balance, accounts.held,
                COALESCE(SUM(amount), 0), COALESCE(SUM(entries.held), 0), COUNT(seq)
         FROM accounts LEFT JOIN entries ON entries.account = accounts.id
         GROUP BY accounts.id ORDER BY accounts.id",
    )
    .fetch_all(readers)
    .await
    .map_err(failed_to("add up the ledger"))?;
    Ok(Audit::of(rows, key_disagreements(readers).await?))
}

/// Compares what each key has spent in the month of its last charge with its entries since the
/// first one of that month. A later entry counts in that month whatever its time, as in the trigger
/// `entries_count_for_keys`. Entries have no index by key: SQLite would hold all of them in memory
/// to group them, so they are added up here as they are read.
async fn key_disagreements(readers: &SqlitePool) -> Result<Vec<KeyDisagreement>, StoreError> {
    let failed = failed_to("add up the charges of keys");
    // One transaction, so that entries and keys are consistent.
    let mut transaction = readers.begin().await.map_err(&failed)?;
    let rows: Vec<(String, String, i64, i64)> =
        sqlx::query_as("SELECT prefix, account, month, month_spent FROM keys")
            .fetch_all(&mut *transaction)
            .await
            .map_err(&failed)?;
    let mut keys = KeyAudit::default();
    rows.into_iter().for_each(|row| keys.add_key(row));
    let mut posts = sqlx::query(
        "SELECT key, amount, at FROM entries WHERE kind = 'post' AND amount <> 0 ORDER BY seq",
    )
    .fetch(&mut *transaction);
    while let Some(post) = posts.try_next().await.map_err(&failed)? {
        let (amount, at) = (column(&post, "amount")?, column(&post, "at")?);
        keys.add_post(column(&post, "key")?, amount, at);
    }
    Ok(keys.disagreements())
}

/// The sums of usage. Every charge is a page, and every refund one that failed. So is a void, but
/// for those that return the unused allotment of a run, which have no URL, and those of pages that
/// continue ([`WAITS_FOR_HOST`], the first value to bind).
const SUMS: &str = "account,
             SUM(kind = 'post' AND amount <= 0) AS n_pages,
             SUM((kind = 'void' AND (url <> '' OR hold NOT LIKE 'p:%') AND reason <> ?)
                 OR (kind = 'post' AND amount > 0)) AS n_failed,
             SUM(n_bytes) AS n_bytes, SUM(cpu) AS cpu,
             SUM(ai) AS ai, SUM(compute) AS compute, SUM(file) AS file, SUM(bytes_transferred) AS bytes_transferred,
             SUM(transform) AS transform, SUM(vendor_billed) AS vendor_billed,
             SUM(CASE kind WHEN 'top_up' THEN amount ELSE 0 END) AS top_ups,
             SUM(CASE kind WHEN 'bonus' THEN amount ELSE 0 END) AS bonuses,
             SUM(CASE kind WHEN 'seats' THEN -amount ELSE 0 END) AS seats";

/// Usage per account.
pub(super) async fn by_account(
    readers: &SqlitePool,
    from: Timestamp,
    to: Timestamp,
) -> Result<Vec<AccountUsage>, StoreError> {
    let sql = format!(
        "SELECT {SUMS} FROM entries WHERE at >= ? AND at < ? GROUP BY account ORDER BY account"
    );
    let rows = sqlx::query(AssertSqlSafe(sql))
        .bind(WAITS_FOR_HOST)
        .bind(from.0)
        .bind(to.0)
        .fetch_all(readers)
        .await
        .map_err(failed_to("add up the usage"))?;
    rows.iter().map(rows::account_usage).collect()
}

/// How the entries of an account are grouped.
struct Groups<K> {
    /// Expression over an entry; what has the same value is a group.
    of: String,
    /// Condition on the entries, after `AND`.
    only: &'static str,
    /// Reads the value, which is the column `part`.
    read: fn(&SqliteRow) -> Result<K, StoreError>,
}

/// Usage of an account per day.
pub(super) async fn by_day(
    store: &SqliteStore,
    account: &AccountId,
    from: Timestamp,
    to: Timestamp,
) -> Result<Vec<(Timestamp, AccountUsage)>, StoreError> {
    let days = Groups {
        // Division rounds towards zero, and no entry is older than 1970.
        of: format!("at / {DAY_MS}"),
        only: "TRUE",
        read: |row| column::<i64>(row, "part").map(|day| Timestamp(day * DAY_MS)),
    };
    grouped(store, account, (from, to), days).await
}

/// Usage of an account per key that its pages were requested with.
pub(super) async fn by_key(
    store: &SqliteStore,
    account: &AccountId,
    from: Timestamp,
    to: Timestamp,
) -> Result<Vec<(KeyPrefix, AccountUsage)>, StoreError> {
    let keys = Groups {
        of: "key".to_owned(),
        only: "kind IN ('post', 'void')",
        read: |row| column::<&str>(row, "part").map(KeyPrefix::new),
    };
    let mut keys = grouped(store, account, (from, to), keys).await?;
    // The void of a run's unused money is not a page.
    keys.retain(|(_, usage)| usage.n_pages + usage.n_failed > 0);
    Ok(keys)
}

/// Usage of an account per group, sorted by group. Read in steps like a statement.
async fn grouped<K: Ord + Send>(
    store: &SqliteStore,
    account: &AccountId,
    (from, to): (Timestamp, Timestamp),
    groups: Groups<K>,
) -> Result<Vec<(K, AccountUsage)>, StoreError> {
    let failed = failed_to("add up the usage");
    let last: i64 =
        sqlx::query_scalar("SELECT COALESCE(MAX(seq), 0) FROM entries WHERE account = ?")
            .bind(account.as_str())
            .fetch_one(&mut *store.list_connection().await?)
            .await
            .map_err(&failed)?;
    let sql: Arc<str> = format!(
        "SELECT {} AS part, {SUMS} FROM entries
         WHERE account = ? AND seq > ? AND seq <= ? AND at >= ? AND at < ? AND {} GROUP BY account, part",
        groups.of, groups.only
    )
    .into();
    let mut sums: BTreeMap<K, AccountUsage> = BTreeMap::new();
    let mut after = 0;
    while after < last {
        let mut connection = store.list_connection().await?;
        let end = end_of_step(&mut connection, account, after, last).await?;
        let rows = sqlx::query(AssertSqlSafe(Arc::clone(&sql)))
            .bind(WAITS_FOR_HOST)
            .bind(account.as_str())
            .bind(after)
            .bind(end)
            .bind(from.0)
            .bind(to.0)
            .fetch_all(&mut *connection)
            .await
            .map_err(&failed)?;
        for row in &rows {
            let usage = rows::account_usage(row)?;
            match sums.entry((groups.read)(row)?) {
                Entry::Vacant(group) => {
                    group.insert(usage);
                }
                Entry::Occupied(mut group) => group.get_mut().add(&usage),
            }
        }
        after = end;
    }
    Ok(sums.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::fixtures::{account, entry, with_accounts};
    use crate::{DataDir, EntryKind, LedgerStore, Store};

    #[tokio::test]
    async fn an_audit_finds_keys_that_have_spent_something_else() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let data = DataDir::create(directory.path()).expect("a data directory");
        let store = SqliteStore::open(data).await.expect("a store");
        with_accounts(&store).await;
        let group = [
            entry("t:1", EntryKind::TopUp, 1_000, 0),
            entry("s:1", EntryKind::Post, -30, 0),
            entry("s:2", EntryKind::Post, -12, 0),
        ];
        store.post_group(&group).await.expect("written");
        let wrong = async || store.audit().await.expect("an audit").key_disagreements;
        assert_eq!(wrong().await, []);
        for prefix in ["tr_1", "tr_2"] {
            let mut writer = store.writer().await.expect("the write connection");
            sqlx::query("UPDATE keys SET month_spent = month_spent + 7 WHERE prefix = ?")
                .bind(prefix)
                .execute(writer.connection())
                .await
                .expect("changed");
        }
        let expected = [(1, "tr_1", 49, 42), (2, "tr_2", 7, 0)];
        let expected = expected.map(|(n, key, month_spent, entries_spent)| KeyDisagreement {
            account: account(n).id,
            key: KeyPrefix::new(key),
            month_spent: Nanodollars(month_spent),
            entries_spent: Nanodollars(entries_spent),
        });
        assert_eq!(wrong().await, expected);
        store.close().await;
    }

    #[tokio::test]
    async fn a_step_of_a_statement_has_at_most_its_entries() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let data = DataDir::create(directory.path()).expect("a data directory");
        let store = SqliteStore::open(data).await.expect("a store");
        with_accounts(&store).await;
        let id = account(1).id;
        let last = STEP_ENTRIES + 1;
        let mut writer = store.writer().await.expect("the write connection");
        sqlx::query(
            "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?)
             INSERT INTO entries (seq, id, account, kind, amount, held, hold, run, url,
                 ai, compute, file, bytes_transferred, transform, vendor_billed, reason, at)
             SELECT n, 't:' || n, ?, 'top_up', 1, 0, '', '', '', 0, 0, 0, 0, 0, 0, '', 1 FROM numbers",
        )
        .bind(last)
        .bind(id.as_str())
        .execute(writer.connection())
        .await
        .expect("entries");
        drop(writer);
        let mut connection = store.list_connection().await.expect("a connection");
        let end = end_of_step(&mut connection, &id, 0, last).await;
        assert_eq!(end.expect("the first step"), STEP_ENTRIES);
        let end = end_of_step(&mut connection, &id, STEP_ENTRIES, last).await;
        assert_eq!(end.expect("the second step"), last);
        // The rest was written after the balance was read.
        let end = end_of_step(&mut connection, &id, 0, STEP_ENTRIES - 1).await;
        assert_eq!(end.expect("a short step"), STEP_ENTRIES - 1);
        drop(connection);
        // The sums of all steps of a day are one.
        let days = by_day(&store, &id, Timestamp::MIN, Timestamp::MAX).await;
        let days = days.expect("sums");
        let [(day, usage)] = &days[..] else {
            panic!("one day: {days:?}");
        };
        assert_eq!((*day, usage.top_ups), (Timestamp(0), Nanodollars(last)));
        store.close().await;
    }
}
