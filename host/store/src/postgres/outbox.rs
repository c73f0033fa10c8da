//! Undelivered webhook events, and the secrets that sign them.

use sqlx::postgres::{PgConnection, PgPool};

use trawl_model::clock::Timestamp;
use trawl_model::memory::{Held, MemoryKind, PageMemory};
use trawl_model::secret::Secret;

use super::row::{begin, digest, failed_to, text};
use super::{PostgresStore, lists};
use crate::outbox::new_webhook_secret;
use crate::rows::{column, event};
use crate::{
    AccountId, BatchSize, Busy, Channel, DeliveryFailure, EventSummary, OutboxRow, OutboxStore,
    PageRange, Rows, SigningSecrets, StoreError, StoreFuture, WebhookSecrets,
};

const WRITING: &str = "write webhook events";
const READING: &str = "read webhook events";
/// Expired events that one failure of a channel deletes. The next failure deletes more.
const EXPIRED_ROWS_MAX: i64 = 4_096;
const WRITING_SECRET: &str = "write a webhook secret";

impl OutboxStore for PostgresStore {
    fn outbox_push<'a>(&'a self, rows: &'a [OutboxRow]) -> StoreFuture<'a, u64> {
        Box::pin(push(&self.writers, rows))
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
        Box::pin(done(&self.writers, channel, ids, now))
    }

    fn outbox_postpone<'a>(
        &'a self,
        channel: &'a Channel,
        tried: &'a [String],
        failure: &'a DeliveryFailure,
        until: Timestamp,
        expired: Timestamp,
    ) -> StoreFuture<'a, u64> {
        let times = (until, expired);
        Box::pin(postpone(&self.writers, channel, tried, failure, times))
    }

    fn outbox_rows<'a>(
        &'a self,
        account: &'a AccountId,
        range: PageRange,
    ) -> StoreFuture<'a, Rows<EventSummary>> {
        Box::pin(lists::events(self, account, range))
    }
}

