//! Tokenizes a page's source for the tree builder. Source: WHATWG HTML, "Tokenization".
//!
//! html5ever's own tokenizer copies text character by character between buffers and compares each
//! attribute with all before it. This one reads every byte once or twice, shares parts of the
//! source without copying, and leaves rare markup (doctypes, malformed declarations) to
//! html5ever's.

use std::cell::Cell;

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{
    BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};
use html5ever::{Attribute, LocalName};

use super::arena::NONE;
use super::limits::{LimitCheck, ParseError};
use super::names::Spellings;
use super::nesting::Guard;
use super::sink::Handle;
use super::tag::{self, Collector};
use super::{raw, reference};

/// A page's source during tokenization.
pub(super) struct Source<'a> {
    text: &'a str,
    /// The same text, so that tokens can share parts of it.
    shared: StrTendril,
    at: usize,
    guard: &'a Guard,
    spellings: &'a mut Spellings,
    attributes_max: usize,
}

impl<'a> Source<'a> {
    pub(super) fn new(
        text: &'a str,
        guard: &'a Guard,
        spellings: &'a mut Spellings,
        attributes_max: usize,
    ) -> Self {
        Self {
            text,
            shared: StrTendril::from(text),
            at: 0,
            guard,
            spellings,
            attributes_max,
        }
    }

    /// Tokenizes the whole source, checking `limits` along the way.
    ///
    /// # Errors
    /// A limit is reached.
    pub(super) fn run(&mut self, limits: &mut LimitCheck) -> Result<(), ParseError> {
        while self.at < self.text.len() {
            limits.tick(self.guard.sink())?;
            match self.text.as_bytes()[self.at] {
                b'<' => self.markup(),
                _ => self.data(),
            }
        }
        limits.check(self.guard.sink())
    }

