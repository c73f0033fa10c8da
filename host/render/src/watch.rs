//! Tracks the state of a page by its events, and handles the events that need a response at once.

use std::collections::HashSet;
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

use trawl_model::Cause;
use trawl_plan::RedirectGate;

use super::RenderError;
use super::caller_headers::{CallerHeaders, PageRequest};
use super::cdp::Connection;
use super::counts::Counts;
use super::events::{Event, Events, SessionEnd};

/// Requests in flight that still count as almost idle.
pub(super) const ALMOST_IDLE: usize = 2;
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

/// The main document's response.
#[derive(Clone, Debug, Default)]
pub(super) struct Document {
    pub(super) request: String,
    pub(super) url: String,
    pub(super) status: u16,
    pub(super) media_type: String,
    pub(super) headers: Vec<(String, String)>,
}

/// The state of a page.
#[derive(Debug)]
pub(super) struct PageState {
    pub(super) document: Option<Document>,
    main_request: Option<String>,
    raw_headers: Option<(String, Vec<(String, String)>)>,
    in_flight: HashSet<String>,
    /// Bytes of the main document's body so far.
    pub(super) document_bytes: u64,
    counts: Counts,
    /// Number of requests so far.
    pub(super) n_requests: u64,
    pub(super) loaded_bytes: u64,
    /// Number of main documents so far.
    pub(super) navigations: u32,
    /// Whether the current main document has fired its load event.
    pub(super) loaded: bool,
    /// A redirect target that the page may not navigate to.
    pub(super) refused_redirect: Option<Url>,
    idle_since: Option<Instant>,
    almost_since: Option<Instant>,
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
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Frame {
    parent_id: Option<String>,
}

#[derive(Deserialize)]
struct Challenge {
    source: Option<String>,
}

impl Watch {
    pub(super) fn new(frame: String, policy: PagePolicy) -> Self {
        Self {
            state: Mutex::new(PageState {
                document: None,
                main_request: None,
                raw_headers: None,
                in_flight: HashSet::new(),
                document_bytes: 0,
                counts: Counts::default(),
                n_requests: 0,
                refused_redirect: None,
                loaded_bytes: 0,
                navigations: 0,
                loaded: false,
                idle_since: Some(Instant::now()),
                almost_since: Some(Instant::now()),
            }),
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
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            let since = {
                let state = self.state();
                if most == 0 {
                    state.idle_since
                } else {
                    state.almost_since
                }
            };
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
            "Page.loadEventFired" => self.state().loaded(),
            "Page.frameAttached"
            | "Page.frameDetached"
            | "Target.targetCreated"
            | "Target.targetDestroyed"
            | "Network.webSocketCreated"
            | "Network.webSocketClosed" => self.state().counts.count(&event.method)?,
            "Page.frameNavigated" => {
                if fields.frame.is_some_and(|frame| frame.parent_id.is_none()) {
                    let mut state = self.state();
                    state.loaded = false;
                    state.navigations += 1;
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
        let is_document = fields.kind.as_deref() == Some("Document");
        match method {
            "Network.requestWillBeSent" => {
                let is_stream = fields
                    .kind
                    .as_deref()
                    .is_some_and(|kind| kind == "EventSource" || kind == "Ping");
                let is_fetched = fields
                    .request
                    .is_some_and(|request| request.url.starts_with("http"));
                if is_main && is_document {
                    state.main_request = Some(id.clone());
                    state.document_bytes = 0;
                }
                if is_fetched && !is_stream {
                    state.in_flight.insert(id);
                    state.n_requests += 1;
                }
            }
            "Network.responseReceived"
                if is_main && is_document && fields.loader_id.as_deref() == Some(&id) =>
            {
                if let Some(response) = fields.response {
                    state.document = Some(Document {
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
                if let Some(headers) = fields.headers
                    && state.main_request.as_deref() == Some(&id)
                {
                    state.raw_headers = Some((id, lines(&headers)));
                }
            }
            "Network.dataReceived" if state.in_flight.contains(&id) => {
                let more = fields.data_length.unwrap_or(0);
                state.loaded_bytes = state.loaded_bytes.saturating_add(more);
                if state.main_request.as_deref() == Some(&id) {
                    state.document_bytes = state.document_bytes.saturating_add(more);
                }
                if state.loaded_bytes > self.policy.bytes_max {
                    return Err(RenderError::TooLarge(self.policy.bytes_max));
                }
            }
            "Network.loadingFinished" | "Network.loadingFailed" => {
                state.in_flight.remove(&id);
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
        let (Some(gate), Ok(to)) = (&self.policy.gate, Url::parse(url)) else {
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

impl PageState {
    /// Whether the site responded to the main document's request, displayed or not.
    pub(super) fn has_response(&self) -> bool {
        let responded = self.raw_headers.as_ref().map(|(id, _)| id);
        responded.is_some() && responded == self.main_request.as_ref()
    }

    /// The main document, with its raw headers if they are known.
    pub(super) fn document(&self) -> Option<Document> {
        let mut document = self.document.clone()?;
        if let Some((_, headers)) = self
            .raw_headers
            .as_ref()
            .filter(|(id, _)| *id == document.request)
        {
            document.headers.clone_from(headers);
        }
        Some(document)
    }

    /// Restarts the idle windows: scripts start their work when the page has loaded.
    fn loaded(&mut self) {
        self.loaded = true;
        let now = Instant::now();
        self.idle_since = self.idle_since.map(|_| now);
        self.almost_since = self.almost_since.map(|_| now);
    }

    fn update_idle_windows(&mut self) {
        let now = Instant::now();
        let window_start = |since: Option<Instant>, most: usize, count: usize| {
            if count <= most {
                since.or(Some(now))
            } else {
                None
            }
        };
        self.idle_since = window_start(self.idle_since, 0, self.in_flight.len());
        self.almost_since = window_start(self.almost_since, ALMOST_IDLE, self.in_flight.len());
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

/// Splits headers into lines: the protocol joins repeated ones with line feeds.
fn lines(headers: &Map<String, Value>) -> Vec<(String, String)> {
    let headers = headers
        .iter()
        .filter_map(|(name, value)| Some((name.to_lowercase(), value.as_str()?)));
    let lines = headers.flat_map(|(name, value)| {
        let lines = value.split('\n').map(str::to_owned);
        lines.map(|line| (name.clone(), line)).collect::<Vec<_>>()
    });
    lines.collect()
}

#[cfg(test)]
mod fuzz;
