//! The `tokens` chunker: pieces of at most a number of tokens of a language model.
//!
//! Tokens are those of a model's vocabulary. With the option `encoding` they are those of a
//! published tokenizer, which the module `vocabulary` has; without it their number is an estimate,
//! which the module `estimate` describes. A piece ends at the best boundary in its last quarter, as
//! a piece of the `characters` chunker does. Decisions D31 and D32.

mod estimate;
#[path = "../../chunker-characters/src/graphemes.rs"]
mod graphemes;
mod split;
mod starts;
mod vocabulary;

use std::num::NonZeroU32;

use estimate::Starts;
use graphemes::Graphemes;
use serde::Deserialize;
use trawl_sdk::{Chunker, Failure, Info, Span};
use vocabulary::Encoding;

/// Splits a text into pieces of at most so many tokens. Concatenated, the pieces are the text.
pub struct Tokens;

/// Options: the size of a piece, and whose tokens are counted.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Maximum number of tokens in a piece.
    pub value: NonZeroU32,
    /// The tokenizer; `None` for an estimate.
    pub encoding: Option<Encoding>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            value: NonZeroU32::new(500).expect("a piece has tokens"),
            encoding: None,
        }
    }
}

const OPTIONS_SCHEMA: &str = r#"{"type": "object", "properties": {
    "value": {"type": "integer", "minimum": 1, "maximum": 4294967295, "default": 500,
        "description": "Maximum number of tokens in a piece"},
    "encoding": {"type": ["string", "null"], "enum": ["o200k_base", "cl100k_base", null], "default": null,
        "description": "Tokenizer whose tokens are counted; without it their number is an estimate"}
}, "additionalProperties": false}"#;

trawl_sdk::export!(chunker: Tokens);

impl Chunker for Tokens {
    type Options = Options;

    fn info() -> Info {
        Info::new(
            "tokens",
            env!("CARGO_PKG_VERSION"),
            "Pieces of at most a number of tokens, which are estimated or those of a tokenizer",
        )
        .options_schema(OPTIONS_SCHEMA)
    }

    fn chunk(text: &str, options: Options) -> Result<Vec<Span>, Failure> {
        let size = options.value;
        let Some(encoding) = options.encoding else {
            let starts = Starts::of(text);
            return Ok(trawl_chunk::pieces_within(
                text,
                starts,
                size,
                trawl_chunk::best_end,
            ));
        };
        let target = size.get().saturating_sub(MARGIN).max(1);
        let mut cut = Cut {
            text,
            encoding,
            size: size.get() as usize,
            pieces: Vec::new(),
        };
        cut.cut_part(target, 0, text.len());
        Ok(cut.pieces)
    }
}

/// How many tokens more a piece by itself usually has than in its text: its last word has a blank
/// behind it, and its first has none before it.
const MARGIN: u32 = 2;

/// A text that is cut by the tokens of a vocabulary.
struct Cut<'t> {
    text: &'t str,
    encoding: Encoding,
    /// Maximum number of tokens in a piece by itself. Only one character that a reader sees may
    /// have more.
    size: usize,
    pieces: Vec<Span>,
}

