//! The chunker `words`: pieces of a number of words.
//!
//! Words are those of Unicode (UAX #29). Where a script puts no spaces between words, the rule has nothing to go by (it makes a word of
//! each ideograph and each Thai letter), so Chinese, Japanese, Thai, Lao, Khmer and Burmese are read with a word list: the longest word
//! that is in it comes next.
//!
//! A piece ends before the word that is too many, at the beginning of its line if it is the first there, and not within an address or
//! `well-known` if a space is near. In markdown, code blocks and table rows stay whole where they can, and a heading begins a piece
//! ([`trawl_sdk::chunk`]).

mod filter;
mod spaceless;
mod words;

use trawl_sdk::{Chunker, Failure, Info, Span, chunk};

/// Splits a text after every so many words. The pieces together are the text.
pub struct Words;

trawl_sdk::chunk_size!(200, "Number of words in a piece");

trawl_sdk::export!(chunker: Words);

impl Chunker for Words {
    type Options = Size;

    fn info() -> Info {
        Info::new(
            "words",
            env!("CARGO_PKG_VERSION"),
            "Pieces of a number of words",
        )
        .options_schema(SIZE_SCHEMA)
    }

    fn chunk(text: &str, size: Size) -> Result<Vec<Span>, Failure> {
        let starts = words::Words::of(text);
        Ok(chunk::pieces(text, starts, size.value, at_space))
    }
}

/// Behind the last space, when a piece would end between two characters of ASCII that are none.
fn at_space(text: &str, earliest: usize, full: usize) -> Option<usize> {
    let is_within = |byte: &u8| byte.is_ascii() && !byte.is_ascii_whitespace();
    let around = text.as_bytes().get(full.checked_sub(1)?..=full)?;
    if !around.iter().all(is_within) {
        return None;
    }
    let before = text.as_bytes().get(earliest.saturating_sub(1)..full)?;
    let space = before.iter().rposition(u8::is_ascii_whitespace)?;
    Some(earliest.saturating_sub(1) + space + 1)
}

#[cfg(test)]
mod tests;
