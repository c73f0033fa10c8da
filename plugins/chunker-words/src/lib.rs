//! The `words` chunker: pieces of a fixed number of words.
//!
//! Words follow Unicode (UAX #29). Its rules do not segment scripts without spaces (they make a
//! word of each ideograph and each Thai letter), so Chinese, Japanese, Thai, Lao, Khmer and Burmese
//! are segmented by longest match against a word list.
//!
//! A piece ends before the first word in excess, or at the start of that word's line if it is the
//! first there. It does not end inside a URL or `well-known` if a space is near. In Markdown, code
//! blocks and table rows stay whole where possible, and a heading starts a piece
//! ([`trawl_chunk`]).

mod filter;
mod spaceless;
mod words;

use trawl_sdk::{Chunker, Failure, Info, Span};

/// Splits a text after every `size` words. Concatenated, the pieces are the text.
pub struct Words;

trawl_chunk::chunk_size!(200, "Number of words in a piece");

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
        Ok(trawl_chunk::pieces(text, starts, size.value, at_space))
    }
}

/// Moves a boundary between two non-space ASCII characters to after the previous space.
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
