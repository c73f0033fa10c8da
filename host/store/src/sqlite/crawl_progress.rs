//! The progress of a crawl: its URLs, the positions of its pages, its totals.

use std::sync::Arc;

use sqlx::AssertSqlSafe;
use sqlx::query::Query;
use sqlx::sqlite::{Sqlite, SqliteArguments, SqliteConnection, SqlitePool, SqliteRow};

use trawl_model::clock::Timestamp;
use trawl_model::{ContentHash, Nanodollars, SkipReason, UrlRow, UrlState};

use super::row::{begin, column, count_column, failed_to, signed};
use super::totals;
use crate::{LogPosition, PageContent, PageRow, Progress, StoreError};

const WRITING: &str = "write a crawl";
const READING: &str = "read a crawl";
/// Batch sizes of an insert, largest first. Fixed sizes, so that each statement is prepared once.
const BATCH_ROWS: [usize; 4] = [128, 32, 8, 1];
/// Bytes of a URL's row and of a page's row, without their texts.
const ROW_BYTES: usize = 64;
/// Stored states of URLs. From `SKIPPED` on, the number of the skip reason is added.
const WAITING: i64 = 0;
const DONE: i64 = 1;
const SKIPPED: i64 = 16;

/// Writes URLs, pages and totals in one transaction. Returns the bytes that the account has stored
/// now.
pub(super) async fn save(
    connection: &mut SqliteConnection,
    id: &str,
    progress: &Progress,
) -> Result<u64, StoreError> {
    let failed = failed_to(WRITING);
    let mut transaction = begin(connection, WRITING).await?;
    let stored: Option<(i64, String, i64, i64)> = sqlx::query_as(
        "SELECT number, account, (SELECT COALESCE(MAX(n), -1) FROM crawl_urls WHERE crawl = number),
            (SELECT COALESCE(MAX(seq), 0) FROM crawl_pages WHERE crawl = number) FROM crawls WHERE id = ?",
    )
    .bind(id)
    .fetch_optional(&mut *transaction)
    .await
    .map_err(&failed)?;
    let Some((crawl, account, last_url, last_page)) = stored else {
        return Err(failed(sqlx::Error::RowNotFound));
    };
    let n_bytes = new_bytes(progress, last_url, last_page);
    update_totals(&mut transaction, crawl, progress, n_bytes).await?;
    insert(&mut transaction, &URLS, &progress.urls, |query, row| {
        query
            .bind(crawl)
            .bind(row.n)
            .bind(row.url.as_str())
            .bind(row.depth)
            .bind(state_number(row.state))
            .bind(row.referrer)
            .bind(row.anchor.as_deref())
            .bind(row.target.as_deref())
    })
    .await?;
    insert(&mut transaction, &PAGES, &progress.pages, |query, row| {
        query
            .bind(crawl)
            .bind(signed(row.seq))
            .bind(row.n)
            .bind(row.status)
            .bind(row.is_failed)
            .bind(signed(row.place.offset))
            .bind(row.place.length)
            .bind(row.at.map(|at| at.0))
            .bind(row.cost.0)
            .bind(row.error.as_deref())
            .bind(row.cause.as_deref())
            .bind(row.content.map(|content| content.to_bytes().to_vec()))
    })
    .await?;
    let totals = totals::of_account(&mut transaction, &account).await?;
    transaction.commit().await.map_err(&failed)?;
    Ok(totals.stored_bytes())
}

/// Writes the totals of a crawl that has so many bytes more.
async fn update_totals(
    connection: &mut SqliteConnection,
    crawl: i64,
    progress: &Progress,
    n_bytes: u64,
) -> Result<(), StoreError> {
    let counts = &progress.counts;
    sqlx::query(
        "UPDATE crawls SET n_pages = ?, n_failed = ?, n_bytes = ?, spent = ?, stored_bytes = stored_bytes + ?
         WHERE number = ?",
    )
    .bind(signed(counts.n_pages))
    .bind(signed(counts.n_failed))
    .bind(signed(counts.n_bytes))
    .bind(counts.spent.0)
    .bind(signed(n_bytes))
    .bind(crawl)
    .execute(connection)
    .await
    .map_err(failed_to(WRITING))?;
    Ok(())
}

/// The bytes of rows that are not stored yet: both kinds are numbered without gaps.
fn new_bytes(progress: &Progress, last_url: i64, last_page: i64) -> u64 {
    let urls = progress.urls.iter();
    let urls = urls.filter(|row| i64::from(row.n) > last_url);
    let urls: usize = urls
        .map(|row| row.url.len() + row.anchor.as_ref().map_or(0, String::len) + ROW_BYTES)
        .sum();
    let pages = progress.pages.iter();
    let pages = pages.filter(|row| signed(row.seq) > last_page);
    let pages = pages.map(|row| {
        let error = row.error.as_ref().map_or(0, String::len);
        let cause = row.cause.as_ref().map_or(0, String::len);
        error + cause + ROW_BYTES + row.place.length as usize
    });
    (urls + pages.sum::<usize>()) as u64
}

/// An insert of several rows.
struct Insert {
    into: &'static str,
    n_columns: usize,
    on_conflict: &'static str,
}

const URLS: Insert = Insert {
    into: "INSERT INTO crawl_urls (crawl, n, url, depth, state, referrer, anchor, target) VALUES ",
    n_columns: 8,
    on_conflict:
        " ON CONFLICT (crawl, n) DO UPDATE SET depth = excluded.depth, state = excluded.state,
        referrer = excluded.referrer, anchor = excluded.anchor, target = excluded.target",
};

