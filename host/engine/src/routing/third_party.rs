//! Third-party providers as routes: after our own stack, or before it. Spec S17, Decision D91.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::time::timeout_at;
use url::Url;

use trawl_model::{Cause, Nanodollars, PageFailure, Usage, VendorUse};
use trawl_net::fetch::Fetcher;
use trawl_net::politeness::{Owner, Politeness, RequestPace, Turn};
use trawl_plan::address::without_fragment;
use trawl_plan::{Engine, FetchPlan, PagePlan, RouterMode, RouterPlan};
use trawl_sdk::provider::Class;

use super::admission::Admission;
use super::cached::RenderedLookup;
use super::own_stack::HAND_OVER_TIME;
use super::paid_permit::{NoPermit, provider_turn};
use super::smart::{self, Rule, Verdict};
use super::{NotServed, Served, Visit};
use crate::cache::{PageCache, Provided};
use crate::providers::{
    Candidate, Choice, CostSource, LeftOut, Payment, ProviderQuery, Providers, RouteCounters,
    TIME_MIN, VendorFailure, VendorPage,
};
use crate::purse::Purse;

/// CPU time that is covered before a provider is asked, besides its price: more than nearly all
/// pages need to be transformed. A page that could not be paid would have been served for nothing.
const TRANSFORM_CPU: Duration = Duration::from_secs(1);
/// Providers tried for one page: bounds what a page can cost the operator.
const ROUTES_MAX: usize = 12;
/// Statuses with which a site blocks a client. Decision D91.
const BLOCK_STATUSES: [u16; 3] = [403, 429, 503];
/// The error of a page that every route was blocked from, whatever its status is: such pages cost
/// nothing. Spec S3.
const BLOCKED: &str = "the site blocked every route";

/// The provider that served a page. Spec S16.
#[derive(Clone, Debug)]
pub struct Vendor {
    /// Name in requests.
    pub provider: String,
    /// What ran: `provider_2.js`.
    pub route: String,
    /// What the provider charged for it.
    pub cost: Nanodollars,
    /// Whether the caller's key paid.
    pub byok: bool,
    /// Its place among the providers that were preferred, asked or left out; 1 is the first choice.
    pub attempts: u32,
    /// Where to count what is billed for it.
    pub counters: RouteCounters,
}

/// The provider routes, and what may be fetched through them.
pub(super) struct ThirdParty {
    providers: Option<Arc<Providers>>,
    cache: Option<Arc<PageCache>>,
    fetcher: Fetcher,
    politeness: Arc<Politeness>,
    admission: Admission,
}

/// How fast providers may fetch a page, besides the pace of its plan.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pacing {
    /// The crawl delay of the site's robots.txt, if the plan obeys it; zero is none.
    pub(super) crawl_delay: Duration,
    /// When the page must be served, however long it waits for its turn at its host.
    pub(super) latest: Instant,
}

/// The time of a page at providers.
struct PageTime {
    /// When it must be served.
    deadline: Instant,
    /// How far a wait for its turn may move that.
    latest: Instant,
}

/// The providers tried so far, none of which served the page.
#[derive(Default)]
pub(super) struct Attempts {
    /// The provider that the request names, and why it was not asked.
    left_out: Option<(String, LeftOut)>,
    /// One entry each for `metadata.provider_attempts`.
    log: Vec<Value>,
    /// The last page of a provider that the site blocked.
    blocked: Option<Box<Served>>,
    /// The last one that failed.
    last: Option<(String, VendorFailure)>,
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
        match smart::judge(&served.clues()) {
            Verdict::NeedsBrowser(Rule::BotWall) => Some(Self::BotWall),
            Verdict::NeedsBrowser(_) | Verdict::Enough => None,
        }
    }
}

/// Key of a page's metadata: where its vendor cost comes from, unless the provider reported it.
/// Decision D213.
const COST_SOURCE: &str = "vendor_cost_source";

