//! Crawls: their records, addresses and pages.

use std::fmt::Write as _;

use sqlx::query::Query;
use sqlx::sqlite::{Sqlite, SqliteArguments, SqliteConnection, SqlitePool, SqliteRow};
use sqlx::{AssertSqlSafe, Connection};

use super::{column, failed_to};
use crate::{
    AccountId, CrawlCounts, CrawlRecord, CrawlState, LogPosition, PageRow, Progress, StoreError,
};
use trawl_model::clock::Timestamp;
use trawl_model::{Nanodollars, SkipReason, StopReason, Terms, UrlRow, UrlState};

const DOING: &str = "write a crawl";
const READING: &str = "read a crawl";
/// Rows of one insert, larger ones first. A few fixed sizes, so that each statement is prepared once.
const ROWS: [usize; 4] = [128, 32, 8, 1];
/// States of addresses in one number: those from here on are reasons.
const WAITING: i64 = 0;
const DONE: i64 = 1;
const SKIPPED: i64 = 16;
/// Rows of each table that one step of forgetting removes: some milliseconds, in which the ledger waits.
const EXPIRED_ROWS_MAX: u32 = 4_096;

pub(super) async fn create(
    connection: &mut SqliteConnection,
    record: &CrawlRecord,
) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO crawls (id, account, request, verb, terms, needs_secrets, in_background, state, stop, created, ended,
         n_pages, n_failed, n_bytes, spent) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(record.id.as_str())
    .bind(record.account.as_str())
    .bind(record.request.as_str())
    .bind(record.verb.as_str())
    .bind(record.terms.name())
    .bind(record.needs_secrets)
    .bind(record.in_background)
    .bind(record.state.name())
    .bind(record.stop.map(StopReason::name))
    .bind(record.created.0)
    .bind(record.ended.map(|at| at.0))
    .bind(number(record.counts.n_pages))
    .bind(number(record.counts.n_failed))
    .bind(number(record.counts.n_bytes))
    .bind(record.counts.spent.0)
    .execute(connection)
    .await
    .map_err(failed_to(DOING))
    .map(drop)
}

pub(super) async fn find(
    readers: &SqlitePool,
    account: &AccountId,
    id: &str,
) -> Result<Option<CrawlRecord>, StoreError> {
    let row = sqlx::query("SELECT * FROM crawls WHERE id = ? AND account = ?")
        .bind(id)
        .bind(account.as_str())
        .fetch_optional(readers)
        .await
        .map_err(failed_to(READING))?;
    row.as_ref().map(record).transpose()
}

pub(super) async fn of_account(
    readers: &SqlitePool,
    account: &AccountId,
    before: Timestamp,
    count_max: u32,
) -> Result<Vec<CrawlRecord>, StoreError> {
    let rows = sqlx::query(
        "SELECT * FROM crawls WHERE account = ? AND created < ? ORDER BY created DESC LIMIT ?",
    )
    .bind(account.as_str())
    .bind(before.0)
    .bind(count_max)
    .fetch_all(readers)
    .await
    .map_err(failed_to(READING))?;
    rows.iter().map(record).collect()
}

pub(super) async fn unfinished(readers: &SqlitePool) -> Result<Vec<CrawlRecord>, StoreError> {
    let rows = sqlx::query("SELECT * FROM crawls WHERE state <> 'ended' ORDER BY number")
        .fetch_all(readers)
        .await
        .map_err(failed_to(READING))?;
    rows.iter().map(record).collect()
}

pub(super) async fn set_state(
    connection: &mut SqliteConnection,
    id: &str,
    state: CrawlState,
) -> Result<(), StoreError> {
    sqlx::query("UPDATE crawls SET state = ? WHERE id = ?")
        .bind(state.name())
        .bind(id)
        .execute(connection)
        .await
        .map_err(failed_to(DOING))
        .map(drop)
}

