//! Crawls: their records, lists and deletion.

use sqlx::AssertSqlSafe;
use sqlx::postgres::{PgConnection, PgPool};

use trawl_model::clock::Timestamp;
use trawl_model::memory::{Held, MemoryLease};
use trawl_model::{StopReason, UrlRow};

use super::row::{begin, failed_to, text};
use super::{PostgresStore, crawl_progress, interrupted, lists};
use crate::rows::{self, WITHOUT_REQUEST, signed};
use crate::{
    AccountId, CrawlKinds, CrawlLeft, CrawlRecord, CrawlState, CrawlStore, CrawlSummary,
    CrawledPage, FoundCrawl, Interrupted, LoggedPage, PageContent, PageRange, PageRow, Progress,
    Rows, StoreError, StoreFuture,
};

const WRITING: &str = "write a crawl";
const READING: &str = "read a crawl";
const EXPIRING: &str = "delete old crawls";
/// Bytes of a crawl's row without its request and what it left out.
const ROW_BYTES: usize = 256;
/// Rows of each table that one step of an expiry deletes, in a transaction of a few milliseconds.
const EXPIRED_ROWS_MAX: i64 = 4_096;

impl CrawlStore for PostgresStore {
    fn create_crawls<'a>(&'a self, records: &'a [CrawlRecord]) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let mut transaction = begin(&self.writers, WRITING).await?;
            for record in records {
                create(&mut transaction, record).await?;
            }
            transaction.commit().await.map_err(failed_to(WRITING))
        })
    }

    fn crawl<'a>(
        &'a self,
        account: &'a AccountId,
        id: &'a str,
    ) -> StoreFuture<'a, Option<FoundCrawl>> {
        Box::pin(find(&self.readers, account, id))
    }

    fn crawl_request<'a>(
        &'a self,
        id: &'a str,
        lease: MemoryLease,
    ) -> StoreFuture<'a, Option<Held<String>>> {
        Box::pin(request(&self.readers, id, lease))
    }

    fn crawls<'a>(
        &'a self,
        account: &'a AccountId,
        before: Timestamp,
        count_max: u32,
    ) -> StoreFuture<'a, Vec<CrawlRecord>> {
        Box::pin(of_account(&self.readers, account, before, count_max))
    }

    fn interrupt_crawls(&self, at: Timestamp) -> StoreFuture<'_, Interrupted> {
        Box::pin(interrupted::interrupt(&self.writers, at))
    }

    fn crawls_left(
        &self,
        after: i64,
        last: i64,
        count_max: u32,
    ) -> StoreFuture<'_, Vec<CrawlLeft>> {
        Box::pin(interrupted::left(&self.readers, after..=last, count_max))
    }

    fn crawl_state<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Option<CrawlState>> {
        Box::pin(interrupted::state(&self.readers, id))
    }

    fn set_crawl_state<'a>(&'a self, id: &'a str, state: CrawlState) -> StoreFuture<'a, bool> {
        Box::pin(set_state(&self.writers, id, state))
    }

    fn set_crawl_left_out<'a>(&'a self, id: &'a str, left_out: &'a str) -> StoreFuture<'a, ()> {
        Box::pin(set_left_out(&self.writers, id, left_out))
    }

    fn park_crawl<'a>(&'a self, id: &'a str, reason: Option<StopReason>) -> StoreFuture<'a, ()> {
        Box::pin(park(&self.writers, id, reason))
    }

    fn unpark_crawl<'a>(&'a self, id: &'a str) -> StoreFuture<'a, bool> {
        Box::pin(unpark(&self.writers, id))
    }

    fn reopen_crawl<'a>(&'a self, id: &'a str, request: &'a str) -> StoreFuture<'a, bool> {
        Box::pin(reopen(&self.writers, id, request))
    }

    fn end_crawl<'a>(
        &'a self,
        id: &'a str,
        stop: StopReason,
        at: Timestamp,
    ) -> StoreFuture<'a, ()> {
        Box::pin(end(&self.writers, id, stop, at))
    }

    fn save_crawl_progress<'a>(
        &'a self,
        id: &'a str,
        progress: &'a Progress,
    ) -> StoreFuture<'a, u64> {
        Box::pin(crawl_progress::save(&self.writers, id, progress))
    }

    fn crawl_urls<'a>(
        &'a self,
        id: &'a str,
        after: Option<u32>,
        count_max: u32,
    ) -> StoreFuture<'a, Vec<UrlRow>> {
        Box::pin(crawl_progress::urls(&self.readers, id, after, count_max))
    }

    fn n_crawl_urls<'a>(&'a self, id: &'a str) -> StoreFuture<'a, u64> {
        Box::pin(crawl_progress::n_urls(&self.readers, id))
    }

    fn crawl_skipped<'a>(
        &'a self,
        id: &'a str,
        after: Option<u32>,
        count_max: u32,
    ) -> StoreFuture<'a, Vec<UrlRow>> {
        // Looks at every URL of the crawl if few of them were skipped.
        Box::pin(async move {
            let mut connection = self.list_connection().await?;
            crawl_progress::skipped(&mut connection, id, after, count_max).await
        })
    }

    fn crawl_pages<'a>(
        &'a self,
        id: &'a str,
        after: u64,
        count_max: u32,
    ) -> StoreFuture<'a, Vec<PageRow>> {
        Box::pin(crawl_progress::pages(&self.readers, id, after, count_max))
    }

    fn crawl_log<'a>(
        &'a self,
        id: &'a str,
        after: u64,
        count_max: u32,
    ) -> StoreFuture<'a, Vec<LoggedPage>> {
        Box::pin(lists::log(self, id, after, count_max))
    }

    fn crawl_contents<'a>(
        &'a self,
        id: &'a str,
        after: u64,
        count_max: u32,
    ) -> StoreFuture<'a, Vec<PageContent>> {
        Box::pin(crawl_progress::contents(
            &self.readers,
            id,
            after,
            count_max,
        ))
    }

    fn last_crawl_page<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Option<PageRow>> {
        Box::pin(crawl_progress::last_page(&self.readers, id))
    }

    fn expire_crawls(&self, before: Timestamp) -> StoreFuture<'_, Vec<String>> {
        Box::pin(async move {
            let mut ids = Vec::new();
            loop {
                match expire_step(&self.writers, before).await {
                    Ok(Expiry::Partial) => {}
                    Ok(Expiry::Complete(id)) => ids.push(id),
                    Ok(Expiry::NothingLeft) => return Ok(ids),
                    Err(error) if ids.is_empty() => return Err(error),
                    Err(error) => {
                        // The caller must learn which crawls are gone: nothing else names them.
                        tracing::error!(error = %error, "could not delete every expired crawl");
                        return Ok(ids);
                    }
                }
            }
        })
    }

    fn crawl_rows<'a>(
        &'a self,
        account: &'a AccountId,
        kinds: CrawlKinds,
        range: PageRange,
    ) -> StoreFuture<'a, Rows<CrawlSummary>> {
        Box::pin(lists::crawls(self, account, kinds, range))
    }

    fn page_rows<'a>(
        &'a self,
        account: &'a AccountId,
        in_background: bool,
        range: PageRange,
    ) -> StoreFuture<'a, Rows<CrawledPage>> {
        Box::pin(lists::pages(self, account, in_background, range))
    }
}

