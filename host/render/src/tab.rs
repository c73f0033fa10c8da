//! One page from address to document, in a context of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use chromiumoxide::cdp::browser_protocol::dom::Rgba;
use chromiumoxide::cdp::browser_protocol::emulation::{
    SetDefaultBackgroundColorOverrideParams, SetTouchEmulationEnabledParams,
    SetUserAgentOverrideParams,
};
use chromiumoxide::cdp::browser_protocol::network::{
    self, BlockPattern, CookieParam, GetCookiesParams, GetResponseBodyParams, SetBlockedUrLsParams,
    SetCookiesParams,
};
use chromiumoxide::cdp::browser_protocol::page::{
    self, AddScriptToEvaluateOnNewDocumentParams, CaptureScreenshotFormat, CaptureScreenshotParams,
    CreateIsolatedWorldParams, GetLayoutMetricsParams, NavigateParams, StopLoadingParams, Viewport,
};
use chromiumoxide::cdp::browser_protocol::performance::{self, GetMetricsParams};
use chromiumoxide::cdp::js_protocol::runtime::{EvaluateParams, ExecutionContextId};
use chromiumoxide::types::Command;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use url::Url;

use super::browser::{Browser, Context};
use super::pool::TabSlot;
use super::rules::{ADS, blocked, intercepted, load_error, metrics, refusal, text_headers, thrown};
use super::watch::{Document, Rules, Seen, Watch};
use super::{HTML_CHARS_MAX, LOADED_BYTES_MAX, RenderError, RenderJob, Rendered};
use trawl_model::failure::status;
use trawl_model::{FetchedPage, MediaKind};
use trawl_net::egress::ProxyChannel;
use trawl_plan::{FetchPlan, Picture, RenderPlan};

/// The functions of `page.js`.
const FUNCTIONS: &str = include_str!("page.js");
/// Name of the world they run in.
const WORLD: &str = "trawl";
/// Of a page's time, the part kept for making its document once waiting is over, and its bounds.
const RESERVE_PART: u32 = 8;
const RESERVE: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(3));
/// Pixels of a picture along each side, and in all: what the browser can paint, and 160 MB before compression.
const PICTURE_SIDE_MAX: f64 = 16_384.0;
const PICTURE_PIXELS_MAX: f64 = 40_000_000.0;
/// How long events of a page may come after the answer that they belong to.
const LATE_EVENTS: Duration = Duration::from_millis(300);

/// An open page.
pub(super) struct Tab<'a> {
    browser: &'a Browser,
    context: &'a Context,
    pub(super) watch: Watch,
    deadline: Instant,
    begun: Instant,
    /// Pixels to a CSS pixel along each side.
    scale: f64,
    /// Main documents when the last chain of steps began.
    steps_began_at: AtomicU32,
}

/// Wipes the page's context, also when the page was given up half-way.
struct Wiped {
    browser: Arc<Browser>,
    context: Option<Context>,
}

impl Drop for Wiped {
    fn drop(&mut self) {
        let Some(context) = self.context.take() else {
            return;
        };
        self.browser.wire().forget(&context.session);
        let browser = Arc::clone(&self.browser);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { browser.dispose(context.context).await });
        }
    }
}

/// Renders one page at a place.
pub(super) async fn render(
    place: &TabSlot,
    channel: &ProxyChannel,
    url: &Url,
    fetch: &FetchPlan,
    plan: &RenderPlan,
    errand: RenderJob<'_>,
) -> Result<Rendered, RenderError> {
    let browser = &place.browser;
    let cpu_before = browser.shared_cpu().await?;
    let mut context = browser.open(channel.address()).await?;
    let events = context.events.take().expect("a new context has its events");
    let wiped = Wiped {
        browser: Arc::clone(browser),
        context: Some(context),
    };
    let context = wiped.context.as_ref().expect("it was put there");
    let (user, password) = channel.credentials();
    let rules = Rules {
        credentials: (user.to_owned(), password.to_owned()),
        headers: text_headers(fetch),
        origin: url.origin(),
        gate: fetch.gate.clone(),
        url: without_fragment(url),
        blocked: blocked(plan),
        bytes_max: errand.bytes_max.min(LOADED_BYTES_MAX),
    };
    let tab = Tab {
        browser,
        context,
        watch: Watch::new(String::from(context.target.clone()), rules),
        deadline: errand.deadline,
        begun: Instant::now(),
        scale: plan.window.scale,
        steps_began_at: AtomicU32::new(0),
    };
    let reading = tab.watch.read(browser.wire(), &context.session, events);
    tokio::select! {
        rendered = tab.run(channel, url, fetch, plan, cpu_before) => rendered,
        error = reading => Err(error),
    }
}

