//! The chunker `characters`: pieces of a number of characters. A character is what a reader takes for one (a grapheme cluster of UAX #29): accents and joined emoji are never torn.

use std::num::NonZeroU32;

use trawl_sdk::{Chunker, Failure, Info, Span};
use unicode_segmentation::UnicodeSegmentation;

/// Splits a text after every so many characters. The pieces together are the text.
pub struct Characters;

/// Options of [`Characters`].
#[derive(Debug, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Number of characters in a piece.
    value: NonZeroU32,
}

impl Default for Options {
    fn default() -> Self {
        Self { value: DEFAULT }
    }
}

const DEFAULT: NonZeroU32 = NonZeroU32::new(1000).expect("not zero");

trawl_sdk::export!(chunker: Characters);

impl Chunker for Characters {
    type Options = Options;

    fn info() -> Info {
        Info::new(
            "characters",
            env!("CARGO_PKG_VERSION"),
            "Pieces of a number of characters",
        )
        .options_schema(
            r#"{
                "type": "object",
                "properties": {
                    "value": {"type": "integer", "minimum": 1, "maximum": 4294967295, "default": 1000, "description": "Number of characters in a piece"}
                },
                "additionalProperties": false
            }"#,
        )
    }

    fn chunk(text: &str, options: Options) -> Result<Vec<Span>, Failure> {
        let starts = text.grapheme_indices(true).map(|(start, _)| start);
        Ok(Span::group(text, starts, options.value))
    }
}

#[cfg(test)]
mod tests {
    use super::Characters;
    use serde_json::json;
    use trawl_sdk::testkit;

    #[track_caller]
    fn check(text: &str, value: u32, expected: &[&str]) {
        let pieces = testkit::chunk::<Characters>(text, json!({"value": value}));
        assert_eq!(pieces.as_deref(), Ok(expected), "{text:?}");
        assert_eq!(expected.concat(), text, "the pieces are the text");
    }

    #[test]
    fn a_piece_ends_after_its_last_character() {
        check("abcde", 2, &["ab", "cd", "e"]);
        check("日本語", 2, &["日本", "語"]);
    }

    #[test]
    fn what_a_reader_takes_for_one_is_not_torn() {
        check("e\u{301}👩‍👧x", 1, &["e\u{301}", "👩‍👧", "x"]);
        check("a\r\nb", 1, &["a", "\r\n", "b"]);
    }

    #[test]
    fn nothing_gives_no_piece() {
        check("", 1, &[]);
    }

    #[test]
    fn a_size_of_zero_is_refused_by_name() {
        let failure = testkit::chunk::<Characters>("a", json!({"value": 0}));
        assert!(failure.expect_err("zero").to_string().contains("`value`"));
    }
}