pub(super) async fn end(
    connection: &mut SqliteConnection,
    id: &str,
    stop: StopReason,
    at: Timestamp,
) -> Result<(), StoreError> {
    sqlx::query("UPDATE crawls SET state = 'ended', stop = ?, ended = ? WHERE id = ?")
        .bind(stop.name())
        .bind(at.0)
        .bind(id)
        .execute(connection)
        .await
        .map_err(failed_to(DOING))
        .map(drop)
}

/// Writes addresses, pages and counts in one transaction.
pub(super) async fn save(
    connection: &mut SqliteConnection,
    id: &str,
    progress: &Progress,
) -> Result<(), StoreError> {
    let failed = failed_to(DOING);
    let mut transaction = connection
        .begin_with("BEGIN IMMEDIATE")
        .await
        .map_err(&failed)?;
    let counts = &progress.counts;
    let crawl: Option<(i64,)> = sqlx::query_as(
        "UPDATE crawls SET n_pages = ?, n_failed = ?, n_bytes = ?, spent = ? WHERE id = ? RETURNING number",
    )
    .bind(number(counts.n_pages))
    .bind(number(counts.n_failed))
    .bind(number(counts.n_bytes))
    .bind(counts.spent.0)
    .bind(id)
    .fetch_optional(&mut *transaction)
    .await
    .map_err(&failed)?;
    let Some((crawl,)) = crawl else {
        return Err(failed(sqlx::Error::RowNotFound));
    };
    insert(&mut transaction, &URLS, &progress.urls, |query, row| {
        query
            .bind(crawl)
            .bind(row.n)
            .bind(row.url.as_str())
            .bind(row.depth)
            .bind(state_number(row.state))
    })
    .await?;
    insert(&mut transaction, &PAGES, &progress.pages, |query, row| {
        query
            .bind(crawl)
            .bind(number(row.seq))
            .bind(row.n)
            .bind(row.status)
            .bind(row.is_failed)
            .bind(number(row.place.offset))
            .bind(row.place.length)
            .bind(row.at.map(|at| at.0))
            .bind(row.cost.0)
            .bind(row.error.as_deref())
    })
    .await?;
    transaction.commit().await.map_err(&failed)
}

/// An insert of many rows.
struct Insert {
    into: &'static str,
    n_columns: usize,
    then: &'static str,
}

const URLS: Insert = Insert {
    into: "INSERT INTO crawl_urls (crawl, n, url, depth, state) VALUES ",
    n_columns: 5,
    then: " ON CONFLICT (crawl, n) DO UPDATE SET depth = excluded.depth, state = excluded.state",
};

const PAGES: Insert = Insert {
    into: "INSERT INTO crawl_pages (crawl, seq, n, status, is_failed, place, length, at, cost, error) VALUES ",
    n_columns: 10,
    // The same group again, after a commit that was reported as failed had reached the disk.
    then: " ON CONFLICT (crawl, seq) DO UPDATE SET n = excluded.n, status = excluded.status,
        is_failed = excluded.is_failed, place = excluded.place, length = excluded.length,
        at = excluded.at, cost = excluded.cost, error = excluded.error",
};

impl Insert {
    fn sql(&self, n_rows: usize) -> String {
        let row = format!("({})", vec!["?"; self.n_columns].join(", "));
        let mut sql = String::from(self.into);
        sql.push_str(&vec![row; n_rows].join(", "));
        // Writing to a string does not fail.
        let _ = write!(sql, "{}", self.then);
        sql
    }
}

type Values<'q> = Query<'q, Sqlite, SqliteArguments>;

async fn insert<'q, T>(
    connection: &mut SqliteConnection,
    insert: &Insert,
    rows: &'q [T],
    bind: impl Fn(Values<'q>, &'q T) -> Values<'q>,
) -> Result<(), StoreError> {
    let mut left = rows;
    for n_rows in ROWS {
        if left.len() < n_rows {
            continue;
        }
        let sql: std::sync::Arc<str> = insert.sql(n_rows).into();
        while left.len() >= n_rows {
            let (now, later) = left.split_at(n_rows);
            let query = sqlx::query(AssertSqlSafe(std::sync::Arc::clone(&sql)));
            now.iter()
                .fold(query, &bind)
                .execute(&mut *connection)
                .await
                .map_err(failed_to(DOING))?;
            left = later;
        }
    }
    Ok(())
}

