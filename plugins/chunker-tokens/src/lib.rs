//! The `tokens` chunker: pieces of at most a number of tokens of a language model.
//!
//! Tokens are those of a model's vocabulary, which a plugin does not have, so their number is an
//! estimate, which the module `estimate` describes. A piece ends at the best boundary in its last
//! quarter, as a piece of the `characters` chunker does. Decisions D31 and D32.

#[path = "../../chunker-characters/src/ends.rs"]
mod ends;
mod estimate;
#[path = "../../chunker-characters/src/graphemes.rs"]
mod graphemes;

use estimate::Starts;
use trawl_sdk::{Chunker, Failure, Info, Span};

/// Splits a text into pieces of at most `size` estimated tokens. Concatenated, the pieces are the
/// text.
pub struct Tokens;

trawl_chunk::chunk_size!(500, "Maximum number of tokens in a piece, by an estimate");

trawl_sdk::export!(chunker: Tokens);

impl Chunker for Tokens {
    type Options = Size;

    fn info() -> Info {
        Info::new(
            "tokens",
            env!("CARGO_PKG_VERSION"),
            "Pieces of at most a number of tokens, which are estimated",
        )
        .options_schema(SIZE_SCHEMA)
    }

    fn chunk(text: &str, size: Size) -> Result<Vec<Span>, Failure> {
        let starts = Starts::of(text);
        Ok(trawl_chunk::pieces_within(
            text,
            starts,
            size.value,
            ends::best,
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::{Starts, Tokens};
    use trawl_sdk::testkit;

    #[track_caller]
    fn check(text: &str, value: u32, expected: &[&str]) {
        let pieces = testkit::pieces::<Tokens>(text, value);
        assert_eq!(pieces, expected, "{text:?}");
    }

    #[test]
    fn a_piece_has_at_most_so_many_tokens() {
        check("one two three four", 2, &["one two ", "three four"]);
        check("日本語。", 3, &["日本語", "。"]);
        check("internationalization", 3, &["internationaliz", "ation"]);
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
        check(
            "one two abc four. five six",
            6,
            &["one two abc four. ", "five six"],
        );
    }

    #[test]
    fn the_size_is_an_option() {
        testkit::check_size::<Tokens>();
    }

    #[test]
    fn the_pieces_of_any_text_are_the_text() {
        testkit::check_any_text::<Tokens>();
    }
}
