//! Starting, showing, cancelling, resuming and recovering crawls.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc;

use trawl_billing::{AccountId, FundsError, Payment, Slot, SubscriptionError};
use trawl_model::{StopReason, Terms, UrlRow};
use trawl_plan::crawl::CrawlPlan;
use trawl_plugins::Registry;
use trawl_store::{CrawlCounts, CrawlRecord, CrawlState, StorageRefusal, StoreError};
use trawl_wire::LeftOut;

use super::drive::Ended;
use super::job::{CrawlProgress, Job};
use super::jobs::{Jobs, Membership};
use super::limits::{CrawlLimits, CrawlPlaces, CrawlsInUse, Places, TooManyCrawls, Turns};
use super::parts::CrawlsParts;
use super::pipeline::FinishedCrawl;
use super::start::{self, CrawlTask};
use super::stored_pages::{self, StoredPages};
use super::webhooks::{WebhookLimits, WebhooksFull};

/// Background crawls that run at once; more are queued. Each has up to 10 pages in flight.
const RUNNING_MAX: usize = 64;
/// Entries that are buffered for a slow reader of a streaming crawl.
const BUFFERED_ENTRIES_MAX: usize = 16;
/// How long a cancellation waits for the pages in flight before it responds.
const CANCEL_TIME_MAX: Duration = Duration::from_millis(900);
/// How long an ended crawl is stored. Decision D50.
const RETENTION: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// How often expired crawls are deleted.
const EXPIRY_INTERVAL: Duration = Duration::from_secs(60 * 60);

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
    /// The account has no Unlimited plan that the crawl could go on with.
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
    parts: Arc<CrawlsParts>,
    jobs: Jobs,
    places: Arc<Places>,
    turns: Arc<Turns>,
}

/// A crawl to start.
pub struct NewCrawl {
    /// The account that pays.
    pub account: AccountId,
    /// What to crawl.
    pub plan: CrawlPlan,
    /// The request object without the caller's secrets, to continue the crawl after a restart.
    pub request: String,
    /// Whether the request needs the caller's secrets.
    pub needs_secrets: bool,
    /// `crawl`, `links` or the name of a pipeline.
    pub verb: &'static str,
    /// What its pages cost and what they may use.
    pub terms: Terms,
    /// The slot under the Unlimited plan. A background crawl holds it until it ends.
    pub slot: Option<Arc<Slot>>,
    /// The plugins that the plan was made with.
    pub registry: Arc<Registry>,
    /// Its place among the crawls of the account, from [`Crawls::admit`].
    pub places: CrawlPlaces,
    /// Under which name its pages are charged, for a request that may be repeated; by default its
    /// id. A background crawl has it as its id, so that a repetition finds it.
    pub payment: Option<Payment>,
}

/// A crawl that was started.
pub struct CrawlHandle {
    /// Its id.
    pub id: String,
    /// The name under which its pages are charged.
    pub paid_as: String,
    /// The stream of entries of a streaming crawl. Dropping it stops the crawl.
    pub entries: Option<mpsc::Receiver<Bytes>>,
}

/// A crawl's record and progress.
#[derive(Clone, Debug)]
pub struct CrawlView {
    /// The stored record.
    pub record: CrawlRecord,
    /// The current progress.
    pub progress: CrawlProgress,
}

impl Crawls {
    /// A service without crawls. [`Self::recover`] continues those of the last process.
    pub fn new(parts: CrawlsParts) -> Self {
        let running_max = parts.limits.background_running;
        Self {
            parts: Arc::new(parts),
            jobs: Jobs::default(),
            places: Arc::default(),
            turns: Arc::new(Turns::new(RUNNING_MAX, running_max)),
        }
    }

