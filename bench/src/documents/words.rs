//! Texts as they are compared: words without case, marks and the details of typography.

/// The words of a text. Characters of scripts without spaces are a word each.
pub(super) fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut open = String::new();
    for character in text.chars().flat_map(plain) {
        if character == '\u{AD}' {
            continue;
        }
        let is_alone = is_ideograph(character);
        if (is_alone || !is_part(character)) && !open.is_empty() {
            words.push(std::mem::take(&mut open));
        }
        if is_alone {
            words.push(character.to_string());
        } else if is_part(character) {
            open.extend(character.to_lowercase());
        }
    }
    if !open.is_empty() {
        words.push(open);
    }
    words
}

/// A text by its words.
pub(super) fn key(text: &str) -> String {
    words(text).join(" ")
}

/// A text by its first words.
pub(super) fn first(text: &str, count: usize) -> String {
    let mut words = words(text);
    words.truncate(count);
    words.join(" ")
}

/// A heading without its number: `2.1`, `A.3`, `Chapter 4`, `Appendix B`.
pub(super) fn heading(text: &str) -> String {
    const NAMES: [&str; 4] = ["chapter", "appendix", "section", "part"];
    let words = words(text);
    let is_number = |word: &str| word.chars().all(char::is_numeric);
    let mut from = 0;
    if words
        .first()
        .is_some_and(|word| NAMES.contains(&word.as_str()))
    {
        from = 1;
    }
    let is_letter = |word: &str| word.len() == 1 && word.chars().all(char::is_alphabetic);
    if let Some(word) = words.get(from)
        && (is_number(word)
            || is_letter(word)
                && (from == 1 || words.get(from + 1).is_some_and(|it| is_number(it))))
    {
        from += 1;
        while words.get(from).is_some_and(|word| is_number(word)) {
            from += 1;
        }
    }
    // A heading that is nothing but its number has it as its text.
    match words.get(from..) {
        Some([]) | None => words.join(" "),
        Some(rest) => rest.join(" "),
    }
}

/// The target of a link to the web as it is compared: without scheme, `www.` and a slash at its
/// end. `None` for links within the document.
pub(super) fn target(url: &str) -> Option<String> {
    let url = url.trim();
    let schemes = ["https://", "http://", "ftp://", "mailto:"];
    let rest = schemes.iter().find_map(|scheme| url.strip_prefix(scheme))?;
    let rest = rest.strip_prefix("www.").unwrap_or(rest);
    // Sphinx writes the sign of an e-mail address so.
    let rest = rest.trim_end_matches('/').replace("%40", "@");
    Some(rest.to_lowercase())
}

/// The addresses of the web and of e-mail that a text shows, as [`target`] makes them.
pub(super) fn addresses(text: &str) -> Vec<String> {
    let is_between = |c: char| c.is_whitespace() || "<>()[]{}\"“”‘’«»|".contains(c);
    let words = text.split(is_between).map(|word| {
        let ends = |c: char| ".,;:!?'`…".contains(c);
        word.trim_matches(ends)
    });
    let address = |word: &str| {
        let schemes = ["https://", "http://", "ftp://", "mailto:"];
        if let Some(from) = schemes.iter().filter_map(|scheme| word.find(scheme)).min() {
            return target(word.get(from..)?);
        }
        let (name, host) = word.split_once('@')?;
        (!name.is_empty() && host.contains('.')).then(|| word.to_lowercase())
    };
    words.filter_map(address).collect()
}

/// A character as its plain ones: ligatures as letters, characters of full width as those of ASCII.
fn plain(character: char) -> impl Iterator<Item = char> {
    let letters: &[char] = match character {
        '\u{FB00}' => &['f', 'f'],
        '\u{FB01}' => &['f', 'i'],
        '\u{FB02}' => &['f', 'l'],
        '\u{FB03}' => &['f', 'f', 'i'],
        '\u{FB04}' => &['f', 'f', 'l'],
        '\u{FB05}' | '\u{FB06}' => &['s', 't'],
        _ => &[],
    };
    let one = match character {
        '\u{FF01}'..='\u{FF5E}' => char::from_u32(u32::from(character) - 0xFEE0),
        other => Some(other),
    };
    let one = one.filter(|_| letters.is_empty());
    letters.iter().copied().chain(one)
}

/// Whether a character belongs to a word.
fn is_part(character: char) -> bool {
    character.is_alphanumeric()
}

/// Whether words of a character's script have no spaces between them.
fn is_ideograph(character: char) -> bool {
    matches!(character, '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7AF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}')
}

#[cfg(test)]
mod tests {
    use super::{addresses, first, heading, key, target};

    #[test]
    fn words_are_without_case_marks_and_ligatures() {
        assert_eq!(
            key("The \u{FB01}rst—tide, co\u{AD}op\n2nd"),
            "the first tide coop 2nd"
        );
        assert_eq!(key("潮の Ａ"), "潮 の a");
        assert_eq!(first("one two three", 2), "one two");
    }

    #[test]
    fn headings_are_without_their_numbers() {
        for (text, expected) in [
            ("2.1 Tides", "tides"),
            ("Chapter 4. The 3 ships", "the 3 ships"),
            ("Appendix B: Ships", "ships"),
            ("A.3 Ships", "ships"),
            ("A ship", "a ship"),
            ("1984", "1984"),
        ] {
            assert_eq!(heading(text), expected, "{text}");
        }
    }

    #[test]
    fn only_links_to_the_web_have_a_target() {
        assert_eq!(
            target("https://www.A.example/b/").as_deref(),
            Some("a.example/b")
        );
        assert_eq!(
            target("mailto:ann@a.example").as_deref(),
            Some("ann@a.example")
        );
        assert_eq!(
            target("mailto:ann%40a.example").as_deref(),
            Some("ann@a.example")
        );
        assert_eq!(target("ch01.html#x"), None);
    }

    #[test]
    fn addresses_end_before_marks() {
        assert_eq!(
            addresses(
                "(see http://A.example/b.), <ann@a.example>; “https://www.c.example/” a@b @c"
            ),
            ["a.example/b", "ann@a.example", "c.example"]
        );
    }
}