impl WebhookSecrets for PostgresStore {
    fn webhook_secret<'a>(&'a self, account: &'a AccountId) -> StoreFuture<'a, Secret> {
        Box::pin(async move {
            if let Some(stored) = secret(&self.readers, account).await? {
                return Ok(stored);
            }
            insert_secret(&self.writers, account, &new_webhook_secret()).await
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
        Box::pin(
            async move { replace_secret(&self.writers, account, &new_webhook_secret(), now).await },
        )
    }
}

async fn push(writers: &PgPool, rows: &[OutboxRow]) -> Result<u64, StoreError> {
    let texts = |of: fn(&OutboxRow) -> &str| -> Vec<&str> { rows.iter().map(of).collect() };
    let digests = rows.iter().map(|row| digest(&[&row.destination]));
    let attempts = rows.iter().map(|row| i64::from(row.n_attempts));
    let done = sqlx::query(
        "INSERT INTO outbox (id, account, digest, destination, event, body, created, due, n_attempts)
         SELECT id, account, digest, destination, event, body, created, due, n_attempts
         FROM UNNEST($1::TEXT[], $2::TEXT[], $3::BYTEA[], $4::TEXT[], $5::TEXT[], $6::TEXT[],
             $7::BIGINT[], $8::BIGINT[], $9::BIGINT[]) WITH ORDINALITY AS new (id, account, digest,
             destination, event, body, created, due, n_attempts, n)
         ORDER BY n ON CONFLICT (id) DO NOTHING",
    )
    .bind(texts(|row| &row.id))
    .bind(texts(|row| row.account.as_str()))
    .bind(digests.collect::<Vec<_>>())
    .bind(texts(|row| &row.destination))
    .bind(texts(|row| &row.event))
    .bind(texts(|row| &row.body))
    .bind(rows.iter().map(|row| row.created.0).collect::<Vec<_>>())
    .bind(rows.iter().map(|row| row.due.0).collect::<Vec<_>>())
    .bind(attempts.collect::<Vec<_>>())
    .execute(writers)
    .await
    .map_err(failed_to(WRITING))?;
    Ok(done.rows_affected())
}

/// What is busy, as three arrays to bind: accounts, and accounts and digests of channels.
fn busy_arrays(busy: &Busy) -> (Vec<String>, Vec<String>, Vec<Vec<u8>>) {
    let accounts = busy.accounts.iter().map(AccountId::to_string).collect();
    let channels = busy.channels.iter();
    let (owners, digests) = channels
        .map(|channel| (channel.account.to_string(), digest_of(channel)))
        .unzip();
    (accounts, owners, digests)
}

fn digest_of(channel: &Channel) -> Vec<u8> {
    digest(&[&channel.destination])
}

async fn due(readers: &PgPool, now: Timestamp, busy: &Busy) -> Result<Option<Channel>, StoreError> {
    let (accounts, owners, digests) = busy_arrays(busy);
    // Channels and not events are searched: one that is postponed may have very many.
    let channel: Option<(String, String)> = sqlx::query_as(
        "SELECT account, destination FROM outbox_channels AS channel
         WHERE due <= $1 AND account <> ALL($2) AND NOT EXISTS
             (SELECT 1 FROM UNNEST($3::TEXT[], $4::BYTEA[]) AS busy (account, digest)
              WHERE busy.account = channel.account AND busy.digest = channel.digest)
         ORDER BY due LIMIT 1",
    )
    .bind(now.0)
    .bind(accounts)
    .bind(owners)
    .bind(digests)
    .fetch_optional(readers)
    .await
    .map_err(failed_to(READING))?;
    Ok(channel.map(|(account, destination)| Channel {
        account: AccountId::new(account),
        destination,
    }))
}

async fn batch(
    readers: &PgPool,
    channel: &Channel,
    size: BatchSize,
    memory: &PageMemory,
) -> Result<Held<Vec<OutboxRow>>, StoreError> {
    let failed = failed_to(READING);
    // The bodies are not sent for their lengths.
    let lengths: Vec<(i64, i64)> = sqlx::query_as(
        "SELECT seq, octet_length(body)::BIGINT FROM outbox WHERE account = $1 AND digest = $2
         ORDER BY seq LIMIT $3",
    )
    .bind(channel.account.as_str())
    .bind(digest_of(channel))
    .bind(i64::from(size.events))
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
         FROM outbox JOIN outbox_channels AS channel USING (account, digest)
         WHERE account = $1 AND digest = $2 AND seq <= $3 ORDER BY seq",
    )
    .bind(channel.account.as_str())
    .bind(digest_of(channel))
    .bind(last)
    .fetch_all(readers)
    .await
    .map_err(&failed)?;
    let events = rows.iter().map(event).collect::<Result<_, _>>()?;
    drop(rows);
    lease.shrink_to(bytes);
    Ok(lease.hold_value(events))
}

async fn next(readers: &PgPool, busy: &Busy) -> Result<Option<Timestamp>, StoreError> {
    let (accounts, owners, digests) = busy_arrays(busy);
    let due: Option<i64> = sqlx::query_scalar(
        "SELECT due FROM outbox_channels AS channel
         WHERE account <> ALL($1) AND NOT EXISTS
             (SELECT 1 FROM UNNEST($2::TEXT[], $3::BYTEA[]) AS busy (account, digest)
              WHERE busy.account = channel.account AND busy.digest = channel.digest)
         ORDER BY due LIMIT 1",
    )
    .bind(accounts)
    .bind(owners)
    .bind(digests)
    .fetch_optional(readers)
    .await
    .map_err(failed_to(READING))?;
    Ok(due.map(Timestamp))
}

async fn oldest(readers: &PgPool) -> Result<Option<Timestamp>, StoreError> {
    let row = sqlx::query("SELECT created FROM outbox ORDER BY seq LIMIT 1")
        .fetch_optional(readers)
        .await
        .map_err(failed_to(READING))?;
    row.map(|row| column(&row, "created").map(Timestamp))
        .transpose()
}

async fn count(readers: &PgPool) -> Result<u64, StoreError> {
    let count: i64 =
        sqlx::query_scalar("SELECT COALESCE(SUM(n_events), 0)::BIGINT FROM account_totals")
            .fetch_one(readers)
            .await
            .map_err(failed_to(READING))?;
    Ok(count.unsigned_abs())
}

/// Locks a channel before its events, as every writer does that deletes some of them.
async fn lock(connection: &mut PgConnection, channel: &Channel) -> Result<(), StoreError> {
    sqlx::query("SELECT 1 FROM outbox_channels WHERE account = $1 AND digest = $2 FOR UPDATE")
        .bind(channel.account.as_str())
        .bind(digest_of(channel))
        .execute(connection)
        .await
        .map_err(failed_to(WRITING))
        .map(drop)
}

async fn done(
    writers: &PgPool,
    channel: &Channel,
    ids: &[String],
    now: Timestamp,
) -> Result<u64, StoreError> {
    let failed = failed_to(WRITING);
    let mut transaction = begin(writers, WRITING).await?;
    lock(&mut transaction, channel).await?;
    let done = sqlx::query("DELETE FROM outbox WHERE id = ANY($1)")
        .bind(ids)
        .execute(&mut *transaction)
        .await
        .map_err(&failed)?;
    // Unless it is due later.
    sqlx::query(
        "UPDATE outbox_channels SET due = GREATEST(due, $1) WHERE account = $2 AND digest = $3",
    )
    .bind(now.0)
    .bind(channel.account.as_str())
    .bind(digest_of(channel))
    .execute(&mut *transaction)
    .await
    .map_err(&failed)?;
    transaction.commit().await.map_err(&failed)?;
    Ok(done.rows_affected())
}

async fn postpone(
    writers: &PgPool,
    channel: &Channel,
    tried: &[String],
    failure: &DeliveryFailure,
    (until, expired): (Timestamp, Timestamp),
) -> Result<u64, StoreError> {
    let failed = failed_to(WRITING);
    let mut transaction = begin(writers, WRITING).await?;
    lock(&mut transaction, channel).await?;
    let deleted = sqlx::query(
        "DELETE FROM outbox WHERE seq IN (SELECT seq FROM outbox
             WHERE account = $1 AND digest = $2 AND created <= $3 LIMIT $4)",
    )
    .bind(channel.account.as_str())
    .bind(digest_of(channel))
    .bind(expired.0)
    .bind(EXPIRED_ROWS_MAX)
    .execute(&mut *transaction)
    .await
    .map_err(&failed)?;
    sqlx::query("UPDATE outbox SET n_attempts = n_attempts + 1 WHERE id = ANY($1)")
        .bind(tried)
        .execute(&mut *transaction)
        .await
        .map_err(&failed)?;
    sqlx::query(
        "UPDATE outbox_channels SET due = GREATEST(due, $1), last_error = $2, last_failed = $3
         WHERE account = $4 AND digest = $5",
    )
    .bind(until.0)
    .bind(text(&failure.reason))
    .bind(failure.at.0)
    .bind(channel.account.as_str())
    .bind(digest_of(channel))
    .execute(&mut *transaction)
    .await
    .map_err(&failed)?;
    transaction.commit().await.map_err(&failed)?;
    Ok(deleted.rows_affected())
}

