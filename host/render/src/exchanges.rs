//! What the requests of a page say about keeping it: a rendered page is what its document, scripts,
//! frames and data were made into, so all of them decide whether another caller may get it.

use std::collections::HashSet;

use serde_json::{Map, Value};

/// Requests of a page whose kinds are remembered until their headers are known; those beyond it
/// make a page that is not stored.
const OPEN_MAX: usize = 10_000;

/// Why a page may not be stored for other callers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unstorable {
    /// A part of it failed, or was answered with an error: another time it may be whole.
    Failed,
    /// A part of it is `no-store` or `private`.
    Private,
    /// An answer set a cookie.
    SetsCookie,
    /// It was read before it was complete.
    Incomplete,
}

/// The record of all exchanges of a page.
#[derive(Debug, Default)]
pub(super) struct Exchanges {
    /// The requests that may fill the page.
    filling: HashSet<String>,
    unstorable: Option<Unstorable>,
}

/// Whether what is requested may fill the page with text: the document and its frames, scripts,
/// style sheets and data. The names are those of the protocol's `Network.ResourceType`.
pub(super) fn fills(kind: &str) -> bool {
    matches!(kind, "Document" | "Script" | "Stylesheet" | "XHR" | "Fetch")
}

impl Exchanges {
    /// A request was sent; a redirect sends it again.
    pub(super) fn sent(&mut self, id: &str, kind: &str) {
        if !fills(kind) {
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
            let is_control =
                name.eq_ignore_ascii_case("cache-control") || name.eq_ignore_ascii_case("pragma");
            if is_control && value.as_str().is_some_and(is_private) {
                self.note(Unstorable::Private);
            }
        }
    }

    /// A request failed without a whole answer. What the page itself took back is no failure.
    pub(super) fn failed(&mut self, id: &str, is_cancelled: bool) {
        if self.filling.contains(id) && !is_cancelled {
            self.note(Unstorable::Failed);
        }
    }

    /// Why the page may not be stored; `None` if nothing that went into it speaks against it.
    pub(super) fn unstorable(&self) -> Option<Unstorable> {
        self.unstorable
    }

    fn note(&mut self, reason: Unstorable) {
        self.unstorable.get_or_insert(reason);
    }
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
        exchanges.sent("document", "Document");
        exchanges.sent("data", "Fetch");
        exchanges.sent("picture", "Image");
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
        assert_eq!(
            after(|it| it.failed("data", false)),
            Some(Unstorable::Failed)
        );
        assert_eq!(after(|it| it.failed("data", true)), None);
    }

    #[test]
    fn pictures_do_not_count() {
        let cookie = headers("Set-Cookie", "a=b");
        assert_eq!(after(|it| it.answered("picture", 404, &cookie)), None);
        assert_eq!(after(|it| it.failed("picture", false)), None);
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
