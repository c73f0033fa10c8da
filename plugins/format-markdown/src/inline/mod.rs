//! Text, marks, links and code within a block.
//!
//! The marks around the text (`enclosing`) and the marks opened in the output (`open`) are
//! separate, and synchronized only when content is written. So delimiters are never next to blanks,
//! never empty, and are reopened after a block boundary.

mod edges;
mod marks;
mod spans;

use trawl_sdk::Document;

use crate::escape::{self, Place};
use crate::lines::{Gap, Lines};
use crate::url;
use marks::{EnclosingMark, Open};

pub(crate) use marks::Mark;
pub(crate) use spans::longest_run;

/// Kind of block that the text is written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Paragraphs; line breaks are preserved.
    Flow,
    /// A heading of this level: a single line.
    Heading(u8),
    /// A table cell: a single line, with tags for line breaks. The flag marks a header cell.
    Cell(bool),
}

/// White space to be written before the next content.
#[derive(Clone, Copy, Debug, Default)]
struct Pending {
    space: bool,
    breaks: u8,
}

/// Writes text into blocks.
pub(crate) struct Writer<'a> {
    pub(crate) lines: Lines,
    pub(crate) mode: Mode,
    base: url::Base<'a>,
    /// Start of the current block's content; `None` between blocks.
    leaf: Option<usize>,
    pending: Pending,
    enclosing: Vec<EnclosingMark<'a>>,
    n_ignored: usize,
    next_id: u32,
    open: Vec<Open<'a>>,
    in_sync: bool,
    in_link: bool,
    in_url: bool,
    /// Depth of code elements.
    code_depth: usize,
    /// Code that may still be extended.
    code: String,
    /// End of the last code span.
    code_end: usize,
    /// End of the last checkbox.
    task_end: usize,
    /// Whether the code element has just begun, directly after another one.
    code_may_join: bool,
    /// Depth of links that separate their blocks by line breaks.
    pub(crate) n_joined: usize,
    /// Depth of elements that preserve line breaks.
    pub(crate) preserved_breaks: usize,
}

impl<'a> Writer<'a> {
    pub(crate) fn new(document: &'a Document<'a>, lines: Lines) -> Self {
        Self {
            lines,
            mode: Mode::Flow,
            base: url::Base::of(document),
            leaf: None,
            pending: Pending::default(),
            enclosing: Vec::new(),
            n_ignored: 0,
            next_id: 0,
            open: Vec::new(),
            in_sync: true,
            in_link: false,
            in_url: false,
            code_depth: 0,
            code: String::new(),
            code_end: 0,
            task_end: 0,
            code_may_join: false,
            n_joined: 0,
            preserved_breaks: 0,
        }
    }

    /// Whether blocks are only boundaries, because the text goes into a single line.
    pub(crate) fn is_one_line(&self) -> bool {
        self.mode != Mode::Flow || self.n_joined > 0
    }

    /// Whether the text is inline code.
    pub(crate) fn is_in_code(&self) -> bool {
        self.code_depth > 0
    }

    /// Whether the text is in a link.
    pub(crate) fn is_in_link(&self) -> bool {
        self.in_link
    }

    /// Whether the current block has content.
    pub(crate) fn has_content(&self) -> bool {
        self.leaf.is_some() || !self.code.is_empty()
    }

    /// Writes text of the page, collapsing white space like a browser.
    pub(crate) fn text(&mut self, text: &str) {
        if self.code_depth > 0 {
            self.part_code(text);
            self.code.push_str(text);
        } else if self.preserved_breaks > 0 && text.contains('\n') {
            for (i, line) in text.split('\n').enumerate() {
                if i > 0 {
                    self.line_break();
                }
                self.folded(line);
            }
        } else {
            self.folded(text);
        }
    }

    fn folded(&mut self, text: &str) {
        let bytes = text.as_bytes();
        let Some(start) = bytes.iter().position(|&byte| !escape::is_space(byte)) else {
            if !bytes.is_empty() {
                self.space();
            }
            return;
        };
        if start > 0 {
            self.space();
        }
        if bytes[start].is_ascii_alphanumeric() {
            self.begin_content(char::from(bytes[start]));
            self.escaped(&text[start..]);
        } else {
            let start = start + self.write_before_marks(&text[start..]);
            let Some(first) = text[start..].chars().next() else {
                return;
            };
            if text[start..].starts_with(|c: char| c.is_ascii_whitespace()) {
                self.folded(&text[start..]);
                return;
            }
            self.begin_content(first);
            self.escaped(&text[start..]);
        }
        if bytes.last().is_some_and(|&byte| escape::is_space(byte)) {
            self.space();
        }
    }

