//! Starting, showing, cancelling and resuming crawls.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc;

use trawl_billing::{AccountId, FundsError, Payment, Slot, SubscriptionError};
use trawl_model::secret::Secret;
use trawl_model::{StopReason, Terms};
use trawl_plan::crawl::CrawlPlan;
use trawl_plugins::Registry;
use trawl_store::{CrawlCounts, CrawlRecord, CrawlState, StorageRefusal, StoreError};
use trawl_wire::{LeftOut, PlannedCrawl};

use super::drive::Ended;
use super::job::{CrawlProgress, Job};
use super::jobs::{Jobs, Membership};
use super::limits::{CrawlLimits, CrawlPlaces, CrawlsInUse, Places, TooManyCrawls, Turns};
use super::parts::CrawlsParts;
use super::pipeline::FinishedCrawl;
use super::planning::{Planner, Ready, Source, Stored};
use super::queued::{Queued, QueuedBytes, TooManyBytes};
use super::recovery::Recovery;
use super::start::{self, CrawlTask};
use super::webhooks::{WebhookLimits, WebhooksFull};

/// Background crawls that run at once; more are queued. Each has up to 10 pages in flight.
const RUNNING_MAX: usize = 64;
/// Entries that are buffered for a slow reader of a streaming crawl.
const BUFFERED_ENTRIES_MAX: usize = 16;
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
    pub(super) parts: Arc<CrawlsParts>,
    pub(super) jobs: Jobs,
    pub(super) places: Arc<Places>,
    pub(super) queued: Arc<Queued>,
    pub(super) recovery: Arc<Recovery>,
    turns: Arc<Turns>,
    planner: Arc<Planner>,
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
    /// Those of a background crawl, which wait with it in memory.
    pub secrets: Option<Secret>,
    /// `crawl`, `links` or the name of a pipeline.
    pub verb: &'static str,
    /// What its pages cost and what they may use.
    pub terms: Terms,
    /// The slot under the Unlimited plan. A background crawl holds it until it ends.
    pub slot: Option<Arc<Slot>>,
    /// The plugins that the plan was made with. A background crawl is planned again at its turn,
    /// with those in effect then.
    pub registry: Arc<Registry>,
    /// What it takes of the limits of the account, from [`Crawls::admit`].
    pub admitted: AdmittedCrawl,
    /// Under which name its pages are charged, for a request that may be repeated; by default its
    /// id. A background crawl has it as its id, so that a repetition finds it.
    pub payment: Option<Payment>,
}

/// What a crawl that may start takes of the limits of its account; given back on drop.
#[derive(Debug)]
pub struct AdmittedCrawl {
    /// Its place among the crawls of the account.
    places: CrawlPlaces,
    /// The bytes of a background crawl's request.
    queued: Option<QueuedBytes>,
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
    /// A service without crawls. [`Self::interrupt`] and [`Self::recover`] continue those of the
    /// last process.
    pub fn new(parts: CrawlsParts) -> Self {
        let running_max = parts.limits.background_running;
        Self {
            parts: Arc::new(parts),
            jobs: Jobs::default(),
            places: Arc::default(),
            queued: Arc::default(),
            recovery: Arc::default(),
            turns: Arc::new(Turns::new(RUNNING_MAX, running_max)),
            planner: Arc::default(),
        }
    }

