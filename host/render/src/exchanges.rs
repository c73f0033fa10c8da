//! What the requests of a page say about keeping it: a rendered page is what its document, scripts,
//! frames, workers and data were made into, so all of them decide whether another caller may get
//! it.

use std::collections::HashSet;

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
    /// It had a worker whose requests were not seen.
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
        if !fills(kind, in_worker) {
            return;
        }
        if self.filling.len() >= OPEN_MAX {
            self.note(Unstorable::Incomplete);
            return;
        }
        self.filling.insert(id.to_owned());
    }

    /// An answer arrived, a redirect's or the last one.
    pub(super) fn answered(&mut self, id: &str, status: i64, headers: &Map<String, Value>) {
        if !self.filling.contains(id) {
            return;
        }
        if status >= 400 {
            self.note(Unstorable::Failed);
        }
        self.headers(id, headers);
    }

    /// The headers of an answer as they came: those that the browser hides from pages, too.
    pub(super) fn headers(&mut self, id: &str, headers: &Map<String, Value>) {
        if !self.filling.contains(id) {
            return;
        }
        for (name, value) in headers {
            if name.eq_ignore_ascii_case("set-cookie") {
                self.note(Unstorable::SetsCookie);
            }
            let is_challenge = name.eq_ignore_ascii_case("www-authenticate");
            // The protocol joins repeated headers with line feeds.
            if is_challenge
                && let Some(value) = value.as_str()
                && value
                    .lines()
                    .any(|line| authenticates_connection(line.as_bytes()))
            {
                self.note(Unstorable::ConnectionAuth);
            }
            let is_control =
                name.eq_ignore_ascii_case("cache-control") || name.eq_ignore_ascii_case("pragma");
            let varies = name.eq_ignore_ascii_case("vary");
            let value = value.as_str().unwrap_or_default();
            if is_control && is_private(value) || varies && names_everything(value) {
                self.note(Unstorable::Private);
            }
        }
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
        let unseen = unseen.next().map(|_| Unstorable::Unseen);
        self.unstorable.or(unseen)
    }

    fn note(&mut self, reason: Unstorable) {
        self.unstorable.get_or_insert(reason);
    }
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
        assert_eq!(after(|it| it.answered("data", 200, &fine)), None);
        let failed = after(|it| it.answered("data", 503, &fine));
        assert_eq!(failed, Some(Unstorable::Failed));
        let cookie = after(|it| it.headers("data", &headers("Set-Cookie", "a=b")));
        assert_eq!(cookie, Some(Unstorable::SetsCookie));
        let failed = after(|it| it.answered("import", 404, &fine));
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
                let answered = after(|it| it.answered(id, 200, &challenge));
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
                let answered = after(|it| it.answered(id, 200, &vary));
                assert_eq!(answered, noted, "{id}: {value}");
            }
        }
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
        assert_eq!(after(|it| it.answered("picture", 404, &cookie)), None);
        assert_eq!(after(|it| it.failed("picture", false, None)), None);
        assert_eq!(after(|it| it.answered("icon", 404, &cookie)), None);
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
