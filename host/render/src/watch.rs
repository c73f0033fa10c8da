//! Tracks the state of a page by its events, and handles the events that need a response at once.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use chromiumoxide::cdp::browser_protocol::emulation::SetUserAgentOverrideParams;
use chromiumoxide::cdp::browser_protocol::fetch::{
    AuthChallengeResponse, AuthChallengeResponseResponse, ContinueRequestParams,
    ContinueWithAuthParams, EnableParams, FailRequestParams,
};
use chromiumoxide::cdp::browser_protocol::network::ErrorReason;
use chromiumoxide::cdp::browser_protocol::page::{HandleJavaScriptDialogParams, StopLoadingParams};
use chromiumoxide::cdp::browser_protocol::storage::OverrideQuotaForOriginParams;
use serde_json::{Map, Value};
use tokio::sync::Notify;
use url::Url;

use trawl_model::{Cause, urls};
use trawl_net::fetch::RedirectPolicy;

use super::caller_cookies::{CallerCookies, add_cookies};
use super::caller_headers::{CallerHeaders, PageRequest};
use super::cdp::{CallError, Connection};
use super::error::RenderError;
use super::events::{Event, Events, SessionEnd};
use super::fields::{Fields, Request, TargetInfo};
use super::navigation::Document;
use super::page_state::{PageState, lines};
use super::workers;

/// Navigations that a page may make by itself: real ones need three.
const NAVIGATIONS_MAX: u32 = 20;

/// Bytes that one origin may store, in memory: as much as a page may load.
const STORAGE_BYTES_MAX: f64 = 64.0 * 1024.0 * 1024.0;

/// What a page may do, decided before it is loaded.
pub(super) struct PagePolicy {
    pub(super) credentials: (String, String),
    pub(super) headers: CallerHeaders,
    /// The page's URL, and the check before it navigates to another one.
    pub(super) url: Url,
    pub(super) redirects: Option<Arc<dyn RedirectPolicy>>,
    /// Resource types that are blocked.
    pub(super) blocked: Vec<&'static str>,
    /// Decoded bytes that it may load.
    pub(super) bytes_max: u64,
    /// Whether its pictures are wanted, or money is what bounds it, which the caller should know;
    /// else it is read without those that are too heavy.
    pub(super) wants_pictures: bool,
    /// What is intercepted when it may load no more pictures.
    pub(super) without_pictures: EnableParams,
    /// What its workers say of the browser.
    pub(super) agent: SetUserAgentOverrideParams,
}

/// The state of one page, shared by the reader of its events and the tasks that wait for it.
pub(super) struct Watch {
    state: Mutex<PageState>,
    changed: Notify,
    frame: String,
    policy: PagePolicy,
}

impl Watch {
    pub(super) fn new(frame: String, policy: PagePolicy) -> Self {
        Self {
            state: Mutex::new(PageState::new()),
            changed: Notify::new(),
            frame,
            policy,
        }
    }

    /// The current state of the page.
    pub(super) fn state(&self) -> MutexGuard<'_, PageState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The caller's cookies.
    pub(super) fn cookies(&self) -> &CallerCookies {
        &self.policy.headers.cookies
    }

    /// The page's main frame.
    pub(super) fn frame(&self) -> &str {
        &self.frame
    }

