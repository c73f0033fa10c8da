//! Providers as routes: behind our own stack, or ahead of it. Spec S17, Decision D91.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use url::Url;

use super::smart::{self, Clues, Rule, Verdict};
use super::{Client, Failing, NotServed, Routing, Served};
use crate::providers::{
    Candidate, Payment, ProviderQuery, Providers, RouteCounters, TIME_MIN, VendorFailure,
    VendorPage,
};
use trawl_model::failure::status;
use trawl_model::{Nanodollars, PageFailure};
use trawl_net::fetch::without_userinfo;
use trawl_plan::{Engine, FetchPlan, PagePlan, RouterMode};
use trawl_sdk::provider::Class;

/// Providers asked for one page: bounds what a page can cost the operator.
const ROUTES_MAX: usize = 12;
/// Statuses with which a site turns somebody away. Decision D91.
const TURNED_AWAY: [u16; 3] = [403, 429, 503];
/// Time kept back to hand over the result before the page's deadline.
const HAND_OVER_TIME: Duration = Duration::from_millis(50);

/// The provider that served a page, or tried last. Spec S16.
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
    /// Providers asked, this one included.
    pub attempts: u32,
    /// Where to count what is billed for it.
    pub tally: RouteCounters,
}

/// What asking the providers came to.
enum Asked {
    /// One served the page.
    Served(Box<Served>),
    /// None did; all that is known of it.
    Nobody(Attempts),
}

/// The providers asked so far.
#[derive(Default)]
struct Attempts {
    /// What is told of each in `metadata.provider_attempts`.
    told: Vec<Value>,
    /// The last page of a provider at which the site turned it away.
    refused: Option<Box<Served>>,
    last: Option<(Vendor, VendorFailure)>,
}

impl Routing {
    /// `first`: providers, then our own stack.
    pub(super) async fn providers_first(
        &self,
        plan: &PagePlan,
        url: &Url,
        client: Client<'_>,
        deadline: Instant,
    ) -> Result<Served, NotServed> {
        self.check_target(plan, url).await?;
        let javascript = match plan.engine {
            Engine::Browser => true,
            Engine::Http => false,
            Engine::Smart => plan.render.needs_browser(),
        };
        let attempts = match self.ask(plan, url, client, javascript, deadline).await {
            Asked::Served(served) => return Ok(*served),
            Asked::Nobody(attempts) => attempts,
        };
        if plan.router.is_pinned {
            let message = "it cannot do what is asked, or has no credentials";
            return attempts.give_up(Err(PageFailure::new(status::UNKNOWN, message)));
        }
        match self.own_until(plan, url, client, deadline).await {
            Ok(mut served) => {
                attempts.tell(&mut served);
                Ok(served)
            }
            Err(failing) => attempts.give_up(Err(failing.failure)),
        }
    }

    /// `fallback`: our own stack, then providers when it failed, was turned away or took too long.
    pub(super) async fn providers_behind(
        &self,
        plan: &PagePlan,
        url: &Url,
        client: Client<'_>,
        deadline: Instant,
    ) -> Result<Served, NotServed> {
        let has_providers = !self.candidates(plan, url, client, false).is_empty()
            || !self.candidates(plan, url, client, true).is_empty();
        // Decision D92: with a provider behind it our own stack has half of the page's time, so
        // that "timed out" leaves some.
        let half = plan.fetch.timeout / 2;
        let hurried = has_providers.then(|| PagePlan {
            fetch: Arc::new(FetchPlan {
                timeout: half,
                ..(*plan.fetch).clone()
            }),
            ..plan.clone()
        });
        let own = match &hurried {
            Some(hurried) => {
                let end = Instant::now() + half;
                self.own_until(hurried, url, client, end).await
            }
            None => self.serve_ourselves(plan, url, client, deadline).await,
        };
        // A page that waited for its turn has lost no time of its own.
        let latest = deadline + plan.fetch.pace.patience;
        let deadline = deadline.max((Instant::now() + half).min(latest));
        let (own, needed_browser) = match own {
            Ok(served) => match is_blocked(&served) {
                None => return Ok(served),
                Some(rule) => (Ok(served), rule == Some(Rule::BotWall)),
            },
            Err(failing) if !failing.may_fall_back => return Err(failing.failure.into()),
            Err(failing) => (Err(failing.failure), false),
        };
        let javascript = match plan.engine {
            Engine::Browser => true,
            Engine::Http => false,
            Engine::Smart => plan.render.needs_browser() || needed_browser,
        };
        if self.check_target(plan, url).await.is_err() {
            return Ok(own?);
        }
        match self.ask(plan, url, client, javascript, deadline).await {
            Asked::Served(served) => Ok(*served),
            Asked::Nobody(attempts) => attempts.give_up(own),
        }
    }

