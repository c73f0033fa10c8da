//! The edges of marks, where Markdown delimiters are not recognized: next to blanks, and between
//! punctuation and a letter.
//!
//! Blanks and punctuation at the edge are moved outside; if that is not enough, an HTML tag
//! replaces the delimiter.

use super::Writer;
use super::marks::{EnclosingMark, Mark, Open};
use crate::flanking::can_close;

/// The no-break space, which does not end a line.
const HARD_BLANK: char = '\u{a0}';
/// Punctuation that may be moved before a mark.
const OPENING: &[char] = &[
    '(', '"', '\'', '«', '„', '“', '‘', '「', '『', '（', '《', '〈', '【', '〔',
];
/// Punctuation that may be moved after a mark.
const CLOSING: &[char] = &[
    ')', '"', '\'', '.', ',', ':', ';', '!', '?', '»', '”', '’', '…', '」', '』', '）', '》', '〉',
    '】', '〕', '。', '，', '、', '：', '；', '！', '？', '،', '؛', '؟',
];

/// Number of characters at the end of a mark among which its last closing bracket is looked for.
const CLOSING_MAX: usize = 16;

/// Brackets of those that belong together.
const PAIRS: &[(char, char)] = &[
    ('(', ')'),
    ('«', '»'),
    ('„', '”'),
    ('“', '”'),
    ('‘', '’'),
    ('「', '」'),
    ('『', '』'),
    ('（', '）'),
    ('《', '》'),
    ('〈', '〉'),
    ('【', '】'),
    ('〔', '〕'),
];

impl<'a> Writer<'a> {
    /// Writes the start of a text that belongs before the pending marks; returns its number of
    /// bytes.
    pub(super) fn write_before_marks(&mut self, text: &str) -> usize {
        let blanks = text.len() - text.trim_start_matches(HARD_BLANK).len();
        match blanks {
            0 => self.punctuation_before_marks(text),
            _ => self.blanks_before_marks(text, blanks),
        }
    }

    fn blanks_before_marks(&mut self, text: &str, n_bytes: usize) -> usize {
        self.flush_code();
        let n_same = self.n_same();
        let begins_mark = n_same < self.enclosing.len();
        if self.leaf.is_none() || self.is_cell_empty() {
            // Blanks alone are not content, and a mark does not start with them.
            return if begins_mark || n_bytes == text.len() {
                n_bytes
            } else {
                0
            };
        }
        if !begins_mark {
            return 0;
        }
        self.close_down_to(n_same, Some(HARD_BLANK));
        self.write_pending();
        self.lines.out.push_str(&text[..n_bytes]);
        n_bytes
    }

    /// After a letter, a delimiter before punctuation does not open a mark.
    fn punctuation_before_marks(&mut self, text: &str) -> usize {
        let opened = text.trim_start_matches(OPENING);
        let closed = text.trim_start_matches(CLOSING);
        // Quotation marks are both.
        let is_closing = opened.len() == text.len() || closed.starts_with(is_space);
        let rest = if is_closing { closed } else { opened };
        let n_bytes = text.len() - rest.len();
        let may_follow = |c: char| c.is_alphanumeric() || is_closing && is_space(c);
        // A full stop after a number would begin a list item.
        let may_precede = |c: char| c.is_alphabetic() || !is_closing && c.is_alphanumeric();
        let is_between = n_bytes > 0
            && self.code.is_empty()
            && self.leaf.is_some()
            && !self.has_gap()
            && rest.starts_with(may_follow)
            && self.lines.out.ends_with(may_precede);
        if !is_between {
            return 0;
        }
        let n_same = self.n_same();
        let begins_mark = self.open.len() == n_same
            && n_same < self.enclosing.len()
            && self.enclosing[n_same..]
                .iter()
                .all(EnclosingMark::may_lose_punctuation);
        if !begins_mark {
            return 0;
        }
        self.lines.out.push_str(&text[..n_bytes]);
        n_bytes
    }

    /// Closes a mark other than a link.
    pub(super) fn close_delimited(&mut self, open: Open<'a>, next: Option<char>) {
        let mark = open.mark;
        let punctuation = self.take_punctuation(open, next);
        let next = punctuation.chars().next().or(next);
        if open.as_tag || self.turn_into_tag(open, next) {
            self.lines.out.push_str("</");
            self.lines.out.push_str(mark.tag());
            self.lines.out.push('>');
        } else {
            if mark == Mark::Strike {
                self.guard_tilde();
            }
            self.lines.out.push_str(mark.delimiter());
        }
        self.lines.out.push_str(&punctuation);
    }

