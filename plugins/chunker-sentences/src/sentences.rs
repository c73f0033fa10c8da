//! Sentence boundaries of a text.

use trawl_sdk::scan::ByteSet;

use crate::abbreviations::Point;
use crate::stops::{
    OF_INTEREST, Stop, continues, has_no_stops, is_closer, is_opener, is_repetition,
};

/// Minimum length of a line of wrapped text, in bytes.
const WRAPPED_MIN: usize = 40;
/// Minimum length in bytes of a sentence that a space may end in a script without stops: 60
/// characters.
const STOPLESS_MIN: usize = 180;
/// How far before a stop its words are searched, in bytes. Longer words are not abbreviations.
const WORDS_BYTES_MAX: usize = 48;
/// Maximum number of opening marks before the first letter of a sentence.
const OPENERS_MAX: usize = 8;
/// Maximum length in bytes of a link's URL after a stop at the end of the link text.
const URL_BYTES_MAX: usize = 512;
/// Maximum number of digits in a bracketed footnote mark after a stop.
const NOTE_DIGITS_MAX: usize = 3;

/// Bytes other than white space in ASCII.
const NOT_BLANK: ByteSet = {
    let mut has = [true; 256];
    let mut blanks: &[u8] = b"\t\n\x0b\x0c\r ";
    while let [blank, rest @ ..] = blanks {
        has[*blank as usize] = false;
        blanks = rest;
    }
    ByteSet::of_table(has)
};

/// Iterator over the start offsets of sentences.
pub(crate) struct Sentences<'t> {
    text: &'t str,
    /// Start of the current sentence.
    start: usize,
    /// Scan position.
    at: usize,
    /// Start of the current line.
    line: usize,
}

impl<'t> Sentences<'t> {
    pub(crate) fn of(text: &'t str) -> Self {
        Self {
            text,
            start: 0,
            at: 0,
            line: 0,
        }
    }
}

impl Iterator for Sentences<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        while self.start < self.text.len() {
            let start = self.start;
            self.start = self.end();
            self.at = self.start;
            let sentence = &self.text[start..self.start];
            if sentence.contains(char::is_alphanumeric) {
                return Some(start);
            }
        }
        None
    }
}

/// White space between two characters.
struct Gap {
    /// Its end.
    end: usize,
    n_line_feeds: usize,
}

impl<'t> Sentences<'t> {
    /// End of the current sentence, including trailing white space.
    fn end(&mut self) -> usize {
        let bytes = self.text.as_bytes();
        while let Some(found) = OF_INTEREST.find(bytes, self.at) {
            self.at = found;
            let end = match bytes[found] {
                b'\n' => self.at_line_feed(),
                _ => self.at_character(),
            };
            if let Some(end) = end {
                return end;
            }
        }
        self.text.len()
    }

    fn char_at(&self, at: usize) -> Option<char> {
        self.text[at..].chars().next()
    }

    /// End of the sentence if it is at the current character; advances the scan.
    fn at_character(&mut self) -> Option<usize> {
        let here = self.at;
        let c = self.char_at(here)?;
        self.at += c.len_utf8();
        if has_no_stops(c) {
            return self.at_space();
        }
        let stop = match c {
            ';' if self.is_greek(here) => Stop::Mark,
            '\u{2028}' | '\u{2029}' => return Some(self.at),
            _ => Stop::of(c)?,
        };
        self.at_stop(here, stop)
    }

    /// Whether the character before `at` is a Greek letter.
    fn is_greek(&self, at: usize) -> bool {
        let letter = self.text[..at].chars().next_back();
        letter.is_some_and(|c| matches!(c, '\u{370}'..='\u{3ff}' | '\u{1f00}'..='\u{1fff}'))
    }

    /// Like [`at_character`](Self::at_character), after a letter of a script without stops.
    fn at_space(&mut self) -> Option<usize> {
        let space = self.at;
        if space - self.start < STOPLESS_MIN || self.text.as_bytes().get(space) != Some(&b' ') {
            return None;
        }
        let end = space + 1;
        let next = self.char_at(end)?;
        (has_no_stops(next) && !is_repetition(next)).then_some(end)
    }

    /// Like [`at_character`](Self::at_character), at a stop.
    fn at_stop(&mut self, first: usize, mut stop: Stop) -> Option<usize> {
        while let Some(c) = self.char_at(self.at)
            && let Some(next) = Stop::of(c)
        {
            stop = stop.then(next);
            self.at += c.len_utf8();
        }
        let closed = self.after_closers(self.at);
        let gap = self.gap(closed);
        if gap.end == self.text.len() {
            return Some(gap.end);
        }
        if gap.end == closed && stop != Stop::Certain {
            return None;
        }
        self.at = gap.end;
        let line = self.line;
        if gap.n_line_feeds > 0 {
            self.line = self.line_start(gap.end, closed);
        }
        let next = &self.text[gap.end..];
        let is_end = match gap.n_line_feeds {
            0 => ends(stop, next, || words_before(self.text, line, first)),
            1 => is_marked(next) || ends(stop, next, || words_before(self.text, line, first)),
            _ => true,
        };
        // Include the start of the next line, so that a list marker stays with its item.
        let begin = if gap.n_line_feeds > 0 {
            self.line
        } else {
            gap.end
        };
        is_end.then_some(begin)
    }

