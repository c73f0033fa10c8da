//! Splits a page's source into tokens: text, tags, and elements whose content is not displayed.
//! Builds no tree and copies nothing.
//!
//! Follows the tokenizer of the HTML standard where it affects what is displayed (section 13.2.5).
//! Linear for any source: each byte is visited a bounded number of times.

use memchr::memmem::Finder;
use memchr::{memchr, memchr_iter, memchr3};

/// A token of source. Comments, document types and unfinished tags are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// Text between tags, character references and all.
    Text(&'a [u8]),
    /// A start tag.
    Open(Tag<'a>),
    /// The name in an end tag.
    Close(&'a [u8]),
    /// An element whose content is not shown as text, with its end tag if there is one.
    Hidden(HiddenElement, Tag<'a>, &'a [u8]),
}

/// A start tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tag<'a> {
    /// As written; names are compared without regard to case.
    pub(super) name: &'a [u8],
    /// Source between the name and `>`.
    attributes: &'a [u8],
}

impl<'a> Tag<'a> {
    /// Whether this is the tag's name, given in lower case.
    pub(super) fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name.as_bytes())
    }

    /// Names and values as written, without quotes; a missing value is empty.
    pub(super) fn attributes(&self) -> Attributes<'a> {
        Attributes {
            rest: self.attributes,
        }
    }

    /// Whether the parser makes the content a shadow tree. Source: WHATWG HTML, "A start tag whose
    /// tag name is "template"".
    fn has_shadow_tree(&self) -> bool {
        let mode = self.attribute("shadowrootmode");
        mode.is_some_and(|mode| matches!(mode, b"open" | b"closed"))
    }

    /// The value of an attribute, its name given in lower case.
    pub(super) fn attribute(&self, name: &str) -> Option<&'a [u8]> {
        self.attributes()
            .find(|(key, _)| key.eq_ignore_ascii_case(name.as_bytes()))
            .map(|(_, value)| value)
    }
}

/// Elements whose content is not shown as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HiddenElement {
    /// `script`
    Script,
    /// `noscript`: shown only where scripts are off.
    Noscript,
    /// `iframe`: its content is for what knows no frames.
    Frame,
    /// `textarea`: a field's value.
    Field,
    /// `template`, unless its content is a shadow tree, which is shown.
    Template,
    /// `svg`: drawings, the titles within included.
    Drawing,
    /// `style`, `title`, `noembed`, `noframes`
    Other,
}

impl HiddenElement {
    fn of(name: &[u8]) -> Option<Self> {
        let is = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
        match name.len() {
            3 if is("svg") => Some(Self::Drawing),
            5 if is("style") || is("title") => Some(Self::Other),
            6 if is("script") => Some(Self::Script),
            6 if is("iframe") => Some(Self::Frame),
            7 if is("noembed") => Some(Self::Other),
            8 if is("noscript") => Some(Self::Noscript),
            8 if is("template") => Some(Self::Template),
            8 if is("textarea") => Some(Self::Field),
            8 if is("noframes") => Some(Self::Other),
            _ => None,
        }
    }

    /// Whether browsers treat everything as its content if the end tag is missing.
    fn holds_to_the_end(self) -> bool {
        !matches!(self, Self::Noscript | Self::Template | Self::Drawing)
    }
}

/// The tokens of a source in their order.
pub(super) struct Tokens<'a> {
    source: &'a [u8],
    at: usize,
    end_tags: Finder<'static>,
    /// Hidden elements without a further end tag, one bit each: searched for once, so that time
    /// stays linear.
    unclosed: u8,
}

impl<'a> Tokens<'a> {
    pub(super) fn new(source: &'a [u8]) -> Self {
        Self {
            source,
            at: 0,
            end_tags: Finder::new(b"</"),
            unclosed: 0,
        }
    }

