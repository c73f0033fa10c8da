//! The forms of postal codes.

// `FORMS`: the forms of all countries in the order in which they are tried.
include!(concat!(env!("OUT_DIR"), "/postal_codes.rs"));

/// The place of the town relative to its postal code.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Town {
    /// `04109 Leipzig`.
    After,
    /// `Portland, ME 04101`.
    Before,
}

/// The form of the postal codes of some countries: `9` is a digit, `A` a capital letter, `X`
/// either, a blank an optional blank; everything else is itself.
pub(super) struct Form {
    pub(super) countries: &'static [&'static str],
    pub(super) code: &'static str,
    pub(super) town: Town,
}

/// The ranges of a line that are postal codes of a form, set apart from other text.
pub(super) fn codes<'t>(line: &'t str, form: &'t str) -> impl Iterator<Item = (usize, usize)> + 't {
    line.char_indices().filter_map(move |(at, _)| {
        let before = line[..at].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '.' | '/' | '+' | '#')) {
            return None;
        }
        let is_after_dash = before == Some('-');
        let end = at + code_length(&line[at..], form)?;
        let after = line[end..].chars().next();
        let is_number = line[end..]
            .trim_start()
            .starts_with(|c: char| c.is_ascii_digit());
        let is_apart = !is_number
            && after.is_none_or(|c| !(c.is_alphanumeric() || matches!(c, '-' | '/' | '@')));
        let is_country = is_after_dash
            && line[..at - 1]
                .chars()
                .rev()
                .take_while(|c| c.is_ascii_uppercase())
                .count()
                > 0;
        (is_apart && (!is_after_dash || is_country)).then_some((at, end))
    })
}

fn code_length(text: &str, form: &str) -> Option<usize> {
    let mut bytes = text.bytes().enumerate().peekable();
    let mut length = 0;
    for wanted in form.bytes() {
        let next = bytes.peek().map(|&(_, byte)| byte);
        let fits = match wanted {
            b'9' => next.is_some_and(|byte| byte.is_ascii_digit()),
            b'X' => next.is_some_and(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit()),
            b'A' => next.is_some_and(|byte| byte.is_ascii_uppercase()),
            b' ' if next != Some(b' ') => continue,
            literal => next == Some(literal),
        };
        if !fits {
            return None;
        }
        length = bytes.next()?.0 + 1;
    }
    Some(length)
}
