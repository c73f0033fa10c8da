//! The progress of a crawl: its URLs, the positions of its pages, its totals.

use std::borrow::Cow;

use sqlx::postgres::{PgConnection, PgExecutor, PgPool, PgRow};

use trawl_model::UrlRow;

use super::row::{begin, failed_to, list_failed_to, text};
use super::{segments, totals};
use crate::rows::{self, column, signed};
use crate::{LogPosition, PageContent, PageRow, Progress, SegmentId, StoreError};

const WRITING: &str = "write a crawl";
const READING: &str = "read a crawl";

/// Writes URLs, pages and totals in one transaction. Returns the bytes that the account has stored
/// now.
pub(super) async fn save(
    writers: &PgPool,
    id: &str,
    progress: &Progress,
) -> Result<u64, StoreError> {
    let failed = failed_to(WRITING);
    let mut transaction = begin(writers, WRITING).await?;
    // The lock makes the numbers below exact, and the batches of a crawl follow each other.
    let found: Option<(i64, String)> =
        sqlx::query_as("SELECT number, account FROM crawls WHERE id = $1 FOR NO KEY UPDATE")
            .bind(id)
            .fetch_optional(&mut *transaction)
            .await
            .map_err(&failed)?;
    let Some((crawl, account)) = found else {
        return Err(failed(sqlx::Error::RowNotFound));
    };
    let (last_url, last_page): (i64, i64) = sqlx::query_as(
        "SELECT (SELECT COALESCE(MAX(n), -1) FROM crawl_urls WHERE crawl = $1),
             (SELECT COALESCE(MAX(seq), 0) FROM crawl_pages WHERE crawl = $1)",
    )
    .bind(crawl)
    .fetch_one(&mut *transaction)
    .await
    .map_err(&failed)?;
    let n_bytes = progress.new_bytes(last_url, last_page);
    insert_urls(&mut transaction, crawl, &progress.urls).await?;
    insert_pages(&mut transaction, crawl, &progress.pages).await?;
    // Last, because other crawls of the account wait for its row of totals from here on.
    update_totals(&mut transaction, crawl, progress, n_bytes).await?;
    let totals = totals::of_account(&mut *transaction, &account).await?;
    transaction.commit().await.map_err(&failed)?;
    Ok(totals.stored_bytes())
}

