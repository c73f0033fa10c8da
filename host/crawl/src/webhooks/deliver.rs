//! Delivery of due events, destination by destination, until they are acknowledged or too old.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt};
use http::header::{AUTHORIZATION, CONTENT_TYPE, USER_AGENT};
use http::{HeaderName, HeaderValue, Method};
use tokio::task::{self, JoinSet};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use url::Url;

use trawl_model::clock::Timestamp;
use trawl_model::memory::{Held, MemoryBudget, MemoryShare};
use trawl_model::redact::without_userinfo;
use trawl_net::egress::{Egress, Route, traced};
use trawl_plan::address::basic_authorization;
use trawl_store::{
    AccountId, BatchSize, Busy, Channel, DeliveryFailure, OutboxRow, SigningSecrets, StoreError,
};

use super::deliveries::{Answer, Delivery};
use super::outbox::{AGE_MAX, Webhooks, log_dropped};
use super::sign::{signature, standard_signature};

/// Timeout of a request. Receivers should acknowledge an event first and process it later.
pub const ANSWER_TIME_MAX: Duration = Duration::from_secs(15);
/// Channels (destinations of an account) that are served at once. Up to this many, a slow one does
/// not delay the others.
const CHANNELS_MAX: usize = 64;
/// Channels of one account that are served at once, so that its slow destinations leave most of
/// [`CHANNELS_MAX`] to others.
const ACCOUNT_CHANNELS_MAX: usize = 8;
/// How long a batch may send before it ends: a destination that answers slowly has a slot for this
/// time at most, and for one answer. Then other channels are served first (round robin).
const BATCH_TIME_MAX: Duration = Duration::from_secs(15);
/// Events of one destination in one batch. By bytes, because an event may have a megabyte, and an
/// account eight batches.
const BATCH: BatchSize = BatchSize {
    events: 64,
    bytes: 1 << 20,
};
/// Requests to one destination at once.
const REQUESTS_MAX: usize = 4;
/// Most bytes of a response that are read before the connection is closed.
const RESPONSE_BYTES_MAX: u64 = 8 * 1024;
/// Most bytes of a response that are remembered.
const ANSWER_BYTES_MAX: usize = 1024;
/// Backoff after the first failure of a destination; it doubles with each further one.
const BACKOFF_FIRST: Duration = Duration::from_secs(5);
/// Longest backoff.
const BACKOFF_MAX: Duration = Duration::from_secs(60 * 60);
/// Longest sleep between two looks at the outbox: the wall clock may be changed meanwhile.
const SLEEP_MAX: Duration = Duration::from_secs(60);
/// Most characters of the reason of a failure that are stored.
const REASON_CHARS_MAX: usize = 300;
/// Delay after a failure of the store.
const STORE_RETRY_DELAY: Duration = Duration::from_secs(1);

const EVENT: HeaderName = HeaderName::from_static("x-trawl-event");
const EVENT_ID: HeaderName = HeaderName::from_static("x-trawl-event-id");
const SIGNATURE: HeaderName = HeaderName::from_static("x-trawl-signature");
const STANDARD_ID: HeaderName = HeaderName::from_static("webhook-id");
const STANDARD_TIME: HeaderName = HeaderName::from_static("webhook-timestamp");
const STANDARD_SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");

impl Webhooks {
    /// Delivers events until `stop`. Events in flight at that time are sent again after the next
    /// start.
    /// Events take from their accounts' shares of `memory` before they are read.
    pub async fn run(
        self: Arc<Self>,
        egress: Arc<Egress>,
        memory: Arc<MemoryBudget>,
        stop: CancellationToken,
    ) {
        match self.store.outbox_count().await {
            Ok(count) => self.waiting.store(count, Relaxed),
            Err(error) => tracing::error!(error = %error, "could not count webhook events"),
        }
        let delivering = Arc::clone(&self).deliver(egress, memory);
        stop.run_until_cancelled(delivering).await;
    }

    async fn deliver(self: Arc<Self>, egress: Arc<Egress>, memory: Arc<MemoryBudget>) {
        // A batch is a task of its own, so that it makes progress while this loop waits for the
        // store.
        let mut batches = JoinSet::new();
        let mut busy: HashMap<task::Id, Channel> = HashMap::new();
        loop {
            let mut idle = SLEEP_MAX;
            while busy.len() < CHANNELS_MAX {
                match self.next_channel(busy.values()).await {
                    Ok(None) => {
                        let busy = busy_with(busy.values(), ACCOUNT_CHANNELS_MAX);
                        idle = self.until_next(&busy).await;
                        break;
                    }
                    Ok(Some(channel)) => {
                        let (hooks, egress) = (Arc::clone(&self), Arc::clone(&egress));
                        let share = memory.share(channel.account.as_str());
                        let of_batch = channel.clone();
                        let batch = batches
                            .spawn(async move { hooks.batch(&egress, &of_batch, &share).await });
                        busy.insert(batch.id(), channel);
                    }
                    Err(error) => {
                        tracing::error!(error = %error, "could not read webhook events");
                        idle = STORE_RETRY_DELAY;
                        break;
                    }
                }
            }
            tokio::select! {
                Some(ended) = batches.join_next_with_id() => {
                    let id = match ended {
                        Ok((id, ())) => id,
                        Err(error) => {
                            tracing::error!("the task of a batch of webhook events panicked");
                            error.id()
                        }
                    };
                    busy.remove(&id);
                }
                () = self.wake.notified() => {}
                () = sleep(idle) => {}
            }
        }
    }

