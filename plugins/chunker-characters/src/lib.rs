//! The `characters` chunker: pieces of a maximum number of characters. A character is a grapheme
//! cluster (UAX #29), so accents and joined emoji are never split.
//!
//! Decision D32: the specification defines the maximum length of a piece, not where it ends. A
//! piece ends at the best boundary in its last quarter: the end of a paragraph, line, sentence or
//! word, in this order; without any, it has the maximum length. In Markdown, a code block or table
//! row that fits into a piece is never split ([`trawl_chunk::pieces_within`]).

mod graphemes;

use graphemes::Graphemes;
use trawl_sdk::{Chunker, Failure, Info, Span};

/// Splits a text into pieces of at most `size` characters. Concatenated, the pieces are the text.
pub struct Characters;

trawl_chunk::chunk_size!(1000, "Maximum number of characters in a piece");

trawl_sdk::export!(chunker: Characters);

impl Chunker for Characters {
    type Options = Size;

    fn info() -> Info {
        Info::new(
            "characters",
            env!("CARGO_PKG_VERSION"),
            "Pieces of at most a number of characters",
        )
        .options_schema(SIZE_SCHEMA)
    }

    fn chunk(text: &str, size: Size) -> Result<Vec<Span>, Failure> {
        let starts = Graphemes::of(text);
        Ok(trawl_chunk::pieces_within(
            text,
            starts,
            size.value,
            trawl_chunk::best_end,
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::Characters;
    use trawl_sdk::testkit;

    /// Checks the pieces of a text, in which bars are where it is cut.
    #[track_caller]
    fn check(value: u32, expected: &str) {
        let text = expected.replace('¦', "");
        let pieces = testkit::pieces::<Characters>(&text, value);
        assert_eq!(pieces.join("¦"), expected);
    }

    #[test]
    fn a_piece_without_a_better_end_is_full() {
        check(2, "ab¦cd¦e");
        check(2, "日本¦語");
        check(8, "aaaaaaaa¦aaaa");
    }

    #[test]
    fn grapheme_clusters_are_not_split() {
        check(1, "e\u{301}¦👩‍👧¦x");
        check(1, "a¦\r\n¦b");
        check(1, "🇩🇪¦🇫🇷");
        check(1, "กำ");
        check(1, "क्षि");
        check(1, "각¦각");
        check(1, " \u{301}¦a");
    }

    #[test]
    fn a_piece_ends_at_a_word_in_its_last_quarter() {
        check(14, "one two abc ¦three");
        check(8, "one twot¦hree");
        check(10, "one two\u{2003}¦three");
    }

    #[test]
    fn a_sentence_is_better_than_a_word() {
        check(16, "one two abc. ¦d efg");
        check(11, "一二三四五六「七。」¦八九");
        check(16, "version 1.5.2 x ¦y");
    }

    #[test]
    fn a_line_is_better_than_a_sentence_and_a_paragraph_better_than_a_line() {
        check(10, "0123456\n¦a. b c");
        check(11, "0123456\n\n¦a\nb c d");
    }

    #[test]
    fn a_code_block_that_fits_into_a_piece_is_not_cut() {
        let code = "```\nlet a;\nlet b;\n```\n";
        check(22, &format!("one two\n¦{code}¦three"));
    }

    #[test]
    fn a_code_block_that_fits_nowhere_is_cut_at_a_line_end() {
        check(16, "```\nlet a;\n¦let b;\nlet c;\n¦```\n");
    }

    #[test]
    fn a_table_row_is_not_cut() {
        check(16, "| a b c d |\n¦| e f g h |\n");
    }

    #[test]
    fn the_size_is_an_option() {
        testkit::check_size::<Characters>();
    }

    #[test]
    fn the_pieces_of_any_text_are_the_text() {
        testkit::check_any_text::<Characters>();
    }
}
