//! Text, marks, links and code within a block.
//!
//! What is around the text (`wanted`) and what has been begun in the output (`open`) are kept apart, and joined only when content
//! comes. So marks never stand next to blanks, never enclose nothing, and are begun again after a block boundary within them.

use trawl_sdk::Document;

use crate::address;
use crate::escape::{self, CLASSES, Class, Place};
use crate::flanking::{can_close, can_open};
use crate::lines::{Gap, Lines};

/// Marks and links that can stand in one another; deeper ones are left out.
const NESTING_MAX: usize = 16;

/// An element that encloses text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark<'a> {
    /// Counted, but written as nothing.
    Nothing,
    Strong,
    Emphasis,
    Strike,
    Sub,
    Sup,
    /// A link with its address as the page has it and its title.
    Link(&'a str, &'a str),
}

impl Mark<'_> {
    fn delimiter(self) -> &'static str {
        match self {
            Self::Strong => "**",
            Self::Emphasis => "*",
            Self::Strike => "~~",
            _ => "",
        }
    }

    /// Tag name for the cases that markdown's delimiters cannot express.
    fn tag(self) -> &'static str {
        match self {
            Self::Strong => "strong",
            Self::Emphasis => "em",
            Self::Strike => "del",
            Self::Sub => "sub",
            Self::Sup => "sup",
            _ => "",
        }
    }

    fn is_star(self) -> bool {
        matches!(self, Self::Strong | Self::Emphasis)
    }
}

#[derive(Clone, Copy, Debug)]
struct Wanted<'a> {
    mark: Mark<'a>,
    id: u32,
}

#[derive(Clone, Copy, Debug)]
struct Open<'a> {
    mark: Mark<'a>,
    id: u32,
    /// Where its first mark stands in the output.
    at: usize,
    /// Begun as a tag, so ended as one.
    as_tag: bool,
}

/// What kind of block the text goes into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Paragraphs; a line break stays one.
    Flow,
    /// A heading of this level: one line.
    Heading(u8),
    /// A table's cell: one line, with tags for breaks. The flag says that it is a header.
    Cell(bool),
}

/// White space that is written when content follows it.
#[derive(Clone, Copy, Debug, Default)]
struct Pending {
    space: bool,
    breaks: u8,
}

/// Writes text into blocks.
pub(crate) struct Writer<'a> {
    pub(crate) lines: Lines,
    pub(crate) mode: Mode,
    document: &'a Document<'a>,
    /// Where the content of the block at hand begins; `None` between blocks.
    leaf: Option<usize>,
    pending: Pending,
    wanted: Vec<Wanted<'a>>,
    n_ignored: usize,
    next_id: u32,
    open: Vec<Open<'a>>,
    in_sync: bool,
    in_link: bool,
    in_address: bool,
    /// Elements of code around.
    code_depth: usize,
    /// Code that waits for more of it.
    code: String,
    /// Where the last code span ended.
    code_end: usize,
    /// Elements around that keep line breaks.
    pub(crate) kept_breaks: usize,
}

impl<'a> Writer<'a> {
    pub(crate) fn new(document: &'a Document<'a>, lines: Lines) -> Self {
        Self {
            lines,
            mode: Mode::Flow,
            document,
            leaf: None,
            pending: Pending::default(),
            wanted: Vec::new(),
            n_ignored: 0,
            next_id: 0,
            open: Vec::new(),
            in_sync: true,
            in_link: false,
            in_address: false,
            code_depth: 0,
            code: String::new(),
            code_end: 0,
            kept_breaks: 0,
        }
    }

    /// Whether blocks are boundaries only, because the text goes into one line.
    pub(crate) fn is_one_line(&self) -> bool {
        self.mode != Mode::Flow
    }

    /// Whether the block at hand has content.
    pub(crate) fn has_content(&self) -> bool {
        self.leaf.is_some() || !self.code.is_empty()
    }

