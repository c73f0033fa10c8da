//! Pages of a list.

/// Which page of a list to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRange {
    /// Maximum number of rows to return.
    pub limit: u32,
    /// Number of rows to skip.
    pub offset: u64,
}

/// One page of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rows<T> {
    /// The rows of this page.
    pub rows: Vec<T>,
    /// Number of rows in the whole list.
    pub count: u64,
}
