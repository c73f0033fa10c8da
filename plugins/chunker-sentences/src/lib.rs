//! The `sentences` chunker: pieces of a fixed number of sentences.
//!
//! Sentence boundaries follow UAX #29 (after a stop of any script and the closing quotes and
//! brackets after it), with these differences:
//! - An abbreviation, an initial, or the ordinal number of a date does not end a sentence
//!   (`Mr. Smith`, `U.S. Army`, `J. R. R. Tolkien`, `z. B.`, `am 3. Mai`), nor does a stop inside a
//!   word (`3.14`, a URL). If an abbreviation may end a sentence, a word that usually starts one
//!   decides (`in the U.S. The …`).
//! - `!` and `?` must be followed by white space and not by a lower-case letter
//!   (`"Why?" he asked.`).
//! - Each line is a sentence of its own (headings, list items, table rows), unless the next line
//!   continues with a lower-case letter, as in wrapped text.
//! - Thai and Lao have no stops: a space ends a sentence once it is long enough.
//! - Punctuation alone is not a sentence; it stays with the one before.
//!
//! In Markdown, code blocks and table rows stay whole where possible, and a heading starts a piece
//! ([`trawl_chunk`]).

mod abbreviations;
mod sentences;
mod stops;

use sentences::Sentences as Starts;
use trawl_sdk::{Chunker, Failure, Info, Span};

/// Splits a text after every `size` sentences. Concatenated, the pieces are the text.
pub struct Sentences;

trawl_chunk::chunk_size!(10, "Number of sentences in a piece");

trawl_sdk::export!(chunker: Sentences);

impl Chunker for Sentences {
    type Options = Size;

    fn info() -> Info {
        Info::new(
            "sentences",
            env!("CARGO_PKG_VERSION"),
            "Pieces of a number of sentences",
        )
        .options_schema(SIZE_SCHEMA)
    }

    fn chunk(text: &str, size: Size) -> Result<Vec<Span>, Failure> {
        let starts = Starts::of(text);
        Ok(trawl_chunk::pieces(
            text,
            starts,
            size.value,
            trawl_chunk::as_full,
        ))
    }
}

#[cfg(test)]
mod tests;
