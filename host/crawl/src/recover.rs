//! Continues the crawls of the last process: what must hold before the first request is answered,
//! and the rest afterwards, a few at a time. Decision D282.

use std::sync::Arc;
use std::time::Duration;

use trawl_billing::Slot;
use trawl_model::{StopReason, Terms};
use trawl_store::{CrawlLeft, CrawlState, CrawlsLeft, StoreError};

use super::job::Job;
use super::planning::{PlanSource, Stored};
use super::recovery::Held;
use super::service::{CrawlError, Crawls};
use super::start::CrawlTask;

/// Crawls that are continued between two looks at the store.
const CONTINUED_AT_ONCE: u32 = 100;
/// How long a failing store is left alone.
const RETRY_DELAY: Duration = Duration::from_secs(1);
/// How long an ended crawl is stored. Decision D50.
const RETENTION: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// How often expired crawls are deleted.
const EXPIRY_INTERVAL: Duration = Duration::from_secs(60 * 60);

impl Crawls {
    /// Ends or parks the crawls of the last process that cannot continue, and keeps places and
    /// slots for those that can. Streaming crawls end, because their connections are gone; crawls
    /// that need secrets are parked, because those are never stored. Call it before requests are
    /// answered, and [`Self::recover`] afterwards. Takes a moment, however many crawls there are.
    ///
    /// # Errors
    /// The store failed.
    pub async fn interrupt(&self) -> Result<LastCrawls, CrawlError> {
        let now = self.parts.clock.now();
        let interrupted = self.parts.store.interrupt_crawls(now).await?;
        self.recovery.begin();
        for left in interrupted.accounts {
            self.keep_room(left);
        }
        Ok(LastCrawls {
            last: interrupted.last,
        })
    }

    fn keep_room(&self, left: CrawlsLeft) {
        let n_crawls = usize::try_from(left.n_crawls).unwrap_or(usize::MAX);
        // Decision D98: several crawls of one request continue with a slot each; one that finds
        // none free waits for it.
        let slots =
            (0..left.n_unlimited).map_while(|_| self.parts.billing.take_slot(&left.account).ok());
        let held = Held {
            slots: slots.collect::<Vec<Slot>>(),
            places: self.places.take_anyway(&left.account, true, n_crawls),
            bytes: self.queued.take_anyway(&left.account, left.request_bytes),
        };
        self.recovery.hold(left.account, held);
    }

    /// Queues the background crawls of the last process again, or parks them if the plan that they
    /// run on has ended. Ends when that is done or the server stops.
    pub async fn recover(&self, last: LastCrawls) {
        let mut after = 0;
        while !self.parts.stop.is_cancelled() {
            match self.recover_some(&mut after, last.last).await {
                Ok(false) => break,
                Ok(true) => {}
                Err(error) => {
                    tracing::error!(error = %error, "could not continue the crawls of the last run of the server, trying again");
                    tokio::time::sleep(RETRY_DELAY).await;
                }
            }
        }
        self.recovery.end();
    }

    /// Queues some crawls after this number, which becomes the number of the last one that is done;
    /// `false` if there are no more.
    async fn recover_some(&self, after: &mut i64, last: i64) -> Result<bool, StoreError> {
        let store = &self.parts.store;
        let crawls = store.crawls_left(*after, last, CONTINUED_AT_ONCE).await?;
        let are_left = !crawls.is_empty();
        for left in crawls {
            let number = left.number;
            self.recover_one(left).await?;
            *after = number;
        }
        Ok(are_left)
    }

    async fn recover_one(&self, left: CrawlLeft) -> Result<(), StoreError> {
        let (record, n_bytes) = (left.record, left.request_bytes);
        let job = Job::begun(&record, None);
        let Some(membership) = self.jobs.enter(&job) else {
            // It was parked and has been resumed.
            return Ok(());
        };
        // Who cancels it first stores its end and then looks for its job, so one of both sees the
        // other.
        match self.parts.store.crawl_state(&record.id).await? {
            Some(CrawlState::Running) => {
                let state = CrawlState::Queued;
                if !self.parts.store.set_crawl_state(&record.id, state).await? {
                    return Ok(());
                }
            }
            Some(CrawlState::Queued) => {}
            Some(CrawlState::Parked | CrawlState::Ended) | None => return Ok(()),
        }
        let is_unlimited = record.terms == Terms::Unlimited;
        if is_unlimited && !self.parts.billing.has_plan(&record.account).await {
            let reason = Some(StopReason::PlanEnded);
            return self.parts.store.park_crawl(&record.id, reason).await;
        }
        // Nothing can fail any more: a crawl that is tried again has taken nothing.
        let held = self.recovery.take(&record.account, n_bytes, is_unlimited);
        let (places, queued, slot) = held.unwrap_or_else(|| {
            let places = self.places.take_anyway(&record.account, true, 1);
            let queued = self.queued.take_anyway(&record.account, n_bytes);
            (places, queued, None)
        });
        tracing::info!(crawl = record.id, "a crawl of the last process continues");
        let task = CrawlTask {
            job,
            verb: record.verb,
            source: PlanSource::Stored(Stored {
                queued,
                secrets: None,
            }),
            listener: None,
            slot: slot.map(Arc::new),
            payment: None,
        };
        self.spawn(task, membership.with(places));
        Ok(())
    }

    /// Deletes expired crawls, now and every hour. Never returns.
    pub async fn expire_periodically(&self) {
        loop {
            if let Err(error) = self.expire().await {
                tracing::error!(error = %error, "could not delete expired crawls");
            }
            tokio::time::sleep(EXPIRY_INTERVAL).await;
        }
    }

    /// Deletes crawls that ended longer than the retention period ago.
    async fn expire(&self) -> Result<(), StoreError> {
        let parts = &self.parts;
        let before = parts.clock.now().before(RETENTION);
        let expired = parts.store.expire_crawls(before).await?;
        let logs = parts.logs.clone();
        let removing = tokio::task::spawn_blocking(move || logs.remove(&expired));
        removing
            .await
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()));
        let n_segments = parts.logs.expire_segments().await?;
        if n_segments > 0 {
            tracing::info!(n_segments, "segments without crawls are deleted");
        }
        Ok(())
    }
}

/// The crawls of the last process, from [`Crawls::interrupt`].
#[derive(Clone, Copy, Debug)]
pub struct LastCrawls {
    /// The number of the last one.
    last: i64,
}
