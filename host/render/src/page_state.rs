//! The state of a page, as its events tell it: its document, what is in flight, and whether the
//! page is ready.

use std::collections::{HashMap, HashSet};
use std::time::Instant;

use serde_json::{Map, Value};
use url::Url;

use trawl_model::Hop;

use super::counts::Counts;
use super::exchanges::Exchanges;

/// Requests in flight that still count as almost idle.
pub(super) const ALMOST_IDLE: usize = 2;
/// Requests that an incomplete page names, and characters of each.
const PENDING_MAX: usize = 10;
const PENDING_CHARS_MAX: usize = 300;

/// The main document's response.
#[derive(Clone, Debug, Default)]
pub(super) struct Document {
    pub(super) request: String,
    pub(super) url: String,
    pub(super) status: u16,
    pub(super) media_type: String,
    pub(super) headers: Vec<(String, String)>,
}

impl Document {
    /// Whether a challenge may answer like this: with a refusal, or marked by a header.
    pub(super) fn may_be_challenge(&self) -> bool {
        matches!(self.status, 202 | 403 | 405 | 406 | 429 | 503)
            || self
                .headers
                .iter()
                .any(|(name, _)| name.ends_with("-mitigated") || name == "x-amzn-waf-action")
    }
}

/// The state of a page.
#[derive(Debug)]
pub(super) struct PageState {
    pub(super) document: Option<Document>,
    pub(super) main_request: Option<String>,
    pub(super) raw_headers: Option<(String, Vec<(String, String)>)>,
    pub(super) in_flight: HashMap<String, InFlight>,
    /// Scripts of workers: their ends are reported to the workers alone.
    pub(super) workers: HashSet<String>,
    /// Requests that were in flight when the page was read as it was, although it showed signs that
    /// they would fill it.
    pub(super) pending: HashMap<String, String>,
    /// What else was not finished then.
    pub(super) unfinished: Option<&'static str>,
    pub(super) exchanges: Exchanges,
    /// The response of a navigation that has not been committed: a download never is.
    pub(super) response: Option<Document>,
    /// The navigation whose document is shown.
    pub(super) committed: Option<String>,
    /// Why the main document is not whole.
    pub(super) broken: Option<String>,
    /// Bytes of the main document's body so far.
    pub(super) document_bytes: u64,
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
    /// The redirects of the main documents.
    pub(super) redirects: Vec<Hop>,
    pub(super) idle_since: Option<Instant>,
    pub(super) almost_since: Option<Instant>,
    /// Since when nothing that may fill the page is in flight.
    pub(super) quiet_since: Option<Instant>,
}

/// A request in flight.
#[derive(Debug)]
pub(super) struct InFlight {
    pub(super) url: String,
    /// Whether it may fill the page, as far as that is waited for.
    pub(super) fills: bool,
}

impl PageState {
    /// A page before its first request.
    pub(super) fn new() -> Self {
        let now = Some(Instant::now());
        Self {
            document: None,
            main_request: None,
            raw_headers: None,
            in_flight: HashMap::new(),
            workers: HashSet::new(),
            pending: HashMap::new(),
            unfinished: None,
            exchanges: Exchanges::default(),
            response: None,
            committed: None,
            broken: None,
            document_bytes: 0,
            counts: Counts::default(),
            n_requests: 0,
            loaded_bytes: 0,
            navigations: 0,
            moves: 0,
            parsed: false,
            loaded: false,
            refused_redirect: None,
            redirects: Vec::new(),
            idle_since: now,
            almost_since: now,
            quiet_since: now,
        }
    }

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

    /// The response of a navigation: the document's once the navigation is committed. A file that
    /// the page makes the browser download, or an answer without content, leaves the page as it is.
    pub(super) fn respond(&mut self, response: Document) {
        if self.committed.as_deref() == Some(&response.request) {
            self.document = Some(response);
        } else {
            self.response = Some(response);
        }
    }

    /// The main frame shows the document of this navigation.
    pub(super) fn commit(&mut self, loader: Option<String>) {
        let mut response = self.response.take();
        if let Some(response) = response.take_if(|found| Some(&found.request) == loader.as_ref()) {
            self.document = Some(response);
        }
        self.response = response;
        self.committed = loader;
        self.broken = None;
        self.unfinished = None;
    }

    /// The response to the main document's request that shows nothing, as 204 does.
    pub(super) fn without_content(&self) -> Option<&Document> {
        self.response
            .as_ref()
            .filter(|response| matches!(response.status, 204 | 205 | 304))
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

    /// A worker was made of this script.
    pub(super) fn has_worker(&mut self, url: String) {
        self.in_flight
            .retain(|_, request| request.fills || request.url != url);
        self.update_idle_windows();
        // Some have many; counts bound them.
        self.workers.insert(url);
    }

    pub(super) fn end(&mut self, id: &str) {
        self.in_flight.remove(id);
        self.pending.remove(id);
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
