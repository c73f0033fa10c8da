//! Ledger entries: written in groups, found by id, searched for open reserves.

use std::collections::HashSet;
use std::sync::{Arc, LazyLock};

use sqlx::AssertSqlSafe;
use sqlx::query::Query;
use sqlx::sqlite::{Sqlite, SqliteArguments, SqliteConnection, SqlitePool};

use trawl_model::Nanodollars;

use super::row::{begin, failed_to, violated_constraint};
use crate::rows::{open_reserve, posted};
use crate::{LedgerEntry, OpenReserve, Posted, StoreError, Written};

const COLUMNS: &str = "id, account, kind, amount, held, hold, run, url, \
    ai, compute, file, bytes_transferred, transform, vendor_billed, reason, at, n_bytes, cpu, key";
const ROW: &str = "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
const DOING: &str = "write the ledger";
/// Ledger entries that one step of the search for open reserves reads.
const SEARCH_STEP: i64 = 10_000;
/// Prefix of the id of a run's allotment, which has many entries; any other reservation has one
/// reserve and one post or void.
const ALLOTMENT: &str = "p:";

/// Statements for several batch sizes, largest first. Fixed sizes, so that each is prepared once.
static INSERTS: LazyLock<[(usize, Arc<str>); 4]> =
    LazyLock::new(|| [64, 16, 4, 1].map(|n_rows| (n_rows, insert_sql(n_rows).into())));

fn insert_sql(n_rows: usize) -> String {
    let rows = [ROW].repeat(n_rows).join(", ");
    format!("INSERT INTO entries ({COLUMNS}) VALUES {rows} ON CONFLICT (id) DO NOTHING")
}

/// Writes a group. Nearly always all entries are new and are inserted in batches; otherwise the
/// transaction is repeated entry by entry, for a result per entry.
pub(super) async fn post_group(
    connection: &mut SqliteConnection,
    entries: &[LedgerEntry],
) -> Result<Vec<Written>, StoreError> {
    let failed = failed_to(DOING);
    let mut transaction = begin(connection, DOING).await?;
    if insert_all(&mut transaction, entries).await? {
        transaction.commit().await.map_err(&failed)?;
        return Ok(vec![Written::New; entries.len()]);
    }
    transaction.rollback().await.map_err(&failed)?;

    let mut transaction = begin(connection, DOING).await?;
    let mut written = Vec::with_capacity(entries.len());
    for entry in entries {
        written.push(insert_one(&mut transaction, entry).await?);
    }
    transaction.commit().await.map_err(&failed)?;
    Ok(written)
}

/// Inserts all entries; `false` if one exists or violates a constraint, and the transaction must be
/// rolled back.
async fn insert_all(
    connection: &mut SqliteConnection,
    entries: &[LedgerEntry],
) -> Result<bool, StoreError> {
    let mut remaining = entries;
    for (n_rows, sql) in INSERTS.iter() {
        while remaining.len() >= *n_rows {
            let (batch, rest) = remaining.split_at(*n_rows);
            let query = sqlx::query(AssertSqlSafe(Arc::clone(sql)));
            let done = batch
                .iter()
                .fold(query, bind)
                .execute(&mut *connection)
                .await;
            match done {
                Ok(done) if done.rows_affected() == *n_rows as u64 => remaining = rest,
                Ok(_) => return Ok(false),
                Err(error) if violated_constraint(&error).is_some() => return Ok(false),
                Err(error) => return Err(failed_to(DOING)(error)),
            }
        }
    }
    Ok(true)
}

/// Inserts one entry. If it violates a constraint, only its own statement is rolled back.
pub(super) async fn insert_one(
    connection: &mut SqliteConnection,
    entry: &LedgerEntry,
) -> Result<Written, StoreError> {
    let [.., (_, sql)] = &*INSERTS;
    let query = sqlx::query(AssertSqlSafe(Arc::clone(sql)));
    match bind(query, entry).execute(connection).await {
        Ok(done) if done.rows_affected() == 1 => Ok(Written::New),
        Ok(_) => Ok(Written::AlreadyThere),
        Err(error) => match violated_constraint(&error) {
            Some(rule) => Ok(Written::Refused { rule }),
            None => Err(failed_to(DOING)(error)),
        },
    }
}

