//! What names of people look like, and what stands in front of them.

use super::fold::plain_word;
use super::occupations::is_role_word;
use super::stop_words::is_stranger;

/// Longest name, in bytes, and most words of it.
pub(super) const NAME_BYTES_MAX: usize = 60;
pub(super) const NAME_WORDS_MAX: usize = 5;

/// Titles in front of names.
pub(super) const TITLES: &[&str] = &[
    "dr.",
    "dr",
    "prof.",
    "prof",
    "dipl.-ing.",
    "dipl.-kfm.",
    "mag.",
    "ing.",
    "univ.-prof.",
    "med.",
    "mr.",
    "mr",
    "mrs.",
    "mrs",
    "ms.",
    "ms",
    "miss",
    "sir",
    "herr",
    "frau",
    "m.",
    "mme",
    "mlle",
    "avv.",
    "dott.",
    "dott.ssa",
    "arch.",
    "sig.",
    "sig.ra",
    "d.",
    "mgr",
    "mgr.",
    "bc.",
    "judr.",
    "mvdr.",
    "phdr.",
    "rndr.",
    "doc.",
    "inż.",
    "vet.",
    "dent.",
    "rer.",
    "nat.",
    "jur.",
    "phil.",
    "iur.",
    "h.c.",
    "habil.",
    "mag.a",
    "dr.in",
    "dra.",
    "dr.ssa",
    "sr.",
    "sra.",
    "srta.",
    "don",
    "doña",
    "eng.",
    "engª",
    "prof.ª",
    "dott.a",
    "avv",
    "maître",
    "me",
    "mevr.",
    "mevrouw",
    "dhr.",
    "mr.dr.",
    "drs.",
    "hr.",
    "fr.",
    "rev.",
    "fra.",
    "pan",
    "pani",
    "p.",
    "pán",
    "lek.",
    "adw.",
    "ks.",
    "κ.",
    "κα",
    "κος",
    "д-р",
    "г-н",
    "г-жа",
    "cllr",
    "cllr.",
    "cr",
    "fröken",
    "dl.",
    "dna.",
    "av.",
    "uzm.",
    "op.",
    "dt.",
    "psk.",
    "ifj.",
    "özv.",
    "rechtsanwalt",
    "rechtsanwältin",
];
/// Titles that show a name wherever they stand.
pub(super) const TITLES_SURE: &[&str] = &[
    "dr.",
    "prof.",
    "avv.",
    "dott.",
    "dott.ssa",
    "dipl.-ing.",
    "rechtsanwalt",
    "rechtsanwältin",
    "maître",
    "mudr.",
];
/// Small words inside names.
pub(super) const PARTICLES: &[&str] = &[
    "von", "van", "der", "den", "de", "del", "della", "di", "da", "dos", "das", "do", "du", "la",
    "le", "el", "al", "bin", "ibn", "bint", "zu", "zur", "zum", "vom", "ter", "ten", "te", "'t",
    "op", "af", "av", "y", "dei", "degli", "dal", "ben", "bat", "ould", "ole", "ap", "ó", "ni",
    "uí",
];
/// The name without titles in front and degrees behind.
pub(crate) fn without_titles(text: &str) -> &str {
    let mut rest = text.trim();
    while let Some((first, after)) = rest.split_once(' ') {
        if !TITLES.contains(&first.to_lowercase().as_str()) {
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

/// Whether a text is a person's name: a few words that begin with capitals.
pub(crate) fn is_name(text: &str) -> bool {
    if text.len() > NAME_BYTES_MAX {
        return false;
    }
    let words: Vec<&str> = text.split(' ').collect();
    let is_small = |word: &str| PARTICLES.contains(&word);
    let n_full = words
        .iter()
        .filter(|word| !is_small(word) && word.chars().count() > 1 && !word.ends_with('.'))
        .count();
    (2..=NAME_WORDS_MAX).contains(&words.len())
        && n_full >= 2
        && !words.last().is_some_and(|word| is_small(word))
        && words
            .iter()
            .all(|word| is_small(word) || is_name_word(word))
}

pub(super) fn is_name_word(word: &str) -> bool {
    let mut characters = word.chars();
    let is_begun = characters.next().is_some_and(|c| c.is_uppercase());
    let is_letter = |c: char| c.is_alphabetic() || matches!(c, '-' | '\'' | '’' | '.');
    let letters: Vec<char> = characters.collect();
    let is_shouted = letters.len() > 2 && letters.iter().all(|c| c.is_uppercase());
    is_begun
        && !is_shouted
        && letters.iter().all(|&c| is_letter(c))
        && !is_stranger(&plain_word(word))
        && !is_role_word(&plain_word(word))
}

/// Names in Chinese, Japanese and Korean: two to four signs, maybe a blank between.
pub(super) fn is_east_asian_name(text: &str) -> bool {
    let is_sign = |c: char| matches!(c as u32, 0x3040..=0x30ff | 0x4e00..=0x9fff | 0xac00..=0xd7a3);
    let n_signs = text.chars().filter(|&c| is_sign(c)).count();
    (2..=6).contains(&n_signs)
        && text
            .chars()
            .all(|c| is_sign(c) || c == ' ' || c == '\u{3000}')
}
