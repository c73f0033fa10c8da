//! Beginning, showing, stopping and taking up crawls.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::job::{CrawlProgress, Job};
use super::lock;
use super::start::{self, CrawlTask};
use crate::webhooks::Webhooks;
use trawl_billing::{AccountId, Billing, FundsError, Slot, Tariff};
use trawl_engine::page::{PageEngine, PageOutcome};
use trawl_model::clock::Clock;
use trawl_model::{StopReason, Terms, UrlRow};
use trawl_net::robots::Robots;
use trawl_net::sitemap::Sitemaps;
use trawl_plan::crawl::CrawlPlan;
use trawl_plugins::Registry;
use trawl_store::{CrawlCounts, CrawlRecord, CrawlState, PageLog, Store, StoreError};

/// Background crawls that run at once; more wait their turn. Each has up to 10 pages in flight.
const RUNNING_MAX: usize = 64;
/// Background crawls that one account may have waiting and running.
const PER_ACCOUNT_MAX: usize = 1_000;
/// Entries that wait for a slow reader of a streaming crawl.
const LISTENER_ENTRIES_MAX: usize = 16;
/// How long a stop waits for the pages in flight before it answers.
const STOP_TIME_MAX: Duration = Duration::from_millis(900);
/// How long an ended crawl can be asked for. Decision D50.
const KEPT_FOR: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Why a crawl cannot be begun, shown or changed.
#[derive(Debug, thiserror::Error)]
pub enum CrawlError {
    /// No such crawl of this account.
    #[error("there is no crawl with this id")]
    Unknown,
    /// Nothing is left to pay with.
    #[error(transparent)]
    Funds(#[from] FundsError),
    /// Too many crawls of this account wait or run.
    #[error("{PER_ACCOUNT_MAX} crawls of this account wait or run already")]
    TooMany,
    /// It cannot be resumed in its state.
    #[error("the crawl is {}, only a parked one can be resumed", .0.name())]
    NotParked(CrawlState),
    /// The request that is to be taken up makes no sense any more, a plugin may be gone.
    #[error("{0}")]
    Plan(String),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The operating system gave no random numbers.
    #[error("the operating system gave no random numbers")]
    Random,
}

/// Makes the plan of a stored request: request object, what else is stored of the crawl, plugins.
pub type Replan = dyn Fn(&str, &CrawlRecord, &Registry) -> Result<CrawlPlan, String> + Send + Sync;

/// What is to be done with the pages of a crawl that is at its end.
pub type AtEnd = dyn Fn(Crawls, Ending) -> BoxFuture<'static, ()> + Send + Sync;

/// A crawl that is at its end: all its pages are written down.
pub struct Ending {
    /// Its id.
    pub id: String,
    /// Whose it is.
    pub account: AccountId,
    /// What it was asked for as.
    pub verb: String,
    /// Its plan.
    pub plan: Arc<CrawlPlan>,
    /// The plugins that it ran on.
    pub registry: Arc<Registry>,
}

/// What crawls run on.
pub struct CrawlsParts {
    /// What serves and extracts pages.
    pub rooms: Arc<PageEngine>,
    /// Who obeys robots.txt.
    pub robots: Arc<Robots>,
    /// Who reads sitemaps.
    pub sitemaps: Arc<Sitemaps>,
    /// Where crawls are written down.
    pub store: Arc<dyn Store>,
    /// Who tells callers what happens.
    pub webhooks: Arc<Webhooks>,
    /// Who pays.
    pub billing: Billing,
    /// Prices of crawls that are paid by the page.
    pub tariff: Tariff,
    /// The time.
    pub clock: Clock,
    /// The data directory; page logs are below it.
    pub data: PathBuf,
    /// The plugins in effect now.
    pub snapshot: Arc<dyn Fn() -> Arc<Registry> + Send + Sync>,
    /// Writes a page's entry.
    pub write_entry: fn(&PageOutcome, &mut Vec<u8>),
    /// Understands stored requests.
    pub replan: Arc<Replan>,
    /// Called when all pages of a crawl are written down, before its end is.
    pub at_end: Arc<AtEnd>,
    /// Owner of the crawls' tasks.
    pub tasks: TaskTracker,
    /// Set when the server stops: crawls in the background pause.
    pub stop: CancellationToken,
    /// Set when the time that callers' streams have to finish is nearly over: their crawls end.
    pub last_call: CancellationToken,
}

/// All crawls of the server. Clones share them.
#[derive(Clone)]
pub struct Crawls {
    pub(super) parts: Arc<CrawlsParts>,
    jobs: Arc<Mutex<HashMap<String, Arc<Job>>>>,
    pub(super) places: Arc<Semaphore>,
}

/// A crawl to begin.
pub struct NewCrawl {
    /// Who asks and pays.
    pub account: AccountId,
    /// What to crawl.
    pub plan: CrawlPlan,
    /// The request object without the caller's secrets, to take the crawl up again after a restart.
    pub request: String,
    /// Whether the caller's secrets are needed for that.
    pub needs_secrets: bool,
    /// `crawl`, `links` or the name of a pipeline.
    pub verb: &'static str,
    /// What its pages cost and what they may use.
    pub terms: Terms,
    /// Under the Unlimited plan: the slot, which a crawl in the background holds to its end.
    pub slot: Option<Arc<Slot>>,
    /// The plugins that the plan was made on.
    pub registry: Arc<Registry>,
}

/// A crawl that was begun.
pub struct CrawlHandle {
    /// Its id.
    pub id: String,
    /// Its entries as they come, unless it runs in the background. Dropping this stops the crawl.
    pub entries: Option<mpsc::Receiver<Bytes>>,
}

/// A crawl as it stands.
#[derive(Clone, Debug)]
pub struct CrawlView {
    /// What the store knows.
    pub record: CrawlRecord,
    /// How far it is.
    pub tally: CrawlProgress,
}

impl Crawls {
    /// A desk without crawls yet.
    pub fn new(parts: CrawlsParts) -> Self {
        Self {
            parts: Arc::new(parts),
            jobs: Arc::default(),
            places: Arc::new(Semaphore::new(RUNNING_MAX)),
        }
    }

