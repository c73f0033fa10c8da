//! Our own stack: the page cache, plain HTTP and the browser, and smart mode's choice between them.

use std::sync::Arc;
use std::time::Instant;

use serde_json::Value;
use tokio::time::timeout_at;
use url::{Position, Url};

use trawl_model::{Cause, Nanodollars, PageFailure};
use trawl_net::fetch::{FetchError, Fetcher, Redirect};
use trawl_net::politeness::Politeness;
use trawl_plan::address::is_same_site;
use trawl_plan::{Engine, PagePlan};
use trawl_render::Renderer;

use super::clock::PageClock;
use super::own_browser::OwnBrowser;
use super::own_http::{OwnHttp, Target};
use super::smart::{self, HostMemory, KnownVerdicts, Verdict};
use super::{Served, Visit, VisitContext};
use crate::cache::PageCache;

/// Why `smart` did not use a browser that the page needs. Decision D57.
const NO_BROWSER: &str = "no browser is installed, so this is the plain HTTP result";
/// The reason to use a browser for a page that plain HTTP could not read.
const BROKEN: &str = "broken";
/// The share of a page's time that is left for plain HTTP after a browser: a fifth.
const TIME_FOR_PLAIN: u32 = 5;

/// The routes that need no third party.
pub(super) struct OwnStack {
    pub(super) fetcher: Fetcher,
    pub(super) http: OwnHttp,
    pub(super) cache: Option<Arc<PageCache>>,
    politeness: Arc<Politeness>,
    browser: Option<OwnBrowser>,
    hosts: HostMemory,
    verdicts: KnownVerdicts,
}

/// Why our own stack has no page, and whether a provider may try.
#[derive(Debug)]
pub(super) struct OwnFailure {
    pub(super) failure: PageFailure,
    /// `false` if a rule of ours or of the site refuses the page.
    pub(super) may_fall_back: bool,
    /// Whether a browser may get the page although plain HTTP did not.
    may_suit_browsers: bool,
}

/// One way to get a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Route {
    /// Plain HTTP, or a cached page.
    Http,
    /// A headless browser.
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

/// Routes of a page in the order they are tried, with the reason for the first. Spec S4,
/// Decision D56.
struct RouteOrder {
    routes: &'static [Route],
    reason: Option<String>,
}

impl RouteOrder {
    fn new(routes: &'static [Route], reason: Option<&str>) -> Self {
        Self {
            routes,
            reason: reason.map(str::to_owned),
        }
    }
}

impl OwnStack {
    pub(super) fn new(fetcher: Fetcher, politeness: Arc<Politeness>) -> Self {
        let http = OwnHttp::new(fetcher.clone(), Arc::clone(&politeness));
        Self {
            fetcher,
            http,
            cache: None,
            politeness,
            browser: None,
            hosts: HostMemory::default(),
            verdicts: KnownVerdicts::default(),
        }
    }

    pub(super) fn with_cache(self, cache: Option<Arc<PageCache>>) -> Self {
        Self { cache, ..self }
    }

    pub(super) fn with_browser(self, renderer: Arc<Renderer>) -> Self {
        let politeness = Arc::clone(&self.politeness);
        Self {
            browser: Some(OwnBrowser::new(renderer, politeness)),
            ..self
        }
    }

    /// What a gigabyte of this page costs on top of the ordinary price.
    pub(super) fn pool_price(&self, plan: &PagePlan) -> Nanodollars {
        self.fetcher.pool_price(&plan.fetch)
    }

    /// Gets a page by the first route that serves it. If plain HTTP served a page that needs the
    /// browser and the browser fails, the plain page is returned.
    pub(super) async fn serve(&self, mut visit: Visit<'_>) -> Result<Served, OwnFailure> {
        let served = self.by_routes(&mut visit).await?;
        Ok(Served {
            waited: visit.clock.waited(),
            ..served
        })
    }