    /// Whether white space is pending.
    fn has_gap(&self) -> bool {
        self.pending.space || self.pending.breaks > 0
    }

    /// Writes text that starts with content; trailing white space is left to the caller.
    fn escaped(&mut self, text: &str) {
        let text = text.trim_end_matches(|c: char| c.is_ascii() && escape::is_space(c as u8));
        let bytes = text.as_bytes();
        let in_cell = matches!(self.mode, Mode::Cell(_));
        let inner = escape::special(in_cell, self.in_link);
        self.lines.out.reserve(text.len() + text.len() / 16);
        let (mut copied, mut at) = (0, 0);
        // Where the search for the end of a URL goes on.
        let mut url_seen = 0;
        if bytes.first() == Some(&b'(') {
            self.special(text, 0);
        }
        while at < bytes.len() {
            let written = self.lines.out.len() + at - copied;
            let is_start = written < self.lines.line_start + escape::START_BYTES;
            let set = if is_start { &escape::SPECIAL } else { inner };
            at = set.find_or_blanks(bytes, at);
            if at == bytes.len() {
                break;
            }
            self.lines.out.push_str(&text[copied..at]);
            copied = at;
            if escape::is_space(bytes[at]) {
                if at == 0 || bytes[at - 1] != b' ' {
                    self.lines.out.push(' ');
                }
                let run = bytes[at..].iter().take_while(|&&b| escape::is_space(b));
                at += run.count();
                copied = at;
                self.in_url = false;
                continue;
            }
            if self.in_url {
                self.in_url = !bytes[url_seen..at].contains(&b' ');
                url_seen = at;
            }
            if at > 0 || bytes[0] != b'(' {
                let was_in_url = self.in_url;
                self.special(text, at);
                if !was_in_url {
                    url_seen = at;
                }
            }
            at += 1;
            if bytes[at - 1] == b']' && bytes.get(at) == Some(&b'(') {
                self.lines.out.push_str(&text[copied..at]);
                copied = at;
                self.special(text, at);
                at += 1;
            }
        }
        self.lines.out.push_str(&text[copied..]);
        self.in_url &= !bytes[url_seen.min(bytes.len())..].contains(&b' ');
    }

    fn special(&mut self, text: &str, at: usize) {
        let leaf = self.leaf.unwrap_or(0);
        let place = Place {
            line: &self.lines.out[self.lines.line_start..],
            in_flow: self.mode == Mode::Flow,
            after_break: self.lines.line_start > leaf,
            in_brackets: self.in_link,
            in_cell: matches!(self.mode, Mode::Cell(_)),
            in_url: self.in_url,
        };
        if escape::needs_backslash(place, text, at) {
            self.lines.out.push('\\');
        }
        if text.as_bytes()[at] == b':'
            && text[at..].starts_with("://")
            && self.lines.out.ends_with(|c: char| c.is_alphabetic())
        {
            self.in_url = true;
        }
    }

    /// Adds white space.
    pub(crate) fn space(&mut self) {
        if self.code_depth > 0 {
            self.code.push(' ');
        } else {
            self.flush_code();
            self.pending.space = true;
            self.in_url = false;
        }
    }

    /// Adds a line break; a space in a heading.
    pub(crate) fn line_break(&mut self) {
        self.flush_code();
        self.in_url = false;
        match self.mode {
            Mode::Heading(_) => self.pending.space = true,
            _ => self.pending.breaks = self.pending.breaks.saturating_add(1),
        }
    }

    /// A block boundary: ends the current block, or separates the text in a single line.
    pub(crate) fn boundary(&mut self) {
        match self.mode {
            Mode::Flow if self.n_joined == 0 => self.end_leaf(),
            Mode::Heading(_) => {
                self.flush_code();
                self.pending.space = true;
            }
            Mode::Flow | Mode::Cell(_) => {
                self.flush_code();
                self.in_url = false;
                self.pending.breaks = self.pending.breaks.max(1);
            }
        }
    }

    /// Ends the current block.
    pub(crate) fn end_leaf(&mut self) {
        self.flush_code();
        if let Some(start) = self.leaf.take() {
            self.close_down_to(0, None);
            if matches!(self.mode, Mode::Heading(_)) {
                self.guard_heading_end(start);
            }
            self.lines.gap = Gap::Blank;
        }
        self.pending = Pending::default();
        self.in_url = false;
    }

