//! The chunker `lines`: pieces of a number of lines. A line ends with its line feed.

use std::num::NonZeroU32;

use trawl_sdk::{Chunker, Failure, Info, Span};

/// Splits a text after every so many lines. The pieces together are the text.
pub struct Lines;

/// Options of [`Lines`].
#[derive(Debug, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Number of lines in a piece.
    value: NonZeroU32,
}

impl Default for Options {
    fn default() -> Self {
        Self { value: DEFAULT }
    }
}

const DEFAULT: NonZeroU32 = NonZeroU32::new(40).expect("not zero");

trawl_sdk::export!(chunker: Lines);

impl Chunker for Lines {
    type Options = Options;

    fn info() -> Info {
        Info::new(
            "lines",
            env!("CARGO_PKG_VERSION"),
            "Pieces of a number of lines",
        )
        .options_schema(
            r#"{
                "type": "object",
                "properties": {
                    "value": {"type": "integer", "minimum": 1, "maximum": 4294967295, "default": 40, "description": "Number of lines in a piece"}
                },
                "additionalProperties": false
            }"#,
        )
    }

    fn chunk(text: &str, options: Options) -> Result<Vec<Span>, Failure> {
        let lines = text.split_inclusive('\n');
        let starts = lines.scan(0, |next, line| {
            let start = *next;
            *next += line.len();
            Some(start)
        });
        Ok(Span::group(text, starts, options.value))
    }
}

#[cfg(test)]
mod tests {
    use super::Lines;
    use serde_json::json;
    use trawl_sdk::testkit;

    #[track_caller]
    fn check(text: &str, value: u32, expected: &[&str]) {
        let pieces = testkit::chunk::<Lines>(text, json!({"value": value}));
        assert_eq!(pieces.as_deref(), Ok(expected), "{text:?}");
        assert_eq!(expected.concat(), text, "the pieces are the text");
    }

    #[test]
    fn a_piece_ends_after_its_last_line() {
        check("a\nb\r\nc", 2, &["a\nb\r\n", "c"]);
        check("\n\n\n", 2, &["\n\n", "\n"]);
        check("é\n", 1, &["é\n"]);
    }

    #[test]
    fn nothing_gives_no_piece() {
        check("", 1, &[]);
    }

    #[test]
    fn a_size_of_zero_is_refused_by_name() {
        let failure = testkit::chunk::<Lines>("a", json!({"value": 0}));
        assert!(failure.expect_err("zero").to_string().contains("`value`"));
    }
}
