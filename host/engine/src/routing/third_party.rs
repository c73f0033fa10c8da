//! Third-party providers as routes: after our own stack, or before it. Spec S17, Decision D91.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::timeout_at;
use url::Url;

use trawl_contract::provider::Class;
use trawl_model::{Cause, PageFailure, Usage, VendorUse, timing};
use trawl_net::fetch::{FetchError, Fetcher};
use trawl_net::politeness::{Owner, Politeness, ProviderTurn, RequestPace};
use trawl_plan::address::without_fragment;
use trawl_plan::{Engine, RouterMode, RouterPlan};

use super::attempts::{Attempts, COST_SOURCE};
use super::cached::RenderedLookup;
use super::clock::PageClock;
use super::paid_permit::provider_turn;
use super::smart::{self, Rule, Verdict};
use super::vendor::{TURNED_AWAY, Vendor};
use super::{Served, Visit};
use crate::cache::{PageCache, Provided};
use crate::page_budget::PageBudget;
use crate::providers::{
    Candidate, Choice, CostSource, Payment, ProviderQuery, ProviderRequest, Providers, TIME_MIN,
    VendorFailure, VendorPage,
};

/// CPU time that is covered before a provider is asked, besides its price: more than nearly all
/// pages need to be transformed. A page that could not be paid would have been served for nothing.
const TRANSFORM_CPU: Duration = Duration::from_secs(1);
/// Providers tried for one page: bounds what a page can cost the operator.
const ROUTES_MAX: usize = 12;
/// Statuses with which a site blocks a client. Decision D91.
const BLOCK_STATUSES: [u16; 3] = [403, 429, 503];

/// The provider routes, and what may be fetched through them.
pub(super) struct ThirdParty {
    providers: Option<Arc<Providers>>,
    cache: Option<Arc<PageCache>>,
    fetcher: Fetcher,
    politeness: Arc<Politeness>,
}

/// A page on its way through the providers.
struct Round<'a> {
    providers: &'a Providers,
    visit: Visit<'a>,
    javascript: bool,
    clock: PageClock,
    /// How fast its host may be contacted.
    pace: RequestPace,
    /// The page in the cache, if it may be shared.
    lookup: Option<RenderedLookup<'a>>,
    is_looked_up: bool,
    attempts: Attempts,
}

/// How a site blocks a client. Decision D91.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Block {
    /// By its status.
    Status,
    /// By the challenge of a bot wall.
    BotWall,
}

impl Block {
    /// How the site blocked this page; `None` if it did not.
    pub(super) fn of(served: &Served) -> Option<Self> {
        if BLOCK_STATUSES.contains(&served.page.status) {
            return Some(Self::Status);
        }
        match smart::judge(&served.signals()) {
            Verdict::NeedsBrowser(Rule::BotWall) => Some(Self::BotWall),
            Verdict::NeedsBrowser(_) | Verdict::Enough => None,
        }
    }
}

impl ThirdParty {
    pub(super) fn new(fetcher: Fetcher, politeness: Arc<Politeness>) -> Self {
        Self {
            providers: None,
            cache: None,
            fetcher,
            politeness,
        }
    }

    pub(super) fn with_providers(self, providers: Arc<Providers>) -> Self {
        Self {
            providers: Some(providers),
            ..self
        }
    }

    pub(super) fn with_cache(self, cache: Option<Arc<PageCache>>) -> Self {
        Self { cache, ..self }
    }

    pub(super) fn providers(&self) -> Option<&Providers> {
        self.providers.as_deref()
    }

    /// Whether a provider may serve the page, with or without JavaScript.
    pub(super) fn has_candidates(&self, visit: Visit<'_>) -> bool {
        let has_any = |javascript| !self.candidates(visit, javascript).candidates.is_empty();
        has_any(false) || has_any(true)
    }

    /// Whether a provider may fetch this URL for us: what egress and robots.txt refuse to us, no
    /// provider may fetch either. Returns the crawl delay of robots.txt, zero if there is none.
    pub(super) async fn check_target(
        &self,
        visit: Visit<'_>,
        url: &Url,
    ) -> Result<Duration, PageFailure> {
        if let Some(refusal) = self.fetcher.refusal(url).await {
            return Err(refusal);
        }
        visit.admission.check(url).await
    }

    fn candidates(&self, visit: Visit<'_>, javascript: bool) -> Choice {
        let Some(providers) = self.providers() else {
            return Choice::default();
        };
        let query = ProviderQuery {
            account: visit.client.owner,
            plan: visit.plan,
            javascript,
            is_bound: visit.admission.is_bound(),
            may_pool: visit.client.may_pool,
            affords: &|used| affords(visit.client.page_budget, used),
        };
        providers.candidates(visit.client.registry, &query)
    }