    /// Where the next token begins.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    fn rest(&self) -> &'a [u8] {
        &self.source[self.at..]
    }

    /// Text up to the next `<` after the first byte.
    fn text(&mut self) -> Token<'a> {
        let rest = self.rest();
        let end = memchr(b'<', &rest[1..]).map_or(rest.len(), |found| found + 1);
        self.at += end;
        Token::Text(&rest[..end])
    }

    fn start_tag(&mut self) -> Option<Token<'a>> {
        let tag = self.tag(1)?;
        let Some(element) = HiddenElement::of(tag.name) else {
            return Some(Token::Open(tag));
        };
        let is_closed_at_once = element == HiddenElement::Drawing && tag.attributes.ends_with(b"/");
        let is_shadow = element == HiddenElement::Template && tag.has_shadow_tree();
        if is_closed_at_once || is_shadow {
            return Some(Token::Open(tag));
        }
        Some(match self.content(element, tag.name) {
            Some(inner) => Token::Hidden(element, tag, inner),
            None => Token::Open(tag),
        })
    }

    fn end_tag(&mut self) -> Option<Token<'a>> {
        self.tag(2).map(|tag| Token::Close(tag.name))
    }

    /// The tag here, whose name begins after `before` bytes; moves past it. `None` if it does not
    /// end: browsers drop it then.
    fn tag(&mut self, before: usize) -> Option<Tag<'a>> {
        let rest = &self.source[self.at + before..];
        let name = name_length(rest);
        let Some(end) = tag_end(rest, name) else {
            self.at = self.source.len();
            return None;
        };
        self.at += before + end + 1;
        Some(Tag {
            name: &rest[..name],
            attributes: &rest[name..end],
        })
    }

    /// The content up to the end tag; moves past it. `None` if the element has no effect without
    /// one.
    fn content(&mut self, element: HiddenElement, name: &[u8]) -> Option<&'a [u8]> {
        let bit = 1 << element as u8;
        let rest = self.rest();
        let end = match self.unclosed & bit {
            0 => self.find_end(name),
            _ => None,
        };
        match end {
            Some(end) => {
                let past = memchr(b'>', &rest[end..]).map_or(rest.len(), |found| end + found + 1);
                self.at += past;
                Some(&rest[..end])
            }
            None if element.holds_to_the_end() => {
                self.at = self.source.len();
                Some(rest)
            }
            None => {
                self.unclosed |= bit;
                None
            }
        }
    }

    /// Where the end tag of this name begins, counted from here.
    fn find_end(&self, name: &[u8]) -> Option<usize> {
        let rest = self.rest();
        let mut at = 0;
        while let Some(found) = self.end_tags.find(&rest[at..]) {
            let begin = at + found;
            let after = &rest[begin + 2..];
            let is_it = after.len() > name.len()
                && after[..name.len()].eq_ignore_ascii_case(name)
                && (after[name.len()].is_ascii_whitespace()
                    || matches!(after[name.len()], b'/' | b'>'));
            if is_it {
                return Some(begin);
            }
            at = begin + 2;
        }
        None
    }

    /// Passes a comment, a document type or a processing instruction.
    fn skip_declaration(&mut self) {
        let rest = self.rest();
        let end = if rest.starts_with(b"<!--") {
            comment_end(rest)
        } else {
            memchr(b'>', rest)
        };
        self.at += end.map_or(rest.len(), |end| end + 1);
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        loop {
            match self.rest() {
                [] => return None,
                [b'<', b'!' | b'?', ..] => self.skip_declaration(),
                [b'<', b'/', name, ..] if name.is_ascii_alphabetic() => return self.end_tag(),
                [b'<', b'/', _, ..] => self.skip_declaration(),
                [b'<', name, ..] if name.is_ascii_alphabetic() => return self.start_tag(),
                _ => return Some(self.text()),
            }
        }
    }
}

/// Length of the tag's name, which white space, a slash or the end of the tag ends.
fn name_length(source: &[u8]) -> usize {
    let mut length = 0;
    while length < source.len() {
        match source[length] {
            b' ' | b'\n' | b'\t' | b'\r' | b'\x0C' | b'/' | b'>' => break,
            _ => length += 1,
        }
    }
    length
}

/// Where the tag's `>` is: not one inside a quoted value.
fn tag_end(source: &[u8], from: usize) -> Option<usize> {
    if source.get(from) == Some(&b'>') {
        // No attributes, like most tags.
        return Some(from);
    }
    let end = from + memchr(b'>', &source[from..])?;
    // Counting quotes takes a fraction of going from one to the next, and settles nearly all tags.
    let tag = &source[from..end];
    let is_even = |quote| memchr_iter(quote, tag).count().is_multiple_of(2);
    if is_even(b'"') && is_even(b'\'') {
        Some(end)
    } else {
        quoted_tag_end(source, from)
    }
}

/// The same by the letter: a quote opens a value only after `=`.
fn quoted_tag_end(source: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        let found = at + memchr3(b'>', b'"', b'\'', &source[at..])?;
        let byte = source[found];
        if byte == b'>' {
            return Some(found);
        }
        at = found + 1;
        if source[from..found].trim_ascii_end().ends_with(b"=") {
            at += memchr(byte, &source[at..])? + 1;
        }
    }
}

/// Where the comment's last `>` is: after `--` or `--!`, the dashes of its own beginning included.
fn comment_end(source: &[u8]) -> Option<usize> {
    let mut at = 4;
    loop {
        let found = at + memchr(b'>', source.get(at..)?)?;
        let inside = &source[2..found];
        if inside.ends_with(b"--") || (inside.len() > 4 && inside.ends_with(b"--!")) {
            return Some(found);
        }
        at = found + 1;
    }
}

/// The attributes of a tag: name and value.
pub(super) struct Attributes<'a> {
    rest: &'a [u8],
}

impl<'a> Attributes<'a> {
    /// Takes bytes up to the first that ends them.
    fn take_until(&mut self, ends: impl Fn(u8) -> bool) -> &'a [u8] {
        let end = self.rest.iter().position(|&byte| ends(byte));
        let (taken, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        taken
    }

    fn value(&mut self) -> &'a [u8] {
        let Some(after) = self.rest.trim_ascii_start().strip_prefix(b"=") else {
            return &[];
        };
        self.rest = after.trim_ascii_start();
        match self.rest {
            [quote @ (b'"' | b'\''), inside @ ..] => {
                self.rest = inside;
                let value = self.take_until(|byte| byte == *quote);
                self.rest = self.rest.get(1..).unwrap_or_default();
                value
            }
            _ => self.take_until(|byte| byte.is_ascii_whitespace()),
        }
    }
}

impl<'a> Iterator for Attributes<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        self.take_until(|byte| !byte.is_ascii_whitespace() && byte != b'/');
        if self.rest.is_empty() {
            return None;
        }
        let all = self.rest;
        // A name may begin with `=`, so that there is always progress.
        self.rest = &all[1..];
        self.take_until(|byte| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'='));
        let name = &all[..all.len() - self.rest.len()];
        Some((name, self.value()))
    }
}