    /// The next channel to serve: one of an account with nothing in flight comes first.
    async fn next_channel<'a>(
        &self,
        busy: impl Iterator<Item = &'a Channel> + Clone,
    ) -> Result<Option<Channel>, StoreError> {
        let now = self.clock.now();
        let idle_accounts = busy_with(busy.clone(), 1);
        let channel = self.store.outbox_due(now, &idle_accounts).await?;
        if channel.is_some() || idle_accounts.accounts.is_empty() {
            return Ok(channel);
        }
        let busy = busy_with(busy, ACCOUNT_CHANNELS_MAX);
        self.store.outbox_due(now, &busy).await
    }

    /// How long until the next event is due.
    async fn until_next(&self, busy: &Busy) -> Duration {
        match self.store.outbox_next(busy).await {
            Ok(Some(due)) => {
                let millis = due.0.saturating_sub(self.clock.now().0);
                Duration::from_millis(u64::try_from(millis).unwrap_or(0)).min(SLEEP_MAX)
            }
            Ok(None) => SLEEP_MAX,
            Err(_) => STORE_RETRY_DELAY,
        }
    }

    /// Reads the oldest events of a channel, once there is memory for them, and sends them.
    async fn batch(&self, egress: &Egress, channel: &Channel, share: &MemoryShare) {
        let memory = share.page();
        match self.store.outbox_batch(channel, BATCH, &memory).await {
            Ok(batch) if !batch.is_empty() => self.send_batch(egress, channel, batch).await,
            Ok(_none) => sleep(STORE_RETRY_DELAY).await,
            Err(StoreError::Memory(error)) => {
                tracing::debug!(account = %channel.account, error = %error, "webhook events wait");
                let behind = self.store.outbox_done(channel, &[], self.clock.now()).await;
                if let Err(error) = behind {
                    tracing::error!(error = %error, "could not move a channel of webhook events");
                }
            }
            Err(error) => {
                tracing::error!(error = %error, "could not read webhook events");
                sleep(STORE_RETRY_DELAY).await;
            }
        }
    }

    /// Sends events of one destination until one fails.
    async fn send_batch(&self, egress: &Egress, channel: &Channel, batch: Held<Vec<OutboxRow>>) {
        let (rows, _lease) = batch.into_parts();
        let ends = Instant::now() + BATCH_TIME_MAX;
        let (mut delivered, mut failed) = (Vec::new(), Vec::new());
        let (mut attempts, mut failure) = (0, None);
        {
            let mut waiting = rows.into_iter();
            let mut sending = FuturesUnordered::new();
            loop {
                while sending.len() < REQUESTS_MAX && failed.is_empty() && Instant::now() < ends {
                    let Some(row) = waiting.next() else { break };
                    sending.push(self.send(egress, row));
                }
                match sending.next().await {
                    Some((row, Ok(()))) => delivered.push(row.id),
                    Some((row, Err(reason))) => {
                        tracing::debug!(
                            webhook.id = row.id,
                            reason,
                            "a webhook event was not delivered"
                        );
                        attempts = attempts.max(row.n_attempts);
                        failed.push(row.id);
                        failure.get_or_insert(reason);
                    }
                    None => break,
                }
            }
        }
        let stored = self.store_outcome(channel, &delivered, &failed, attempts, failure);
        if let Err(error) = stored.await {
            // Delivered events will be sent again, which at-least-once delivery allows.
            tracing::error!(error = %error, "could not store the outcome of webhook events");
            sleep(STORE_RETRY_DELAY).await;
        }
    }

    /// Removes delivered events and moves the channel behind the others that are due; after a
    /// failure, which has a reason, postpones it.
    async fn store_outcome(
        &self,
        channel: &Channel,
        delivered: &[String],
        failed: &[String],
        attempts: u32,
        reason: Option<String>,
    ) -> Result<(), StoreError> {
        if !delivered.is_empty() {
            let now = self.clock.now();
            let gone = self.store.outbox_done(channel, delivered, now).await?;
            self.subtract(gone);
            metrics::counter!("trawl_webhooks_total", "outcome" => "delivered").increment(gone);
        }
        if let Some(reason) = reason {
            let now = self.clock.now();
            let failure = DeliveryFailure {
                reason: reason.chars().take(REASON_CHARS_MAX).collect(),
                at: now,
            };
            let (until, expired) = (after(now, backoff(attempts)), now.before(AGE_MAX));
            let postponed = self
                .store
                .outbox_postpone(channel, failed, &failure, until, expired);
            let gone = postponed.await?;
            metrics::counter!("trawl_webhooks_total", "outcome" => "failed")
                .increment(failed.len() as u64);
            if gone > 0 {
                self.subtract(gone);
                log_dropped(gone, "they could not be delivered for a day");
            }
        }
        Ok(())
    }

    /// Subtracts from the number of waiting events, which is approximate and stops at zero.
    fn subtract(&self, count: u64) {
        let less = |waiting: u64| Some(waiting.saturating_sub(count));
        let _ = self.waiting.fetch_update(Relaxed, Relaxed, less);
    }

    async fn send(&self, egress: &Egress, mut row: OutboxRow) -> (OutboxRow, Result<(), String>) {
        let trace = self.traces.of(&row.id);
        let (at, started) = (self.clock.now(), Instant::now());
        let sent = async {
            let secrets = self
                .secrets(&row.account)
                .await
                .map_err(|error| error.to_string())?;
            post(egress, &mut row, &secrets, at).await
        };
        let sent = timeout(ANSWER_TIME_MAX, traced(trace, sent)).await;
        let sent = sent.unwrap_or_else(|_| Err("timed out".to_owned()));
        let delivery = Delivery::new(&row, (at, started.elapsed()), &sent);
        self.deliveries.note(&row.account, delivery);
        let acknowledged = sent.and_then(|answer| match answer.status {
            status if status.is_success() => Ok(()),
            status => Err(format!("the receiver responded with {status}")),
        });
        (row, acknowledged)
    }
}