    fn at_line_feed(&mut self) -> Option<usize> {
        let line = self.line;
        let gap = self.gap(self.at);
        let before = &self.text[line..self.at];
        let is_long = before.len() >= WRAPPED_MIN && !is_marked_alone(before);
        self.line = self.line_start(gap.end, self.at);
        self.at = gap.end;
        let next = self.text[gap.end..].chars().next()?;
        let goes_on = gap.n_line_feeds == 1 && is_long && next.is_lowercase();
        (!goes_on).then_some(self.line)
    }

    /// White space starting at `start`.
    fn gap(&self, start: usize) -> Gap {
        let mut end = NOT_BLANK.find_or_end(self.text.as_bytes(), start);
        if self
            .text
            .as_bytes()
            .get(end)
            .is_some_and(|byte| !byte.is_ascii())
        {
            let rest = &self.text[end..];
            end += rest
                .find(|c: char| !c.is_whitespace())
                .unwrap_or(rest.len());
        }
        let space = &self.text.as_bytes()[start..end];
        let n_line_feeds = space.iter().filter(|&&byte| byte == b'\n').count();
        Gap { end, n_line_feeds }
    }

    /// Start of the line that contains `at`, if it is after `from`.
    fn line_start(&self, at: usize, from: usize) -> usize {
        let before = &self.text[from..at];
        from + before.rfind('\n').map_or(0, |line| line + 1)
    }

    /// End of the closing marks at `at`: quotes, brackets, footnote marks, the URL of a link.
    fn after_closers(&self, mut at: usize) -> usize {
        while let Some(c) = self.char_at(at) {
            let rest = &self.text.as_bytes()[at..];
            at += match rest {
                [b'[', rest @ ..] => match note_len(rest) {
                    Some(len) => 1 + len,
                    None => return at,
                },
                [b']', b'(', rest @ ..] => match url_len(rest) {
                    Some(len) => 2 + len,
                    None => 1,
                },
                _ if is_closer(c) => c.len_utf8(),
                _ => return at,
            };
        }
        at
    }
}

/// Length of `12]`.
fn note_len(rest: &[u8]) -> Option<usize> {
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let is_note = (1..=NOTE_DIGITS_MAX).contains(&digits) && rest.get(digits) == Some(&b']');
    is_note.then_some(digits + 1)
}

/// Length of `https://example.com/)`.
fn url_len(rest: &[u8]) -> Option<usize> {
    let mut bytes = rest.iter().take(URL_BYTES_MAX);
    let end = bytes.position(|byte| matches!(byte, b')' | b'(' | b' ' | b'\n'))?;
    (rest[end] == b')').then_some(end + 1)
}

/// Whether a stop ends its sentence, given the text and white space after it and the two words
/// before it.
fn ends<'t>(stop: Stop, next: &'t str, words: impl FnOnce() -> (&'t str, &'t str)) -> bool {
    let begin = next.trim_start_matches(is_opener);
    let begin = if next.len() - begin.len() <= OPENERS_MAX {
        begin
    } else {
        next
    };
    let first = begin.chars().next();
    if next.starts_with(continues) || first.is_some_and(char::is_lowercase) {
        return stop == Stop::Certain && !next.starts_with(continues);
    }
    let (before, word) = words();
    stop != Stop::Point
        || !Point {
            before,
            word,
            next: begin,
        }
        .is_of_word()
}

/// The word before a stop at `stop` and the word before that one, both on the line that starts at
/// `line`. The second is empty if there is none.
fn words_before(text: &str, line: usize, stop: usize) -> (&str, &str) {
    let from = line.max(text.ceil_char_boundary(stop.saturating_sub(WORDS_BYTES_MAX)));
    let mut words = text[from..stop].rsplit(char::is_whitespace);
    let word = words.next().unwrap_or_default();
    let word = word.trim_start_matches(|c: char| is_opener(c) || c == '>' || c == '#');
    let before = words.find(|word| word.contains(char::is_alphanumeric));
    (before.unwrap_or_default(), word)
}

/// Whether a line starts with the marker of a heading, list item, table row, block quote or code
/// block.
fn is_marked(line: &str) -> bool {
    let bytes = line.as_bytes();
    match bytes {
        [b'#' | b'|' | b'>', ..] | [b'`', b'`', b'`', ..] | [b'~', b'~', b'~', ..] => true,
        [b'-' | b'*' | b'+', b' ', ..] => true,
        [b'0'..=b'9', ..] => {
            let digits = bytes
                .iter()
                .take_while(|byte| byte.is_ascii_digit())
                .count();
            digits <= NOTE_DIGITS_MAX && matches!(bytes[digits..], [b'.' | b')', b' ', ..])
        }
        _ => false,
    }
}

/// Whether the marker makes this a line of its own, which the next line never continues.
fn is_marked_alone(line: &str) -> bool {
    line.trim_ascii_start().starts_with(['#', '|'])
}
