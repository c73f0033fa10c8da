//! `prefer`: which URLs of a crawl are fetched first. Decision D421.

use super::PlanError;

/// Most paths and words. Each is compared with every URL that is found.
const PREFERRED_MAX: usize = 32;
/// Most bytes of one entry.
const ENTRY_BYTES_MAX: usize = 200;

/// The entries of `prefer`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prefer {
    /// Beginnings of paths, lower case, each cut at its `*`.
    paths: Vec<Vec<String>>,
    /// Words of the texts of links, lower case.
    pub words: Vec<String>,
}

impl Prefer {
    /// The entries as they were sent: with a slash at the beginning a path, otherwise words.
    ///
    /// # Errors
    /// There are too many, one is too long, or one has a slash elsewhere.
    pub fn read(entries: &[String]) -> Result<Self, PlanError> {
        let refuse = |reason: String| Err(PlanError::new("prefer", reason));
        let mut prefer = Self::default();
        for entry in entries {
            let entry = entry.trim().to_lowercase();
            if entry.len() > ENTRY_BYTES_MAX {
                return refuse(format!("an entry is longer than {ENTRY_BYTES_MAX} bytes"));
            }
            if entry.starts_with('/') {
                let parts = entry.split('*').map(str::to_owned);
                prefer.paths.push(parts.collect());
            } else if entry.contains('/') {
                return refuse("an entry with a slash is a path, so begin it with one".to_owned());
            } else {
                let words = entry.split(|character: char| !character.is_alphanumeric());
                let words = words.filter(|word| !word.is_empty());
                prefer.words.extend(words.map(str::to_owned));
            }
            if prefer.paths.len() + prefer.words.len() > PREFERRED_MAX {
                return refuse(format!("has more than {PREFERRED_MAX} paths and words"));
            }
        }
        Ok(prefer)
    }

    /// Whether no URL is preferred.
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty() && self.words.is_empty()
    }

    /// How many paths a path with its query does not begin with.
    pub fn paths_missed(&self, path: &str) -> usize {
        if self.paths.is_empty() {
            return 0;
        }
        let path = path.to_lowercase();
        let missed = self.paths.iter().filter(|parts| !begins(&path, parts));
        missed.count()
    }
}

/// Whether a path begins with a pattern: the text before its first `*`, then the others anywhere
/// after it, in their order.
fn begins(path: &str, parts: &[String]) -> bool {
    let mut parts = parts.iter();
    let first = parts
        .next()
        .and_then(|first| path.strip_prefix(first.as_str()));
    let Some(mut rest) = first else {
        return false;
    };
    parts.all(|part| match rest.find(part.as_str()) {
        Some(at) => {
            rest = &rest[at + part.len()..];
            true
        }
        None => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(entries: &[&str]) -> Result<Prefer, String> {
        let entries: Vec<String> = entries.iter().map(|&entry| entry.to_owned()).collect();
        Prefer::read(&entries).map_err(|error| error.to_string())
    }

    #[test]
    fn paths_are_beginnings_with_gaps() {
        let missed =
            |pattern: &str, path: &str| read(&[pattern]).expect("a pattern").paths_missed(path);
        for (pattern, path, expected) in [
            ("/docs", "/Docs/install", 0),
            ("/docs", "/blog/docs", 1),
            ("/docs/*/install", "/docs/v1/install?x", 0),
            ("/docs/*/install", "/docs/install", 1),
            ("/*/a*b", "/x/a/y/b", 0),
            ("/*/b*a", "/x/a/y/b", 1),
        ] {
            assert_eq!(missed(pattern, path), expected, "{pattern} {path}");
        }
        let both = read(&["/docs", "/docs/install", "guide"]).expect("entries");
        assert_eq!(both.paths_missed("/docs/x"), 1);
        assert_eq!(both.words, ["guide"]);
    }

    #[test]
    fn what_is_neither_path_nor_word_is_refused() {
        let error = read(&["docs/install"]).expect_err("refused");
        assert!(error.starts_with("prefer: "), "{error}");
        assert!(read(&["a"; PREFERRED_MAX]).is_ok());
        assert!(read(&["a"; PREFERRED_MAX + 1]).is_err());
        assert!(read(&[&"a".repeat(ENTRY_BYTES_MAX + 1)]).is_err());
        assert!(read(&["", "?"]).expect("nothing").is_empty());
        let words = read(&["Getting started", " FAQ "]).expect("words").words;
        assert_eq!(words, ["getting", "started", "faq"]);
    }
}