    /// Begins a crawl.
    ///
    /// # Errors
    /// [`CrawlError::Funds`] when nothing is left to pay with, [`CrawlError::TooMany`], or the store failed.
    pub async fn begin(&self, begin: NewCrawl) -> Result<CrawlHandle, CrawlError> {
        self.parts.billing.admit(&begin.account, begin.terms)?;
        let in_background = begin.plan.in_background;
        if in_background && self.of_account(&begin.account) >= PER_ACCOUNT_MAX {
            return Err(CrawlError::TooMany);
        }
        let id = new_id()?;
        let state = match in_background {
            true => CrawlState::Queued,
            false => CrawlState::Running,
        };
        let record = CrawlRecord {
            id: id.clone(),
            account: begin.account,
            request: begin.request,
            verb: begin.verb.to_owned(),
            terms: begin.terms,
            needs_secrets: begin.needs_secrets,
            in_background,
            state,
            stop: None,
            created: self.parts.clock.now(),
            ended: None,
            counts: CrawlCounts::default(),
        };
        self.parts.store.create_crawl(&record).await?;
        let (listener, entries) = match in_background {
            true => (None, None),
            false => {
                let (listener, entries) = mpsc::channel(LISTENER_ENTRIES_MAX);
                (Some(listener), Some(entries))
            }
        };
        // A streaming crawl's slot is in its answer.
        let slot = begin.slot.filter(|_| in_background);
        self.spawn(&record, begin.plan, begin.registry, listener, slot);
        Ok(CrawlHandle { id, entries })
    }

