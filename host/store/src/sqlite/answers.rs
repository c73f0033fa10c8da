//! Stored answers to repeated requests.

use bytes::Bytes;
use sqlx::sqlite::{SqliteConnection, SqlitePool};

use trawl_model::clock::Timestamp;
use trawl_model::memory::{MemoryKind, PageMemory};

use super::row::{begin, failed_to};
use crate::rows::{answer_headers, answer_status, column, stored_answer};
use crate::{AnswerKey, StoreError, StoredAnswer};

const READING: &str = "read an answer";
/// Deletes expired answers, a few with each new one: more than one, so that they do not accumulate.
const DELETE_EXPIRED: &str = "DELETE FROM answers WHERE rowid IN (SELECT rowid FROM answers WHERE at < ? ORDER BY at LIMIT 16)";

/// The stored answer. Memory for its body is taken before the body is read.
pub(super) async fn find(
    readers: &SqlitePool,
    key: &AnswerKey,
    since: Timestamp,
    memory: &PageMemory,
) -> Result<Option<StoredAnswer>, StoreError> {
    let row = sqlx::query(
        "SELECT body_hash, status, content_type, headers, octet_length(body) AS n_bytes, at FROM answers
         WHERE account = ? AND key = ? AND at >= ?",
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
    readers: &SqlitePool,
    key: &AnswerKey,
    at: Timestamp,
    n_bytes: usize,
    memory: &PageMemory,
) -> Result<Option<Bytes>, StoreError> {
    let mut lease = memory.lease_for(MemoryKind::Answers);
    // Twice: it is copied out of its row.
    lease.grow_to(2 * n_bytes).await?;
    let body: Option<Vec<u8>> =
        sqlx::query_scalar("SELECT body FROM answers WHERE account = ? AND key = ? AND at = ?")
            .bind(key.account.as_str())
            .bind(key.key.as_str())
            .bind(at.0)
            .fetch_optional(readers)
            .await
            .map_err(failed_to(READING))?;
    lease.shrink_to(n_bytes);
    Ok(body.map(|body| lease.attach(body)))
}

pub(super) async fn store(
    connection: &mut SqliteConnection,
    key: &AnswerKey,
    stored: &StoredAnswer,
    expired: Timestamp,
) -> Result<(), StoreError> {
    let failed = failed_to("store an answer");
    let mut transaction = begin(connection, "store an answer").await?;
    expire(&mut transaction, expired).await?;
    // Not `INSERT OR REPLACE`, which would not fire the trigger that counts deleted answers.
    forget(&mut transaction, key).await?;
    let answer = stored.answer.as_ref();
    sqlx::query(
        "INSERT INTO answers (account, key, body_hash, status, content_type, headers, body, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(key.account.as_str())
    .bind(key.key.as_str())
    .bind(&stored.body_hash[..])
    .bind(answer_status(stored))
    .bind(answer.map(|answer| answer.content_type.as_str()))
    .bind(answer.and_then(answer_headers))
    .bind(answer.map(|answer| &answer.body[..]))
    .bind(stored.at.0)
    .execute(&mut *transaction)
    .await
    .map_err(&failed)?;
    transaction.commit().await.map_err(&failed)
}

/// Deletes one answer.
pub(super) async fn forget(
    connection: &mut SqliteConnection,
    key: &AnswerKey,
) -> Result<(), StoreError> {
    sqlx::query("DELETE FROM answers WHERE account = ? AND key = ?")
        .bind(key.account.as_str())
        .bind(key.key.as_str())
        .execute(connection)
        .await
        .map_err(failed_to("delete an answer"))
        .map(drop)
}

/// Deletes a few answers from before a time. Returns how many.
pub(super) async fn expire(
    connection: &mut SqliteConnection,
    before: Timestamp,
) -> Result<u64, StoreError> {
    let done = sqlx::query(DELETE_EXPIRED)
        .bind(before.0)
        .execute(connection)
        .await
        .map_err(failed_to("delete old answers"))?;
    Ok(done.rows_affected())
}
