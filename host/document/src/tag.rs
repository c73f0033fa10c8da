//! Parses one tag. Source: WHATWG HTML, "Tag name state" to "Self-closing start tag state".

use html5ever::tendril::StrTendril;
use html5ever::{Attribute, QualName, ns};

use super::names::Spellings;
use super::reference;

/// The extent of a tag.
pub(super) struct Extent {
    /// Offset one past its `>`.
    pub(super) end: usize,
    /// Whether it ends in `/>`.
    pub(super) is_self_closing: bool,
}

/// Offset one past the tag name that starts at `from`.
#[inline]
pub(super) fn name_end(source: &str, from: usize) -> usize {
    let bytes = &source.as_bytes()[from..];
    from + until(bytes, NAME_END)
}

/// Parses the attributes that follow a tag name, and passes the extents of each name and value to
/// `each`. `None` when the source ends inside the tag. Reads every byte once, however many
/// attributes there are.
#[inline]
pub(super) fn attributes(
    source: &str,
    from: usize,
    mut each: impl FnMut((usize, usize), (usize, usize)),
) -> Option<Extent> {
    let bytes = source.as_bytes();
    let mut at = from;
    loop {
        at = skip_space(bytes, at);
        match *bytes.get(at)? {
            b'>' => {
                return Some(Extent {
                    end: at + 1,
                    is_self_closing: false,
                });
            }
            b'/' => {
                at += 1;
                if *bytes.get(at)? == b'>' {
                    return Some(Extent {
                        end: at + 1,
                        is_self_closing: true,
                    });
                }
            }
            _ => {
                let name = (at, attribute_name_end(bytes, at));
                let value;
                (value, at) = attribute_value(bytes, name.1)?;
                each(name, value);
            }
        }
    }
}

/// The first character is part of the name, whatever it is.
fn attribute_name_end(bytes: &[u8], from: usize) -> usize {
    let rest = &bytes[from + 1..];
    from + 1 + until(rest, NAME_END | EQUALS)
}

/// Extent of the value after an attribute's name, and the offset after it.
fn attribute_value(bytes: &[u8], from: usize) -> Option<((usize, usize), usize)> {
    let at = skip_space(bytes, from);
    if *bytes.get(at)? != b'=' {
        return Some(((at, at), at));
    }
    let at = skip_space(bytes, at + 1);
    match *bytes.get(at)? {
        b'>' => Some(((at, at), at)),
        quote @ (b'"' | b'\'') => {
            let end = at + 1 + memchr::memchr(quote, &bytes[at + 1..])?;
            Some(((at + 1, end), end + 1))
        }
        _ => {
            let end = at + until(&bytes[at..], SPACE | CLOSE);
            bytes.get(end).map(|_| ((at, end), end))
        }
    }
}

/// Collects the attributes of one tag for the tree builder: the first of each name, at most `max`.
pub(super) struct Collector<'a> {
    pub(super) source: &'a str,
    /// The same text, so that values can share parts of it.
    pub(super) shared: &'a StrTendril,
    pub(super) spellings: &'a mut Spellings,
    pub(super) max: usize,
    pub(super) list: Vec<Attribute>,
    pub(super) had_duplicate: bool,
}

impl Collector<'_> {
    pub(super) fn add(&mut self, name: (usize, usize), value: (usize, usize)) {
        // Checked first: beyond the limit a name is not even looked up, so the search for
        // duplicates stays bounded.
        if self.list.len() >= self.max {
            return;
        }
        let local = self.spellings.atom(&self.source[name.0..name.1]);
        if self.list.iter().any(|known| known.name.local == local) {
            self.had_duplicate = true;
            return;
        }
        self.list.push(Attribute {
            name: QualName::new(None, ns!(), local),
            value: self.value(value),
        });
    }

    fn value(&self, (start, end): (usize, usize)) -> StrTendril {
        let written = &self.source[start..end];
        match memchr::memchr2(b'&', b'\0', written.as_bytes()) {
            None => self.shared.subtendril(start as u32, (end - start) as u32),
            Some(_) => StrTendril::from(reference::replace_all(written)),
        }
    }
}

fn skip_space(bytes: &[u8], from: usize) -> usize {
    from + until(&bytes[from..], !SPACE)
}

/// White space inside tags. Parsing has normalized carriage returns before; scanning has not, and
/// treats them as white space.
pub(super) fn is_space(byte: u8) -> bool {
    CLASSES[byte as usize] == SPACE
}

/// Number of bytes before the first one of these classes.
fn until(bytes: &[u8], classes: u8) -> usize {
    let is_end = |byte: &u8| CLASSES[*byte as usize] & classes != 0;
    bytes.iter().position(is_end).unwrap_or(bytes.len())
}

const SPACE: u8 = 1;
const CLOSE: u8 = 2;
const SLASH: u8 = 4;
const EQUALS: u8 = 8;
const OTHER: u8 = 16;
const NAME_END: u8 = SPACE | SLASH | CLOSE;

/// The class of each byte.
const CLASSES: [u8; 256] = {
    let mut classes = [OTHER; 256];
    classes[b' ' as usize] = SPACE;
    classes[b'\n' as usize] = SPACE;
    classes[b'\t' as usize] = SPACE;
    classes[b'\x0c' as usize] = SPACE;
    classes[b'\r' as usize] = SPACE;
    classes[b'>' as usize] = CLOSE;
    classes[b'/' as usize] = SLASH;
    classes[b'=' as usize] = EQUALS;
    classes
};