    /// Checks that a request may start these crawls, all of them or none, and takes their places,
    /// in the order of the plans.
    ///
    /// # Errors
    /// [`CrawlError::TooMany`], [`CrawlError::Storage`] or [`CrawlError::WebhooksFull`] name the
    /// limit that is reached; or the store failed.
    pub async fn admit(
        &self,
        account: &AccountId,
        plans: &[&CrawlPlan],
    ) -> Result<Vec<CrawlPlaces>, CrawlError> {
        self.parts.storage.admit(account).await?;
        if plans.iter().any(|plan| plan.webhook.is_some()) {
            let full = self.parts.webhooks.full(account).await?;
            full.map_or(Ok(()), Err)?;
        }
        let take = |in_background: bool| {
            let of_kind = plans
                .iter()
                .filter(|plan| plan.in_background == in_background);
            let limits = &self.parts.limits;
            self.places
                .take(account, in_background, of_kind.count(), limits)
        };
        let (mut streaming, mut background) = (take(false)?, take(true)?);
        let places = plans.iter().map(|plan| match plan.in_background {
            true => background.split(),
            false => streaming.split(),
        });
        Ok(places.collect())
    }

    /// The limits of every account.
    pub fn limits(&self) -> CrawlLimits {
        self.parts.limits
    }

    /// Webhook events of every account that may wait.
    pub fn webhook_limits(&self) -> WebhookLimits {
        self.parts.webhooks.limits()
    }

    /// Number of crawls of an account.
    pub fn in_use(&self, account: &AccountId) -> CrawlsInUse {
        self.places.in_use(account)
    }

    /// Starts a crawl.
    ///
    /// # Errors
    /// [`CrawlError::Funds`] when the account cannot pay, or the store failed.
    pub async fn begin(&self, new: NewCrawl) -> Result<CrawlHandle, CrawlError> {
        let in_background = new.plan.in_background;
        let payment = new.payment;
        let id = match &payment {
            Some(payment) if in_background => payment.name.to_string(),
            _ => new_id()?,
        };
        let is_repeated = payment.as_ref().is_some_and(|payment| payment.is_repeated);
        if in_background && is_repeated && self.record(&new.account, &id).await.is_ok() {
            return Ok(CrawlHandle {
                paid_as: id.clone(),
                id,
                entries: None,
            });
        }
        self.parts.billing.admit(&new.account, new.terms)?;
        let named = new.plan.named.as_ref();
        let left_out = LeftOut::of_urls(named.map_or(0, |found| found.n_dropped.into()));
        let record = CrawlRecord {
            id,
            account: new.account,
            request: new.request,
            verb: new.verb.to_owned(),
            terms: new.terms,
            needs_secrets: new.needs_secrets,
            in_background,
            state: first_state(in_background),
            stop: None,
            created: self.parts.clock.now(),
            ended: None,
            counts: CrawlCounts::default(),
            left_out: left_out.written(),
        };
        self.parts.store.create_crawl(&record).await?;
        let (listener, entries) = if in_background {
            (None, None)
        } else {
            let (listener, entries) = mpsc::channel(BUFFERED_ENTRIES_MAX);
            (Some(listener), Some(entries))
        };
        // A streaming crawl's slot is part of its response body.
        let slot = new.slot.filter(|_| in_background);
        let name = payment.as_ref().map(|payment| payment.name.to_string());
        let task = CrawlTask {
            payment,
            ..task(&record, new.plan, new.registry, listener, slot)
        };
        self.start(task, &record.verb, new.places);
        Ok(CrawlHandle {
            paid_as: name.unwrap_or_else(|| record.id.clone()),
            id: record.id,
            entries,
        })
    }

    /// The record and progress of an account's crawl.
    ///
    /// # Errors
    /// [`CrawlError::Unknown`], or the store failed.
    pub async fn show(&self, account: &AccountId, id: &str) -> Result<CrawlView, CrawlError> {
        // The job first: if the crawl ends in between, the record that is read next has its end.
        let job = self.jobs.find(account, id);
        let record = self.record(account, id).await?;
        let progress = match job {
            Some(job) if !job.ended.is_cancelled() => job.progress(),
            _ => CrawlProgress::stored(&record),
        };
        Ok(CrawlView { record, progress })
    }