impl ThirdParty {
    pub(super) fn new(fetcher: Fetcher, politeness: Arc<Politeness>, admission: Admission) -> Self {
        Self {
            providers: None,
            cache: None,
            fetcher,
            politeness,
            admission,
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
        plan: &FetchPlan,
        url: &Url,
    ) -> Result<Duration, PageFailure> {
        if let Some(refusal) = self.fetcher.refusal(url).await {
            return Err(refusal);
        }
        let crawl_delay = self.admission.check(plan, url).await?;
        Ok(crawl_delay.unwrap_or_default())
    }

    fn candidates(&self, visit: Visit<'_>, javascript: bool) -> Choice {
        let Some(providers) = self.providers() else {
            return Choice::default();
        };
        let query = ProviderQuery {
            plan: visit.plan,
            javascript,
            may_pool: visit.client.may_pool,
            affords: &|used| affords(visit.client.purse, used),
        };
        providers.candidates(visit.client.registry, &query)
    }

    /// Tries one provider after the other until one serves the page. Each waits for the page's turn
    /// at its host if the page has a delay. Decision D233.
    ///
    /// # Errors
    /// None did; the attempts.
    pub(super) async fn serve(
        &self,
        visit: Visit<'_>,
        javascript: bool,
        pacing: Pacing,
    ) -> Result<Box<Served>, Attempts> {
        let mut attempts = Attempts::default();
        let route = if javascript {
            "provider js"
        } else {
            "provider"
        };
        let (cache, client) = (self.cache.as_ref(), &visit.client);
        let lookup = RenderedLookup::new(cache, &self.fetcher, visit.plan, client, route);
        let mut is_looked_up = false;
        let Some(providers) = self.providers() else {
            return Err(attempts);
        };
        let plan = visit.plan;
        let patience = plan.fetch.pace.patience;
        let mut time = PageTime::new(visit.deadline, pacing.latest);
        let pace = RequestPace::of(&plan.fetch.pace, Owner::of(visit.client.owner));
        let pace = RequestPace {
            host_delay: pace.host_delay.max(pacing.crawl_delay),
            ..pace
        };
        let Choice {
            candidates,
            left_out,
        } = self.candidates(visit, javascript);
        attempts.left_out = plan.router.provider.clone().zip(left_out);
        let n_routes = candidates.len().min(ROUTES_MAX);
        // With our own stack still to come, waiting for a busy provider is not worth it.
        let is_last_resort = plan.router.mode == RouterMode::Fallback || plan.router.is_pinned;
        for (index, candidate) in candidates.iter().take(ROUTES_MAX).enumerate() {
            let is_last = is_last_resort && index + 1 == n_routes;
            if time.left() < TIME_MIN {
                break;
            }
            // Pages that the operator's key paid for serve everybody.
            let lookup = lookup.as_ref();
            let lookup = lookup.filter(|_| may_share(candidate, &plan.router));
            if let Some(lookup) = lookup
                && !std::mem::replace(&mut is_looked_up, true)
                && let Ok(Some(mut stored)) = lookup.find(&self.admission).await
            {
                attempts.add_metadata(&mut stored);
                // What its provider said is not known of a page that an earlier version stored.
                stored.provided.get_or_insert_default();
                add_rendered_by(plan.engine, &mut stored);
                stored.waited = time.waited(patience);
                return Ok(Box::new(stored));
            }
            let Ok(turn) = self.turn(visit, pace, &mut time).await else {
                let reason = "its turn at the site, by `delay` or robots.txt, did not come in time";
                attempts.note(candidate, "delayed", reason);
                break;
            };
            visit.plan.fetch.tell_sent(&visit.plan.url);
            let left = time.left();
            // A provider that hangs leaves a third of the time to those after it.
            let end = if is_last {
                time.deadline
            } else {
                Instant::now() + left * 2 / 3
            };
            let (purse, most) = (visit.client.purse, needs(candidate.most()));
            // A wait for money leaves our own stack, and the providers after this one, their time.
            if let Err(failure) = purse.cover_optional(&most, end).await {
                attempts.note(candidate, "not_covered", &failure.message);
                give_back(turn);
                continue;
            }
            let memory = visit.client.memory;
            let attempt = providers.serve(candidate, plan, javascript, end, is_last, memory);
            let attempt = attempt.await;
            if attempt.as_ref().is_err_and(VendorFailure::is_unsent) {
                give_back(turn);
            } else {
                purse.note_provider();
                drop(turn);
            }
            let result = match attempt {
                Ok(page) => self.in_scope(plan, page).await,
                Err(failure) => Err(failure),
            };
            match result {
                Ok(page) => {
                    let mut served = served(providers, candidate, plan.engine, page);
                    if let Some(lookup) = lookup {
                        served.cache = lookup.write(&served.page, served.provided);
                    }
                    if Block::of(&served).is_none() {
                        attempts.add_metadata(&mut served);
                        served.waited = time.waited(patience);
                        return Ok(Box::new(served));
                    }
                    attempts.note(candidate, "turned_away", "the site blocked it");
                    attempts.blocked = Some(Box::new(served));
                }
                Err(failure) => {
                    attempts.note_failure(candidate, &failure);
                    if !failure.is_unsent() {
                        attempts.last = Some((candidate.name().to_owned(), failure));
                    }
                }
            }
        }
        Err(attempts)
    }

    /// Waits for the page's turn at its host, holding no money. `None` for a page without a delay.
    ///
    /// # Errors
    /// The turn does not come in time.
    async fn turn(
        &self,
        visit: Visit<'_>,
        pace: RequestPace,
        time: &mut PageTime,
    ) -> Result<Option<Turn>, NoPermit> {
        let host = visit.plan.url.host_str().unwrap_or_default();
        let since = Instant::now();
        let turn = provider_turn(&self.politeness, host, pace, visit.client.purse);
        let turn = timeout_at(time.latest.into(), turn).await;
        let turn = turn.map_err(|_elapsed| NoPermit::TimedOut)?;
        time.add_wait_since(since);
        if time.left() >= TIME_MIN {
            return Ok(turn);
        }
        give_back(turn);
        Err(NoPermit::TimedOut)
    }

    /// Checks that a page the provider was redirected to is one that the run may fetch.
    async fn in_scope(
        &self,
        plan: &PagePlan,
        page: VendorPage,
    ) -> Result<VendorPage, VendorFailure> {
        let to = &page.page.final_url;
        let url = without_fragment(&plan.url);
        if *to == url {
            return Ok(page);
        }
        let may_follow = match &plan.fetch.gate {
            Some(gate) => gate.may_follow(&url, to).await,
            None => true,
        };
        if !may_follow || self.check_target(&plan.fetch, to).await.is_err() {
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

impl PageTime {
    /// The time until a deadline that waits may move to `latest`, less what handing over takes.
    fn new(deadline: Instant, latest: Instant) -> Self {
        let before = |end: Instant| end.checked_sub(HAND_OVER_TIME).unwrap_or(end);
        Self {
            deadline: before(deadline),
            latest: before(latest),
        }
    }

    fn left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// Adds a wait for the page's turn.
    fn add_wait_since(&mut self, since: Instant) {
        let moved = self.deadline + since.elapsed();
        self.deadline = moved.min(self.latest).max(self.deadline);
    }

    /// How much of this patience waits have used up.
    fn waited(&self, patience: Duration) -> Duration {
        patience.saturating_sub(self.latest.saturating_duration_since(self.deadline))
    }
}

/// Ends a turn in which no provider was asked.
fn give_back(turn: Option<Turn>) {
    if let Some(turn) = turn {
        turn.unused();
    }
}

/// Whether a page of this provider serves everybody: the operator's key paid for an ordinary
/// request.
fn may_share(candidate: &Candidate, router: &RouterPlan) -> bool {
    candidate.payment == Payment::Pooled && router.request.is_none()
}

/// Whether the page may cost as much as this provider request.
fn affords(purse: &Purse<'_>, used: VendorUse) -> bool {
    trawl_billing::price(&needs(used), purse.tariff()).total() <= purse.spendable()
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

/// One entry of `metadata.provider_attempts`.
pub(super) fn attempt(provider: &str, payment: Payment, outcome: &str, reason: &str) -> Value {
    let key = match payment {
        Payment::Own => "own",
        Payment::Pooled => "pooled",
    };
    json!({"provider": provider, "key": key, "outcome": outcome, "reason": reason})
}

impl Attempts {
    fn note(&mut self, candidate: &Candidate, outcome: &str, reason: &str) {
        let payment = candidate.payment;
        self.log
            .push(attempt(candidate.name(), payment, outcome, reason));
    }

    /// Notes a failure of the provider, with whether it charged for it and whether a retry helps.
    fn note_failure(&mut self, candidate: &Candidate, failure: &VendorFailure) {
        self.note(candidate, failure.name(), &failure.message);
        let Some(attempt) = self.log.last_mut().filter(|_| !failure.is_unsent()) else {
            return;
        };
        attempt["charged"] = (failure.cost > Nanodollars::ZERO).into();
        attempt["retry_helps"] = failure.retry_helps().into();
    }

    /// Adds the providers that failed before the page was served to its metadata. Decision D16:
    /// like the other keys that are always added, since a caller with a wrong key would never learn
    /// of it otherwise.
    pub(super) fn add_metadata(&self, served: &mut Served) {
        let attempts = self.listed();
        if !attempts.is_empty() {
            let metadata = &mut served.metadata;
            metadata.insert("provider_attempts".to_owned(), Value::Array(attempts));
        }
    }

    /// The provider that was left out although the request names it, and those that were asked.
    fn listed(&self) -> Vec<Value> {
        let left_out = self.left_out.iter().map(|(provider, reason)| {
            json!({"provider": provider, "outcome": "left_out", "reason": reason.to_string()})
        });
        left_out.chain(self.log.iter().cloned()).collect()
    }

    /// What the page becomes if its pinned provider did not serve it: the blocked page of the
    /// provider, else the reason.
    pub(super) fn give_up_pinned(self) -> Result<Served, NotServed> {
        let message = match (&self.last, &self.left_out) {
            (Some((provider, failure)), _) => format!("{provider}: {}", failure.message),
            (None, Some((_, reason))) => reason.to_string(),
            (None, None) => match self.log.last().map(|attempt| &attempt["reason"]) {
                Some(Value::String(reason)) => reason.clone(),
                _ => "it cannot be asked".to_owned(),
            },
        };
        let attempts = Self { last: None, ..self };
        attempts.give_up(Err(PageFailure::new(Cause::Provider, message)))
    }

    /// What the page becomes if no provider served it: what our own stack has of it, else the
    /// blocked page of a provider, else the reason.
    pub(super) fn give_up(self, own: Result<Served, PageFailure>) -> Result<Served, NotServed> {
        let as_blocked = |served: Served| {
            // Attempts without success are in the metadata: `costs.vendor` is of a page that a
            // provider served.
            let mut served = served.with_vendor(None);
            served.metadata.remove(COST_SOURCE);
            // A status of 400 or more already makes the page a failed one.
            let blocked = || PageFailure::new(Cause::Blocked, BLOCKED);
            served.error = (served.page.status < 400).then(blocked);
            self.add_metadata(&mut served);
            served
        };
        match (own, &self.blocked) {
            // No provider was tried: the page is what it would be without a router.
            (Ok(mut served), _) if self.log.is_empty() => {
                self.add_metadata(&mut served);
                Ok(served)
            }
            (Ok(served), _) => Ok(as_blocked(served)),
            (Err(_), Some(blocked)) => Ok(as_blocked((**blocked).clone())),
            (Err(own), None) => Err(NotServed {
                failure: match &self.last {
                    None => own,
                    Some((provider, failure)) => PageFailure {
                        message: format!("{}; {provider}: {}", own.message, failure.message),
                        ..own
                    },
                },
                provider_attempts: self.listed(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_wait_for_the_turn_moves_the_deadline_within_the_patience() {
        let now = Instant::now();
        let mut time = PageTime::new(now + 30 * SECOND, now + 40 * SECOND);
        assert_eq!(time.waited(10 * SECOND), Duration::ZERO);
        let (before, since) = (time.deadline, Instant::now());
        time.add_wait_since(since.checked_sub(4 * SECOND).unwrap_or(since));
        assert!(time.deadline >= before + 4 * SECOND && time.deadline < before + 5 * SECOND);
        assert!(time.waited(10 * SECOND) >= 4 * SECOND);
        time.add_wait_since(since.checked_sub(60 * SECOND).unwrap_or(since));
        assert_eq!(
            (time.deadline, time.waited(10 * SECOND)),
            (time.latest, 10 * SECOND)
        );
    }

    #[test]
    fn without_patience_a_wait_uses_up_the_pages_time() {
        let now = Instant::now();
        let mut time = PageTime::new(now + 30 * SECOND, now + 30 * SECOND);
        let before = time.deadline;
        time.add_wait_since(now.checked_sub(4 * SECOND).unwrap_or(now));
        assert_eq!(
            (time.deadline, time.waited(Duration::ZERO)),
            (before, Duration::ZERO)
        );
    }
}