pub(super) async fn urls(
    readers: &SqlitePool,
    id: &str,
    after: Option<u32>,
    count_max: u32,
) -> Result<Vec<UrlRow>, StoreError> {
    select_urls(readers, id, after, count_max, WAITING).await
}

pub(super) async fn skipped(
    readers: &SqlitePool,
    id: &str,
    after: Option<u32>,
    count_max: u32,
) -> Result<Vec<UrlRow>, StoreError> {
    select_urls(readers, id, after, count_max, SKIPPED).await
}

async fn select_urls(
    readers: &SqlitePool,
    id: &str,
    after: Option<u32>,
    count_max: u32,
    state_min: i64,
) -> Result<Vec<UrlRow>, StoreError> {
    let rows = sqlx::query(
        "SELECT n, url, depth, crawl_urls.state AS state FROM crawl_urls
         WHERE crawl = (SELECT number FROM crawls WHERE id = ?) AND n > ? AND crawl_urls.state >= ? ORDER BY n LIMIT ?",
    )
    .bind(id)
    .bind(after.map_or(-1, i64::from))
    .bind(state_min)
    .bind(count_max)
    .fetch_all(readers)
    .await
    .map_err(failed_to(READING))?;
    rows.iter()
        .map(|row| {
            Ok(UrlRow {
                n: column(row, "n")?,
                url: column(row, "url")?,
                depth: column(row, "depth")?,
                state: state_of(column(row, "state")?)?,
            })
        })
        .collect()
}

pub(super) async fn pages(
    readers: &SqlitePool,
    id: &str,
    after: u64,
    count_max: u32,
) -> Result<Vec<PageRow>, StoreError> {
    let rows = sqlx::query(
        "SELECT * FROM crawl_pages WHERE crawl = (SELECT number FROM crawls WHERE id = ?) AND seq > ? ORDER BY seq LIMIT ?",
    )
    .bind(id)
    .bind(number(after))
    .bind(count_max)
    .fetch_all(readers)
    .await
    .map_err(failed_to(READING))?;
    rows.iter().map(page).collect()
}

pub(super) async fn last_page(
    readers: &SqlitePool,
    id: &str,
) -> Result<Option<PageRow>, StoreError> {
    let row = sqlx::query(
        "SELECT * FROM crawl_pages WHERE crawl = (SELECT number FROM crawls WHERE id = ?) ORDER BY seq DESC LIMIT 1",
    )
    .bind(id)
    .fetch_optional(readers)
    .await
    .map_err(failed_to(READING))?;
    row.as_ref().map(page).transpose()
}

/// How far one step of forgetting came.
pub(super) enum Expiry {
    /// A crawl is smaller by some rows.
    Part,
    /// The crawl with this id is gone.
    Whole(String),
    /// There is no crawl to forget.
    Nothing,
}