    /// A page by our own stack, given up a little before `end`, so that what is known of providers is told with it.
    async fn own_until(
        &self,
        plan: &PagePlan,
        url: &Url,
        client: Client<'_>,
        end: Instant,
    ) -> Result<Served, Failing> {
        let end = end.checked_sub(HAND_OVER_TIME).unwrap_or(end);
        let own = self.serve_ourselves(plan, url, client, end);
        let latest = end + plan.fetch.pace.patience;
        let own = tokio::time::timeout_at(latest.into(), own).await;
        own.unwrap_or_else(|_| {
            let message = "timed out";
            Err(Failing::of(PageFailure::new(status::TIMED_OUT, message)))
        })
    }

    /// Whether somebody else may fetch a page for us: what egress and robots.txt refuse us is refused to all.
    async fn check_target(&self, plan: &PagePlan, url: &Url) -> Result<(), PageFailure> {
        if let Some(refusal) = self.fetcher.refusal(url).await {
            return Err(refusal);
        }
        if !plan.fetch.respect_robots {
            return Ok(());
        }
        let verdict = self.robots.verdict(url).await;
        verdict.refusal(url).map_or(Ok(()), Err)
    }

    fn candidates(
        &self,
        plan: &PagePlan,
        url: &Url,
        client: Client<'_>,
        javascript: bool,
    ) -> Vec<Candidate> {
        let Some(providers) = &self.providers else {
            return Vec::new();
        };
        providers.candidates(client.registry, &wish(plan, url, client, javascript))
    }

    /// Asks one provider after the other until one serves the page.
    async fn ask(
        &self,
        plan: &PagePlan,
        url: &Url,
        client: Client<'_>,
        javascript: bool,
        deadline: Instant,
    ) -> Asked {
        let mut attempts = Attempts::default();
        let Some(providers) = self.providers.as_deref() else {
            return Asked::Nobody(attempts);
        };
        let deadline = deadline.checked_sub(HAND_OVER_TIME).unwrap_or(deadline);
        let candidates = self.candidates(plan, url, client, javascript);
        let n_routes = candidates.len().min(ROUTES_MAX);
        // Somebody who waits for a busy service could have had our own stack meanwhile.
        let is_our_last_word = plan.router.mode == RouterMode::Fallback || plan.router.is_pinned;
        let mut n_attempts = 0;
        for (index, candidate) in candidates.iter().take(ROUTES_MAX).enumerate() {
            let is_last = is_our_last_word && index + 1 == n_routes;
            let left = deadline.saturating_duration_since(Instant::now());
            if left < TIME_MIN {
                break;
            }
            // One that hangs leaves a third of the time to those behind it.
            let end = match is_last {
                true => deadline,
                false => Instant::now() + left * 2 / 3,
            };
            let asked = providers.serve(candidate, plan, url, javascript, end, is_last);
            let got = match asked.await {
                Ok(got) => self.in_scope(plan, url, got).await,
                Err(failure) => Err(failure),
            };
            let was_asked = !matches!(&got, Err(failure) if failure.is_unsent());
            n_attempts += u32::from(was_asked);
            match got {
                Ok(got) => {
                    let served = served(providers, candidate, got, n_attempts);
                    if is_blocked(&served).is_none() {
                        let mut served = served;
                        attempts.tell(&mut served);
                        return Asked::Served(Box::new(served));
                    }
                    attempts.note(candidate, "is_blocked", "the site turned it away");
                    attempts.refused = Some(Box::new(served));
                }
                Err(failure) => {
                    attempts.note(candidate, failure.name(), &failure.message);
                    if was_asked {
                        let vendor = vendor(providers, candidate, None, failure.cost, n_attempts);
                        attempts.last = Some((vendor, failure));
                    }
                }
            }
        }
        Asked::Nobody(attempts)
    }

    /// A page that the service was redirected to must be one that the run may fetch.
    async fn in_scope(
        &self,
        plan: &PagePlan,
        url: &Url,
        got: VendorPage,
    ) -> Result<VendorPage, VendorFailure> {
        let to = &got.page.final_url;
        let mut url = without_userinfo(url.clone());
        url.set_fragment(None);
        let url = &url;
        if to == url {
            return Ok(got);
        }
        let may_follow = match &plan.fetch.gate {
            Some(gate) => gate.may_follow(url, to).await,
            None => true,
        };
        if !may_follow || self.check_target(plan, to).await.is_err() {
            return Err(VendorFailure {
                class: Some(Class::TargetFailed),
                message: format!("the page redirects to {to}, where this run does not go"),
                target_status: Some(status::UNREACHABLE_OR_REFUSED),
                retry_after: None,
                retryable: Some(false),
                cost: got.cost,
            });
        }
        Ok(got)
    }
}