async fn create(connection: &mut PgConnection, record: &CrawlRecord) -> Result<(), StoreError> {
    let texts = record.request.len() + record.left_out.as_ref().map_or(0, String::len);
    sqlx::query(
        "INSERT INTO crawls (id, account, key, request, verb, terms, needs_secrets, in_background, state,
             stop, created, ended, n_pages, n_failed, n_bytes, spent, left_out, stored_bytes)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)",
    )
    .bind(record.id.as_str())
    .bind(record.account.as_str())
    .bind(record.key.as_str())
    .bind(text(&record.request))
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
    .bind(record.left_out.as_deref().map(text))
    .bind(signed((texts + ROW_BYTES) as u64))
    .execute(connection)
    .await
    .map_err(failed_to(WRITING))
    .map(drop)
}

async fn find(
    readers: &PgPool,
    account: &AccountId,
    id: &str,
) -> Result<Option<FoundCrawl>, StoreError> {
    // The length of a text is in the head of its row.
    let sql = format!(
        "SELECT {WITHOUT_REQUEST}, octet_length(request)::BIGINT AS request_bytes
         FROM crawls WHERE id = $1 AND account = $2"
    );
    let row = sqlx::query(AssertSqlSafe(sql))
        .bind(text(id))
        .bind(account.as_str())
        .fetch_optional(readers)
        .await
        .map_err(failed_to(READING))?;
    row.as_ref().map(rows::found_crawl).transpose()
}

async fn request(
    readers: &PgPool,
    id: &str,
    lease: MemoryLease,
) -> Result<Option<Held<String>>, StoreError> {
    let request: Option<String> = sqlx::query_scalar("SELECT request FROM crawls WHERE id = $1")
        .bind(id)
        .fetch_optional(readers)
        .await
        .map_err(failed_to(READING))?;
    Ok(request.map(|request| lease.hold(request)))
}

async fn of_account(
    readers: &PgPool,
    account: &AccountId,
    before: Timestamp,
    count_max: u32,
) -> Result<Vec<CrawlRecord>, StoreError> {
    let sql = format!(
        "SELECT {WITHOUT_REQUEST}
         FROM crawls WHERE account = $1 AND created < $2 ORDER BY created DESC LIMIT $3"
    );
    let rows = sqlx::query(AssertSqlSafe(sql))
        .bind(account.as_str())
        .bind(before.0)
        .bind(i64::from(count_max))
        .fetch_all(readers)
        .await
        .map_err(failed_to(READING))?;
    rows.iter().map(rows::crawl).collect()
}

