//! Delivery: due events, destination by destination, until they are received or too old.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt};
use http::header::{CONTENT_TYPE, USER_AGENT};
use http::{HeaderName, HeaderValue, Method};
use tokio::task::{self, JoinSet};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use url::Url;

use super::{AGE_MAX, Webhooks, dropped, signature};
use trawl_model::clock::Timestamp;
use trawl_model::secret::Secret;
use trawl_net::egress::{Egress, Route};
use trawl_store::{OutboxRow, StoreError};

/// Time for a receiver to answer. Receivers are meant to take an event and work on it later.
pub const ANSWER_TIME_MAX: Duration = Duration::from_secs(15);
/// Destinations that are served at once. A slow one holds up no other, up to this many.
const DESTINATIONS_MAX: usize = 32;
/// Events of one destination in one round.
const ROUND_EVENTS: u32 = 64;
/// Requests to one destination at once.
const REQUESTS_MAX: usize = 4;
/// Bytes of a receiver's answer that are read before the connection is given up.
const ANSWER_BYTES_MAX: u64 = 8 * 1024;
/// Pause after the first failure of a destination; doubles with each further one.
const PAUSE_FIRST: Duration = Duration::from_secs(5);
/// Longest pause.
const PAUSE_MAX: Duration = Duration::from_secs(60 * 60);
/// Longest sleep without looking: what the wall clock does meanwhile is nobody's promise.
const SLEEP_MAX: Duration = Duration::from_secs(60);
/// Pause after a failure of the store.
const STORE_PAUSE: Duration = Duration::from_secs(1);

const EVENT: HeaderName = HeaderName::from_static("x-trawl-event");
const EVENT_ID: HeaderName = HeaderName::from_static("x-trawl-event-id");
const SIGNATURE: HeaderName = HeaderName::from_static("x-trawl-signature");

impl Webhooks {
    /// Delivers events until `stop`. Events that are on their way then are sent again after the next start.
    pub async fn run(self: Arc<Self>, egress: Arc<Egress>, stop: CancellationToken) {
        match self.store.outbox_count().await {
            Ok(count) => self.waiting.store(count, Relaxed),
            Err(error) => tracing::error!(error = %error, "webhook events cannot be counted"),
        }
        let delivering = Arc::clone(&self).deliver(egress);
        stop.run_until_cancelled(delivering).await;
    }

