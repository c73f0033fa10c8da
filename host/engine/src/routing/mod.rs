//! Which routes may serve a page, in what order, and trying them: the first that serves wins.
//!
//! A mode of a request (`smart`, `http`, `browser`) is a list of routes, never a copy of the loop.

mod cached;
mod own_browser;
mod own_http;
mod robots_gate;
mod smart;
mod third_party;

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
pub use cached::CacheWrite;
use serde_json::{Map, Value};
use url::Url;

use crate::cache::PageCache;
use crate::providers::{ProviderQuery, Providers};
use own_browser::OwnBrowser;
use own_http::OwnHttp;
use smart::{Clues, HostMemory, KnownVerdicts, Verdict};
use trawl_model::failure::status;
use trawl_model::{FetchedPage, Nanodollars, PageFailure, VendorUse};
use trawl_net::fetch::{CookieJar, Fetcher};
use trawl_net::politeness::Politeness;
use trawl_net::robots::Robots;
use trawl_plan::{Engine, PagePlan, RouterMode};
use trawl_plugins::Registry;
use trawl_render::{LOADED_BYTES_MAX, RenderJob, Renderer};

pub use own_http::RETRIES_MAX;
pub use third_party::Vendor;

/// One way to get a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// Plain HTTP through our own stack.
    Http,
    /// A headless browser of our own.
    Browser,
}

impl Route {
    /// `metadata.rendered_by`.
    const fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Browser => "browser",
        }
    }
}

/// A page and how it was got.
#[derive(Clone, Debug)]
pub struct Served {
    /// The page.
    pub page: FetchedPage,
    /// What is told of the way in `metadata`, without being asked: `rendered_by`, `render_reason`, `cache`, `automation_data`.
    pub told: Map<String, Value>,
    /// CPU time it took: undoing content codings, or the browser's.
    pub cpu: Duration,
    /// Decoded bytes of a rendered page with all that it loaded; `None` is the page's body.
    pub loaded_bytes: Option<u64>,
    /// A PNG picture, when the plan asks for one.
    pub picture: Option<Bytes>,
    /// What a gigabyte (10^9 bytes) through the pool that carried the page costs, on top of the ordinary price.
    pub pool_price: Nanodollars,
    /// How long the page waited for its turn without losing time of its own, at most the `patience` of its plan.
    pub waited: Duration,
    /// Whether a page that was kept served, so that no content was transferred.
    pub is_kept: bool,
    /// What is to be kept of the page for others, once it is paid for.
    pub keeping: Option<CacheWrite>,
    /// Hash of the body, when it is known already.
    pub body_hash: Option<blake3::Hash>,
    /// Whether anyone who asks gets this page: plain HTTP served it, nothing of the caller was sent for it, and neither its site nor
    /// the caller wants it not to be kept.
    pub is_shareable: bool,
    /// The provider that served it, if one did.
    pub vendor: Option<Vendor>,
    /// Why the page counts as failed although something was served, beside its status.
    pub error: Option<String>,
}

/// Why no page was served, and the provider that tried last.
#[derive(Clone, Debug)]
pub struct NotServed {
    /// What the page becomes.
    pub failure: PageFailure,
    /// The provider, if one was asked.
    pub vendor: Option<Box<Vendor>>,
}

impl From<PageFailure> for NotServed {
    fn from(failure: PageFailure) -> Self {
        Self {
            failure,
            vendor: None,
        }
    }
}

/// Why our own stack has no page, and whether somebody else may have it.
#[derive(Debug)]
struct Failing {
    failure: PageFailure,
    /// Not when a rule of ours or of the site refuses the page.
    may_fall_back: bool,
}

