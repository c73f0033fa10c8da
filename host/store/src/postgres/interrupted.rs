//! Crawls that the last process left unfinished. No statement here reads a request: an account may
//! have a thousand of ten megabytes.

use std::ops::RangeInclusive;

use sqlx::postgres::{PgPool, PgRow};
use sqlx::{AssertSqlSafe, Row};

use trawl_model::StopReason;
use trawl_model::clock::Timestamp;

use super::records::{WITHOUT_REQUEST, record};
use super::row::{begin, column, failed_to, number};
use crate::{AccountId, CrawlLeft, CrawlState, CrawlsLeft, Interrupted, StoreError};

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
        accounts: left.iter().map(of_account).collect::<Result<_, _>>()?,
        last: last.unwrap_or_default(),
    })
}

fn of_account(row: &PgRow) -> Result<CrawlsLeft, StoreError> {
    Ok(CrawlsLeft {
        account: AccountId::new(column::<&str>(row, "account")?),
        n_crawls: number(row, "n_crawls")?,
        n_unlimited: number(row, "n_unlimited")?,
        request_bytes: number(row, "request_bytes")?,
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
    let crawl = |row: &PgRow| {
        Ok(CrawlLeft {
            number: column(row, "number")?,
            request_bytes: number(row, "request_bytes")?,
            record: record(row)?,
        })
    };
    rows.iter().map(crawl).collect()
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