async fn secret(readers: &PgPool, account: &AccountId) -> Result<Option<Secret>, StoreError> {
    let row = sqlx::query("SELECT secret FROM webhook_secrets WHERE account = $1")
        .bind(account.as_str())
        .fetch_optional(readers)
        .await
        .map_err(failed_to("read a webhook secret"))?;
    row.map(|row| column::<String>(&row, "secret").map(Secret::from))
        .transpose()
}

/// The secret, and the one that it replaced after `since`.
async fn stored_secrets(
    readers: &PgPool,
    account: &AccountId,
    since: Timestamp,
) -> Result<Option<SigningSecrets>, StoreError> {
    let row = sqlx::query(
        "SELECT secret, CASE WHEN renewed > $1 THEN previous END AS previous
         FROM webhook_secrets WHERE account = $2",
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
    writers: &PgPool,
    account: &AccountId,
    fresh: &Secret,
) -> Result<Secret, StoreError> {
    let row = sqlx::query(
        "INSERT INTO webhook_secrets (account, secret) VALUES ($1, $2)
         ON CONFLICT (account) DO UPDATE SET secret = webhook_secrets.secret
         RETURNING secret",
    )
    .bind(account.as_str())
    .bind(fresh.expose())
    .fetch_one(writers)
    .await
    .map_err(failed_to(WRITING_SECRET))?;
    column::<String>(&row, "secret").map(Secret::from)
}

/// Replaces the stored secret, and keeps it as the previous one.
async fn replace_secret(
    writers: &PgPool,
    account: &AccountId,
    fresh: &Secret,
    now: Timestamp,
) -> Result<Secret, StoreError> {
    let row = sqlx::query(
        "INSERT INTO webhook_secrets (account, secret) VALUES ($1, $2)
         ON CONFLICT (account) DO UPDATE
         SET previous = webhook_secrets.secret, renewed = $3, secret = excluded.secret RETURNING secret",
    )
    .bind(account.as_str())
    .bind(fresh.expose())
    .bind(now.0)
    .fetch_one(writers)
    .await
    .map_err(failed_to(WRITING_SECRET))?;
    column::<String>(&row, "secret").map(Secret::from)
}
