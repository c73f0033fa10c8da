//! Crawls: their records, lists and deletion.

use sqlx::Connection;
use sqlx::sqlite::{SqliteConnection, SqlitePool, SqliteRow};

use trawl_model::clock::Timestamp;
use trawl_model::{Nanodollars, StopReason, Terms, UrlRow};

use super::row::{column, count_column, failed_to, signed};
use super::{SqliteStore, crawl_progress};
use crate::{
    AccountId, CrawlCounts, CrawlRecord, CrawlState, CrawlStore, CrawledPage, PageRange, PageRow,
    Progress, Rows, StoreError, StoreFuture,
};

const WRITING: &str = "write a crawl";
const READING: &str = "read a crawl";
/// Rows of each table that one step of an expiry deletes: the write connection is busy for a few
/// milliseconds.
const EXPIRED_ROWS_MAX: u32 = 4_096;

impl CrawlStore for SqliteStore {
    fn create_crawl<'a>(&'a self, record: &'a CrawlRecord) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let mut writer = self.writer().await?;
            create(writer.connection(), record).await
        })
    }

    fn crawl<'a>(
        &'a self,
        account: &'a AccountId,
        id: &'a str,
    ) -> StoreFuture<'a, Option<CrawlRecord>> {
        Box::pin(find(&self.readers, account, id))
    }

    fn crawls<'a>(
        &'a self,
        account: &'a AccountId,
        before: Timestamp,
        count_max: u32,
    ) -> StoreFuture<'a, Vec<CrawlRecord>> {
        Box::pin(of_account(&self.readers, account, before, count_max))
    }

    fn unfinished_crawls(&self) -> StoreFuture<'_, Vec<CrawlRecord>> {
        Box::pin(unfinished(&self.readers))
    }

    fn set_crawl_state<'a>(&'a self, id: &'a str, state: CrawlState) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let mut writer = self.writer().await?;
            set_state(writer.connection(), id, state).await
        })
    }

    fn end_crawl<'a>(
        &'a self,
        id: &'a str,
        stop: StopReason,
        at: Timestamp,
    ) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let mut writer = self.writer().await?;
            end(writer.connection(), id, stop, at).await
        })
    }

    fn save_crawl_progress<'a>(
        &'a self,
        id: &'a str,
        progress: &'a Progress,
    ) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let mut writer = self.writer().await?;
            crawl_progress::save(writer.connection(), id, progress).await
        })
    }

    fn crawl_urls<'a>(
        &'a self,
        id: &'a str,
        after: Option<u32>,
        count_max: u32,
    ) -> StoreFuture<'a, Vec<UrlRow>> {
        Box::pin(crawl_progress::urls(&self.readers, id, after, count_max))
    }

    fn crawl_skipped<'a>(
        &'a self,
        id: &'a str,
        after: Option<u32>,
        count_max: u32,
    ) -> StoreFuture<'a, Vec<UrlRow>> {
        Box::pin(crawl_progress::skipped(&self.readers, id, after, count_max))
    }

    fn crawl_pages<'a>(
        &'a self,
        id: &'a str,
        after: u64,
        count_max: u32,
    ) -> StoreFuture<'a, Vec<PageRow>> {
        Box::pin(crawl_progress::pages(&self.readers, id, after, count_max))
    }

    fn last_crawl_page<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Option<PageRow>> {
        Box::pin(crawl_progress::last_page(&self.readers, id))
    }

    fn expire_crawls(&self, before: Timestamp) -> StoreFuture<'_, Vec<String>> {
        Box::pin(async move {
            let mut ids = Vec::new();
            loop {
                // Released after each step, so that billing can write in between.
                let mut writer = self.writer().await?;
                match expire_step(writer.connection(), before).await? {
                    Expiry::Partial => {}
                    Expiry::Complete(id) => ids.push(id),
                    Expiry::NothingLeft => return Ok(ids),
                }
            }
        })
    }

    fn crawl_rows<'a>(
        &'a self,
        account: &'a AccountId,
        range: PageRange,
    ) -> StoreFuture<'a, Rows<CrawlRecord>> {
        Box::pin(crawl_rows(&self.readers, account, range))
    }

    fn page_rows<'a>(
        &'a self,
        account: &'a AccountId,
        in_background: bool,
        range: PageRange,
    ) -> StoreFuture<'a, Rows<CrawledPage>> {
        Box::pin(page_rows(&self.readers, account, in_background, range))
    }
}

async fn create(connection: &mut SqliteConnection, record: &CrawlRecord) -> Result<(), StoreError> {
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
    .bind(signed(record.counts.n_pages))
    .bind(signed(record.counts.n_failed))
    .bind(signed(record.counts.n_bytes))
    .bind(record.counts.spent.0)
    .execute(connection)
    .await
    .map_err(failed_to(WRITING))
    .map(drop)
}

