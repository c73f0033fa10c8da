//! Options of one request.

use serde::Deserialize;

/// What is left out unless an option says otherwise.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Whether comments are written after the text.
    pub(crate) comments: bool,
}
