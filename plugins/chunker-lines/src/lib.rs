//! The `lines` chunker: pieces of a fixed number of lines. A line includes its line feed. In
//! Markdown, a code block of up to one and a half pieces stays whole, and a heading starts a piece
//! instead of ending one ([`trawl_chunk`]).

use trawl_sdk::{Chunker, Failure, Info, Span};

/// Splits a text after every `size` lines. Concatenated, the pieces are the text.
pub struct Lines;

trawl_chunk::chunk_size!(40, "Number of lines in a piece");

trawl_sdk::export!(chunker: Lines);

impl Chunker for Lines {
    type Options = Size;

    fn info() -> Info {
        Info::new(
            "lines",
            env!("CARGO_PKG_VERSION"),
            "Pieces of a number of lines",
        )
        .options_schema(SIZE_SCHEMA)
    }

    fn chunk(text: &str, size: Size) -> Result<Vec<Span>, Failure> {
        let mut next = 0;
        let starts = text.split_inclusive('\n').map(move |line| {
            let start = next;
            next += line.len();
            start
        });
        Ok(trawl_chunk::pieces(
            text,
            starts,
            size.value,
            trawl_chunk::as_full,
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::Lines;
    use trawl_sdk::testkit;

    /// Checks the pieces of a text, in which bars are where it is cut.
    #[track_caller]
    fn check(value: u32, expected: &str) {
        let text = expected.replace('¦', "");
        let pieces = testkit::pieces::<Lines>(&text, value);
        assert_eq!(pieces.join("¦"), expected);
    }

    #[test]
    fn a_piece_ends_after_its_last_line() {
        check(2, "a\nb\r\n¦c");
        check(2, "\n\n¦\n");
        check(1, "é\n");
    }

    #[test]
    fn the_size_is_an_option() {
        testkit::check_size::<Lines>();
    }

    #[test]
    fn the_pieces_of_any_text_are_the_text() {
        testkit::check_any_text::<Lines>();
    }

    #[test]
    fn a_code_block_that_is_a_little_too_long_stays_whole() {
        check(4, "a\nb\n```\nc\nd\n```\n¦e\n");
        check(4, "a\nb\nc\n¦```\nd\ne\n```\n");
    }

    #[test]
    fn a_heading_begins_a_piece() {
        check(5, "a\nb\nc\n¦# D\n\ne\n");
        check(1, "# A\n¦b\n¦# C\n¦d\n");
    }
}
