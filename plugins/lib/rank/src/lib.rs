//! Ranks a page's text against a query, with stemming, passages, BM25 and near-duplicate detection.
//!
//! Needs neither a model nor network access.
//!
//! ```
//! use trawl_rank::{Bm25, Language, Vocabulary};
//!
//! let mut words = Vocabulary::new(Language::English);
//! let query = words.terms("shipping costs");
//! let mut index = Bm25::new(&query, [1.0]);
//! for text in ["Returns are free.", "Shipping cost: 5 EUR for each shipment."] {
//!     index.add([&words.terms(text)]);
//! }
//! let scores = index.scores();
//! assert!(scores[0].value == 0.0 && scores[1].value > 0.3 && scores[1].coverage == 1.0);
//! ```
//!
//! All functions are pure: equal input gives equal output, in the same order.

mod blocks;
mod bm25;
mod excerpt;
mod language;
mod passages;
mod region;
mod similar;
mod stop_words;
#[cfg(test)]
mod tests;
mod vocabulary;
mod words;

pub use blocks::{Block, BlockKind, blocks, flat_text};
pub use bm25::{Bm25, Score, Statistics};
pub use excerpt::{DATA_NOTE, Room, cut, data, holds, squeeze, tokens};
pub use language::Language;
pub use passages::{Passage, passages};
pub use region::Region;
pub use similar::Shingles;
pub use vocabulary::{Term, Vocabulary};
pub use words::{each_word, fold, is_spaceless};
