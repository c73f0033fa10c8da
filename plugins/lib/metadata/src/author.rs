//! Cleans up the names of authors.

use crate::months::month_of;

/// Maximum name length in characters.
const NAME_CHARS_MAX: usize = 100;

/// Maximum number of words in a name from visible text.
const VISIBLE_WORDS_MAX: usize = 8;

/// Words before a name, in several languages; a longer prefix precedes its own prefixes.
#[rustfmt::skip]
const LEADS: [&str; 24] = [
    "written by", "posted by", "published by", "reviewed by", "article by", "story by", "words by",
    "text by", "authored by", "created by", "by", "author:", "authors:", "author", "von", "par",
    "por", "di", "door", "autor:", "автор:", "作者：", "作者:", "著者:",
];

/// Words and marks that end a name.
#[rustfmt::skip]
const ENDS: [&str; 15] = [
    " | ", " • ", " · ", " – ", " — ", " on ", " in ", " published ", " updated ", " posted ",
    " / ", " · ", "\u{2022}", " @", " » ",
];

/// Name particles in lower case.
const SMALL_WORDS: [&str; 24] = [
    "and", "und", "et", "y", "e", "en", "de", "da", "do", "dos", "del", "della", "di", "du", "la",
    "le", "van", "von", "der", "den", "ter", "bin", "al", "of",
];

/// Words that are never names.
#[rustfmt::skip]
const NO_NAMES: [&str; 14] = [
    "posted", "published", "updated", "guest", "staff", "share", "author", "by", "unknown",
    "anonymous", "none", "null", "undefined", "view all posts",
];

/// All distinct names joined; `None` without any.
pub(crate) fn joined(names: impl IntoIterator<Item = String>) -> Option<String> {
    let mut distinct: Vec<String> = Vec::new();
    for name in names {
        let is_new = |other: &String| !other.eq_ignore_ascii_case(&name);
        if distinct.iter().all(is_new) {
            distinct.push(name);
        }
    }
    (!distinct.is_empty()).then(|| distinct.join("; "))
}

/// A name from structured data: accepted unless it is clearly not a name.
pub(crate) fn from_data(text: &str) -> Option<String> {
    let name = without_lead(text.trim()).trim_matches([',', ';', ':', '|', ' ']);
    is_name(name).then(|| name.to_owned())
}

/// A name from visible text, with a lead before it or other text after it. Text of nested elements
/// is on lines of its own.
pub(crate) fn from_visible(text: &str) -> Option<String> {
    // A line with only a lead is followed by the name.
    let mut lines = text.lines().filter(|line| !is_lead(line));
    of_line(lines.next()?)
}

/// The name in a text that starts with a lead, or in the next text if the first is only a lead.
pub(crate) fn from_lead(text: &str, next: Option<&str>) -> Option<String> {
    if is_lead(text) {
        return of_line(next?);
    }
    let rest = without_lead(text);
    (rest.len() < text.len()).then(|| of_line(rest))?
}

fn is_lead(text: &str) -> bool {
    let text = text.trim().trim_end_matches([':', ' ']).to_lowercase();
    LEADS.iter().any(|lead| lead.trim_end_matches(':') == text)
}

fn of_line(text: &str) -> Option<String> {
    let text = without_lead(text.trim());
    let end = ENDS
        .iter()
        .filter_map(|end| find(text, end))
        .min()
        .unwrap_or(text.len());
    let text = &text[..end];
    // A date or a number of comments follows.
    let end = text
        .find(|c: char| c.is_ascii_digit())
        .unwrap_or(text.len());
    let is_cut = end < text.len() && (end == 0 || text[..end].ends_with(' '));
    let end = if is_cut { end } else { text.len() };
    let mut name = trimmed(&text[..end]);
    while is_cut
        && let Some(word) = name.rsplit(' ').next()
        && (month_of(word).is_some() || is_weekday(word))
    {
        name = trimmed(&name[..name.len() - word.len()]);
    }
    (is_name(name) && are_names(name)).then(|| name.to_owned())
}