type Insert<'q> = Query<'q, Sqlite, SqliteArguments>;

fn bind<'q>(query: Insert<'q>, entry: &LedgerEntry) -> Insert<'q> {
    query
        .bind(entry.id.as_str())
        .bind(entry.account.as_str())
        .bind(entry.kind.name())
        .bind(entry.amount.0)
        .bind(entry.held.0)
        .bind(entry.reservation.as_str())
        .bind(Arc::clone(&entry.run))
        .bind(Arc::clone(&entry.url))
        .bind(entry.charge.ai.0)
        .bind(entry.charge.compute.0)
        .bind(entry.charge.file.0)
        .bind(entry.charge.bytes_transferred.0)
        .bind(entry.charge.transform.0)
        .bind(entry.charge.vendor_billed.0)
        .bind(entry.reason.as_str())
        .bind(entry.at.0)
        .bind(i64::try_from(entry.consumed.n_bytes).unwrap_or(i64::MAX))
        .bind(i64::try_from(entry.consumed.cpu.as_micros()).unwrap_or(i64::MAX))
        .bind(entry.key.as_str())
}

pub(super) async fn entry(readers: &SqlitePool, id: &str) -> Result<Option<Posted>, StoreError> {
    let row = sqlx::query("SELECT * FROM entries WHERE id = ?")
        .bind(id)
        .fetch_optional(readers)
        .await
        .map_err(failed_to("read the ledger"))?;
    row.as_ref().map(posted).transpose()
}

/// Searches backwards from the newest entry until all reserved money is accounted for. The reserves
/// of a crashed process are near the end, so this does not read the whole ledger.
pub(super) async fn open_reserves(readers: &SqlitePool) -> Result<Vec<OpenReserve>, StoreError> {
    let failed = failed_to("look for open reserves");
    let (held, last): (i64, i64) = sqlx::query_as(
        "SELECT (SELECT COALESCE(SUM(held), 0) FROM accounts), (SELECT COALESCE(MAX(seq), 0) FROM entries)",
    )
    .fetch_one(readers)
    .await
    .map_err(&failed)?;
    let mut open = Vec::new();
    let mut allotments = HashSet::new();
    let (mut missing, mut before) = (held, last + 1);
    while missing != 0 && before > 1 {
        let rows = sqlx::query(
            "SELECT account, hold, held, run, url, key FROM entries AS reserve
             WHERE seq < ? AND seq >= ? AND kind = 'reserve'
             AND NOT EXISTS (SELECT 1 FROM entries WHERE id = 's:' || reserve.hold)
             ORDER BY seq DESC",
        )
        .bind(before)
        .bind(before - SEARCH_STEP)
        .fetch_all(readers)
        .await
        .map_err(&failed)?;
        for row in &rows {
            let reserve = open_reserve(row)?;
            if reserve.reservation.starts_with(ALLOTMENT)
                && !allotments.insert(reserve.reservation.clone())
            {
                continue;
            }
            let Some(reserve) = outstanding(readers, reserve).await? else {
                continue;
            };
            missing -= reserve.held.0;
            open.push(reserve);
        }
        before -= SEARCH_STEP;
    }
    Ok(open)
}

/// The outstanding part of a reserve. The allotment of a run has several reserves, reduced by each
/// charge: the first one found represents all, with the sum of all its entries.
async fn outstanding(
    readers: &SqlitePool,
    reserve: OpenReserve,
) -> Result<Option<OpenReserve>, StoreError> {
    if !reserve.reservation.starts_with(ALLOTMENT) {
        return Ok(Some(reserve));
    }
    // The bounds match the partial index `entries_of_slice`.
    let held: i64 = sqlx::query_scalar(
        "SELECT COALESCE(SUM(held), 0) FROM entries WHERE hold = ? AND hold >= 'p:' AND hold < 'p;'",
    )
    .bind(reserve.reservation.as_str())
    .fetch_one(readers)
    .await
    .map_err(failed_to("look for open reserves"))?;
    let held = Nanodollars(held);
    Ok((held > Nanodollars::ZERO).then_some(OpenReserve { held, ..reserve }))
}