    /// Checks that a request may start these crawls, all of them or none, and takes their places,
    /// in the order of the crawls.
    ///
    /// # Errors
    /// [`CrawlError::TooMany`], [`CrawlError::TooManyBytes`], [`CrawlError::Storage`] or
    /// [`CrawlError::WebhooksFull`] name the limit that is reached; or the store failed.
    pub async fn admit(
        &self,
        account: &AccountId,
        crawls: &[PlannedCrawl],
    ) -> Result<Vec<AdmittedCrawl>, CrawlError> {
        self.parts.storage.admit(account).await?;
        let plans: Vec<&CrawlPlan> = crawls.iter().map(|crawl| &crawl.plan).collect();
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
        let admitted = crawls.iter().map(|crawl| {
            if !crawl.plan.in_background {
                return Ok::<_, CrawlError>(AdmittedCrawl {
                    places: streaming.split(),
                    queued: None,
                });
            }
            let secrets = crawl
                .secrets
                .as_ref()
                .map_or(0, |secrets| secrets.expose().len());
            let queued = self.queued.take(account, crawl.request.len(), secrets)?;
            Ok(AdmittedCrawl {
                places: background.split(),
                queued: Some(queued),
            })
        });
        admitted.collect()
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

    /// Number of crawls of an account.
    pub fn in_use(&self, account: &AccountId) -> CrawlsInUse {
        self.places.in_use(account)
    }

    /// Starts a crawl. A caller who hangs up leaves no crawl behind that is stored and does not
    /// run.
    ///
    /// # Errors
    /// [`CrawlError::Funds`] when the account cannot pay, or the store failed.
    pub async fn begin(&self, new: NewCrawl) -> Result<CrawlHandle, CrawlError> {
        if let Some(known) = self.repeated(&new).await {
            return Ok(known);
        }
        self.parts.billing.admit(&new.account, new.terms)?;
        let crawls = self.clone();
        let creating = async move { crawls.create(new).await };
        self.parts.billing.to_its_end(creating).await
    }

    /// The background crawl that an earlier try of the same request has started.
    async fn repeated(&self, new: &NewCrawl) -> Option<CrawlHandle> {
        let payment = new.payment.as_ref()?;
        if !new.plan.in_background || !payment.is_repeated {
            return None;
        }
        let id = payment.name.to_string();
        self.record(&new.account, &id).await.ok()?;
        Some(CrawlHandle {
            paid_as: id.clone(),
            id,
            entries: None,
        })
    }

    /// Stores a crawl and runs it.
    async fn create(&self, new: NewCrawl) -> Result<CrawlHandle, CrawlError> {
        let in_background = new.plan.in_background;
        let payment = new.payment;
        let id = match &payment {
            Some(payment) if in_background => payment.name.to_string(),
            _ => new_id()?,
        };
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
        let AdmittedCrawl { places, queued } = new.admitted;
        let source = |job: &Job| match queued {
            // Only the row is left of its request.
            Some(queued) => Source::Stored(Stored {
                queued,
                secrets: new.secrets,
            }),
            None => {
                let n_bytes = record.request.len();
                Source::Planned(Ready::new(
                    &self.parts,
                    job,
                    new.plan,
                    new.registry,
                    n_bytes,
                ))
            }
        };
        let (listener, entries) = if in_background {
            (None, None)
        } else {
            let (listener, entries) = mpsc::channel(BUFFERED_ENTRIES_MAX);
            (Some(listener), Some(entries))
        };
        // A streaming crawl's slot is part of its response body.
        let slot = new.slot.filter(|_| in_background);
        self.parts.store.create_crawl(&record).await?;
        let name = payment.as_ref().map(|payment| payment.name.to_string());
        let task = CrawlTask {
            payment,
            ..task_from(&record, source, listener, slot)
        };
        if let Some(membership) = self.jobs.enter(&task.job, places) {
            self.spawn(task, membership);
        }
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
        let (crawls, account, id) = (self.clone(), account.clone(), id.to_owned());
        let ending = async move { crawls.end(&account, &id).await };
        self.parts.billing.to_its_end(ending).await
    }

    /// Ends a crawl because its owner wants it.
    async fn end(&self, account: &AccountId, id: &str) -> Result<CrawlView, CrawlError> {
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
        let secrets = trawl_wire::kept_secrets(request);
        let n_bytes = record.request.len();
        let queued = self.queued.take(account, n_bytes, secrets.expose().len())?;
        let source = Source::Stored(Stored {
            queued,
            secrets: Some(secrets),
        });
        let task = task(&record, source, None, None);
        // So that wrong secrets are refused now, and not at the crawl's turn.
        let registry = (self.parts.snapshot)();
        let request = (request.to_owned(), None);
        let planned = self
            .planner
            .replan(&self.parts, &task.job, &record.verb, request, &registry);
        drop(planned.await.map_err(CrawlError::Plan)?);
        // It may have been resumed or cancelled since it was looked up.
        let is_parked = match self.jobs.enter(&task.job, places) {
            Some(membership) => self.unpark(task, membership).await?,
            None => false,
        };
        let view = self.show(account, id).await?;
        match is_parked {
            true => Ok(view),
            false => Err(CrawlError::NotParked(view.progress.state)),
        }
    }

    /// Queues a parked crawl and runs it; `false` if it is not parked.
    async fn unpark(&self, task: CrawlTask, membership: Membership) -> Result<bool, StoreError> {
        let crawls = self.clone();
        let unparking = async move {
            let is_parked = crawls.parts.store.unpark_crawl(&task.job.id).await?;
            if is_parked {
                crawls.spawn(task, membership);
            }
            Ok::<_, StoreError>(is_parked)
        };
        self.parts.billing.to_its_end(unparking).await
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

    /// The record of an account's crawl.
    pub(super) async fn record(
        &self,
        account: &AccountId,
        id: &str,
    ) -> Result<CrawlRecord, CrawlError> {
        // Asked before the record is read.
        let is_recovered = self.recovery.is_done();
        let record = self.parts.store.crawl(account, id).await?;
        let mut record = record.ok_or(CrawlError::Unknown)?;
        if !is_recovered
            && record.state == CrawlState::Running
            && self.jobs.find(account, id).is_none()
        {
            // The last process ran it; in this one it waits.
            record.state = CrawlState::Queued;
        }
        Ok(record)
    }

    pub(super) fn spawn(&self, task: CrawlTask, membership: Membership) {
        let run = self.clone().run(task, membership);
        self.parts.tasks.spawn(run);
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
            if let Some(ready) = &ready {
                self.finish_pipeline(&job, verb, ready).await;
            }
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

    /// Parks a crawl that ran or waited to run. It is shown as parked once it is stored and no
    /// member any more: who sees that may resume it.
    async fn park(&self, job: &Job, reason: StopReason) {
        let parked = self.parts.store.park_crawl(&job.id, Some(reason)).await;
        if let Err(error) = parked {
            tracing::error!(crawl = job.id, error = %error, "could not park a crawl");
        }
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
        let (pipelines, data, storage) = (&parts.pipelines, &parts.data, &parts.storage);
        pipelines
            .at_end(&parts.store, data, storage, finished)
            .await;
    }

    async fn store_end(&self, id: &str, stop: StopReason) -> Result<(), StoreError> {
        let now = self.parts.clock.now();
        self.parts.store.end_crawl(id, stop, now).await
    }
}

/// A crawl to run, from its record.
pub(super) fn task(
    record: &CrawlRecord,
    source: Source,
    listener: Option<mpsc::Sender<Bytes>>,
    slot: Option<Arc<Slot>>,
) -> CrawlTask {
    task_from(record, |_| source, listener, slot)
}

/// The same with a source that needs the job.
fn task_from(
    record: &CrawlRecord,
    source: impl FnOnce(&Job) -> Source,
    listener: Option<mpsc::Sender<Bytes>>,
    slot: Option<Arc<Slot>>,
) -> CrawlTask {
    let progress = CrawlProgress {
        state: first_state(record.in_background),
        stop: None,
        ..CrawlProgress::stored(record)
    };
    let job = Arc::new(Job::new(record, progress));
    CrawlTask {
        source: source(&job),
        job,
        verb: record.verb.clone(),
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