impl Tab<'_> {
    async fn run(
        &self,
        channel: &ProxyChannel,
        url: &Url,
        fetch: &FetchPlan,
        plan: &RenderPlan,
        cpu_before: f64,
    ) -> Result<Rendered, RenderError> {
        self.set_up(url, fetch, plan).await?;
        let refused = |url: &Url| {
            let gated = self.watch.seen().gated.clone();
            let gated = gated.map(|to| {
                let reason = format!("the page redirects to {to}, where this run does not go");
                RenderError::Load(status::UNREACHABLE_OR_REFUSED, reason)
            });
            gated.or_else(|| refusal(&channel.refused(), url))
        };
        let navigated = self.call(NavigateParams::new(url.as_str())).await?;
        if let Some(error) = navigated.error_text {
            return Err(match refused(url) {
                Some(refused) => refused,
                None => load_error(&error, self.is_answered().await),
            });
        }
        self.settle().await;
        self.steps_begin();
        let mut told = Vec::new();
        let mut missed = Vec::new();
        self.wait(&plan.wait, &mut missed).await?;
        told.extend(
            missed
                .into_iter()
                .map(|reason| serde_json::json!({"wait_for": reason})),
        );
        if let Some(time) = plan.scroll {
            self.scroll(time).await?;
            self.settle().await;
        }
        self.automate(plan, url.path(), &mut told).await?;
        let document = self.document(&refused)?;
        let screenshot = match plan.screenshot {
            Some(picture) => Some(self.picture(picture).await?),
            None => None,
        };
        let page = self.page(url, document).await?;
        let cpu = self.cpu(cpu_before).await?;
        let mut about = Map::new();
        if !told.is_empty() {
            about.insert("automation_data".to_owned(), told.into());
        }
        let loaded_bytes = self.watch.seen().loaded_bytes;
        Ok(Rendered {
            page,
            loaded_bytes,
            cpu,
            screenshot,
            told: about,
        })
    }

    /// Whether the site answered, though nothing is shown: then the answer is a file to be kept.
    async fn is_answered(&self) -> bool {
        let answered = self.watch.until(Seen::is_answered);
        tokio::time::timeout(LATE_EVENTS, answered).await.is_ok()
    }

    /// Everything that must be in place before the page is asked for. The commands go out together.
    async fn set_up(
        &self,
        url: &Url,
        fetch: &FetchPlan,
        plan: &RenderPlan,
    ) -> Result<(), RenderError> {
        let everything = async {
            tokio::try_join!(
                self.call(page::EnableParams::default()),
                self.call(network::EnableParams::default()),
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
        if let Some(script) = &plan.before_load {
            self.call(AddScriptToEvaluateOnNewDocumentParams::new(script.as_str()))
                .await?;
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
                cookie
            });
            self.call(SetCookiesParams::new(cookies.collect::<Vec<_>>()))
                .await?;
        }
        Ok(())
    }

    /// Decision D61: the user agent and the language are the browser's for every origin, since
    /// scripts read them anyway.
    fn user_agent(&self, fetch: &FetchPlan) -> SetUserAgentOverrideParams {
        let agent = fetch
            .user_agent
            .as_deref()
            .unwrap_or(&self.browser.user_agent);
        let mut params = SetUserAgentOverrideParams::new(agent);
        params.accept_language.clone_from(&fetch.locale);
        params
    }

    /// Sends a command to the page.
    pub(super) async fn call<T: Command>(&self, params: T) -> Result<T::Response, RenderError> {
        Ok(self.context.call(self.browser.wire(), params).await?)
    }

    /// Calls a function of `page.js` in its own world: its result, or what it threw.
    pub(super) async fn ask<T: DeserializeOwned>(
        &self,
        function: &str,
        arguments: impl Serialize,
    ) -> Result<Result<T, String>, RenderError> {
        let arguments = serde_json::to_value(arguments)
            .map_err(|error| RenderError::Protocol(error.to_string()))?;
        let arguments = match arguments {
            Value::Array(arguments) => Value::Array(arguments).to_string(),
            _ => "[]".to_owned(),
        };
        let mut world = CreateIsolatedWorldParams::new(self.watch.frame().to_owned());
        world.world_name = Some(WORLD.to_owned());
        let world = match self.context.call(self.browser.wire(), world).await {
            Ok(world) => world.execution_context_id,
            Err(super::wire::CallError::Refused(reason)) => return Ok(Err(reason)),
            Err(error) => return Err(error.into()),
        };
        let expression = format!("({FUNCTIONS}).{function}(...{arguments})");
        let value = self.evaluate(expression, Some(world)).await?;
        Ok(
            value
                .and_then(|value| serde_json::from_value(value).map_err(|error| error.to_string())),
        )
    }

    /// Runs a script of the caller among the page's own: its result, or what it threw.
    pub(super) async fn script(&self, script: &str) -> Result<Result<Value, String>, RenderError> {
        self.evaluate(script.to_owned(), None).await
    }

    async fn evaluate(
        &self,
        expression: String,
        world: Option<ExecutionContextId>,
    ) -> Result<Result<Value, String>, RenderError> {
        let mut params = EvaluateParams::new(expression);
        params.context_id = world;
        params.return_by_value = Some(true);
        params.await_promise = Some(true);
        params.user_gesture = Some(true);
        let answer = match self.context.call(self.browser.wire(), params).await {
            Ok(answer) => answer,
            // The page went on to another one, or the result is nothing that can be returned.
            Err(super::wire::CallError::Refused(reason)) => return Ok(Err(reason)),
            Err(error) => return Err(error.into()),
        };
        Ok(match answer.exception_details {
            Some(details) => Err(thrown(details)),
            None => Ok(answer.result.value.unwrap_or_default()),
        })
    }

    /// Until when the page is waited for, so that there is time left to return what it is by then.
    pub(super) fn soft_deadline(&self) -> Instant {
        let all = self.deadline.saturating_duration_since(self.begun);
        let reserve = (all / RESERVE_PART).clamp(RESERVE.0, RESERVE.1);
        self.deadline.checked_sub(reserve).unwrap_or(self.deadline)
    }

    /// Remembers the main document that steps begin at.
    pub(super) fn steps_begin(&self) {
        let now = self.watch.seen().navigations;
        self.steps_began_at.store(now, Ordering::Relaxed);
    }

    pub(super) fn steps_began_at(&self) -> u32 {
        self.steps_began_at.load(Ordering::Relaxed)
    }

    /// The main document's answer, if it is one that may be shown.
    fn document(
        &self,
        refused: &impl Fn(&Url) -> Option<RenderError>,
    ) -> Result<(Document, Url), RenderError> {
        let document = self.watch.seen().document();
        let document = document.ok_or_else(|| {
            RenderError::Load(
                status::TIMED_OUT,
                "the site did not answer in time".to_owned(),
            )
        })?;
        let unshown = || {
            RenderError::Load(
                status::UNREACHABLE_OR_REFUSED,
                "the page went to an address that is not shown".to_owned(),
            )
        };
        let url = Url::parse(&document.url).map_err(|_| unshown())?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(unshown());
        }
        match refused(&url) {
            Some(refused) => Err(refused),
            None => Ok((document, url)),
        }
    }

    /// The page as it stands now.
    async fn page(
        &self,
        requested: &Url,
        (document, at): (Document, Url),
    ) -> Result<FetchedPage, RenderError> {
        let cookies = GetCookiesParams::default();
        let cookies = self.call(cookies).await?.cookies;
        let cookies = cookies
            .into_iter()
            .map(|cookie| (cookie.name, cookie.value));
        let is_html = MediaKind::of(&document.media_type) == MediaKind::Html;
        let (body, content_type, final_url) = if is_html {
            let _loading = self.call(StopLoadingParams::default()).await?;
            let html = self.ask::<String>("serialise", (HTML_CHARS_MAX,)).await?;
            let html = html.map_err(|reason| {
                RenderError::Protocol(format!("the page has no document: {reason}"))
            })?;
            let address = self.ask::<String>("address", ()).await?.ok();
            let address = address.and_then(|address| Url::parse(&address).ok());
            let address = address.filter(|address| address.origin() == at.origin());
            (
                Bytes::from(html),
                "text/html; charset=utf-8".to_owned(),
                address.unwrap_or(at),
            )
        } else {
            let body = self
                .call(GetResponseBodyParams::new(document.request.clone()))
                .await?;
            let bytes = match body.base64_encoded {
                true => STANDARD
                    .decode(&body.body)
                    .map_err(|error| RenderError::Protocol(error.to_string()))?,
                false => body.body.into_bytes(),
            };
            (
                Bytes::from(bytes),
                format!("{}; charset=utf-8", document.media_type),
                at,
            )
        };
        Ok(FetchedPage {
            requested_url: requested.clone(),
            final_url,
            status: document.status,
            headers: document.headers,
            cookies: cookies.collect(),
            body,
            content_type,
        })
    }

    /// The CPU time of the page's own process, and its share of those that serve all pages.
    async fn cpu(&self, before: f64) -> Result<Duration, RenderError> {
        let (own, shared) = tokio::join!(
            self.call(GetMetricsParams::default()),
            self.browser.shared_cpu()
        );
        // A process in its sandbox cannot ask for the time of all its threads; that of the page's own thread it always knows.
        let metrics = own?.metrics;
        let times = metrics
            .iter()
            .filter(|metric| matches!(metric.name.as_str(), "ProcessTime" | "ThreadTime"));
        let own = times.map(|metric| metric.value).fold(0.0, f64::max);
        let seconds = own + (shared? - before).max(0.0);
        Ok(Duration::try_from_secs_f64(seconds).unwrap_or_default())
    }

    /// A picture of the page as PNG, cut at the most that may be painted.
    pub(super) async fn picture(&self, picture: Picture) -> Result<Bytes, RenderError> {
        let layout = self.call(GetLayoutMetricsParams::default()).await?;
        let (width, height) = match picture.full_page {
            true => (
                layout.css_content_size.width,
                layout.css_content_size.height,
            ),
            false => (
                f64::from(
                    i32::try_from(layout.css_layout_viewport.client_width).unwrap_or(i32::MAX),
                ),
                f64::from(
                    i32::try_from(layout.css_layout_viewport.client_height).unwrap_or(i32::MAX),
                ),
            ),
        };
        let (x, y, width, height) = match picture.clip {
            None => (0.0, 0.0, width, height),
            Some(clip) => (
                f64::from(clip.x),
                f64::from(clip.y),
                f64::from(clip.width),
                f64::from(clip.height),
            ),
        };
        let side_max = PICTURE_SIDE_MAX / self.scale;
        let pixels_max = PICTURE_PIXELS_MAX / (self.scale * self.scale);
        let width = width.clamp(1.0, side_max);
        let height = height.clamp(1.0, side_max.min(pixels_max / width));
        let is_beyond = picture.full_page || picture.clip.is_some();
        let clip = Viewport {
            x,
            y,
            width,
            height,
            scale: 1.0,
        };
        let params = CaptureScreenshotParams {
            format: Some(CaptureScreenshotFormat::Png),
            capture_beyond_viewport: Some(is_beyond),
            clip: is_beyond.then_some(clip),
            ..CaptureScreenshotParams::default()
        };
        if picture.omit_background {
            let transparent = Rgba {
                r: 0,
                g: 0,
                b: 0,
                a: Some(0.0),
            };
            let clear = SetDefaultBackgroundColorOverrideParams {
                color: Some(transparent),
            };
            self.call(clear).await?;
        }
        let png = self.call(params).await?.data;
        let text: &[u8] = png.as_ref();
        let png = STANDARD
            .decode(text)
            .map_err(|error| RenderError::Protocol(error.to_string()))?;
        Ok(Bytes::from(png))
    }
}

fn without_fragment(url: &Url) -> Url {
    let mut url = url.clone();
    url.set_fragment(None);
    url
}
