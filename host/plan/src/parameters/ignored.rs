//! The parameters of a request that have no effect, as the response names them.

/// Most names of one request, and most bytes of one: the caller chooses the names.
const NAMES_MAX: usize = 64;
const NAME_BYTES_MAX: usize = 64;

/// Parameters that were sent and have no effect, for `X-Ignored-Parameters`, and which ones were
/// probably meant, for `X-Parameter-Hints`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ignored {
    names: Vec<String>,
    hints: Vec<String>,
}

impl Ignored {
    /// Adds the path of a parameter, unless it is listed already, cannot be part of a header's
    /// value, or the list is full.
    pub fn add(&mut self, path: impl AsRef<str>) {
        self.push(path.as_ref());
    }

    /// Adds the path of an unknown parameter, and of the known one that is closest, which is looked
    /// for only if the path is listed.
    pub fn add_unknown<'a>(&mut self, path: &str, nearest: impl FnOnce() -> Option<&'a str>) {
        if self.push(path)
            && let Some(nearest) = nearest()
        {
            self.hints.push(format!("{path}={nearest}"));
        }
    }

    /// Adds those of another list.
    pub fn extend(&mut self, other: &Self) {
        for path in &other.names {
            let mut hints = other.hints.iter().filter_map(|hint| hint.split_once('='));
            let hint = hints.find(|(of, _)| *of == path.as_str());
            self.add_unknown(path, || hint.map(|(_, nearest)| nearest));
        }
    }

    /// The paths: `limit`, `webhooks.on_fnd`.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The unknown ones with the closest known one: `webhooks.on_fnd=webhooks.on_find`.
    pub fn hints(&self) -> &[String] {
        &self.hints
    }

    /// Whether the path was new and fits.
    fn push(&mut self, path: &str) -> bool {
        let is_printable = |byte: u8| byte.is_ascii_graphic() && byte != b',';
        let fits =
            !path.is_empty() && path.len() <= NAME_BYTES_MAX && path.bytes().all(is_printable);
        let is_known = || self.names.iter().any(|known| known == path);
        let is_new = fits && self.names.len() < NAMES_MAX && !is_known();
        if is_new {
            self.names.push(path.to_owned());
        }
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_listed_once_and_fit_a_header() {
        let mut ignored = Ignored::default();
        for name in ["limit", "cron", "cron", "a,b", "c\r\nd", "", "ü"] {
            ignored.add(name);
        }
        ignored.add("x".repeat(65));
        ignored.add_unknown("webhooks.on_fnd", || Some("webhooks.on_find"));
        ignored.add_unknown("cron", || Some("count"));
        assert_eq!(ignored.names(), ["limit", "cron", "webhooks.on_fnd"]);
        assert_eq!(ignored.hints(), ["webhooks.on_fnd=webhooks.on_find"]);
        let mut all = Ignored::default();
        all.add("count");
        all.extend(&ignored);
        assert_eq!(all.names(), ["count", "limit", "cron", "webhooks.on_fnd"]);
        assert_eq!(all.hints(), ignored.hints());
        (0..1_000).for_each(|i| ignored.add(format!("n{i}")));
        assert_eq!(ignored.names().len(), NAMES_MAX);
    }
}
