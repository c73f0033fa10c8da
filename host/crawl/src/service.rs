//! All crawls of the server: showing, cancelling and running them.

use std::sync::Arc;
use std::time::Duration;

use tracing::Instrument;

use trawl_billing::{AccountId, FundsError, Spender, SubscriptionError};
use trawl_model::memory::{Held, MemoryKind};
use trawl_model::{StopReason, TraceContext};
use trawl_store::{CrawlRecord, CrawlState, FoundCrawl, StorageRefusal, StoreError};

use super::drive::Ended;
use super::job::{CrawlProgress, Job};
use super::jobs::{Jobs, Membership};
use super::limits::{CrawlCounts, CrawlLimits, CrawlsInUse, RunningCrawls, TooManyCrawls};
use super::parts::CrawlsParts;
use super::pipeline::FinishedCrawl;
use super::planning::{Planner, Ready, bytes_while_planned};
use super::queued::{Queued, TooManyBytes};
use super::recovery::Recovery;
use super::refunds::EndingCrawl;
use super::start::{self, CrawlTask};
use super::webhooks::{WebhookLimits, WebhooksFull};

/// Background crawls that run at once; more are queued. Each has up to 10 pages in flight.
const RUNNING_MAX: usize = 64;
/// Delay before the end of a crawl is stored again, or that it is parked.
const END_RETRY_DELAY: Duration = Duration::from_secs(1);
/// How long a cancellation waits for the pages in flight before it responds.
const CANCEL_TIME_MAX: Duration = Duration::from_millis(900);

