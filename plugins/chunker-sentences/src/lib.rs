//! The chunker `sentences`: pieces of a number of sentences.
//!
//! A sentence ends as in UAX #29 (after a stop of any script, with the quotes and brackets behind it), with these differences:
//! - Not behind an abbreviation, an initial, or an ordinal number of a date (`Mr. Smith`, `U.S. Army`, `J. R. R. Tolkien`, `z. B.`,
//!   `am 3. Mai`), nor in the middle of a word (`3.14`, an address). Where an abbreviation may end a sentence, a word that usually
//!   begins one decides (`in the U.S. The …`).
//! - `!` and `?` need white space behind them, and no small letter after that (`"Why?" he asked.`).
//! - Each line is a sentence of its own (headings, items, rows), unless the next one goes on with a small letter as wrapped text does.
//! - Thai and Lao have no stops: a space ends a sentence there that has become long.
//! - Marks alone are no sentence: they stay with the one before.
//!
//! In markdown, code blocks and table rows stay whole where they can, and a heading begins a piece ([`trawl_sdk::chunk`]).

mod abbreviations;
mod sentences;
mod stops;

use sentences::Sentences as Starts;
use trawl_sdk::{Chunker, Failure, Info, Span, chunk};

/// Splits a text after every so many sentences. The pieces together are the text.
pub struct Sentences;

trawl_sdk::chunk_size!(10, "Number of sentences in a piece");

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
        Ok(chunk::pieces(text, starts, size.value, chunk::as_full))
    }
}

#[cfg(test)]
mod tests;
