//! Where accounts, the ledger, crawls, webhook events and contacts are stored.

use std::fmt;

use serde::Deserialize;

/// `[store]`: the database.
#[derive(Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StoreSettings {
    /// A PostgreSQL database: `postgres://user:password@host/database`, or the folder of the
    /// server's socket. By default a SQLite file in the data directory.
    pub url: Option<String>,
    /// Where the pages of crawls are stored: `s3://bucket/prefix`, or `file:///folder`. By default
    /// files in the data directory.
    pub objects: Option<String>,
    /// Where standbys reach this server by HTTP: `10.0.0.5:8700` or `name:8700`. By default the
    /// address that it listens on, unless that stands for all of the machine.
    pub address: Option<String>,
    /// Wait while another server uses the PostgreSQL database, and take over when it has ended.
    pub standby: bool,
}

impl fmt::Debug for StoreSettings {
    /// Without the URL, which may have a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreSettings")
            .field("has_url", &self.url.is_some())
            .field("objects", &self.objects)
            .field("address", &self.address)
            .field("standby", &self.standby)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_url_is_not_shown() {
        let settings = StoreSettings {
            url: Some("postgres://ann:s3cret@db/pages".to_owned()),
            objects: None,
            address: None,
            standby: true,
        };
        let shown = format!("{settings:?}");
        assert!(shown.contains("has_url: true"), "{shown}");
        assert!(!shown.contains("s3cret"), "{shown}");
    }
}
