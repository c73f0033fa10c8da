//! Where the text of `script`, `style`, `title` and the like ends, and where comments end. Source:
//! WHATWG HTML, "RCDATA state" to "Script data double escape end state", "Comment start state" to
//! "Comment end bang state".

use super::tag::is_space;

/// Offset of the end tag of `name` that ends the raw text starting at `from`, or the end of the
/// source.
pub(super) fn text_end(bytes: &[u8], from: usize, name: &str) -> usize {
    memchr::memchr_iter(b'<', &bytes[from..])
        .map(|at| from + at)
        .find(|&at| is_tag(bytes, at, b"</", name))
        .unwrap_or(bytes.len())
}

/// The same for `script`, where `<!--` and a `<script>` after it hide end tags.
pub(super) fn script_end(bytes: &[u8], from: usize) -> usize {
    /// How far the text is inside `<!-- <script>`.
    #[derive(Clone, Copy, PartialEq)]
    enum Escape {
        None,
        Comment { from: usize },
        Script { from: usize },
    }
    let mut escape = Escape::None;
    for at in memchr::memchr2_iter(b'<', b'>', &bytes[from..]).map(|at| from + at) {
        if bytes[at] == b'>' {
            if let Escape::Comment { from } | Escape::Script { from } = escape
                && at >= from + 2
                && bytes[at - 2..at] == *b"--"
            {
                escape = Escape::None;
            }
            continue;
        }
        escape = match escape {
            // The two dashes of `<!--` may also belong to `-->`.
            Escape::None if bytes[at..].starts_with(b"<!--") => Escape::Comment { from: at + 2 },
            Escape::None | Escape::Comment { .. } if is_tag(bytes, at, b"</", "script") => {
                return at;
            }
            Escape::Comment { from } if is_tag(bytes, at, b"<", "script") => {
                Escape::Script { from }
            }
            Escape::Script { from } if is_tag(bytes, at, b"</", "script") => {
                Escape::Comment { from }
            }
            same => same,
        };
    }
    bytes.len()
}

/// The extent of a comment.
pub(super) struct Comment {
    /// Offset one past its text.
    pub(super) text_end: usize,
    /// Offset of the markup after it.
    pub(super) next: usize,
}

/// The extent of the comment whose text starts at `start`, right after `<!--`; `None` when it is
/// not closed.
pub(super) fn comment_end(bytes: &[u8], start: usize) -> Option<Comment> {
    let rest = &bytes[start..];
    if rest.starts_with(b">") || rest.starts_with(b"->") {
        return Some(Comment {
            text_end: start,
            next: start + 1 + usize::from(rest[0] == b'-'),
        });
    }
    memchr::memchr_iter(b'-', rest).find_map(|dashes| {
        let length = match &rest[dashes..] {
            [b'-', b'-', b'>', ..] => 3,
            [b'-', b'-', b'!', b'>', ..] => 4,
            _ => return None,
        };
        Some(Comment {
            text_end: start + dashes,
            next: start + dashes + length,
        })
    })
}

/// Whether `open`, the name in any case, and a character that ends a tag name are at `at`.
fn is_tag(bytes: &[u8], at: usize, open: &[u8], name: &str) -> bool {
    let Some(rest) = bytes[at..].strip_prefix(open) else {
        return false;
    };
    rest.len() > name.len()
        && rest[..name.len()].eq_ignore_ascii_case(name.as_bytes())
        && (is_space(rest[name.len()]) || matches!(rest[name.len()], b'/' | b'>'))
}