    /// Text of the page, white space folded as a browser would.
    pub(crate) fn text(&mut self, text: &str) {
        if self.code_depth > 0 {
            self.code.push_str(text);
        } else if self.kept_breaks > 0 && text.contains('\n') {
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
        let first = text[start..].chars().next().unwrap_or(' ');
        self.begin_content(first);
        self.escaped(&text[start..]);
        if bytes.last().is_some_and(|&byte| escape::is_space(byte)) {
            self.space();
        }
    }

    /// Writes text that begins with content; white space at its end is left to the caller.
    fn escaped(&mut self, text: &str) {
        let bytes = text.as_bytes();
        let (mut copied, mut at) = (0, 0);
        while at < bytes.len() {
            match CLASSES[bytes[at] as usize] {
                Class::Plain => at += 1,
                Class::Space => {
                    self.lines.out.push_str(&text[copied..at]);
                    let run = bytes[at..].iter().take_while(|&&b| escape::is_space(b));
                    at += run.count();
                    copied = at;
                    if at < bytes.len() {
                        self.lines.out.push(' ');
                    }
                    self.in_address = false;
                }
                Class::Special => {
                    self.lines.out.push_str(&text[copied..at]);
                    copied = at;
                    self.special(text, at);
                    at += 1;
                }
            }
        }
        self.lines.out.push_str(&text[copied..]);
    }

    fn special(&mut self, text: &str, at: usize) {
        let leaf = self.leaf.unwrap_or(0);
        let place = Place {
            line: &self.lines.out[self.lines.line_start..],
            in_flow: self.mode == Mode::Flow,
            after_break: self.lines.line_start > leaf,
            in_brackets: self.in_link,
            in_cell: matches!(self.mode, Mode::Cell(_)),
            in_address: self.in_address,
        };
        if escape::needs_backslash(place, text, at) {
            self.lines.out.push('\\');
        }
        if text[at..].starts_with("://") && self.lines.out.ends_with(|c: char| c.is_alphabetic()) {
            self.in_address = true;
        }
    }

    /// White space, or something like it.
    pub(crate) fn space(&mut self) {
        if self.code_depth > 0 || !self.code.is_empty() {
            self.code.push(' ');
        } else {
            self.pending.space = true;
            self.in_address = false;
        }
    }

    /// A line break; in a heading a space.
    pub(crate) fn line_break(&mut self) {
        self.flush_code();
        self.in_address = false;
        match self.mode {
            Mode::Heading(_) => self.pending.space = true,
            _ => self.pending.breaks = self.pending.breaks.saturating_add(1),
        }
    }

    /// A boundary of blocks: ends the block at hand, or parts the text where it is all one line.
    pub(crate) fn boundary(&mut self) {
        match self.mode {
            Mode::Flow => self.end_leaf(),
            Mode::Heading(_) => {
                self.flush_code();
                self.pending.space = true;
            }
            Mode::Cell(_) => {
                self.flush_code();
                self.in_address = false;
                self.pending.breaks = self.pending.breaks.max(1);
            }
        }
    }

    /// Ends the block at hand.
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
        self.in_address = false;
    }

    /// A heading's last `#`s would be taken for its closing marks.
    fn guard_heading_end(&mut self, start: usize) {
        let content = &self.lines.out[start..];
        let rest = content.trim_end_matches('#');
        if rest.len() < content.len() && (rest.is_empty() || rest.ends_with(' ')) {
            self.lines.out.insert(start + rest.len(), '\\');
        }
    }

    /// A mark or link begins.
    pub(crate) fn enter_mark(&mut self, mark: Mark<'a>) {
        self.flush_code();
        if self.wanted.len() >= NESTING_MAX {
            self.n_ignored += 1;
            return;
        }
        let is_header = matches!(self.mode, Mode::Heading(_) | Mode::Cell(true));
        let is_within_own = self
            .wanted
            .iter()
            .any(|outer| std::mem::discriminant(&outer.mark) == std::mem::discriminant(&mark));
        let mark = match mark {
            Mark::Strong if is_header => Mark::Nothing,
            mark if is_within_own => match mark {
                Mark::Sub | Mark::Sup => mark,
                _ => Mark::Nothing,
            },
            mark => mark,
        };
        self.next_id += 1;
        self.wanted.push(Wanted {
            mark,
            id: self.next_id,
        });
        self.in_sync = false;
        self.in_link |= matches!(mark, Mark::Link(..));
    }

