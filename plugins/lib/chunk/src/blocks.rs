//! Finds the block structure of markdown line by line.

use std::ops::Range;

/// Columns of indentation that make a line code.
const CODE_INDENT: usize = 4;
const FENCE_MIN: usize = 3;
const HEADING_LEVEL_MAX: usize = 6;

/// The blocks of a text that should not be split, in order: code blocks (fenced, including the
/// fences, or indented) and table rows; a table's header, delimiter row and first row are one
/// block. An unclosed fence extends to the end of the text. Text that is not markdown has no
/// blocks, except where it happens to look like markdown.
#[derive(Clone, Debug)]
pub struct Blocks<'t> {
    text: &'t str,
    /// Start of the next line.
    at: usize,
    /// Start of the previous line, if it is text.
    paragraph: Option<usize>,
    is_after_blank: bool,
    is_in_table: bool,
    is_in_list: bool,
}

impl<'t> Blocks<'t> {
    /// Iterates over the blocks of a text.
    pub fn of(text: &'t str) -> Self {
        Self {
            text,
            at: 0,
            paragraph: None,
            is_after_blank: true,
            is_in_table: false,
            is_in_list: false,
        }
    }
}

impl Iterator for Blocks<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        while self.at < self.text.len() {
            let start = self.at;
            let text = self.line(start);
            let line = Line::of(text);
            self.at = start + text.len();
            let block_start = self.block_start(line, start);
            self.is_after_blank = line.kind == Kind::Blank;
            self.is_in_table &= line.kind != Kind::Blank;
            self.is_in_list = match line.kind {
                Kind::Item => true,
                Kind::Blank => self.is_in_list,
                _ => self.is_in_list && line.indent > 0,
            };
            let is_text = matches!(line.kind, Kind::Text | Kind::Item);
            self.paragraph = (is_text && block_start.is_none()).then_some(start);
            if let Some(block_start) = block_start {
                return Some(block_start..self.at);
            }
        }
        None
    }
}

impl<'t> Blocks<'t> {
    /// The line at `start` with its line feed; empty at the end of the text.
    fn line(&self, start: usize) -> &'t str {
        let rest = &self.text[start..];
        let line_feed = memchr::memchr(b'\n', rest.as_bytes());
        line_feed.map_or(rest, |at| &rest[..=at])
    }

    /// Start of the block that the line at `start` completes, if any. Moves `at` past the block.
    fn block_start(&mut self, line: Line, start: usize) -> Option<usize> {
        match line.kind {
            Kind::Fence { mark, len } => {
                self.skip_fenced(mark, len);
                Some(start)
            }
            Kind::Delimiter => {
                self.skip_first_row();
                Some(self.paragraph.unwrap_or(start))
            }
            Kind::Row => {
                let next = self.line(self.at);
                if Line::of(next).kind == Kind::Delimiter {
                    self.at += next.len();
                    self.skip_first_row();
                }
                Some(start)
            }
            Kind::Blank => None,
            Kind::Text | Kind::Item if self.is_in_table => Some(start),
            Kind::Text | Kind::Item => {
                let is_code = line.indent >= CODE_INDENT && self.is_after_blank && !self.is_in_list;
                if is_code {
                    self.skip_indented();
                }
                is_code.then_some(start)
            }
        }
    }

    /// Moves `at` past the first row of a table, if there is one.
    fn skip_first_row(&mut self) {
        self.is_in_table = true;
        let row = self.line(self.at);
        if matches!(Line::of(row).kind, Kind::Row | Kind::Text) {
            self.at += row.len();
        }
    }

    fn skip_fenced(&mut self, opening: u8, opening_len: usize) {
        while self.at < self.text.len() {
            let line = self.line(self.at);
            self.at += line.len();
            let body = line.trim_ascii().trim_start_matches(['>', ' ', '\t']);
            let is_closing = body.len() >= opening_len && body.bytes().all(|byte| byte == opening);
            if is_closing {
                return;
            }
        }
    }

    /// Moves `at` to the end of the last line of code, including blank lines in between.
    fn skip_indented(&mut self) {
        let mut at = self.at;
        while at < self.text.len() {
            let text = self.line(at);
            let line = Line::of(text);
            at += text.len();
            if line.kind == Kind::Blank {
                continue;
            }
            if line.indent < CODE_INDENT {
                return;
            }
            self.at = at;
        }
    }
}