/// What is asked of providers.
pub(super) fn wish<'a>(
    plan: &'a PagePlan,
    url: &'a Url,
    client: Client<'a>,
    javascript: bool,
) -> ProviderQuery<'a> {
    ProviderQuery {
        plan,
        url,
        javascript,
        may_pool: client.may_pool,
        affords: client.affords,
    }
}

/// Whether the site turned whoever asked away, and by which rule the page tells it. Decision D91.
fn is_blocked(served: &Served) -> Option<Option<Rule>> {
    let page = &served.page;
    if TURNED_AWAY.contains(&page.status) {
        return Some(None);
    }
    let clues = Clues {
        status: page.status,
        headers: &page.headers,
        content_type: &page.content_type,
        body: &page.body,
    };
    match smart::judge(&clues) {
        Verdict::NeedsBrowser(Rule::BotWall) => Some(Some(Rule::BotWall)),
        Verdict::NeedsBrowser(_) | Verdict::Enough => None,
    }
}

fn served(providers: &Providers, candidate: &Candidate, got: VendorPage, attempts: u32) -> Served {
    let vendor = vendor(providers, candidate, Some(&got.variant), got.cost, attempts);
    let told = match got.rendered {
        Some(true) => Some(("rendered_by".to_owned(), Value::from("provider"))),
        Some(false) | None => None,
    };
    Served {
        page: got.page,
        told: told.into_iter().collect(),
        cpu: Duration::ZERO,
        loaded_bytes: None,
        picture: got.picture,
        pool_price: Nanodollars::ZERO,
        waited: Duration::ZERO,
        is_kept: false,
        keeping: None,
        body_hash: None,
        is_shareable: false,
        vendor: Some(vendor),
        error: None,
    }
}

fn vendor(
    providers: &Providers,
    candidate: &Candidate,
    variant: Option<&str>,
    cost: Nanodollars,
    attempts: u32,
) -> Vendor {
    let provider = candidate.name().to_owned();
    Vendor {
        route: match variant {
            Some(variant) => format!("{provider}.{variant}"),
            None => provider.clone(),
        },
        provider,
        cost,
        byok: candidate.payment == Payment::Own,
        attempts,
        tally: providers.tally(candidate),
    }
}

impl Attempts {
    fn note(&mut self, candidate: &Candidate, outcome: &str, reason: &str) {
        let key = match candidate.payment {
            Payment::Own => "own",
            Payment::Pooled => "pooled",
        };
        self.told.push(json!({
            "provider": candidate.name(), "key": key, "outcome": outcome, "reason": reason,
        }));
    }

    /// Tells of the providers that failed before the page was served. Decision D16: as the other
    /// keys that are told without being asked, since a caller with a wrong key would never learn of
    /// it otherwise.
    fn tell(&self, served: &mut Served) {
        if !self.told.is_empty() {
            let told = Value::Array(self.told.clone());
            served.told.insert("provider_attempts".to_owned(), told);
        }
    }

    /// What the page becomes when nobody served it: what our own stack has of it, else what a provider has, else why not.
    fn give_up(self, own: Result<Served, PageFailure>) -> Result<Served, NotServed> {
        let last = self.last.as_ref().map(|(vendor, _)| vendor.clone());
        let refused = self
            .refused
            .as_ref()
            .and_then(|served| served.vendor.clone());
        let vendor = refused.or(last);
        let blocked = |mut served: Served| {
            // A status of its own tells it already.
            served.error = (served.page.status < 400).then(|| BLOCKED.to_owned());
            self.tell(&mut served);
            served
        };
        match (own, &self.refused) {
            // Nobody was asked: the page is what it would be without a router.
            (Ok(served), _) if self.told.is_empty() => Ok(served),
            (Ok(served), _) => Ok(blocked(Served { vendor, ..served })),
            (Err(_), Some(refused)) => Ok(blocked((**refused).clone())),
            (Err(own), None) => Err(NotServed {
                failure: match &self.last {
                    None => own,
                    Some((vendor, failure)) => PageFailure {
                        message: format!(
                            "{}; {}: {}",
                            own.message, vendor.provider, failure.message
                        ),
                        ..own
                    },
                },
                vendor: vendor.map(Box::new),
            }),
        }
    }
}

/// A page that is no page, whatever its status says: such pages cost nothing. Spec S3.
const BLOCKED: &str = "the site turned every route away: blocked";
