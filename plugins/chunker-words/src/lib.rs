//! The chunker `words`: pieces of a number of words. Words are those of Unicode (UAX #29), so that text without spaces has them too.

use std::num::NonZeroU32;

use trawl_sdk::{Chunker, Failure, Info, Span};
use unicode_segmentation::UnicodeSegmentation;

/// Splits a text after every so many words. The pieces together are the text.
pub struct Words;

/// Options of [`Words`].
#[derive(Debug, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Number of words in a piece.
    value: NonZeroU32,
}

impl Default for Options {
    fn default() -> Self {
        Self { value: DEFAULT }
    }
}

const DEFAULT: NonZeroU32 = NonZeroU32::new(200).expect("not zero");

trawl_sdk::export!(chunker: Words);

impl Chunker for Words {
    type Options = Options;

    fn info() -> Info {
        Info::new(
            "words",
            env!("CARGO_PKG_VERSION"),
            "Pieces of a number of words",
        )
        .options_schema(
            r#"{
                "type": "object",
                "properties": {
                    "value": {"type": "integer", "minimum": 1, "maximum": 4294967295, "default": 200, "description": "Number of words in a piece"}
                },
                "additionalProperties": false
            }"#,
        )
    }

    fn chunk(text: &str, options: Options) -> Result<Vec<Span>, Failure> {
        let starts = text.unicode_word_indices().map(|(start, _)| start);
        Ok(Span::group(text, starts, options.value))
    }
}

#[cfg(test)]
mod tests {
    use super::Words;
    use serde_json::json;
    use trawl_sdk::testkit;

    #[track_caller]
    fn check(text: &str, value: u32, expected: &[&str]) {
        let pieces = testkit::chunk::<Words>(text, json!({"value": value}));
        assert_eq!(pieces.as_deref(), Ok(expected), "{text:?}");
        assert_eq!(expected.concat(), text, "the pieces are the text");
    }

    #[test]
    fn a_piece_ends_before_the_word_that_is_too_many() {
        check("  One, two. Three!\n", 2, &["  One, two. ", "Three!\n"]);
        check("can't stop", 1, &["can't ", "stop"]);
        check("a b", 5, &["a b"]);
    }

    #[test]
    fn characters_are_never_cut() {
        check("日本 e\u{301}é", 1, &["日", "本 ", "e\u{301}é"]);
        check("…—", 1, &["…—"]);
    }

    #[test]
    fn nothing_gives_no_piece() {
        check("", 1, &[]);
    }

    #[test]
    fn a_size_of_zero_is_refused_by_name() {
        let failure = testkit::chunk::<Words>("a", json!({"value": 0}));
        assert!(failure.expect_err("zero").to_string().contains("`value`"));
    }
}
