//! Marks and links around text.

use std::borrow::Cow;

use super::{Mode, Writer};
use crate::flanking::can_open;
use crate::url;
use trawl_sdk::scan::ByteSet;

/// Maximum nesting of marks and links; deeper ones are dropped.
const NESTING_MAX: usize = 16;

/// A text that may be its own link has one of these bytes, and none of those.
const AUTOLINK: ByteSet = ByteSet::of(b":@");
const NO_AUTOLINK: ByteSet = ByteSet::of(b"|\\ ");

/// An element around inline text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark<'a> {
    /// Counted, but not written.
    Nothing,
    Strong,
    Emphasis,
    Strike,
    Sub,
    Sup,
    /// A link with its unresolved URL and its title.
    Link(&'a str, &'a str),
}

impl Mark<'_> {
    pub(super) fn delimiter(self) -> &'static str {
        match self {
            Self::Strong => "**",
            Self::Emphasis => "*",
            Self::Strike => "~~",
            _ => "",
        }
    }

    /// Tag name for cases that Markdown delimiters cannot express.
    pub(super) fn tag(self) -> &'static str {
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
pub(super) struct EnclosingMark<'a> {
    mark: Mark<'a>,
    id: u32,
}

impl EnclosingMark<'_> {
    /// Whether punctuation at its edge may be written outside: what is raised or linked stays so.
    pub(super) fn may_lose_punctuation(&self) -> bool {
        !matches!(self.mark, Mark::Link(..) | Mark::Sub | Mark::Sup)
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Open<'a> {
    pub(super) mark: Mark<'a>,
    id: u32,
    /// Start of its delimiter in the output.
    pub(super) at: usize,
    /// Opened as a tag, so closed as one.
    pub(super) as_tag: bool,
}

impl<'a> Writer<'a> {
    /// Starts a mark or link.
    pub(crate) fn enter_mark(&mut self, mark: Mark<'a>) {
        self.flush_code();
        if self.enclosing.len() >= NESTING_MAX {
            self.n_ignored += 1;
            return;
        }
        let is_header = matches!(self.mode, Mode::Heading(_) | Mode::Cell(true));
        let is_within_own = self
            .enclosing
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
        self.enclosing.push(EnclosingMark {
            mark,
            id: self.next_id,
        });
        self.in_sync = false;
        self.in_link |= matches!(mark, Mark::Link(..));
    }

    /// Ends the innermost mark or link.
    pub(crate) fn leave_mark(&mut self) {
        self.flush_code();
        if self.n_ignored > 0 {
            self.n_ignored -= 1;
            return;
        }
        if let Some(EnclosingMark {
            mark: Mark::Link(..),
            ..
        }) = self.enclosing.pop()
        {
            self.in_link = false;
        }
        self.in_sync = false;
    }

    /// Closes marks that have ended, then writes white space, then opens new marks.
    pub(super) fn sync(&mut self, first: char) {
        let has_gap = self.has_gap();
        let n_same = self.n_same();
        let next = if has_gap {
            None
        } else {
            Some(self.first_but_stars(n_same, first))
        };
        self.close_down_to(n_same, next);
        self.write_pending();
        for at in n_same..self.enclosing.len() {
            let next = self.first_but_stars(at + 1, first);
            self.open_mark(self.enclosing[at], next);
        }
        self.in_sync = true;
    }

    /// Number of open marks that have not ended.
    pub(super) fn n_same(&mut self) -> usize {
        let has_gap = self.has_gap();
        let mut n_same = 0;
        while let (Some(open), Some(enclosing)) =
            (self.open.get_mut(n_same), self.enclosing.get(n_same))
        {
            // Two adjacent marks of the same kind are merged: their delimiters would run together.
            let joins =
                !has_gap && open.mark == enclosing.mark && !open.mark.delimiter().is_empty();
            if open.id != enclosing.id && !joins {
                break;
            }
            open.id = enclosing.id;
            n_same += 1;
        }
        n_same
    }

    /// The first character that is not an asterisk, from the pending mark `at` on.
    fn first_but_stars(&self, at: usize, first: char) -> char {
        for enclosing in &self.enclosing[at..] {
            match enclosing.mark {
                Mark::Nothing | Mark::Strong | Mark::Emphasis => {}
                Mark::Strike => return '~',
                Mark::Sub | Mark::Sup => return '<',
                Mark::Link(..) => return '[',
            }
        }
        first
    }

    fn open_mark(&mut self, enclosing: EnclosingMark<'a>, next: char) {
        let at = self.lines.out.len();
        // A heading is bold anyway, even if the bold mark started outside of it.
        let mark = match enclosing.mark {
            Mark::Strong if matches!(self.mode, Mode::Heading(_)) => Mark::Nothing,
            mark => mark,
        };
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
        if mark == Mark::Strike && !as_tag {
            self.guard_tilde();
        }
        let at = self.lines.out.len() - usize::from(matches!(mark, Mark::Link(..)));
        if as_tag {
            self.lines.out.push('<');
            self.lines.out.push_str(mark.tag());
            self.lines.out.push('>');
        } else {
            self.lines.out.push_str(mark.delimiter());
        }
        self.open.push(Open {
            mark,
            id: enclosing.id,
            at,
            as_tag,
        });
    }

    /// The last character of the line, skipping delimiter asterisks: a run of them is judged as a
    /// whole.
    pub(super) fn last_char(&self, mark: Mark<'_>) -> Option<char> {
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

    /// Closes the innermost marks until `n` are open; `next` is the character that follows, `None`
    /// for white space or the end of a line.
    pub(super) fn close_down_to(&mut self, n: usize, next: Option<char>) {
        while self.open.len() > n {
            let Some(open) = self.open.pop() else { return };
            let next = match self.open[n..]
                .iter()
                .rev()
                .find(|outer| !outer.mark.is_star() || outer.as_tag)
            {
                Some(outer) if outer.mark != Mark::Nothing => Some(']'),
                _ => next,
            };
            self.close_mark(open, next);
        }
        self.in_sync = false;
    }

    fn close_mark(&mut self, open: Open<'a>, next: Option<char>) {
        if open.as_tag && !matches!(open.mark, Mark::Sub | Mark::Sup) && self.drop_empty_tag(open) {
            return;
        }
        let blanks = self.take_blanks(open);
        let next = if blanks.is_empty() { next } else { None };
        match open.mark {
            Mark::Nothing => {}
            Mark::Link(href, title) => self.close_link(open.at, href, title),
            _ => self.close_delimited(open, next),
        }
        self.lines.out.push_str(&blanks);
    }

    fn close_link(&mut self, at: usize, href: &str, title: &str) {
        let text = &self.lines.out[at + 1..];
        if title.is_empty()
            && AUTOLINK.find(text.as_bytes(), 0).is_some()
            && NO_AUTOLINK.find(text.as_bytes(), 0).is_none()
        {
            let destination = if url::scheme(href).is_some() {
                Cow::Borrowed(href.trim_ascii())
            } else {
                self.base.absolute(href)
            };
            if url::is_autolink(text, &destination) {
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
