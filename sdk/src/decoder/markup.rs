//! What all written HTML has in common.

use std::borrow::Cow;

/// Elements without content.
pub(super) const VOID: [&str; 6] = ["br", "hr", "img", "col", "source", "wbr"];

/// A text with the characters escaped that mean something in HTML, also in attributes.
pub(super) fn escaped(text: &str) -> Cow<'_, str> {
    let Some(first) = text.find(['&', '<', '>', '"', '\0']) else {
        return Cow::Borrowed(text);
    };
    let (before, rest) = text.split_at(first);
    let mut escaped = String::with_capacity(text.len() + 16);
    escaped.push_str(before);
    for character in rest.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\0' => escaped.push('\u{FFFD}'),
            other => escaped.push(other),
        }
    }
    Cow::Owned(escaped)
}