async fn set_state(writers: &PgPool, id: &str, state: CrawlState) -> Result<bool, StoreError> {
    let done = sqlx::query("UPDATE crawls SET state = $1 WHERE id = $2 AND state <> 'ended'")
        .bind(state.name())
        .bind(id)
        .execute(writers)
        .await
        .map_err(failed_to(WRITING))?;
    Ok(done.rows_affected() > 0)
}

async fn set_left_out(writers: &PgPool, id: &str, left_out: &str) -> Result<(), StoreError> {
    sqlx::query(
        "UPDATE crawls SET left_out = $1, stored_bytes = stored_bytes + octet_length($1::TEXT)
         - COALESCE(octet_length(left_out), 0) WHERE id = $2",
    )
    .bind(left_out)
    .bind(id)
    .execute(writers)
    .await
    .map_err(failed_to(WRITING))
    .map(drop)
}

async fn park(writers: &PgPool, id: &str, reason: Option<StopReason>) -> Result<(), StoreError> {
    sqlx::query("UPDATE crawls SET state = 'parked', stop = $1 WHERE id = $2 AND state <> 'ended'")
        .bind(reason.map(StopReason::name))
        .bind(id)
        .execute(writers)
        .await
        .map_err(failed_to(WRITING))
        .map(drop)
}

async fn unpark(writers: &PgPool, id: &str) -> Result<bool, StoreError> {
    let done = sqlx::query(
        "UPDATE crawls SET state = 'queued', stop = NULL WHERE id = $1 AND state = 'parked'",
    )
    .bind(id)
    .execute(writers)
    .await
    .map_err(failed_to(WRITING))?;
    Ok(done.rows_affected() > 0)
}

async fn reopen(writers: &PgPool, id: &str, request: &str) -> Result<bool, StoreError> {
    let done = sqlx::query(
        "UPDATE crawls SET request = $1,
         stored_bytes = stored_bytes + octet_length($1::TEXT) - octet_length(request), stop = CASE WHEN state = 'ended' THEN NULL ELSE stop END, ended = NULL,
         state = CASE WHEN state = 'ended' THEN 'queued' ELSE state END WHERE id = $2",
    )
    .bind(request)
    .bind(id)
    .execute(writers)
    .await
    .map_err(failed_to(WRITING))?;
    Ok(done.rows_affected() > 0)
}

async fn end(
    writers: &PgPool,
    id: &str,
    stop: StopReason,
    at: Timestamp,
) -> Result<(), StoreError> {
    sqlx::query(
        "UPDATE crawls SET state = 'ended', stop = $1, ended = $2 WHERE id = $3 AND state <> 'ended'",
    )
    .bind(stop.name())
    .bind(at.0)
    .bind(id)
    .execute(writers)
    .await
    .map_err(failed_to(WRITING))
    .map(drop)
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

/// Deletes some rows of the crawl that ended first, if it ended before a time. One that another
/// connection deletes or writes to is left to it.
async fn expire_step(writers: &PgPool, before: Timestamp) -> Result<Expiry, StoreError> {
    let failed = failed_to(EXPIRING);
    let mut transaction = begin(writers, EXPIRING).await?;
    let expired: Option<(i64, String)> = sqlx::query_as(
        "SELECT number, id FROM crawls WHERE ended < $1 ORDER BY ended LIMIT 1
         FOR UPDATE SKIP LOCKED",
    )
    .bind(before.0)
    .fetch_optional(&mut *transaction)
    .await
    .map_err(&failed)?;
    let Some((number, id)) = expired else {
        return Ok(Expiry::NothingLeft);
    };
    let mut is_complete = true;
    for sql in [
        "DELETE FROM crawl_urls WHERE crawl = $1 AND n IN
         (SELECT n FROM crawl_urls WHERE crawl = $1 ORDER BY n LIMIT $2)",
        "DELETE FROM crawl_pages WHERE crawl = $1 AND seq IN
         (SELECT seq FROM crawl_pages WHERE crawl = $1 ORDER BY seq LIMIT $2)",
    ] {
        let done = sqlx::query(sql)
            .bind(number)
            .bind(EXPIRED_ROWS_MAX)
            .execute(&mut *transaction)
            .await
            .map_err(&failed)?;
        is_complete &= done.rows_affected() < EXPIRED_ROWS_MAX.unsigned_abs();
    }
    if is_complete {
        sqlx::query("DELETE FROM segment_crawls WHERE crawl = $1")
            .bind(number)
            .execute(&mut *transaction)
            .await
            .map_err(&failed)?;
        sqlx::query("DELETE FROM crawls WHERE number = $1")
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
