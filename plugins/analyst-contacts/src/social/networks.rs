//! Social networks: their hosts, and which of their URLs are profiles.

/// One network a row; lines with `#` are comments.
const TABLE: &str = include_str!("../../data/social_networks.txt");

/// A social network and the form of its profile URLs. Lists are separated by blanks.
pub(super) struct Network {
    pub(super) name: &'static str,
    /// Host of the canonical profile URL.
    pub(super) host: &'static str,
    /// Other hosts of the network.
    pub(super) also: &'static str,
    /// First path segments that a handle follows; several in a row are joined by `/`.
    pub(super) under: &'static str,
    /// Whether the first path segment may be a handle.
    pub(super) is_flat: bool,
    /// First path segments that are not handles.
    pub(super) not: &'static str,
}

/// The networks in the order in which their hosts are tried.
pub(super) fn networks() -> impl Iterator<Item = Network> {
    let rows = TABLE.lines().filter(|line| !line.starts_with('#'));
    rows.filter_map(|line| {
        let mut columns = line.split('|').map(str::trim);
        Some(Network {
            name: columns.next()?,
            host: columns.next()?,
            also: columns.next()?,
            under: columns.next()?,
            is_flat: columns.next()? == "yes",
            not: columns.next().unwrap_or_default(),
        })
    })
}
