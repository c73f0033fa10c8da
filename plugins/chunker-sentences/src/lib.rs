//! The chunker `sentences`: pieces of a number of sentences. Sentences are those of Unicode (UAX #29).

use std::num::NonZeroU32;

use trawl_sdk::{Chunker, Failure, Info, Span};
use unicode_segmentation::UnicodeSegmentation;

/// Splits a text after every so many sentences. The pieces together are the text.
pub struct Sentences;

/// Options of [`Sentences`].
#[derive(Debug, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Number of sentences in a piece.
    value: NonZeroU32,
}

impl Default for Options {
    fn default() -> Self {
        Self { value: DEFAULT }
    }
}

const DEFAULT: NonZeroU32 = NonZeroU32::new(10).expect("not zero");

trawl_sdk::export!(chunker: Sentences);

impl Chunker for Sentences {
    type Options = Options;

    fn info() -> Info {
        Info::new(
            "sentences",
            env!("CARGO_PKG_VERSION"),
            "Pieces of a number of sentences",
        )
        .options_schema(
            r#"{
                "type": "object",
                "properties": {
                    "value": {"type": "integer", "minimum": 1, "maximum": 4294967295, "default": 10, "description": "Number of sentences in a piece"}
                },
                "additionalProperties": false
            }"#,
        )
    }

    fn chunk(text: &str, options: Options) -> Result<Vec<Span>, Failure> {
        let sentences = text.split_sentence_bound_indices();
        // Marks alone are no sentence: they stay with the one before.
        let starts = sentences
            .filter(|(_, sentence)| sentence.contains(char::is_alphanumeric))
            .map(|(start, _)| start);
        Ok(Span::group(text, starts, options.value))
    }
}

#[cfg(test)]
mod tests {
    use super::Sentences;
    use serde_json::json;
    use trawl_sdk::testkit;

    #[track_caller]
    fn check(text: &str, value: u32, expected: &[&str]) {
        let pieces = testkit::chunk::<Sentences>(text, json!({"value": value}));
        assert_eq!(pieces.as_deref(), Ok(expected), "{text:?}");
        assert_eq!(expected.concat(), text, "the pieces are the text");
    }

    #[test]
    fn a_piece_ends_before_the_sentence_that_is_too_many() {
        check("One. Two! Three?", 2, &["One. Two! ", "Three?"]);
        check("Pi is 3.14 here. Yes.", 1, &["Pi is 3.14 here. ", "Yes."]);
        check("A.\n\n***\n\nB.", 1, &["A.\n\n***\n\n", "B."]);
    }

    #[test]
    fn other_scripts_have_sentences_too() {
        check("一。二。", 1, &["一。", "二。"]);
    }

    #[test]
    fn nothing_gives_no_piece() {
        check("", 1, &[]);
    }

    #[test]
    fn a_size_of_zero_is_refused_by_name() {
        let failure = testkit::chunk::<Sentences>("a", json!({"value": 0}));
        assert!(failure.expect_err("zero").to_string().contains("`value`"));
    }
}
