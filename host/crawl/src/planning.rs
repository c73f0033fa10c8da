//! Plans a crawl at its turn. A queued crawl is a row: its request is read when it may run, under a
//! lease of its account's memory, and planned on a thread that may block. Decision D281.

use std::sync::Arc;

use trawl_model::fair::FairSemaphore;
use trawl_model::memory::{Held, MemoryKind, MemoryLease, PageMemory};
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
/// Memory for rows of URLs that are read back, a few windows of them.
const ROWS_BYTES: usize = 1 << 20;

/// What a crawl is planned from.
pub(super) enum PlanSource {
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

/// A crawl that is planned.
pub(super) struct Ready {
    /// What to crawl.
    pub(super) plan: Arc<CrawlPlan>,
    /// The plugins of the plan.
    pub(super) registry: Arc<Registry>,
    /// Memory for the rows of its URLs, if it may have stored some.
    pub(super) rows: Option<MemoryLease>,
    /// The memory of the plan.
    _memory: MemoryLease,
}

/// The memory that a stored crawl needs before it runs: it is waited for before the crawl holds a
/// permit that others wait for.
pub(super) struct PlanMemory {
    /// For its request and its plan.
    request: MemoryLease,
    /// For the rows of its URLs.
    rows: MemoryLease,
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

impl PlanSource {
    /// Waits for the memory that it takes to plan and restore a crawl from here; `None` if nothing
    /// is read back. Cancel-safe.
    pub(super) async fn room(&self, parts: &CrawlsParts, job: &Job) -> Option<PlanMemory> {
        match self {
            Self::Planned(_) => None,
            Self::Stored(stored) => {
                Some(PlanMemory::of(parts, job, stored.queued.request_bytes()).await)
            }
        }
    }