    fn bytes(&self) -> &'a [u8] {
        self.text.as_bytes()
    }

    /// Sends text up to the next `<`, `&` or NUL, and then that character unless it is `<`.
    fn data(&mut self) {
        let rest = &self.bytes()[self.at..];
        let length = memchr::memchr3(b'<', b'&', b'\0', rest).unwrap_or(rest.len());
        self.send_part(self.at, self.at + length);
        self.at += length;
        match rest.get(length) {
            Some(b'&') => self.reference(),
            Some(b'\0') => {
                self.guard.other(Token::NullCharacterToken);
                self.at += 1;
            }
            _ => {}
        }
    }

    fn reference(&mut self) {
        match reference::read(&self.text[self.at + 1..], false) {
            Some(found) => {
                let mut characters = String::new();
                reference::push(&mut characters, found.characters);
                self.send(&characters);
                self.at += 1 + found.length;
            }
            None => {
                self.send("&");
                self.at += 1;
            }
        }
    }

    fn markup(&mut self) {
        let rest = &self.bytes()[self.at + 1..];
        match rest {
            [first, ..] if first.is_ascii_alphabetic() => self.start_tag(),
            [b'/', first, ..] if first.is_ascii_alphabetic() => self.end_tag(),
            [b'/', b'>', ..] => self.at += 3,
            [b'/', _, ..] => self.bogus_comment(self.at + 2),
            [b'?', ..] => self.bogus_comment(self.at + 1),
            [b'!', rest @ ..] if rest.starts_with(b"--") => self.comment(),
            [b'!', rest @ ..] if rest.starts_with(b"[CDATA[") && self.guard.is_foreign() => {
                self.cdata();
            }
            [b'!', ..] => self.declaration(),
            _ => {
                self.send_part(self.at, self.at + 1);
                self.at += 1;
            }
        }
    }

    fn start_tag(&mut self) {
        let name_end = tag::name_end(self.text, self.at + 1);
        let name = self.spellings.atom(&self.text[self.at + 1..name_end]);
        let mut collector = Collector {
            source: self.text,
            shared: &self.shared,
            spellings: self.spellings,
            max: self.attributes_max,
            list: self.guard.sink().spare.take(),
            had_duplicate: false,
        };
        let extent = tag::attributes(self.text, name_end, |name, value| {
            collector.add(name, value)
        });
        let (attributes, had_duplicate) = (collector.list, collector.had_duplicate);
        let Some(extent) = extent else {
            // A tag cut off by the end of the source is dropped.
            self.at = self.text.len();
            return;
        };
        self.at = extent.end;
        let result = self.guard.tag(Tag {
            kind: TagKind::StartTag,
            name: name.clone(),
            self_closing: extent.is_self_closing,
            attrs: attributes,
            had_duplicate_attributes: had_duplicate,
        });
        match result {
            TokenSinkResult::RawData(kind) => self.raw_text(kind, &name),
            TokenSinkResult::Plaintext => self.verbatim(self.text.len()),
            _ => {}
        }
    }

    fn end_tag(&mut self) {
        let name_end = tag::name_end(self.text, self.at + 2);
        let Some(extent) = tag::attributes(self.text, name_end, |_, _| {}) else {
            self.at = self.text.len();
            return;
        };
        let name = self.spellings.atom(&self.text[self.at + 2..name_end]);
        self.at = extent.end;
        let _ = self.guard.tag(Tag {
            kind: TagKind::EndTag,
            name,
            self_closing: extent.is_self_closing,
            attrs: Vec::<Attribute>::new(),
            had_duplicate_attributes: false,
        });
    }

    /// The text of a raw text element. Its end tag is tokenized like any other.
    fn raw_text(&mut self, kind: RawKind, name: &LocalName) {
        let end = match kind {
            RawKind::ScriptData => raw::script_end(self.bytes(), self.at),
            _ => raw::text_end(self.bytes(), self.at, name),
        };
        if kind != RawKind::Rcdata {
            return self.verbatim(end);
        }
        while let Some(length) = memchr::memchr(b'&', &self.bytes()[self.at..end]) {
            self.verbatim(self.at + length);
            self.reference();
        }
        self.verbatim(end);
    }

    /// Sends text without character references; NUL becomes U+FFFD.
    fn verbatim(&mut self, end: usize) {
        while let Some(length) = memchr::memchr(b'\0', &self.bytes()[self.at..end]) {
            self.send_part(self.at, self.at + length);
            self.send("\u{fffd}");
            self.at += length + 1;
        }
        self.send_part(self.at, end);
        self.at = end;
    }

    fn cdata(&mut self) {
        const OPEN: usize = "<![CDATA[".len();
        let start = self.at + OPEN;
        let end = memchr::memmem::find(&self.bytes()[start..], b"]]>").map(|at| start + at);
        self.at = start;
        let stop = end.unwrap_or(self.text.len());
        while let Some(length) = memchr::memchr(b'\0', &self.bytes()[self.at..stop]) {
            self.send_part(self.at, self.at + length);
            self.guard.other(Token::NullCharacterToken);
            self.at += length + 1;
        }
        self.send_part(self.at, stop);
        self.at = end.map_or(stop, |end| end + "]]>".len());
    }

    fn comment(&mut self) {
        let start = self.at + "<!--".len();
        match raw::comment_end(self.bytes(), start) {
            Some(comment) => {
                self.send_comment(start, comment.text_end);
                self.at = comment.next;
            }
            None => self.declaration(),
        }
    }

    /// A comment that starts at `start` and ends at the next `>`.
    fn bogus_comment(&mut self, start: usize) {
        let end = memchr::memchr(b'>', &self.bytes()[start..]).map(|at| start + at);
        self.send_comment(start, end.unwrap_or(self.text.len()));
        self.at = end.map_or(self.text.len(), |end| end + 1);
    }

    /// A doctype, a malformed declaration or an unclosed comment: html5ever's tokenizer handles it.
    fn declaration(&mut self) {
        let relay = Relay {
            guard: self.guard,
            is_done: Cell::new(false),
        };
        let options = TokenizerOpts {
            discard_bom: false,
            ..TokenizerOpts::default()
        };
        let tokenizer = Tokenizer::new(relay, options);
        let queue = BufferQueue::default();
        while !tokenizer.sink.is_done.get() && self.at < self.text.len() {
            let rest = &self.bytes()[self.at..];
            let length = memchr::memchr(b'>', rest).map_or(rest.len(), |at| at + 1);
            queue.push_back(self.shared.subtendril(self.at as u32, length as u32));
            let _ = tokenizer.feed(&queue);
            self.at += length;
        }
        if !tokenizer.sink.is_done.get() {
            tokenizer.end();
        }
    }

    fn send_comment(&self, start: usize, end: usize) {
        let written = &self.text[start..end];
        let comment = match memchr::memchr(b'\0', written.as_bytes()) {
            None => self.shared.subtendril(start as u32, (end - start) as u32),
            Some(_) => StrTendril::from(written.replace('\0', "\u{fffd}")),
        };
        self.guard.other(Token::CommentToken(comment));
    }

    /// Sends a part of the source as text.
    fn send_part(&self, start: usize, end: usize) {
        if start < end && !self.extends(&self.text[start..end]) {
            let part = self.shared.subtendril(start as u32, (end - start) as u32);
            self.guard.other(Token::CharacterTokens(part));
        }
    }

    fn send(&self, text: &str) {
        if !self.extends(text) {
            self.guard
                .other(Token::CharacterTokens(StrTendril::from(text)));
        }
    }

    /// Extends the text node that was written last, if possible. Text goes where the previous text
    /// went: once something other than white space was written, the tree builder is in a mode that
    /// puts all further text there.
    fn extends(&self, text: &str) -> bool {
        let sink = self.guard.sink();
        let node = sink.open_text.get();
        if node != NONE {
            sink.arena.borrow_mut().extend(node, text);
        }
        node != NONE
    }
}

/// Forwards the tokens of html5ever's tokenizer, up to the first declaration.
struct Relay<'a> {
    guard: &'a Guard,
    is_done: Cell<bool>,
}

impl TokenSink for Relay<'_> {
    type Handle = Handle;

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<Handle> {
        match token {
            Token::ParseError(_) | Token::EOFToken => {}
            Token::DoctypeToken(_) | Token::CommentToken(_) => {
                self.is_done.set(true);
                self.guard.other(token);
            }
            other => self.guard.other(other),
        }
        TokenSinkResult::Continue
    }
}
