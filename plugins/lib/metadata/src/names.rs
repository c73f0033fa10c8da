//! Hints in classes and ids.

/// A set of hints, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hints(u8);

impl Hints {
    /// Not the page's own text: comments, links to other pages.
    pub(crate) const OTHER: Self = Self(1);
    /// May be the name of an author.
    pub(crate) const AUTHOR: Self = Self(2);
    /// May be a date.
    pub(crate) const DATE: Self = Self(4);
    /// Relates to the first publication.
    pub(crate) const PUBLISHED: Self = Self(8);
    /// Relates to a modification.
    pub(crate) const CHANGED: Self = Self(16);

    /// The hints of the words in this text, ignoring case, in one pass.
    pub(crate) fn of(text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut hints = Self::default();
        for (at, byte) in bytes.iter().enumerate() {
            for (word, mark) in words_from(byte.to_ascii_lowercase()) {
                let found = bytes.get(at..at + word.len());
                if found.is_some_and(|found| found.eq_ignore_ascii_case(word.as_bytes())) {
                    hints = hints.with(*mark);
                }
            }
        }
        hints
    }

    pub(crate) const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) const fn has(self, mark: Self) -> bool {
        self.0 & mark.0 != 0
    }
}

const AUTHOR_DATE: Hints = Hints::AUTHOR.with(Hints::DATE);
const PUBLISHED_DATE: Hints = Hints::PUBLISHED.with(Hints::DATE);

/// The words that start with this letter.
const fn words_from(first: u8) -> &'static [(&'static str, Hints)] {
    match first {
        b'a' => &[("author", Hints::AUTHOR)],
        b'b' => &[("byline", AUTHOR_DATE), ("by-line", Hints::AUTHOR)],
        b'c' => &[("comment", Hints::OTHER), ("contributor", Hints::AUTHOR)],
        b'd' => &[("date", Hints::DATE)],
        b'e' => &[("entry-date", PUBLISHED_DATE), ("entry-meta", Hints::DATE)],
        b'l' => &[("lastmod", Hints::CHANGED)],
        b'm' => &[("modified", Hints::CHANGED)],
        b'n' => &[("nickname", Hints::AUTHOR)],
        b'p' => &[
            ("publish", PUBLISHED_DATE),
            ("posted", PUBLISHED_DATE),
            ("post-date", PUBLISHED_DATE),
            ("post-meta", Hints::DATE),
            ("poster", Hints::AUTHOR),
            ("popular", Hints::OTHER),
        ],
        b'r' => &[
            ("related", Hints::OTHER),
            ("recommend", Hints::OTHER),
            ("recent", Hints::OTHER),
            ("read-more", Hints::OTHER),
        ],
        b's' => &[("sidebar", Hints::OTHER)],
        b't' => &[
            ("time", Hints::DATE),
            ("trending", Hints::OTHER),
            ("teaser", Hints::OTHER),
        ],
        b'u' => &[
            ("updated", Hints::CHANGED),
            ("username", Hints::AUTHOR),
            ("user-name", Hints::AUTHOR),
        ],
        b'w' => &[("writer", Hints::AUTHOR)],
        _ => &[],
    }
}

/// Classes of an author's name, most reliable first.
const AUTHOR_CLASSES: [&str; 12] = [
    "author-name",
    "author_name",
    "authorname",
    "byline",
    "by-line",
    "author",
    "writer",
    "contributor",
    "username",
    "user-name",
    "poster",
    "nickname",
];

/// How reliably an element of these classes is the name of an author, 0 being the most reliable.
/// Classes may have a prefix or suffix of the site: `post__author`, `author-1x2y`.
pub(crate) fn author_rank(classes: &str) -> Option<usize> {
    let classes = classes.to_ascii_lowercase();
    AUTHOR_CLASSES
        .iter()
        .position(|known| is_class(&classes, known))
}

fn is_class(classes: &str, known: &str) -> bool {
    let is_edge = |c: Option<char>| c.is_none_or(|c| !c.is_ascii_alphanumeric());
    classes.match_indices(known).any(|(at, _)| {
        let (before, after) = (&classes[..at], &classes[at + known.len()..]);
        is_edge(before.chars().next_back()) && is_edge(after.chars().next())
    })
}

#[cfg(test)]
mod tests {
    use super::{Hints, author_rank};

    #[test]
    fn words_in_names_say_what_an_element_is() {
        let hints = Hints::of("Post-Comments x_DatePublished");
        assert!(hints.has(Hints::OTHER) && hints.has(Hints::DATE) && hints.has(Hints::PUBLISHED));
        assert!(!hints.has(Hints::AUTHOR) && !hints.has(Hints::CHANGED));
        assert_eq!(Hints::of("content"), Hints::default());
    }

    #[test]
    fn the_surest_class_of_an_author_counts() {
        assert_eq!(author_rank("meta post__author-name x"), Some(0));
        assert_eq!(author_rank("Author-1x2y"), Some(5));
        assert_eq!(author_rank("authority"), None);
    }
}
