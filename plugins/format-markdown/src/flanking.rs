//! Delimiter runs of emphasis (CommonMark, "Emphasis and strong emphasis").

/// Whether a delimiter between these two characters can open emphasis; `None` is the start of a
/// line.
pub(crate) fn can_open(before: Option<char>, next: char) -> bool {
    !next.is_whitespace() && (!may_be_punctuation(next) || before.is_none_or(parts))
}

/// Whether a delimiter between these two characters can close emphasis; `None` is white space or
/// the end of a line.
pub(crate) fn can_close(before: Option<char>, next: Option<char>) -> bool {
    before.is_some_and(|before| {
        !before.is_whitespace() && (!may_be_punctuation(before) || next.is_none_or(parts))
    })
}

/// White space, or punctuation in every version of the standard.
fn parts(c: char) -> bool {
    c.is_whitespace()
        || c.is_ascii_punctuation()
        || matches!(
            c,
            '\u{a1}' | '\u{a7}' | '\u{ab}' | '\u{b6}' | '\u{b7}' | '\u{bb}' | '\u{bf}'
        )
        || matches!(c, '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{203e}')
        || matches!(c, '\u{3001}'..='\u{3003}' | '\u{3008}'..='\u{3011}' | '\u{3014}'..='\u{301b}')
        || matches!(c, '\u{ff01}'..='\u{ff03}' | '\u{ff05}'..='\u{ff0a}' | '\u{ff0c}'..='\u{ff0f}')
        || matches!(c, '\u{ff1a}' | '\u{ff1b}' | '\u{ff1f}' | '\u{ff20}')
}

/// Punctuation in some version of the standard.
fn may_be_punctuation(c: char) -> bool {
    !c.is_alphanumeric() && !c.is_whitespace()
}