/// For whom a page is served.
#[derive(Clone, Copy)]
pub struct Client<'a> {
    /// The account that pays, or any other name of who waits.
    pub owner: &'a str,
    /// Cookies of the run.
    pub jar: &'a CookieJar,
    /// Decoded bytes that a rendered page may load before it outgrows its ceiling.
    pub bytes_max: u64,
    /// The plugins of the run: providers are among them.
    pub registry: &'a Registry,
    /// Whether the operator's credentials at providers may pay.
    pub may_pool: bool,
    /// Whether the page may cost what a provider's work with this charge costs.
    pub affords: &'a (dyn Fn(VendorUse) -> bool + Sync),
}

/// What the routes run on.
pub struct Routing {
    fetcher: Fetcher,
    own_http: OwnHttp,
    own_browser: Option<OwnBrowser>,
    hosts: HostMemory,
    verdicts: KnownVerdicts,
    cache: Option<Arc<PageCache>>,
    politeness: Arc<Politeness>,
    robots: Arc<Robots>,
    providers: Option<Arc<Providers>>,
}

/// Routes of a page, in the order they are tried, with the reason for the first. Spec S4,
/// Decision D56.
struct RouteOrder {
    routes: &'static [Route],
    reason: Option<String>,
}

/// Why `smart` did not use a browser that the page needs. Decision D57.
const NO_BROWSER: &str = "no browser is installed, so this is the plain HTTP result";

impl Routing {
    /// Routing over this fetcher, at this pace, where robots.txt allows it for those who ask.
    pub fn new(fetcher: Fetcher, politeness: Arc<Politeness>, robots: Arc<Robots>) -> Self {
        let own_http = OwnHttp::new(
            fetcher.clone(),
            Arc::clone(&politeness),
            Arc::clone(&robots),
        );
        Self {
            own_http,
            own_browser: None,
            hosts: HostMemory::default(),
            verdicts: KnownVerdicts::default(),
            fetcher,
            cache: None,
            politeness,
            robots,
            providers: None,
        }
    }

    /// The same, with a page cache before its routes.
    #[must_use]
    pub fn with_cache(self, cache: Option<Arc<PageCache>>) -> Self {
        Self { cache, ..self }
    }

    /// The same, with a browser among its routes.
    #[must_use]
    pub fn with_browser(self, renderer: Arc<Renderer>) -> Self {
        let (politeness, robots) = (Arc::clone(&self.politeness), Arc::clone(&self.robots));
        Self {
            own_browser: Some(OwnBrowser::new(renderer, politeness, robots)),
            ..self
        }
    }

    /// The same, with providers behind or ahead of our own stack.
    #[must_use]
    pub fn with_providers(self, providers: Arc<Providers>) -> Self {
        let providers = Some(providers);
        Self { providers, ..self }
    }

    /// The providers, if there are any.
    pub fn providers(&self) -> Option<&Providers> {
        self.providers.as_deref()
    }

    /// Gets a page by our own stack, by providers behind it, or by providers ahead of it. Spec S17.
    ///
    /// # Errors
    /// The failure of the last route tried. A site's own 4xx or 5xx is a served page, not an error.
    pub async fn serve(
        &self,
        plan: &PagePlan,
        url: &Url,
        client: Client<'_>,
    ) -> Result<Served, NotServed> {
        let deadline = Instant::now() + plan.fetch.timeout;
        let own = |deadline| self.serve_ourselves(plan, url, client, deadline);
        match plan.router.mode {
            RouterMode::Off => Ok(own(deadline).await.map_err(|failing| failing.failure)?),
            // Boxed, as are the other ways that take long: a page that is there already is served in a small future.
            RouterMode::First => Box::pin(self.providers_first(plan, url, client, deadline)).await,
            RouterMode::Fallback => {
                Box::pin(self.providers_behind(plan, url, client, deadline)).await
            }
        }
    }

