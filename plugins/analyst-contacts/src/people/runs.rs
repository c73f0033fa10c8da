//! Word sequences in the clauses of a line that may be personal names.

use std::ops::Range;

use super::fold::plain_word;
use super::lines::EDGE;
use super::occupations::is_role_word;
use super::stop_words::is_stop_word;
use crate::words::{
    AMBIGUOUS_TITLES, COMPANY_OCCUPATIONS, COMPANY_SUFFIXES, NAME_PARTICLES, OCCUPATION_SURNAMES,
    ROLE_CONNECTORS, ROLE_PREPOSITIONS, TITLES,
};

/// Maximum number of clauses of a line, and of words of a clause, that are read.
const CLAUSES_MAX: usize = 60;
const WORDS_MAX: usize = 60;
/// Maximum number of words of a name, with and without particles and initials.
const NAME_WORDS_MAX: usize = 6;
const FULL_WORDS_MAX: usize = 4;
/// Maximum length of a name, in bytes.
const NAME_BYTES_MAX: usize = 60;
/// Maximum number of words of a role.
const ROLE_WORDS_MAX: usize = 8;
/// Minimum letters of a word whose full stop ends a sentence; shorter words are abbreviations.
const SENTENCE_WORD_MIN: usize = 3;

/// The text between two punctuation marks of a line.
pub(super) struct Clause<'t> {
    pub(super) text: &'t str,
    /// The mark in front of it; `\n` at the start of the line.
    pub(super) mark: char,
}

/// Splits a line into clauses.
pub(super) fn clauses(line: &str) -> Vec<Clause<'_>> {
    let mut clauses = Vec::new();
    let (mut start, mut mark) = (0, '\n');
    for (at, character) in line.char_indices() {
        let (before, after) = (&line[start..at], &line[at + character.len_utf8()..]);
        let is_apart = || before.ends_with([' ', EDGE]) && after.starts_with([' ', EDGE]);
        let ends = match character {
            EDGE | ',' | ';' | ':' | '：' | '|' | '·' | '•' | '(' | ')' | '（' | '）' | '['
            | ']' | '、' | '，' | '،' | '؛' | '／' | '“' | '”' | '„' | '"' | '«' | '»' | '!'
            | '?' | '…' | '→' | '。' => true,
            '/' => !after.starts_with(char::is_lowercase),
            '–' | '—' => is_apart() || !before.ends_with(|c: char| c.is_ascii_digit()),
            '-' | '~' => is_apart(),
            '.' => (after.is_empty() || after.starts_with([' ', EDGE])) && ends_sentence(before),
            _ => false,
        };
        if !ends {
            continue;
        }
        let text = before.trim();
        if !text.is_empty() {
            clauses.push(Clause { text, mark });
            mark = EDGE;
        }
        if mark == EDGE || mark == '\n' && !clauses.is_empty() {
            mark = character;
        }
        start = at + character.len_utf8();
        if clauses.len() >= CLAUSES_MAX {
            return clauses;
        }
    }
    let text = line[start..].trim();
    if !text.is_empty() {
        clauses.push(Clause { text, mark });
    }
    clauses
}

fn ends_sentence(before: &str) -> bool {
    let word = before.rsplit([' ', EDGE, '.']).next().unwrap_or_default();
    word.chars().count() >= SENTENCE_WORD_MIN && !TITLES.has(&format!("{}.", word.to_lowercase()))
}

/// A name in a clause.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) name: String,
    /// Whether a title that is no ordinary word stands in front of it.
    pub(super) is_titled: bool,
    /// The role, if words next to the name state one.
    pub(super) role: Option<String>,
    /// Whether the name, with its titles, starts the clause.
    pub(super) is_first: bool,
    /// Whether the name ends the clause.
    pub(super) is_last: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    Name,
    Particle,
    Title,
    Role,
    StopWord,
    Other,
}

/// The names of a clause; `is_role_last` for languages in which an occupation follows its name.
pub(super) fn runs(clause: &str, is_role_last: bool) -> Vec<Run> {
    let words: Vec<&str> = clause.split(' ').take(WORDS_MAX).collect();
    // Few clauses have two adjacent words that can form a name.
    let could_be = |word: &str| is_shaped(word) || NAME_PARTICLES.has(word) || is_title(word);
    let n_shaped = words.iter().filter(|word| is_shaped(word)).count();
    if n_shaped < 2 {
        return Vec::new();
    }
    let sorts: Vec<Sort> = words
        .iter()
        .enumerate()
        .map(|(at, word)| {
            let is_adjacent = at > 0 && could_be(words[at - 1])
                || words.get(at + 1).is_some_and(|next| could_be(next));
            if is_adjacent { sort(word) } else { Sort::Other }
        })
        .collect();
    let mut runs = Vec::new();
    let mut at = 0;
    while at < words.len() {
        if !matches!(sorts[at], Sort::Name | Sort::Particle) {
            at += 1;
            continue;
        }
        let mut end = at;
        while end < words.len() && matches!(sorts[end], Sort::Name | Sort::Particle) {
            end += 1;
        }
        runs.extend(run(&words, &sorts, at..end, is_role_last));
        at = end;
    }
    runs
}

