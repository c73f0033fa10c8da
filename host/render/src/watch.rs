//! What is known of a page while it lives: its events, read as they come, and the answers that some of them need at once.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use chromiumoxide::cdp::browser_protocol::fetch::{
    AuthChallengeResponse, AuthChallengeResponseResponse, ContinueRequestParams,
    ContinueWithAuthParams, FailRequestParams, HeaderEntry,
};
use chromiumoxide::cdp::browser_protocol::network::ErrorReason;
use chromiumoxide::cdp::browser_protocol::page::HandleJavaScriptDialogParams;
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::sync::{Notify, mpsc};
use url::{Origin, Url};

use trawl_plan::RedirectGate;

use super::RenderError;
use super::wire::{Event, Wire};

/// Requests in flight that still count as almost idle.
pub(super) const ALMOST_IDLE: usize = 2;
/// Main documents that a page may go through by itself: real ones need three.
const NAVIGATIONS_MAX: u32 = 20;

/// What a page may do, decided before it is loaded.
pub(super) struct Rules {
    pub(super) credentials: (String, String),
    /// The caller's headers, for this origin alone.
    pub(super) headers: Vec<(String, String)>,
    pub(super) origin: Origin,
    /// The page's address, and who is asked before it goes on to another.
    pub(super) url: Url,
    pub(super) gate: Option<Arc<dyn RedirectGate>>,
    /// Resource types that are not loaded.
    pub(super) blocked: Vec<&'static str>,
    /// Decoded bytes that it may load.
    pub(super) bytes_max: u64,
}

/// The main document's answer.
#[derive(Clone, Debug, Default)]
pub(super) struct Document {
    pub(super) request: String,
    pub(super) url: String,
    pub(super) status: u16,
    pub(super) media_type: String,
    pub(super) headers: Vec<(String, String)>,
}

/// What was seen so far.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) document: Option<Document>,
    main_request: Option<String>,
    raw_headers: Option<(String, Vec<(String, String)>)>,
    in_flight: HashSet<String>,
    /// Requests that were ever begun.
    pub(super) n_requests: u64,
    pub(super) loaded_bytes: u64,
    /// Main documents so far.
    pub(super) navigations: u32,
    /// Whether the current main document has fired its load event.
    pub(super) loaded: bool,
    /// Where the page was not let go to.
    pub(super) gated: Option<Url>,
    idle_since: Option<Instant>,
    almost_since: Option<Instant>,
}

/// The state of one page, shared by the reader of its events and by whoever waits.
pub(super) struct Watch {
    seen: Mutex<Seen>,
    changed: Notify,
    frame: String,
    rules: Rules,
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

/// The fields that are looked at, of every event that has any.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Fields {
    request_id: Option<String>,
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
    pub(super) fn new(frame: String, rules: Rules) -> Self {
        Self {
            seen: Mutex::new(Seen {
                document: None,
                main_request: None,
                raw_headers: None,
                in_flight: HashSet::new(),
                n_requests: 0,
                gated: None,
                loaded_bytes: 0,
                navigations: 0,
                loaded: false,
                idle_since: Some(Instant::now()),
                almost_since: Some(Instant::now()),
            }),
            changed: Notify::new(),
            frame,
            rules,
        }
    }

    /// What was seen so far.
    pub(super) fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The page's main frame.
    pub(super) fn frame(&self) -> &str {
        &self.frame
    }

