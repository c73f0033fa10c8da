//! What the requests of a page say about keeping it: a rendered page is what its document, scripts,
//! frames, workers and data were made into, so all of them decide whether another caller may get
//! it.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use trawl_net::egress::authenticates_connection;

/// Requests of a page whose kinds are remembered until their headers are known; those beyond it
/// make a page that is not stored.
const OPEN_MAX: usize = 10_000;

/// Why a page may not be stored for other callers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unstorable {
    /// A part of it failed, or was answered with an error: another time it may be whole.
    Failed,
    /// A part of it is `no-store` or `private`, or varies with everything.
    Private,
    /// An answer set a cookie.
    SetsCookie,
    /// It was read before it was complete.
    Incomplete,
    /// It had a message by a socket or a stream of events, which says nothing of whom it is for.
    Message,
    /// It had a worker whose requests were not seen, or an answer whose headers were not.
    Unseen,
    /// A response offers to authenticate its connection, or continues an authentication.
    ConnectionAuth,
}

/// The record of all exchanges of a page.
#[derive(Debug, Default)]
pub(super) struct Exchanges {
    /// The requests that may fill the page.
    filling: HashSet<String>,
    /// The workers that there are, and those whose requests are seen.
    workers: HashSet<String>,
    seen_workers: HashSet<String>,
    /// What the headers of answers say whose requests are not known yet: the browser tells both
    /// apart, in no order.
    early: HashMap<String, Early>,
    /// How many answers of a request came without their headers as they were sent, which the
    /// browser tells as well. Below zero if those came first.
    without_headers: HashMap<String, i32>,
    unstorable: Option<Unstorable>,
}

/// Headers that came before their request.
#[derive(Debug, Default)]
struct Early {
    n_answers: i32,
    unstorable: Option<Unstorable>,
}

/// Whether what is requested may fill the page with text: the document and its frames, scripts,
/// style sheets and data. The names are those of the protocol's `Network.ResourceType`, which has
/// none for a script that a worker imports.
pub(super) fn fills(kind: &str, in_worker: bool) -> bool {
    let is_filling = matches!(kind, "Document" | "Script" | "Stylesheet" | "XHR" | "Fetch");
    is_filling || (in_worker && kind == "Other")
}

impl Exchanges {
    /// A request was sent; a redirect sends it again.
    pub(super) fn sent(&mut self, id: &str, kind: &str, in_worker: bool) {
        let early = self.early.remove(id);
        if !fills(kind, in_worker) {
            return;
        }
        if let Some(early) = early {
            early.unstorable.into_iter().for_each(|it| self.note(it));
            self.add_without_headers(id, -early.n_answers);
        }
        if self.filling.len() >= OPEN_MAX {
            self.note(Unstorable::Incomplete);
            return;
        }
        self.filling.insert(id.to_owned());
    }

    /// An answer arrived, a redirect's or the last one. With `has_more`, its headers as they were
    /// sent come by themselves.
    pub(super) fn answered(
        &mut self,
        id: &str,
        status: i64,
        headers: &Map<String, Value>,
        has_more: bool,
    ) {
        if !self.filling.contains(id) {
            return;
        }
        if status >= 400 {
            self.note(Unstorable::Failed);
        }
        said_by(headers).into_iter().for_each(|it| self.note(it));
        self.add_without_headers(id, has_more.into());
    }

    /// The headers of an answer as they were sent: those that the browser hides from pages, too.
    pub(super) fn headers(&mut self, id: &str, headers: &Map<String, Value>) {
        let said = said_by(headers);
        if self.filling.contains(id) {
            said.into_iter().for_each(|it| self.note(it));
            self.add_without_headers(id, -1);
        } else if self.early.len() < OPEN_MAX {
            let early = self.early.entry(id.to_owned()).or_default();
            early.n_answers += 1;
            early.unstorable = early.unstorable.or(said);
        }
    }

    fn add_without_headers(&mut self, id: &str, n_answers: i32) {
        let n = self.without_headers.entry(id.to_owned()).or_default();
        *n += n_answers;
        if *n == 0 {
            self.without_headers.remove(id);
        }
    }

    /// Whether the headers of every answer are known.
    pub(super) fn has_all_headers(&self) -> bool {
        self.without_headers.values().all(|n| *n <= 0)
    }