    /// A crawl of this account as it stands.
    ///
    /// # Errors
    /// [`CrawlError::Unknown`], or the store failed.
    pub async fn show(&self, account: &AccountId, id: &str) -> Result<CrawlView, CrawlError> {
        // Asked first: a crawl that ends in between is found in the store.
        let job = self.job(account, id);
        let record = self.record(account, id).await?;
        let tally = match job {
            Some(job) if !job.ended.is_cancelled() => job.tally(),
            _ => CrawlProgress {
                stop: record.stop,
                n_pages: record.counts.n_pages,
                n_failed: record.counts.n_failed,
                n_bytes: record.counts.n_bytes,
                spent: record.counts.spent,
                ..CrawlProgress::new(record.state)
            },
        };
        Ok(CrawlView { record, tally })
    }

    /// Stops a crawl: nothing more is fetched, pages in flight finish. Returns it as it stands then.
    ///
    /// # Errors
    /// [`CrawlError::Unknown`], or the store failed.
    pub async fn cancel(&self, account: &AccountId, id: &str) -> Result<CrawlView, CrawlError> {
        let record = self.record(account, id).await?;
        match self.job(account, id) {
            Some(job) => {
                job.count(|tally| tally.stop = tally.stop.or(Some(StopReason::Cancelled)));
                job.cancel.cancel();
                // Pages in flight may take longer; the answer then shows the crawl on its way out.
                let _in_time = tokio::time::timeout(STOP_TIME_MAX, job.ended.cancelled()).await;
            }
            None if record.state != CrawlState::Ended => {
                let now = self.parts.clock.now();
                self.parts
                    .store
                    .end_crawl(id, StopReason::Cancelled, now)
                    .await?;
            }
            None => {}
        }
        self.show(account, id).await
    }

    /// Takes up a parked crawl with the secrets it lacks: `request` is the stored request object with them.
    ///
    /// # Errors
    /// [`CrawlError::NotParked`], [`CrawlError::Plan`], [`CrawlError::Unknown`], or the store failed.
    pub async fn resume(
        &self,
        account: &AccountId,
        id: &str,
        request: &str,
    ) -> Result<CrawlView, CrawlError> {
        let record = self.record(account, id).await?;
        if record.state != CrawlState::Parked || self.job(account, id).is_some() {
            return Err(CrawlError::NotParked(record.state));
        }
        self.parts.billing.admit(account, record.terms)?;
        let registry = (self.parts.snapshot)();
        let plan = (self.parts.replan)(request, &record, &registry).map_err(CrawlError::Plan)?;
        self.parts
            .store
            .set_crawl_state(id, CrawlState::Queued)
            .await?;
        self.spawn(&record, plan, registry, None, None);
        self.show(account, id).await
    }

    /// Takes up what the last process left: background crawls go on by themselves, or park when they need secrets that were
    /// never stored; streaming ones end, their callers are gone. Forgets crawls that ended long ago.
    ///
    /// # Errors
    /// The store failed.
    pub async fn recover(&self) -> Result<(), CrawlError> {
        let parts = &self.parts;
        let now = parts.clock.now();
        for id in parts.store.expire_crawls(now.before(KEPT_FOR)).await? {
            PageLog::remove(&parts.data, &id)?;
        }
        for record in parts.store.unfinished_crawls().await? {
            if !record.in_background {
                parts
                    .store
                    .end_crawl(&record.id, StopReason::ServerStopped, now)
                    .await?;
            } else if record.needs_secrets {
                parts
                    .store
                    .set_crawl_state(&record.id, CrawlState::Parked)
                    .await?;
            } else {
                self.take_up_one(&record).await?;
            }
        }
        Ok(())
    }

    async fn take_up_one(&self, record: &CrawlRecord) -> Result<(), CrawlError> {
        let registry = (self.parts.snapshot)();
        match (self.parts.replan)(&record.request, record, &registry) {
            Ok(plan) => {
                tracing::info!(crawl = record.id, "a crawl of the last process goes on");
                // Taken before the first request is served. Decision D98: several crawls of one
                // request go on with a slot each; one that finds none free waits for it.
                let slot = match record.terms {
                    Terms::PayAsYouGo => None,
                    Terms::Unlimited => self.parts.billing.take_slot(&record.account).ok(),
                };
                self.spawn(record, plan, registry, None, slot.map(Arc::new));
            }
            Err(reason) => {
                tracing::error!(crawl = record.id, reason, "a crawl cannot go on");
                let now = self.parts.clock.now();
                self.parts
                    .store
                    .end_crawl(&record.id, StopReason::Failed, now)
                    .await?;
            }
        }
        Ok(())
    }