    /// Tries one provider after the other until one serves the page. Each waits for the page's turn
    /// at its host if the page has a delay, or its host this crawl delay (zero is none). Decision
    /// D233.
    ///
    /// # Errors
    /// None did; the attempts.
    pub(super) async fn serve(
        &self,
        visit: Visit<'_>,
        javascript: bool,
        crawl_delay: Duration,
    ) -> Result<Box<Served>, Attempts> {
        let Some(providers) = self.providers() else {
            return Err(Attempts::default());
        };
        let Choice {
            candidates,
            left_out,
        } = self.candidates(visit, javascript);
        let router = &visit.plan.router;
        let mut round = self.round(providers, visit, javascript, crawl_delay);
        round.attempts.left_out = router.provider.clone().zip(left_out);
        let n_routes = candidates.len().min(ROUTES_MAX);
        // With our own stack still to come, waiting for a busy provider is not worth it.
        let is_last_resort = router.mode == RouterMode::Fallback || router.is_pinned;
        for (index, candidate) in candidates.iter().take(ROUTES_MAX).enumerate() {
            let is_last = is_last_resort && index + 1 == n_routes;
            if let ControlFlow::Break(served) = self.ask(&mut round, candidate, is_last).await {
                return served.ok_or(round.attempts);
            }
        }
        Err(round.attempts)
    }

    fn round<'a>(
        &'a self,
        providers: &'a Providers,
        visit: Visit<'a>,
        javascript: bool,
        crawl_delay: Duration,
    ) -> Round<'a> {
        let (cache, plan, client) = (self.cache.as_ref(), visit.plan, &visit.client);
        let route = match javascript {
            true => "provider js",
            false => "provider",
        };
        Round {
            providers,
            visit,
            javascript,
            clock: visit.clock.handing_over(),
            pace: RequestPace::of(&plan.fetch.pace, Owner::of(client.owner), crawl_delay),
            lookup: RenderedLookup::new(cache, &self.fetcher, plan, client, route),
            is_looked_up: false,
            attempts: Attempts::default(),
        }
    }

    /// Asks one provider. Breaks with the page that it, or the cache, has; without one when no
    /// other provider is to be asked.
    async fn ask(
        &self,
        round: &mut Round<'_>,
        candidate: &Candidate,
        is_last: bool,
    ) -> ControlFlow<Option<Box<Served>>> {
        if round.clock.left() < TIME_MIN {
            return ControlFlow::Break(None);
        }
        let Visit { plan, client, .. } = round.visit;
        // Pages that the operator's key paid for serve everybody.
        let is_shared = may_share(candidate, &plan.router);
        if is_shared && let Some(stored) = self.stored(round).await {
            return ControlFlow::Break(Some(stored));
        }
        let turn = self.turn(round.visit, round.pace, &mut round.clock);
        let Ok(turn) = turn.await else {
            let reason =
                "the site's rate limit, by `delay` or robots.txt, exceeds the time of the page";
            round.attempts.note(candidate, "delayed", reason);
            return ControlFlow::Break(None);
        };
        round.visit.admission.sends();
        // A provider that hangs leaves a third of the time to those after it.
        let end = match is_last {
            true => round.clock.deadline(),
            false => Instant::now() + round.clock.left() * 2 / 3,
        };
        // A wait for money leaves our own stack, and the providers after this one, their time.
        let most = needs(candidate.most());
        if let Err(failure) = client.page_budget.try_reserve_for(&most, end).await {
            round
                .attempts
                .note(candidate, "not_covered", &failure.message);
            release(turn);
            return ControlFlow::Continue(());
        }
        let request = ProviderRequest {
            plan,
            javascript: round.javascript,
            deadline: end,
            memory: client.memory,
        };
        let serving = round.providers.serve(candidate, request, is_last);
        let attempt = timing::step("provider", serving).await;
        if attempt.as_ref().is_err_and(VendorFailure::is_unsent) {
            release(turn);
        } else {
            client.page_budget.note_provider();
            drop(turn);
        }
        let page = match attempt {
            Ok(page) => self.in_scope(round.visit, page).await,
            Err(failure) => Err(failure),
        };
        match page {
            Ok(page) => round.answered(candidate, page, is_shared),
            Err(failure) => round.failed(candidate, failure),
        }
    }

    /// The page as the cache has it, looked up once.
    async fn stored(&self, round: &mut Round<'_>) -> Option<Box<Served>> {
        let lookup = round.lookup.as_ref()?;
        if std::mem::replace(&mut round.is_looked_up, true) {
            return None;
        }
        let mut stored = lookup.find(round.visit.admission).await.ok()??;
        round.attempts.add_metadata(&mut stored);
        // What its provider said is not known of a page that an earlier version stored.
        stored.provided.get_or_insert_default();
        add_rendered_by(round.visit.plan.engine, &mut stored);
        stored.waited = round.clock.waited();
        Some(Box::new(stored))
    }

    /// Waits for the page's turn at its host, holding no money. `None` for a page without a delay.
    ///
    /// # Errors
    /// The turn does not come in time.
    async fn turn(
        &self,
        visit: Visit<'_>,
        pace: RequestPace,
        clock: &mut PageClock,
    ) -> Result<Option<ProviderTurn>, FetchError> {
        let host = visit.plan.url.host_str().unwrap_or_default();
        let since = Instant::now();
        let turn = provider_turn(&self.politeness, host, pace, visit.client.page_budget);
        let turn = timeout_at(clock.latest().into(), turn).await;
        let turn = turn.map_err(|_elapsed| FetchError::TimedOut(clock.time()))?;
        clock.add_wait_since(since);
        if clock.left() >= TIME_MIN {
            return Ok(turn);
        }
        release(turn);
        Err(FetchError::TimedOut(clock.time()))
    }

    /// Checks that a page the provider was redirected to is one that the run may fetch.
    async fn in_scope(
        &self,
        visit: Visit<'_>,
        page: VendorPage,
    ) -> Result<VendorPage, VendorFailure> {
        let to = &page.page.final_url;
        if *to == without_fragment(&visit.plan.url) {
            return Ok(page);
        }
        let admitted = visit.admission.follow(to).await;
        if admitted.is_err() || self.check_target(visit, to).await.is_err() {
            return Err(VendorFailure {
                class: Some(Class::TargetFailed),
                message: format!("the page redirects to `{to}`, which this run may not fetch"),
                target_status: Some(Cause::RedirectRefused.status()),
                retry_after: None,
                retryable: Some(false),
                cost: page.cost,
                began_job: false,
                is_paused: false,
            });
        }
        Ok(page)
    }
}