    /// Waits until a condition holds.
    pub(super) async fn until(&self, holds: impl Fn(&PageState) -> bool) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if holds(&self.state()) {
                return;
            }
            changed.await;
        }
    }

    /// Waits until at most `most` requests have been in flight for this long.
    pub(super) async fn idle(&self, most: usize, window: Duration) {
        self.unchanged(window, |state| match most {
            0 => state.idle_since,
            _ => state.almost_since,
        })
        .await;
    }

    /// Waits until nothing that may fill the page has been in flight for this long.
    pub(super) async fn quiet(&self, window: Duration) {
        self.unchanged(window, |state| state.quiet_since).await;
    }

    /// Waits until nothing that was brought into view has been in flight for this long.
    pub(super) async fn brought(&self, window: Duration) {
        self.unchanged(window, |state| state.brought_since).await;
    }

    /// Waits until a state has lasted for this long.
    async fn unchanged(&self, window: Duration, since: impl Fn(&PageState) -> Option<Instant>) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            let since = since(&self.state());
            let Some(since) = since else {
                changed.await;
                continue;
            };
            if since.elapsed() >= window {
                return;
            }
            tokio::select! {
                () = tokio::time::sleep_until((since + window).into()) => {}
                () = changed => {}
            }
        }
    }

    /// Reads events until the page ends, which is an error.
    pub(super) async fn read(
        &self,
        connection: &Connection,
        session: &str,
        mut events: Events,
    ) -> RenderError {
        while let Some(event) = events.recv().await {
            if let Err(error) = self.handle(connection, session, &event).await {
                return error;
            }
            self.changed.notify_waiters();
        }
        match events.end() {
            Some(SessionEnd::Oversize(bytes)) => RenderError::Oversize(bytes),
            Some(SessionEnd::Flood) => RenderError::Protocol(
                "the page causes more events than can be processed".to_owned(),
            ),
            None => RenderError::Crashed,
        }
    }

    async fn handle(
        &self,
        connection: &Connection,
        session: &str,
        event: &Event,
    ) -> Result<(), RenderError> {
        match event.method.as_str() {
            "Inspector.targetCrashed" if &*event.session == session => {
                return Err(RenderError::PageCrashed);
            }
            "Network.webSocketFrameReceived" | "Network.eventSourceMessageReceived" => {
                self.state().exchanges.message();
                return Ok(());
            }
            _ => {}
        }
        let Ok(fields) = serde_json::from_str::<Fields>(event.params.get()) else {
            return Ok(());
        };
        match event.method.as_str() {
            "Fetch.requestPaused" => self.paused(connection, session, event, fields).await?,
            "Fetch.authRequired" => self.authenticate(connection, session, fields),
            "Page.javascriptDialogOpening" => {
                // Leaving a page is confirmed; all other dialogs are dismissed.
                let accept = fields.kind.as_deref() == Some("beforeunload");
                connection.post(session, &HandleJavaScriptDialogParams::new(accept));
            }
            // Applications change their URL without another document.
            "Page.navigatedWithinDocument" if fields.frame_id.as_deref() == Some(&self.frame) => {
                self.state().moves += 1;
            }
            "Page.windowOpen" => self.state().opens(fields.url.unwrap_or_default()),
            "Page.domContentEventFired" => self.state().parsed(),
            "Page.loadEventFired" => self.state().loaded(),
            "Page.frameAttached" | "Page.frameDetached" => {
                self.state().counts.count(&event.method)?;
            }
            method @ ("Network.webSocketCreated" | "Network.webSocketClosed") => {
                let worker = event.of_another(session);
                let id = fields.request_id.unwrap_or_default();
                self.state().socket(method, id, worker)?;
            }
            method if method.starts_with("Target.") => {
                self.handle_worker(connection, session, method, fields)?;
            }
            "Page.frameNavigated" => {
                if let Some(frame) = fields.frame.filter(|frame| frame.parent_id.is_none()) {
                    self.navigated(frame.loader_id)?;
                }
            }
            method => {
                let worker = event.of_another(session);
                self.handle_network(method, worker, fields);
                if method == "Network.dataReceived" {
                    self.bound_bytes(connection, session)?;
                }
            }
        }
        Ok(())
    }

    /// The main frame shows another document.
    fn navigated(&self, request: Option<String>) -> Result<(), RenderError> {
        let mut state = self.state();
        state.commit(request);
        if state.navigations > NAVIGATIONS_MAX {
            let text = format!("the page navigated more than {NAVIGATIONS_MAX} times by itself");
            return Err(RenderError::Load(Cause::TooManyRedirects, text));
        }
        Ok(())
    }

    /// Ends a page that loads more than it may. Where its pictures are the reason, and they are not
    /// wanted, it is loaded without them: from half of the bytes on no more are requested, and
    /// beyond all of them those in flight are stopped.
    fn bound_bytes(&self, connection: &Connection, session: &str) -> Result<(), RenderError> {
        let mut state = self.state();
        let most = self.policy.bytes_max;
        let is_excused = !self.policy.wants_pictures
            && state.other_bytes() <= most
            && state.loaded_bytes <= most.saturating_mul(2);
        if state.loaded_bytes > most && !is_excused {
            return Err(RenderError::TooLarge(most));
        }
        if self.policy.wants_pictures {
            return Ok(());
        }
        if state.picture_bytes > most / 2 && !state.refuses_pictures {
            state.refuses_pictures = true;
            connection.post(session, &self.policy.without_pictures);
        }
        if state.loaded_bytes > most && !state.is_stopped {
            (state.is_stopped, state.lacks_pictures) = (true, true);
            // No further event says so.
            state.loaded();
            connection.post(session, &StopLoadingParams::default());
        }
        Ok(())
    }

    /// Handles what the browser says of a worker: that there is one, that its session has begun or
    /// ended, and that it is gone.
    fn handle_worker(
        &self,
        connection: &Connection,
        session: &str,
        method: &str,
        fields: Fields,
    ) -> Result<(), RenderError> {
        match (method, fields) {
            (
                "Target.attachedToTarget",
                Fields {
                    session_id: Some(own),
                    target_info: Some(worker),
                    ..
                },
            ) => self.start_worker(connection, session, &own, &worker),
            (
                "Target.detachedFromTarget",
                Fields {
                    session_id: Some(own),
                    ..
                },
            ) if own != session => {
                connection.forget(&own);
                self.state().worker_left(&own);
            }
            (
                "Target.targetCreated",
                Fields {
                    target_info: Some(worker),
                    ..
                },
            ) => {
                let mut state = self.state();
                state.counts.count(method)?;
                state.worker_made(worker.target_id, &worker.r#type);
            }
            (
                "Target.targetDestroyed",
                Fields {
                    target_id: Some(target),
                    ..
                },
            ) => {
                let mut state = self.state();
                state.counts.count(method)?;
                state.worker_ended(&target);
            }
            _ => {}
        }
        Ok(())
    }

    /// Starts a worker whose session `own` has begun in that of the page.
    fn start_worker(&self, connection: &Connection, session: &str, own: &str, worker: &TargetInfo) {
        let has_cookies = !self.cookies().is_empty();
        let is_shared = worker.r#type == workers::SHARED;
        if !is_shared || has_cookies {
            connection.listen_too(session, own);
        }
        if !is_shared {
            let seen = worker.target_id.clone();
            self.state().exchanges.worker_seen(seen);
        }
        workers::start(connection, own, worker, &self.policy.agent, has_cookies);
    }

    fn handle_network(&self, method: &str, worker: Option<Arc<str>>, mut fields: Fields) {
        let is_main = self.is_main_document(&fields);
        let Some(id) = fields.request_id.take() else {
            return;
        };
        let mut state = self.state();
        match method {
            "Network.requestWillBeSent" => {
                sent(&mut state, id, is_main, worker, fields);
            }
            "Network.responseReceived" => {
                let is_shown = is_main && fields.loader_id.as_deref() == Some(&id);
                let Some(response) = fields.response else {
                    return;
                };
                let (status, headers) = (response.status, &response.headers);
                // Workers do not tell the headers of all their answers.
                let has_more = fields.has_extra_info == Some(true) && worker.is_none();
                state.exchanges.answered(&id, status, headers, has_more);
                state.answer(&id, body_length(headers));
                if is_shown {
                    state.navigation.respond(Document {
                        request: id,
                        url: response.url,
                        status: u16::try_from(response.status).unwrap_or(0),
                        media_type: response.mime_type,
                        headers: lines(&response.headers),
                    });
                }
            }
            "Network.responseReceivedExtraInfo" => {
                let Some(headers) = fields.headers else {
                    return;
                };
                state.exchanges.headers(&id, &headers);
                state.navigation.headers(&id, || lines(&headers));
                let status = fields.status_code.map(u16::try_from);
                state.navigation.status(&id, status.and_then(Result::ok));
            }
            "Network.dataReceived" if state.is_open(&id) => {
                state.load(&id, fields.data_length.unwrap_or(0));
            }
            "Network.loadingFinished" => state.end(&id),
            "Network.loadingFailed" => {
                let is_cancelled = fields.canceled.unwrap_or(false);
                let blocked = fields.blocked_reason.as_deref();
                state.exchanges.failed(&id, is_cancelled, blocked);
                if state.navigation.is_committed(&id) && !is_cancelled {
                    state.broken = fields.error_text;
                }
                state.end(&id);
            }
            _ => return,
        }
        state.update_idle_windows();
    }

    /// Whether an event is about a document of the main frame.
    fn is_main_document(&self, fields: &Fields) -> bool {
        fields.frame_id.as_deref() == Some(&self.frame)
            && fields.kind.as_deref() == Some("Document")
    }

    /// A request waits: one of the page, or one that a worker makes in its own name.
    async fn paused(
        &self,
        connection: &Connection,
        session: &str,
        event: &Event,
        fields: Fields,
    ) -> Result<(), RenderError> {
        let Some(worker) = event.of_another(session) else {
            return self.handle_request(connection, session, fields).await;
        };
        let headers = fields.request.as_ref().and_then(|request| {
            let sent = PageRequest {
                url: &request.url,
                is_main_frame: false,
                is_document: false,
                network_id: fields.network_id.as_deref(),
                is_redirected: fields.redirected_request_id.is_some(),
            };
            let callers = &self.policy.headers;
            callers.applied(sent, request.headers.as_ref())
        });
        workers::send(connection, &worker, fields, headers, &self.policy.agent);
        Ok(())
    }

    async fn handle_request(
        &self,
        connection: &Connection,
        session: &str,
        fields: Fields,
    ) -> Result<(), RenderError> {
        let (Some(id), Some(mut request)) = (fields.request_id, fields.request) else {
            return Ok(());
        };
        let kind = fields.resource_type.unwrap_or_default();
        let is_document = kind == "Document";
        let is_refused = kind == "Image" && self.state().refuses_pictures;
        if is_refused {
            self.state().lacks_pictures = true;
        }
        let is_main = fields.frame_id.as_deref() == Some(&self.frame);
        let is_page = is_main && is_document;
        if is_refused
            || self.policy.blocked.contains(&kind.as_str())
            || is_page && !self.may_navigate_to(&request.url).await
        {
            let fail = FailRequestParams::new(id, ErrorReason::BlockedByClient);
            connection.post(session, &fail);
            return Ok(());
        }
        let callers = &self.policy.headers;
        if is_page {
            limit_storage(connection, session, &request.url);
            self.move_cookies(connection, session, &mut request).await?;
        }
        let mut proceed = ContinueRequestParams::new(id);
        let sent = PageRequest {
            url: &request.url,
            is_main_frame: is_main,
            is_document,
            network_id: fields.network_id.as_deref(),
            is_redirected: fields.redirected_request_id.is_some(),
        };
        proceed.headers = callers.applied(sent, request.headers.as_ref());
        if !is_page || proceed.headers.is_none() {
            connection.post(session, &proceed);
            return Ok(());
        }
        // The headers are the same for all requests of the page, so the first shows whether the
        // browser takes them.
        match connection.call(Some(session), proceed).await {
            Err(CallError::Refused(reason)) if is_about_header(&reason) => {
                let text = format!("the browser does not send one of the `headers`: {reason}");
                Err(RenderError::Load(Cause::BadHeader, text))
            }
            // Another navigation may have taken its place; a browser that exited has no more
            // events, which ends the page.
            Ok(_) | Err(CallError::Refused(_) | CallError::Gone) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Prepares the browser's cookies for a navigation that leaves the page's origin or upgrades
    /// it.
    async fn move_cookies(
        &self,
        connection: &Connection,
        session: &str,
        request: &mut Request,
    ) -> Result<(), RenderError> {
        let callers = &self.policy.headers;
        if let Some(home) = callers.left_by(&request.url) {
            callers.cookies.leave(connection, session, &home).await?;
        }
        if let Some((home, to)) = callers.upgraded_by(&request.url) {
            let moved = callers.cookies.upgrade(connection, session, &home, &to);
            add_cookies(&mut request.headers, &moved.await?);
        }
        Ok(())
    }

    /// Whether the page may navigate to this URL. A refused URL is recorded for the caller.
    async fn may_navigate_to(&self, url: &str) -> bool {
        let (Some(redirects), Ok(to)) = (&self.policy.redirects, urls::parse(url)) else {
            return true;
        };
        if to == self.policy.url || redirects.may_follow(&to).await {
            return true;
        }
        self.state().refused_redirect = Some(to);
        false
    }

    fn authenticate(&self, connection: &Connection, session: &str, fields: Fields) {
        let Some(id) = fields.request_id else {
            return;
        };
        let is_proxy = fields
            .auth_challenge
            .and_then(|challenge| challenge.source)
            .as_deref()
            == Some("Proxy");
        let mut response = AuthChallengeResponse::new(if is_proxy {
            AuthChallengeResponseResponse::ProvideCredentials
        } else {
            AuthChallengeResponseResponse::CancelAuth
        });
        if is_proxy {
            response.username = Some(self.policy.credentials.0.clone());
            response.password = Some(self.policy.credentials.1.clone());
        }
        connection.post(session, &ContinueWithAuthParams::new(id, response));
    }
}

/// A request was sent, by the page itself or in the session of a worker.
fn sent(
    state: &mut PageState,
    id: String,
    is_main: bool,
    worker: Option<Arc<str>>,
    fields: Fields,
) {
    let kind = fields.kind.unwrap_or_default();
    let mut redirected = None;
    if let Some(redirect) = fields.redirect_response {
        let (status, headers) = (redirect.status, &redirect.headers);
        let has_more = fields.redirect_has_extra_info == Some(true) && worker.is_none();
        state.exchanges.answered(&id, status, headers, has_more);
        redirected = u16::try_from(status).ok();
    }
    state.exchanges.sent(&id, &kind, worker.is_some());
    let url = fields.request.map(|request| request.url);
    if is_main {
        let url = url.as_deref().unwrap_or_default();
        state.navigation.request(&id, url, redirected);
    }
    let url = url.filter(|url| url.starts_with("http") && !state.unheard.contains(&id));
    match (kind.as_str(), url) {
        ("EventSource", _) => {
            state.streams.insert(id, worker);
        }
        ("Ping", _) | (_, None) => {}
        (kind, Some(url)) => state.send(id, url, kind, worker),
    }
}

/// The length of an answer's body, if its headers tell it and it is not coded.
fn body_length(headers: &Map<String, Value>) -> Option<u64> {
    let value = |wanted: &str| {
        let mut headers = headers.iter();
        let found = headers.find(|(name, _)| name.eq_ignore_ascii_case(wanted));
        found.and_then(|(_, value)| value.as_str())
    };
    match value("content-encoding") {
        Some(_) => None,
        None => value("content-length")?.parse().ok(),
    }
}

/// Whether the browser refused to go on with a request because of one of its headers.
fn is_about_header(reason: &str) -> bool {
    reason.contains("header") || reason.contains("Header")
}

/// Bounds what the page at this URL may store. Contexts are not on disk: databases, caches and
/// files of pages are in the memory of the process that all of them share.
fn limit_storage(connection: &Connection, session: &str, url: &str) {
    let Ok(url) = Url::parse(url) else { return };
    let mut quota = OverrideQuotaForOriginParams::new(url.origin().ascii_serialization());
    quota.quota_size = Some(STORAGE_BYTES_MAX);
    connection.post(session, &quota);
}

#[cfg(test)]
mod fuzz;
