//! The state of a page, as its events tell it: its document, what is in flight, and whether the
//! page is ready.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use serde_json::{Map, Value};
use url::Url;

use super::counts::Counts;
use super::error::RenderError;
use super::exchanges::{Exchanges, fills};
use super::navigation::{Document, Navigations};
use super::workers::SHARED;

/// Requests in flight that still count as almost idle.
pub(super) const ALMOST_IDLE: usize = 2;
/// Requests that an incomplete page names, and characters of each.
const PENDING_MAX: usize = 10;
const PENDING_CHARS_MAX: usize = 300;
/// Windows that are reported of those that one step opens.
const WINDOWS_MAX: usize = 10;

/// The state of a page.
#[derive(Debug)]
pub(super) struct PageState {
    pub(super) navigation: Navigations,
    pub(super) in_flight: HashMap<String, PendingRequest>,
    /// Streams of events that are open, with the session of the worker that has them.
    pub(super) streams: HashMap<String, Option<Arc<str>>>,
    /// The open sockets of workers, with the session of the worker that has them.
    worker_sockets: HashMap<String, Arc<str>>,
    /// Scripts of shared workers, whose ends no event reports.
    pub(super) unheard: HashSet<String>,
    /// Requests that were in flight when the page was read as it was, although it showed signs that
    /// they would fill it.
    pub(super) pending: HashMap<String, String>,
    /// What else was not finished then.
    pub(super) unfinished: Option<&'static str>,
    pub(super) exchanges: Exchanges,
    /// Why the main document is not whole.
    pub(super) broken: Option<String>,
    pub(super) counts: Counts,
    /// Number of requests so far that may fill the page.
    pub(super) n_requests: u64,
    pub(super) loaded_bytes: u64,
    /// Those of pictures among them.
    pub(super) picture_bytes: u64,
    /// Whether no more pictures are loaded, because those before were heavy.
    pub(super) refuses_pictures: bool,
    /// Whether the page's loading was stopped, for its pictures.
    pub(super) is_stopped: bool,
    /// Whether pictures were refused or stopped.
    pub(super) lacks_pictures: bool,
    /// Number of main documents so far.
    pub(super) navigations: u32,
    /// Number of times that the page went to another document, or to another URL of its own.
    pub(super) moves: u32,
    /// Whether the current main document is parsed, and since when.
    pub(super) parsed: bool,
    pub(super) parsed_at: Instant,
    /// When bytes of what the document's scripts asked for last arrived, or the last such request
    /// ended. `None` before the first.
    pub(super) asked_until: Option<Instant>,
    /// Whether the current main document has fired its load event.
    pub(super) loaded: bool,
    /// A redirect target that the page may not navigate to.
    pub(super) refused_redirect: Option<Url>,
    pub(super) idle_since: Option<Instant>,
    pub(super) almost_since: Option<Instant>,
    /// Since when nothing that may fill the page is in flight.
    pub(super) quiet_since: Option<Instant>,
    /// Since when nothing is in flight that was brought into view.
    pub(super) brought_since: Option<Instant>,
    brings_into_view: bool,
    /// Whether this document's workers and sockets were waited for.
    pub(super) has_listened: bool,
    /// The URLs of windows that were opened and closed, until they are reported.
    pub(super) windows: Vec<String>,
}

/// A request in flight.
#[derive(Debug)]
pub(super) struct PendingRequest {
    pub(super) url: String,
    /// Whether it may fill the page, as far as that is waited for.
    pub(super) fills: bool,
    is_picture: bool,
    /// Whether a script sent it.
    is_asked: bool,
    /// Bytes of its body that are still to come, if the headers of the answer gave its length. A
    /// script that has no use for the body never ends the request.
    missing: Option<u64>,
    /// Whether it is a picture or a frame that came into view.
    is_brought: bool,
    /// The session of the worker that it is in.
    worker: Option<Arc<str>>,
}

impl PageState {
    /// A page before its first request.
    pub(super) fn new() -> Self {
        let now = Some(Instant::now());
        Self {
            navigation: Navigations::default(),
            in_flight: HashMap::new(),
            streams: HashMap::new(),
            worker_sockets: HashMap::new(),
            unheard: HashSet::new(),
            pending: HashMap::new(),
            unfinished: None,
            exchanges: Exchanges::default(),
            broken: None,
            counts: Counts::default(),
            n_requests: 0,
            loaded_bytes: 0,
            picture_bytes: 0,
            refuses_pictures: false,
            is_stopped: false,
            lacks_pictures: false,
            navigations: 0,
            moves: 0,
            parsed: false,
            parsed_at: Instant::now(),
            asked_until: None,
            loaded: false,
            refused_redirect: None,
            idle_since: now,
            almost_since: now,
            quiet_since: now,
            brought_since: now,
            brings_into_view: false,
            has_listened: false,
            windows: Vec::new(),
        }
    }

