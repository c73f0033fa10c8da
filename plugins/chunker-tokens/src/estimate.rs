//! Where the tokens of a text start, by an estimate.
//!
//! Tokenizers split a text into words, numbers and runs of marks, and these into the longest parts
//! that are in their vocabulary. The estimate splits alike, into parts of one length for each kind
//! of character: five letters from `a` to `z`, three other letters of the Latin, Greek, Cyrillic,
//! Hebrew and Arabic scripts, three digits or three marks. Each character of another script and
//! each emoji is a token. White space belongs to the word before; ten characters of it in a row are
//! a token, and so is an indentation.
//!
//! Compared with the vocabularies of published models (`o200k_base`, and the older `cl100k_base`),
//! English, code and markdown have 0.65 to 0.9 of the tokens of the estimate, other languages in
//! Latin script 0.7 to 1.5, Chinese, Japanese and Korean 0.7 to 1.2, and languages in other scripts
//! 0.4 to 1.3 with the newer vocabulary and up to 2.7 with the older one.

use crate::graphemes::Graphemes;

/// Parts of a token. A multiple of how many characters of each kind make one.
const PARTS: u32 = 30;

/// Start offsets of the tokens of a text. None is inside a grapheme cluster.
pub(crate) struct Starts<'t> {
    text: &'t str,
    graphemes: Graphemes<'t>,
    run: Run,
}

impl<'t> Starts<'t> {
    pub(crate) fn of(text: &'t str) -> Self {
        Self {
            text,
            graphemes: Graphemes::of(text),
            run: Run::default(),
        }
    }
}

impl Iterator for Starts<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let (text, run) = (self.text, &mut self.run);
        self.graphemes
            .find(|&at| text[at..].chars().next().is_some_and(|c| run.begins(c)))
    }
}

/// Kind of a character.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    LineBreak,
    Space,
    Letter,
    Digit,
    Mark,
    /// A token of its own.
    Whole,
}

impl Kind {
    /// The kind of a character, and how many parts of a token it is.
    fn of(c: char) -> (Self, u32) {
        match c {
            'a'..='z' | 'A'..='Z' => (Self::Letter, PARTS / 5),
            '0'..='9' => (Self::Digit, PARTS / 3),
            '\n' | '\r' => (Self::LineBreak, PARTS / 10),
            _ if c.is_whitespace() => (Self::Space, PARTS / 10),
            _ if !is_of_words(c) => (Self::Whole, PARTS),
            _ if c.is_alphabetic() => (Self::Letter, PARTS / 3),
            _ => (Self::Mark, PARTS / 3),
        }
    }
}

/// Whether a character is of the Latin, Greek, Cyrillic, Hebrew or Arabic script, or a mark of
/// theirs.
fn is_of_words(c: char) -> bool {
    matches!(c, '\0'..='\u{7ff}' | '\u{1e00}'..='\u{1fff}')
}

/// The characters of one kind at the end of what was read.
#[derive(Default)]
struct Run {
    /// `None` at the start of the text.
    kind: Option<Kind>,
    /// Parts of the token that is begun.
    parts: u32,
}

impl Run {
    /// Adds a character; whether a token begins with it.
    fn begins(&mut self, c: char) -> bool {
        let (kind, parts) = Kind::of(c);
        let is_same = self.kind == Some(kind);
        let is_joined = match kind {
            Kind::LineBreak => self.kind.is_some(),
            // Behind a line break it is an indentation.
            Kind::Space => self.kind.is_some_and(|before| before != Kind::LineBreak),
            _ => is_same,
        };
        let sum = if is_same { self.parts + parts } else { parts };
        let begins = !is_joined || sum > PARTS;
        self.parts = if begins { parts } else { sum };
        self.kind = Some(kind);
        begins
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: usize) {
        assert_eq!(Starts::of(text).count(), expected, "{text:?}");
    }

    #[test]
    fn words_numbers_and_marks_are_tokens() {
        check("", 0);
        check("The quick brown fox jumps over the lazy dog.", 10);
        check("internationalization", 4);
        check("12345", 2);
        check("don't", 3);
        check("https://www.example.com/", 9);
        check("----------", 4);
    }

    #[test]
    fn other_scripts_have_more_tokens() {
        check("Größe", 2);
        check("Привет, мир", 4);
        check("tiếng", 2);
        check("日本語。", 4);
        check("한국어", 3);
        check("👩‍👧 🇩🇪", 2);
    }

    #[test]
    fn white_space_counts_in_long_runs_and_at_the_start_of_a_line() {
        check("a b", 2);
        check("a\r\n\r\nb", 2);
        check("a\n    b", 3);
        check(&" ".repeat(21), 3);
        check(&format!("a{}b", " ".repeat(21)), 4);
    }

    #[test]
    fn tokens_start_at_words() {
        let starts: Vec<_> = Starts::of("one  two, threefour").collect();
        assert_eq!(starts, [0, 5, 8, 10, 15]);
    }
}