    /// Cancels a crawl: nothing more is leased, pages in flight finish. Returns its record and
    /// progress.
    ///
    /// # Errors
    /// [`CrawlError::Unknown`], or the store failed.
    pub async fn cancel(&self, account: &AccountId, id: &str) -> Result<CrawlView, CrawlError> {
        let record = self.record(account, id).await?;
        if record.state != CrawlState::Ended && self.jobs.find(account, id).is_none() {
            self.store_end(id, StopReason::Cancelled).await?;
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
            if in_time.is_ok() && self.record(account, id).await?.state != CrawlState::Ended {
                // It paused at the same time.
                self.store_end(id, StopReason::Cancelled).await?;
            }
        }
        self.show(account, id).await
    }

    /// Resumes a parked crawl. `request` is the stored request object with the secrets that it
    /// lacks.
    ///
    /// # Errors
    /// [`CrawlError::NotParked`], [`CrawlError::Plan`], [`CrawlError::Unknown`], or the store
    /// failed.
    pub async fn resume(
        &self,
        account: &AccountId,
        id: &str,
        request: &str,
    ) -> Result<CrawlView, CrawlError> {
        let record = self.record(account, id).await?;
        if record.state != CrawlState::Parked || self.jobs.find(account, id).is_some() {
            return Err(CrawlError::NotParked(record.state));
        }
        self.parts.billing.admit(account, record.terms)?;
        if record.terms == Terms::Unlimited {
            self.parts.billing.unlimited(account).await?;
        }
        let places = self.places.take(account, true, 1, &self.parts.limits)?;
        let registry = (self.parts.snapshot)();
        let plan = self.replan(request, &record, &registry).await;
        let plan = plan.map_err(CrawlError::Plan)?;
        let task = task(&record, plan, registry, None, None);
        // It may have been resumed or cancelled since it was looked up.
        let is_parked = match self.jobs.enter(&task.job, places) {
            Some(membership) => self.unpark(task, record.verb, membership).await?,
            None => false,
        };
        let view = self.show(account, id).await?;
        match is_parked {
            true => Ok(view),
            false => Err(CrawlError::NotParked(view.progress.state)),
        }
    }