    async fn by_routes(&self, visit: &mut Visit<'_>) -> Result<Served, OwnFailure> {
        let order = self.route_order(*visit);
        let mut reason = order.reason;
        let mut spare: Option<Served> = None;
        let mut broken: Option<OwnFailure> = None;
        let mut last = OwnFailure::of(PageFailure::new(
            Cause::Internal,
            "no route may serve this page",
        ));
        for (place, &route) in order.routes.iter().enumerate() {
            let served = match route {
                Route::Http => Box::pin(self.http_page(visit)).await,
                Route::Browser => {
                    let mut browsed = Visit {
                        clock: browser_clock(visit.clock, &order.routes[place + 1..]),
                        ..*visit
                    };
                    let rendered = Box::pin(self.cached_or_rendered(&mut browsed)).await;
                    visit.clock = visit.clock.having_waited(browsed.clock.waited());
                    rendered.map_err(OwnFailure::of)
                }
            };
            match served {
                Ok(mut served) => {
                    if let Some(need) = self.browser_need(visit.plan, route, &served) {
                        reason = Some(need);
                        spare = Some(served);
                        continue;
                    }
                    add_metadata(visit.plan.engine, route, reason, &mut served);
                    return Ok(served);
                }
                // A browser reads some answers that plain HTTP cannot read. It cannot reach a host
                // that plain HTTP cannot reach.
                Err(error) if route == Route::Http => {
                    let is_last = place + 1 == order.routes.len();
                    if is_last || !error.may_suit_browsers {
                        return Err(error);
                    }
                    reason = Some(format!("{BROKEN}: {}", error.failure.message));
                    broken = Some(error);
                }
                Err(error) => last = error,
            }
        }
        let Some(mut served) = spare else {
            return Err(broken.unwrap_or(last));
        };
        let why = match self.browser() {
            Some(_) => format!("the browser failed: {}", last.failure.message),
            None => NO_BROWSER.to_owned(),
        };
        let reason = reason.map_or_else(|| why.clone(), |need| format!("{need}; {why}"));
        add_metadata(visit.plan.engine, Route::Http, Some(reason), &mut served);
        Ok(served)
    }

    /// [`Self::serve`], given up shortly before the deadline, so that the report on providers can
    /// still be added.
    pub(super) async fn serve_until(&self, visit: Visit<'_>) -> Result<Served, OwnFailure> {
        let clock = visit.clock.handing_over();
        let served = self.serve(Visit { clock, ..visit });
        match timeout_at(clock.latest().into(), served).await {
            Ok(served) => served,
            Err(_elapsed) => Err(match visit.client.page_budget.funds_timeout().await {
                // A provider would need funds as well, so there is no fallback.
                Some(failure) => OwnFailure {
                    failure,
                    may_fall_back: false,
                    may_suit_browsers: false,
                },
                None => {
                    let timed_out = FetchError::TimedOut(visit.clock.time());
                    OwnFailure::of(timed_out.failure())
                }
            }),
        }
    }

    pub(super) fn browser(&self) -> Option<&OwnBrowser> {
        let browser = self.browser.as_ref();
        browser.filter(|browser| browser.is_installed())
    }

    fn route_order(&self, visit: Visit<'_>) -> RouteOrder {
        use Route::{Browser, Http};
        let plan = visit.plan;
        match plan.engine {
            Engine::Http => RouteOrder::new(&[Http], None),
            Engine::Browser => RouteOrder::new(&[Browser], None),
            Engine::Smart if self.browser().is_none() => {
                let reason = plan.render.needs_browser().then_some(NO_BROWSER);
                RouteOrder::new(&[Http], reason)
            }
            Engine::Smart if plan.render.needs_browser() => {
                let reason = "requested: a parameter needs a browser";
                RouteOrder::new(&[Browser], Some(reason))
            }
            Engine::Smart => match self.expected_need(plan) {
                // The plain page may replace the rendered one.
                Some(_) if self.has_plain_copy(plan, &visit.client) => {
                    RouteOrder::new(&[Http, Browser], None)
                }
                Some(rule) => {
                    let reason = format!("{}: as other pages of this host were", rule.name());
                    RouteOrder::new(&[Browser, Http], Some(&reason))
                }
                None => RouteOrder::new(&[Http, Browser], None),
            },
        }
    }

