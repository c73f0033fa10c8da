//! How the server names itself to sites.

use serde::Deserialize;

/// `[bot]`
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BotSettings {
    /// Where a site's operator reads about this crawler or reaches its operator: an `http`, `https`
    /// or `mailto` URL, which is part of the `User-Agent`. None by default.
    pub contact: Option<String>,
}