    /// Escapes a single tilde at the end of the output, which would be parsed as part of a
    /// delimiter that follows. Two of them are a delimiter.
    pub(super) fn guard_tilde(&mut self) {
        let out = &mut self.lines.out;
        if out.ends_with('~') && !out.ends_with("\\~") && !out.ends_with("~~") {
            out.insert(out.len() - 1, '\\');
        }
    }

    /// Removes the punctuation at the end of a mark if a delimiter after it would not close the
    /// mark.
    fn take_punctuation(&mut self, open: Open<'_>, next: Option<char>) -> String {
        let start = open.at + open.mark.delimiter().len();
        if open.as_tag || can_close(self.last_char(open.mark), next) {
            return String::new();
        }
        if let Some(bracket) = self.take_brackets(open, start) {
            return bracket;
        }
        let content = self.lines.out.get(start..).unwrap_or_default();
        let closed = content.trim_end_matches(CLOSING);
        // An opening bracket belongs to what follows.
        let opened = closed.trim_end_matches(OPENING);
        let is_escaped = opened.len() < closed.len() && opened.ends_with('\\');
        let kept = if is_escaped { closed } else { opened };
        let mut end = start + kept.trim_end_matches(' ').len();
        // A bracket stays with the one that it closes.
        let last = content[end - start..].char_indices().rev();
        let bracket = last.take(CLOSING_MAX).find(|&(at, c)| {
            PAIRS
                .iter()
                .any(|&(open, close)| c == close && content[..end - start + at].contains(open))
        });
        if let Some((at, c)) = bracket {
            end += at + c.len_utf8();
        }
        let punctuation = self.lines.out.split_off(end);
        let is_moved =
            end > start && can_close(self.last_char(open.mark), punctuation.chars().next());
        if is_moved {
            return punctuation;
        }
        self.lines.out.push_str(&punctuation);
        String::new()
    }

    /// Moves the opening bracket of a mark that is all in brackets before it, and removes the other
    /// one.
    fn take_brackets(&mut self, open: Open<'_>, start: usize) -> Option<String> {
        let mut chars = self.lines.out.get(start..)?.chars();
        let (first, last) = (chars.next()?, chars.next_back()?);
        let inner = chars.as_str();
        let is_around = PAIRS.contains(&(first, last))
            && inner.starts_with(char::is_alphanumeric)
            && inner.ends_with(char::is_alphanumeric)
            && !inner.contains([first, last]);
        if !is_around {
            return None;
        }
        let moved = [&String::from(first), open.mark.delimiter(), inner].concat();
        self.lines.out.replace_range(open.at.., &moved);
        Some(last.into())
    }

    /// Drops the tag of a mark without letters: a full stop need not be bold.
    pub(super) fn drop_empty_tag(&mut self, open: Open<'_>) -> bool {
        let start = open.at + open.mark.tag().len() + "<>".len();
        if self.lines.out[start..].contains(char::is_alphanumeric) {
            return false;
        }
        self.lines.out.replace_range(open.at..start, "");
        if self.lines.line_start > open.at {
            self.lines.line_start -= start - open.at;
        }
        self.code_end = 0;
        true
    }

    /// Removes the no-break spaces at the end of a mark, with the spaces between them; they are
    /// written after it.
    pub(super) fn take_blanks(&mut self, open: Open<'_>) -> String {
        if open.mark == Mark::Nothing || !self.lines.out.ends_with(HARD_BLANK) {
            return String::new();
        }
        // Spaces at the start of a line belong to the containers.
        let start = self.lines.line_start.max(open.at + 1);
        let content = self.lines.out.get(start..).unwrap_or_default();
        let end = start + content.trim_end_matches([HARD_BLANK, ' ']).len();
        if end <= open.at + 1 {
            String::new()
        } else {
            self.lines.out.split_off(end)
        }
    }

    /// Replaces the opening delimiter by a tag if the closing one would not be recognized.
    fn turn_into_tag(&mut self, open: Open<'a>, next: Option<char>) -> bool {
        if can_close(self.last_char(open.mark), next) {
            return false;
        }
        let delimiter = open.mark.delimiter();
        let tag = format!("<{}>", open.mark.tag());
        self.lines
            .out
            .replace_range(open.at..open.at + delimiter.len(), &tag);
        if self.lines.line_start > open.at {
            self.lines.line_start += tag.len() - delimiter.len();
        }
        self.code_end = 0;
        true
    }
}

fn is_space(c: char) -> bool {
    c.is_ascii_whitespace()
}
