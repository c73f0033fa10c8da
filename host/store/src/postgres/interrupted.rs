//! Crawls that the last process left unfinished. No statement here reads a request: an account may
//! have a thousand of ten megabytes.

use std::ops::RangeInclusive;

use sqlx::postgres::{PgPool, PgRow};
use sqlx::{AssertSqlSafe, Row};

use trawl_model::StopReason;
use trawl_model::clock::Timestamp;

use super::row::{begin, failed_to};
use crate::rows::{WITHOUT_REQUEST, crawl_left, crawls_left};
use crate::{CrawlLeft, CrawlState, Interrupted, StoreError};

const INTERRUPTING: &str = "end or park the crawls of the last process";
const READING: &str = "read the crawls of the last process";

pub(super) async fn interrupt(writers: &PgPool, at: Timestamp) -> Result<Interrupted, StoreError> {
    let failed = failed_to(INTERRUPTING);
    let mut transaction = begin(writers, INTERRUPTING).await?;
    sqlx::query(
        "UPDATE crawls SET state = 'ended', stop = $1, ended = $2
         WHERE state <> 'ended' AND NOT in_background",
    )
    .bind(StopReason::ServerStopped.name())
    .bind(at.0)
    .execute(&mut *transaction)
    .await
    .map_err(&failed)?;
    sqlx::query(
        "UPDATE crawls SET state = 'parked' WHERE state <> 'ended' AND state <> 'parked' AND needs_secrets",
    )
    .execute(&mut *transaction)
    .await
    .map_err(&failed)?;
    // The length of a text is in the head of its row.
    let left = sqlx::query(
        "SELECT account, COUNT(*) AS n_crawls, COUNT(*) FILTER (WHERE terms = 'unlimited') AS n_unlimited,
         SUM(octet_length(request))::BIGINT AS request_bytes
         FROM crawls WHERE state <> 'ended' AND state <> 'parked' GROUP BY account",
    )
    .fetch_all(&mut *transaction)
    .await
    .map_err(&failed)?;
    let last: Option<i64> = sqlx::query_scalar("SELECT MAX(number) FROM crawls")
        .fetch_one(&mut *transaction)
        .await
        .map_err(&failed)?;
    transaction.commit().await.map_err(&failed)?;
    Ok(Interrupted {
        accounts: left.iter().map(crawls_left).collect::<Result<_, _>>()?,
        last: last.unwrap_or_default(),
    })
}

pub(super) async fn left(
    readers: &PgPool,
    numbers: RangeInclusive<i64>,
    count_max: u32,
) -> Result<Vec<CrawlLeft>, StoreError> {
    let sql = format!(
        "SELECT number, {WITHOUT_REQUEST}, octet_length(request)::BIGINT AS request_bytes
         FROM crawls WHERE state <> 'ended' AND state <> 'parked' AND in_background AND number > $1 AND number <= $2
         ORDER BY number LIMIT $3"
    );
    let rows = sqlx::query(AssertSqlSafe(sql))
        .bind(*numbers.start())
        .bind(*numbers.end())
        .bind(i64::from(count_max))
        .fetch_all(readers)
        .await
        .map_err(failed_to(READING))?;
    rows.iter().map(crawl_left).collect()
}

pub(super) async fn state(readers: &PgPool, id: &str) -> Result<Option<CrawlState>, StoreError> {
    let row = sqlx::query("SELECT state FROM crawls WHERE id = $1")
        .bind(id)
        .fetch_optional(readers)
        .await
        .map_err(failed_to(READING))?;
    let named = |row: PgRow| {
        let state: &str = row.try_get("state").map_err(failed_to(READING))?;
        CrawlState::named(state).ok_or(StoreError::Unreadable { what: "state" })
    };
    row.map(named).transpose()
}
