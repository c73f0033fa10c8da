//! Word boundaries of a text.

use trawl_sdk::scan::ByteSet;
use unicode_segmentation::{GraphemeCursor, UnicodeSegmentation, UnicodeWordIndices};

use crate::spaceless;

/// Iterator over the start offsets of words. The first word of a line starts with the line, any
/// other right after the space, so that marks before a word (list markers, quotes, brackets) stay
/// with it.
pub(crate) struct Words<'t> {
    text: &'t str,
    at: usize,
    /// End of the white space before `at`, or start of the line, if no word has started since.
    fresh: Option<usize>,
    /// Whether that is the start of a line.
    is_line: bool,
    /// The current part of a run without ASCII white space.
    part: Part<'t>,
    /// End of the part.
    part_end: usize,
}

/// Text without ASCII white space, by segmentation method.
enum Part<'t> {
    /// ASCII only.
    Ascii,
    /// Scripts without spaces.
    Spaceless,
    /// Anything else; offsets are relative to `from`.
    Other {
        from: usize,
        words: UnicodeWordIndices<'t>,
    },
}

impl<'t> Words<'t> {
    pub(crate) fn of(text: &'t str) -> Self {
        Self {
            text,
            at: 0,
            fresh: Some(0),
            is_line: true,
            part: Part::Ascii,
            part_end: 0,
        }
    }
}

impl Iterator for Words<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        loop {
            if self.at >= self.part_end {
                self.skip_space();
                if let Some(word) = self.simple_word() {
                    return Some(word);
                }
                if !self.open_part() {
                    return None;
                }
            }
            let word = match &mut self.part {
                Part::Ascii => self.ascii_word(),
                Part::Spaceless => self.spaceless_word(),
                Part::Other { from, words } => {
                    let word = words.next().map(|(start, _)| *from + start);
                    if word.is_none() {
                        self.at = self.part_end;
                    }
                    word
                }
            };
            if let Some(word) = word.and_then(|word| self.begin(word)) {
                return Some(word);
            }
        }
    }
}

impl<'t> Words<'t> {
    /// Fast path: an ASCII word followed by white space, or by a mark and white space. Most words
    /// are.
    fn simple_word(&mut self) -> Option<usize> {
        let bytes = self.text.as_bytes();
        let class = |at: usize| {
            bytes
                .get(at)
                .map_or(Class::Space, |&byte| CLASS[usize::from(byte)])
        };
        let start = self.at;
        if class(start) < Class::Digit {
            return None;
        }
        let mut end = NOT_OF_WORDS.find_or_end(bytes, start + 1);
        end += usize::from(class(end) == Class::Other);
        if class(end) != Class::Space {
            return None;
        }
        (self.at, self.part_end) = (end, end);
        self.is_line = false;
        self.fresh.take().or(Some(start))
    }

    /// Opens the next part; `false` at the end of the text.
    fn open_part(&mut self) -> bool {
        let bytes = self.text.as_bytes();
        let end = SPACE_OR_LONG.find_or_end(bytes, self.at);
        if bytes.get(end).is_some_and(|byte| !byte.is_ascii()) {
            self.open_long();
            return true;
        }
        self.part = Part::Ascii;
        self.part_end = end;
        end > self.at
    }

    /// Opens a part that is not all ASCII.
    fn open_long(&mut self) {
        let rest = &self.text[self.at..];
        let len;
        if rest.starts_with(spaceless::begins) {
            let is_other = |c| spaceless::Letter::of(c).is_none();
            len = rest.find(is_other).unwrap_or(rest.len());
            self.part = Part::Spaceless;
        } else {
            let is_other = |c: char| c.is_ascii_whitespace() || spaceless::begins(c);
            len = rest.find(is_other).unwrap_or(rest.len());
            let words = rest[..len].unicode_word_indices();
            self.part = Part::Other {
                from: self.at,
                words,
            };
        }
        self.part_end = self.at + len;
    }

