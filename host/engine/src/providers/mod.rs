//! Third-party scraping providers: which may serve a page, the conversation with one, and
//! statistics.
//!
//! An adapter (a plugin) makes requests and interprets replies. This module does the I/O: it fills
//! in credentials at dispatch, sends to granted hosts only, follows no redirect, removes every
//! credential from replies, and bounds the conversation in time, size and rounds. See
//! `wit/provider/1`.
//!
//! Candidates are tried by preference, then in the order of `plugins.toml`, the caller's key before
//! the operator's; ineligible ones and ones that cool down are skipped. A failure has a class:
//! another try, the next route, or a pause for the key or the service. What a rule refuses
//! (robots.txt, an IP address that is not public) is never retried through a provider. An adapter
//! that is stopped in the middle of a paid job has its `on_cancel` request sent.

mod breaker;
mod conversation;
mod dispatch;
mod eligible;
mod pooled;
mod scrub;
mod search;
mod sender;
mod stats;
mod task;
mod unfit;

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;

use trawl_contract::provider::{Charged, Class, Failure};
use trawl_model::fair::FairSemaphore;
use trawl_model::memory::PageMemory;
use trawl_model::{FetchedPage, Nanodollars};
use trawl_net::fetch::Fetcher;
use trawl_plan::PagePlan;
use trawl_plugins::Registry;

use breaker::Breakers;
use conversation::Conversation;
use stats::ProviderStats;

pub use breaker::Pause;
pub use conversation::ROUNDS_MAX;
pub use dispatch::{Keys, Refused, prepare};
pub use eligible::{Candidate, Choice, Payment, ProviderQuery};
pub use pooled::{PooledError, PooledKeys};
pub use scrub::Scrubber;
pub use search::{Found, SearchBackend};
pub use stats::{OfferedProvider, ProviderStatus, RouteCounters, RouteStatus, listed};
pub use task::{AttemptContext, task};
pub use unfit::{Ineligible, Needs, unfit};

/// Pause before a retry at a provider that failed.
const RETRY_DELAY: Duration = Duration::from_millis(500);
/// Longest `Retry-After` that a page waits for if no other route is left.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(20);
/// Least time left in which a conversation is started: with less it has no chance.
pub const TIME_MIN: Duration = Duration::from_millis(200);
/// Time that a provider must have had before a timeout counts as its failure: a page cut short by
/// its own deadline is not one.
const FAIR_TIME: Duration = Duration::from_secs(10);
/// Longest message of a failure, in characters.
const MESSAGE_CHARS_MAX: usize = 500;

/// The providers. One for the whole server.
pub struct Providers {
    fetcher: Fetcher,
    pooled: PooledKeys,
    breakers: Breakers,
    stats: ProviderStats,
    /// Adapter calls at once: no more than cores, which accounts share fairly.
    calls: Arc<FairSemaphore>,
}

/// A page that a provider served.
#[derive(Clone, Debug)]
pub struct VendorPage {
    /// The page.
    pub page: FetchedPage,
    /// A PNG screenshot, if requested.
    pub screenshot: Option<Bytes>,
    /// Whether scripts ran; `None` if that is not known.
    pub rendered: Option<bool>,
    /// The provider's variant: `plain`, `js`, …
    pub variant: String,
    /// What the provider charged.
    pub cost: Nanodollars,
    /// Where that amount comes from.
    pub cost_source: CostSource,
    /// The provider's id of the request.
    pub request_id: Option<String>,
}

/// Where the cost of a page comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CostSource {
    /// The provider reported it, or charges nothing.
    Reported,
    /// The operator's price table.
    Listed,
    /// The lowest price of the table, because nothing is known.
    Assumed,
}

