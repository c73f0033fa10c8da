//! Undelivered webhook events, and the secrets that sign them.

use sqlx::sqlite::{SqliteConnection, SqlitePool, SqliteRow};
use sqlx::{Connection, Row};

use trawl_model::clock::Timestamp;
use trawl_model::secret::Secret;

use super::SqliteStore;
use super::row::{column, failed_to, signed};
use crate::outbox::new_webhook_secret;
use crate::{
    AccountId, OutboxRow, OutboxStore, PageRange, Rows, StoreError, StoreFuture, WebhookSecrets,
};

const WRITING: &str = "write webhook events";
const READING: &str = "read webhook events";
const WRITING_SECRET: &str = "write a webhook secret";

impl OutboxStore for SqliteStore {
    fn outbox_push<'a>(&'a self, rows: &'a [OutboxRow]) -> StoreFuture<'a, u64> {
        Box::pin(async move {
            let mut writer = self.writer().await?;
            push(writer.connection(), rows).await
        })
    }

    fn outbox_due<'a>(
        &'a self,
        now: Timestamp,
        busy: &'a [String],
        count_max: u32,
    ) -> StoreFuture<'a, Vec<OutboxRow>> {
        Box::pin(due(&self.readers, now, busy, count_max))
    }

    fn outbox_next<'a>(&'a self, busy: &'a [String]) -> StoreFuture<'a, Option<Timestamp>> {
        Box::pin(next(&self.readers, busy))
    }

    fn outbox_count(&self) -> StoreFuture<'_, u64> {
        Box::pin(count(&self.readers))
    }

    fn outbox_done<'a>(&'a self, ids: &'a [String]) -> StoreFuture<'a, u64> {
        Box::pin(async move {
            let mut writer = self.writer().await?;
            done(writer.connection(), ids).await
        })
    }

    fn outbox_postpone<'a>(
        &'a self,
        destination: &'a str,
        tried: &'a [String],
        until: Timestamp,
        expired: Timestamp,
    ) -> StoreFuture<'a, u64> {
        Box::pin(async move {
            let mut writer = self.writer().await?;
            postpone(writer.connection(), destination, tried, until, expired).await
        })
    }

    fn outbox_rows<'a>(
        &'a self,
        account: &'a AccountId,
        range: PageRange,
    ) -> StoreFuture<'a, Rows<OutboxRow>> {
        Box::pin(list(&self.readers, account, range))
    }
}

impl WebhookSecrets for SqliteStore {
    fn webhook_secret<'a>(&'a self, account: &'a AccountId) -> StoreFuture<'a, Secret> {
        Box::pin(async move {
            if let Some(stored) = secret(&self.readers, account).await? {
                return Ok(stored);
            }
            let mut writer = self.writer().await?;
            insert_secret(writer.connection(), account, &new_webhook_secret()).await
        })
    }

    fn renew_webhook_secret<'a>(&'a self, account: &'a AccountId) -> StoreFuture<'a, Secret> {
        Box::pin(async move {
            let mut writer = self.writer().await?;
            replace_secret(writer.connection(), account, &new_webhook_secret()).await
        })
    }
}

async fn push(connection: &mut SqliteConnection, rows: &[OutboxRow]) -> Result<u64, StoreError> {
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

async fn due(
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
    .bind(json_list(busy))
    .bind(count_max)
    .fetch_all(readers)
    .await
    .map_err(failed_to(READING))?;
    rows.iter().map(event).collect()
}

async fn next(readers: &SqlitePool, busy: &[String]) -> Result<Option<Timestamp>, StoreError> {
    let row = sqlx::query(
        "SELECT due FROM outbox WHERE destination NOT IN (SELECT value FROM json_each(?))
         ORDER BY due LIMIT 1",
    )
    .bind(json_list(busy))
    .fetch_optional(readers)
    .await
    .map_err(failed_to(READING))?;
    row.map(|row| column(&row, "due").map(Timestamp))
        .transpose()
}

async fn count(readers: &SqlitePool) -> Result<u64, StoreError> {
    let row = sqlx::query("SELECT COUNT(*) FROM outbox")
        .fetch_one(readers)
        .await;
    let count: i64 = row
        .and_then(|row| row.try_get(0))
        .map_err(failed_to(READING))?;
    Ok(count.unsigned_abs())
}

async fn done(connection: &mut SqliteConnection, ids: &[String]) -> Result<u64, StoreError> {
    let done = sqlx::query("DELETE FROM outbox WHERE id IN (SELECT value FROM json_each(?))")
        .bind(json_list(ids))
        .execute(connection)
        .await
        .map_err(failed_to(WRITING))?;
    Ok(done.rows_affected())
}

async fn postpone(
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
    let deleted = sqlx::query("DELETE FROM outbox WHERE destination = ? AND created <= ?")
        .bind(destination)
        .bind(expired.0)
        .execute(&mut *transaction)
        .await
        .map_err(&failed)?;
    sqlx::query(
        "UPDATE outbox SET n_attempts = n_attempts + 1
         WHERE id IN (SELECT value FROM json_each(?))",
    )
    .bind(json_list(tried))
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
    Ok(deleted.rows_affected())
}

async fn list(
    readers: &SqlitePool,
    account: &AccountId,
    range: PageRange,
) -> Result<Rows<OutboxRow>, StoreError> {
    let failed = failed_to(READING);
    let count: i64 = sqlx::query_scalar("SELECT COUNT(*) FROM outbox WHERE account = ?")
        .bind(account.as_str())
        .fetch_one(readers)
        .await
        .map_err(&failed)?;
    let rows = sqlx::query("SELECT * FROM outbox WHERE account = ? ORDER BY seq LIMIT ? OFFSET ?")
        .bind(account.as_str())
        .bind(range.limit)
        .bind(signed(range.offset))
        .fetch_all(readers)
        .await
        .map_err(&failed)?;
    let count = count.unsigned_abs();
    let rows = rows.iter().map(event).collect::<Result<_, _>>()?;
    Ok(Rows { rows, count })
}

async fn secret(readers: &SqlitePool, account: &AccountId) -> Result<Option<Secret>, StoreError> {
    let row = sqlx::query("SELECT secret FROM webhook_secrets WHERE account = ?")
        .bind(account.as_str())
        .fetch_optional(readers)
        .await
        .map_err(failed_to("read a webhook secret"))?;
    row.map(|row| column::<String>(&row, "secret").map(Secret::from))
        .transpose()
}

/// Inserts a secret unless one exists; returns the stored one.
async fn insert_secret(
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
    .map_err(failed_to(WRITING_SECRET))?;
    column::<String>(&row, "secret").map(Secret::from)
}

/// Replaces the stored secret.
async fn replace_secret(
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
    .map_err(failed_to(WRITING_SECRET))?;
    column::<String>(&row, "secret").map(Secret::from)
}

/// Strings as a JSON array, which can be bound as one value.
fn json_list(texts: &[String]) -> String {
    serde_json::Value::from(texts).to_string()
}

fn event(row: &SqliteRow) -> Result<OutboxRow, StoreError> {
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
