//! Plans a crawl at its turn. A queued crawl is a row: its request is read when it may run, under a
//! lease of its account's memory, and planned on a thread that may block. Decision D281.

use std::sync::Arc;

use trawl_model::fair::FairSemaphore;
use trawl_model::memory::{MemoryKind, MemoryLease, PageMemory};
use trawl_model::secret::Secret;
use trawl_plan::crawl::CrawlPlan;
use trawl_plugins::Registry;
use trawl_store::StoreError;

use super::job::Job;
use super::parts::CrawlsParts;
use super::queued::QueuedBytes;

/// Crawls that are planned at once, of each account one: a plugin that checks its options may take
/// long.
const PLANNED_AT_ONCE_MAX: usize = 4;
/// Memory that a request takes while it is planned, in multiples of its bytes: the text, its JSON,
/// the URLs in it and what is stored of them.
const WHILE_PLANNED: u64 = 6;
/// Memory that a plan takes with the URLs that the crawl starts with.
const PLANNED: u64 = 3;
/// The part of the memory budget that one plan takes at most. More would never be granted.
const SHARE_OF_BUDGET: u64 = 8;

/// What a crawl is planned from.
pub(super) enum Source {
    /// It was planned when it was requested: a streaming crawl.
    Planned(Ready),
    /// The stored request.
    Stored(Stored),
}

/// A request in the store.
pub(super) struct Stored {
    /// Its bytes, which count until it is planned.
    pub(super) queued: QueuedBytes,
    /// The secrets that it lacks.
    pub(super) secrets: Option<Secret>,
}

/// A crawl that is planned. Clones share it.
#[derive(Clone)]
pub(super) struct Ready {
    /// What to crawl.
    pub(super) plan: Arc<CrawlPlan>,
    /// The plugins of the plan.
    pub(super) registry: Arc<Registry>,
    /// The memory of the plan, given back with its last clone.
    _memory: Arc<MemoryLease>,
}

/// Plans stored requests.
pub(super) struct Planner {
    turns: Arc<FairSemaphore>,
}

/// Why a stored request could not be planned.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unplanned {
    /// It is no longer valid, perhaps because a plugin is not loaded any more.
    #[error("{0}")]
    Invalid(String),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Ready {
    /// A crawl that was planned when it was requested. Its memory counts, and waits for nothing.
    pub(super) fn new(
        parts: &CrawlsParts,
        job: &Job,
        plan: CrawlPlan,
        registry: Arc<Registry>,
        request_bytes: usize,
    ) -> Self {
        let named = plan.named.as_ref().map_or(0, |named| named.bytes());
        let mut lease = memory(parts, job).lease_for(MemoryKind::RequestBodies);
        lease.record(request_bytes.saturating_add(named));
        Self {
            plan: Arc::new(plan),
            registry,
            _memory: Arc::new(lease),
        }
    }
}

impl Default for Planner {
    fn default() -> Self {
        Self {
            turns: FairSemaphore::new(PLANNED_AT_ONCE_MAX, 1),
        }
    }
}

impl Planner {
    /// Plans a crawl from its stored request, with the plugins in effect. Waits for the memory.
    /// Cancel-safe.
    pub(super) async fn plan(
        &self,
        parts: &Arc<CrawlsParts>,
        job: &Job,
        verb: &str,
        stored: Stored,
    ) -> Result<Ready, Unplanned> {
        let claim = memory(parts, job);
        let mut lease = claim.lease_for(MemoryKind::RequestBodies);
        let capacity = parts.engine.memory.in_use().capacity;
        let within = |multiple: u64| {
            let wanted = stored.queued.request_bytes().saturating_mul(multiple);
            usize::try_from(wanted.min(capacity / SHARE_OF_BUDGET)).unwrap_or(usize::MAX)
        };
        // Others of the account end some day, and give their memory back.
        while lease.grow_to(within(WHILE_PLANNED)).await.is_err() {
            tracing::debug!(crawl = job.id, "a crawl waits for memory to be planned");
        }
        let record = parts.store.crawl(&job.account, &job.id).await?;
        let record = record.ok_or_else(|| Unplanned::Invalid("it is not stored".to_owned()))?;
        let registry = (parts.snapshot)();
        let request = record.request;
        let planned = self.replan(
            parts,
            job,
            verb,
            (request, stored.secrets.clone()),
            &registry,
        );
        let plan = planned.await.map_err(Unplanned::Invalid)?;
        drop(claim);
        lease.shrink_to(within(PLANNED));
        Ok(Ready {
            plan: Arc::new(plan),
            registry,
            _memory: Arc::new(lease),
        })
    }

    /// Plans a request object, completed with these secrets, on a thread that may block. The error
    /// names the wrong parameter.
    pub(super) async fn replan(
        &self,
        parts: &Arc<CrawlsParts>,
        job: &Job,
        verb: &str,
        (request, secrets): (String, Option<Secret>),
        registry: &Arc<Registry>,
    ) -> Result<CrawlPlan, String> {
        let turn = self.turns.acquire(job.account.as_str()).await;
        let (parts, registry) = (Arc::clone(parts), Arc::clone(registry));
        let (verb, terms) = (verb.to_owned(), job.terms);
        let planning = tokio::task::spawn_blocking(move || {
            // Held until the thread is done, even if the crawl was cancelled.
            let _turn = turn;
            let request = match secrets {
                Some(secrets) => trawl_wire::with_kept_secrets(&request, &secrets),
                None => request,
            };
            let defaults = parts.defaults.with_terms(terms);
            trawl_wire::crawl_plan(&request, &verb, &*registry, defaults)
        });
        planning.await.unwrap_or_else(|_| {
            // The log of the panic itself says where. Its message may contain the request's values.
            tracing::error!("planning a stored crawl panicked");
            Err("the stored request cannot be planned".to_owned())
        })
    }
}

/// A claim of a crawl on the memory of its account's crawls. It is a share of its own: a crawl
/// holds its plan for as long as it runs, and its pages must not wait for that.
fn memory(parts: &CrawlsParts, job: &Job) -> PageMemory {
    let share = format!("crawls of {}", job.account);
    parts.engine.memory.share(&share).page()
}