/// Why a provider served no page. Its text has no secret in it.
#[derive(Clone, Debug)]
pub struct VendorFailure {
    /// The class; `None` if the adapter itself is at fault.
    pub class: Option<Class>,
    /// For the caller: lower case, no full stop.
    pub message: String,
    /// Status of the target, if known.
    pub target_status: Option<u16>,
    /// When the provider may be asked again.
    pub retry_after: Option<Duration>,
    /// Whether the provider says that a retry can help.
    pub retryable: Option<bool>,
    /// What the provider charged nevertheless.
    pub cost: Nanodollars,
    /// Whether a job was, or may have been, started at the provider: a retry would start, and pay,
    /// a second one.
    pub began_job: bool,
    /// Whether nothing was sent because the route is paused.
    pub is_paused: bool,
}

impl VendorFailure {
    /// Its name in metrics: a class, or `adapter`.
    pub fn name(&self) -> &'static str {
        match self.class {
            _ if self.is_paused => "paused",
            Some(class) => class.name(),
            None => "adapter",
        }
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
            began_job: false,
            is_paused: false,
        }
    }

    /// The route is paused, or another page's probe of it is under way.
    fn paused(pause: Option<Pause>) -> Self {
        let message = match pause {
            Some(pause) => Ineligible::Paused(pause).to_string(),
            None => "another page tries it after a pause".to_owned(),
        };
        Self {
            is_paused: true,
            ..Self::of(Class::Unsupported, message)
        }
    }

    /// Whether no request was sent at all: the adapter cannot serve the page.
    pub fn is_unsent(&self) -> bool {
        self.class == Some(Class::Unsupported)
    }

    /// Whether the same request can succeed at this provider later.
    pub fn retry_helps(&self) -> bool {
        let helps = |class| class == Class::RateLimited || deserves_retry(class, self.retryable);
        self.class.is_some_and(helps)
    }

    /// Whether the same provider may be retried at once. Contract: failure classes.
    fn is_retryable(&self) -> bool {
        // What was charged once would be charged again.
        let is_free = self.cost == Nanodollars::ZERO && !self.began_job;
        let is_retryable = |class| deserves_retry(class, self.retryable);
        is_free && self.class.is_some_and(is_retryable)
    }
}

/// Whether a retry of the same request can help, by the class of a failure and by what the provider
/// says. A retry costs again what the first request cost.
pub fn deserves_retry(class: Class, retryable: Option<bool>) -> bool {
    let by_class = matches!(class, Class::ProviderError | Class::TargetFailed);
    is_transient(class) && retryable.unwrap_or(by_class)
}

/// Classes after which a retry of the same request can succeed.
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

/// A page that providers are asked for.
#[derive(Clone, Copy)]
pub struct ProviderRequest<'a> {
    /// What is asked for.
    pub plan: &'a PagePlan,
    /// Whether the page's JavaScript is to run.
    pub javascript: bool,
    /// When the page must be there.
    pub deadline: Instant,
    /// The page's claim on the memory of its account.
    pub memory: &'a PageMemory,
}

