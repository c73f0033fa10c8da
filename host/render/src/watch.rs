//! Tracks the state of a page by its events, and handles the events that need a response at once.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use chromiumoxide::cdp::browser_protocol::fetch::{
    AuthChallengeResponse, AuthChallengeResponseResponse, ContinueRequestParams,
    ContinueWithAuthParams, FailRequestParams,
};
use chromiumoxide::cdp::browser_protocol::network::ErrorReason;
use chromiumoxide::cdp::browser_protocol::page::HandleJavaScriptDialogParams;
use chromiumoxide::cdp::browser_protocol::storage::OverrideQuotaForOriginParams;
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::sync::Notify;
use url::Url;

use trawl_model::{Cause, urls};
use trawl_plan::RedirectGate;

use super::RenderError;
use super::caller_headers::{CallerHeaders, PageRequest};
use super::cdp::Connection;
use super::events::{Event, Events, SessionEnd};
use super::exchanges::fills;
use super::page_state::{Document, InFlight, PageState, lines};

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
    pub(super) gate: Option<Arc<dyn RedirectGate>>,
    /// Resource types that are blocked.
    pub(super) blocked: Vec<&'static str>,
    /// Decoded bytes that it may load.
    pub(super) bytes_max: u64,
}

/// The state of one page, shared by the reader of its events and the tasks that wait for it.
pub(super) struct Watch {
    state: Mutex<PageState>,
    changed: Notify,
    frame: String,
    policy: PagePolicy,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    url: String,
    headers: Option<Map<String, Value>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Response {
    url: String,
    status: i64,
    mime_type: String,
    headers: Map<String, Value>,
}

/// The relevant fields of all events.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Fields {
    request_id: Option<String>,
    network_id: Option<String>,
    redirected_request_id: Option<String>,
    loader_id: Option<String>,
    frame_id: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    resource_type: Option<String>,
    request: Option<Request>,
    response: Option<Response>,
    headers: Option<Map<String, Value>>,
    data_length: Option<u64>,
    frame: Option<Frame>,
    auth_challenge: Option<Challenge>,
    error_text: Option<String>,
    canceled: Option<bool>,
    redirect_response: Option<Response>,
    target_info: Option<TargetInfo>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Frame {
    parent_id: Option<String>,
    loader_id: Option<String>,
}

#[derive(Deserialize)]
struct TargetInfo {
    url: String,
}

#[derive(Deserialize)]
struct Challenge {
    source: Option<String>,
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
        if event.method == "Inspector.targetCrashed" {
            return Err(RenderError::Crashed);
        }
        let Ok(fields) = serde_json::from_str::<Fields>(event.params.get()) else {
            return Ok(());
        };
        match event.method.as_str() {
            "Fetch.requestPaused" => self.handle_request(connection, session, fields).await,
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
            "Page.domContentEventFired" => self.state().parsed(),
            "Page.loadEventFired" => self.state().loaded(),
            "Page.frameAttached"
            | "Page.frameDetached"
            | "Target.targetCreated"
            | "Target.targetDestroyed"
            | "Network.webSocketCreated"
            | "Network.webSocketClosed" => {
                let mut state = self.state();
                if event.method == "Target.targetCreated"
                    && let Some(worker) = fields.target_info
                {
                    state.has_worker(worker.url);
                }
                state.counts.count(&event.method)?;
            }
            "Page.frameNavigated" => {
                if let Some(frame) = fields.frame.filter(|frame| frame.parent_id.is_none()) {
                    let mut state = self.state();
                    state.commit(frame.loader_id);
                    (state.parsed, state.loaded) = (false, false);
                    state.navigations += 1;
                    state.moves += 1;
                    state.counts.navigated();
                    if state.navigations > NAVIGATIONS_MAX {
                        let text = format!(
                            "the page navigated more than {NAVIGATIONS_MAX} times by itself"
                        );
                        return Err(RenderError::Load(Cause::TooManyRedirects, text));
                    }
                }
            }
            _ => self.handle_network(&event.method, fields)?,
        }
        Ok(())
    }

