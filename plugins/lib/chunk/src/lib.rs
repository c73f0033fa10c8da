//! Cuts a text into pieces of a given number of units; shared by all chunkers.
//!
//! A chunker determines where the units of a text start (words, lines, …); [`pieces`] and
//! [`pieces_within`] group them into spans. Concatenated, the spans are the text. A chunker sees
//! only the text, so markdown is recognised by its syntax ([`Blocks`], [`heading_at_end`]); text
//! without markdown is cut at exactly the given number of units.
//!
//! ```
//! use trawl_sdk::{Chunker, Failure, Info, Span};
//!
//! struct Lines;
//!
//! trawl_chunk::chunk_size!(40, "Number of lines in a piece");
//!
//! impl Chunker for Lines {
//!     type Options = Size;
//!
//!     fn info() -> Info {
//!         Info::new("lines", "0.1.0", "Pieces of a number of lines").options_schema(SIZE_SCHEMA)
//!     }
//!
//!     fn chunk(text: &str, size: Size) -> Result<Vec<Span>, Failure> {
//!         let starts = text.match_indices('\n').map(|(at, _)| at + 1);
//!         let starts = std::iter::once(0).chain(starts.filter(|&at| at < text.len()));
//!         Ok(trawl_chunk::pieces(text, starts, size.value, trawl_chunk::as_full))
//!     }
//! }
//! ```

mod blocks;
mod cutter;
mod ends;
mod links;
#[cfg(test)]
mod tests;

use std::num::NonZeroU32;

use trawl_sdk::Span;

pub use blocks::{Blocks, heading_at_end};
use cutter::Cutter;
pub use ends::best_end;

/// Defines `Size`, the options of a chunker whose only option is the size of a piece, and
/// `SIZE_SCHEMA`, their JSON Schema. The first argument is the default size, the second describes
/// the unit. The crate must depend on `serde`.
#[macro_export]
macro_rules! chunk_size {
    ($default:literal, $description:literal) => {
        /// Options: the size of a piece.
        #[derive(Clone, Copy, Debug, ::serde::Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct Size {
            /// Number of units in a piece.
            pub value: ::std::num::NonZeroU32,
        }

        impl Default for Size {
            fn default() -> Self {
                let value = ::std::num::NonZeroU32::new($default);
                Self {
                    value: value.expect("a piece has units"),
                }
            }
        }

        const SIZE_SCHEMA: &str = concat!(
            r#"{"type": "object", "properties": {"value": {"type": "integer", "minimum": 1, "maximum": 4294967295, "default": "#,
            $default,
            r#", "description": ""#,
            $description,
            r#""}}, "additionalProperties": false}"#
        );
    };
}

/// Chooses a better position for a cut: given the text, the earliest acceptable offset and the
/// offset at which the piece is full, returns an offset between them, if there is a better one. An
/// offset at which no unit starts is ignored.
pub type Refine = fn(text: &str, earliest: usize, full: usize) -> Option<usize>;

/// Cuts where the piece is full.
pub fn as_full(_: &str, _: usize, _: usize) -> Option<usize> {
    None
}

/// Cuts a text into pieces of about `size` units each. `starts` are the offsets of the units, in
/// order.
///
/// A piece ends before the first unit that exceeds the size, with these exceptions for markdown:
/// - A block that should not be split (a code block or a table row, see [`Blocks`]) of at most 1.5
///   times the size stays whole: the cut moves to its nearer edge if the piece then has at most 1.5
///   times the size, otherwise to the start of the block.
/// - A longer block is cut at the last line end in the second half of the piece, if there is one.
/// - A link that would be split starts the next piece, if at least half of the piece remains;
///   otherwise it ends the piece, which then has at most 1.5 times the size.
/// - A heading at the end of a piece moves to the next piece, if at least half of the piece
///   remains.
///
/// `refine` may choose another position in the last quarter of a piece.
pub fn pieces(
    text: &str,
    starts: impl Iterator<Item = usize>,
    size: NonZeroU32,
    refine: Refine,
) -> Vec<Span> {
    let size = size.get() as usize;
    Cutter::new(text, starts, size, size.saturating_add(size / 2), refine).spans()
}

/// Cuts a text into pieces of at most `size` units each, otherwise like [`pieces`]: a block that
/// fits into one piece starts a new piece instead of being split.
pub fn pieces_within(
    text: &str,
    starts: impl Iterator<Item = usize>,
    size: NonZeroU32,
    refine: Refine,
) -> Vec<Span> {
    let size = size.get() as usize;
    Cutter::new(text, starts, size, size, refine).spans()
}
