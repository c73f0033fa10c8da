//! Social networks: their hosts, and which of their URLs are profiles.

// `NETWORKS`: the networks in the order in which their hosts are tried.
include!(concat!(env!("OUT_DIR"), "/social_networks.rs"));

/// A social network and the form of its profile URLs.
pub(super) struct Network {
    pub(super) name: &'static str,
    /// Host of the canonical profile URL.
    pub(super) host: &'static str,
    /// Other hosts of the network.
    pub(super) also: &'static [&'static str],
    /// First path segments that a handle follows.
    pub(super) under: &'static [&'static str],
    /// Whether the first path segment may be a handle.
    pub(super) is_flat: bool,
    /// First path segments that are no handles.
    pub(super) not: &'static [&'static str],
}