    /// The main document, with its raw headers if they are known.
    pub(super) fn document(&self) -> Option<Document> {
        self.navigation.document()
    }

    /// Whether the main document runs no scripts, by its `Content-Security-Policy`.
    pub(super) fn runs_no_scripts(&self) -> bool {
        self.navigation.runs_no_scripts()
    }

    /// The main frame shows the document of this request.
    pub(super) fn commit(&mut self, request: Option<String>) {
        self.navigation.commit(request);
        (self.parsed, self.loaded) = (false, false);
        self.navigations += 1;
        self.moves += 1;
        self.counts.navigated();
        self.worker_sockets.clear();
        self.broken = None;
        self.unfinished = None;
        self.pending.clear();
        self.has_listened = false;
        self.asked_until = None;
    }

    /// The response to the main document's request that shows nothing, as 204 does.
    pub(super) fn without_content(&self) -> Option<Document> {
        let response = self.navigation.not_shown();
        response.filter(|response| matches!(response.status, 204 | 205 | 304))
    }

    /// Why the main document is not whole, in the browser's words.
    pub(super) fn broken(&self) -> Option<&str> {
        let broken = self.broken.as_deref();
        broken.filter(|reason| {
            reason.contains("INCOMPLETE")
                || reason.contains("CONTENT_LENGTH_MISMATCH")
                || reason.contains("CONNECTION")
                || reason.contains("HTTP2")
        })
    }

    /// A request was sent that is waited for, by the page itself or in the session of a worker.
    pub(super) fn send(&mut self, id: String, url: String, kind: &str, worker: Option<Arc<str>>) {
        let fills = fills(kind, worker.is_some());
        self.n_requests += u64::from(fills);
        let is_seen = matches!(kind, "Image" | "Document");
        let request = PendingRequest {
            url,
            fills,
            is_picture: kind == "Image",
            is_asked: matches!(kind, "XHR" | "Fetch") || (kind == "Script" && self.parsed),
            missing: None,
            is_brought: is_seen && self.brings_into_view,
            worker,
        };
        self.in_flight.insert(id, request);
        self.update_idle_windows();
    }

    /// A worker was made. No event reports that the script of a shared one has arrived.
    pub(super) fn worker_made(&mut self, target: String, kind: &str) {
        if kind == SHARED {
            self.end(&target);
            self.update_idle_windows();
            self.unheard.insert(target.clone());
        }
        self.exchanges.worker_made(target);
    }

    /// A worker has ended, or was never begun: its script is not waited for any more.
    pub(super) fn worker_ended(&mut self, target: &str) {
        self.end(target);
        self.unheard.remove(target);
        self.exchanges.worker_ended(target);
        self.update_idle_windows();
    }

    /// The session of a worker has ended: no further event reports its requests.
    pub(super) fn worker_left(&mut self, session: &str) {
        let is_left = |request: &PendingRequest| request.worker.as_deref() == Some(session);
        let left: Vec<String> = self
            .in_flight
            .iter()
            .filter(|(_, request)| is_left(request))
            .map(|(id, _)| id.clone())
            .collect();
        for id in left {
            self.end(&id);
        }
        self.streams
            .retain(|_, worker| worker.as_deref() != Some(session));
        let n_sockets = self.worker_sockets.len();
        self.worker_sockets.retain(|_, worker| **worker != *session);
        for _ in self.worker_sockets.len()..n_sockets {
            self.counts.closed();
        }
        self.update_idle_windows();
    }

    /// A socket was opened or closed.
    ///
    /// # Errors
    /// [`RenderError::TooMany`].
    pub(super) fn socket(
        &mut self,
        method: &str,
        id: String,
        worker: Option<Arc<str>>,
    ) -> Result<(), RenderError> {
        match worker {
            Some(worker) if method.ends_with("Created") => {
                self.worker_sockets.insert(id, worker);
            }
            _ => {
                self.worker_sockets.remove(&id);
            }
        }
        self.counts.count(method)
    }

    /// The page opens a window, which is closed.
    pub(super) fn opens(&mut self, url: String) {
        if self.windows.len() < WINDOWS_MAX {
            self.windows
                .push(url.chars().take(PENDING_CHARS_MAX).collect());
        }
    }

    /// Whether this request is in flight, waited for or not.
    pub(super) fn is_open(&self, id: &str) -> bool {
        self.in_flight.contains_key(id) || self.streams.contains_key(id)
    }

    /// The head of an answer arrived, with the length of its body if it gives one.
    pub(super) fn answer(&mut self, id: &str, length: Option<u64>) {
        if let Some(request) = self.in_flight.get_mut(id) {
            request.missing = length;
        }
    }

