//! Options of one request.

use serde::Deserialize;

/// What is left out unless an option says otherwise.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Whether comments of text documents are written after the text.
    pub(crate) comments: bool,
    /// Whether hidden sheets are written.
    pub(crate) hidden_sheets: bool,
    /// Whether the notes of slides are written after each.
    pub(crate) notes: bool,
}