fn is_weekday(word: &str) -> bool {
    const DAYS: [&str; 7] = [
        "monday",
        "tuesday",
        "wednesday",
        "thursday",
        "friday",
        "saturday",
        "sunday",
    ];
    let word = word.to_lowercase();
    word.len() >= 3 && DAYS.iter().any(|day| day.starts_with(&word))
}

fn trimmed(name: &str) -> &str {
    name.trim_matches([',', ';', ':', '|', ' ', '-', '–', '—', '(', '#', '»'])
}

/// Whether the words look like names and not like a sentence: few, and nearly all capitalized in
/// scripts with capitals.
fn are_names(name: &str) -> bool {
    let words: Vec<&str> = name
        .split([' ', ','])
        .filter(|word| !word.is_empty())
        .collect();
    let is_small =
        |word: &&&str| word.starts_with(char::is_lowercase) && !SMALL_WORDS.contains(word);
    words.len() == 1
        || (words.len() <= VISIBLE_WORDS_MAX && words.iter().filter(is_small).count() == 0)
        || (words.len() == 2 && words.iter().filter(is_small).count() == 2)
}

fn without_lead(text: &str) -> &str {
    let mut text = text;
    // The lead may be repeated: `Author: By A. Person`.
    for _ in 0..2 {
        let lead = LEADS.iter().find(|lead| {
            let head = text.get(..lead.len());
            let is_lead = head.is_some_and(|head| head.to_lowercase() == **lead);
            is_lead
                && (lead.ends_with([':', '：'])
                    || text[lead.len()..].starts_with([' ', ':', '\u{a0}']))
        });
        let Some(lead) = lead else {
            break;
        };
        text = text[lead.len()..].trim_start_matches([' ', ':', '\u{a0}']);
    }
    text
}

fn is_name(name: &str) -> bool {
    let n_chars = name.chars().count();
    let has_letter = name.chars().any(char::is_alphabetic);
    let is_url = name.contains("://")
        || name.contains("www.")
        || name.contains('@')
        || name.contains(['<', '{', '}']);
    (2..=NAME_CHARS_MAX).contains(&n_chars)
        && has_letter
        && !is_url
        && !NO_NAMES.iter().any(|word| name.eq_ignore_ascii_case(word))
}

/// Finds a substring, ignoring ASCII case.
fn find(text: &str, part: &str) -> Option<usize> {
    let part = part.as_bytes();
    let at = text
        .as_bytes()
        .windows(part.len())
        .position(|window| window.eq_ignore_ascii_case(part))?;
    text.is_char_boundary(at).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::{from_data, from_visible, joined};

    #[test]
    fn text_around_a_name_is_removed() {
        for text in [
            "Ada Person",
            "By Ada Person",
            "by: Ada Person",
            "Written by Ada Person | May 17, 2024",
            "Von Ada Person",
            "Ada Person · 5 min read",
            "Author: By Ada Person on May 1",
            "Ada Person, 17 May 2024",
            "作者：Ada Person",
            "Par Ada Person —",
        ] {
            assert_eq!(from_visible(text).as_deref(), Some("Ada Person"), "{text}");
        }
    }

    #[test]
    fn other_texts_are_not_names() {
        for text in [
            "",
            "A",
            "By",
            "https://example.com/ada",
            "@ada",
            "ada@example.com",
            "17 May 2024",
            "{{author}}",
            "This is a sentence about the person who wrote all of this",
        ] {
            assert_eq!(from_visible(text), None, "{text}");
        }
        assert_eq!(from_data("https://example.com/ada"), None);
        assert_eq!(from_data("Unknown"), None);
    }

    #[test]
    fn names_in_data_keep_their_titles_and_numbers() {
        assert_eq!(
            from_data("Ada Person, MS, RD").as_deref(),
            Some("Ada Person, MS, RD")
        );
        assert_eq!(from_data("user1234").as_deref(), Some("user1234"));
        assert_eq!(from_data("by Ada").as_deref(), Some("Ada"));
    }

    #[test]
    fn several_names_are_joined_each_once() {
        let names = ["Ada", "Bob", "ada"].map(str::to_owned);
        assert_eq!(joined(names).as_deref(), Some("Ada; Bob"));
        assert_eq!(joined([]), None);
    }
}
