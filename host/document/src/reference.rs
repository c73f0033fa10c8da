//! Character references: `&amp;`, `&#39;`. Source: WHATWG HTML, "Character reference state".

use html5ever::data::{C1_REPLACEMENTS, NAMED_ENTITIES};

/// A decoded reference.
pub(super) struct Reference {
    /// Bytes of the reference after its `&`.
    pub(super) length: usize,
    /// The characters; the second is NUL when there is only one.
    pub(super) characters: (char, char),
}

/// Reads the reference whose `&` is right before `rest`; `None` when the `&` is literal.
pub(super) fn read(rest: &str, in_attribute: bool) -> Option<Reference> {
    let known = |length, character| {
        Some(Reference {
            length,
            characters: (character, '\0'),
        })
    };
    match rest.as_bytes() {
        [b'l', b't', b';', ..] => known(3, '<'),
        [b'g', b't', b';', ..] => known(3, '>'),
        [b'a', b'm', b'p', b';', ..] => known(4, '&'),
        [b'q', b'u', b'o', b't', b';', ..] => known(5, '"'),
        [b'#', b'x' | b'X', digits @ ..] => numeric(digits, 16, 2),
        [b'#', digits @ ..] => numeric(digits, 10, 1),
        [first, ..] if first.is_ascii_alphanumeric() => named(rest, in_attribute),
        _ => None,
    }
}

fn numeric(digits: &[u8], radix: u32, before: usize) -> Option<Reference> {
    let mut number = 0u32;
    let mut n_digits = 0;
    for digit in digits
        .iter()
        .map_while(|&byte| (byte as char).to_digit(radix))
    {
        // All numbers above U+10FFFF are equally invalid.
        number = (number * radix + digit).min(0x11_0000);
        n_digits += 1;
    }
    if n_digits == 0 {
        return None;
    }
    let semicolon = usize::from(digits.get(n_digits) == Some(&b';'));
    Some(Reference {
        length: before + n_digits + semicolon,
        characters: (character(number), '\0'),
    })
}

fn character(number: u32) -> char {
    let replaced = match number {
        0 => None,
        0x80..=0x9F => C1_REPLACEMENTS[(number - 0x80) as usize].or(char::from_u32(number)),
        _ => char::from_u32(number),
    };
    replaced.unwrap_or('\u{fffd}')
}

/// The longest name that matches. In an attribute, a name without semicolon counts only if no
/// letter, digit or `=` follows.
fn named(rest: &str, in_attribute: bool) -> Option<Reference> {
    let mut best = None;
    // The table also contains every prefix of a name, with a zero as its character.
    for (at, character) in rest.char_indices() {
        let length = at + character.len_utf8();
        match NAMED_ENTITIES.get(&rest[..length]) {
            Some(&(0, _)) => {}
            Some(&characters) => best = Some((length, characters)),
            None => break,
        }
    }
    let (length, (first, second)) = best?;
    let after = rest.as_bytes().get(length);
    let is_open = rest.as_bytes()[length - 1] != b';';
    if in_attribute
        && is_open
        && after.is_some_and(|&byte| byte == b'=' || byte.is_ascii_alphanumeric())
    {
        return None;
    }
    let character = |number| char::from_u32(number).unwrap_or('\u{fffd}');
    Some(Reference {
        length,
        characters: (character(first), character(second)),
    })
}

/// An attribute's value with its references decoded and NUL replaced by U+FFFD.
pub(super) fn replace_all(value: &str) -> String {
    let mut replaced = String::with_capacity(value.len());
    let mut rest = value;
    while let Some(at) = memchr::memchr2(b'&', b'\0', rest.as_bytes()) {
        replaced.push_str(&rest[..at]);
        let is_nul = rest.as_bytes()[at] == 0;
        rest = &rest[at + 1..];
        if is_nul {
            replaced.push('\u{fffd}');
            continue;
        }
        match read(rest, true) {
            Some(reference) => {
                push(&mut replaced, reference.characters);
                rest = &rest[reference.length..];
            }
            None => replaced.push('&'),
        }
    }
    replaced.push_str(rest);
    replaced
}

/// Appends a reference's characters.
pub(super) fn push(text: &mut String, (first, second): (char, char)) {
    text.push(first);
    if second != '\0' {
        text.push(second);
    }
}
