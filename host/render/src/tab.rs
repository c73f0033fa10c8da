//! Renders one page in a browser context of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use chromiumoxide::cdp::browser_protocol::emulation::{
    SetLocaleOverrideParams, SetTouchEmulationEnabledParams, SetUserAgentOverrideParams,
};
use chromiumoxide::cdp::browser_protocol::network::{
    BlockPattern, CookieParam, CookieSameSite, SetBlockedUrLsParams, SetCookiesParams,
};
use chromiumoxide::cdp::browser_protocol::page::{self, CreateIsolatedWorldParams, NavigateParams};
use chromiumoxide::cdp::browser_protocol::performance::{self, GetMetricsParams};
use chromiumoxide::cdp::js_protocol::runtime::{EvaluateParams, ExecutionContextId};
use chromiumoxide::types::Command;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use url::Url;

use trawl_model::{Cause, FetchedPage, urls};
use trawl_plan::address::without_fragment;
use trawl_plan::{FetchPlan, RenderPlan};

use super::browser::Browser;
use super::caller_headers::CallerHeaders;
use super::cdp::CallError;
use super::context::OpenContext;
use super::exchanges::Unstorable;
use super::load_error::{load_error, refusal, thrown};
use super::page_setup::{
    ADS, LANGUAGES, blocked, intercepted, metrics, network_events, platform, text_headers,
};
use super::page_state::{Document, PageState};
use super::pool::TabSlot;
use super::watch::{PagePolicy, Watch};
use super::{LOADED_BYTES_MAX, RenderError, RenderJob, Rendered};
use trawl_net::egress::ProxyChannel;

/// The functions of `page.js`.
const FUNCTIONS: &str = include_str!("page.js");
/// Name of the isolated world they run in.
pub(super) const WORLD: &str = "trawl";
/// Name of the isolated world in which scripts of the caller are parsed.
const SYNTAX_WORLD: &str = "trawl-syntax";
/// The fraction of a page's time that is reserved for extracting its document, and its bounds.
const RESERVE_PART: u32 = 8;
const RESERVE: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(3));
/// How long events may arrive after the response that they belong to.
const LATE_EVENTS: Duration = Duration::from_millis(300);

/// An open page.
pub(super) struct Tab<'a> {
    browser: &'a Browser,
    context: &'a OpenContext,
    pub(super) watch: Watch,
    deadline: Instant,
    started: Instant,
    /// Device pixels per CSS pixel along each side.
    pub(super) scale: f64,
    /// Number of moves of the page when the current chain of steps started.
    chain_started_at: AtomicU32,
    /// Whether a script or a step of the caller has begun.
    has_acted: &'a AtomicBool,
    /// Whether the page's pictures are wanted.
    pub(super) shows_pictures: bool,
}