    fn handle_network(&self, method: &str, fields: Fields) -> Result<(), RenderError> {
        let Some(id) = fields.request_id else {
            return Ok(());
        };
        let mut state = self.state();
        let is_main = fields.frame_id.as_deref() == Some(&self.frame);
        let kind = fields.kind.unwrap_or_default();
        let is_document = kind == "Document";
        match method {
            "Network.requestWillBeSent" => {
                if let Some(redirect) = fields.redirect_response {
                    let (status, headers) = (redirect.status, &redirect.headers);
                    state.exchanges.answered(&id, status, headers);
                }
                state.exchanges.sent(&id, &kind);
                let is_stream = kind == "EventSource" || kind == "Ping";
                let url = fields
                    .request
                    .map(|request| request.url)
                    .unwrap_or_default();
                let is_workers = !fills(&kind) && state.workers.contains(&url);
                let is_fetched = url.starts_with("http") && !is_workers;
                if is_main && is_document {
                    state.main_request = Some(id.clone());
                    state.document_bytes = 0;
                }
                if is_fetched && !is_stream {
                    let fills = fills(&kind);
                    state.n_requests += u64::from(fills);
                    state.in_flight.insert(id, InFlight { url, fills });
                }
            }
            "Network.responseReceived" => {
                let Some(response) = fields.response else {
                    return Ok(());
                };
                let (status, headers) = (response.status, &response.headers);
                state.exchanges.answered(&id, status, headers);
                if is_main && is_document && fields.loader_id.as_deref() == Some(&id) {
                    state.respond(Document {
                        request: id,
                        url: response.url,
                        status: u16::try_from(response.status).unwrap_or(0),
                        media_type: response.mime_type,
                        headers: lines(&response.headers),
                    });
                }
            }
            "Network.responseReceivedExtraInfo" => {
                // Every redirect has its own; the last is the document's.
                let Some(headers) = fields.headers else {
                    return Ok(());
                };
                state.exchanges.headers(&id, &headers);
                if state.main_request.as_deref() == Some(&id) {
                    state.raw_headers = Some((id, lines(&headers)));
                }
            }
            "Network.dataReceived" if state.in_flight.contains_key(&id) => {
                let more = fields.data_length.unwrap_or(0);
                state.loaded_bytes = state.loaded_bytes.saturating_add(more);
                if state.main_request.as_deref() == Some(&id) {
                    state.document_bytes = state.document_bytes.saturating_add(more);
                }
                if state.loaded_bytes > self.policy.bytes_max {
                    return Err(RenderError::TooLarge(self.policy.bytes_max));
                }
            }
            "Network.loadingFinished" => state.end(&id),
            "Network.loadingFailed" => {
                let is_cancelled = fields.canceled.unwrap_or(false);
                state.exchanges.failed(&id, is_cancelled);
                if state.committed.as_deref() == Some(&id) && !is_cancelled {
                    state.broken = fields.error_text;
                }
                state.end(&id);
            }
            _ => return Ok(()),
        }
        state.update_idle_windows();
        Ok(())
    }

    async fn handle_request(&self, connection: &Connection, session: &str, fields: Fields) {
        let (Some(id), Some(request)) = (fields.request_id, fields.request) else {
            return;
        };
        let kind = fields.resource_type.unwrap_or_default();
        if self.policy.blocked.contains(&kind.as_str()) {
            connection.post(
                session,
                &FailRequestParams::new(id, ErrorReason::BlockedByClient),
            );
            return;
        }
        let is_main = fields.frame_id.as_deref() == Some(&self.frame);
        if is_main && kind == "Document" && !self.may_navigate_to(&request.url).await {
            let fail = FailRequestParams::new(id, ErrorReason::BlockedByClient);
            connection.post(session, &fail);
            return;
        }
        let is_document = kind == "Document";
        if is_main && is_document {
            limit_storage(connection, session, &request.url);
        }
        let mut proceed = ContinueRequestParams::new(id);
        let sent = PageRequest {
            url: &request.url,
            is_main_frame: is_main,
            is_document,
            network_id: fields.network_id.as_deref(),
            is_redirected: fields.redirected_request_id.is_some(),
        };
        proceed.headers = self.policy.headers.applied(sent, request.headers.as_ref());
        connection.post(session, &proceed);
    }

    /// Whether the page may navigate to this URL. A refused URL is recorded for the caller.
    async fn may_navigate_to(&self, url: &str) -> bool {
        let (Some(gate), Ok(to)) = (&self.policy.gate, urls::parse(url)) else {
            return true;
        };
        if to == self.policy.url || gate.may_follow(&self.policy.url, &to).await {
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
