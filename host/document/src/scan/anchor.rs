//! The text of a link, read from the source behind its start tag.

use super::super::reference;

/// Bytes of source that are read for it: texts of links are short.
const SOURCE_BYTES_MAX: usize = 2_000;
/// Longest text, in characters.
const CHARS_MAX: usize = 200;

/// The text of the element that begins at `source`: without tags, each white space one blank.
/// `None` if there is none.
pub(super) fn text(source: &str) -> Option<String> {
    let source = &source[..source.floor_char_boundary(SOURCE_BYTES_MAX)];
    let mut written = String::new();
    let mut rest = source;
    loop {
        let (before, tag) = match rest.find('<') {
            Some(at) => rest.split_at(at),
            None => (rest, ""),
        };
        written.push_str(before);
        let is_link = |tag: &str| {
            let name = tag.trim_start_matches(['<', '/']).as_bytes();
            let is_a = name
                .first()
                .is_some_and(|first| first.eq_ignore_ascii_case(&b'a'));
            is_a && name.get(1).is_none_or(|next| !next.is_ascii_alphanumeric())
        };
        if tag.is_empty() || is_link(tag) {
            break;
        }
        // Elements may stand for white space, such as `br`.
        written.push(' ');
        rest = match tag.find('>') {
            Some(end) => &tag[end + 1..],
            None => "",
        };
    }
    let read = reference::replace_all(&written);
    let words: Vec<&str> = read.split_whitespace().collect();
    let text: String = words.join(" ").chars().take(CHARS_MAX).collect();
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_ends_with_its_link() {
        let check = |source: &str, expected: Option<&str>| {
            assert_eq!(text(source).as_deref(), expected, "{source}");
        };
        check("Home</a> page", Some("Home"));
        check(" a <b>bold</b>\n word</A>x", Some("a bold word"));
        check(
            "one<br>two &amp; three<a href=x>four",
            Some("one two & three"),
        );
        check("<img src=x></a>", None);
        check("no end", Some("no end"));
        check("x<abbr>y</abbr></a >z", Some("x y"));
        check("cut<b", Some("cut"));
        let long = text(&"ü ".repeat(5_000)).expect("a text");
        assert_eq!(long.chars().count(), CHARS_MAX);
    }
}