/// Renders one page in a tab. `has_acted` is set before a script or a step of the caller begins,
/// after which the page cannot be rendered again without doing it twice.
pub(super) async fn render(
    slot: &Arc<TabSlot>,
    channel: &ProxyChannel,
    url: &Url,
    fetch: &FetchPlan,
    plan: &RenderPlan,
    job: RenderJob<'_>,
    has_acted: &AtomicBool,
) -> Result<Rendered, RenderError> {
    let browser = &slot.browser;
    let cpu_before = browser.shared_cpu().await?;
    let context = OpenContext::open(slot, channel.address()).await?;
    let events = context.listen();
    let (user, password) = channel.credentials();
    let rules = PagePolicy {
        credentials: (user.to_owned(), password.to_owned()),
        headers: CallerHeaders::new(text_headers(fetch), url.clone()),
        gate: fetch.gate.clone(),
        url: without_fragment(url),
        blocked: blocked(plan),
        bytes_max: job.bytes_max.min(LOADED_BYTES_MAX),
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
        shows_pictures: plan.screenshot.is_some(),
    };
    let reading = tab
        .watch
        .read(browser.connection(), &context.session, events);
    let rendered = tokio::select! {
        rendered = tab.run(channel, url, fetch, plan, job, cpu_before) => rendered,
        error = reading => Err(error),
    };
    match rendered {
        Err(RenderError::Crashed) if browser.has_just_killed() => Err(RenderError::Memory),
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
    pub(super) fn acts(&self) {
        self.has_acted.store(true, Ordering::Relaxed);
    }

    async fn run(
        &self,
        channel: &ProxyChannel,
        url: &Url,
        fetch: &FetchPlan,
        plan: &RenderPlan,
        job: RenderJob<'_>,
        cpu_before: f64,
    ) -> Result<Rendered, RenderError> {
        let mut report = Vec::new();
        self.set_up(url, fetch, plan).await?;
        if let Some(script) = &plan.before_load
            && let Some(reason) = self.syntax_error(script).await?
        {
            report.push(json!({"evaluate_on_new_document": reason}));
        }
        if plan.before_load.is_some() {
            self.acts();
        }
        let navigated = self.call(NavigateParams::new(url.as_str())).await?;
        if let Some(error) = navigated.error_text {
            if error.ends_with("ERR_ABORTED")
                && let Some(rendered) = self.without_content(url, cpu_before).await?
            {
                return Ok(rendered);
            }
            let refused = self.refused_redirect();
            return Err(match refused.or_else(|| refusal(&channel.refused(), url)) {
                Some(refused) => refused,
                None => load_error(&error, self.has_response().await, plan.screenshot.is_some()),
            });
        }
        self.wait_for_load().await;
        self.wait_for_challenge(|document, html| {
            (job.is_challenge)(document.status, &document.headers, html)
        })
        .await?;
        self.start_chain();
        if plan.before_load.is_some()
            && report.is_empty()
            && let Some(reason) = self.thrown_before_load().await?
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
        self.automate(plan, url.path(), &mut report).await?;
        let document = self.document(channel)?;
        if let Some(reason) = self.watch.state().broken() {
            let text = format!("the page's document ended before it was complete: {reason}");
            return Err(RenderError::Load(Cause::Incomplete, text));
        }
        let screenshot = match plan.screenshot {
            Some(plan) => Some(self.screenshot(plan).await?),
            None => None,
        };
        // Reading the page ends what is in flight.
        let pending = self.watch.state().incomplete();
        let page = self.page(url, document).await?;
        let cpu = self.cpu(cpu_before).await?;
        let mut metadata = Map::new();
        if !report.is_empty() {
            metadata.insert("automation_data".to_owned(), report.into());
        }
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

    /// The page of an answer that shows nothing: 204, 205 and an unasked 304.
    async fn without_content(
        &self,
        url: &Url,
        cpu_before: f64,
    ) -> Result<Option<Rendered>, RenderError> {
        let responded = self.watch.until(|state| state.response.is_some());
        let _no_response = tokio::time::timeout(LATE_EVENTS, responded).await;
        let document = self.watch.state().without_content().cloned();
        let Some(document) = document else {
            return Ok(None);
        };
        let page = FetchedPage {
            requested_url: url.clone(),
            final_url: urls::parse(&document.url).unwrap_or_else(|_| url.clone()),
            status: document.status,
            headers: document.headers,
            cookies: Vec::new(),
            body: Bytes::new(),
            content_type: document.media_type,
        };
        Ok(Some(Rendered {
            page,
            loaded_bytes: 0,
            cpu: self.cpu(cpu_before).await?,
            screenshot: None,
            metadata: Map::new(),
            unstorable: Some(Unstorable::Incomplete),
        }))
    }

    /// Whether the site responded although nothing is displayed: then the response is a download.
    async fn has_response(&self) -> bool {
        let responded = self.watch.until(PageState::has_response);
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
                self.call(intercepted(fetch, plan)),
                self.call(self.user_agent(fetch)),
                self.call(metrics(plan)),
            )
        };
        everything.await?;
        if plan.window.touch {
            self.call(SetTouchEmulationEnabledParams::new(true)).await?;
        }
        if let Some(locale) = &fetch.locale {
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
            self.add_before_load(script).await?;
        }
        if plan.load.block_ads {
            let patterns = ADS.iter().map(|pattern| BlockPattern::new(*pattern, true));
            let block = SetBlockedUrLsParams {
                url_patterns: Some(patterns.collect()),
            };
            self.call(block).await?;
        }
        if !fetch.cookies.is_empty() {
            let cookies = fetch.cookies.iter().map(|(name, value)| {
                let mut cookie = CookieParam::new(name.as_str(), value.as_str());
                cookie.url = Some(url.to_string());
                // Not for pages of other sites that this one leads to or embeds.
                cookie.same_site = Some(CookieSameSite::Strict);
                // Nor for scripts of others in this one: session cookies are not, at their site.
                cookie.http_only = Some(true);
                cookie
            });
            self.call(SetCookiesParams::new(cookies.collect::<Vec<_>>()))
                .await?;
        }
        Ok(())
    }

    /// Decision D61: user agent and language apply to every origin, since scripts can read them
    /// anyway.
    fn user_agent(&self, fetch: &FetchPlan) -> SetUserAgentOverrideParams {
        let agent = fetch
            .user_agent
            .as_deref()
            .unwrap_or(&self.browser.user_agent);
        let mut params = SetUserAgentOverrideParams::new(agent);
        let locale = fetch.locale.as_deref().unwrap_or(LANGUAGES);
        params.accept_language = Some(locale.to_owned());
        params.platform = platform(agent).map(str::to_owned);
        params
    }

    /// Sends a command to the page.
    pub(super) async fn call<T: Command>(&self, params: T) -> Result<T::Response, RenderError> {
        Ok(self.context.call(params).await?)
    }

    /// Sends a command to the page that it may refuse.
    pub(super) async fn try_call<T: Command>(&self, params: T) -> Result<T::Response, CallError> {
        self.context.call(params).await
    }

    /// Calls a function of `page.js` in its isolated world: its result, or what it threw.
    pub(super) async fn call_function<T: DeserializeOwned>(
        &self,
        function: &str,
        arguments: impl Serialize,
    ) -> Result<Result<T, String>, RenderError> {
        self.call_in_frame(self.watch.frame(), function, arguments)
            .await
    }

    /// Calls a function of `page.js` in its isolated world of a frame.
    pub(super) async fn call_in_frame<T: DeserializeOwned>(
        &self,
        frame: &str,
        function: &str,
        arguments: impl Serialize,
    ) -> Result<Result<T, String>, RenderError> {
        let arguments = serde_json::to_value(arguments)
            .map_err(|error| RenderError::Protocol(error.to_string()))?;
        let arguments = match arguments {
            Value::Array(arguments) => Value::Array(arguments).to_string(),
            _ => "[]".to_owned(),
        };
        let world = match self.world_of(frame, WORLD).await? {
            Ok(world) => world,
            Err(reason) => return Ok(Err(reason)),
        };
        let mut params = by_value(format!("({FUNCTIONS}).{function}(...{arguments})"));
        params.context_id = Some(world);
        let value = self.evaluate(params).await?;
        Ok(
            value
                .and_then(|value| serde_json::from_value(value).map_err(|error| error.to_string())),
        )
    }

    /// A world of the current document with this name, or why there is none.
    pub(super) async fn isolated_world(
        &self,
        name: &str,
    ) -> Result<Result<ExecutionContextId, String>, RenderError> {
        self.world_of(self.watch.frame(), name).await
    }

    /// A world of a frame's document with this name, or why there is none.
    pub(super) async fn world_of(
        &self,
        frame: &str,
        name: &str,
    ) -> Result<Result<ExecutionContextId, String>, RenderError> {
        let mut world = CreateIsolatedWorldParams::new(frame.to_owned());
        world.world_name = Some(name.to_owned());
        match self.context.call(world).await {
            Ok(world) => Ok(Ok(world.execution_context_id)),
            Err(CallError::Refused(reason)) => Ok(Err(reason)),
            Err(error) => Err(error.into()),
        }
    }

    /// Why a script cannot be parsed. It is not run: the expression throws before its first line,
    /// in a world of the empty document.
    async fn syntax_error(&self, script: &str) -> Result<Option<String>, RenderError> {
        let Ok(world) = self.isolated_world(SYNTAX_WORLD).await? else {
            return Ok(None);
        };
        let mut params = EvaluateParams::new(format!("throw 0;\n{script}"));
        params.context_id = Some(world);
        let thrown = self.evaluate(params).await?.err();
        let reason = thrown.filter(|text| text.starts_with("SyntaxError"));
        Ok(reason.and_then(|text| text.lines().next().map(str::to_owned)))
    }

    /// Evaluates an expression: its result, or what it threw.
    pub(super) async fn evaluate(
        &self,
        params: EvaluateParams,
    ) -> Result<Result<Value, String>, RenderError> {
        let response = match self.context.call(params).await {
            Ok(response) => response,
            // The page navigated meanwhile, or the result cannot be serialised.
            Err(CallError::Refused(reason)) => return Ok(Err(reason)),
            Err(error) => return Err(error.into()),
        };
        Ok(match response.exception_details {
            Some(details) => Err(thrown(details)),
            None => Ok(response.result.value.unwrap_or_default()),
        })
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
            RenderError::Load(
                Cause::Timeout,
                "the site did not respond in time".to_owned(),
            )
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
    async fn cpu(&self, before: f64) -> Result<Duration, RenderError> {
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
        let seconds = own + (shared? - before).max(0.0);
        Ok(Duration::try_from_secs_f64(seconds).unwrap_or_default())
    }
}

/// Evaluates an expression to its value, or that of its promise, as if the user had caused it.
pub(super) fn by_value(expression: String) -> EvaluateParams {
    let mut params = EvaluateParams::new(expression);
    params.return_by_value = Some(true);
    params.await_promise = Some(true);
    params.user_gesture = Some(true);
    params
}
