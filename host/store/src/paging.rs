//! Pages of a list.

use std::fmt;
use std::str::FromStr;

use crate::error::StoreError;

/// Which page of a list to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRange {
    /// Maximum number of rows to return.
    pub limit: u32,
    /// Where the page starts.
    pub start: PageStart,
}

/// Where a page starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageStart {
    /// After this number of rows. The rows before are read and dropped, so a large number is slow.
    Offset(u64),
    /// After the row with this key, at the same speed anywhere in the list.
    After(RowKey),
}

impl PageRange {
    /// The page after `offset` rows.
    pub const fn offset(limit: u32, offset: u64) -> Self {
        Self {
            limit,
            start: PageStart::Offset(offset),
        }
    }

    /// The page after the row with this key.
    pub const fn after(limit: u32, key: RowKey) -> Self {
        Self {
            limit,
            start: PageStart::After(key),
        }
    }
}

/// The position of a row in the order of its list, from [`Rows::next`]. Its text form is opaque to
/// callers: three numbers, joined by `.`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowKey(pub(crate) [i64; 3]);

/// The text is not a [`RowKey`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid cursor")]
pub struct NotARowKey;

impl fmt::Display for RowKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c] = self.0;
        write!(f, "{a}.{b}.{c}")
    }
}

impl FromStr for RowKey {
    type Err = NotARowKey;

    fn from_str(text: &str) -> Result<Self, NotARowKey> {
        let mut parts = text.split('.').map(str::parse);
        match (parts.next(), parts.next(), parts.next(), parts.next()) {
            (Some(Ok(a)), Some(Ok(b)), Some(Ok(c)), None) => Ok(Self([a, b, c])),
            _ => Err(NotARowKey),
        }
    }
}

/// One page of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rows<T> {
    /// The rows of this page.
    pub rows: Vec<T>,
    /// Number of rows in the whole list.
    pub count: u64,
    /// The key of the last row of this page, where the next page starts; `None` on the last page.
    pub next: Option<RowKey>,
}

/// What a row that was read from the store holds.
pub trait RowBytes {
    /// Its bytes in memory, with all its texts.
    fn bytes(&self) -> usize;
}

/// Bytes of an optional text on the heap.
pub(crate) fn text_bytes(text: Option<&String>) -> usize {
    text.map_or(0, String::capacity)
}

impl<T> Rows<T> {
    /// The page of these rows of the database: at most `limit`, one more of which shows that there
    /// is a next page.
    pub(crate) fn of<R>(
        rows: Vec<R>,
        (limit, count): (u32, u64),
        key: impl Fn(&R) -> Result<RowKey, StoreError>,
        read: impl Fn(&R) -> Result<T, StoreError>,
    ) -> Result<Self, StoreError> {
        let limit = limit as usize;
        let next = match rows.len() > limit {
            true => rows[..limit].last().map(key).transpose()?,
            false => None,
        };
        // Each is dropped once it is read, so that its texts are not in memory twice.
        let rows = rows
            .into_iter()
            .take(limit)
            .map(|row| read(&row))
            .collect::<Result<_, _>>()?;
        Ok(Self { rows, count, next })
    }
}

impl<T: RowBytes> Rows<T> {
    /// Bytes of the rows of this page in memory.
    pub fn bytes(&self) -> usize {
        self.rows.iter().map(T::bytes).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_read_back_from_its_text() {
        let key = RowKey([i64::MAX, -1, 0]);
        assert_eq!(key.to_string().parse(), Ok(key));
        for text in [
            "",
            "1.2",
            "1.2.3.4",
            "a.b.c",
            "1..3",
            "1.2.9223372036854775808",
        ] {
            assert_eq!(text.parse::<RowKey>(), Err(NotARowKey), "{text}");
        }
    }
}