/// Why a crawl cannot be started, shown or changed.
#[derive(Debug, thiserror::Error)]
pub enum CrawlError {
    /// The account has no crawl with this id.
    #[error("there is no crawl with this id")]
    Unknown,
    /// The account cannot pay.
    #[error(transparent)]
    Funds(#[from] FundsError),
    /// The account has too many crawls at once.
    #[error(transparent)]
    TooMany(#[from] TooManyCrawls),
    /// The requests of the account's queued crawls are too large together.
    #[error(transparent)]
    TooManyBytes(#[from] TooManyBytes),
    /// The account has too many undelivered webhook events for another crawl with a webhook.
    #[error(transparent)]
    WebhooksFull(#[from] WebhooksFull),
    /// Nothing more may be stored.
    #[error(transparent)]
    Storage(#[from] StorageRefusal),
    /// Only a parked crawl can be resumed.
    #[error("the crawl is {}, only a parked one can be resumed", .0.name())]
    NotParked(CrawlState),
    /// The stored request is no longer valid, perhaps because a plugin is not loaded any more.
    #[error("{0}")]
    Plan(String),
    /// The account has no Unlimited plan that the crawl could continue with.
    #[error(transparent)]
    NoPlan(#[from] SubscriptionError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The operating system returned no random numbers.
    #[error("the operating system returned no random numbers")]
    Random,
}

/// All crawls of the server. Clones share them.
#[derive(Clone)]
pub struct Crawls {
    pub(super) parts: Arc<CrawlsParts>,
    pub(super) jobs: Jobs,
    pub(super) places: Arc<CrawlCounts>,
    pub(super) queued: Arc<Queued>,
    pub(super) recovery: Arc<Recovery>,
    pub(super) planner: Arc<Planner>,
    turns: Arc<RunningCrawls>,
}

/// A crawl's record and progress.
#[derive(Clone, Debug)]
pub struct CrawlView {
    /// The stored record, of which `request` is empty: see [`Crawls::request`].
    pub record: CrawlRecord,
    /// Bytes of the stored request.
    pub request_bytes: u64,
    /// The current progress.
    pub progress: CrawlProgress,
}

impl Crawls {
    /// A service without crawls. [`Self::interrupt`] and [`Self::recover`] continue the crawls
    /// of the last process.
    pub fn new(parts: CrawlsParts) -> Self {
        let running_max = parts.limits.background_running;
        Self {
            parts: Arc::new(parts),
            jobs: Jobs::default(),
            places: Arc::default(),
            queued: Arc::default(),
            recovery: Arc::default(),
            turns: Arc::new(RunningCrawls::new(RUNNING_MAX, running_max)),
            planner: Arc::default(),
        }
    }

    /// The limits of every account.
    pub fn limits(&self) -> CrawlLimits {
        self.parts.limits
    }

    /// Bytes of the requests of an account's queued crawls, and how many it may have.
    pub fn queued_bytes(&self, account: &AccountId) -> (u64, u64) {
        self.queued.used(account)
    }

    /// Webhook events of every account that may wait.
    pub fn webhook_limits(&self) -> WebhookLimits {
        self.parts.webhooks.limits()
    }

    /// Age of the oldest undelivered webhook event of all accounts, zero if there is none.
    ///
    /// # Errors
    /// The store failed.
    pub async fn oldest_event_age(&self) -> Result<Duration, StoreError> {
        self.parts.webhooks.oldest_age().await
    }

    /// Number of crawls of all accounts that run, and that wait for their turn.
    pub fn running_and_queued(&self) -> (usize, usize) {
        self.jobs.running_and_queued()
    }

    /// Number of crawls of an account.
    pub fn in_use(&self, account: &AccountId) -> CrawlsInUse {
        self.places.in_use(account)
    }

    /// The record and progress of an account's crawl.
    ///
    /// # Errors
    /// [`CrawlError::Unknown`], or the store failed.
    pub async fn show(&self, account: &AccountId, id: &str) -> Result<CrawlView, CrawlError> {
        // The job first: if the crawl ends in between, the record that is read next has its end.
        let job = self.jobs.find(account, id);
        let found = self.found(account, id).await?;
        let progress = match job {
            Some(job) if !job.ended.is_cancelled() => job.progress(),
            _ => {
                let progress = CrawlProgress::stored(&found.record);
                // Of another one it is not known how many still wait.
                match progress.state {
                    CrawlState::Ended => {
                        progress.with_urls(self.parts.store.n_crawl_urls(id).await?)
                    }
                    _ => progress,
                }
            }
        };
        Ok(CrawlView {
            record: found.record,
            request_bytes: found.request_bytes,
            progress,
        })
    }

    /// The stored request object of a crawl, without the caller's secrets. It is read once its
    /// account has memory for it and for what is made of it.
    ///
    /// # Errors
    /// [`CrawlError::Unknown`] if the crawl was deleted meanwhile, or the store failed or had no
    /// memory.
    pub async fn request(&self, view: &CrawlView) -> Result<Held<String>, CrawlError> {
        let memory = &self.parts.engine.memory;
        // A claim of its own: it ends with the reading.
        let claim = memory.share(view.record.account.as_str()).page();
        let mut lease = claim.lease_for(MemoryKind::Stored);
        let bytes = bytes_while_planned(&self.parts, view.request_bytes);
        lease.grow_to(bytes).await.map_err(StoreError::from)?;
        let request = self.parts.store.crawl_request(&view.record.id, lease);
        request.await?.ok_or(CrawlError::Unknown)
    }

    /// Cancels a crawl: nothing more is leased, pages in flight finish. Returns its record and
    /// progress.
    ///
    /// # Errors
    /// [`CrawlError::Unknown`], or the store failed.
    pub async fn cancel(&self, account: &AccountId, id: &str) -> Result<CrawlView, CrawlError> {
        let (crawls, account, id) = (self.clone(), account.clone(), id.to_owned());
        let ending = async move { crawls.end(&account, &id).await };
        self.parts.billing.to_its_end(ending).await
    }

    /// Ends a crawl because its owner wants it.
    async fn end(&self, account: &AccountId, id: &str) -> Result<CrawlView, CrawlError> {
        let record = self.record(account, id).await?;
        if record.state != CrawlState::Ended && self.jobs.find(account, id).is_none() {
            self.end_stored(&record).await?;
        }
        // Looked up after the end was stored: the crawl may be resumed at the same time.
        if let Some(job) = self.jobs.find(account, id) {
            job.update(|progress| {
                progress.stop = progress.stop.or(Some(StopReason::Cancelled));
            });
            job.cancel.cancel();
            // Pages in flight may take longer; then the response shows a crawl that is about to
            // end.
            let in_time = tokio::time::timeout(CANCEL_TIME_MAX, job.ended.cancelled()).await;
            if in_time.is_ok() {
                let record = self.record(account, id).await?;
                if record.state != CrawlState::Ended {
                    // It was paused or parked at the same time.
                    self.end_stored(&record).await?;
                }
            }
        }
        self.show(account, id).await
    }

    /// Ends a crawl that does not run, and refunds what it does not deliver.
    async fn end_stored(&self, record: &CrawlRecord) -> Result<(), StoreError> {
        self.store_end(&record.id, StopReason::Cancelled).await?;
        if record.in_background {
            let ending = EndingCrawl {
                id: &record.id,
                spender: Spender {
                    account: &record.account,
                    key: record.key,
                },
            };
            // It is logged, and the crawl has ended all the same.
            let _refunded = ending.refund(&self.parts).await;
        }
        Ok(())
    }

    /// Waits until no crawl runs, at most `time_max`: after the server was stopped, before its
    /// ledger closes.
    pub async fn finish(&self, time_max: Duration) {
        let running = self.jobs.all();
        let all = futures_util::future::join_all(running.iter().map(|job| job.ended.cancelled()));
        if tokio::time::timeout(time_max, all).await.is_err() {
            tracing::warn!("crawls were still running at the end of the drain period");
        }
    }

    /// The verb of an account's crawl.
    ///
    /// # Errors
    /// [`CrawlError::Unknown`], or the store failed.
    pub async fn verb(&self, account: &AccountId, id: &str) -> Result<String, CrawlError> {
        Ok(self.record(account, id).await?.verb)
    }

    /// The record of an account's crawl, without its request.
    pub(super) async fn record(
        &self,
        account: &AccountId,
        id: &str,
    ) -> Result<CrawlRecord, CrawlError> {
        Ok(self.found(account, id).await?.record)
    }

    /// An account's crawl, without its request.
    pub(super) async fn found(
        &self,
        account: &AccountId,
        id: &str,
    ) -> Result<FoundCrawl, CrawlError> {
        // Asked before the record is read.
        let is_recovered = self.recovery.is_done();
        let found = self.parts.store.crawl(account, id).await?;
        let mut found = found.ok_or(CrawlError::Unknown)?;
        if !is_recovered
            && found.record.state == CrawlState::Running
            && self.jobs.find(account, id).is_none()
        {
            // The last process ran it; in this one it waits.
            found.record.state = CrawlState::Queued;
        }
        Ok(found)
    }

    pub(super) fn spawn(&self, task: CrawlTask, membership: Membership) {
        let job = &task.job;
        let context = job.trace.map(|trace| trace.context);
        let trace_id = context.map(TraceContext::trace_id);
        // The span of its request may end long before it.
        let span = tracing::info_span!(parent: None, "crawl", crawl = job.id, trace_id);
        trawl_telemetry::begin_trace(&span, context);
        let run = self.clone().run(task, membership);
        self.parts.tasks.spawn(run.instrument(span));
    }

    /// Runs a crawl and stores its end. It is a member until then.
    async fn run(self, task: CrawlTask, membership: Membership) {
        let job = Arc::clone(&task.job);
        let verb = task.verb.clone();
        // The response ends after the crawl's end is stored, so a caller who has read all of it can
        // see how the crawl ended.
        let _open_response = task.listener.clone();
        let (ended, ready) = start::run(&self.parts, &self.turns, &self.planner, task).await;
        let ended = match ended {
            // A cancelled crawl does not continue after a restart.
            Ended::Paused | Ended::Parked(_) if job.cancel.is_cancelled() => {
                Ended::Stopped(StopReason::Cancelled)
            }
            Ended::Parked(reason) => self.park(&job, reason).await,
            ended => ended,
        };
        if let Ended::Stopped(stop) = ended {
            // Before the end is stored: after a crash in between it is repeated.
            let ending = EndingCrawl {
                id: &job.id,
                spender: job.spender(),
            };
            if job.in_background && !ending.refund_at_last(&self.parts).await {
                // The next process ends it.
                return;
            }
            if let Some(ready) = &ready {
                self.finish_pipeline(&job, verb, ready).await;
            }
            job.update(|progress| {
                progress.state = CrawlState::Ended;
                progress.stop = Some(stop);
            });
            self.store_end_at_last(&job, stop).await;
        }
        drop(membership);
    }

    /// Parks a crawl that ran or waited to run; without space or the database, once they are back.
    /// It is shown as parked once it is stored and no member any more: who sees that may resume it.
    /// One that is cancelled meanwhile is to be ended. Returns how it ended.
    async fn park(&self, job: &Job, reason: StopReason) -> Ended {
        while let Err(error) = self.parts.store.park_crawl(&job.id, Some(reason)).await {
            tracing::error!(crawl = job.id, error = %error, "could not park a crawl");
            if job.cancel.is_cancelled() {
                return Ended::Stopped(StopReason::Cancelled);
            }
            if !self.may_store_later(&error) {
                break;
            }
            tokio::time::sleep(END_RETRY_DELAY).await;
        }
        Ended::Parked(reason)
    }

    async fn finish_pipeline(&self, job: &Job, verb: String, ready: &Ready) {
        let finished = FinishedCrawl {
            id: job.id.clone(),
            account: job.account.clone(),
            verb,
            plan: Arc::clone(&ready.plan),
            registry: Arc::clone(&ready.registry),
        };
        let parts = &self.parts;
        let (pipelines, logs, storage) = (&parts.pipelines, &parts.logs, &parts.storage);
        pipelines
            .at_end(&parts.store, logs, storage, finished)
            .await;
    }

    /// Stores the end of a crawl that ran; without space or the database, once they are back. When
    /// the server stops before that, the next process finds the crawl unfinished and ends it.
    async fn store_end_at_last(&self, job: &Job, stop: StopReason) {
        while let Err(error) = self.store_end(&job.id, stop).await {
            tracing::error!(crawl = job.id, error = %error, "could not store the end of a crawl");
            if !self.may_store_later(&error) {
                return;
            }
            tokio::time::sleep(END_RETRY_DELAY).await;
        }
    }

    /// Whether this process may store later what failed with this error.
    fn may_store_later(&self, error: &StoreError) -> bool {
        let is_passing = error.is_full() || error.is_unreachable();
        is_passing && !self.parts.stop.is_cancelled()
    }

    async fn store_end(&self, id: &str, stop: StopReason) -> Result<(), StoreError> {
        let now = self.parts.clock.now();
        self.parts.store.end_crawl(id, stop, now).await
    }
}