    async fn deliver(self: Arc<Self>, egress: Arc<Egress>) {
        // Rounds are tasks of their own: one that waits for the store must not be left alone while the store is asked here.
        let mut rounds = JoinSet::new();
        let mut busy: HashMap<task::Id, String> = HashMap::new();
        loop {
            let mut idle = SLEEP_MAX;
            while busy.len() < DESTINATIONS_MAX {
                let names: Vec<String> = busy.values().cloned().collect();
                let due = self
                    .store
                    .outbox_due(self.clock.now(), &names, ROUND_EVENTS);
                match due.await {
                    Ok(rows) if rows.is_empty() => {
                        idle = self.until_next(&names).await;
                        break;
                    }
                    Ok(rows) => {
                        let destination = rows[0].destination.clone();
                        let (hooks, egress) = (Arc::clone(&self), Arc::clone(&egress));
                        let round = rounds.spawn(async move { hooks.round(&egress, rows).await });
                        busy.insert(round.id(), destination);
                    }
                    Err(error) => {
                        tracing::error!(error = %error, "webhook events cannot be read");
                        idle = STORE_PAUSE;
                        break;
                    }
                }
            }
            tokio::select! {
                Some(ended) = rounds.join_next_with_id() => {
                    let id = match ended {
                        Ok((id, ())) => id,
                        Err(error) => {
                            tracing::error!(error = %error, "a round of webhook events ended badly");
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

    /// How long nothing is due.
    async fn until_next(&self, busy: &[String]) -> Duration {
        match self.store.outbox_next(busy).await {
            Ok(Some(due)) => {
                let millis = due.0.saturating_sub(self.clock.now().0);
                Duration::from_millis(u64::try_from(millis).unwrap_or(0)).min(SLEEP_MAX)
            }
            Ok(None) => SLEEP_MAX,
            Err(_) => STORE_PAUSE,
        }
    }

    /// Sends events of one destination until one fails.
    async fn round(&self, egress: &Egress, rows: Vec<OutboxRow>) {
        let destination = rows[0].destination.clone();
        let (mut received, mut failed) = (Vec::new(), Vec::new());
        let mut attempts = 0;
        {
            let mut waiting = rows.into_iter();
            let mut sending = FuturesUnordered::new();
            loop {
                while sending.len() < REQUESTS_MAX && failed.is_empty() {
                    let Some(row) = waiting.next() else { break };
                    sending.push(self.send(egress, row));
                }
                match sending.next().await {
                    Some((row, Ok(()))) => received.push(row.id),
                    Some((row, Err(reason))) => {
                        tracing::debug!(
                            webhook.id = row.id,
                            reason,
                            "a webhook event was not received"
                        );
                        attempts = attempts.max(row.n_attempts);
                        failed.push(row.id);
                    }
                    None => break,
                }
            }
        }
        if let Err(error) = self.note(&destination, &received, &failed, attempts).await {
            // What was received will be sent again: at least once is what was promised.
            tracing::error!(error = %error, "what became of webhook events cannot be written");
            sleep(STORE_PAUSE).await;
        }
    }

    async fn note(
        &self,
        destination: &str,
        received: &[String],
        failed: &[String],
        attempts: u32,
    ) -> Result<(), StoreError> {
        if !received.is_empty() {
            let gone = self.store.outbox_done(received).await?;
            self.forget(gone);
            metrics::counter!("trawl_webhooks_total", "outcome" => "delivered").increment(gone);
        }
        if !failed.is_empty() {
            let now = self.clock.now();
            let until = after(now, pause(attempts));
            let postponed =
                self.store
                    .outbox_postpone(destination, failed, until, now.before(AGE_MAX));
            let gone = postponed.await?;
            metrics::counter!("trawl_webhooks_total", "outcome" => "failed")
                .increment(failed.len() as u64);
            if gone > 0 {
                self.forget(gone);
                dropped(gone, "nobody received them for a day");
            }
        }
        Ok(())
    }

    /// Counts events that wait no more. The count is one of about, and stops at zero.
    fn forget(&self, count: u64) {
        let less = |waiting: u64| Some(waiting.saturating_sub(count));
        let _ = self.waiting.fetch_update(Relaxed, Relaxed, less);
    }

    async fn send(&self, egress: &Egress, row: OutboxRow) -> (OutboxRow, Result<(), String>) {
        let sent = async {
            let secret = self
                .secret(&row.account)
                .await
                .map_err(|error| error.to_string())?;
            post(egress, &row, &secret, self.clock.now()).await
        };
        let sent = timeout(ANSWER_TIME_MAX, sent).await;
        let sent = sent.unwrap_or_else(|_| Err("no answer in time".to_owned()));
        (row, sent)
    }
}

/// Sends one event. Redirects are no receipt and are not followed.
async fn post(
    egress: &Egress,
    row: &OutboxRow,
    secret: &Secret,
    at: Timestamp,
) -> Result<(), String> {
    let url = Url::parse(&row.destination).map_err(|error| error.to_string())?;
    let mut request = reqwest::Request::new(Method::POST, url);
    let header = |value: &str| HeaderValue::from_str(value).map_err(|error| error.to_string());
    let signature = signature(secret, at, row.body.as_bytes());
    let headers = request.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(USER_AGENT, HeaderValue::from_static("Trawl-Webhooks/1"));
    headers.insert(EVENT, header(&row.event)?);
    headers.insert(EVENT_ID, header(&row.id)?);
    headers.insert(SIGNATURE, header(&signature)?);
    *request.body_mut() = Some(row.body.clone().into());
    let reply = egress.send(request, &Route::default()).await;
    let mut reply = reply.map_err(|error| error.to_string())?;
    // A small answer is read to its end, so that the connection can be used again.
    while reply.body_bytes() < ANSWER_BYTES_MAX {
        match reply.chunk().await {
            Ok(Some(_)) => {}
            Ok(None) | Err(_) => break,
        }
    }
    match reply.status() {
        status if status.is_success() => Ok(()),
        status => Err(format!("the receiver answered {status}")),
    }
}

/// How long a destination is left alone after a failure, with the attempts before it.
fn pause(attempts: u32) -> Duration {
    let pause = PAUSE_FIRST
        .saturating_mul(2_u32.saturating_pow(attempts))
        .min(PAUSE_MAX);
    // Receivers that went away together are not asked together when they are back.
    let share = getrandom::u32().unwrap_or(u32::MAX);
    let half = pause / 2;
    half + half.mul_f64(f64::from(share) / f64::from(u32::MAX))
}

fn after(now: Timestamp, pause: Duration) -> Timestamp {
    let millis = i64::try_from(pause.as_millis()).unwrap_or(i64::MAX);
    Timestamp(now.0.saturating_add(millis))
}