/// What a line looks like, ignoring block quote markers.
#[derive(Clone, Copy, Debug)]
struct Line {
    /// Columns of white space before the first other character.
    indent: usize,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Blank,
    /// Opens a code block.
    Fence {
        mark: u8,
        len: usize,
    },
    /// A table row that starts with `|`.
    Row,
    /// The delimiter row of a table: `|---|:-:|`.
    Delimiter,
    /// Starts with a list marker.
    Item,
    Text,
}

impl Line {
    fn of(line: &str) -> Self {
        let (indent, body) = unindented(line.as_bytes());
        let kind = match *body {
            [] => Kind::Blank,
            [mark @ (b'`' | b'~'), ..] => fence(body, mark).unwrap_or(Kind::Text),
            [b'|' | b':' | b'-', ..] if is_delimiter(body) => Kind::Delimiter,
            [b'|', ref rest @ ..] if rest.contains(&b'|') => Kind::Row,
            [b'-' | b'*' | b'+', b' ' | b'\t', ..] => Kind::Item,
            [b'0'..=b'9', ..] if is_numbered(body) => Kind::Item,
            _ => Kind::Text,
        };
        Self { indent, kind }
    }
}

/// The indentation of a line in columns, counted from its last block quote marker, and the rest of
/// the line.
fn unindented(mut line: &[u8]) -> (usize, &[u8]) {
    let mut indent = 0;
    loop {
        (indent, line) = match line {
            [b' ', rest @ ..] => (indent + 1, rest),
            [b'\t', rest @ ..] => (indent + CODE_INDENT, rest),
            [b'\r' | b'\n', rest @ ..] => (indent, rest),
            // The space after the marker belongs to it.
            [b'>', b' ', rest @ ..] | [b'>', rest @ ..] if indent < CODE_INDENT => (0, rest),
            _ => return (indent, line),
        }
    }
}

fn fence(body: &[u8], mark: u8) -> Option<Kind> {
    let len = body.iter().take_while(|&&byte| byte == mark).count();
    // If more backticks follow, it is a code span.
    let is_open = len >= FENCE_MIN && (mark == b'~' || !body[len..].contains(&mark));
    is_open.then_some(Kind::Fence { mark, len })
}

fn is_delimiter(body: &[u8]) -> bool {
    let is_drawn = |byte: &u8| matches!(byte, b'|' | b'-' | b':' | b' ' | b'\t' | b'\r' | b'\n');
    body.iter().all(is_drawn) && body.contains(&b'|') && body.contains(&b'-')
}

fn is_numbered(body: &[u8]) -> bool {
    let digits = body.iter().take_while(|byte| byte.is_ascii_digit()).count();
    digits < 10 && matches!(body[digits..], [b'.' | b')', b' ' | b'\t', ..])
}

/// Offset of the headings at the end of a piece of text: consecutive ones with only blank lines
/// between and after them.
pub fn heading_at_end(piece: &str) -> Option<usize> {
    let mut heading = None;
    loop {
        let above = piece[..heading.unwrap_or(piece.len())].trim_ascii_end();
        let start = line_start(above);
        let line = &above[start..];
        if is_marked_heading(line) {
            heading = Some(start);
            continue;
        }
        match above[..start].strip_suffix('\n') {
            Some(title) if is_underline(line) && !title.trim_ascii().is_empty() => {
                let start = line_start(title);
                if title[start..].trim_ascii().is_empty() {
                    return heading;
                }
                heading = Some(start);
            }
            _ => return heading,
        }
    }
}

fn line_start(text: &str) -> usize {
    text.rfind('\n').map_or(0, |at| at + 1)
}

/// Whether a line is an ATX heading, such as `## Title`.
fn is_marked_heading(line: &str) -> bool {
    let body = line.trim_ascii_start();
    let level = body.bytes().take_while(|&byte| byte == b'#').count();
    let is_shallow = line.len() - body.len() < CODE_INDENT;
    let is_spaced = matches!(body.as_bytes().get(level), None | Some(b' ' | b'\t'));
    (1..=HEADING_LEVEL_MAX).contains(&level) && is_shallow && is_spaced
}

/// Whether a line turns the line above it into a setext heading.
fn is_underline(line: &str) -> bool {
    let mut bytes = line.trim_ascii().bytes();
    let Some(mark @ (b'=' | b'-')) = bytes.next() else {
        return false;
    };
    line.trim_ascii().len() > 1 && bytes.all(|byte| byte == mark)
}