    /// Gets a page by the first route of our own stack that serves it. A page that plain HTTP served and that a browser should
    /// have made is returned when the browser fails.
    async fn serve_ourselves(
        &self,
        plan: &PagePlan,
        url: &Url,
        client: Client<'_>,
        deadline: Instant,
    ) -> Result<Served, Failing> {
        let way = self.way(plan, url);
        let mut reason = way.reason;
        let mut spare: Option<Served> = None;
        let mut last = Failing::of(PageFailure::new(
            status::UNKNOWN,
            "no route may serve this page",
        ));
        for &route in way.routes {
            let served = match route {
                Route::Http => self.by_http(plan, url, client.jar).await,
                Route::Browser => {
                    let waited = spare.as_ref().map_or(Duration::ZERO, |page| page.waited);
                    let rendered = self.by_browser(plan, url, client, deadline + waited);
                    Box::pin(rendered).await.map_err(Failing::of)
                }
            };
            match served {
                Ok(mut served) => {
                    if let Some(need) = self.need(plan, route, url, &served) {
                        reason = Some(need);
                        spare = Some(served);
                        continue;
                    }
                    tell(plan.engine, route, reason, &mut served);
                    return Ok(served);
                }
                // A host that plain HTTP cannot reach is no better reached by a browser.
                Err(failing) if route == Route::Http => return Err(failing),
                Err(failing) => last = failing,
            }
        }
        let Some(mut served) = spare else {
            return Err(last);
        };
        let why = match self.browser() {
            Some(_) => format!("the browser failed: {}", last.failure.message),
            None => NO_BROWSER.to_owned(),
        };
        let reason = reason.map_or_else(|| why.clone(), |need| format!("{need}; {why}"));
        tell(plan.engine, Route::Http, Some(reason), &mut served);
        Ok(served)
    }

    /// The most that a gigabyte of this page can cost on top of the ordinary price, whichever route serves it.
    pub fn pool_price_max(&self, plan: &PagePlan) -> Nanodollars {
        self.fetcher.pool_price(&plan.fetch)
    }

    /// The most that a provider can charge for this page, if one may serve it.
    pub fn vendor_max(
        &self,
        plan: &PagePlan,
        registry: &Registry,
        may_pool: bool,
    ) -> Option<VendorUse> {
        let providers = self.providers.as_deref()?;
        let url = plan.url.as_ref().ok()?;
        if plan.router.mode == RouterMode::Off {
            return None;
        }
        let most = |javascript| {
            let affords = |_| true;
            let wish = ProviderQuery {
                plan,
                url,
                javascript,
                may_pool,
                affords: &affords,
            };
            providers.max_cost(registry, &wish)
        };
        let both = [most(false), most(true)].into_iter().flatten();
        both.max_by_key(|used| (!used.byok, used.cost))
    }

    fn browser(&self) -> Option<&OwnBrowser> {
        self.own_browser
            .as_ref()
            .filter(|browser| browser.is_installed())
    }

    fn way(&self, plan: &PagePlan, url: &Url) -> RouteOrder {
        let (routes, reason): (&'static [Route], Option<&str>) = match plan.engine {
            Engine::Http => (&[Route::Http], None),
            Engine::Browser => (&[Route::Browser], None),
            Engine::Smart if self.browser().is_none() => {
                let reason = plan.render.needs_browser().then_some(NO_BROWSER);
                (&[Route::Http], reason)
            }
            Engine::Smart if plan.render.needs_browser() => (
                &[Route::Browser],
                Some("requested: a parameter needs a browser"),
            ),
            Engine::Smart => match self.expected(url) {
                Some(rule) => {
                    let reason = format!("{}: as other pages of this host were", rule.name());
                    return RouteOrder {
                        routes: &[Route::Browser, Route::Http],
                        reason: Some(reason),
                    };
                }
                None => (&[Route::Http, Route::Browser], None),
            },
        };
        RouteOrder {
            routes,
            reason: reason.map(str::to_owned),
        }
    }

    fn expected(&self, url: &Url) -> Option<smart::Rule> {
        self.hosts.expects_browser(url.host_str()?, Instant::now())
    }