    /// A request failed without a whole answer. What the page itself took back is not a failure,
    /// and neither is what was blocked, by the caller's parameters or by the page's own policy: it
    /// will be another time.
    pub(super) fn failed(&mut self, id: &str, is_cancelled: bool, blocked: Option<&str>) {
        let is_meant = matches!(blocked, Some("inspector" | "csp" | "mixed-content"));
        if self.filling.contains(id) && !is_cancelled && !is_meant {
            self.note(Unstorable::Failed);
        }
    }

    /// A message arrived by a socket or a stream of events.
    pub(super) fn message(&mut self) {
        self.note(Unstorable::Message);
    }

    /// There is another worker.
    pub(super) fn worker_made(&mut self, target: String) {
        self.workers.insert(target);
    }

    /// The requests of a worker are seen, from its first.
    pub(super) fn worker_seen(&mut self, target: String) {
        if self.seen_workers.len() < OPEN_MAX {
            self.seen_workers.insert(target);
        }
    }

    /// A worker has ended.
    pub(super) fn worker_ended(&mut self, target: &str) {
        let (was_there, was_seen) = (
            self.workers.remove(target),
            self.seen_workers.remove(target),
        );
        if was_there && !was_seen {
            self.note(Unstorable::Unseen);
        }
    }

    /// Why the page may not be stored; `None` if nothing that went into it speaks against it.
    pub(super) fn unstorable(&self) -> Option<Unstorable> {
        let mut unseen = self.workers.difference(&self.seen_workers);
        let is_unseen = unseen.next().is_some() || !self.has_all_headers();
        self.unstorable.or(is_unseen.then_some(Unstorable::Unseen))
    }

    fn note(&mut self, reason: Unstorable) {
        self.unstorable.get_or_insert(reason);
    }
}

/// What the headers of an answer say against keeping it.
fn said_by(headers: &Map<String, Value>) -> Option<Unstorable> {
    headers.iter().find_map(|(name, value)| {
        let value = value.as_str().unwrap_or_default();
        match name.to_ascii_lowercase().as_str() {
            "set-cookie" => Some(Unstorable::SetsCookie),
            // The protocol joins repeated headers with line feeds.
            "www-authenticate" => {
                let mut lines = value.lines().map(str::as_bytes);
                let authenticates = lines.any(authenticates_connection);
                authenticates.then_some(Unstorable::ConnectionAuth)
            }
            "cache-control" | "pragma" => is_private(value).then_some(Unstorable::Private),
            "vary" => names_everything(value).then_some(Unstorable::Private),
            _ => None,
        }
    })
}

/// Whether a value of `Vary` has a `*`: what makes the answer differ is not in its request. RFC
/// 9110 section 12.5.5.
fn names_everything(value: &str) -> bool {
    // The protocol joins repeated headers with line feeds.
    value.split([',', '\n']).any(|name| name.trim() == "*")
}

