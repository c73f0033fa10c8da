//! Sums over the ledger: statements, runs, usage, audits.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use futures_util::TryStreamExt;
use sqlx::AssertSqlSafe;
use sqlx::postgres::{PgConnection, PgPool, PgRow};

use trawl_model::clock::{DAY_MS, Timestamp};
use trawl_model::{Charge, Nanodollars};

use super::PostgresStore;
use super::row::{failed_to, list_failed_to};
use crate::rows::{self, column};
use crate::statement::{AuditRow, KeyAudit};
use crate::{
    AccountId, AccountUsage, Audit, KeyDisagreement, KeyPrefix, KindSum, LedgerEntry,
    StatementPage, StoreError, WAITS_FOR_HOST, Window,
};

/// Begins a transaction that sees the database as it is at one moment.
pub(super) const SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/// Total charge of a run by component. The ids of its posts start with its name, so this reads no
/// other entries.
pub(super) async fn run_charge(readers: &PgPool, run: &str) -> Result<Charge, StoreError> {
    let row = sqlx::query(
        "SELECT COALESCE(SUM(ai), 0)::BIGINT AS ai, COALESCE(SUM(compute), 0)::BIGINT AS compute,
            COALESCE(SUM(file), 0)::BIGINT AS file,
            COALESCE(SUM(bytes_transferred), 0)::BIGINT AS bytes_transferred,
            COALESCE(SUM(transform), 0)::BIGINT AS transform,
            COALESCE(SUM(vendor_billed), 0)::BIGINT AS vendor_billed
         FROM entries WHERE id >= 'c:' || $1 || ':' AND id < 'c:' || $1 || ';'",
    )
    .bind(run)
    .fetch_one(readers)
    .await
    .map_err(failed_to("add up a run"))?;
    rows::charge(&row)
}

pub(super) async fn has_run_posts(readers: &PgPool, run: &str) -> Result<bool, StoreError> {
    sqlx::query_scalar(
        "SELECT EXISTS (SELECT 1 FROM entries WHERE id >= 'c:' || $1 || ':' AND id < 'c:' || $1 || ';')",
    )
    .bind(run)
    .fetch_one(readers)
    .await
    .map_err(failed_to("look for charges of a run"))
}