    /// Whether the cache has the page from plain HTTP and the plan takes that one.
    fn has_plain_copy(&self, plan: &PagePlan, client: &VisitContext<'_>) -> bool {
        plan.fetch.cache.skip_browser && self.is_cached(plan, client.jar)
    }

    /// Why the page is expected to need a browser, judging by the last pages of its host.
    fn expected_need(&self, plan: &PagePlan) -> Option<smart::Rule> {
        if smart::names_document(&plan.url) {
            return None;
        }
        let host = host_and_port(&plan.url)?;
        self.hosts.expects_browser(host, Instant::now())
    }

    /// Why a page that plain HTTP served needs a browser, if `smart` decides and it does.
    fn browser_need(&self, plan: &PagePlan, route: Route, served: &Served) -> Option<String> {
        let is_smart = plan.engine == Engine::Smart && route == Route::Http;
        let may_replace_browser = served.cache.is_hit() && plan.fetch.cache.skip_browser;
        if !is_smart || may_replace_browser {
            return None;
        }
        let signals = served.signals();
        let verdict = match &served.cache.body_hash() {
            Some(body) => self.verdicts.judge(&signals, body),
            None => smart::judge(&signals),
        };
        for host in judged_hosts(&plan.url, &served.page.final_url) {
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

    /// Gets a page from the cache or by plain HTTP, and the redirects that led to it.
    pub(super) async fn by_http(
        &self,
        visit: &mut Visit<'_>,
        target: Target<'_>,
    ) -> Result<(Served, Vec<Redirect>), OwnFailure> {
        let cached = self.cached_or_http(visit, target).await?;
        let fetched = cached.fetched;
        let mut served = Served::new(fetched.page);
        served.usage.compute = fetched.decode_time;
        if let Some(pool) = fetched.pool {
            served.usage.pool_price = pool.price_per_gigabyte;
        }
        if cached.cache.is_hit() {
            // Decision D54: a page of the cache was paid for when it was fetched.
            served.usage.content_bytes = 0;
        }
        let cache = cached.metadata.map(|value| ("cache".to_owned(), value));
        let fault = fetched.fault.map(|fault| fault.to_string());
        let fault = fault.map(|fault| ("body_fault".to_owned(), fault.into()));
        let served = Served {
            metadata: cache.into_iter().chain(fault).collect(),
            cache: cached.cache,
            ..served
        };
        Ok((served, fetched.redirects))
    }
}

impl OwnFailure {
    /// A failure known by its cause alone.
    fn of(failure: PageFailure) -> Self {
        Self {
            may_fall_back: !failure.cause.is_refusal(),
            may_suit_browsers: false,
            failure,
        }
    }
}

impl From<FetchError> for OwnFailure {
    fn from(error: FetchError) -> Self {
        Self {
            may_fall_back: error.is_failure_of_site(),
            may_suit_browsers: error.may_suit_browsers(),
            failure: error.failure(),
        }
    }
}

/// The time of a browser that these routes follow: one that gets no page leaves them some.
fn browser_clock(clock: PageClock, after: &[Route]) -> PageClock {
    match after {
        [] => clock,
        _ => clock.shortened(clock.time() / TIME_FOR_PLAIN),
    }
}

/// The host of a URL, with its port if that is not the default one.
fn host_and_port(url: &Url) -> Option<&str> {
    let has_host = url.has_host();
    has_host.then(|| &url[Position::BeforeHost..Position::AfterPort])
}

/// The hosts that a verdict on a page speaks for: the one that answered, and the requested one if
/// it only led to its other name.
fn judged_hosts<'a>(requested: &'a Url, found: &'a Url) -> Vec<&'a str> {
    let led = is_same_site(requested, found).then_some(requested);
    let hosts = [found].into_iter().chain(led).filter_map(host_and_port);
    let mut hosts: Vec<&str> = hosts.collect();
    hosts.dedup();
    hosts
}

/// Adds which route made the page, and why, to its metadata. Decision D16.
fn add_metadata(engine: Engine, route: Route, reason: Option<String>, served: &mut Served) {
    if engine == Engine::Http {
        return;
    }
    let reason = match (reason, engine, route) {
        (Some(reason), ..) => reason,
        (None, Engine::Browser, _) => "requested: every page of this mode".to_owned(),
        (None, ..) => enough(served),
    };
    let metadata = &mut served.metadata;
    metadata.insert("rendered_by".into(), Value::from(route.name()));
    metadata.insert("render_reason".into(), reason.into());
}

/// Why a page that plain HTTP served needs no browser.
fn enough(served: &Served) -> String {
    let status = served.page.status;
    if status >= 400 {
        return format!(
            "enough: the site answered {status}, without a challenge that a browser passes"
        );
    }
    match smart::is_html(&served.signals()) {
        true => "enough: the page carries its content".to_owned(),
        false => "enough: the page is not HTML, and only HTML is rendered".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bytes::Bytes;

    use trawl_model::FetchedPage;

    use super::*;

    #[test]
    fn the_reason_says_what_was_enough() {
        let check = |status: u16, content_type: &str, expected: &str| {
            let url = Url::parse("http://site.example/a").expect("a URL");
            let mut served = Served::new(FetchedPage {
                requested_url: url.clone(),
                final_url: url,
                redirects: Vec::new(),
                status,
                headers: Vec::new(),
                cookies: Vec::new(),
                body: Bytes::from_static(b"%PDF-1.7"),
                content_type: content_type.to_owned(),
            });
            add_metadata(Engine::Smart, Route::Http, None, &mut served);
            assert_eq!(served.metadata["rendered_by"], "http");
            let reason = served.metadata["render_reason"].as_str();
            let reason = reason.unwrap_or_default();
            assert!(
                reason.starts_with("enough: ") && reason.contains(expected),
                "{reason}"
            );
        };
        check(
            200,
            "text/html; charset=utf-8",
            "the page carries its content",
        );
        check(200, "application/pdf", "the page is not HTML");
        check(404, "text/html", "the site answered 404");
        check(404, "application/pdf", "the site answered 404");
    }

    #[test]
    fn a_browser_leaves_time_for_plain_http_after_it() {
        let second = Duration::from_secs(1);
        let end = Instant::now() + 60 * second;
        let clock = PageClock::start(30 * second, Duration::ZERO, end);
        let browsed = browser_clock(clock, &[Route::Http]);
        assert_eq!(clock.deadline() - browsed.deadline(), 6 * second);
        let last = browser_clock(clock, &[]);
        assert_eq!(last.deadline(), clock.deadline());
    }

    #[test]
    fn a_host_that_redirects_to_another_is_not_judged_by_its_page() {
        for (requested, found, expected) in [
            (
                "http://a.example/x",
                "http://a.example/y",
                &["a.example"][..],
            ),
            (
                "http://short.example/x",
                "https://a.example/",
                &["a.example"][..],
            ),
            (
                "http://a.example/x",
                "https://www.a.example/x",
                &["www.a.example", "a.example"][..],
            ),
            (
                "http://a.example:8080/",
                "http://a.example/",
                &["a.example"][..],
            ),
        ] {
            let url = |text: &str| Url::parse(text).expect("a URL");
            let (requested, found) = (url(requested), url(found));
            assert_eq!(judged_hosts(&requested, &found), expected, "{requested}");
        }
    }
}
