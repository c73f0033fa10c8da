//! Third-party scraping services: which may serve a page, the conversation with one, and how each is doing.
//!
//! An adapter (a plugin) says what to send and what a reply means. This room does the rest: it fills credentials in at the moment
//! of dispatch, sends to granted hosts only, follows no redirect, cuts every credential out of what comes back, and bounds the
//! conversation in time, size and rounds. See `wit/provider/1`.

mod breaker;
mod conversation;
mod dispatch;
mod eligible;
mod pooled;
mod scrub;
mod stats;
mod task;

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::sync::Semaphore;
use trawl_sdk::provider::{Charged, Class, Failure};
use url::Url;

pub use conversation::ROUNDS_MAX;
pub use dispatch::{Keys, Refused, prepare};
pub use eligible::{Candidate, Payment, ProviderQuery};
pub use pooled::{PooledError, PooledKeys};
pub use scrub::Scrubber;
pub use stats::{ProviderStatus, RouteCounters, RouteStatus, listed};
pub use task::{AttemptContext, task};

use breaker::Breakers;
use conversation::Conversation;
use stats::ProviderStats;
use trawl_model::{FetchedPage, Nanodollars, VendorUse};
use trawl_net::fetch::Fetcher;
use trawl_plan::PagePlan;
use trawl_plugins::Registry;

/// Pause before a service that broke down is asked once more.
const AGAIN_PAUSE: Duration = Duration::from_millis(500);
/// Longest `Retry-After` that a page waits for when nobody else can serve it.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(20);
/// Least time that is left for a conversation: less has no chance.
pub const TIME_MIN: Duration = Duration::from_millis(200);
/// Time that a service must have had before its silence counts against it: a page in a hurry says nothing of it.
const FAIR_TIME: Duration = Duration::from_secs(10);
/// Longest text of a failure that is kept, in characters.
const MESSAGE_CHARS_MAX: usize = 500;

/// The services. One for the whole server.
pub struct Providers {
    fetcher: Fetcher,
    pooled: PooledKeys,
    breakers: Breakers,
    board: ProviderStats,
    /// Adapter calls at once: no more than cores.
    calls: Arc<Semaphore>,
}

/// A page that a service served.
#[derive(Clone, Debug)]
pub struct VendorPage {
    /// The page.
    pub page: FetchedPage,
    /// A PNG picture, when it was asked for.
    pub picture: Option<Bytes>,
    /// Whether scripts ran, as far as is known.
    pub rendered: Option<bool>,
    /// How the service went about it: `plain`, `js`, …
    pub variant: String,
    /// What the service charged.
    pub cost: Nanodollars,
    /// The service's name for the request.
    pub request_id: Option<String>,
}

/// Why a service served no page. Its text holds no secret.
#[derive(Clone, Debug)]
pub struct VendorFailure {
    /// Which kind; `None` when the adapter itself is at fault.
    pub class: Option<Class>,
    /// For the caller: lower case, no full stop.
    pub message: String,
    /// Status of the target, if known.
    pub target_status: Option<u16>,
    /// After which time the service may be asked again.
    pub retry_after: Option<Duration>,
    /// Whether the service says that another try can help.
    pub retryable: Option<bool>,
    /// What the service charged nevertheless.
    pub cost: Nanodollars,
}

impl VendorFailure {
    /// Its name in metrics: a class, or `adapter`.
    pub fn name(&self) -> &'static str {
        self.class.map_or("adapter", Class::name)
    }

    fn adapter(message: impl Into<String>) -> Self {
        Self {
            class: None,
            ..Self::of(Class::Drift, message)
        }
    }

    fn of(class: Class, message: impl Into<String>) -> Self {
        Self {
            class: Some(class),
            message: message.into(),
            target_status: None,
            retry_after: None,
            retryable: None,
            cost: Nanodollars::ZERO,
        }
    }

    /// Whether nothing was sent at all: the adapter cannot do the page.
    pub fn is_unsent(&self) -> bool {
        self.class == Some(Class::Unsupported)
    }

    /// Whether the same service may be asked again at once. Contract: failure classes.
    fn deserves_another_try(&self) -> bool {
        let by_class = matches!(self.class, Some(Class::ProviderError | Class::TargetFailed));
        // What was charged once would be charged again.
        self.cost == Nanodollars::ZERO
            && self.class.is_some_and(is_transient)
            && self.retryable.unwrap_or(by_class)
    }
}

/// Classes after which another try of the same request can end otherwise.
fn is_transient(class: Class) -> bool {
    matches!(
        class,
        Class::ProviderError
            | Class::ProviderTimeout
            | Class::TargetFailed
            | Class::TargetBlocked
            | Class::TargetUnreachable
    )
}