/// The channels in flight, and the accounts that have this many of them or more.
fn busy_with<'a>(channels: impl Iterator<Item = &'a Channel>, n_channels: usize) -> Busy {
    let channels: Vec<Channel> = channels.cloned().collect();
    let mut counts: HashMap<&AccountId, usize> = HashMap::new();
    for channel in &channels {
        *counts.entry(&channel.account).or_default() += 1;
    }
    let accounts = counts.into_iter().filter(|(_, count)| *count >= n_channels);
    let accounts = accounts.map(|(account, _)| account.clone()).collect();
    Busy { channels, accounts }
}

/// Sends one event, whose body it takes, and returns the answer. Redirects are not followed.
async fn post(
    egress: &Egress,
    row: &mut OutboxRow,
    secrets: &SigningSecrets,
    at: Timestamp,
) -> Result<Answer, String> {
    let url = Url::parse(&row.destination).map_err(|error| error.to_string())?;
    let authorization = basic_authorization(&url);
    let mut request = reqwest::Request::new(Method::POST, without_userinfo(url));
    let header = |value: &str| HeaderValue::from_str(value).map_err(|error| error.to_string());
    let signature = signature(&secrets.current, at, row.body.as_bytes());
    let standard = standard_signature(secrets, &row.id, at, row.body.as_bytes());
    let headers = request.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(USER_AGENT, HeaderValue::from_static("Trawl-Webhooks/1"));
    headers.insert(EVENT, header(&row.event)?);
    headers.insert(EVENT_ID, header(&row.id)?);
    headers.insert(SIGNATURE, header(&signature)?);
    headers.insert(STANDARD_ID, header(&row.id)?);
    headers.insert(STANDARD_TIME, HeaderValue::from(at.unix_seconds()));
    headers.insert(STANDARD_SIGNATURE, header(&standard)?);
    headers.extend(authorization.map(|value| (AUTHORIZATION, value)));
    *request.body_mut() = Some(std::mem::take(&mut row.body).into());
    let reply = egress.send(request, &Route::default()).await;
    let mut reply = reply.map_err(|error| error.to_string())?;
    // A small response is read to its end, so that the connection can be reused.
    let mut body = Vec::new();
    while reply.body_bytes() < RESPONSE_BYTES_MAX {
        match reply.chunk().await {
            Ok(Some(chunk)) => {
                let left = ANSWER_BYTES_MAX - body.len();
                body.extend_from_slice(&chunk[..chunk.len().min(left)]);
            }
            Ok(None) | Err(_) => break,
        }
    }
    let status = reply.status();
    Ok(Answer { status, body })
}

/// The delay before a destination is tried again, by the failed attempts before, with jitter.
fn backoff(attempts: u32) -> Duration {
    let longest = BACKOFF_FIRST
        .saturating_mul(2_u32.saturating_pow(attempts))
        .min(BACKOFF_MAX);
    // Jitter spreads the retries of receivers that failed together.
    let share = getrandom::u32().unwrap_or(u32::MAX);
    let half = longest / 2;
    half + half.mul_f64(f64::from(share) / f64::from(u32::MAX))
}

fn after(now: Timestamp, delay: Duration) -> Timestamp {
    let millis = i64::try_from(delay.as_millis()).unwrap_or(i64::MAX);
    Timestamp(now.0.saturating_add(millis))
}
