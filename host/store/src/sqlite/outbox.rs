//! Events that wait for their delivery, and the secrets they are signed with.

use sqlx::sqlite::{SqliteConnection, SqlitePool, SqliteRow};
use sqlx::{Connection, Row};

use super::{column, failed_to};
use crate::{AccountId, OutboxRow, StoreError};
use trawl_model::clock::Timestamp;
use trawl_model::secret::Secret;

const WRITING: &str = "write webhook events";
const READING: &str = "read webhook events";

pub(super) async fn push(
    connection: &mut SqliteConnection,
    rows: &[OutboxRow],
) -> Result<u64, StoreError> {
    let failed = failed_to(WRITING);
    let mut transaction = connection
        .begin_with("BEGIN IMMEDIATE")
        .await
        .map_err(&failed)?;
    let mut count = 0;
    for row in rows {
        let done = sqlx::query(
            "INSERT INTO outbox (id, account, destination, event, body, created, due, n_attempts)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING",
        )
        .bind(row.id.as_str())
        .bind(row.account.as_str())
        .bind(row.destination.as_str())
        .bind(row.event.as_str())
        .bind(row.body.as_str())
        .bind(row.created.0)
        .bind(row.due.0)
        .bind(row.n_attempts)
        .execute(&mut *transaction)
        .await
        .map_err(&failed)?;
        count += done.rows_affected();
    }
    transaction.commit().await.map_err(&failed)?;
    Ok(count)
}

pub(super) async fn due(
    readers: &SqlitePool,
    now: Timestamp,
    busy: &[String],
    count_max: u32,
) -> Result<Vec<OutboxRow>, StoreError> {
    let rows = sqlx::query(
        "SELECT * FROM outbox WHERE due <= ?1 AND destination = (
             SELECT destination FROM outbox
             WHERE due <= ?1 AND destination NOT IN (SELECT value FROM json_each(?2))
             ORDER BY due, seq LIMIT 1)
         ORDER BY due, seq LIMIT ?3",
    )
    .bind(now.0)
    .bind(listed(busy))
    .bind(count_max)
    .fetch_all(readers)
    .await
    .map_err(failed_to(READING))?;
    rows.iter().map(event).collect()
}

pub(super) async fn next(
    readers: &SqlitePool,
    busy: &[String],
) -> Result<Option<Timestamp>, StoreError> {
    let row = sqlx::query(
        "SELECT due FROM outbox WHERE destination NOT IN (SELECT value FROM json_each(?))
         ORDER BY due LIMIT 1",
    )
    .bind(listed(busy))
    .fetch_optional(readers)
    .await
    .map_err(failed_to(READING))?;
    row.map(|row| column(&row, "due").map(Timestamp))
        .transpose()
}

pub(super) async fn count(readers: &SqlitePool) -> Result<u64, StoreError> {
    let row = sqlx::query("SELECT COUNT(*) FROM outbox")
        .fetch_one(readers)
        .await;
    let count: i64 = row
        .and_then(|row| row.try_get(0))
        .map_err(failed_to(READING))?;
    Ok(count.unsigned_abs())
}

pub(super) async fn done(
    connection: &mut SqliteConnection,
    ids: &[String],
) -> Result<u64, StoreError> {
    let done = sqlx::query("DELETE FROM outbox WHERE id IN (SELECT value FROM json_each(?))")
        .bind(listed(ids))
        .execute(connection)
        .await
        .map_err(failed_to(WRITING))?;
    Ok(done.rows_affected())
}

pub(super) async fn postpone(
    connection: &mut SqliteConnection,
    destination: &str,
    tried: &[String],
    until: Timestamp,
    expired: Timestamp,
) -> Result<u64, StoreError> {
    let failed = failed_to(WRITING);
    let mut transaction = connection
        .begin_with("BEGIN IMMEDIATE")
        .await
        .map_err(&failed)?;
    let gone = sqlx::query("DELETE FROM outbox WHERE destination = ? AND created <= ?")
        .bind(destination)
        .bind(expired.0)
        .execute(&mut *transaction)
        .await
        .map_err(&failed)?;
    sqlx::query(
        "UPDATE outbox SET n_attempts = n_attempts + 1
         WHERE id IN (SELECT value FROM json_each(?))",
    )
    .bind(listed(tried))
    .execute(&mut *transaction)
    .await
    .map_err(&failed)?;
    sqlx::query("UPDATE outbox SET due = ?1 WHERE destination = ?2 AND due < ?1")
        .bind(until.0)
        .bind(destination)
        .execute(&mut *transaction)
        .await
        .map_err(&failed)?;
    transaction.commit().await.map_err(&failed)?;
    Ok(gone.rows_affected())
}

pub(super) async fn secret(
    readers: &SqlitePool,
    account: &AccountId,
) -> Result<Option<Secret>, StoreError> {
    let row = sqlx::query("SELECT secret FROM webhook_secrets WHERE account = ?")
        .bind(account.as_str())
        .fetch_optional(readers)
        .await
        .map_err(failed_to("read a webhook secret"))?;
    row.map(|row| column::<String>(&row, "secret").map(Secret::from))
        .transpose()
}

/// Keeps a secret unless there is one; returns the one that is kept.
pub(super) async fn keep_secret(
    connection: &mut SqliteConnection,
    account: &AccountId,
    fresh: &Secret,
) -> Result<Secret, StoreError> {
    let row = sqlx::query(
        "INSERT INTO webhook_secrets (account, secret) VALUES (?, ?)
         ON CONFLICT (account) DO UPDATE SET secret = secret RETURNING secret",
    )
    .bind(account.as_str())
    .bind(fresh.expose())
    .fetch_one(connection)
    .await
    .map_err(failed_to("keep a webhook secret"))?;
    column::<String>(&row, "secret").map(Secret::from)
}

/// Puts a secret in place of the one there was.
pub(super) async fn renew_secret(
    connection: &mut SqliteConnection,
    account: &AccountId,
    fresh: &Secret,
) -> Result<Secret, StoreError> {
    let row = sqlx::query(
        "INSERT INTO webhook_secrets (account, secret) VALUES (?, ?)
         ON CONFLICT (account) DO UPDATE SET secret = excluded.secret RETURNING secret",
    )
    .bind(account.as_str())
    .bind(fresh.expose())
    .fetch_one(connection)
    .await
    .map_err(failed_to("keep a webhook secret"))?;
    column::<String>(&row, "secret").map(Secret::from)
}

/// Texts as a JSON list, which SQLite takes as one value.
fn listed(texts: &[String]) -> String {
    serde_json::Value::from(texts).to_string()
}

pub(super) fn event(row: &SqliteRow) -> Result<OutboxRow, StoreError> {
    Ok(OutboxRow {
        id: column(row, "id")?,
        account: AccountId::new(column::<&str>(row, "account")?),
        destination: column(row, "destination")?,
        event: column(row, "event")?,
        body: column(row, "body")?,
        created: Timestamp(column(row, "created")?),
        due: Timestamp(column(row, "due")?),
        n_attempts: column(row, "n_attempts")?,
    })
}
