//! Renders one page in a browser context of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use chromiumoxide::cdp::browser_protocol::emulation::{
    SetLocaleOverrideParams, SetTouchEmulationEnabledParams,
};
use chromiumoxide::cdp::browser_protocol::network::{
    BlockPattern, SetBlockedUrLsParams, SetCookiesParams,
};
use chromiumoxide::cdp::browser_protocol::page::{self, NavigateParams};
use chromiumoxide::cdp::browser_protocol::performance::{self, GetMetricsParams};
use serde_json::{Map, Value, json};
use url::Url;

use trawl_model::{Cause, FetchedPage, urls};
use trawl_plan::address::without_fragment;
use trawl_plan::{FetchPlan, RenderPlan};

use super::agent::{agent, locale};
use super::browser::Browser;
use super::caller_headers::CallerHeaders;
use super::cdp::CallError;
use super::config::LOADED_BYTES_MAX;
use super::context::OpenContext;
use super::error::RenderError;
use super::exchanges::Unstorable;
use super::job::{Rendered, Visit};
use super::load_error::{load_error, refusal};
use super::navigation::{Document, NOT_MODIFIED};
use super::page_setup::{ADS, blocked, intercepted, metrics, network_events, noting_work};
use super::pool::TabSlot;
use super::watch::{PagePolicy, Watch};
use super::workers;
use trawl_net::egress::ProxyChannel;

/// The fraction of a page's time that is reserved for extracting its document, and its bounds.
const RESERVE_PART: u32 = 8;
const RESERVE: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(3));
/// How long events may arrive after the response that they belong to.
const LATE_EVENTS: Duration = Duration::from_millis(300);

/// An open page.
pub(super) struct Tab<'a> {
    browser: &'a Browser,
    pub(super) context: &'a OpenContext,
    pub(super) watch: Watch,
    deadline: Instant,
    started: Instant,
    /// Device pixels per CSS pixel along each side.
    pub(super) scale: f64,
    /// Number of moves of the page when the current chain of steps started.
    chain_started_at: AtomicU32,
    /// Whether a script or a step of the caller has begun.
    has_acted: &'a AtomicBool,
    /// A page's share of the shared processes' CPU time before it was opened, in seconds.
    cpu_before: f64,
    /// Whether the page's pictures are wanted.
    pub(super) shows_pictures: bool,
}

/// Renders one page in a tab. `has_acted` is set before a script or a step of the caller begins,
/// after which the page cannot be rendered again without doing it twice.
pub(super) async fn render(
    slot: &Arc<TabSlot>,
    channel: &ProxyChannel,
    visit: Visit<'_>,
    has_acted: &AtomicBool,
) -> Result<Rendered, RenderError> {
    let Visit {
        url,
        fetch,
        plan,
        job,
    } = visit;
    let browser = &slot.browser;
    let cpu_before = browser.shared_cpu().await?;
    let context = OpenContext::open(slot, channel.address()).await?;
    let events = context.listen();
    let (user, password) = channel.credentials();
    let mut headers = CallerHeaders::new(fetch, url.clone());
    headers.cookies.kept_by(channel.kept_cookies(), url);
    let rules = PagePolicy {
        credentials: (user.to_owned(), password.to_owned()),
        headers,
        redirects: job.redirects.cloned(),
        url: without_fragment(url),
        blocked: blocked(plan),
        bytes_max: job.bytes_max.min(LOADED_BYTES_MAX),
        wants_pictures: plan.screenshot.is_some() || job.bytes_max < LOADED_BYTES_MAX,
        without_pictures: intercepted(fetch, &[blocked(plan).as_slice(), &["Image"]].concat()),
        agent: agent(fetch, &browser.user_agent),
    };
    let tab = Tab {
        browser,
        context: &context,
        watch: Watch::new(String::from(context.target.clone()), rules),
        deadline: job.deadline,
        started: Instant::now(),
        scale: plan.window.scale,
        chain_started_at: AtomicU32::new(0),
        has_acted,
        cpu_before,
        shows_pictures: plan.screenshot.is_some(),
    };
    let reading = tab
        .watch
        .read(browser.connection(), &context.session, events);
    let rendered = tokio::select! {
        rendered = tab.run(channel, visit) => rendered,
        error = reading => Err(error),
    };
    match rendered {
        Err(RenderError::Crashed | RenderError::PageCrashed) if browser.has_just_killed() => {
            Err(RenderError::Memory)
        }
        rendered => rendered,
    }
}

