//! The state of a page, as its events tell it: its document, what is in flight, and whether the
//! page is ready.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use serde_json::{Map, Value};
use url::Url;

use super::counts::Counts;
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
    pub(super) in_flight: HashMap<String, InFlight>,
    /// Streams of events that are open.
    pub(super) streams: HashSet<String>,
    /// Scripts of shared workers, whose ends nobody is told of.
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
    /// Number of main documents so far.
    pub(super) navigations: u32,
    /// Number of times that the page went to another document, or to another URL of its own.
    pub(super) moves: u32,
    /// Whether the current main document is parsed.
    pub(super) parsed: bool,
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
pub(super) struct InFlight {
    pub(super) url: String,
    /// Whether it may fill the page, as far as that is waited for.
    pub(super) fills: bool,
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
            streams: HashSet::new(),
            unheard: HashSet::new(),
            pending: HashMap::new(),
            unfinished: None,
            exchanges: Exchanges::default(),
            broken: None,
            counts: Counts::default(),
            n_requests: 0,
            loaded_bytes: 0,
            navigations: 0,
            moves: 0,
            parsed: false,
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

    /// The main frame shows the document of this request.
    pub(super) fn commit(&mut self, request: Option<String>) {
        self.navigation.commit(request);
        (self.parsed, self.loaded) = (false, false);
        self.navigations += 1;
        self.moves += 1;
        self.counts.navigated();
        self.broken = None;
        self.unfinished = None;
        self.pending.clear();
        self.has_listened = false;
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
        let request = InFlight {
            url,
            fills,
            is_brought: is_seen && self.brings_into_view,
            worker,
        };
        self.in_flight.insert(id, request);
        self.update_idle_windows();
    }

    /// A worker was made. Nobody is told when the script of a shared one has arrived.
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

    /// The session of a worker has ended: nobody is told of its requests any more.
    pub(super) fn worker_left(&mut self, session: &str) {
        let is_left = |request: &InFlight| request.worker.as_deref() == Some(session);
        let left: Vec<String> = self
            .in_flight
            .iter()
            .filter(|(_, request)| is_left(request))
            .map(|(id, _)| id.clone())
            .collect();
        for id in left {
            self.end(&id);
        }
        self.update_idle_windows();
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
        self.in_flight.contains_key(id) || self.streams.contains(id)
    }

    pub(super) fn end(&mut self, id: &str) {
        self.in_flight.remove(id);
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
        self.parsed = true;
        self.restart_windows();
    }

    /// Restarts the idle windows: scripts start their work when the page has loaded.
    pub(super) fn loaded(&mut self) {
        (self.parsed, self.loaded) = (true, true);
        self.restart_windows();
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
        let document = self.unfinished.map(str::to_owned);
        document.into_iter().chain(urls).collect()
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
        let filling = self.in_flight.values().filter(|request| request.fills);
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
mod tests {
    use super::*;

    const URL: &str = "https://a.example/x?key=secret";

    fn send(state: &mut PageState, id: &str, kind: &str, worker: Option<&str>) {
        let worker = worker.map(Arc::from);
        state.send(id.to_owned(), URL.to_owned(), kind, worker);
    }

    #[test]
    fn the_script_of_a_worker_is_in_flight_until_it_has_arrived() {
        let mut state = PageState::new();
        // The page requests it under the name of the worker, which is told of its end.
        send(&mut state, "worker", "Script", None);
        state.worker_made("worker".to_owned(), "worker");
        assert!(state.idle_since.is_none() && state.is_loading());
        state.end("worker");
        state.update_idle_windows();
        assert!(state.idle_since.is_some() && !state.is_loading());
        // One that ended before has no end of its own.
        send(&mut state, "other", "Script", None);
        state.worker_ended("other");
        assert!(state.idle_since.is_some());
    }

    #[test]
    fn nobody_waits_for_the_script_of_a_shared_worker() {
        let mut state = PageState::new();
        send(&mut state, "shared", "Script", None);
        state.worker_made("shared".to_owned(), SHARED);
        assert!(state.idle_since.is_some() && state.unheard.contains("shared"));
        state.worker_ended("shared");
        assert!(state.unheard.is_empty());
    }

    #[test]
    fn the_requests_of_a_worker_count_until_it_leaves() {
        let mut state = PageState::new();
        send(&mut state, "1", "Fetch", Some("session"));
        send(&mut state, "2", "Other", Some("session"));
        send(&mut state, "3", "Fetch", Some("another"));
        assert_eq!(state.n_requests, 3, "what a worker imports is a script");
        state.worker_left("session");
        let left: Vec<&String> = state.in_flight.keys().collect();
        assert_eq!(left, ["3"]);
        state.worker_left("another");
        assert!(state.quiet_since.is_some());
    }

    #[test]
    fn a_page_that_became_ready_is_not_incomplete() {
        let mut state = PageState::new();
        send(&mut state, "1", "Fetch", None);
        state.cut("the document");
        assert_eq!(state.incomplete(), ["the document", "https://a.example/x"]);
        state.ready(true);
        assert_eq!(state.incomplete(), ["https://a.example/x"]);
        state.ready(false);
        assert!(state.incomplete().is_empty());
        state.cut("the document");
        state.commit(None);
        assert!(state.incomplete().is_empty());
    }

    #[test]
    fn only_pictures_and_frames_are_brought_into_view() {
        let mut state = PageState::new();
        send(&mut state, "before", "Image", None);
        state.bring_into_view();
        state.update_idle_windows();
        send(&mut state, "poll", "Fetch", None);
        assert!(state.brought_since.is_some());
        send(&mut state, "picture", "Image", None);
        send(&mut state, "frame", "Document", None);
        for id in ["picture", "frame"] {
            assert!(state.brought_since.is_none());
            state.end(id);
            state.update_idle_windows();
        }
        assert!(state.brought_since.is_some() && state.idle_since.is_none());
    }
}