impl Cut<'_> {
    /// Cuts a part of the text into pieces of at most so many tokens, and such a piece in halves if
    /// it has more than the size by itself.
    fn cut_part(&mut self, n_tokens: u32, start: usize, end: usize) {
        let part = &self.text[start..end];
        let starts =
            starts::piece_starts(part, self.encoding.token_starts(part), n_tokens as usize);
        let target = NonZeroU32::new(n_tokens).unwrap_or(NonZeroU32::MIN);
        for span in trawl_chunk::pieces_within(part, starts, target, trawl_chunk::best_end) {
            let (from, to) = (start + span.start as usize, start + span.end as usize);
            let found = self.encoding.token_starts(&self.text[from..to]).count();
            if found <= self.size {
                self.pieces.push(Span::from(from..to));
            } else if n_tokens > 1 {
                let half = found.div_ceil(2).min(n_tokens as usize - 1);
                self.cut_part(half as u32, from, to);
            } else {
                self.cut_token(from, to);
            }
        }
    }

    /// Cuts a token that is several by itself: into a word and the white space behind it, otherwise
    /// into the characters that a reader sees.
    fn cut_token(&mut self, start: usize, end: usize) {
        let part = &self.text[start..end];
        let word = part.trim_end().len();
        if (1..part.len()).contains(&word) {
            self.cut_part(1, start, start + word);
            self.cut_part(1, start + word, end);
            return;
        }
        let starts: Vec<usize> = Graphemes::of(part).map(|at| start + at).collect();
        let ends = starts.iter().copied().skip(1).chain([end]);
        let characters = starts.iter().zip(ends);
        self.pieces
            .extend(characters.map(|(start, end)| Span::from(*start..end)));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;
    use trawl_sdk::testkit;
    use unicode_segmentation::UnicodeSegmentation;

    use super::*;

    /// Checks the pieces of a text, in which bars are where it is cut.
    #[track_caller]
    fn check(value: u32, expected: &str) {
        let text = expected.replace('¦', "");
        let pieces = testkit::pieces::<Tokens>(&text, value);
        assert_eq!(pieces.join("¦"), expected);
    }

    #[test]
    fn a_piece_has_at_most_so_many_tokens() {
        check(2, "one two ¦three four");
        check(3, "日本語¦。");
        check(3, "internationaliz¦ation");
        let prose =
            "The cod was salted, dried and shipped; in 1497 it fed a crew of 18.\n\n".repeat(40);
        let code = "fn main() {\n    let cod = fish(1);\n}\n".repeat(40);
        for text in [prose, code, "魚と塩。干した鱈を船で運ぶ。\n".repeat(40)] {
            for value in [3, 8, 40, 300] {
                for piece in testkit::pieces::<Tokens>(&text, value) {
                    let tokens = Starts::of(piece).count();
                    assert!(tokens <= value as usize, "{tokens} in {piece:?}");
                }
            }
        }
    }

    #[test]
    fn a_sentence_is_a_better_end_than_a_word() {
        check(6, "one two abc four. ¦five six");
    }

    #[test]
    fn the_size_is_an_option() {
        testkit::check_size::<Tokens>();
    }

    #[test]
    fn the_pieces_of_any_text_are_the_text() {
        testkit::check_any_text::<Tokens>();
    }

    #[track_caller]
    fn pieces_of(text: &str, encoding: &str, value: u32) -> Vec<String> {
        let options = json!({"value": value, "encoding": encoding});
        let options: Options = serde_json::from_value(options).expect("options");
        let pieces = Tokens::chunk(text, options).expect("pieces");
        let pieces: Vec<String> = pieces
            .into_iter()
            .map(|span| text[span.start as usize..span.end as usize].to_owned())
            .collect();
        assert_eq!(pieces.concat(), text);
        assert!(pieces.iter().all(|piece| !piece.is_empty()));
        pieces
    }

    #[track_caller]
    fn check_encodings(text: &str, value: u32) {
        let encodings = [
            ("o200k_base", tiktoken_rs::o200k_base_singleton()),
            ("cl100k_base", tiktoken_rs::cl100k_base_singleton()),
        ];
        for (name, tokenizer) in encodings {
            for piece in pieces_of(text, name, value) {
                let n_tokens = tokenizer.encode_ordinary(&piece).len();
                let fits = n_tokens <= value as usize || piece.graphemes(true).count() == 1;
                assert!(fits, "{name}: {n_tokens} tokens in {piece:?}, not {value}");
            }
        }
    }

    #[test]
    fn a_piece_has_at_most_so_many_tokens_of_a_tokenizer() {
        let prose =
            "The cod was salted, dried and shipped; in 1497 it fed a crew of 18.\n\n".repeat(40);
        let code = "fn main() {\n    let cod = fish(1);\n}\n".repeat(40);
        for text in [prose, code, "魚と塩。干した鱈を船で運ぶ。👩‍👩‍👧‍👦\n".repeat(40)]
        {
            for value in [1, 3, 8, 40, 300] {
                check_encodings(&text, value);
            }
        }
    }

    #[test]
    fn pieces_of_a_tokenizer_are_full_and_end_at_sentences() {
        let text = "Cod is a fish of the cold sea. It was dried and sold in the south. ".repeat(30);
        let pieces = pieces_of(&text, "o200k_base", 50);
        let (_, full) = pieces.split_last().expect("pieces");
        for piece in full {
            assert!(piece.ends_with(". "), "{piece:?}");
            let n_tokens = tiktoken_rs::o200k_base_singleton()
                .encode_ordinary(piece)
                .len();
            assert!((36..=50).contains(&n_tokens), "{n_tokens} in {piece:?}");
        }
    }

    #[test]
    fn an_encoding_that_is_unknown_is_named() {
        let options = json!({"value": 5, "encoding": "p50k_base"});
        let refused = serde_json::from_value::<Options>(options).expect_err("it is unknown");
        assert!(refused.to_string().contains("o200k_base"), "{refused}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100))]

        #[test]
        fn any_text_is_cut_by_tokens(text in "(\\PC|[a-z. \n魚e\u{301}]){0,200}", value in 1..30_u32) {
            check_encodings(&text, value);
        }
    }
}