    /// Why a page that plain HTTP served needs a browser, if `smart` is to decide and it does.
    fn need(&self, plan: &PagePlan, route: Route, url: &Url, served: &Served) -> Option<String> {
        let is_asked = plan.engine == Engine::Smart && route == Route::Http;
        let may_stand_in = served.is_kept && plan.fetch.cache.skip_browser;
        if !is_asked || may_stand_in {
            return None;
        }
        let page = &served.page;
        let clues = Clues {
            status: page.status,
            headers: &page.headers,
            content_type: &page.content_type,
            body: &page.body,
        };
        let verdict = match &served.body_hash {
            Some(body) => self.verdicts.judge(&clues, body),
            None => smart::judge(&clues),
        };
        if let Some(host) = url.host_str() {
            self.hosts.note(host, verdict, Instant::now());
        }
        match verdict {
            Verdict::Enough => None,
            Verdict::NeedsBrowser(rule) => {
                metrics::counter!("trawl_smart_total", "rule" => rule.name()).increment(1);
                Some(format!("{}: {}", rule.name(), rule.reason()))
            }
        }
    }

    async fn by_http(
        &self,
        plan: &PagePlan,
        url: &Url,
        jar: &CookieJar,
    ) -> Result<Served, Failing> {
        let got = self.kept_or_http(plan, url, jar).await;
        let got = got.map_err(|error| Failing {
            may_fall_back: error.is_failure_of_site(),
            failure: error.failure(),
        })?;
        let fetched = got.fetched;
        let is_kept = got.told.is_some();
        let told = got.told.map(|kept| ("cache".to_owned(), kept));
        Ok(Served {
            page: fetched.page,
            told: told.into_iter().collect(),
            cpu: fetched.decode_time,
            loaded_bytes: None,
            picture: None,
            pool_price: fetched
                .pool
                .map_or(Nanodollars::ZERO, |pool| pool.price_per_gigabyte),
            waited: fetched.waited,
            is_kept,
            keeping: got.keeping,
            body_hash: got.body_hash,
            is_shareable: got.is_shareable,
            vendor: None,
            error: None,
        })
    }

    async fn by_browser(
        &self,
        plan: &PagePlan,
        url: &Url,
        client: Client<'_>,
        deadline: Instant,
    ) -> Result<Served, PageFailure> {
        let browser = self.browser().ok_or_else(own_browser::not_installed)?;
        let errand = RenderJob {
            owner: client.owner,
            bytes_max: client.bytes_max.min(LOADED_BYTES_MAX),
            deadline,
        };
        let got = browser.fetch(plan, url, errand).await?;
        let rendered = got.rendered;
        Ok(Served {
            page: rendered.page,
            told: rendered.metadata,
            cpu: rendered.cpu,
            loaded_bytes: Some(rendered.loaded_bytes),
            picture: rendered.screenshot,
            pool_price: self.fetcher.pool_price(&plan.fetch),
            waited: got.waited,
            is_kept: false,
            keeping: None,
            body_hash: None,
            is_shareable: false,
            vendor: None,
            error: None,
        })
    }
}

impl Failing {
    /// A failure that is known by its status alone: what is refused by a rule has one of its own.
    fn of(failure: PageFailure) -> Self {
        Self {
            may_fall_back: failure.status != status::UNREACHABLE_OR_REFUSED,
            failure,
        }
    }
}

/// Tells by whom the page was made, and why. Decision D16.
fn tell(engine: Engine, route: Route, reason: Option<String>, served: &mut Served) {
    if engine == Engine::Http {
        return;
    }
    let told = &mut served.told;
    told.insert("rendered_by".into(), route.name().into());
    let reason = match (reason, engine, route) {
        (Some(reason), ..) => reason,
        (None, Engine::Browser, _) => "requested: every page of this mode".to_owned(),
        (None, ..) => "enough: the page carries its content".to_owned(),
    };
    told.insert("render_reason".into(), reason.into());
}

#[cfg(test)]
mod tests;