impl Round<'_> {
    /// Takes the page of a provider, unless the site blocked it.
    fn answered(
        &mut self,
        candidate: &Candidate,
        page: VendorPage,
        is_shared: bool,
    ) -> ControlFlow<Option<Box<Served>>> {
        let mut served = served(self.providers, candidate, self.visit.plan.engine, page);
        if let Some(lookup) = self.lookup.as_ref().filter(|_| is_shared) {
            served.cache = lookup.write(&served.page, served.provided);
        }
        if Block::of(&served).is_some() {
            self.attempts
                .note(candidate, TURNED_AWAY, "the site blocked it");
            self.attempts.blocked = Some(Box::new(served));
            return ControlFlow::Continue(());
        }
        self.attempts.add_metadata(&mut served);
        served.waited = self.clock.waited();
        ControlFlow::Break(Some(Box::new(served)))
    }

    /// Notes why a provider has no page. Others may have it.
    fn failed(
        &mut self,
        candidate: &Candidate,
        failure: VendorFailure,
    ) -> ControlFlow<Option<Box<Served>>> {
        self.attempts.note_failure(candidate, &failure);
        if !failure.is_unsent() {
            self.attempts.last = Some((candidate.name().to_owned(), failure));
        }
        ControlFlow::Continue(())
    }
}

/// Ends a turn in which no provider was asked.
fn release(turn: Option<ProviderTurn>) {
    if let Some(turn) = turn {
        turn.release_unused();
    }
}

/// Whether a page of this provider may be shared between accounts: the operator's key paid for an
/// ordinary request.
fn may_share(candidate: &Candidate, router: &RouterPlan) -> bool {
    candidate.payment == Payment::Pooled && router.request.is_none()
}

/// Whether the page may cost as much as this provider request.
fn affords(page_budget: &PageBudget<'_>, used: VendorUse) -> bool {
    trawl_billing::price(&needs(used), page_budget.tariff()).total() <= page_budget.spendable()
}

/// What a page by this provider is expected to consume.
fn needs(used: VendorUse) -> Usage {
    Usage {
        vendor: Some(used),
        transform: TRANSFORM_CPU,
        ..Usage::default()
    }
}

fn served(
    providers: &Providers,
    candidate: &Candidate,
    engine: Engine,
    page: VendorPage,
) -> Served {
    let provider = candidate.name();
    let vendor = Vendor {
        route: format!("{provider}.{}", page.variant),
        provider: provider.to_owned(),
        cost: page.cost,
        byok: candidate.payment == Payment::Own,
        attempts: candidate.place,
        counters: providers.counters(candidate),
    };
    let mut served = Served::new(page.page).with_vendor(Some(vendor));
    served.provided = Some(Provided {
        rendered: page.rendered,
    });
    served.screenshot = page.screenshot;
    let cost_source = match page.cost_source {
        CostSource::Reported => None,
        CostSource::Listed => Some("listed"),
        CostSource::Assumed => Some("assumed"),
    };
    if let Some(source) = cost_source {
        let metadata = &mut served.metadata;
        metadata.insert(COST_SOURCE.to_owned(), source.into());
    }
    add_rendered_by(engine, &mut served);
    served
}

/// Adds that a provider made the page to its metadata, and whether it says that it ran the page's
/// JavaScript. A page of the cache says what it said at first. Decision D16.
fn add_rendered_by(engine: Engine, served: &mut Served) {
    let rendered = served.provided.and_then(|provided| provided.rendered);
    if engine == Engine::Http && rendered != Some(true) {
        return;
    }
    let reason = match rendered {
        Some(true) => "provider: it ran the page's JavaScript",
        Some(false) => "provider: it did not run the page's JavaScript",
        None => "provider: it does not say whether it ran the page's JavaScript",
    };
    let metadata = &mut served.metadata;
    metadata.insert("rendered_by".to_owned(), "provider".into());
    metadata.insert("render_reason".to_owned(), reason.into());
}