async fn find(
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

async fn of_account(
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

async fn unfinished(readers: &SqlitePool) -> Result<Vec<CrawlRecord>, StoreError> {
    let rows = sqlx::query("SELECT * FROM crawls WHERE state <> 'ended' ORDER BY number")
        .fetch_all(readers)
        .await
        .map_err(failed_to(READING))?;
    rows.iter().map(record).collect()
}

async fn set_state(
    connection: &mut SqliteConnection,
    id: &str,
    state: CrawlState,
) -> Result<(), StoreError> {
    sqlx::query("UPDATE crawls SET state = ? WHERE id = ?")
        .bind(state.name())
        .bind(id)
        .execute(connection)
        .await
        .map_err(failed_to(WRITING))
        .map(drop)
}

async fn end(
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
        .map_err(failed_to(WRITING))
        .map(drop)
}

async fn crawl_rows(
    readers: &SqlitePool,
    account: &AccountId,
    range: PageRange,
) -> Result<Rows<CrawlRecord>, StoreError> {
    let failed = failed_to(READING);
    let count: i64 = sqlx::query_scalar("SELECT COUNT(*) FROM crawls WHERE account = ?")
        .bind(account.as_str())
        .fetch_one(readers)
        .await
        .map_err(&failed)?;
    let rows = sqlx::query(
        "SELECT * FROM crawls WHERE account = ? ORDER BY created DESC, number DESC LIMIT ? OFFSET ?",
    )
    .bind(account.as_str())
    .bind(range.limit)
    .bind(signed(range.offset))
    .fetch_all(readers)
    .await
    .map_err(&failed)?;
    let count = count.unsigned_abs();
    let rows = rows.iter().map(record).collect::<Result<_, _>>()?;
    Ok(Rows { rows, count })
}

async fn page_rows(
    readers: &SqlitePool,
    account: &AccountId,
    in_background: bool,
    range: PageRange,
) -> Result<Rows<CrawledPage>, StoreError> {
    let failed = failed_to(READING);
    let count: i64 = sqlx::query_scalar(
        "SELECT COUNT(*) FROM crawls JOIN crawl_pages ON crawl = number WHERE account = ? AND in_background >= ?",
    )
    .bind(account.as_str())
    .bind(in_background)
    .fetch_one(readers)
    .await
    .map_err(&failed)?;
    let rows = sqlx::query(
        "SELECT crawls.id AS id, seq, url, status, error, cost, at
         FROM crawls JOIN crawl_pages AS page ON page.crawl = number
         JOIN crawl_urls AS address ON address.crawl = number AND address.n = page.n
         WHERE account = ? AND in_background >= ? ORDER BY created DESC, number DESC, seq DESC LIMIT ? OFFSET ?",
    )
    .bind(account.as_str())
    .bind(in_background)
    .bind(range.limit)
    .bind(signed(range.offset))
    .fetch_all(readers)
    .await
    .map_err(&failed)?;
    let count = count.unsigned_abs();
    let rows = rows.iter().map(crawled_page).collect::<Result<_, _>>()?;
    Ok(Rows { rows, count })
}

fn crawled_page(row: &SqliteRow) -> Result<CrawledPage, StoreError> {
    Ok(CrawledPage {
        crawl: column(row, "id")?,
        seq: count_column(row, "seq")?,
        url: column(row, "url")?,
        status: column(row, "status")?,
        error: column(row, "error")?,
        cost: Nanodollars(column(row, "cost")?),
        at: column::<Option<i64>>(row, "at")?.map(Timestamp),
    })
}

/// The result of one step of an expiry.
enum Expiry {
    /// Some rows of a crawl were deleted.
    Partial,
    /// The crawl with this id was deleted.
    Complete(String),
    /// No crawl has expired.
    NothingLeft,
}

/// Deletes some rows of the crawl that ended first, if it ended before a time.
async fn expire_step(
    connection: &mut SqliteConnection,
    before: Timestamp,
) -> Result<Expiry, StoreError> {
    let failed = failed_to("delete old crawls");
    let mut transaction = connection
        .begin_with("BEGIN IMMEDIATE")
        .await
        .map_err(&failed)?;
    let expired: Option<(i64, String)> =
        sqlx::query_as("SELECT number, id FROM crawls WHERE ended < ? ORDER BY ended LIMIT 1")
            .bind(before.0)
            .fetch_optional(&mut *transaction)
            .await
            .map_err(&failed)?;
    let Some((number, id)) = expired else {
        return Ok(Expiry::NothingLeft);
    };
    let mut is_complete = true;
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
        is_complete &= done.rows_affected() < u64::from(EXPIRED_ROWS_MAX);
    }
    if is_complete {
        sqlx::query("DELETE FROM crawls WHERE number = ?")
            .bind(number)
            .execute(&mut *transaction)
            .await
            .map_err(&failed)?;
    }
    transaction.commit().await.map_err(&failed)?;
    Ok(if is_complete {
        Expiry::Complete(id)
    } else {
        Expiry::Partial
    })
}

fn record(row: &SqliteRow) -> Result<CrawlRecord, StoreError> {
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
            n_pages: count_column(row, "n_pages")?,
            n_failed: count_column(row, "n_failed")?,
            n_bytes: count_column(row, "n_bytes")?,
            spent: Nanodollars(column(row, "spent")?),
        },
    })
}