/// Writes the totals of a crawl that has so many bytes more.
async fn update_totals(
    connection: &mut PgConnection,
    crawl: i64,
    progress: &Progress,
    n_bytes: u64,
) -> Result<(), StoreError> {
    let counts = &progress.counts;
    sqlx::query(
        "UPDATE crawls SET n_pages = $1, n_failed = $2, n_bytes = $3, spent = $4,
             stored_bytes = stored_bytes + $5 WHERE number = $6",
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

/// A text that may be absent, as PostgreSQL stores it.
fn optional(value: Option<&String>) -> Option<String> {
    value.map(|value| text(value).into_owned())
}

/// One statement may not change a row twice: of two rows of a URL, the later one holds.
async fn insert_urls(
    connection: &mut PgConnection,
    crawl: i64,
    rows: &[UrlRow],
) -> Result<(), StoreError> {
    if rows.is_empty() {
        return Ok(());
    }
    let numbers = |of: fn(&UrlRow) -> i64| -> Vec<i64> { rows.iter().map(of).collect() };
    let urls = rows.iter().map(|row| text(&row.url));
    let referrers = rows.iter().map(|row| row.referrer.map(i64::from));
    let anchors = rows.iter().map(|row| optional(row.anchor.as_ref()));
    let targets = rows.iter().map(|row| optional(row.target.as_ref()));
    sqlx::query(
        "INSERT INTO crawl_urls (crawl, n, url, depth, state, referrer, anchor, target)
         SELECT DISTINCT ON (n) $1, n, url, depth, state, referrer, anchor, target
         FROM UNNEST($2::BIGINT[], $3::TEXT[], $4::BIGINT[], $5::BIGINT[], $6::BIGINT[], $7::TEXT[],
             $8::TEXT[]) WITH ORDINALITY AS new (n, url, depth, state, referrer, anchor, target, place)
         ORDER BY n, place DESC
         ON CONFLICT (crawl, n) DO UPDATE SET depth = excluded.depth, state = excluded.state,
         referrer = excluded.referrer, anchor = excluded.anchor, target = excluded.target",
    )
    .bind(crawl)
    .bind(numbers(|row| i64::from(row.n)))
    .bind(urls.map(Cow::into_owned).collect::<Vec<String>>())
    .bind(numbers(|row| i64::from(row.depth)))
    .bind(numbers(|row| rows::state_number(row.state)))
    .bind(referrers.collect::<Vec<Option<i64>>>())
    .bind(anchors.collect::<Vec<Option<String>>>())
    .bind(targets.collect::<Vec<Option<String>>>())
    .execute(connection)
    .await
    .map_err(failed_to(WRITING))
    .map(drop)
}

async fn insert_pages(
    connection: &mut PgConnection,
    crawl: i64,
    rows: &[PageRow],
) -> Result<(), StoreError> {
    if rows.is_empty() {
        return Ok(());
    }
    let numbers = |of: fn(&PageRow) -> i64| -> Vec<i64> { rows.iter().map(of).collect() };
    let times = rows.iter().map(|row| row.at.map(|at| at.0));
    let errors = rows.iter().map(|row| optional(row.error.as_ref()));
    let causes = rows.iter().map(|row| optional(row.cause.as_ref()));
    let segments = rows.iter().map(|row| row.place.segment.map(|id| id.0));
    let contents = rows.iter().map(|row| row.content);
    let contents = contents.map(|content| content.map(|content| content.to_bytes().to_vec()));
    sqlx::query(
        // Repeats the same batch when a commit was reported as failed but had reached the disk.
        "INSERT INTO crawl_pages
             (crawl, seq, n, status, is_failed, place, length, at, cost, error, cause, content, segment)
         SELECT $1, seq, n, status, is_failed, place, length, at, cost, error, cause, content, segment
         FROM UNNEST($2::BIGINT[], $3::BIGINT[], $4::BIGINT[], $5::BOOLEAN[], $6::BIGINT[],
             $7::BIGINT[], $8::BIGINT[], $9::BIGINT[], $10::TEXT[], $11::TEXT[], $12::BYTEA[],
             $13::BIGINT[])
             AS new (seq, n, status, is_failed, place, length, at, cost, error, cause, content, segment)
         ON CONFLICT (crawl, seq) DO UPDATE SET n = excluded.n, status = excluded.status,
         is_failed = excluded.is_failed, place = excluded.place, length = excluded.length,
         at = excluded.at, cost = excluded.cost, error = excluded.error, cause = excluded.cause,
         content = excluded.content, segment = excluded.segment",
    )
    .bind(crawl)
    .bind(numbers(|row| signed(row.seq)))
    .bind(numbers(|row| i64::from(row.n)))
    .bind(numbers(|row| i64::from(row.status)))
    .bind(rows.iter().map(|row| row.is_failed).collect::<Vec<bool>>())
    .bind(numbers(|row| signed(row.place.offset)))
    .bind(numbers(|row| i64::from(row.place.length)))
    .bind(times.collect::<Vec<Option<i64>>>())
    .bind(numbers(|row| row.cost.0))
    .bind(errors.collect::<Vec<Option<String>>>())
    .bind(causes.collect::<Vec<Option<String>>>())
    .bind(contents.collect::<Vec<Option<Vec<u8>>>>())
    .bind(segments.collect::<Vec<Option<i64>>>())
    .execute(&mut *connection)
    .await
    .map_err(failed_to(WRITING))?;
    segments::note_crawl(connection, crawl, rows).await
}

pub(super) async fn urls(
    readers: &PgPool,
    id: &str,
    after: Option<u32>,
    count_max: u32,
) -> Result<Vec<UrlRow>, StoreError> {
    select_urls(readers, id, after, count_max, rows::WAITING).await
}

/// The numbers of URLs have no gaps, so the last one says how many there are.
pub(super) async fn n_urls(readers: &PgPool, id: &str) -> Result<u64, StoreError> {
    let n_urls: i64 = sqlx::query_scalar(
        "SELECT COALESCE(MAX(n) + 1, 0) FROM crawl_urls
         WHERE crawl = (SELECT number FROM crawls WHERE id = $1)",
    )
    .bind(id)
    .fetch_one(readers)
    .await
    .map_err(failed_to(READING))?;
    Ok(n_urls.unsigned_abs())
}

pub(super) async fn skipped(
    connection: &mut PgConnection,
    id: &str,
    after: Option<u32>,
    count_max: u32,
) -> Result<Vec<UrlRow>, StoreError> {
    select_urls(connection, id, after, count_max, rows::SKIPPED).await
}

async fn select_urls(
    connection: impl PgExecutor<'_>,
    id: &str,
    after: Option<u32>,
    count_max: u32,
    state_min: i64,
) -> Result<Vec<UrlRow>, StoreError> {
    let rows = sqlx::query(
        "SELECT n, url, depth, state, referrer, anchor, target FROM crawl_urls
         WHERE crawl = (SELECT number FROM crawls WHERE id = $1) AND n > $2 AND crawl_urls.state >= $3
         ORDER BY n LIMIT $4",
    )
    .bind(id)
    .bind(after.map_or(-1, i64::from))
    .bind(state_min)
    .bind(i64::from(count_max))
    .fetch_all(connection)
    .await
    .map_err(list_failed_to(READING))?;
    rows.iter().map(rows::url).collect()
}

pub(super) async fn pages(
    readers: &PgPool,
    id: &str,
    after: u64,
    count_max: u32,
) -> Result<Vec<PageRow>, StoreError> {
    let rows = sqlx::query(
        "SELECT * FROM crawl_pages WHERE crawl = (SELECT number FROM crawls WHERE id = $1)
         AND seq > $2 ORDER BY seq LIMIT $3",
    )
    .bind(id)
    .bind(signed(after))
    .bind(i64::from(count_max))
    .fetch_all(readers)
    .await
    .map_err(failed_to(READING))?;
    rows.iter().map(page).collect()
}

pub(super) async fn last_page(readers: &PgPool, id: &str) -> Result<Option<PageRow>, StoreError> {
    let row = sqlx::query(
        "SELECT * FROM crawl_pages WHERE crawl = (SELECT number FROM crawls WHERE id = $1)
         ORDER BY seq DESC LIMIT 1",
    )
    .bind(id)
    .fetch_optional(readers)
    .await
    .map_err(failed_to(READING))?;
    row.as_ref().map(page).transpose()
}

/// Where a page of a crawl is, which may be in a segment.
fn page(row: &PgRow) -> Result<PageRow, StoreError> {
    let page = rows::page(row)?;
    let place = LogPosition {
        segment: column::<Option<i64>>(row, "segment")?.map(SegmentId),
        ..page.place
    };
    Ok(PageRow { place, ..page })
}

pub(super) async fn contents(
    readers: &PgPool,
    id: &str,
    after: u64,
    count_max: u32,
) -> Result<Vec<PageContent>, StoreError> {
    let rows = sqlx::query(
        "SELECT seq, n, is_failed, content FROM crawl_pages
         WHERE crawl = (SELECT number FROM crawls WHERE id = $1)
         AND seq > $2 AND (is_failed OR content IS NOT NULL) ORDER BY seq LIMIT $3",
    )
    .bind(id)
    .bind(signed(after))
    .bind(i64::from(count_max))
    .fetch_all(readers)
    .await
    .map_err(failed_to(READING))?;
    rows.iter().map(rows::page_content).collect()
}
