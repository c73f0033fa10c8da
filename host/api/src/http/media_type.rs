//! Media types of request headers.

/// A media type without its parameters, in lower case.
pub(crate) fn essence(media_type: &str) -> String {
    let end = media_type.find(';').unwrap_or(media_type.len());
    media_type[..end].trim().to_ascii_lowercase()
}