impl Tab<'_> {
    pub(super) fn browser(&self) -> &Browser {
        self.browser
    }

    /// The browser's name of the page.
    pub(super) fn target(&self) -> &str {
        self.context.target.as_ref()
    }

    /// Notes that a script or a step of the caller begins.
    pub(super) fn mark_side_effects(&self) {
        self.has_acted.store(true, Ordering::Relaxed);
    }

    async fn run(&self, channel: &ProxyChannel, visit: Visit<'_>) -> Result<Rendered, RenderError> {
        let Visit {
            url,
            fetch,
            plan,
            job,
        } = visit;
        let mut report = Vec::new();
        self.set_up(url, fetch, plan).await?;
        if let Some(script) = &plan.before_load
            && let Some(reason) = self.syntax_error(script).await?
        {
            report.push(json!({"evaluate_on_new_document": reason}));
        }
        if plan.before_load.is_some() {
            self.mark_side_effects();
        }
        if let Some(rendered) = self.navigate(channel, url).await? {
            return Ok(rendered);
        }
        self.wait_for_load().await;
        self.wait_for_challenge(|document, html| {
            (job.is_challenge)(document.status, &document.headers, html)
        })
        .await?;
        self.start_chain();
        if plan.before_load.is_some()
            && report.is_empty()
            && let Some(reason) = self.failed_before_load(url, plan).await?
        {
            report.push(json!({"evaluate_on_new_document": reason}));
        }
        let mut missed = Vec::new();
        self.wait(&plan.wait, &mut missed).await?;
        report.extend(missed.into_iter().map(|reason| json!({"wait_for": reason})));
        if let Some(time) = plan.scroll {
            let cut = self.scroll(time).await?;
            report.extend(cut.map(|cut| json!({"scroll": cut})));
            self.wait_for_load().await;
        }
        self.automate(plan, url, &mut report).await?;
        let mut rendered = self.read(channel, url, plan, &mut report).await?;
        if !report.is_empty() {
            let report = report.into();
            rendered
                .metadata
                .insert("automation_data".to_owned(), report);
        }
        // What was stopped beyond the most that may be loaded is not the caller's.
        rendered.loaded_bytes = rendered.loaded_bytes.min(job.bytes_max);
        Ok(rendered)
    }

    /// Navigates to the page. One whose answer shows nothing is returned at once.
    async fn navigate(
        &self,
        channel: &ProxyChannel,
        url: &Url,
    ) -> Result<Option<Rendered>, RenderError> {
        let navigated = self.call(NavigateParams::new(url.as_str())).await?;
        let Some(error) = navigated.error_text else {
            return Ok(None);
        };
        if error.ends_with("ERR_ABORTED")
            && let Some(rendered) = self.without_content(url).await?
        {
            return Ok(Some(rendered));
        }
        let refused = self.refused_redirect();
        Err(match refused.or_else(|| refusal(&channel.refused(), url)) {
            Some(refused) => refused,
            None => load_error(&error, self.has_response().await, self.shows_pictures),
        })
    }

    /// Reads the page as it is now, with its screenshot if one is wanted. One that is cut is
    /// reported.
    async fn read(
        &self,
        channel: &ProxyChannel,
        url: &Url,
        plan: &RenderPlan,
        report: &mut Vec<Value>,
    ) -> Result<Rendered, RenderError> {
        let document = self.document(channel)?;
        if let Some(reason) = self.watch.state().broken() {
            let text = format!("the page's document ended before it was complete: {reason}");
            return Err(RenderError::Load(Cause::Incomplete, text));
        }
        let mut screenshot = None;
        if let Some(plan) = plan.screenshot {
            let taken = self.screenshot(plan).await?;
            report.extend(taken.cut.map(|cut| json!({"screenshot": cut})));
            screenshot = Some(taken.png);
        }
        self.look_again().await;
        let told = self.watch.until(|state| state.exchanges.has_all_headers());
        let _not_stored_without = tokio::time::timeout(LATE_EVENTS, told).await;
        // Reading the page ends what is in flight.
        let pending = self.watch.state().incomplete();
        let page = self.page(url, document).await?;
        let cpu = self.cpu().await?;
        let mut metadata = Map::new();
        let state = self.watch.state();
        let mut unstorable = state.exchanges.unstorable();
        if !pending.is_empty() {
            metadata.insert("incomplete".to_owned(), json!({"pending": pending}));
            unstorable = Some(Unstorable::Incomplete);
        }
        Ok(Rendered {
            page,
            loaded_bytes: state.loaded_bytes,
            cpu,
            screenshot,
            metadata,
            unstorable,
        })
    }

    /// The page of an answer that shows nothing: 204 and 205. An unasked 304 is none.
    async fn without_content(&self, url: &Url) -> Result<Option<Rendered>, RenderError> {
        let responded = self
            .watch
            .until(|state| state.navigation.not_shown().is_some());
        let _no_response = tokio::time::timeout(LATE_EVENTS, responded).await;
        let document = self.watch.state().without_content();
        let Some(document) = document else {
            return Ok(None);
        };
        if document.status == NOT_MODIFIED {
            let text = "the site answered 304 (not modified) without a page, although the request \
                        had no condition";
            return Err(RenderError::Load(Cause::ConnectionClosed, text.to_owned()));
        }
        let page = FetchedPage {
            requested_url: url.clone(),
            final_url: urls::parse(&document.url).unwrap_or_else(|_| url.clone()),
            redirects: self.watch.state().navigation.way().redirects,
            status: document.status,
            headers: document.headers,
            cookies: Vec::new(),
            body: Bytes::new(),
            content_type: document.media_type,
        };
        Ok(Some(Rendered {
            page,
            loaded_bytes: 0,
            cpu: self.cpu().await?,
            screenshot: None,
            metadata: Map::new(),
            unstorable: Some(Unstorable::Incomplete),
        }))
    }

    /// Whether the site responded although nothing is displayed: then the response is a download.
    async fn has_response(&self) -> bool {
        let responded = self.watch.until(|state| state.navigation.has_response());
        tokio::time::timeout(LATE_EVENTS, responded).await.is_ok()
    }

    /// Applies everything that must be set before the page is requested. The commands are sent
    /// together.
    async fn set_up(
        &self,
        url: &Url,
        fetch: &FetchPlan,
        plan: &RenderPlan,
    ) -> Result<(), RenderError> {
        let everything = async {
            tokio::try_join!(
                self.call(page::EnableParams::default()),
                self.call(network_events()),
                self.call(performance::EnableParams::default()),
                self.call(intercepted(fetch, &blocked(plan))),
                self.call(agent(fetch, &self.browser.user_agent)),
                self.call(workers::auto_attach()),
                self.call(metrics(plan)),
                self.call(noting_work()),
            )
        };
        everything.await?;
        if plan.window.touch {
            self.call(SetTouchEmulationEnabledParams::new(true)).await?;
        }
        if let Some(locale) = locale(fetch) {
            // Numbers and dates as well. A value that is a list or no locale sets the languages
            // alone.
            let params = SetLocaleOverrideParams {
                locale: Some(locale.replace('-', "_")),
            };
            if let Err(CallError::Gone) = self.context.call(params).await {
                return Err(RenderError::Crashed);
            }
        }
        if let Some(script) = &plan.before_load {
            let origins = plan.before_load_origins(url);
            self.add_before_load(script, &origins).await?;
        }
        if plan.load.block_ads {
            let patterns = ADS.iter().map(|pattern| BlockPattern::new(*pattern, true));
            let block = SetBlockedUrLsParams {
                url_patterns: Some(patterns.collect()),
            };
            self.call(block).await?;
        }
        self.set_cookies(url).await
    }

    /// Puts the caller's cookies into the browser's jar, as far as it takes them.
    async fn set_cookies(&self, url: &Url) -> Result<(), RenderError> {
        let cookies = self.watch.cookies();
        if cookies.is_empty() {
            return Ok(());
        }
        let all = SetCookiesParams::new(cookies.for_jar(url));
        match self.try_call(all).await {
            Err(CallError::Refused(_)) => {}
            answer => return Ok(answer.map(drop)?),
        }
        let mut untaken = Vec::new();
        for cookie in cookies.for_jar(url) {
            let pair = (cookie.name.clone(), cookie.value.clone());
            match self.try_call(SetCookiesParams::new(vec![cookie])).await {
                Ok(_) => {}
                Err(CallError::Refused(_)) => untaken.push(pair),
                Err(error) => return Err(error.into()),
            }
        }
        cookies.set_untaken(untaken);
        Ok(())
    }

    /// Until when waits may last, so that time remains to return the page as it is then.
    pub(super) fn soft_deadline(&self) -> Instant {
        let all = self.deadline.saturating_duration_since(self.started);
        let reserve = (all / RESERVE_PART).clamp(RESERVE.0, RESERVE.1);
        self.deadline.checked_sub(reserve).unwrap_or(self.deadline)
    }

    /// Starts a chain of steps at the current main document.
    pub(super) fn start_chain(&self) {
        let now = self.watch.state().moves;
        self.chain_started_at.store(now, Ordering::Relaxed);
    }

    pub(super) fn chain_started_at(&self) -> u32 {
        self.chain_started_at.load(Ordering::Relaxed)
    }

    /// The main document's response, if it may be returned.
    fn document(&self, channel: &ProxyChannel) -> Result<(Document, Url), RenderError> {
        let document = self.watch.state().document();
        let document = document.ok_or_else(|| {
            // A navigation that was refused shows the browser's own page.
            self.refused_redirect().unwrap_or_else(|| {
                let text = "the site did not respond in time";
                RenderError::Load(Cause::Timeout, text.to_owned())
            })
        })?;
        let not_a_web_page = || {
            RenderError::Load(
                Cause::RedirectRefused,
                "the page navigated to a URL that is not `http` or `https`".to_owned(),
            )
        };
        let url = urls::parse(&document.url).map_err(|_| not_a_web_page())?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(not_a_web_page());
        }
        // The document may be what the proxy says of it. Parts of the page that were not reached
        // leave the page as it is.
        let is_refusal = ProxyChannel::is_refusal(&document.headers);
        let refused = self.refused_redirect();
        let refused = refused.or_else(|| is_refusal.then(|| refusal(&channel.refused(), &url))?);
        match refused {
            Some(refused) => Err(refused),
            None => Ok((document, url)),
        }
    }

    /// Says that the page wanted to leave for a URL that its run may not fetch.
    fn refused_redirect(&self) -> Option<RenderError> {
        let to = self.watch.state().refused_redirect.clone()?;
        let reason = format!("the page redirects to `{to}`, which this run may not fetch");
        Some(RenderError::Load(Cause::RedirectRefused, reason))
    }

    /// The CPU time of the page's own process, and its share of the shared processes.
    async fn cpu(&self) -> Result<Duration, RenderError> {
        let (own, shared) = tokio::join!(
            self.call(GetMetricsParams::default()),
            self.browser.shared_cpu()
        );
        // A sandboxed process cannot read the CPU time of all its threads, but always that of its
        // main thread.
        let metrics = own?.metrics;
        let times = metrics
            .iter()
            .filter(|metric| matches!(metric.name.as_str(), "ProcessTime" | "ThreadTime"));
        let own = times.map(|metric| metric.value).fold(0.0, f64::max);
        let seconds = own + (shared? - self.cpu_before).max(0.0);
        Ok(Duration::try_from_secs_f64(seconds).unwrap_or_default())
    }
}
