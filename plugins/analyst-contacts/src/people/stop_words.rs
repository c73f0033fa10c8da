//! Recognises words that do not occur in personal names: those of headings, buttons, postal
//! addresses and company names.

use crate::words::{NAME_STOP_SUFFIXES, NAME_STOP_WORDS};

/// Minimum bytes of a compound that a suffix makes a stop word (`Hauptstrasse`).
const COMPOUND_BYTES_MIN: usize = 7;

/// Whether a word, in lower case without accents, cannot be part of a personal name.
pub(super) fn is_stop_word(word: &str) -> bool {
    NAME_STOP_WORDS.has(word) || word.len() >= COMPOUND_BYTES_MIN && NAME_STOP_SUFFIXES.ends(word)
}
