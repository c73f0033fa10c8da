//! `content` of a page, before it has a wire form.

/// `content` of an entry. Never null on the wire.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// One format was asked for with a string.
    One(Piece),
    /// A list of formats was asked for: format name and its content.
    ByFormat(Vec<(String, Piece)>),
}

impl Default for Content {
    fn default() -> Self {
        Self::One(Piece::Text(String::new()))
    }
}

/// One format's content.
#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    /// A string.
    Text(String),
    /// A list of integers 0 to 255.
    Bytes(Vec<u8>),
    /// A list of strings.
    Chunks(Vec<String>),
}
