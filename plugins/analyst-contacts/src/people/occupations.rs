//! Recognises words for occupations and roles, in lower case without accents.

use crate::words::{OCCUPATION_STEMS, OCCUPATION_SUFFIXES, OCCUPATION_THING_SUFFIXES, OCCUPATIONS};

/// Maximum characters after a stem: longer words are places or things (`Huisartsenpraktijk`).
const SUFFIX_CHARACTERS_MAX: usize = 7;
/// Minimum bytes of a compound that a suffix makes an occupation (`markkinointijohtaja`).
const COMPOUND_BYTES_MIN: usize = 8;

/// Whether a word, in lower case without accents, is an occupation or a role.
pub(super) fn is_role_word(word: &str) -> bool {
    let is_hyphenated = word.contains('-');
    is_hyphenated
        && word
            .split('-')
            .any(|part| part.len() > 2 && is_role_part(part))
        || is_role_part(word)
}

fn is_role_part(word: &str) -> bool {
    // A plural is a trade or a group: `managers`.
    let is_plural = word.ends_with("ers") || word.ends_with("ors") && !word.contains('k');
    let is_person = |suffix: &str| {
        suffix.chars().count() <= SUFFIX_CHARACTERS_MAX && !OCCUPATION_THING_SUFFIXES.has(suffix)
    };
    !is_plural && OCCUPATION_STEMS.rests(word).any(is_person)
        || OCCUPATIONS.has(word)
        || word.len() >= COMPOUND_BYTES_MIN && OCCUPATION_SUFFIXES.ends(word)
}
