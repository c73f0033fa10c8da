//! Code spans.

use std::borrow::Cow;

use trawl_sdk::scan::ByteSet;

use super::{Mode, Writer};

/// Bytes for which code is examined: backticks, white space other than blanks, bars in cells.
const PLAIN_END: ByteSet = ByteSet::of(b"`|\t\n\x0c\r");

impl Writer<'_> {
    /// Starts inline code.
    pub(crate) fn enter_code(&mut self) {
        self.code_may_join = self.code_depth == 0 && !self.code.is_empty();
        self.code_depth += 1;
    }

    /// Separates the code that begins with `text` from the code element before it, unless the two
    /// read as one expression.
    pub(super) fn part_code(&mut self, text: &str) {
        let (true, Some(first)) = (self.code_may_join, text.chars().next()) else {
            return;
        };
        self.code_may_join = false;
        let is_joined = |c: char| c.is_ascii_punctuation() && !matches!(c, '#' | '$' | '%');
        let last = self.code.chars().next_back();
        if !is_joined(first) && !last.is_some_and(is_joined) {
            self.flush_code();
            self.pending.space = true;
        }
    }

    /// Ends inline code. It is written with the next content, so that adjacent code is merged.
    pub(crate) fn leave_code(&mut self) {
        self.code_depth -= 1;
    }

    /// Writes the collected code.
    pub(super) fn flush_code(&mut self) {
        if self.code.is_empty() {
            return;
        }
        let code = std::mem::take(&mut self.code);
        if code.starts_with(|c: char| c.is_ascii_whitespace()) {
            self.pending.space = true;
        }
        if !code.trim_ascii().is_empty() {
            self.code_span(&code);
        }
        if code.ends_with(|c: char| c.is_ascii_whitespace()) {
            self.pending.space = true;
        }
        self.code = code;
        self.code.clear();
    }

    /// Prepares the output for a code span.
    fn begin_span(&mut self) {
        self.content_begins('`');
        if self.code_end == self.lines.out.len() && self.lines.out.ends_with('`') {
            self.lines.out.push(' ');
        }
    }

    /// Writes a line of a code block as a code span with its indentation, where there is no room
    /// for a block.
    pub(crate) fn code_line(&mut self, line: &str) {
        self.begin_span();
        let line = line.trim_ascii_end();
        let fence = "`".repeat(longest_run(line, b'`') + 1);
        let pad = if line.starts_with('`') || line.ends_with('`') {
            " "
        } else {
            ""
        };
        let line = match self.mode {
            Mode::Cell(_) => Cow::Owned(line.replace('|', "\\|")),
            _ => Cow::Borrowed(line),
        };
        let out = &mut self.lines.out;
        out.push_str(&fence);
        out.push_str(pad);
        out.push_str(&line);
        out.push_str(pad);
        out.push_str(&fence);
        self.code_end = out.len();
    }

    /// Writes a code span with collapsed white space.
    fn code_span(&mut self, code: &str) {
        self.begin_span();
        if PLAIN_END.find_or_blanks(code.as_bytes(), 0) == code.len()
            && !code.starts_with(' ')
            && !code.ends_with(' ')
        {
            for part in ["`", code, "`"] {
                self.lines.out.push_str(part);
            }
            self.code_end = self.lines.out.len();
            return;
        }
        let ticks = longest_run(code, b'`') + 1;
        let fence = |out: &mut String| out.extend(std::iter::repeat_n('`', ticks));
        let trimmed = code.trim_ascii();
        let pad = trimmed.starts_with('`') || trimmed.ends_with('`');
        let in_cell = matches!(self.mode, Mode::Cell(_));
        let out = &mut self.lines.out;
        fence(out);
        out.push_str(if pad { " " } else { "" });
        for (i, word) in trimmed.split_ascii_whitespace().enumerate() {
            out.push_str(if i > 0 { " " } else { "" });
            if in_cell {
                out.push_str(&word.replace('|', "\\|"));
            } else {
                out.push_str(word);
            }
        }
        out.push_str(if pad { " " } else { "" });
        fence(out);
        self.code_end = out.len();
    }
}

/// Length of the longest run of `byte`.
pub(crate) fn longest_run(text: &str, byte: u8) -> usize {
    let (mut longest, mut run) = (0, 0);
    for own in text.bytes() {
        run = if own == byte { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}
