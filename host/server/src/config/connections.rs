//! Connections of callers, and the log of their requests.

use ipnet::IpNet;
use serde::Deserialize;

/// `[http]`: connections of callers.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HttpSettings {
    /// Open connections. Default: half of the descriptors that the process may have, at most 8,192.
    pub connections: Option<usize>,
    /// Open connections of one IPv4 address or one /64 network of IPv6. Default: half of
    /// `connections`.
    pub connections_per_peer: Option<usize>,
    /// Networks of reverse proxies, which `connections_per_peer` does not bound.
    #[serde(deserialize_with = "super::ip_ranges")]
    pub trusted_proxies: Vec<IpNet>,
    /// Seconds in which the line and headers of a request must arrive.
    pub header_seconds: u64,
    /// Seconds after which a connection without a request is closed.
    pub idle_seconds: u64,
    /// Seconds after which a request body that makes no progress is refused.
    pub body_seconds: u64,
    /// Seconds after which a response that its reader does not read is ended.
    pub write_seconds: u64,
    /// Requests after which a connection is closed.
    pub requests_per_connection: u64,
    /// Concurrent requests of an HTTP/2 connection.
    pub streams_per_connection: u32,
    /// Whether `/metrics` needs no key on connections from the server's own machine.
    pub metrics_without_key: bool,
    /// The lines on standard output for requests that have ended.
    pub access_log: AccessLogSetting,
}

/// Format of the access log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum AccessLogSetting {
    /// `common` on a terminal, otherwise `json`.
    #[default]
    Auto,
    /// The Common Log Format.
    Common,
    /// One JSON object per line.
    Json,
    /// No access log.
    Off,
}

impl Default for HttpSettings {
    fn default() -> Self {
        Self {
            connections: None,
            connections_per_peer: None,
            trusted_proxies: Vec::new(),
            header_seconds: 10,
            // Longer than clients keep unused connections, commonly 90 seconds: they close first.
            idle_seconds: 120,
            body_seconds: 10,
            write_seconds: 60,
            requests_per_connection: 10_000,
            streams_per_connection: 100,
            metrics_without_key: false,
            access_log: AccessLogSetting::Auto,
        }
    }
}
