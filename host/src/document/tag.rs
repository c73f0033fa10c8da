//! Reading one tag. Source: WHATWG HTML, "Tag name state" to "Self-closing start tag state".

use html5ever::tendril::StrTendril;
use html5ever::{Attribute, QualName, ns};

use super::names::Spellings;
use super::reference;

/// A tag's extent: where it ends and how.
pub(super) struct Extent {
    /// Offset one past its `>`.
    pub(super) end: usize,
    /// Whether it ends in `/>`.
    pub(super) is_self_closing: bool,
}

/// Offset one past the tag name that begins at `from`.
pub(super) fn name_end(source: &str, from: usize) -> usize {
    let bytes = &source.as_bytes()[from..];
    let is_end = |byte: &u8| is_space(*byte) || matches!(byte, b'/' | b'>');
    from + bytes.iter().position(is_end).unwrap_or(bytes.len())
}

/// Reads the attributes that follow a tag name, handing each as written (name, value) to `each`. `None` when the source ends
/// inside the tag. One look at every byte, however many attributes there are.
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

/// The first character belongs to the name whatever it is.
fn attribute_name_end(bytes: &[u8], from: usize) -> usize {
    let rest = &bytes[from + 1..];
    let is_end = |byte: &u8| is_space(*byte) || matches!(byte, b'/' | b'>' | b'=');
    from + 1 + rest.iter().position(is_end).unwrap_or(rest.len())
}

/// Extent of the value after an attribute's name, and where to go on.
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
            let is_end = |byte: &u8| is_space(*byte) || *byte == b'>';
            let end = at + bytes[at..].iter().position(is_end)?;
            Some(((at, end), end))
        }
    }
}

/// The attributes of one tag as the tree builder takes them: the first of a name counts, no more than `max`.
pub(super) struct Collector<'a> {
    pub(super) source: &'a str,
    /// The same text, to share values with.
    pub(super) shared: &'a StrTendril,
    pub(super) spellings: &'a mut Spellings,
    pub(super) max: usize,
    pub(super) list: Vec<Attribute>,
    pub(super) had_duplicate: bool,
}

impl Collector<'_> {
    pub(super) fn add(&mut self, name: (usize, usize), value: (usize, usize)) {
        // Checked first: past the cap a name is not even looked up, so the search for duplicates stays bounded.
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
    let is_other = |byte: &u8| !is_space(*byte);
    from + bytes[from..]
        .iter()
        .position(is_other)
        .unwrap_or(bytes.len() - from)
}

/// White space inside tags. Carriage returns were normalised before.
pub(super) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\t' | b'\x0c')
}
