//! How the server names itself to sites.

use std::path::PathBuf;

use serde::Deserialize;

/// `[bot]`
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BotSettings {
    /// Where a site's operator reads about this crawler or reaches its operator: an `http`, `https`
    /// or `mailto` URL, which is part of the `User-Agent`. None by default.
    pub contact: Option<String>,
    /// The file of the private key that signs requests, readable by the server's user only. None by
    /// default: requests are not signed.
    pub key_file: Option<PathBuf>,
    /// The public origin of this server, where sites read its key, such as
    /// `https://bot.example.com`. Required with `key_file`.
    pub directory: Option<String>,
}
