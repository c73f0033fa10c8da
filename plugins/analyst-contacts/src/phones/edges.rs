//! Characters next to digits that make them part of something else.

/// Whether the digits continue a word, a path or a decimal number on their left.
pub(super) fn is_joined_before(before: &str) -> bool {
    let mut characters = before.chars().rev();
    let Some(last) = characters.next() else {
        return false;
    };
    let second = characters.next();
    if last.is_alphanumeric() {
        return is_latin(last);
    }
    let is_glue = matches!(
        last,
        '@' | '_' | '=' | '&' | '%' | '\\' | '/' | '-' | '.' | ',' | '–' | '*' | '~' | '$'
    );
    is_glue
        && second.is_some_and(|second| second.is_ascii_alphanumeric())
        && !(last == '.' && second.is_some_and(char::is_alphabetic))
}

/// Whether letters in brackets mark a document number: `(DE 05 4417283)`.
pub(super) fn is_document(before: &str) -> bool {
    let Some(word) = before.strip_suffix([' ', '\u{a0}']) else {
        return false;
    };
    let letters = word
        .bytes()
        .rev()
        .take_while(u8::is_ascii_uppercase)
        .count();
    (1..=2).contains(&letters)
        && word[..word.len() - letters].ends_with(['(', '['])
        && !word.ends_with(['T', 'M', 'P', 'F'])
}

pub(super) fn is_joined_after(after: &str) -> bool {
    let mut characters = after.chars();
    let (first, second) = (characters.next(), characters.next());
    let is_digit = second.is_some_and(|second| second.is_ascii_digit());
    match first {
        Some('@' | '_' | '%' | '=') => true,
        Some(':' | ',' | '*') if is_digit => true,
        Some('-' | '/' | '\\') => second.is_some_and(|second| second.is_ascii_alphanumeric()),
        Some(first) => first.is_alphanumeric() && is_latin(first),
        None => false,
    }
}

/// Whether a character is of a script that separates words by spaces.
pub(super) fn is_latin(character: char) -> bool {
    (character as u32) < 0x0530
}