/// The name among the words of `span`, which are names and particles only.
fn run(words: &[&str], sorts: &[Sort], span: Range<usize>, is_role_last: bool) -> Option<Run> {
    let Range { start, end } = without_particles(sorts, span);
    let next = words.get(end).copied().unwrap_or_default();
    if !has_name_form(words, sorts, start..end) || is_company_suffix(next) {
        return None;
    }
    let n_titles = sorts[..start]
        .iter()
        .rev()
        .take_while(|sort| **sort == Sort::Title)
        .count();
    let first = start - n_titles;
    // `Junior Activities coordinator`: the words in front of an occupation qualify it.
    let is_qualifier =
        !is_role_last && !is_shouted(next) && is_role_word(&bare(next)) && n_titles == 0;
    // Next to a capitalised stop word it is part of a longer name: `Hotel Anna Maria`.
    let is_capitalised_stop_word = |at: usize| {
        sorts.get(at) == Some(&Sort::StopWord) && words[at].starts_with(char::is_uppercase)
    };
    let is_part =
        first.checked_sub(1).is_some_and(is_capitalised_stop_word) || is_capitalised_stop_word(end);
    let role = adjacent_role(words, first, end, is_role_last);
    if is_part && role.is_none() || is_qualifier {
        return None;
    }
    Some(Run {
        name: words[start..end].join(" "),
        is_titled: words[first..start]
            .iter()
            .any(|title| !AMBIGUOUS_TITLES.has(&title.to_lowercase())),
        role,
        is_first: first == 0,
        is_last: end == words.len(),
    })
}

/// The span without the particles at both ends.
fn without_particles(sorts: &[Sort], span: Range<usize>) -> Range<usize> {
    let Range { mut start, mut end } = span;
    while start < end && sorts[start] == Sort::Particle {
        start += 1;
    }
    while end > start && sorts[end - 1] == Sort::Particle {
        end -= 1;
    }
    start..end
}

/// Whether number, length and case of the words are those of a name.
fn has_name_form(words: &[&str], sorts: &[Sort], span: Range<usize>) -> bool {
    let is_whole_clause = span.start == 0 && span.end == words.len();
    let (words, sorts) = (&words[span.clone()], &sorts[span]);
    let n_full = words
        .iter()
        .zip(sorts)
        .filter(|(word, sort)| {
            **sort == Sort::Name && word.chars().count() > 1 && !word.ends_with('.')
        })
        .count();
    let n_shouted = words.iter().filter(|word| is_shouted(word)).count();
    let n_bytes = words.iter().map(|word| word.len() + 1).sum::<usize>();
    (2..=FULL_WORDS_MAX).contains(&n_full)
        && words.len() <= NAME_WORDS_MAX
        && n_bytes <= NAME_BYTES_MAX + 1
        && (n_shouted < n_full || is_whole_clause)
}

/// The role in the words next to a name: `our head of sales is Ann Lee`, `opintosihteeri Maaret
/// Ikäheimo`.
fn adjacent_role(words: &[&str], start: usize, end: usize, is_role_last: bool) -> Option<String> {
    // Maximum words of a role in front of its connector.
    const REACH: usize = 6;
    let is_role = |word: &str| is_role_word(&bare(word));
    if let Some(last) = start.checked_sub(1) {
        if is_role(words[last]) {
            return Some(words[last].to_owned());
        }
        if ROLE_CONNECTORS.has(words[last]) {
            let near = last.saturating_sub(REACH);
            let at = (near..last).find(|&at| is_role(words[at]));
            if let Some(at) = at {
                return Some(words[at..last].join(" "));
            }
        }
    }
    // In other languages the words in front of an occupation qualify it: `Junior coordinator`.
    let next = words.get(end)?;
    let is_role_last = is_role_last || is_shouted(next);
    (is_role_last && is_role(next)).then(|| {
        let rest = &words[end..];
        if rest.len() <= ROLE_WORDS_MAX {
            rest.join(" ")
        } else {
            (*next).to_owned()
        }
    })
}

