//! The best boundary for a piece whose units are smaller than words.

/// Maximum length of the mark before a boundary, in bytes.
const MARK_BYTES: usize = 4;

/// The best boundary from `earliest` to `full`: after a paragraph, a line, a sentence, or a word.
pub fn best_end(text: &str, earliest: usize, full: usize) -> Option<usize> {
    let from = text.floor_char_boundary(earliest.saturating_sub(MARK_BYTES));
    let last = text.get(from..full)?;
    let ends = [
        last.rfind("\n\n").map(|at| at + 2),
        last.rfind('\n').map(|at| at + 1),
        sentence(&text[from..], last.len()),
        word(last),
    ];
    let mut ends = ends.into_iter().flatten().map(|end| from + end);
    ends.find(|&end| end >= earliest)
}

/// Start of the last sentence at or before `full`, judged by punctuation alone.
fn sentence(text: &str, full: usize) -> Option<usize> {
    let mut begin = None;
    let mut end = End::None;
    for (at, c) in text.char_indices().take_while(|&(at, _)| at <= full) {
        end = match c {
            '.' | '!' | '?' | '…' | '؟' | '۔' | '।' | '॥' | '։' => End::Stop,
            '。' | '！' | '？' | '｡' => End::Whole,
            ')' | ']' | '"' | '\'' | '”' | '’' | '»' | '*' | '_' | '」' | '』' | '）' | '】' => {
                end
            }
            _ if c.is_whitespace() && end != End::None => End::Whole,
            _ => {
                if end == End::Whole {
                    begin = Some(at);
                }
                End::None
            }
        };
    }
    begin
}

/// How much of a sentence's end has been scanned.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    None,
    /// A stop that must be followed by white space.
    Stop,
    /// A complete end.
    Whole,
}

/// Start of the last word.
fn word(last: &str) -> Option<usize> {
    let (at, space) = last.char_indices().rfind(|(_, c)| c.is_whitespace())?;
    Some(at + space.len_utf8())
}
