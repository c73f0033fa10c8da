//! Reusable buffers. A component rarely frees memory while it runs, so evaluation must not allocate
//! for every node.

use std::cell::RefCell;
use std::hash::{Hash, Hasher};
use std::ops::{Deref, DerefMut};
use std::rc::Rc;

use super::tree::Key;

/// Buffers that are free for reuse.
#[derive(Default)]
pub(super) struct Pool {
    keys: RefCell<Vec<Vec<Key>>>,
    texts: RefCell<Vec<String>>,
}

impl Pool {
    /// Takes an empty list.
    pub(super) fn keys(&self) -> Keys<'_> {
        let keys = self.keys.borrow_mut().pop().unwrap_or_default();
        Keys { keys, pool: self }
    }

    /// Takes an empty string.
    pub(super) fn text(&self) -> Buffer<'_> {
        let text = self.texts.borrow_mut().pop().unwrap_or_default();
        Buffer { text, pool: self }
    }
}

/// A list of nodes that returns its memory to the pool.
pub(super) struct Keys<'a> {
    keys: Vec<Key>,
    pool: &'a Pool,
}

impl Deref for Keys<'_> {
    type Target = Vec<Key>;

    fn deref(&self) -> &Vec<Key> {
        &self.keys
    }
}

impl DerefMut for Keys<'_> {
    fn deref_mut(&mut self) -> &mut Vec<Key> {
        &mut self.keys
    }
}

impl Drop for Keys<'_> {
    fn drop(&mut self) {
        let mut keys = std::mem::take(&mut self.keys);
        keys.clear();
        self.pool.keys.borrow_mut().push(keys);
    }
}

/// A node-set in document order.
pub(super) enum Set<'a> {
    Owned(Keys<'a>),
    Shared(Rc<[Key]>),
}

impl Deref for Set<'_> {
    type Target = [Key];

    fn deref(&self) -> &[Key] {
        match self {
            Self::Owned(keys) => keys,
            Self::Shared(keys) => keys,
        }
    }
}

/// A string that returns its memory to the pool.
pub(super) struct Buffer<'a> {
    text: String,
    pool: &'a Pool,
}

impl Deref for Buffer<'_> {
    type Target = String;

    fn deref(&self) -> &String {
        &self.text
    }
}

impl DerefMut for Buffer<'_> {
    fn deref_mut(&mut self) -> &mut String {
        &mut self.text
    }
}

impl Drop for Buffer<'_> {
    fn drop(&mut self) {
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        self.pool.texts.borrow_mut().push(text);
    }
}

/// Borrowed or owned text.
pub(super) enum Text<'a> {
    Borrowed(&'a str),
    Owned(Buffer<'a>),
}

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Borrowed(text) => text,
            Self::Owned(text) => text,
        }
    }
}

impl<'a> From<&'a str> for Text<'a> {
    fn from(text: &'a str) -> Self {
        Self::Borrowed(text)
    }
}

impl<'a> From<Buffer<'a>> for Text<'a> {
    fn from(text: Buffer<'a>) -> Self {
        Self::Owned(text)
    }
}

impl PartialEq for Text<'_> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Text<'_> {}

impl Hash for Text<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl std::borrow::Borrow<str> for Text<'_> {
    fn borrow(&self) -> &str {
        self
    }
}
