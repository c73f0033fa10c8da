//! Which routes may serve a page, in which order, and trying them: the first that serves wins.
//!
//! [`OwnStack`] is the page cache, plain HTTP and the browser, [`ThirdParty`] the providers;
//! [`Routing::serve`] orders the two.

mod admission;
mod attempts;
mod cache_write;
mod cached;
mod clock;
mod own_browser;
mod own_http;
mod own_stack;
mod paid_permit;
mod refreshed;
mod served;
mod smart;
mod third_party;
mod vendor;
mod visit;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::timeout_at;

use trawl_model::{Cause, PageFailure};
use trawl_net::fetch::{CookieJar, Fetcher};
use trawl_net::politeness::Politeness;
use trawl_net::robots::Robots;
use trawl_plan::{FetchPlan, PagePlan, RouterMode};
use trawl_render::Renderer;

use crate::cache::PageCache;
use crate::providers::Providers;
use clock::PageClock;
use own_stack::OwnStack;
use third_party::{Block, ThirdParty};
use visit::Visit;

pub use admission::{Admission, PageRules};
pub use cache_write::CacheWrite;
pub use own_http::RETRIES_MAX;
pub use served::{CacheOutcome, FailedBy, NotServed, Served};
pub use vendor::Vendor;
pub use visit::VisitContext;

/// How the routes of a page divide its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PageTimes {
    /// Our own stack's, if a provider may follow.
    own: Duration,
    /// The providers': exactly, or at least if they share the page's time.
    provider: Duration,
    /// Whether providers have time of their own.
    has_own: bool,
}

impl PageTimes {
    /// Decision D370: providers have time of their own, since services take longer than our own
    /// stack, unless the caller bounds the whole page. Then, Decision D92, our own stack has half
    /// of it, so that "timed out" leaves some.
    fn of(plan: &PagePlan) -> Self {
        let (timeout, provider) = (plan.fetch.timeout, plan.router.time);
        if provider > Duration::ZERO {
            return Self {
                own: timeout,
                provider,
                has_own: true,
            };
        }
        Self {
            own: timeout / 2,
            provider: timeout / 2,
            has_own: false,
        }
    }
}

/// The routes to a page. One for the whole server.
pub struct Routing {
    own: OwnStack,
    third_party: ThirdParty,
    robots: Arc<Robots>,
}

impl Routing {
    /// Routing over this fetcher, at this pace, where robots.txt allows it if the plan obeys it.
    pub fn new(fetcher: Fetcher, politeness: Arc<Politeness>, robots: Arc<Robots>) -> Self {
        Self {
            own: OwnStack::new(fetcher.clone(), Arc::clone(&politeness)),
            third_party: ThirdParty::new(fetcher, politeness),
            robots,
        }
    }

    /// The same with a page cache in front of its routes.
    #[must_use]
    pub fn with_cache(mut self, cache: Option<Arc<PageCache>>) -> Self {
        self.third_party = self.third_party.with_cache(cache.clone());
        self.own = self.own.with_cache(cache);
        self
    }

    /// The same with a browser among its routes.
    #[must_use]
    pub fn with_browser(mut self, renderer: Arc<Renderer>) -> Self {
        self.own = self.own.with_browser(renderer);
        self
    }

    /// The same with third-party providers.
    #[must_use]
    pub fn with_providers(mut self, providers: Arc<Providers>) -> Self {
        self.third_party = self.third_party.with_providers(providers);
        self
    }

    /// The providers, if there are any.
    pub fn providers(&self) -> Option<&Providers> {
        self.third_party.providers()
    }

    /// The admission of a page with this plan, without rules of its run.
    pub fn admission(&self, plan: &FetchPlan) -> Admission {
        Admission::new(&self.robots, plan)
    }

    /// Whether the page cache has a page that any caller would be answered with by plain HTTP, of
    /// whatever age.
    pub fn is_cached(&self, plan: &PagePlan) -> bool {
        self.own.is_cached(plan, &CookieJar::new())
    }

