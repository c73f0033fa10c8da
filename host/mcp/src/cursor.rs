//! Where an answer goes on: `3.1200.9f2c01ab`.

use std::fmt;

/// Characters of the hash in a cursor.
const HASH_CHARS: usize = 8;

/// A place in an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cursor {
    /// Number of the item, from 0.
    pub(crate) item: usize,
    /// Offset in its text, in bytes.
    pub(crate) at: usize,
    /// The beginning of the hash of its text; `None` at its start.
    pub(crate) hash: Option<String>,
}

impl Cursor {
    /// The start of an item.
    pub(crate) fn start(item: usize) -> Self {
        Self {
            item,
            at: 0,
            hash: None,
        }
    }

    /// A place inside the text of an item.
    pub(crate) fn within(item: usize, at: usize, text: &str) -> Self {
        Self {
            item,
            at,
            hash: Some(hash(text)),
        }
    }

    /// Reads the text of a cursor; `None` if it is none.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let mut parts = text.trim().split('.');
        let item = number(parts.next()?)?;
        let Some(at) = parts.next() else {
            return Some(Self::start(item));
        };
        let hash = parts.next()?;
        let is_hash = hash.len() == HASH_CHARS && hash.bytes().all(|c| c.is_ascii_hexdigit());
        (is_hash && parts.next().is_none()).then_some(Self {
            item,
            at: number(at)?,
            hash: Some(hash.to_owned()),
        })
    }

    /// The rest of the text of its item; `None` if the text is not the one that was cut.
    pub(crate) fn rest<'t>(&self, text: &'t str) -> Option<&'t str> {
        match &self.hash {
            Some(known) if *known != hash(text) => None,
            _ => text.get(self.at..),
        }
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.hash {
            None => write!(f, "{}", self.item),
            Some(hash) => write!(f, "{}.{}.{hash}", self.item, self.at),
        }
    }
}

/// A number that others can be added to.
fn number(digits: &str) -> Option<usize> {
    let number: u32 = digits.parse().ok()?;
    usize::try_from(number).ok()
}

fn hash(text: &str) -> String {
    let hex = blake3::hash(text.as_bytes()).to_hex();
    hex[..HASH_CHARS].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_as_it_is_written() {
        for cursor in [Cursor::start(7), Cursor::within(2, 4, "é and more")] {
            assert_eq!(Cursor::read(&cursor.to_string()), Some(cursor));
        }
        for wrong in [
            "",
            "x",
            "1.2",
            "1.2.zzzzzzzz",
            "1.2.abc",
            "1.2.abcdef01.4",
            "-1",
            "4294967296",
            "18446744073709551615",
            "1.18446744073709551615.abcdef01",
        ] {
            assert_eq!(Cursor::read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_rest_is_that_of_the_same_text() {
        let text = "one two";
        let cursor = Cursor::within(0, 4, text);
        assert_eq!(cursor.rest(text), Some("two"));
        assert_eq!(cursor.rest("one tWo"), None);
        assert_eq!(Cursor::start(0).rest(text), Some(text));
        // Inside a character, and beyond the end.
        assert_eq!(Cursor::within(0, 1, "é").rest("é"), None);
        assert_eq!(Cursor::within(0, 9, text).rest(text), None);
    }
}
