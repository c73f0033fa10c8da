//! Undelivered webhook events, and the secrets that sign them.

use sqlx::Row;
use sqlx::sqlite::{SqliteConnection, SqlitePool};

use trawl_model::clock::Timestamp;
use trawl_model::memory::{Held, MemoryKind, PageMemory};
use trawl_model::secret::Secret;

use super::row::{begin, failed_to};
use super::{SqliteStore, lists};
use crate::outbox::new_webhook_secret;
use crate::rows::{column, event};
use crate::{
    AccountId, BatchSize, Busy, Channel, DeliveryFailure, EventSummary, OutboxRow, OutboxStore,
    PageRange, Rows, SigningSecrets, StoreError, StoreFuture, WebhookSecrets,
};

const WRITING: &str = "write webhook events";
const READING: &str = "read webhook events";
/// Expired events that one failure of a channel deletes: billing waits for the write connection
/// meanwhile. The next failure deletes more.
const EXPIRED_ROWS_MAX: u32 = 4_096;
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
        busy: &'a Busy,
    ) -> StoreFuture<'a, Option<Channel>> {
        Box::pin(due(&self.readers, now, busy))
    }

    fn outbox_batch<'a>(
        &'a self,
        channel: &'a Channel,
        size: BatchSize,
        memory: &'a PageMemory,
    ) -> StoreFuture<'a, Held<Vec<OutboxRow>>> {
        Box::pin(batch(&self.readers, channel, size, memory))
    }

    fn outbox_next<'a>(&'a self, busy: &'a Busy) -> StoreFuture<'a, Option<Timestamp>> {
        Box::pin(next(&self.readers, busy))
    }

    fn outbox_oldest(&self) -> StoreFuture<'_, Option<Timestamp>> {
        Box::pin(oldest(&self.readers))
    }

    fn outbox_count(&self) -> StoreFuture<'_, u64> {
        Box::pin(count(&self.readers))
    }

    fn outbox_done<'a>(
        &'a self,
        channel: &'a Channel,
        ids: &'a [String],
        now: Timestamp,
    ) -> StoreFuture<'a, u64> {
        Box::pin(async move {
            let mut writer = self.writer().await?;
            done(writer.connection(), channel, ids, now).await
        })
    }

    fn outbox_postpone<'a>(
        &'a self,
        channel: &'a Channel,
        tried: &'a [String],
        failure: &'a DeliveryFailure,
        until: Timestamp,
        expired: Timestamp,
    ) -> StoreFuture<'a, u64> {
        Box::pin(async move {
            let mut writer = self.writer().await?;
            let times = (until, expired);
            postpone(writer.connection(), channel, tried, failure, times).await
        })
    }

    fn outbox_rows<'a>(
        &'a self,
        account: &'a AccountId,
        range: PageRange,
    ) -> StoreFuture<'a, Rows<EventSummary>> {
        Box::pin(lists::events(self, account, range))
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

    fn signing_secrets<'a>(
        &'a self,
        account: &'a AccountId,
        since: Timestamp,
    ) -> StoreFuture<'a, SigningSecrets> {
        Box::pin(async move {
            if let Some(stored) = stored_secrets(&self.readers, account, since).await? {
                return Ok(stored);
            }
            let current = self.webhook_secret(account).await?;
            Ok(SigningSecrets {
                current,
                previous: None,
            })
        })
    }

    fn renew_webhook_secret<'a>(
        &'a self,
        account: &'a AccountId,
        now: Timestamp,
    ) -> StoreFuture<'a, Secret> {
        Box::pin(async move {
            let mut writer = self.writer().await?;
            replace_secret(writer.connection(), account, &new_webhook_secret(), now).await
        })
    }
}

async fn push(connection: &mut SqliteConnection, rows: &[OutboxRow]) -> Result<u64, StoreError> {
    let failed = failed_to(WRITING);
    let mut transaction = begin(connection, WRITING).await?;
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
    busy: &Busy,
) -> Result<Option<Channel>, StoreError> {
    // Channels and not events are searched: one that is postponed may have very many.
    let channel: Option<(String, String)> = sqlx::query_as(
        "SELECT account, destination FROM outbox_channels
         WHERE due <= ? AND account NOT IN (SELECT value FROM json_each(?))
           AND account || ' ' || destination NOT IN (SELECT value FROM json_each(?))
         ORDER BY due LIMIT 1",
    )
    .bind(now.0)
    .bind(busy_accounts(busy))
    .bind(busy_channels(busy))
    .fetch_optional(readers)
    .await
    .map_err(failed_to(READING))?;
    Ok(channel.map(|(account, destination)| Channel {
        account: AccountId::new(account),
        destination,
    }))
}