    /// Waits until no crawl runs, at most this long: after the server was told to stop, before its ledger closes.
    pub async fn finish(&self, time_max: Duration) {
        let running: Vec<_> = lock(&self.jobs).values().map(Arc::clone).collect();
        let all = futures_util::future::join_all(running.iter().map(|job| job.ended.cancelled()));
        if tokio::time::timeout(time_max, all).await.is_err() {
            tracing::warn!("crawls were still running when the time to drain was over");
        }
    }

    /// Entries of a crawl that are in the store: numbers from 1 in the order of finishing, those after `after`.
    ///
    /// # Errors
    /// [`CrawlError::Unknown`], or the store failed.
    pub async fn pages(
        &self,
        account: &AccountId,
        id: &str,
        after: u64,
        count_max: u32,
    ) -> Result<Vec<(u64, Bytes)>, CrawlError> {
        self.record(account, id).await?;
        let rows = self.parts.store.crawl_pages(id, after, count_max).await?;
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let (data, id) = (self.parts.data.clone(), id.to_owned());
        let read = tokio::task::spawn_blocking(move || {
            let log = PageLog::open(&data, &id)?;
            rows.iter()
                .map(|row| Ok((row.seq, Bytes::from(log.read(&row.place)?))))
                .collect::<Result<Vec<_>, StoreError>>()
        });
        let read = read
            .await
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()));
        Ok(read?)
    }

    /// Waits until a crawl has stored pages after `after`; `false` when it has ended and there will be none.
    pub async fn wait_for_pages(&self, account: &AccountId, id: &str, after: u64) -> bool {
        let Some(job) = self.job(account, id) else {
            return false;
        };
        let mut recorded = job.recorded.subscribe();
        tokio::select! {
            grown = recorded.wait_for(|last| *last > after) => grown.is_ok(),
            () = job.ended.cancelled() => *job.recorded.borrow() > after,
        }
    }

    /// Addresses that were not fetched, with their reasons, after number `after`.
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

    fn spawn(
        &self,
        record: &CrawlRecord,
        plan: CrawlPlan,
        registry: Arc<Registry>,
        listener: Option<mpsc::Sender<Bytes>>,
        slot: Option<Arc<Slot>>,
    ) {
        let tally = CrawlProgress {
            n_pages: record.counts.n_pages,
            n_failed: record.counts.n_failed,
            n_bytes: record.counts.n_bytes,
            spent: record.counts.spent,
            ..CrawlProgress::new(match record.in_background {
                true => CrawlState::Queued,
                false => CrawlState::Running,
            })
        };
        let verb = record.verb.clone();
        let job = Arc::new(Job::new(record, tally));
        lock(&self.jobs).insert(job.id.clone(), Arc::clone(&job));
        let crawls = self.clone();
        self.parts.tasks.spawn(async move {
            let beginning = CrawlTask {
                job: Arc::clone(&job),
                verb,
                plan: Arc::new(plan),
                registry,
                listener,
                slot,
            };
            start::run(&crawls, beginning).await;
            lock(&crawls.jobs).remove(&job.id);
            job.ended.cancel();
        });
    }

    fn job(&self, account: &AccountId, id: &str) -> Option<Arc<Job>> {
        let jobs = lock(&self.jobs);
        jobs.get(id)
            .filter(|job| job.account == *account)
            .map(Arc::clone)
    }

    fn of_account(&self, account: &AccountId) -> usize {
        let jobs = lock(&self.jobs);
        jobs.values()
            .filter(|job| job.in_background && job.account == *account)
            .count()
    }
}

/// 128 random bits: nobody guesses another account's crawl.
fn new_id() -> Result<String, CrawlError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|_| CrawlError::Random)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
