//! Names and occupations in writing systems without capital letters.

use super::runs::Clause;
use crate::words::{
    CASELESS_OCCUPATION_STEMS, CASELESS_STOP_WORDS, CASELESS_TITLES, COMPANY_CHARACTERS,
    EAST_ASIAN_OCCUPATION_SUFFIXES, EAST_ASIAN_OCCUPATIONS, EAST_ASIAN_STOP_CHARACTERS,
    FAMILY_NAME_CHARACTERS, KOREAN_FAMILY_NAMES,
};

fn is_east_asian(character: char) -> bool {
    matches!(character as u32, 0x3005 | 0x3040..=0x30ff | 0x4e00..=0x9fff | 0xac00..=0xd7a3)
}

fn is_han(character: char) -> bool {
    matches!(character as u32, 0x3005 | 0x4e00..=0x9fff)
}

/// Whether a letter is of a script that has no capitals but separates words: Hebrew, Arabic, Indic
/// scripts, Thai, Georgian.
fn is_caseless(character: char) -> bool {
    matches!(character as u32, 0x05d0..=0x06ff | 0x0900..=0x0e7f | 0x10d0..=0x10ff)
}

/// The name that a clause consists of, without titles; `None` in scripts with capitals.
pub(super) fn name(clause: &str) -> Option<&str> {
    let first = clause.chars().next()?;
    if is_east_asian(first) {
        return is_east_asian_name(clause).then_some(clause);
    }
    if !is_caseless(first) {
        return None;
    }
    let mut rest = clause;
    while let Some((title, after)) = rest.split_once(' ')
        && CASELESS_TITLES.has(title)
    {
        rest = after.trim_start();
    }
    is_caseless_name(rest).then_some(rest)
}

fn is_caseless_name(text: &str) -> bool {
    let words = text.split(' ');
    (2..=4).contains(&words.clone().count())
        && text.len() <= 80
        && words.clone().all(|word| {
            word.chars().count() > 1
                && word
                    .chars()
                    .all(|c| is_caseless(c) && !c.is_numeric() || matches!(c, '\'' | '׳' | '-'))
                && !CASELESS_STOP_WORDS.has(word)
        })
        && !is_role(text)
}

fn is_east_asian_name(text: &str) -> bool {
    let n_signs = text.chars().filter(|c| *c != ' ').count();
    // A space between family and given name is strong evidence, so characters of place names are
    // allowed in such a name: `市川 一`.
    let stop_characters = if text.contains(' ') {
        &COMPANY_CHARACTERS
    } else {
        &EAST_ASIAN_STOP_CHARACTERS
    };
    let has_stop_character = text.chars().any(|c| stop_characters.has_character(c));
    if !(2..=7).contains(&n_signs)
        || has_stop_character
        || !text.chars().all(|c| is_east_asian(c) || c == ' ')
        || is_role(text)
    {
        return false;
    }
    let Some(first) = text.chars().next() else {
        return false;
    };
    if matches!(first as u32, 0xac00..=0xd7a3) {
        return n_signs <= 4
            && KOREAN_FAMILY_NAMES.has_character(first)
            && text
                .chars()
                .all(|c| matches!(c as u32, 0xac00..=0xd7a3) || c == ' ');
    }
    match text.split_once(' ') {
        // `磯部 孝之助`
        Some((family, given)) => {
            (1..=4).contains(&family.chars().count())
                && (1..=4).contains(&given.chars().count())
                && !given.contains(' ')
                && !is_role(family)
                && !is_role(given)
        }
        None => {
            (2..=5).contains(&n_signs)
                && text.chars().all(is_han)
                && (FAMILY_NAME_CHARACTERS.has_character(first) && n_signs <= 3 || n_signs >= 4)
        }
    }
}

/// Whether a clause names an occupation or a role.
pub(super) fn is_role(clause: &str) -> bool {
    let Some(first) = clause.chars().next() else {
        return false;
    };
    if is_east_asian(first) {
        let n_signs = clause.chars().count();
        return n_signs <= 14
            && (EAST_ASIAN_OCCUPATIONS.is_part_of(clause)
                || (2..=5).contains(&n_signs)
                    && clause.ends_with(|c| EAST_ASIAN_OCCUPATION_SUFFIXES.has_character(c))
                    && !clause.contains(' '));
    }
    is_caseless(first)
        && clause.len() <= 90
        && clause.split(' ').any(|word| {
            let bare = word.trim_start_matches("ال").trim_start_matches('ה');
            CASELESS_OCCUPATION_STEMS.starts(bare) || CASELESS_OCCUPATION_STEMS.starts(word)
        })
}

/// Names next to occupations in the clauses of a line, as pairs of name and role.
pub(super) fn people<'t>(clauses: &[Clause<'t>]) -> Vec<(&'t str, &'t str)> {
    let mut found = Vec::new();
    for (n, clause) in clauses.iter().enumerate() {
        let has_script = clause
            .text
            .chars()
            .next()
            .is_some_and(|c| is_east_asian(c) || is_caseless(c));
        if !has_script {
            continue;
        }
        if let Some(next) = clauses.get(n + 1) {
            match (name(clause.text), name(next.text)) {
                (Some(own), None) if is_role(next.text) => found.push((own, next.text)),
                (None, Some(other)) if is_role(clause.text) && next.mark != '、' => {
                    found.push((other, clause.text));
                }
                _ => {}
            }
        }
        found.extend(in_clause(clause.text));
    }
    found
}

/// Name and role in one clause: `園主 林茂雄`, `山田 太郎 代表取締役`.
fn in_clause(clause: &str) -> Option<(&str, &str)> {
    if !clause.starts_with(is_east_asian) || clause.chars().count() > 24 {
        return None;
    }
    let (role, rest) = clause.split_once(' ')?;
    if is_role(role)
        && let Some(name) = name(rest)
    {
        return Some((name, role));
    }
    let (rest, role) = clause.rsplit_once(' ')?;
    Some((name(rest).filter(|_| is_role(role))?, role))
}