/// Forgets some rows of the crawl that ended first, if it ended before a time.
pub(super) async fn expire_part(
    connection: &mut SqliteConnection,
    before: Timestamp,
) -> Result<Expiry, StoreError> {
    let failed = failed_to("forget old crawls");
    let mut transaction = connection
        .begin_with("BEGIN IMMEDIATE")
        .await
        .map_err(&failed)?;
    let old: Option<(i64, String)> =
        sqlx::query_as("SELECT number, id FROM crawls WHERE ended < ? ORDER BY ended LIMIT 1")
            .bind(before.0)
            .fetch_optional(&mut *transaction)
            .await
            .map_err(&failed)?;
    let Some((number, id)) = old else {
        return Ok(Expiry::Nothing);
    };
    let mut is_whole = true;
    for sql in [
        "DELETE FROM crawl_urls WHERE crawl = ?1 AND n IN
         (SELECT n FROM crawl_urls WHERE crawl = ?1 ORDER BY n LIMIT ?2)",
        "DELETE FROM crawl_pages WHERE crawl = ?1 AND seq IN
         (SELECT seq FROM crawl_pages WHERE crawl = ?1 ORDER BY seq LIMIT ?2)",
    ] {
        let done = sqlx::query(sql)
            .bind(number)
            .bind(EXPIRED_ROWS_MAX)
            .execute(&mut *transaction)
            .await
            .map_err(&failed)?;
        is_whole &= done.rows_affected() < u64::from(EXPIRED_ROWS_MAX);
    }
    if is_whole {
        sqlx::query("DELETE FROM crawls WHERE number = ?")
            .bind(number)
            .execute(&mut *transaction)
            .await
            .map_err(&failed)?;
    }
    transaction.commit().await.map_err(&failed)?;
    Ok(if is_whole {
        Expiry::Whole(id)
    } else {
        Expiry::Part
    })
}

pub(super) fn record(row: &SqliteRow) -> Result<CrawlRecord, StoreError> {
    let state: &str = column(row, "state")?;
    let stop: Option<&str> = column(row, "stop")?;
    let terms: &str = column(row, "terms")?;
    Ok(CrawlRecord {
        id: column(row, "id")?,
        account: AccountId::new(column::<&str>(row, "account")?),
        request: column(row, "request")?,
        verb: column(row, "verb")?,
        terms: Terms::named(terms).ok_or(StoreError::Unreadable { what: "terms" })?,
        needs_secrets: column(row, "needs_secrets")?,
        in_background: column(row, "in_background")?,
        state: CrawlState::named(state).ok_or(StoreError::Unreadable { what: "state" })?,
        stop: stop
            .map(|stop| StopReason::named(stop).ok_or(StoreError::Unreadable { what: "stop" }))
            .transpose()?,
        created: Timestamp(column(row, "created")?),
        ended: column::<Option<i64>>(row, "ended")?.map(Timestamp),
        counts: CrawlCounts {
            n_pages: count(row, "n_pages")?,
            n_failed: count(row, "n_failed")?,
            n_bytes: count(row, "n_bytes")?,
            spent: Nanodollars(column(row, "spent")?),
        },
    })
}

fn page(row: &SqliteRow) -> Result<PageRow, StoreError> {
    Ok(PageRow {
        seq: count(row, "seq")?,
        n: column(row, "n")?,
        status: column(row, "status")?,
        is_failed: column(row, "is_failed")?,
        place: LogPosition {
            offset: count(row, "place")?,
            length: column(row, "length")?,
        },
        at: column::<Option<i64>>(row, "at")?.map(Timestamp),
        cost: Nanodollars(column(row, "cost")?),
        error: column(row, "error")?,
    })
}

fn count(row: &SqliteRow, name: &'static str) -> Result<u64, StoreError> {
    let value: i64 = column(row, name)?;
    u64::try_from(value).map_err(|_| StoreError::Unreadable { what: name })
}

/// Counts and offsets stay far below the largest signed number.
fn number(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn state_number(state: UrlState) -> i64 {
    match state {
        UrlState::Waiting => WAITING,
        UrlState::Done => DONE,
        UrlState::Skipped(skip) => SKIPPED + i64::from(skip.number()),
    }
}

fn state_of(number: i64) -> Result<UrlState, StoreError> {
    let skipped = || {
        let skip = u8::try_from(number - SKIPPED).ok();
        skip.and_then(SkipReason::numbered).map(UrlState::Skipped)
    };
    match number {
        WAITING => Ok(UrlState::Waiting),
        DONE => Ok(UrlState::Done),
        _ => skipped().ok_or(StoreError::Unreadable { what: "state" }),
    }
}