impl Providers {
    /// Providers reached by this fetcher, with these credentials of the operator.
    pub fn new(fetcher: Fetcher, pooled: PooledKeys) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self {
            fetcher,
            pooled,
            breakers: Breakers::default(),
            stats: ProviderStats::default(),
            calls: FairSemaphore::new(cores, cores),
        }
    }

    /// The provider routes of a page, in the order they are tried.
    pub fn candidates(&self, registry: &Registry, query: &ProviderQuery<'_>) -> Choice {
        let pause = |key: &_| self.breakers.pause(key, Instant::now());
        eligible::candidates(
            registry.providers(),
            query,
            &self.pooled,
            &self.breakers,
            &pause,
        )
    }

    /// Serves a page, with one retry where that can help. `is_last` means that no other route is
    /// left, so that waiting is better than giving up.
    ///
    /// # Errors
    /// [`VendorFailure`].
    pub async fn serve(
        &self,
        candidate: &Candidate,
        page: ProviderRequest<'_>,
        is_last: bool,
    ) -> Result<VendorPage, VendorFailure> {
        let failure = match self.attempt(candidate, page).await {
            Err(failure) => failure,
            served => return served,
        };
        let pause = failure.retry_after.unwrap_or(RETRY_DELAY);
        let is_retryable = match failure.class {
            Some(Class::RateLimited) => is_last && !failure.began_job,
            _ => failure.is_retryable(),
        };
        let pause_max = if is_last {
            RETRY_AFTER_MAX
        } else {
            RETRY_DELAY
        };
        let left = page.deadline.saturating_duration_since(Instant::now());
        if !is_retryable || pause > pause_max || pause + TIME_MIN > left {
            return Err(failure);
        }
        tokio::time::sleep(pause).await;
        match self.attempt(candidate, page).await {
            Ok(page) => Ok(VendorPage {
                cost: page.cost.saturating_add(failure.cost),
                ..page
            }),
            // Paused by the first try: its failure is the reason.
            Err(again) if again.is_paused => Err(failure),
            Err(again) => Err(VendorFailure {
                cost: again.cost.saturating_add(failure.cost),
                ..again
            }),
        }
    }

    /// The providers as callers may know them, in the order of the manifest.
    pub fn offered(&self, registry: &Registry) -> Vec<OfferedProvider> {
        let offered = |plugin: &Arc<trawl_plugins::ProviderPlugin>| {
            OfferedProvider::of(plugin, self.pooled.keys(plugin).is_some())
        };
        registry.providers().map(offered).collect()
    }

    /// The status of each provider, in the order of the manifest.
    pub fn status(&self, registry: &Registry) -> Vec<ProviderStatus> {
        let now = Instant::now();
        let status = |plugin: &Arc<trawl_plugins::ProviderPlugin>| {
            let has_pooled = self.pooled.keys(plugin).is_some();
            let paused = self.breakers.paused(&plugin.info().name, now);
            self.stats.status(plugin, has_pooled, paused)
        };
        registry.providers().map(status).collect()
    }

    /// The counters of a route, for what is billed later.
    pub fn counters(&self, candidate: &Candidate) -> RouteCounters {
        self.stats.counters(candidate.name(), candidate.payment)
    }

    async fn attempt(
        &self,
        candidate: &Candidate,
        page: ProviderRequest<'_>,
    ) -> Result<VendorPage, VendorFailure> {
        let ProviderRequest {
            plan,
            javascript,
            deadline,
            memory,
        } = page;
        let begun = Instant::now();
        let grant = candidate.plugin.grant();
        let deadline = deadline.min(begun + grant.time_max);
        let left = deadline.saturating_duration_since(begun);
        if left < TIME_MIN {
            let message = "no time is left for it";
            return Err(VendorFailure::of(Class::Unsupported, message));
        }
        // Dropped without an outcome, it lets another page try.
        let Some(_trial) = self.breakers.admit(&candidate.breaker, begun, deadline) else {
            let pause = self.breakers.pause(&candidate.breaker, begun);
            return Err(VendorFailure::paused(pause));
        };
        let attempt = AttemptContext {
            javascript,
            time: left,
            grant,
        };
        let conversation = Conversation {
            plugin: &candidate.plugin,
            keys: &candidate.keys,
            task: Arc::new(task(plan, &attempt)),
            deadline,
            fetcher: &self.fetcher,
            memory,
            calls: &self.calls,
        };
        let outcome = conversation.run(&plan.url).await;
        let elapsed = begun.elapsed();
        if outcome.as_ref().is_err_and(VendorFailure::is_unsent) {
            return outcome;
        }
        self.stats.count(candidate, &outcome, elapsed);
        let is_hurried = left < FAIR_TIME.min(grant.time_max)
            && matches!(&outcome, Err(failure) if failure.class == Some(Class::ProviderTimeout));
        if !is_hurried {
            self.breakers
                .note(&candidate.breaker, &outcome, begun, Instant::now());
        }
        if let Err(failure) = &outcome {
            log_failure(candidate, failure, elapsed);
        }
        outcome
    }
}

fn log_failure(candidate: &Candidate, failure: &VendorFailure, elapsed: Duration) {
    tracing::warn!(
        provider = candidate.name(),
        class = failure.name(),
        own_key = candidate.payment == Payment::Own,
        elapsed_ms = elapsed.as_millis() as u64,
        "a provider served no page"
    );
}

/// Converts a failure of an adapter.
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
        began_job: false,
        is_paused: false,
    }
}
