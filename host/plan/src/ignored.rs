//! The parameters of a request that have no effect, as the response names them.

/// Most names of one request, and most bytes of one: the caller chooses the names.
const NAMES_MAX: usize = 64;
const NAME_BYTES_MAX: usize = 64;
/// Most bytes of the names together, and of the hints: both headers pass proxies with 8 KiB for all
/// headers of a response.
const LIST_BYTES_MAX: usize = 2_048;
/// The end of a name or list that is not complete.
const MORE: &str = "...";

/// Parameters that were sent and have no effect, for `X-Ignored-Parameters`, and which ones were
/// probably meant, for `X-Parameter-Hints`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ignored {
    names: Vec<String>,
    hints: Vec<String>,
}

impl Ignored {
    /// Adds the path of a parameter, unless it is listed already or the list is full.
    pub fn add(&mut self, path: impl AsRef<str>) {
        self.push(&shown(path.as_ref()));
    }

    /// Adds the path of an unknown parameter, and of the known one that is closest, which is looked
    /// for only if the path is listed.
    pub fn add_unknown<'a>(&mut self, path: &str, nearest: impl FnOnce() -> Option<&'a str>) {
        let path = shown(path);
        if !self.push(&path) {
            return;
        }
        if let Some(nearest) = nearest() {
            let hint = format!("{path}={nearest}");
            if has_room(&self.hints, &hint) {
                self.hints.push(hint);
            }
        }
    }

    /// Adds the parameters of another list.
    pub fn extend(&mut self, other: &Self) {
        for path in &other.names {
            if self.push(path) {
                let is_of = |hint: &&String| {
                    hint.split_once('=')
                        .is_some_and(|(name, _)| name == path.as_str())
                };
                let hint = other.hints.iter().find(is_of);
                self.hints
                    .extend(hint.filter(|hint| has_room(&self.hints, hint)).cloned());
            }
        }
    }

    /// The paths: `limit`, `webhooks.on_fnd`. Bytes that may not be in an item of a header are
    /// percent-encoded. The last item is `...` if there are more.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The unknown ones with the closest known one: `webhooks.on_fnd=webhooks.on_find`.
    pub fn hints(&self) -> &[String] {
        &self.hints
    }

    /// Whether the path was new and fits.
    fn push(&mut self, path: &str) -> bool {
        let is_cut = self.names.last().is_some_and(|last| last == MORE);
        if is_cut || self.names.iter().any(|known| known == path) {
            return false;
        }
        let fits = self.names.len() < NAMES_MAX && has_room(&self.names, path);
        self.names.push(if fits { path } else { MORE }.to_owned());
        fits
    }
}

/// Whether a header with these items has room for another one, and for [`MORE`] after it.
fn has_room(items: &[String], item: &str) -> bool {
    const SEPARATOR: usize = 2;
    let used = items.iter().map(|item| item.len() + SEPARATOR);
    used.sum::<usize>() + item.len() + SEPARATOR + MORE.len() <= LIST_BYTES_MAX
}

/// A path as an item of a header.
fn shown(path: &str) -> String {
    if path.is_empty() {
        return "\"\"".to_owned();
    }
    let mut shown = String::with_capacity(path.len().min(NAME_BYTES_MAX));
    // Where it may be cut.
    let mut end = 0;
    for byte in path.bytes() {
        if shown.len() + MORE.len() <= NAME_BYTES_MAX {
            end = shown.len();
        }
        if byte.is_ascii_graphic() && !b",%".contains(&byte) {
            shown.push(char::from(byte));
        } else {
            shown.push_str(&format!("%{byte:02X}"));
        }
        if shown.len() > NAME_BYTES_MAX {
            shown.truncate(end);
            shown.push_str(MORE);
            break;
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_listed_once_and_fit_a_header() {
        let mut ignored = Ignored::default();
        for name in ["limit", "cron", "cron", "a,b", "c\r\nd", "", "ü", "50%"] {
            ignored.add(name);
        }
        ignored.add_unknown("webhooks.on_fnd", || Some("webhooks.on_find"));
        ignored.add_unknown("cron", || Some("count"));
        ignored.add_unknown("return format", || Some("return_format"));
        let expected = [
            "limit",
            "cron",
            "a%2Cb",
            "c%0D%0Ad",
            "\"\"",
            "%C3%BC",
            "50%25",
            "webhooks.on_fnd",
            "return%20format",
        ];
        assert_eq!(ignored.names(), expected);
        let hints = [
            "webhooks.on_fnd=webhooks.on_find",
            "return%20format=return_format",
        ];
        assert_eq!(ignored.hints(), hints);
    }

    #[test]
    fn long_names_are_cut_between_characters() {
        let check = |path: &str, expected: &str| {
            assert_eq!(shown(path), expected);
        };
        check(&"x".repeat(64), &"x".repeat(64));
        check(&"x".repeat(65), &format!("{}...", "x".repeat(61)));
        check(&" ".repeat(1_000), &format!("{}...", "%20".repeat(20)));
        check(
            &format!("{} ", "x".repeat(63)),
            &format!("{}...", "x".repeat(61)),
        );
    }

    #[test]
    fn many_names_end_with_a_mark_and_stay_short() {
        for (name, n_names) in [("n", NAMES_MAX), ("n".repeat(60).as_str(), 32)] {
            let mut ignored = Ignored::default();
            for i in 0..10_000 {
                ignored.add_unknown(&format!("{name}{i}"), || Some("return_format"));
            }
            let names = ignored.names();
            assert_eq!(names.len(), n_names + 1);
            assert_eq!(names.last().map(String::as_str), Some(MORE));
            let marks = names.iter().filter(|name| *name == MORE);
            assert_eq!(marks.count(), 1);
            for list in [names, ignored.hints()] {
                assert!(list.join(", ").len() <= LIST_BYTES_MAX);
            }
        }
        let mut full = Ignored::default();
        (0..NAMES_MAX).for_each(|i| full.add(format!("n{i}")));
        full.add("n0");
        assert_eq!(full.names().len(), NAMES_MAX, "nothing is missing");
    }

    #[test]
    fn lists_are_joined_without_repeats() {
        let mut ignored = Ignored::default();
        ignored.add("a,b");
        ignored.add_unknown("webhooks.on_fnd", || Some("webhooks.on_find"));
        let mut all = Ignored::default();
        all.add("a,b");
        all.add("count");
        all.extend(&ignored);
        assert_eq!(all.names(), ["a%2Cb", "count", "webhooks.on_fnd"]);
        assert_eq!(all.hints(), ignored.hints());
    }
}