    /// Escapes trailing `#`s of a heading, which would be parsed as its closing sequence.
    fn guard_heading_end(&mut self, start: usize) {
        let content = &self.lines.out[start..];
        let rest = content.trim_end_matches('#');
        if rest.len() < content.len() && (rest.is_empty() || rest.ends_with(' ')) {
            self.lines.out.insert(start + rest.len(), '\\');
        }
    }

    /// Writes Markdown verbatim, as content of the current block.
    pub(crate) fn raw(&mut self, markdown: &str) {
        if let Some(first) = markdown.chars().next() {
            self.begin_content(first);
            self.lines.out.push_str(markdown);
        }
    }

    /// Writes the checkbox of a task.
    pub(crate) fn task(&mut self, is_done: bool) {
        self.raw(if is_done { "[x]" } else { "[ ]" });
        self.task_end = self.lines.out.len();
        self.space();
    }

    /// Whether nothing was written after the checkbox of a task, in its block.
    pub(crate) fn is_after_task(&self) -> bool {
        self.task_end == self.lines.out.len() && self.leaf.is_some() && self.code.is_empty()
    }

    /// Writes an image; one without a URL is written with an empty one.
    pub(crate) fn image(&mut self, alt: &str, src: &str, title: &str) {
        self.begin_content('!');
        self.lines.out.push_str("![");
        let was_in_link = std::mem::replace(&mut self.in_link, true);
        self.escaped(alt.trim_ascii());
        self.in_link = was_in_link;
        self.in_url = false;
        if src.is_empty() {
            self.lines.out.push_str("]()");
        } else {
            self.destination(src, title);
        }
    }

    fn destination(&mut self, href: &str, title: &str) {
        if let Some((start, rest)) = self.base.plain(href) {
            self.lines.out.push_str("](");
            self.lines.out.push_str(start);
            self.lines.out.push_str(rest);
            url::write_title(
                &mut self.lines.out,
                title,
                matches!(self.mode, Mode::Cell(_)),
            );
            self.lines.out.push(')');
            return;
        }
        let destination = self.base.absolute(href);
        let in_cell = matches!(self.mode, Mode::Cell(_));
        self.lines.out.push_str("](");
        url::write(&mut self.lines.out, &destination, in_cell);
        url::write_title(&mut self.lines.out, title, in_cell);
        self.lines.out.push(')');
    }

    fn begin_content(&mut self, first: char) {
        self.flush_code();
        self.content_begins(first);
    }

    /// Prepares the output for content that starts with `first`.
    fn content_begins(&mut self, first: char) {
        if self.pending.breaks > 1 && self.mode == Mode::Flow && self.leaf.is_some() {
            self.close_down_to(0, None);
            self.leaf = None;
        }
        if self.leaf.is_none() {
            self.begin_leaf();
        } else if self.is_cell_empty() {
            self.pending = Pending::default();
        }
        if !self.in_sync || self.open.len() != self.enclosing.len() {
            self.sync(first);
        } else {
            self.write_pending();
        }
    }

    fn is_cell_empty(&self) -> bool {
        matches!(self.mode, Mode::Cell(_)) && self.leaf == Some(self.lines.out.len())
    }

    fn begin_leaf(&mut self) {
        self.pending = Pending::default();
        self.lines.begin_block();
        if let Mode::Heading(level) = self.mode {
            let marks = std::iter::repeat_n('#', level as usize);
            self.lines.out.extend(marks);
            self.lines.out.push(' ');
            self.lines.line_start = self.lines.out.len();
        }
        self.leaf = Some(self.lines.out.len());
    }

    /// Starts a cell; nothing of it has been written.
    pub(crate) fn begin_cell(&mut self, is_header: bool) {
        self.mode = Mode::Cell(is_header);
        self.pending = Pending::default();
        self.lines.line_start = self.lines.out.len();
        self.leaf = Some(self.lines.out.len());
    }

    /// Ends a cell; returns whether it had content.
    pub(crate) fn end_cell(&mut self) -> bool {
        let is_empty = self.is_cell_empty() && self.code.trim_ascii().is_empty();
        self.end_leaf();
        self.mode = Mode::Flow;
        !is_empty
    }

    fn write_pending(&mut self) {
        let Pending { space, breaks } = std::mem::take(&mut self.pending);
        match self.mode {
            Mode::Cell(_) if breaks > 0 => {
                let n = usize::from(breaks.min(2));
                self.lines.out.extend(std::iter::repeat_n("<br>", n));
            }
            _ if breaks > 0 => {
                self.lines.out.push_str("  ");
                self.lines.next_line();
            }
            _ if space => self.lines.out.push(' '),
            _ => {}
        }
    }
}