    /// More bytes of a body arrived.
    pub(super) fn load(&mut self, id: &str, bytes: u64) {
        if let Some(request) = self.in_flight.get_mut(id) {
            request.missing = request.missing.map(|missing| missing.saturating_sub(bytes));
            if request.is_asked {
                self.asked_until = Some(Instant::now());
            }
        }
        self.loaded_bytes = self.loaded_bytes.saturating_add(bytes);
        if self.in_flight.get(id).is_some_and(|sent| sent.is_picture) {
            self.picture_bytes = self.picture_bytes.saturating_add(bytes);
        }
        self.navigation.grow(id, bytes);
    }

    /// Bytes of everything but pictures.
    pub(super) fn other_bytes(&self) -> u64 {
        self.loaded_bytes.saturating_sub(self.picture_bytes)
    }

    pub(super) fn end(&mut self, id: &str) {
        let ended = self.in_flight.remove(id);
        if ended.is_some_and(|request| request.is_asked) {
            self.asked_until = Some(Instant::now());
        }
        self.streams.remove(id);
        self.pending.remove(id);
    }

    /// Whether something may still fill the page that no request in flight tells of: a worker that
    /// computes, a socket or stream that is open. It is waited for once for each document.
    pub(super) fn may_listen(&self) -> bool {
        let is_open = self.counts.has_talkers() || !self.streams.is_empty();
        is_open && !self.has_listened
    }

    /// From now on pictures and frames are requested because they come into view.
    pub(super) fn bring_into_view(&mut self) {
        for request in self.in_flight.values_mut() {
            request.is_brought = false;
        }
        self.brings_into_view = true;
        self.brought_since = Some(Instant::now());
    }

    /// Restarts the idle windows: scripts start their work when the document is parsed.
    pub(super) fn parsed(&mut self) {
        if !self.parsed {
            self.parsed_at = Instant::now();
        }
        self.parsed = true;
        self.restart_windows();
    }

    /// Restarts the idle windows: scripts start their work when the page has loaded.
    pub(super) fn loaded(&mut self) {
        self.loaded = true;
        self.parsed();
    }

    fn restart_windows(&mut self) {
        let now = Instant::now();
        self.idle_since = self.idle_since.map(|_| now);
        self.almost_since = self.almost_since.map(|_| now);
        self.quiet_since = self.quiet_since.map(|_| now);
    }

    /// The page is ready: what was cut before is not missing any more, unless it is still in flight
    /// and the page still shows signs of it.
    pub(super) fn ready(&mut self, is_unfinished: bool) {
        self.unfinished = None;
        if !is_unfinished {
            self.pending.clear();
        }
    }

    /// Whether the page has frames.
    pub(super) fn has_frames(&self) -> bool {
        self.counts.has_frames()
    }

    /// Whether something that may fill the page is in flight, waited for or not.
    pub(super) fn is_loading(&self) -> bool {
        self.quiet_since.is_none()
    }

    /// Stops waiting for what is in flight. If the page shows signs that it is still to come, the
    /// page is incomplete without it.
    pub(super) fn give_up(&mut self, is_unfinished: bool) {
        for (id, request) in &mut self.in_flight {
            if std::mem::take(&mut request.fills) && is_unfinished {
                self.pending.insert(id.clone(), request.url.clone());
            }
        }
        self.update_idle_windows();
    }

    /// The page is read although this is not finished.
    pub(super) fn cut(&mut self, what: &'static str) {
        self.unfinished = Some(what);
        self.give_up(true);
    }

    /// The page is read although its scripts have more to do: incomplete without the requests that
    /// they wait for, if there are some.
    pub(super) fn cut_scripts(&mut self) {
        self.give_up(true);
        if self.pending.is_empty() {
            self.unfinished = Some("the page's scripts");
        }
    }

    /// What the page was not complete without when it was read: URLs without their queries, which
    /// may have secrets.
    pub(super) fn incomplete(&self) -> Vec<String> {
        let urls = self.pending.values().filter_map(|url| {
            let mut url = Url::parse(url).ok()?;
            url.set_query(None);
            url.set_fragment(None);
            let (_no_user, _no_password) = (url.set_username(""), url.set_password(None));
            Some(String::from(url).chars().take(PENDING_CHARS_MAX).collect())
        });
        let mut urls: Vec<String> = urls.collect();
        urls.sort_unstable();
        urls.dedup();
        urls.truncate(PENDING_MAX);
        let pictures = self.lacks_pictures.then_some("the page's pictures");
        let parts = self.unfinished.into_iter().chain(pictures);
        parts.map(str::to_owned).chain(urls).collect()
    }

    pub(super) fn update_idle_windows(&mut self) {
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
        let in_flight = self.in_flight.values();
        let filling = in_flight.filter(|request| request.fills && request.missing != Some(0));
        self.quiet_since = window_start(self.quiet_since, 0, filling.count());
        let brought = self.in_flight.values().filter(|request| request.is_brought);
        self.brought_since = window_start(self.brought_since, 0, brought.count());
    }
}

/// Splits headers into lines: the protocol joins repeated ones with line feeds.
pub(super) fn lines(headers: &Map<String, Value>) -> Vec<(String, String)> {
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
mod tests;
