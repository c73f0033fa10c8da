//! Fixed texts that sources are searched for. Their search is prepared once for the whole server.

use aho_corasick::{AhoCorasick, MatchKind};

/// Texts that a source is searched for in one pass.
pub(super) struct Marks(AhoCorasick);

impl Marks {
    /// Texts that count letter by letter.
    pub(super) fn new(texts: impl IntoIterator<Item = &'static str>) -> Self {
        Self::of(texts, false)
    }

    /// Texts that count whatever their case.
    pub(super) fn of_any_case(texts: impl IntoIterator<Item = &'static str>) -> Self {
        Self::of(texts, true)
    }

    fn of(texts: impl IntoIterator<Item = &'static str>, of_any_case: bool) -> Self {
        let search = AhoCorasick::builder()
            // The standard kind has no vectorised search for several texts.
            .match_kind(MatchKind::LeftmostFirst)
            .ascii_case_insensitive(of_any_case)
            .build(texts);
        Self(search.expect("marks are few and short"))
    }

    /// Whether one of them is in the source.
    pub(super) fn are_in(&self, source: &[u8]) -> bool {
        self.0.is_match(source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_found_wherever_they_are() {
        let marks = Marks::new(["captcha", "_pxAppId", "KPSDK"]);
        let filler = "<p class=\"a\">The harbour was quiet. </p>".repeat(40);
        for (mark, is_one) in [
            ("captcha", true),
            ("KPSDK", true),
            ("kpsdk", false),
            ("_pxAppI", false),
            ("", false),
        ] {
            for source in [
                mark.to_owned(),
                format!("{mark}{filler}"),
                format!("{filler}{mark}"),
                format!("{filler}{mark}{filler}"),
            ] {
                assert_eq!(marks.are_in(source.as_bytes()), is_one, "{mark}");
            }
        }
        assert!(Marks::of_any_case(["spinner"]).are_in(b"My-SpInnEr"));
    }
}