async fn batch(
    readers: &SqlitePool,
    channel: &Channel,
    size: BatchSize,
    memory: &PageMemory,
) -> Result<Held<Vec<OutboxRow>>, StoreError> {
    let failed = failed_to(READING);
    // Lengths are in the heads of the rows: the bodies are not read for them.
    let lengths: Vec<(i64, i64)> = sqlx::query_as(
        "SELECT seq, octet_length(body) FROM outbox WHERE account = ? AND destination = ?
         ORDER BY seq LIMIT ?",
    )
    .bind(channel.account.as_str())
    .bind(channel.destination.as_str())
    .bind(size.events)
    .fetch_all(readers)
    .await
    .map_err(&failed)?;
    let mut lease = memory.lease_for(MemoryKind::Webhooks);
    let Some((last, bytes)) = size.window(&lengths) else {
        return Ok(lease.hold_value(Vec::new()));
    };
    // Twice: bodies are copied out of their rows.
    lease.grow_to(2 * bytes).await?;
    let rows = sqlx::query(
        "SELECT outbox.*, channel.due AS channel_due, channel.last_error, channel.last_failed
         FROM outbox JOIN outbox_channels AS channel USING (account, destination)
         WHERE account = ? AND destination = ? AND seq <= ? ORDER BY seq",
    )
    .bind(channel.account.as_str())
    .bind(channel.destination.as_str())
    .bind(last)
    .fetch_all(readers)
    .await
    .map_err(&failed)?;
    let events = rows.iter().map(event).collect::<Result<_, _>>()?;
    drop(rows);
    lease.shrink_to(bytes);
    Ok(lease.hold_value(events))
}

async fn next(readers: &SqlitePool, busy: &Busy) -> Result<Option<Timestamp>, StoreError> {
    let row = sqlx::query(
        "SELECT due FROM outbox_channels WHERE account NOT IN (SELECT value FROM json_each(?))
           AND account || ' ' || destination NOT IN (SELECT value FROM json_each(?))
         ORDER BY due LIMIT 1",
    )
    .bind(busy_accounts(busy))
    .bind(busy_channels(busy))
    .fetch_optional(readers)
    .await
    .map_err(failed_to(READING))?;
    row.map(|row| column(&row, "due").map(Timestamp))
        .transpose()
}

fn busy_accounts(busy: &Busy) -> String {
    let accounts = busy.accounts.iter().map(AccountId::to_string);
    json_list(&accounts.collect::<Vec<_>>())
}

/// Channels as one text each; identifiers of accounts contain no space.
fn busy_channels(busy: &Busy) -> String {
    let name = |channel: &Channel| format!("{} {}", channel.account, channel.destination);
    json_list(&busy.channels.iter().map(name).collect::<Vec<_>>())
}

async fn oldest(readers: &SqlitePool) -> Result<Option<Timestamp>, StoreError> {
    let row = sqlx::query("SELECT created FROM outbox ORDER BY seq LIMIT 1")
        .fetch_optional(readers)
        .await
        .map_err(failed_to(READING))?;
    row.map(|row| column(&row, "created").map(Timestamp))
        .transpose()
}

async fn count(readers: &SqlitePool) -> Result<u64, StoreError> {
    let row = sqlx::query("SELECT COALESCE(SUM(n_events), 0) FROM account_totals")
        .fetch_one(readers)
        .await;
    let count: i64 = row
        .and_then(|row| row.try_get(0))
        .map_err(failed_to(READING))?;
    Ok(count.unsigned_abs())
}