    /// Queues a parked crawl and runs it; `false` if it is not parked. In a task, so that a caller
    /// who hangs up leaves no queued crawl that does not run.
    async fn unpark(
        &self,
        task: CrawlTask,
        verb: String,
        membership: Membership,
    ) -> Result<bool, StoreError> {
        let crawls = self.clone();
        let unparking = self.parts.tasks.spawn(async move {
            let is_parked = crawls.parts.store.unpark_crawl(&task.job.id).await?;
            if is_parked {
                crawls.spawn(task, verb, membership);
            }
            Ok::<_, StoreError>(is_parked)
        });
        unparking
            .await
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))
    }

    /// Recovers the unfinished crawls of the last process. Background crawls continue, or are
    /// parked when they need secrets, which are never stored. Streaming crawls end, because their
    /// connections are gone. Crawls that ended longer than the retention period ago are deleted.
    ///
    /// # Errors
    /// The store failed.
    pub async fn recover(&self) -> Result<(), CrawlError> {
        self.expire().await?;
        let parts = &self.parts;
        for record in parts.store.unfinished_crawls().await? {
            if !record.in_background {
                self.store_end(&record.id, StopReason::ServerStopped)
                    .await?;
            } else if record.state == CrawlState::Parked && record.stop.is_some() {
                // It waits for its account, not for the server.
            } else if record.needs_secrets {
                parts.store.park_crawl(&record.id, None).await?;
            } else if record.terms == Terms::Unlimited
                && !parts.billing.has_plan(&record.account).await
            {
                let reason = Some(StopReason::PlanEnded);
                parts.store.park_crawl(&record.id, reason).await?;
            } else {
                self.recover_one(&record).await?;
            }
        }
        Ok(())
    }

    /// Deletes expired crawls every hour. Never returns.
    pub async fn expire_periodically(&self) {
        loop {
            tokio::time::sleep(EXPIRY_INTERVAL).await;
            if let Err(error) = self.expire().await {
                tracing::error!(error = %error, "could not delete expired crawls");
            }
        }
    }

    /// Deletes crawls that ended longer than the retention period ago.
    async fn expire(&self) -> Result<(), StoreError> {
        let parts = &self.parts;
        let before = parts.clock.now().before(RETENTION);
        let expired = parts.store.expire_crawls(before).await?;
        stored_pages::remove(&parts.data, &expired);
        Ok(())
    }

    async fn recover_one(&self, record: &CrawlRecord) -> Result<(), StoreError> {
        let registry = (self.parts.snapshot)();
        match self.replan(&record.request, record, &registry).await {
            Ok(plan) => {
                tracing::info!(crawl = record.id, "a crawl of the last process continues");
                // Taken before the first request is served. Decision D98: several crawls of one
                // request continue with a slot each; one that finds none free waits for it.
                let slot = match record.terms {
                    Terms::PayAsYouGo => None,
                    Terms::Unlimited => self.parts.billing.take_slot(&record.account).ok(),
                };
                let places = self.places.take_anyway(&record.account, true, 1);
                let task = task(record, plan, registry, None, slot.map(Arc::new));
                self.start(task, &record.verb, places);
                Ok(())
            }
            Err(reason) => {
                tracing::error!(crawl = record.id, reason, "a crawl cannot continue");
                self.store_end(&record.id, StopReason::Failed).await
            }
        }
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

    /// The stored entries of a crawl after number `after`, one after the other.
    ///
    /// # Errors
    /// [`CrawlError::Unknown`], or the store failed.
    pub async fn pages(
        &self,
        account: &AccountId,
        id: &str,
        after: u64,
    ) -> Result<StoredPages, CrawlError> {
        let has_ended = self.record(account, id).await?.state == CrawlState::Ended;
        let parts = &self.parts;
        let share = parts.engine.memory.share(account.as_str());
        let pages = StoredPages::new(Arc::clone(&parts.store), &parts.data, id, share, after);
        Ok(pages.of_ended(has_ended))
    }

    /// Waits until a crawl has stored pages after `after`; `false` when it has ended without more.
    pub async fn wait_for_pages(&self, account: &AccountId, id: &str, after: u64) -> bool {
        let Some(job) = self.jobs.find(account, id) else {
            return false;
        };
        let mut recorded = job.recorded.subscribe();
        tokio::select! {
            grown = recorded.wait_for(|last| *last > after) => grown.is_ok(),
            () = job.ended.cancelled() => *job.recorded.borrow() > after,
        }
    }

    /// Skipped URLs with their reasons: those after number `after`, at most `count_max`.
    ///
    /// # Errors
    /// [`CrawlError::Unknown`], or the store failed.
    pub async fn skipped(
        &self,
        account: &AccountId,
        id: &str,
        after: Option<u32>,
        count_max: u32,
    ) -> Result<Vec<UrlRow>, CrawlError> {
        self.record(account, id).await?;
        Ok(self.parts.store.crawl_skipped(id, after, count_max).await?)
    }

    async fn record(&self, account: &AccountId, id: &str) -> Result<CrawlRecord, CrawlError> {
        self.parts
            .store
            .crawl(account, id)
            .await?
            .ok_or(CrawlError::Unknown)
    }

    /// Plans a stored request again, with the configuration and the plugins of this process, on a
    /// thread that may block.
    async fn replan(
        &self,
        request: &str,
        record: &CrawlRecord,
        registry: &Arc<Registry>,
    ) -> Result<CrawlPlan, String> {
        let (crawls, registry) = (self.clone(), Arc::clone(registry));
        let (request, verb, terms) = (request.to_owned(), record.verb.clone(), record.terms);
        let planning = tokio::task::spawn_blocking(move || {
            let defaults = crawls.parts.defaults.with_terms(terms);
            trawl_wire::crawl_plan(&request, &verb, &*registry, defaults)
        });
        planning.await.unwrap_or_else(|_| {
            // The log of the panic itself says where. Its message may contain the request's values.
            tracing::error!("planning a stored crawl panicked");
            Err("the stored request cannot be planned".to_owned())
        })
    }

    /// Runs a crawl, unless it runs already.
    fn start(&self, task: CrawlTask, verb: &str, places: CrawlPlaces) {
        if let Some(membership) = self.jobs.enter(&task.job, places) {
            self.spawn(task, verb.to_owned(), membership);
        }
    }

    fn spawn(&self, task: CrawlTask, verb: String, membership: Membership) {
        let run = self.clone().run(task, verb, membership);
        self.parts.tasks.spawn(run);
    }

    /// Runs a crawl and stores its end. It is a member until then.
    async fn run(self, task: CrawlTask, verb: String, membership: Membership) {
        let job = Arc::clone(&task.job);
        // The response ends after the crawl's end is stored, so a caller who has read all of it can
        // see how the crawl ended.
        let _open_response = task.listener.clone();
        let finished = FinishedCrawl {
            id: job.id.clone(),
            account: job.account.clone(),
            verb,
            plan: Arc::clone(&task.plan),
            registry: Arc::clone(&task.registry),
        };
        let ended = match start::run(&self.parts, &self.turns, task).await {
            // A cancelled crawl does not go on after a restart.
            Ended::Paused | Ended::Parked(_) if job.cancel.is_cancelled() => {
                Ended::Stopped(StopReason::Cancelled)
            }
            ended => ended,
        };
        if let Ended::Parked(reason) = ended {
            self.park(&job, reason).await;
        }
        if let Ended::Stopped(stop) = ended {
            // Before the end is stored: after a crash in between it is repeated.
            let parts = &self.parts;
            let (pipelines, data) = (&parts.pipelines, &parts.data);
            let storage = &parts.storage;
            pipelines
                .at_end(&parts.store, data, storage, finished)
                .await;
            job.update(|progress| {
                progress.state = CrawlState::Ended;
                progress.stop = Some(stop);
            });
            if let Err(error) = self.store_end(&job.id, stop).await {
                tracing::error!(crawl = job.id, error = %error, "could not store the end of a crawl");
            }
        }
        drop(membership);
    }

    /// Parks a crawl that ran or waited to run.
    async fn park(&self, job: &Job, reason: StopReason) {
        job.update(|progress| {
            progress.state = CrawlState::Parked;
            progress.stop = Some(reason);
        });
        let parked = self.parts.store.park_crawl(&job.id, Some(reason)).await;
        if let Err(error) = parked {
            tracing::error!(crawl = job.id, error = %error, "could not park a crawl");
        }
    }

    async fn store_end(&self, id: &str, stop: StopReason) -> Result<(), StoreError> {
        let now = self.parts.clock.now();
        self.parts.store.end_crawl(id, stop, now).await
    }
}

/// A crawl to run, from its record.
fn task(
    record: &CrawlRecord,
    plan: CrawlPlan,
    registry: Arc<Registry>,
    listener: Option<mpsc::Sender<Bytes>>,
    slot: Option<Arc<Slot>>,
) -> CrawlTask {
    let progress = CrawlProgress {
        state: first_state(record.in_background),
        stop: None,
        ..CrawlProgress::stored(record)
    };
    CrawlTask {
        job: Arc::new(Job::new(record, progress)),
        plan: Arc::new(plan),
        registry,
        listener,
        slot,
        payment: None,
    }
}

fn first_state(in_background: bool) -> CrawlState {
    if in_background {
        CrawlState::Queued
    } else {
        CrawlState::Running
    }
}

/// 128 random bits, so that ids cannot be guessed.
fn new_id() -> Result<String, CrawlError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|_| CrawlError::Random)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
