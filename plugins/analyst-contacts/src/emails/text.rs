//! E-mail addresses written out in a text.

/// Whether a character may be part of a local part in a text.
fn is_local(character: char) -> bool {
    character.is_ascii_alphanumeric()
        || "._%+'&-".contains(character)
        || (!character.is_ascii() && character.is_alphanumeric() && is_word(character))
}

fn is_domain(character: char) -> bool {
    character.is_ascii_alphanumeric()
        || matches!(character, '.' | '-')
        || (!character.is_ascii() && character.is_alphanumeric() && is_word(character))
}

/// Whether a letter is of a script that separates words; in other scripts the match would include
/// the sentence around the e-mail address.
pub(crate) fn is_word(character: char) -> bool {
    (character as u32) < 0x0530
}

/// Signs used in place of `@`, a Japanese habit that readers know to undo.
const SIGNS: [char; 10] = ['@', '＠', '★', '☆', '◎', '●', '■', '◆', '#', '＃'];

/// Maximum bytes around a sign that are searched: a very long line would be read again for each
/// sign.
const NEAR_BYTES: usize = 500;

/// Whether the line explains its sign: `sales#acme.cn (# 换成 @)`.
fn is_explained(line: &str, sign: char) -> bool {
    line.matches(sign).count() > 1 && line.contains(['@', '＠'])
}

/// The line around an offset, cut to the bytes near it.
fn line_around(text: &str, at: usize) -> &str {
    let first = text.floor_char_boundary(at.saturating_sub(NEAR_BYTES));
    let last = text.floor_char_boundary((at + NEAR_BYTES).min(text.len()));
    let start = text[first..at].rfind('\n').map_or(first, |n| first + n + 1);
    let end = text[at..last].find('\n').map_or(last, |n| at + n);
    &text[start..end]
}

/// Calls `found` with each e-mail address and the text in front of it.
pub(super) fn scan(text: &str, found: &mut dyn FnMut(&str, &str)) {
    for (at, sign) in text.char_indices().filter(|(_, c)| SIGNS.contains(c)) {
        let (before, after) = (&text[..at], &text[at + sign.len_utf8()..]);
        let local = end_of(before, is_local);
        let domain = start_of(after, is_domain);
        let domain = trimmed(domain);
        let local = local.trim_start_matches(['.', '-', '\'', '&', '+']);
        if local.is_empty() || !domain.contains('.') {
            continue;
        }
        if matches!(sign, '#' | '＃') && !is_explained(line_around(text, at), sign) {
            continue;
        }
        let before = &before[..before.len() - local.len()];
        if is_elsewhere(before, local, &after[domain.len()..]) {
            continue;
        }
        found(&format!("{local}@{domain}"), before);
    }
}

/// Whether the match is no mailbox: an SSH login, or a file in a package registry.
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

pub(super) fn end_of(text: &str, is_part: impl Fn(char) -> bool) -> &str {
    let start = text
        .char_indices()
        .rev()
        .take_while(|(_, c)| is_part(*c))
        .last();
    &text[start.map_or(text.len(), |(at, _)| at)..]
}

pub(super) fn start_of(text: &str, is_part: impl Fn(char) -> bool) -> &str {
    let end = text.find(|c: char| !is_part(c)).unwrap_or(text.len());
    &text[..end]
}

/// A domain without the full stop of its sentence and the first word of the next one.
pub(super) fn trimmed(domain: &str) -> &str {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_text_near_a_sign_is_read() {
        let far = "é".repeat(NEAR_BYTES);
        for (text, expected) in [
            ("a#b.cn (# = @)".to_owned(), "a@b.cn"),
            (format!("a#b.cn {far} (# = @)"), ""),
            (format!("{far} a#b.cn (# = @)"), "a@b.cn"),
            ("ssh://user:key@acme.de".to_owned(), ""),
            (format!("{far}://a@acme.de"), ""),
        ] {
            let mut found = Vec::new();
            scan(&text, &mut |address, _| found.push(address.to_owned()));
            assert_eq!(found.join(" "), expected, "{text}");
        }
    }
}
