//! The version of paths: every endpoint is served at `/x` and at `/v1/x`.

/// What a path with its version begins with.
pub(crate) const VERSION: &str = "/v1";

/// A path without its version.
pub(crate) fn unversioned(path: &str) -> &str {
    path.strip_prefix(VERSION).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_the_same_with_and_without_its_version() {
        assert_eq!(unversioned("/v1/scrape"), "/scrape");
        assert_eq!(unversioned("/scrape"), "/scrape");
    }
}