    /// Gets a page from our own stack, from providers after it failed, or from providers first.
    /// Spec S17.
    ///
    /// # Errors
    /// The failure of the last route tried, or that a redirect is against the rules of the run,
    /// whatever other routes have. A site's own 4xx or 5xx is a served page, not an error.
    pub async fn serve(
        &self,
        plan: &PagePlan,
        admission: &Arc<Admission>,
        client: VisitContext<'_>,
    ) -> Result<Served, NotServed> {
        let patience = plan.fetch.pace.patience;
        let end = Instant::now() + plan.time_max() + patience;
        let visit = Visit {
            plan,
            client,
            clock: PageClock::start(plan.fetch.timeout, patience, end),
            admission,
        };
        let served = match timeout_at(end.into(), self.by_mode(visit)).await {
            Ok(served) => served,
            Err(_elapsed) => {
                let unpaid = client.page_budget.funds_timeout().await;
                Err(unpaid.unwrap_or_else(|| timed_out(plan)).into())
            }
        };
        if let Some(reason) = admission.refused() {
            return Err(NotServed::skipped(reason));
        }
        match served {
            Ok(mut served) => {
                served.fail_if_wall();
                Ok(served)
            }
            Err(not_served) => Err(NotServed {
                by: FailedBy::of(client.page_budget).await,
                ..not_served
            }),
        }
    }

    async fn by_mode(&self, visit: Visit<'_>) -> Result<Served, NotServed> {
        match visit.plan.router.mode {
            RouterMode::Off => {
                let served = self.own.serve(visit).await;
                served.map_err(|error| error.failure.into())
            }
            // Boxed, as are the other slow routes: a cached page is served by a small future.
            RouterMode::First => Box::pin(self.providers_first(visit)).await,
            RouterMode::Fallback => Box::pin(self.own_stack_first(visit)).await,
        }
    }

    /// `first`: providers, then our own stack.
    async fn providers_first(&self, visit: Visit<'_>) -> Result<Served, NotServed> {
        let plan = visit.plan;
        let times = PageTimes::of(plan);
        let by_provider = match times.has_own {
            true => visit.within(times.provider),
            false => visit,
        };
        let target = self.third_party.check_target(visit, &plan.url);
        let crawl_delay = target.await?;
        let javascript = plan.needs_javascript();
        let served = self.third_party.serve(by_provider, javascript, crawl_delay);
        let attempts = match served.await {
            Ok(served) => return Ok(*served),
            Err(attempts) => attempts,
        };
        if plan.router.is_pinned {
            return attempts.give_up_pinned();
        }
        let visit = match times.has_own {
            true => visit.within(times.own),
            false => visit,
        };
        match self.own.serve_until(visit).await {
            Ok(mut served) => {
                attempts.add_metadata(&mut served);
                Ok(served)
            }
            Err(error) => attempts.give_up(Err(error.failure)),
        }
    }

    /// `fallback`: our own stack, then providers if it failed, was blocked or timed out.
    async fn own_stack_first(&self, visit: Visit<'_>) -> Result<Served, NotServed> {
        let plan = visit.plan;
        let times = PageTimes::of(plan);
        let own = if times.has_own {
            self.own.serve_until(visit).await
        } else if self.third_party.has_candidates(visit) {
            self.own.serve_until(visit.within(times.own)).await
        } else {
            self.own.serve(visit).await
        };
        // Waiting for the host's rate limit does not use up the page's own time.
        let by_provider = visit.within(times.provider);
        let clock = match times.has_own {
            true => by_provider.clock,
            false => visit.clock.or_later(by_provider.clock),
        };
        let (own, needed_browser) = match own {
            Ok(served) => match Block::of(&served) {
                None => return Ok(served),
                Some(block) => (Ok(served), block == Block::BotWall),
            },
            Err(error) if !error.may_fall_back => return Err(error.failure.into()),
            Err(error) => (Err(error.failure), false),
        };
        let target = self.third_party.check_target(visit, &plan.url);
        let Ok(crawl_delay) = target.await else {
            return Ok(own?);
        };
        let needs_browser = needed_browser && plan.engine == trawl_plan::Engine::Smart;
        let javascript = plan.needs_javascript() || needs_browser;
        let visit = Visit { clock, ..visit };
        match self.third_party.serve(visit, javascript, crawl_delay).await {
            Ok(served) => Ok(*served),
            Err(attempts) => attempts.give_up(own),
        }
    }
}

/// The failure of a page whose time by all routes has ended.
fn timed_out(plan: &PagePlan) -> PageFailure {
    let seconds = plan.time_max().as_secs();
    PageFailure::new(Cause::Timeout, format!("timed out after {seconds} s"))
}
