//! Stored answers to repeated requests.

use bytes::Bytes;
use sqlx::postgres::PgPool;

use trawl_model::clock::Timestamp;
use trawl_model::memory::{MemoryKind, PageMemory};

use super::row::{failed_to, text};
use crate::rows::{answer_headers, answer_status, column, stored_answer};
use crate::{AnswerKey, StoreError, StoredAnswer};

const READING: &str = "read an answer";
/// Deletes expired answers, a few with each new one: more than one, so that they do not accumulate.
/// Those that another connection deletes are left to it.
const DELETE_EXPIRED: &str = "DELETE FROM answers WHERE (account, key) IN
    (SELECT account, key FROM answers WHERE at < $1 ORDER BY at LIMIT 16 FOR UPDATE SKIP LOCKED)";

/// The stored answer. Memory for its body is taken before the body is read.
pub(super) async fn find(
    readers: &PgPool,
    key: &AnswerKey,
    since: Timestamp,
    memory: &PageMemory,
) -> Result<Option<StoredAnswer>, StoreError> {
    let row = sqlx::query(
        "SELECT body_hash, status, content_type, headers, octet_length(body)::BIGINT AS n_bytes, at
         FROM answers WHERE account = $1 AND key = $2 AND at >= $3",
    )
    .bind(key.account.as_str())
    .bind(key.key.as_str())
    .bind(since.0)
    .fetch_optional(readers)
    .await
    .map_err(failed_to(READING))?;
    let Some(row) = row else {
        return Ok(None);
    };
    let at = Timestamp(column(&row, "at")?);
    let n_bytes = column::<Option<i64>>(&row, "n_bytes")?.unwrap_or(0);
    let body = match usize::try_from(n_bytes) {
        Ok(n_bytes @ 1..) => body(readers, key, at, n_bytes, memory).await?,
        _ => Some(Bytes::new()),
    };
    // Without a body it was replaced or has expired since.
    body.map(|body| stored_answer(&row, body)).transpose()
}

async fn body(
    readers: &PgPool,
    key: &AnswerKey,
    at: Timestamp,
    n_bytes: usize,
    memory: &PageMemory,
) -> Result<Option<Bytes>, StoreError> {
    let mut lease = memory.lease_for(MemoryKind::Answers);
    // Twice: it is copied out of its row.
    lease.grow_to(2 * n_bytes).await?;
    let body: Option<Vec<u8>> = sqlx::query_scalar(
        "SELECT body FROM answers WHERE account = $1 AND key = $2 AND at = $3
         AND octet_length(body) = $4",
    )
    .bind(key.account.as_str())
    .bind(key.key.as_str())
    .bind(at.0)
    .bind(n_bytes as i64)
    .fetch_optional(readers)
    .await
    .map_err(failed_to(READING))?;
    lease.shrink_to(n_bytes);
    Ok(body.map(|body| lease.attach(body)))
}

pub(super) async fn store(
    writers: &PgPool,
    key: &AnswerKey,
    stored: &StoredAnswer,
    expired: Timestamp,
) -> Result<(), StoreError> {
    // Apart from the new answer: those of other accounts are locked only while they are deleted.
    expire(writers, expired).await?;
    let answer = stored.answer.as_ref();
    sqlx::query(
        "INSERT INTO answers (account, key, body_hash, status, content_type, headers, body, at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
         ON CONFLICT (account, key) DO UPDATE SET body_hash = excluded.body_hash,
         status = excluded.status, content_type = excluded.content_type, headers = excluded.headers,
         body = excluded.body, at = excluded.at",
    )
    .bind(key.account.as_str())
    .bind(key.key.as_str())
    .bind(&stored.body_hash[..])
    .bind(answer_status(stored))
    .bind(answer.map(|answer| text(&answer.content_type)))
    .bind(answer.and_then(answer_headers))
    .bind(answer.map(|answer| &answer.body[..]))
    .bind(stored.at.0)
    .execute(writers)
    .await
    .map_err(failed_to("store an answer"))
    .map(drop)
}

/// Deletes one answer.
pub(super) async fn forget(writers: &PgPool, key: &AnswerKey) -> Result<(), StoreError> {
    sqlx::query("DELETE FROM answers WHERE account = $1 AND key = $2")
        .bind(key.account.as_str())
        .bind(key.key.as_str())
        .execute(writers)
        .await
        .map_err(failed_to("delete an answer"))
        .map(drop)
}

/// Deletes a few answers from before a time. Returns how many.
pub(super) async fn expire(writers: &PgPool, before: Timestamp) -> Result<u64, StoreError> {
    let done = sqlx::query(DELETE_EXPIRED)
        .bind(before.0)
        .execute(writers)
        .await
        .map_err(failed_to("delete old answers"))?;
    Ok(done.rows_affected())
}