/// The charges of a run by id. The ids have one lower bound, so that each call begins to read where
/// the last one ended.
pub(super) async fn run_posts(
    readers: &PgPool,
    run: &str,
    after: Option<&str>,
    count_max: u32,
) -> Result<Vec<LedgerEntry>, StoreError> {
    let after = after.map_or_else(|| format!("c:{run}:"), str::to_owned);
    let rows = sqlx::query(
        "SELECT * FROM entries WHERE id > $1 AND id < 'c:' || $2 || ';' AND amount < 0
         ORDER BY id LIMIT $3",
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

pub(super) async fn run_spent(readers: &PgPool, run: &str) -> Result<Nanodollars, StoreError> {
    let spent: i64 = sqlx::query_scalar(
        "SELECT COALESCE(-SUM(amount), 0)::BIGINT FROM entries WHERE id >= 'c:' || $1 || ':' AND id < 'c:' || $1 || ';'",
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
    store: &PostgresStore,
    account: &AccountId,
    window: Window,
) -> Result<StatementPage, StoreError> {
    let failed = list_failed_to("read the ledger");
    let found: Option<(i64, i64, i64)> = sqlx::query_as(
        "SELECT balance, held, (SELECT COALESCE(MAX(seq), 0) FROM entries WHERE account = accounts.id)
         FROM accounts WHERE id = $1",
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
            "SELECT * FROM entries WHERE account = $1 AND seq > $2 AND seq <= $3 AND at >= $4 AND at < $5
             ORDER BY seq LIMIT $6",
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
    connection: &mut PgConnection,
    account: &AccountId,
    after: i64,
    last: i64,
) -> Result<i64, StoreError> {
    let end: Option<i64> = sqlx::query_scalar(
        "SELECT seq FROM entries WHERE account = $1 AND seq > $2 ORDER BY seq LIMIT 1 OFFSET $3",
    )
    .bind(account.as_str())
    .bind(after)
    // The entry after this many others: the last of the step.
    .bind(STEP_ENTRIES - 1)
    .fetch_optional(connection)
    .await
    .map_err(list_failed_to("read the ledger"))?;
    // Meanwhile there may be entries after `last`.
    Ok(end.map_or(last, |end| end.min(last)))
}

/// Sums by kind over a time window, of entries up to `last`.
async fn sums(
    store: &PostgresStore,
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
            "SELECT kind, COUNT(*), SUM(amount)::BIGINT FROM entries
             WHERE account = $1 AND seq > $2 AND seq <= $3 AND at >= $4 AND at < $5 GROUP BY kind",
        )
        .bind(account.as_str())
        .bind(after)
        .bind(end)
        .bind(window.from.0)
        .bind(window.to.0)
        .fetch_all(&mut *connection)
        .await
        .map_err(list_failed_to("add up the ledger"))?;
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

pub(super) async fn audit(readers: &PgPool) -> Result<Audit, StoreError> {
    let begun = readers.begin_with(SNAPSHOT).await;
    let mut snapshot = begun.map_err(failed_to("add up the ledger"))?;
    audit_in(&mut snapshot).await
}

/// The same on a connection, whose transaction is a snapshot: balances, keys and entries must be
/// those of one moment.
pub(super) async fn audit_in(connection: &mut PgConnection) -> Result<Audit, StoreError> {
    let rows: Vec<AuditRow> = sqlx::query_as(
        "SELECT accounts.id, balance, accounts.held,
                COALESCE(SUM(amount), 0)::BIGINT, COALESCE(SUM(entries.held), 0)::BIGINT, COUNT(seq)
         FROM accounts LEFT JOIN entries ON entries.account = accounts.id
         GROUP BY accounts.id ORDER BY accounts.id",
    )
    .fetch_all(&mut *connection)
    .await
    .map_err(failed_to("add up the ledger"))?;
    Ok(Audit::of(rows, key_disagreements(connection).await?))
}

/// Compares what each key has spent in the month of its last charge with its entries since the
/// first one of that month. A later entry counts in that month whatever its time, as in the trigger
/// `entries_count_for_keys`. Entries are added up here as they are read.
async fn key_disagreements(
    connection: &mut PgConnection,
) -> Result<Vec<KeyDisagreement>, StoreError> {
    let failed = failed_to("add up the charges of keys");
    let rows: Vec<(String, String, i64, i64)> =
        sqlx::query_as("SELECT prefix, account, month, month_spent FROM keys")
            .fetch_all(&mut *connection)
            .await
            .map_err(&failed)?;
    let mut keys = KeyAudit::default();
    rows.into_iter().for_each(|row| keys.add_key(row));
    let mut posts = sqlx::query(
        "SELECT key, amount, at FROM entries WHERE kind = 'post' AND amount <> 0 ORDER BY seq",
    )
    .fetch(connection);
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
             COUNT(*) FILTER (WHERE kind = 'post' AND amount <= 0) AS n_pages,
             COUNT(*) FILTER (WHERE (kind = 'void' AND (url <> '' OR hold NOT LIKE 'p:%') AND reason <> $1)
                 OR (kind = 'post' AND amount > 0)) AS n_failed,
             SUM(n_bytes)::BIGINT AS n_bytes, SUM(cpu)::BIGINT AS cpu,
             SUM(ai)::BIGINT AS ai, SUM(compute)::BIGINT AS compute, SUM(file)::BIGINT AS file,
             SUM(bytes_transferred)::BIGINT AS bytes_transferred, SUM(transform)::BIGINT AS transform,
             SUM(vendor_billed)::BIGINT AS vendor_billed,
             SUM(CASE kind WHEN 'top_up' THEN amount ELSE 0 END)::BIGINT AS top_ups,
             SUM(CASE kind WHEN 'bonus' THEN amount ELSE 0 END)::BIGINT AS bonuses,
             SUM(CASE kind WHEN 'seats' THEN -amount ELSE 0 END)::BIGINT AS seats";

/// Usage per account.
pub(super) async fn by_account(
    readers: &PgPool,
    from: Timestamp,
    to: Timestamp,
) -> Result<Vec<AccountUsage>, StoreError> {
    let sql = format!(
        "SELECT {SUMS} FROM entries WHERE at >= $2 AND at < $3 GROUP BY account ORDER BY account"
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
    read: fn(&PgRow) -> Result<K, StoreError>,
}

/// Usage of an account per day.
pub(super) async fn by_day(
    store: &PostgresStore,
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
    store: &PostgresStore,
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
    store: &PostgresStore,
    account: &AccountId,
    (from, to): (Timestamp, Timestamp),
    groups: Groups<K>,
) -> Result<Vec<(K, AccountUsage)>, StoreError> {
    let failed = list_failed_to("add up the usage");
    let last: i64 =
        sqlx::query_scalar("SELECT COALESCE(MAX(seq), 0) FROM entries WHERE account = $1")
            .bind(account.as_str())
            .fetch_one(&mut *store.list_connection().await?)
            .await
            .map_err(&failed)?;
    let sql: Arc<str> = format!(
        "SELECT {} AS part, {SUMS} FROM entries
         WHERE account = $2 AND seq > $3 AND seq <= $4 AND at >= $5 AND at < $6 AND {} GROUP BY account, part",
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