    /// Plans a crawl with the memory from [`Self::room`], or waits for it without.
    pub(super) async fn plan(
        self,
        parts: &Arc<CrawlsParts>,
        planner: &Planner,
        (job, verb): (&Job, &str),
        room: Option<PlanMemory>,
    ) -> Result<Ready, Unplanned> {
        let stored = match self {
            Self::Planned(ready) => return Ok(ready),
            Self::Stored(stored) => stored,
        };
        let room = match room {
            Some(room) => room,
            None => PlanMemory::of(parts, job, stored.queued.request_bytes()).await,
        };
        planner.plan(parts, job, verb, (stored, room)).await
    }
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
        let listed = named.saturating_add(batch_bytes(&plan));
        let mut lease = memory(parts, job).lease_for(MemoryKind::RequestBodies);
        lease.record(request_bytes.saturating_add(listed));
        Self {
            plan: Arc::new(plan),
            registry,
            rows: None,
            _memory: lease,
        }
    }
}

impl PlanMemory {
    /// Waits for the memory of a crawl. Cancel-safe.
    pub(super) async fn of(parts: &CrawlsParts, job: &Job, request_bytes: u64) -> Self {
        // It ends with the wait: who has the memory waits for nothing else in front of others.
        let claim = memory(parts, job);
        let kinds = [MemoryKind::RequestBodies, MemoryKind::Stored];
        let [mut request, mut rows] = kinds.map(|kind| claim.lease_for(kind));
        let planned = bytes(parts, request_bytes, WHILE_PLANNED);
        // Others of the account end some day, and give their memory back.
        while request.grow_to(planned).await.is_err() || rows.grow_to(ROWS_BYTES).await.is_err() {
            tracing::debug!(crawl = job.id, "a crawl waits for memory to be planned");
        }
        Self { request, rows }
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
    /// Plans a crawl from its stored request, with the plugins in effect. Cancel-safe.
    pub(super) async fn plan(
        &self,
        parts: &Arc<CrawlsParts>,
        job: &Job,
        verb: &str,
        (stored, room): (Stored, PlanMemory),
    ) -> Result<Ready, Unplanned> {
        let PlanMemory { request, rows } = room;
        let request = parts.store.crawl_request(&job.id, request).await?;
        let request = request.ok_or_else(|| Unplanned::Invalid("it is not stored".to_owned()))?;
        let registry = (parts.snapshot)();
        let stored_bytes = stored.queued.request_bytes();
        let complete = (request, stored.secrets.clone());
        let planned = self.replan(parts, job, verb, complete, &registry);
        let (plan, mut lease) = planned.await.map_err(Unplanned::Invalid)?;
        drop(stored);
        let n_bytes = bytes(parts, stored_bytes, PLANNED);
        lease.shrink_to(n_bytes);
        lease.record_at_least(n_bytes.saturating_add(batch_bytes(&plan)));
        Ok(Ready {
            plan: Arc::new(plan),
            registry,
            rows: Some(rows),
            _memory: lease,
        })
    }

    /// Plans a request object, completed with these secrets, on a thread that may block. The memory
    /// of the request comes back with the plan. The error names the wrong parameter.
    pub(super) async fn replan(
        &self,
        parts: &Arc<CrawlsParts>,
        job: &Job,
        verb: &str,
        (request, secrets): (Held<String>, Option<Secret>),
        registry: &Arc<Registry>,
    ) -> Result<(CrawlPlan, MemoryLease), String> {
        let turn = self.turns.acquire(job.account.as_str()).await;
        let (parts, registry) = (Arc::clone(parts), Arc::clone(registry));
        let (verb, terms) = (verb.to_owned(), job.terms);
        let planning = tokio::task::spawn_blocking(move || {
            // Held until the thread is done, even if the crawl was cancelled.
            let _turn = turn;
            let (request, lease) = request.into_parts();
            let request = match secrets {
                Some(secrets) => trawl_wire::with_kept_secrets(&request, &secrets),
                None => request,
            };
            let defaults = parts.defaults.with_terms(terms);
            let plan = trawl_wire::crawl_plan(&request, &verb, &*registry, defaults);
            plan.map(|plan| (plan, lease))
        });
        planning.await.unwrap_or_else(|_| {
            // The log of the panic itself says where. Its message may contain the request's values.
            tracing::error!("planning a stored crawl panicked");
            Err("the stored request cannot be planned".to_owned())
        })
    }
}

/// Memory for a request of so many bytes while it is planned.
pub(super) fn bytes_while_planned(parts: &CrawlsParts, request_bytes: u64) -> usize {
    bytes(parts, request_bytes, WHILE_PLANNED)
}

/// Memory of the plans of a batch's pages. A crawl has them twice: as the caller wants them, and as
/// they are served.
fn batch_bytes(plan: &CrawlPlan) -> usize {
    plan.batch.as_ref().map_or(0, |batch| 2 * batch.bytes())
}

/// A multiple of a request's bytes, at most what would be granted.
fn bytes(parts: &CrawlsParts, request_bytes: u64, multiple: u64) -> usize {
    let capacity = parts.engine.memory.in_use().capacity;
    let wanted = request_bytes.saturating_mul(multiple);
    usize::try_from(wanted.min(capacity / SHARE_OF_BUDGET)).unwrap_or(usize::MAX)
}

/// A claim of a crawl on the memory of its account's crawls. It is a share of its own: a crawl
/// holds its plan for as long as it runs, and its pages must not wait for that.
fn memory(parts: &CrawlsParts, job: &Job) -> PageMemory {
    let share = format!("crawls of {}", job.account);
    parts.engine.memory.share(&share).page()
}

#[cfg(test)]
mod tests {
    use trawl_plan::PagePlan;

    use super::*;
    use crate::batch_pages::tests::batch;
    use crate::frontier::tests::plan;

    #[test]
    fn the_pages_of_a_batch_count_as_memory() {
        let crawl = plan("http://a.example/");
        assert_eq!(batch_bytes(&crawl), 0);
        let of_batch = CrawlPlan {
            batch: Some(batch(&["http://a.example/"; 100])),
            ..crawl
        };
        assert!(batch_bytes(&of_batch) > 2 * 100 * size_of::<PagePlan>());
    }
}
