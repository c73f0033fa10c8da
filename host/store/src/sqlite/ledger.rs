//! The ledger: groups in, statements and sums out.

use std::collections::HashSet;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use sqlx::query::Query;
use sqlx::sqlite::{Sqlite, SqliteArguments, SqliteConnection, SqlitePool, SqliteRow};
use sqlx::{AssertSqlSafe, Connection};

use super::{broken_rule, column, failed_to};
use crate::{
    AccountId, Audit, Consumed, Disagreement, Entry, EntryKind, KindSum, OpenReserve, Posted,
    StatementPage, StoreError, Window, Written,
};
use trawl_model::clock::Timestamp;
use trawl_model::{Charge, Nanodollars};

const COLUMNS: &str = "id, account, kind, amount, held, hold, run, url, \
    ai, compute, file, bytes_transferred, transform, vendor_billed, reason, at, n_bytes, cpu";
const ROW: &str = "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
const DOING: &str = "write the ledger";
/// Entries of the ledger that one search for open reserves reads.
const SEARCH_STEP: i64 = 10_000;
/// Begin of the `hold` of a run's slice, which has many entries; any other has one reserve and one end.
const SLICE: &str = "p:";

/// Statements that insert so many rows at once, larger ones first. A few fixed sizes, so that each is prepared once.
static INSERTS: LazyLock<[(usize, Arc<str>); 4]> =
    LazyLock::new(|| [64, 16, 4, 1].map(|n_rows| (n_rows, insert_sql(n_rows).into())));

fn insert_sql(n_rows: usize) -> String {
    let rows = [ROW].repeat(n_rows).join(", ");
    format!("INSERT INTO entries ({COLUMNS}) VALUES {rows} ON CONFLICT (id) DO NOTHING")
}

/// Writes a group. Nearly always every entry is new and goes in by the dozen; otherwise the group is written again
/// entry by entry, to learn which ones were not.
pub(super) async fn post_group(
    connection: &mut SqliteConnection,
    entries: &[Entry],
) -> Result<Vec<Written>, StoreError> {
    let failed = failed_to(DOING);
    let mut transaction = connection
        .begin_with("BEGIN IMMEDIATE")
        .await
        .map_err(&failed)?;
    if insert_all(&mut transaction, entries).await? {
        transaction.commit().await.map_err(&failed)?;
        return Ok(vec![Written::New; entries.len()]);
    }
    transaction.rollback().await.map_err(&failed)?;

    let mut transaction = connection
        .begin_with("BEGIN IMMEDIATE")
        .await
        .map_err(&failed)?;
    let mut written = Vec::with_capacity(entries.len());
    for entry in entries {
        written.push(insert_one(&mut transaction, entry).await?);
    }
    transaction.commit().await.map_err(&failed)?;
    Ok(written)
}

/// Inserts everything; `false` when an entry was there before or breaks a rule, and the transaction is to be undone.
async fn insert_all(
    connection: &mut SqliteConnection,
    entries: &[Entry],
) -> Result<bool, StoreError> {
    let mut left = entries;
    for (n_rows, sql) in INSERTS.iter() {
        while left.len() >= *n_rows {
            let (now, later) = left.split_at(*n_rows);
            let query = sqlx::query(AssertSqlSafe(Arc::clone(sql)));
            let done = now.iter().fold(query, bind).execute(&mut *connection).await;
            match done {
                Ok(done) if done.rows_affected() == *n_rows as u64 => left = later,
                Ok(_) => return Ok(false),
                Err(error) if broken_rule(&error).is_some() => return Ok(false),
                Err(error) => return Err(failed_to(DOING)(error)),
            }
        }
    }
    Ok(true)
}

/// Inserts one entry. One that breaks a rule is undone by itself, the transaction goes on.
pub(super) async fn insert_one(
    connection: &mut SqliteConnection,
    entry: &Entry,
) -> Result<Written, StoreError> {
    let [.., (_, sql)] = &*INSERTS;
    let query = sqlx::query(AssertSqlSafe(Arc::clone(sql)));
    match bind(query, entry).execute(connection).await {
        Ok(done) if done.rows_affected() == 1 => Ok(Written::New),
        Ok(_) => Ok(Written::AlreadyThere),
        Err(error) => match broken_rule(&error) {
            Some(rule) => Ok(Written::Refused { rule }),
            None => Err(failed_to(DOING)(error)),
        },
    }
}

