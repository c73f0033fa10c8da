//! Which characters end a sentence, which stand behind its end, and which show that it goes on.

/// A mark that may end a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// A full stop, which has other uses.
    Point,
    /// More than one full stop, or `…`.
    Ellipsis,
    /// `!` and `?`, which stand in addresses and code too.
    Mark,
    /// A stop that has no other use and needs no space behind it.
    Certain,
}

impl Stop {
    /// What `c` is, if it is a stop.
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

    /// This one with another behind it.
    pub(crate) fn then(self, next: Self) -> Self {
        match (self, next) {
            (Self::Point | Self::Ellipsis, Self::Point | Self::Ellipsis) => Self::Ellipsis,
            (Self::Certain, _) | (_, Self::Certain) => Self::Certain,
            _ => Self::Mark,
        }
    }
}

/// Bytes at which a scan for the end of a sentence has to look closer: full stops and marks, line feeds, the `;` that is a question
/// mark in Greek, and first bytes of characters among which are stops (for Thai and Lao, of all).
pub(crate) const IS_OF_INTEREST: [bool; 256] = {
    let mut table = [false; 256];
    let mut bytes: &[u8] = b".!?;\n\xcd\xd6\xd8\xdb\xdc\xdf\xe0\xe1\xe2\xe3\xea\xef";
    while let [byte, rest @ ..] = bytes {
        table[*byte as usize] = true;
        bytes = rest;
    }
    table
};

/// Closing quotes and brackets, and the marks that close a phrase in markdown.
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

/// Opening quotes and brackets, and marks that open a phrase.
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

/// Marks with which no sentence begins (`SContinue` of UAX #29).
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

/// Whether `c` is of a script that has spaces, but no stops, between sentences.
pub(crate) fn has_no_stops(c: char) -> bool {
    matches!(c, '\u{e01}'..='\u{e4e}' | '\u{e81}'..='\u{ece}' | '\u{edc}'..='\u{edf}')
}

/// Signs that follow a space within a sentence of Thai and Lao: repetition, abbreviation.
pub(crate) fn is_repetition(c: char) -> bool {
    matches!(c, 'ๆ' | 'ฯ' | 'ໆ' | 'ຯ')
}