async fn done(
    connection: &mut SqliteConnection,
    channel: &Channel,
    ids: &[String],
    now: Timestamp,
) -> Result<u64, StoreError> {
    let failed = failed_to(WRITING);
    let mut transaction = begin(connection, WRITING).await?;
    let done = sqlx::query("DELETE FROM outbox WHERE id IN (SELECT value FROM json_each(?))")
        .bind(json_list(ids))
        .execute(&mut *transaction)
        .await
        .map_err(&failed)?;
    delay(&mut transaction, channel, now).await?;
    transaction.commit().await.map_err(&failed)?;
    Ok(done.rows_affected())
}

/// Makes a channel due at a time, unless it is due later.
async fn delay(
    connection: &mut SqliteConnection,
    channel: &Channel,
    until: Timestamp,
) -> Result<(), StoreError> {
    sqlx::query(
        "UPDATE outbox_channels SET due = ?1 WHERE account = ?2 AND destination = ?3 AND due < ?1",
    )
    .bind(until.0)
    .bind(channel.account.as_str())
    .bind(channel.destination.as_str())
    .execute(connection)
    .await
    .map_err(failed_to(WRITING))
    .map(drop)
}

async fn postpone(
    connection: &mut SqliteConnection,
    channel: &Channel,
    tried: &[String],
    failure: &DeliveryFailure,
    (until, expired): (Timestamp, Timestamp),
) -> Result<u64, StoreError> {
    let failed = failed_to(WRITING);
    let mut transaction = begin(connection, WRITING).await?;
    let deleted = sqlx::query(
        "DELETE FROM outbox WHERE seq IN (SELECT seq FROM outbox
             WHERE account = ? AND destination = ? AND created <= ? LIMIT ?)",
    )
    .bind(channel.account.as_str())
    .bind(channel.destination.as_str())
    .bind(expired.0)
    .bind(EXPIRED_ROWS_MAX)
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
    delay(&mut transaction, channel, until).await?;
    set_failure(&mut transaction, channel, failure).await?;
    transaction.commit().await.map_err(&failed)?;
    Ok(deleted.rows_affected())
}

async fn set_failure(
    connection: &mut SqliteConnection,
    channel: &Channel,
    failure: &DeliveryFailure,
) -> Result<(), StoreError> {
    sqlx::query(
        "UPDATE outbox_channels SET last_error = ?, last_failed = ?
         WHERE account = ? AND destination = ?",
    )
    .bind(failure.reason.as_str())
    .bind(failure.at.0)
    .bind(channel.account.as_str())
    .bind(channel.destination.as_str())
    .execute(connection)
    .await
    .map(drop)
    .map_err(failed_to(WRITING))
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

/// The secret, and the one that it replaced after `since`.
async fn stored_secrets(
    readers: &SqlitePool,
    account: &AccountId,
    since: Timestamp,
) -> Result<Option<SigningSecrets>, StoreError> {
    let row = sqlx::query(
        "SELECT secret, CASE WHEN renewed > ? THEN previous END AS previous
         FROM webhook_secrets WHERE account = ?",
    )
    .bind(since.0)
    .bind(account.as_str())
    .fetch_optional(readers)
    .await
    .map_err(failed_to("read the webhook secrets"))?;
    let Some(row) = row else {
        return Ok(None);
    };
    let previous: Option<String> = column(&row, "previous")?;
    Ok(Some(SigningSecrets {
        current: column::<String>(&row, "secret").map(Secret::from)?,
        previous: previous.map(Secret::from),
    }))
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

/// Replaces the stored secret, and keeps it as the previous one.
async fn replace_secret(
    connection: &mut SqliteConnection,
    account: &AccountId,
    fresh: &Secret,
    now: Timestamp,
) -> Result<Secret, StoreError> {
    let row = sqlx::query(
        "INSERT INTO webhook_secrets (account, secret) VALUES (?, ?)
         ON CONFLICT (account) DO UPDATE
         SET previous = secret, renewed = ?, secret = excluded.secret RETURNING secret",
    )
    .bind(account.as_str())
    .bind(fresh.expose())
    .bind(now.0)
    .fetch_one(connection)
    .await
    .map_err(failed_to(WRITING_SECRET))?;
    column::<String>(&row, "secret").map(Secret::from)
}

/// Strings as a JSON array, which can be bound as one value.
fn json_list(texts: &[String]) -> String {
    serde_json::Value::from(texts).to_string()
}
