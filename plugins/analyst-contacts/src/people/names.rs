//! Recognises personal names by their form, and the titles in front of them.

use super::fold::plain_word;
use super::occupations::is_role_word;
use super::stop_words::is_stop_word;
use crate::words::{NAME_PARTICLES, TITLES};

/// Maximum length of a name, in bytes and in words.
pub(super) const NAME_BYTES_MAX: usize = 60;
pub(super) const NAME_WORDS_MAX: usize = 5;

/// The name without titles in front of it and degrees after it.
pub(crate) fn without_titles(text: &str) -> &str {
    let mut rest = text.trim();
    while let Some((first, after)) = rest.split_once(' ') {
        if !TITLES.has(&first.to_lowercase()) {
            break;
        }
        rest = after.trim_start();
    }
    rest.split(',')
        .next()
        .unwrap_or_default()
        .trim()
        .trim_end_matches('.')
}

/// Whether a text is a personal name: a few capitalised words, maybe with particles between them.
pub(crate) fn is_name(text: &str) -> bool {
    if text.len() > NAME_BYTES_MAX {
        return false;
    }
    let words: Vec<&str> = text.split(' ').collect();
    let is_particle = |word: &str| NAME_PARTICLES.has(word);
    let n_full = words
        .iter()
        .filter(|word| !is_particle(word) && word.chars().count() > 1 && !word.ends_with('.'))
        .count();
    (2..=NAME_WORDS_MAX).contains(&words.len())
        && n_full >= 2
        && !words.last().is_some_and(|word| is_particle(word))
        && words
            .iter()
            .all(|word| is_particle(word) || is_name_word(word))
}

pub(super) fn is_name_word(word: &str) -> bool {
    let mut characters = word.chars();
    let is_capitalised = characters.next().is_some_and(|c| c.is_uppercase());
    let is_letter = |c: char| c.is_alphabetic() || matches!(c, '-' | '\'' | '’' | '.');
    let letters: Vec<char> = characters.collect();
    let is_all_caps = letters.len() > 2 && letters.iter().all(|c| c.is_uppercase());
    is_capitalised
        && !is_all_caps
        && letters.iter().all(|&c| is_letter(c))
        && !is_stop_word(&plain_word(word))
        && !is_role_word(&plain_word(word))
}

/// Whether a text may be a Chinese, Japanese or Korean name: two to six characters and maybe a
/// space.
pub(super) fn is_east_asian_name(text: &str) -> bool {
    let is_sign = |c: char| matches!(c as u32, 0x3040..=0x30ff | 0x4e00..=0x9fff | 0xac00..=0xd7a3);
    let n_signs = text.chars().filter(|&c| is_sign(c)).count();
    (2..=6).contains(&n_signs)
        && text
            .chars()
            .all(|c| is_sign(c) || c == ' ' || c == '\u{3000}')
}