/// Whether a value of `Cache-Control` keeps an answer from shared caches. The words count however
/// they are separated: sites that write `private; max-age=0` mean it.
fn is_private(value: &str) -> bool {
    let words = value.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
    let mut words = words.filter(|word| !word.is_empty());
    words.any(|word| word.eq_ignore_ascii_case("private") || word.eq_ignore_ascii_case("no-store"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn after(events: impl FnOnce(&mut Exchanges)) -> Option<Unstorable> {
        let mut exchanges = Exchanges::default();
        exchanges.sent("document", "Document", false);
        exchanges.sent("data", "Fetch", false);
        exchanges.sent("picture", "Image", false);
        exchanges.sent("icon", "Other", false);
        exchanges.sent("import", "Other", true);
        events(&mut exchanges);
        exchanges.unstorable()
    }

    fn headers(name: &str, value: &str) -> Map<String, Value> {
        Map::from_iter([(name.to_owned(), json!(value))])
    }

    #[test]
    fn a_page_is_as_storable_as_its_least_storable_part() {
        let fine = headers("Cache-Control", "max-age=0, must-revalidate");
        assert_eq!(after(|it| it.answered("data", 200, &fine, false)), None);
        let failed = after(|it| it.answered("data", 503, &fine, false));
        assert_eq!(failed, Some(Unstorable::Failed));
        let cookie = after(|it| it.headers("data", &headers("Set-Cookie", "a=b")));
        assert_eq!(cookie, Some(Unstorable::SetsCookie));
        let failed = after(|it| it.answered("import", 404, &fine, false));
        assert_eq!(failed, Some(Unstorable::Failed));
        for blocked in [None, Some("other"), Some("integrity")] {
            let failed = after(|it| it.failed("data", false, blocked));
            assert_eq!(failed, Some(Unstorable::Failed), "{blocked:?}");
        }
        assert_eq!(after(|it| it.failed("data", true, None)), None);
    }

    #[test]
    fn connections_that_are_authenticated_are_not_for_others() {
        for (value, is_noted) in [
            ("Negotiate", true),
            ("Basic realm=\"a\"\nNTLM", true),
            ("Basic realm=\"a\", negotiate YII=", true),
            ("Basic realm=\"a\"", false),
            ("Bearer realm=\"NTLM\"", false),
        ] {
            let challenge = headers("WWW-Authenticate", value);
            let noted = is_noted.then_some(Unstorable::ConnectionAuth);
            for id in ["document", "data"] {
                let answered = after(|it| it.answered(id, 200, &challenge, false));
                assert_eq!(answered, noted, "{id}: {value}");
                let raw = after(|it| it.headers(id, &challenge));
                assert_eq!(raw, noted, "{id}: {value}");
            }
        }
    }

    #[test]
    fn answers_that_vary_with_everything_are_not_for_others() {
        for (value, is_noted) in [
            ("*", true),
            ("Accept, *", true),
            ("Accept\n*", true),
            ("Accept, Accept-Encoding", false),
            ("Accept-*", false),
        ] {
            let vary = headers("Vary", value);
            let noted = is_noted.then_some(Unstorable::Private);
            for id in ["document", "data"] {
                let answered = after(|it| it.answered(id, 200, &vary, false));
                assert_eq!(answered, noted, "{id}: {value}");
            }
        }
    }

    #[test]
    fn headers_may_come_before_and_after_the_rest_and_are_waited_for() {
        let fine = headers("Cache-Control", "max-age=0");
        let cookie = headers("Set-Cookie", "a=b");
        let untold = after(|it| it.answered("data", 200, &fine, true));
        assert_eq!(untold, Some(Unstorable::Unseen));
        let told = after(|it| {
            it.answered("data", 200, &fine, true);
            it.headers("data", &fine);
        });
        assert_eq!(told, None);
        for kind in ["Fetch", "Image"] {
            let early = |more: &Map<String, Value>| {
                after(|it| {
                    it.headers("early", more);
                    it.sent("early", kind, false);
                    it.answered("early", 200, &fine, true);
                })
            };
            assert_eq!(early(&fine), None, "{kind}");
            let noted = (kind == "Fetch").then_some(Unstorable::SetsCookie);
            assert_eq!(early(&cookie), noted, "{kind}");
        }
        let redirected = after(|it| {
            it.headers("data", &fine);
            it.answered("data", 302, &fine, true);
            it.sent("data", "Fetch", false);
            it.answered("data", 200, &fine, true);
        });
        assert_eq!(redirected, Some(Unstorable::Unseen));
    }

    #[test]
    fn what_was_blocked_is_no_failure() {
        for blocked in ["inspector", "csp", "mixed-content"] {
            assert_eq!(after(|it| it.failed("data", false, Some(blocked))), None);
        }
    }

    #[test]
    fn messages_and_unseen_workers_are_not_for_others() {
        assert_eq!(after(Exchanges::message), Some(Unstorable::Message));
        let made = |it: &mut Exchanges| it.worker_made("w".to_owned());
        assert_eq!(after(made), Some(Unstorable::Unseen));
        let seen = |it: &mut Exchanges| {
            it.worker_seen("w".to_owned());
            made(it);
        };
        assert_eq!(after(seen), None);
        let ended = |it: &mut Exchanges| {
            seen(it);
            it.worker_ended("w");
        };
        assert_eq!(after(ended), None);
        let never_begun = |it: &mut Exchanges| {
            made(it);
            it.worker_ended("w");
        };
        assert_eq!(after(never_begun), Some(Unstorable::Unseen));
    }

    #[test]
    fn pictures_do_not_count() {
        let cookie = headers("Set-Cookie", "a=b");
        assert_eq!(
            after(|it| it.answered("picture", 404, &cookie, false)),
            None
        );
        assert_eq!(after(|it| it.failed("picture", false, None)), None);
        assert_eq!(after(|it| it.answered("icon", 404, &cookie, false)), None);
    }

    #[test]
    fn private_answers_are_meant_however_they_are_written() {
        for value in [
            "private",
            "No-Store",
            "private; max-age=0",
            "no-cache no-store",
            "\"no-store\"",
            "no-store;",
            "private=\"set-cookie\"",
        ] {
            assert!(is_private(value), "{value}");
        }
        for value in ["public", "max-age=0", "no-cache", "x-private-thing", ""] {
            assert!(!is_private(value), "{value}");
        }
    }
}
