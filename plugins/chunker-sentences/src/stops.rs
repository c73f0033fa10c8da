//! Characters that end, follow or continue a sentence.

use trawl_sdk::scan::ByteSet;

/// Kind of mark that may end a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// A full stop, which has other uses.
    Point,
    /// Several full stops, or `…`.
    Ellipsis,
    /// `!` and `?`, which also occur in URLs and code.
    Mark,
    /// A stop without any other use; no space is required after it.
    Certain,
}

impl Stop {
    /// Classifies `c`; `None` if it is not a stop.
    pub(crate) fn of(c: char) -> Option<Self> {
        Some(match c {
            '.' | '․' | '﹒' => Self::Point,
            '…' => Self::Ellipsis,
            '!' | '?' | '‼' | '‽' | '⁇' | '⁈' | '⁉' | '\u{37e}' => Self::Mark,
            '։' | '\u{61d}'..='\u{61f}' | '۔' | '\u{700}'..='\u{702}' | '߹' => Self::Certain,
            '\u{964}' | '\u{965}' => Self::Certain,
            '\u{e5a}' | '\u{e5b}' | '\u{f0d}'..='\u{f12}' | '\u{104a}' | '\u{104b}' => {
                Self::Certain
            }
            '\u{1362}' | '\u{1367}' | '\u{1368}' | '\u{17d4}' | '\u{17d5}' => Self::Certain,
            '\u{1803}' | '\u{1809}' | '\u{1944}' | '\u{1945}' => Self::Certain,
            '。' | '｡' | '！' | '？' | '．' | '︒' | '︕' | '︖' | '﹖' | '﹗' => {
                Self::Certain
            }
            '\u{a4ff}' | '\u{a60e}' | '\u{a60f}' | '\u{a92f}' | '\u{abeb}' => Self::Certain,
            _ => return None,
        })
    }

    /// Combines a stop with the one that follows it.
    pub(crate) fn then(self, next: Self) -> Self {
        match (self, next) {
            (Self::Point | Self::Ellipsis, Self::Point | Self::Ellipsis) => Self::Ellipsis,
            (Self::Certain, _) | (_, Self::Certain) => Self::Certain,
            _ => Self::Mark,
        }
    }
}

/// First bytes that the scan must examine: full stops and other marks, line feeds, the Greek
/// question mark `;`, and lead bytes of characters that include stops (for Thai and Lao, of all
/// characters).
pub(crate) const OF_INTEREST: ByteSet =
    ByteSet::of(b".!?;\n\xcd\xd6\xd8\xdb\xdc\xdf\xe0\xe1\xe2\xe3\xea\xef");

/// Closing quotes and brackets, and closing Markdown delimiters.
pub(crate) fn is_closer(c: char) -> bool {
    matches!(
        c,
        ')' | ']'
            | '}'
            | '"'
            | '\''
            | '”'
            | '’'
            | '»'
            | '›'
            | '“'
            | '」'
            | '』'
            | '）'
            | '】'
            | '》'
            | '〉'
            | '〕'
            | '］'
            | '｝'
            | '＂'
            | '＇'
            | '｣'
            | '*'
            | '_'
            | '`'
            | '~'
    )
}

/// Opening quotes and brackets, and opening Markdown delimiters.
pub(crate) fn is_opener(c: char) -> bool {
    matches!(
        c,
        '(' | '['
            | '{'
            | '"'
            | '\''
            | '“'
            | '‘'
            | '„'
            | '‚'
            | '«'
            | '»'
            | '‹'
            | '¿'
            | '¡'
            | '「'
            | '『'
            | '（'
            | '*'
            | '_'
            | '`'
            | '~'
            | '!'
    )
}

/// Marks that never start a sentence (`SContinue` in UAX #29).
pub(crate) fn continues(c: char) -> bool {
    matches!(
        c,
        ',' | ';'
            | ':'
            | '-'
            | '–'
            | '—'
            | '、'
            | '，'
            | '：'
            | '；'
            | '،'
            | '؛'
            | '､'
            | '﹐'
            | '﹑'
            | '﹣'
            | '－'
    )
}

/// Whether `c` belongs to a script that separates sentences by spaces instead of stops.
pub(crate) fn has_no_stops(c: char) -> bool {
    matches!(c, '\u{e01}'..='\u{e4e}' | '\u{e81}'..='\u{ece}' | '\u{edc}'..='\u{edf}')
}

/// Thai and Lao signs that follow a space within a sentence: repetition, abbreviation.
pub(crate) fn is_repetition(c: char) -> bool {
    matches!(c, 'ๆ' | 'ฯ' | 'ໆ' | 'ຯ')
}