    /// The innermost mark or link ends.
    pub(crate) fn leave_mark(&mut self) {
        self.flush_code();
        if self.n_ignored > 0 {
            self.n_ignored -= 1;
            return;
        }
        if let Some(Wanted {
            mark: Mark::Link(..),
            ..
        }) = self.wanted.pop()
        {
            self.in_link = false;
        }
        self.in_sync = false;
    }

    /// Inline code begins.
    pub(crate) fn enter_code(&mut self) {
        self.code_depth += 1;
    }

    /// Inline code ends. It is written with the next content, so that neighbouring code becomes one.
    pub(crate) fn leave_code(&mut self) {
        self.code_depth -= 1;
    }

    /// Writes the code that has been gathered.
    fn flush_code(&mut self) {
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

    /// Writes a code span; white space is folded.
    pub(crate) fn code_span(&mut self, code: &str) {
        self.content_begins('`');
        if self.code_end == self.lines.out.len() && self.lines.out.ends_with('`') {
            self.lines.out.push(' ');
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
            match in_cell {
                true => out.push_str(&word.replace('|', "\\|")),
                false => out.push_str(word),
            }
        }
        out.push_str(if pad { " " } else { "" });
        fence(out);
        self.code_end = out.len();
    }

    /// Writes markdown as it is, as content of the block at hand.
    pub(crate) fn raw(&mut self, markdown: &str) {
        if let Some(first) = markdown.chars().next() {
            self.begin_content(first);
            self.lines.out.push_str(markdown);
        }
    }

    /// Writes an image.
    pub(crate) fn image(&mut self, alt: &str, src: &str, title: &str) {
        self.begin_content('!');
        self.lines.out.push_str("![");
        let was_in_link = std::mem::replace(&mut self.in_link, true);
        self.escaped(alt.trim_ascii());
        self.in_link = was_in_link;
        self.in_address = false;
        self.destination(src, title);
    }

    fn destination(&mut self, href: &str, title: &str) {
        let address = address::absolute(self.document, href);
        let in_cell = matches!(self.mode, Mode::Cell(_));
        self.lines.out.push_str("](");
        address::write(&mut self.lines.out, &address, in_cell);
        address::write_title(&mut self.lines.out, title, in_cell);
        self.lines.out.push(')');
    }

    fn begin_content(&mut self, first: char) {
        self.flush_code();
        self.content_begins(first);
    }

    /// Makes the output ready for content that begins with `first`.
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
        if !self.in_sync || self.open.len() != self.wanted.len() {
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

    /// Begins the content of a cell; nothing of it has been written.
    pub(crate) fn begin_cell(&mut self, is_header: bool) {
        self.mode = Mode::Cell(is_header);
        self.pending = Pending::default();
        self.lines.line_start = self.lines.out.len();
        self.leaf = Some(self.lines.out.len());
    }

    /// Ends the content of a cell; gives whether there was any.
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

    /// Ends the marks that are no longer wanted, then writes the white space, then begins the new ones.
    fn sync(&mut self, first: char) {
        let has_gap = self.pending.space || self.pending.breaks > 0;
        let mut n_same = 0;
        while let (Some(open), Some(wanted)) = (self.open.get_mut(n_same), self.wanted.get(n_same))
        {
            // Two marks of a kind that touch become one: their delimiters would run together.
            let joins = !has_gap && open.mark == wanted.mark && !open.mark.delimiter().is_empty();
            if open.id != wanted.id && !joins {
                break;
            }
            open.id = wanted.id;
            n_same += 1;
        }
        let next = match has_gap {
            true => None,
            false => Some(self.first_after_closing(n_same, first)),
        };
        self.close_down_to(n_same, next);
        self.write_pending();
        for at in n_same..self.wanted.len() {
            let next = self.first_after_opening(at + 1, first);
            self.open_mark(self.wanted[at], next);
        }
        self.in_sync = true;
    }

    /// The character after a run of closing marks when nothing lies between them and the content.
    fn first_after_closing(&self, n_same: usize, first: char) -> char {
        self.first_after_opening(n_same, first)
    }

    /// The first character that is not a star from the `at`th wanted mark on.
    fn first_after_opening(&self, at: usize, first: char) -> char {
        for wanted in &self.wanted[at..] {
            match wanted.mark {
                Mark::Nothing | Mark::Strong | Mark::Emphasis => {}
                Mark::Strike => return '~',
                Mark::Sub | Mark::Sup => return '<',
                Mark::Link(..) => return '[',
            }
        }
        first
    }

    fn open_mark(&mut self, wanted: Wanted<'a>, next: char) {
        let at = self.lines.out.len();
        let mark = wanted.mark;
        let mut as_tag = false;
        match mark {
            Mark::Nothing => {}
            Mark::Link(..) => {
                if self.lines.out.ends_with('!') {
                    self.lines.out.insert(at - 1, '\\');
                }
                self.lines.out.push('[');
            }
            Mark::Sub | Mark::Sup => as_tag = true,
            _ => as_tag = !can_open(self.last_char(mark), next),
        }
        let at = self.lines.out.len() - usize::from(matches!(mark, Mark::Link(..)));
        match as_tag {
            true => {
                self.lines.out.push('<');
                self.lines.out.push_str(mark.tag());
                self.lines.out.push('>');
            }
            false => self.lines.out.push_str(mark.delimiter()),
        }
        self.open.push(Open {
            mark,
            id: wanted.id,
            at,
            as_tag,
        });
    }

    /// The last character of the line, not counting stars that delimit: a run of them is judged as one.
    fn last_char(&self, mark: Mark<'_>) -> Option<char> {
        let start = self.lines.line_start.max(match self.mode {
            Mode::Cell(_) => self.leaf.unwrap_or(0),
            _ => 0,
        });
        let line = self.lines.out.get(start..)?;
        if !mark.is_star() || !line.ends_with('*') {
            return line.chars().next_back();
        }
        const STARS_MAX: usize = 8;
        let stars = line.bytes().rev().take(STARS_MAX);
        let n_stars = stars.take_while(|&byte| byte == b'*').count();
        line[..line.len() - n_stars].chars().next_back()
    }

    /// Ends the innermost marks until `n` are left; `next` is what follows them, `None` for white space or the end of a line.
    fn close_down_to(&mut self, n: usize, next: Option<char>) {
        while self.open.len() > n {
            let Some(open) = self.open.pop() else { return };
            let next = match self.open[n..]
                .iter()
                .rev()
                .find(|o| !(o.mark.is_star() && !o.as_tag))
            {
                Some(outer) if outer.mark != Mark::Nothing => Some(']'),
                _ => next,
            };
            self.close_mark(open, next);
        }
        self.in_sync = false;
    }

    fn close_mark(&mut self, open: Open<'a>, next: Option<char>) {
        match open.mark {
            Mark::Nothing => {}
            Mark::Link(href, title) => self.close_link(open.at, href, title),
            mark => {
                let as_tag = open.as_tag || self.turn_into_tag(open, next);
                match as_tag {
                    true => {
                        self.lines.out.push_str("</");
                        self.lines.out.push_str(mark.tag());
                        self.lines.out.push('>');
                    }
                    false => self.lines.out.push_str(mark.delimiter()),
                }
            }
        }
    }

    /// Where the closing delimiter would not be read as one, the opening one is replaced by a tag.
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

    fn close_link(&mut self, at: usize, href: &str, title: &str) {
        let text = &self.lines.out[at + 1..];
        if title.is_empty() && text.contains([':', '@']) && !text.contains(['|', '\\', ' ']) {
            let address = address::absolute(self.document, href);
            if address::is_autolink(text, &address) {
                let text = text.to_owned();
                self.lines.out.truncate(at);
                self.lines.out.push('<');
                self.lines.out.push_str(&text);
                self.lines.out.push('>');
                return;
            }
        }
        self.destination(href, title);
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
