//! E-mail addresses written out in a text.

/// The sign of e-mail addresses, and its wide form.
pub(crate) const AT_SIGNS: [char; 2] = ['@', '＠'];

/// Maximum bytes in front of an e-mail address that are searched for the start of a URL.
const NEAR_BYTES: usize = 500;

/// Whether a character may be part of a domain in a text.
pub(crate) fn is_domain(character: char) -> bool {
    character.is_ascii_alphanumeric()
        || matches!(character, '.' | '-')
        || (!character.is_ascii() && character.is_alphanumeric() && is_word(character))
}

/// Whether a character may be part of a local part in a text.
pub(crate) fn is_local(character: char) -> bool {
    is_domain(character) || "_%+'&".contains(character)
}

/// Whether a letter is of a script that separates words; in other scripts the match would include
/// the sentence around the e-mail address.
pub(crate) fn is_word(character: char) -> bool {
    (character as u32) < 0x0530
}

/// Calls `found` with each e-mail address around one of the signs, written with `@`, and the text
/// in front of it.
pub(super) fn scan(text: &str, signs: &[char], found: &mut dyn FnMut(&str, &str)) {
    for (at, sign) in text.match_indices(signs) {
        let (before, after) = (&text[..at], &text[at + sign.len()..]);
        let start = before.trim_end_matches(is_local).len();
        let local = before[start..].trim_start_matches(['.', '-', '\'', '&', '+']);
        let end = after.find(|c: char| !is_domain(c)).unwrap_or(after.len());
        let domain = trimmed(&after[..end]);
        if local.is_empty() || !domain.contains('.') {
            continue;
        }
        let before = &before[..before.len() - local.len()];
        if !is_elsewhere(before, local, &after[domain.len()..]) {
            found(&format!("{local}@{domain}"), before);
        }
    }
}

/// Whether the match is not a mailbox: an SSH login, or a file in a package registry.
fn is_elsewhere(before: &str, local: &str, after: &str) -> bool {
    let is_login = after.starts_with(':')
        && after[1..].starts_with(|c: char| c.is_alphanumeric() || c == '/' || c == '~');
    let before = &before[before.floor_char_boundary(before.len().saturating_sub(NEAR_BYTES))..];
    let is_url = before.ends_with("://")
        || before.ends_with('/')
        || before.ends_with(':')
            && before[..before.len() - 1].contains("://")
            && !before.contains(' ');
    (local == "git" && is_login) || is_url || before.ends_with('@')
}

/// A domain without the full stop of its sentence and the first word of the next one.
fn trimmed(domain: &str) -> &str {
    let domain = domain.trim_end_matches(['.', '-']);
    match domain.rsplit_once('.') {
        Some((rest, last))
            if rest.contains('.')
                && starts_sentence(last)
                && !rest.contains(char::is_uppercase) =>
        {
            rest
        }
        _ => domain,
    }
}

fn starts_sentence(word: &str) -> bool {
    let mut characters = word.chars();
    characters.next().is_some_and(char::is_uppercase)
        && characters.all(char::is_lowercase)
        && word.len() > 1
}