fn sort(word: &str) -> Sort {
    if NAME_PARTICLES.has(word) {
        return Sort::Particle;
    }
    if is_title(word) {
        return Sort::Title;
    }
    if !is_shaped(word) {
        return Sort::Other;
    }
    let plain = plain_word(word);
    if OCCUPATION_SURNAMES.has(&plain) {
        Sort::Name
    } else if is_stop_word(&plain) {
        Sort::StopWord
    } else if is_role_word(&plain) {
        Sort::Role
    } else {
        Sort::Name
    }
}

/// Whether a word has the form of a part of a name: `Ann`, `O'Neill`, `Jean-Luc`, `J.`.
fn is_shaped(word: &str) -> bool {
    let mut characters = word.chars();
    let is_capitalised = characters.next().is_some_and(char::is_uppercase);
    let is_letter = |c: char| c.is_alphabetic() || matches!(c, '-' | '\'' | '’' | '`' | 'ʻ');
    if !is_capitalised {
        return false;
    }
    match word.strip_suffix('.') {
        Some(initial) => {
            word.chars().count() <= 4
                && initial
                    .split('.')
                    .all(|part| (1..=2).contains(&part.chars().count()))
                && initial.chars().all(|c| c.is_alphabetic() || c == '.')
        }
        None => characters.all(is_letter) && !is_brand_like(word),
    }
}

/// Whether a word looks like an abbreviation or a brand: `BV`, `CLG`, `SkyRanger`, but not
/// `McLeod`.
fn is_brand_like(word: &str) -> bool {
    let n_letters = word.chars().count();
    let n_capitals = word.chars().filter(|c| c.is_uppercase()).count();
    if n_capitals == n_letters {
        return n_letters < 4;
    }
    let is_inner = |(at, letter): (usize, char)| {
        letter.is_uppercase() && word[..at].ends_with(char::is_lowercase)
    };
    let start = word.char_indices().find(|place| is_inner(*place));
    start.is_some_and(|(at, _)| {
        at > 4
            || ![
                "Mc", "Mac", "De", "Di", "La", "Le", "Van", "Von", "Fitz", "Du", "Da", "El", "Al",
                "Nic", "Ni",
            ]
            .contains(&&word[..at])
    })
}

fn is_shouted(word: &str) -> bool {
    word.chars().count() > 2 && !word.chars().any(char::is_lowercase)
}

/// Whether a word is a title or a part of one: `Dr.`, `med.`.
fn is_title(word: &str) -> bool {
    if word.len() > 16 {
        return false;
    }
    TITLES.has(&word.to_lowercase())
}

fn is_company_suffix(word: &str) -> bool {
    let word = word.trim_end_matches(['.', ',']).to_lowercase();
    COMPANY_SUFFIXES.has(&word)
}

fn bare(word: &str) -> String {
    plain_word(word.trim_matches(|c: char| !c.is_alphanumeric()))
}

/// Whether a clause is a role: a few words, one of them an occupation.
pub(super) fn is_role(clause: &str) -> bool {
    let mut words = clause.split(' ');
    clause.len() <= 90 && words.clone().count() <= ROLE_WORDS_MAX && has_role(&mut words)
}

/// Whether there is an occupation among the words, in front of any preposition: `tour with guide`
/// and `for founders` are no roles.
fn has_role<'t>(words: &mut impl Iterator<Item = &'t str>) -> bool {
    for word in words {
        let bare = bare(word);
        if ROLE_PREPOSITIONS.has(&bare) {
            return false;
        }
        if is_role_word(&bare) {
            return true;
        }
    }
    false
}

/// The role at the end of a longer clause. Occupations that companies have as well do not count:
/// `our evacuation partner, Sky Medevac`.
pub(super) fn role_at_end(clause: &str) -> Option<&str> {
    const NEAR: usize = 3;
    let mut start = clause.len();
    for word in clause.rsplit(' ').take(NEAR) {
        start -= word.len();
        let bare = bare(word);
        if is_role_word(&bare) && !COMPANY_OCCUPATIONS.has(&bare) {
            return Some(&clause[start..]);
        }
        start = start.saturating_sub(1);
    }
    None
}

/// The role at the start of a longer clause.
pub(super) fn role_at_start(clause: &str) -> Option<&str> {
    const NEAR: usize = 5;
    let words = clause.split(' ').take(NEAR);
    let is_found = has_role(&mut words.clone());
    let length: usize = words.map(|word| word.len() + 1).sum();
    is_found.then(|| {
        if clause.len() <= 70 {
            clause
        } else {
            &clause[..length - 1]
        }
    })
}