    /// Waits until this holds.
    pub(super) async fn until(&self, holds: impl Fn(&Seen) -> bool) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if holds(&self.seen()) {
                return;
            }
            changed.await;
        }
    }

    /// Waits until no more than `most` requests have been in flight for so long.
    pub(super) async fn quiet(&self, most: usize, window: Duration) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            let since = {
                let seen = self.seen();
                if most == 0 {
                    seen.idle_since
                } else {
                    seen.almost_since
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
        wire: &Wire,
        session: &str,
        mut events: mpsc::Receiver<Event>,
    ) -> RenderError {
        while let Some(event) = events.recv().await {
            if let Err(error) = self.take_in(wire, session, &event).await {
                return error;
            }
            self.changed.notify_waiters();
        }
        match wire.gone().is_cancelled() {
            true => RenderError::Crashed,
            false => {
                RenderError::Protocol("the page does more at once than can be followed".to_owned())
            }
        }
    }

    async fn take_in(&self, wire: &Wire, session: &str, event: &Event) -> Result<(), RenderError> {
        if event.method == "Inspector.targetCrashed" {
            return Err(RenderError::Crashed);
        }
        let Ok(fields) = serde_json::from_str::<Fields>(event.params.get()) else {
            return Ok(());
        };
        match event.method.as_str() {
            "Fetch.requestPaused" => self.let_through(wire, session, fields).await,
            "Fetch.authRequired" => self.authenticate(wire, session, fields),
            "Page.javascriptDialogOpening" => {
                // Leaving a page is allowed; everything else is answered with no.
                let accept = fields.kind.as_deref() == Some("beforeunload");
                wire.post(session, &HandleJavaScriptDialogParams::new(accept));
            }
            "Page.loadEventFired" => self.seen().load(),
            "Page.frameNavigated" => {
                if fields.frame.is_some_and(|frame| frame.parent_id.is_none()) {
                    let mut seen = self.seen();
                    seen.loaded = false;
                    seen.navigations += 1;
                    if seen.navigations > NAVIGATIONS_MAX {
                        let text =
                            format!("the page went on to another one {NAVIGATIONS_MAX} times");
                        return Err(RenderError::Load(310, text));
                    }
                }
            }
            _ => self.network(&event.method, fields)?,
        }
        Ok(())
    }

    fn network(&self, method: &str, fields: Fields) -> Result<(), RenderError> {
        let Some(id) = fields.request_id else {
            return Ok(());
        };
        let mut seen = self.seen();
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
                    seen.main_request = Some(id.clone());
                }
                if is_fetched && !is_stream {
                    seen.in_flight.insert(id);
                    seen.n_requests += 1;
                }
            }
            "Network.responseReceived"
                if is_main && is_document && fields.loader_id.as_deref() == Some(&id) =>
            {
                if let Some(response) = fields.response {
                    seen.document = Some(Document {
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
                    && seen.main_request.as_deref() == Some(&id)
                {
                    seen.raw_headers = Some((id, lines(&headers)));
                }
            }
            "Network.dataReceived" if seen.in_flight.contains(&id) => {
                seen.loaded_bytes += fields.data_length.unwrap_or(0);
                if seen.loaded_bytes > self.rules.bytes_max {
                    return Err(RenderError::TooLarge(self.rules.bytes_max));
                }
            }
            "Network.loadingFinished" | "Network.loadingFailed" => {
                seen.in_flight.remove(&id);
            }
            _ => return Ok(()),
        }
        seen.mark();
        Ok(())
    }

    async fn let_through(&self, wire: &Wire, session: &str, fields: Fields) {
        let (Some(id), Some(request)) = (fields.request_id, fields.request) else {
            return;
        };
        let kind = fields.resource_type.unwrap_or_default();
        if self.rules.blocked.contains(&kind.as_str()) {
            wire.post(
                session,
                &FailRequestParams::new(id, ErrorReason::BlockedByClient),
            );
            return;
        }
        let is_main = fields.frame_id.as_deref() == Some(&self.frame);
        if is_main && kind == "Document" && !self.may_go_to(&request.url).await {
            let fail = FailRequestParams::new(id, ErrorReason::BlockedByClient);
            wire.post(session, &fail);
            return;
        }
        let mut go_on = ContinueRequestParams::new(id);
        if !self.rules.headers.is_empty() {
            go_on.headers = Some(self.headers(&request));
        }
        wire.post(session, &go_on);
    }

    /// Whether the page may be what is found at this address. The caller hears where it may not.
    async fn may_go_to(&self, address: &str) -> bool {
        let (Some(gate), Ok(to)) = (&self.rules.gate, Url::parse(address)) else {
            return true;
        };
        if to == self.rules.url || gate.may_follow(&self.rules.url, &to).await {
            return true;
        }
        self.seen().gated = Some(to);
        false
    }

    /// The request's headers with the caller's, or without them on the way to another origin.
    fn headers(&self, request: &Request) -> Vec<HeaderEntry> {
        let is_ours = |name: &str| {
            self.rules
                .headers
                .iter()
                .any(|(own, _)| own.eq_ignore_ascii_case(name))
        };
        let is_target = Url::parse(&request.url).is_ok_and(|url| url.origin() == self.rules.origin);
        let present = request.headers.iter().flatten();
        let present = present.filter(|(name, value)| {
            let is_added =
                self.rules.headers.iter().any(|(own, text)| {
                    own.eq_ignore_ascii_case(name) && value.as_str() == Some(text)
                });
            if is_target { !is_ours(name) } else { !is_added }
        });
        let present = present
            .filter_map(|(name, value)| Some(HeaderEntry::new(name.clone(), value.as_str()?)));
        let own = self.rules.headers.iter().filter(|_| is_target);
        let own = own.map(|(name, value)| HeaderEntry::new(name.clone(), value.clone()));
        present.chain(own).collect()
    }

    fn authenticate(&self, wire: &Wire, session: &str, fields: Fields) {
        let Some(id) = fields.request_id else {
            return;
        };
        let is_proxy = fields
            .auth_challenge
            .and_then(|challenge| challenge.source)
            .as_deref()
            == Some("Proxy");
        let mut answer = AuthChallengeResponse::new(if is_proxy { AuthChallengeResponseResponse::ProvideCredentials } else { AuthChallengeResponseResponse::CancelAuth });
        if is_proxy {
            answer.username = Some(self.rules.credentials.0.clone());
            answer.password = Some(self.rules.credentials.1.clone());
        }
        wire.post(session, &ContinueWithAuthParams::new(id, answer));
    }
}

impl Seen {
    /// Whether the site answered for the main document at all, shown or not.
    pub(super) fn is_answered(&self) -> bool {
        let answered = self.raw_headers.as_ref().map(|(id, _)| id);
        answered.is_some() && answered == self.main_request.as_ref()
    }

    /// The main document with its headers as they were received, when those are known.
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

    /// What is quiet counts from now on anew: scripts begin their work when the page has loaded.
    fn load(&mut self) {
        self.loaded = true;
        let now = Instant::now();
        self.idle_since = self.idle_since.map(|_| now);
        self.almost_since = self.almost_since.map(|_| now);
    }

    fn mark(&mut self) {
        let now = Instant::now();
        let keep = |since: Option<Instant>, most: usize, count: usize| if count <= most { since.or(Some(now)) } else { None };
        self.idle_since = keep(self.idle_since, 0, self.in_flight.len());
        self.almost_since = keep(self.almost_since, ALMOST_IDLE, self.in_flight.len());
    }
}

/// Headers by line: the protocol joins repeated ones with line feeds.
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