impl Providers {
    /// Services reached through this fetcher's door, with these credentials of the operator.
    pub fn new(fetcher: Fetcher, pooled: PooledKeys) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self {
            fetcher,
            pooled,
            breakers: Breakers::default(),
            board: ProviderStats::default(),
            calls: Arc::new(Semaphore::new(cores)),
        }
    }

    /// The ways to have a page served, in the order they are tried.
    pub fn candidates(&self, registry: &Registry, wish: &ProviderQuery<'_>) -> Vec<Candidate> {
        let open = |key: &_| self.breakers.is_open(key, Instant::now());
        eligible::candidates(
            registry.providers(),
            wish,
            &self.pooled,
            &self.breakers,
            &open,
        )
    }

    /// The most that a service can charge for a page, if one can serve it.
    pub fn max_cost(&self, registry: &Registry, wish: &ProviderQuery<'_>) -> Option<VendorUse> {
        let any = |_: &_| true;
        let candidates = eligible::candidates(
            registry.providers(),
            wish,
            &self.pooled,
            &self.breakers,
            &any,
        );
        let uses = candidates.iter().map(|candidate| VendorUse {
            cost: candidate.plugin.grant().prices.most,
            byok: candidate.payment == Payment::Own,
        });
        // On the operator's credentials about ten times as much is billed.
        uses.max_by_key(|used| (!used.byok, used.cost))
    }

    /// Has a page served. Asks the same service a second time where that can help; `is_last` says that nobody else is left, so
    /// that waiting for it is better than giving up.
    ///
    /// # Errors
    /// [`VendorFailure`].
    pub async fn serve(
        &self,
        candidate: &Candidate,
        plan: &PagePlan,
        url: &Url,
        javascript: bool,
        deadline: Instant,
        is_last: bool,
    ) -> Result<VendorPage, VendorFailure> {
        let first = self
            .attempt(candidate, plan, url, javascript, deadline)
            .await;
        let failure = match first {
            Err(failure) => failure,
            served => return served,
        };
        let pause = failure.retry_after.unwrap_or(AGAIN_PAUSE);
        let deserves_it = match failure.class {
            Some(Class::RateLimited) => is_last,
            _ => failure.deserves_another_try(),
        };
        let pause_max = if is_last {
            RETRY_AFTER_MAX
        } else {
            AGAIN_PAUSE
        };
        let left = deadline.saturating_duration_since(Instant::now());
        if !deserves_it || pause > pause_max || pause + TIME_MIN > left {
            return Err(failure);
        }
        tokio::time::sleep(pause).await;
        let second = self
            .attempt(candidate, plan, url, javascript, deadline)
            .await;
        match second {
            Ok(page) => Ok(VendorPage {
                cost: page.cost.saturating_add(failure.cost),
                ..page
            }),
            Err(again) => Err(VendorFailure {
                cost: again.cost.saturating_add(failure.cost),
                ..again
            }),
        }
    }

    /// How each service is doing, in the order of the manifest.
    pub fn status(&self, registry: &Registry) -> Vec<ProviderStatus> {
        let now = Instant::now();
        let status = |plugin: &Arc<trawl_plugins::ProviderPlugin>| {
            let has_pooled = self.pooled.keys(plugin).is_some();
            let paused = self.breakers.paused(&plugin.info().name, now);
            self.board.status(plugin, has_pooled, paused)
        };
        registry.providers().map(status).collect()
    }

    /// The counters of a way, for what is billed later.
    pub fn tally(&self, candidate: &Candidate) -> RouteCounters {
        self.board.tally(candidate.name(), candidate.payment)
    }

    async fn attempt(
        &self,
        candidate: &Candidate,
        plan: &PagePlan,
        url: &Url,
        javascript: bool,
        deadline: Instant,
    ) -> Result<VendorPage, VendorFailure> {
        let begun = Instant::now();
        let grant = candidate.plugin.grant();
        let deadline = deadline.min(begun + grant.time_max);
        let left = deadline.saturating_duration_since(begun);
        if left < TIME_MIN {
            let message = "no time is left to ask it";
            return Err(VendorFailure::of(Class::Unsupported, message));
        }
        let engagement = AttemptContext {
            javascript,
            time: left,
            grant,
        };
        let conversation = Conversation {
            plugin: &candidate.plugin,
            keys: &candidate.keys,
            task: Arc::new(task(plan, url, &engagement)),
            deadline,
            fetcher: &self.fetcher,
            calls: &self.calls,
        };
        let outcome = conversation.hold(url).await;
        let elapsed = begun.elapsed();
        if outcome.as_ref().is_err_and(VendorFailure::is_unsent) {
            return outcome;
        }
        self.board.count(candidate, &outcome, elapsed);
        let is_hurried = left < FAIR_TIME.min(grant.time_max)
            && matches!(&outcome, Err(failure) if failure.class == Some(Class::ProviderTimeout));
        if !is_hurried {
            self.breakers
                .note(&candidate.breaker, &outcome, begun, Instant::now());
        }
        if let Err(failure) = &outcome {
            tracing::warn!(
                provider = candidate.name(),
                class = failure.name(),
                own_key = candidate.payment == Payment::Own,
                elapsed_ms = elapsed.as_millis() as u64,
                "a provider served no page"
            );
        }
        outcome
    }
}

/// A failure of the adapter's words as one of the room's.
fn failed(failure: Failure, cost: Nanodollars) -> VendorFailure {
    let code = failure.code.map(|code| format!(" ({code})"));
    VendorFailure {
        class: Some(failure.class),
        message: format!("{}{}", failure.message, code.unwrap_or_default())
            .chars()
            .take(MESSAGE_CHARS_MAX)
            .collect(),
        target_status: failure.target_status,
        retry_after: failure
            .retry_after
            .map(|seconds| Duration::from_secs(seconds.into())),
        retryable: failure.retryable,
        cost: match failure.cost.charged {
            Charged::Yes => cost,
            Charged::No | Charged::Unknown => Nanodollars::ZERO,
        },
    }
}