    fn skip_space(&mut self) {
        let bytes = self.text.as_bytes();
        let start = self.at;
        let mut line = None;
        while let Some(&byte) = bytes.get(self.at)
            && CLASS[usize::from(byte)] == Class::Space
        {
            self.at += 1;
            if byte == b'\n' {
                line = Some(self.at);
            }
        }
        if line.is_some() {
            self.fresh = line;
            self.is_line = true;
        } else if self.at > start && !self.is_line {
            self.fresh = Some(self.at);
        }
    }

    /// Start of the word at `word` including the marks before it; `None` unless a character starts
    /// there.
    fn begin(&mut self, word: usize) -> Option<usize> {
        let fresh = self.fresh.take();
        self.is_line = false;
        let is_ascii = matches!(self.part, Part::Ascii);
        let mut begins = [fresh.unwrap_or(word), word].into_iter();
        begins.find(|&at| is_ascii || is_boundary(self.text, at))
    }

    /// The next word of an ASCII part, by the rules of UAX #29.
    fn ascii_word(&mut self) -> Option<usize> {
        let part = &self.text.as_bytes()[..self.part_end];
        let start = OF_WORDS.find_or_end(part, self.at);
        let mut at = NOT_OF_WORDS.find_or_end(part, start);
        while at < part.len() && joins(part, at) {
            at = NOT_OF_WORDS.find_or_end(part, at + 1);
        }
        let is_word = part[start..at]
            .iter()
            .any(|&byte| CLASS[usize::from(byte)] >= Class::Digit);
        self.at = at;
        is_word.then_some(start)
    }

    fn spaceless_word(&mut self) -> Option<usize> {
        let start = self.at;
        self.at += spaceless::word_len(&self.text[start..self.part_end]);
        Some(start)
    }
}

/// Word break class of a byte.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    Space,
    Other,
    /// Byte of a multi-byte character.
    Long,
    /// Occurs in words, is not a word on its own.
    Line,
    Digit,
    Letter,
}

const CLASS: [Class; 256] = {
    let mut classes = [Class::Long; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        classes[byte as usize] = match byte {
            b' ' | b'\t' | b'\n' | b'\r' | b'\x0c' => Class::Space,
            b'a'..=b'z' | b'A'..=b'Z' => Class::Letter,
            b'0'..=b'9' => Class::Digit,
            b'_' => Class::Line,
            _ => Class::Other,
        };
        byte += 1;
    }
    classes
};

/// Bytes of ASCII words.
const OF_WORDS: ByteSet = set(Class::Line, Class::Letter);
/// All other bytes.
const NOT_OF_WORDS: ByteSet = set(Class::Space, Class::Long);
const SPACE_OR_LONG: ByteSet = {
    let mut has = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        has[byte] = matches!(CLASS[byte], Class::Space | Class::Long);
        byte += 1;
    }
    ByteSet::of_table(has)
};

/// The bytes of the classes from `first` to `last`.
const fn set(first: Class, last: Class) -> ByteSet {
    let mut has = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        has[byte] = first as u8 <= CLASS[byte] as u8 && CLASS[byte] as u8 <= last as u8;
        byte += 1;
    }
    ByteSet::of_table(has)
}

/// Whether a mark at `at` joins its neighbours.
fn joins(part: &[u8], at: usize) -> bool {
    let is_between = |class| {
        let is = |byte: Option<&u8>| byte.is_some_and(|&byte| CLASS[usize::from(byte)] == class);
        is(part.get(at.wrapping_sub(1))) && is(part.get(at + 1))
    };
    match part[at] {
        b'.' | b'\'' => is_between(Class::Letter) || is_between(Class::Digit),
        b':' => is_between(Class::Letter),
        b',' | b';' => is_between(Class::Digit),
        _ => false,
    }
}

/// Whether a grapheme cluster starts at `at`.
fn is_boundary(text: &str, at: usize) -> bool {
    let mut chars = text[at..].chars();
    let mut before = text[..at].chars();
    let is_plain = |c: Option<char>| {
        c.is_none_or(|c| {
            c.is_ascii_alphanumeric() || matches!(c, ' ' | '\n' | '\u{4e00}'..='\u{9fff}')
        })
    };
    if is_plain(chars.next()) && is_plain(before.next_back()) {
        return true;
    }
    let mut cursor = GraphemeCursor::new(at, text.len(), true);
    cursor.is_boundary(text, 0).unwrap_or(true)
}