const PAGES: Insert = Insert {
    into: "INSERT INTO crawl_pages (crawl, seq, n, status, is_failed, place, length, at, cost, error, cause, content) VALUES ",
    n_columns: 12,
    // Repeats the same batch when a commit was reported as failed but had reached the disk.
    on_conflict: " ON CONFLICT (crawl, seq) DO UPDATE SET n = excluded.n, status = excluded.status,
        is_failed = excluded.is_failed, place = excluded.place, length = excluded.length,
        at = excluded.at, cost = excluded.cost, error = excluded.error, cause = excluded.cause, content = excluded.content",
};

impl Insert {
    fn sql(&self, n_rows: usize) -> String {
        let row = format!("({})", vec!["?"; self.n_columns].join(", "));
        let rows = vec![row; n_rows].join(", ");
        format!("{}{rows}{}", self.into, self.on_conflict)
    }
}

type Values<'q> = Query<'q, Sqlite, SqliteArguments>;

async fn insert<'q, T>(
    connection: &mut SqliteConnection,
    insert: &Insert,
    rows: &'q [T],
    bind: impl Fn(Values<'q>, &'q T) -> Values<'q>,
) -> Result<(), StoreError> {
    let mut remaining = rows;
    for n_rows in BATCH_ROWS {
        if remaining.len() < n_rows {
            continue;
        }
        let sql: Arc<str> = insert.sql(n_rows).into();
        while remaining.len() >= n_rows {
            let (batch, rest) = remaining.split_at(n_rows);
            let query = sqlx::query(AssertSqlSafe(Arc::clone(&sql)));
            batch
                .iter()
                .fold(query, &bind)
                .execute(&mut *connection)
                .await
                .map_err(failed_to(WRITING))?;
            remaining = rest;
        }
    }
    Ok(())
}

pub(super) async fn urls(
    connection: &mut SqliteConnection,
    id: &str,
    after: Option<u32>,
    count_max: u32,
) -> Result<Vec<UrlRow>, StoreError> {
    select_urls(connection, id, after, count_max, WAITING).await
}

/// The numbers of URLs have no gaps, so the last one says how many there are.
pub(super) async fn n_urls(readers: &SqlitePool, id: &str) -> Result<u64, StoreError> {
    let n_urls: i64 = sqlx::query_scalar(
        "SELECT COALESCE(MAX(n) + 1, 0) FROM crawl_urls WHERE crawl = (SELECT number FROM crawls WHERE id = ?)",
    )
    .bind(id)
    .fetch_one(readers)
    .await
    .map_err(failed_to(READING))?;
    Ok(n_urls.unsigned_abs())
}

pub(super) async fn skipped(
    connection: &mut SqliteConnection,
    id: &str,
    after: Option<u32>,
    count_max: u32,
) -> Result<Vec<UrlRow>, StoreError> {
    select_urls(connection, id, after, count_max, SKIPPED).await
}

async fn select_urls(
    connection: &mut SqliteConnection,
    id: &str,
    after: Option<u32>,
    count_max: u32,
    state_min: i64,
) -> Result<Vec<UrlRow>, StoreError> {
    let rows = sqlx::query(
        "SELECT n, url, depth, crawl_urls.state AS state, referrer, anchor, target FROM crawl_urls
         WHERE crawl = (SELECT number FROM crawls WHERE id = ?) AND n > ? AND crawl_urls.state >= ? ORDER BY n LIMIT ?",
    )
    .bind(id)
    .bind(after.map_or(-1, i64::from))
    .bind(state_min)
    .bind(count_max)
    .fetch_all(connection)
    .await
    .map_err(failed_to(READING))?;
    rows.iter()
        .map(|row| {
            Ok(UrlRow {
                n: column(row, "n")?,
                url: column(row, "url")?,
                depth: column(row, "depth")?,
                referrer: column(row, "referrer")?,
                anchor: column(row, "anchor")?,
                target: column(row, "target")?,
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
    .bind(signed(after))
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

fn page(row: &SqliteRow) -> Result<PageRow, StoreError> {
    Ok(PageRow {
        seq: count_column(row, "seq")?,
        n: column(row, "n")?,
        status: column(row, "status")?,
        is_failed: column(row, "is_failed")?,
        place: LogPosition {
            segment: None,
            offset: count_column(row, "place")?,
            length: column(row, "length")?,
        },
        at: column::<Option<i64>>(row, "at")?.map(Timestamp),
        cost: Nanodollars(column(row, "cost")?),
        cause: column(row, "cause")?,
        error: column(row, "error")?,
        content: content(row)?,
    })
}

pub(super) async fn contents(
    readers: &SqlitePool,
    id: &str,
    after: u64,
    count_max: u32,
) -> Result<Vec<PageContent>, StoreError> {
    let rows = sqlx::query(
        "SELECT seq, n, is_failed, content FROM crawl_pages WHERE crawl = (SELECT number FROM crawls WHERE id = ?)
         AND seq > ? AND (is_failed OR content IS NOT NULL) ORDER BY seq LIMIT ?",
    )
    .bind(id)
    .bind(signed(after))
    .bind(count_max)
    .fetch_all(readers)
    .await
    .map_err(failed_to(READING))?;
    let rows = rows.iter().map(|row| {
        Ok(PageContent {
            seq: count_column(row, "seq")?,
            n: column(row, "n")?,
            is_failed: column(row, "is_failed")?,
            content: content(row)?,
        })
    });
    rows.collect()
}

fn content(row: &SqliteRow) -> Result<Option<ContentHash>, StoreError> {
    const NAME: &str = "content";
    let bytes: Option<&[u8]> = column(row, NAME)?;
    let hash = bytes.map(|bytes| <[u8; 16]>::try_from(bytes).map(ContentHash::from_bytes));
    hash.transpose()
        .map_err(|_| StoreError::Unreadable { what: NAME })
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