type Insert<'q> = Query<'q, Sqlite, SqliteArguments>;

fn bind<'q>(query: Insert<'q>, entry: &Entry) -> Insert<'q> {
    query
        .bind(entry.id.as_str())
        .bind(entry.account.as_str())
        .bind(entry.kind.name())
        .bind(entry.amount.0)
        .bind(entry.held.0)
        .bind(entry.hold.as_str())
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
}

pub(super) async fn entry(readers: &SqlitePool, id: &str) -> Result<Option<Posted>, StoreError> {
    let row = sqlx::query("SELECT * FROM entries WHERE id = ?")
        .bind(id)
        .fetch_optional(readers)
        .await
        .map_err(failed_to("read the ledger"))?;
    row.as_ref().map(posted).transpose()
}

/// Looks from the newest entry backwards until everything that accounts have set aside is found: a process that is gone
/// left its reserves near the end, so this does not read the whole ledger.
pub(super) async fn open_reserves(readers: &SqlitePool) -> Result<Vec<OpenReserve>, StoreError> {
    let failed = failed_to("look for open reserves");
    let (held, last): (i64, i64) = sqlx::query_as(
        "SELECT (SELECT COALESCE(SUM(held), 0) FROM accounts), (SELECT COALESCE(MAX(seq), 0) FROM entries)",
    )
    .fetch_one(readers)
    .await
    .map_err(&failed)?;
    let mut open = Vec::new();
    let mut slices = HashSet::new();
    let (mut missing, mut before) = (held, last + 1);
    while missing != 0 && before > 1 {
        let rows = sqlx::query(
            "SELECT account, hold, held, run, url FROM entries AS reserve
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
            if reserve.hold.starts_with(SLICE) && !slices.insert(reserve.hold.clone()) {
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

/// What is left of a reserve. A slice of a run has several reserves and gives them away charge by charge: its first one found
/// stands for all, with the sum of all its entries.
async fn outstanding(
    readers: &SqlitePool,
    reserve: OpenReserve,
) -> Result<Option<OpenReserve>, StoreError> {
    if !reserve.hold.starts_with(SLICE) {
        return Ok(Some(reserve));
    }
    // The bounds are those of the index on slices.
    let held: i64 = sqlx::query_scalar(
        "SELECT COALESCE(SUM(held), 0) FROM entries WHERE hold = ? AND hold >= 'p:' AND hold < 'p;'",
    )
    .bind(reserve.hold.as_str())
    .fetch_one(readers)
    .await
    .map_err(failed_to("look for open reserves"))?;
    let held = Nanodollars(held);
    Ok((held > Nanodollars::ZERO).then_some(OpenReserve { held, ..reserve }))
}

/// The posts of a run's pages have ids that begin with its name, so this reads no others.
/// The sums of the parts of what a run was charged.
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
    let part = |name| column(&row, name).map(Nanodollars);
    Ok(Charge {
        ai: part("ai")?,
        compute: part("compute")?,
        file: part("file")?,
        bytes_transferred: part("bytes_transferred")?,
        transform: part("transform")?,
        vendor_billed: part("vendor_billed")?,
    })
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

pub(super) async fn statement(
    readers: &SqlitePool,
    account: &AccountId,
    window: Window,
) -> Result<StatementPage, StoreError> {
    let failed = failed_to("read the ledger");
    // One transaction, so that entries and balance are of the same moment.
    let mut transaction = readers.begin().await.map_err(&failed)?;
    let (balance, held): (i64, i64) =
        sqlx::query_as("SELECT balance, held FROM accounts WHERE id = ?")
            .bind(account.as_str())
            .fetch_optional(&mut *transaction)
            .await
            .map_err(&failed)?
            .unwrap_or_default();
    let rows = sqlx::query(
        "SELECT * FROM entries WHERE account = ? AND seq > ? AND at >= ? AND at < ? ORDER BY seq LIMIT ?",
    )
    .bind(account.as_str())
    .bind(window.after)
    .bind(window.from.0)
    .bind(window.to.0)
    .bind(window.limit)
    .fetch_all(&mut *transaction)
    .await
    .map_err(&failed)?;
    let sums = match window.after {
        0 => sums(&mut transaction, account, window).await?,
        _ => Vec::new(),
    };
    Ok(StatementPage {
        entries: rows.iter().map(posted).collect::<Result<_, _>>()?,
        sums,
        balance: Nanodollars(balance),
        held: Nanodollars(held),
    })
}

async fn sums(
    connection: &mut SqliteConnection,
    account: &AccountId,
    window: Window,
) -> Result<Vec<KindSum>, StoreError> {
    let rows: Vec<(String, i64, i64)> = sqlx::query_as(
        "SELECT kind, COUNT(*), SUM(amount) FROM entries WHERE account = ? AND at >= ? AND at < ?
         GROUP BY kind ORDER BY kind",
    )
    .bind(account.as_str())
    .bind(window.from.0)
    .bind(window.to.0)
    .fetch_all(connection)
    .await
    .map_err(failed_to("add up the ledger"))?;
    rows.into_iter()
        .map(|(kind, n_entries, amount)| {
            Ok(KindSum {
                kind: kind_named(&kind)?,
                n_entries: n_entries.unsigned_abs(),
                amount: Nanodollars(amount),
            })
        })
        .collect()
}

pub(super) async fn audit(readers: &SqlitePool) -> Result<Audit, StoreError> {
    // One statement, so that entries and sums are of the same moment.
    let rows: Vec<(String, i64, i64, i64, i64, i64)> = sqlx::query_as(
        "SELECT accounts.id, balance, accounts.held,
                COALESCE(SUM(amount), 0), COALESCE(SUM(entries.held), 0), COUNT(seq)
         FROM accounts LEFT JOIN entries ON entries.account = accounts.id
         GROUP BY accounts.id ORDER BY accounts.id",
    )
    .fetch_all(readers)
    .await
    .map_err(failed_to("add up the ledger"))?;
    let n_accounts = rows.len() as u64;
    let n_entries = rows.iter().map(|row| row.5.unsigned_abs()).sum();
    let disagreements = rows
        .into_iter()
        .filter(|(_, balance, held, amounts, helds, _)| balance != amounts || held != helds)
        .map(|(id, balance, held, amounts, helds, _)| Disagreement {
            account: AccountId::new(id),
            balance: Nanodollars(balance),
            entries_balance: Nanodollars(amounts),
            held: Nanodollars(held),
            entries_held: Nanodollars(helds),
        })
        .collect();
    Ok(Audit {
        n_accounts,
        n_entries,
        disagreements,
    })
}

fn kind_named(name: &str) -> Result<EntryKind, StoreError> {
    EntryKind::named(name).ok_or(StoreError::Unreadable { what: "kind" })
}

fn open_reserve(row: &SqliteRow) -> Result<OpenReserve, StoreError> {
    Ok(OpenReserve {
        account: AccountId::new(column::<&str>(row, "account")?),
        hold: column(row, "hold")?,
        held: Nanodollars(column(row, "held")?),
        run: column::<&str>(row, "run")?.into(),
        url: column::<&str>(row, "url")?.into(),
    })
}

fn posted(row: &SqliteRow) -> Result<Posted, StoreError> {
    let amount = |name| column(row, name).map(Nanodollars);
    let charge = Charge {
        ai: amount("ai")?,
        compute: amount("compute")?,
        file: amount("file")?,
        bytes_transferred: amount("bytes_transferred")?,
        transform: amount("transform")?,
        vendor_billed: amount("vendor_billed")?,
    };
    let entry = Entry {
        id: column(row, "id")?,
        account: AccountId::new(column::<&str>(row, "account")?),
        kind: kind_named(column(row, "kind")?)?,
        amount: amount("amount")?,
        held: amount("held")?,
        hold: column(row, "hold")?,
        run: column::<&str>(row, "run")?.into(),
        url: column::<&str>(row, "url")?.into(),
        charge,
        consumed: Consumed {
            n_bytes: column::<i64>(row, "n_bytes")?.unsigned_abs(),
            cpu: Duration::from_micros(column::<i64>(row, "cpu")?.unsigned_abs()),
        },
        reason: column(row, "reason")?,
        at: Timestamp(column(row, "at")?),
    };
    Ok(Posted {
        seq: column(row, "seq")?,
        entry,
    })
}
