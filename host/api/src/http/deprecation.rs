//! Headers of deprecated endpoints.

use axum::http::{HeaderMap, HeaderValue, header};

use super::version::unversioned;

/// Since when the endpoints are deprecated, 2025-01-01T00:00:00Z, as RFC 9745 section 2.1 writes
/// it. Spec S29.
const DEPRECATED: HeaderValue = HeaderValue::from_static("@1735689600");
/// The replacement. RFC 9745 section 3; RFC 5829 section 3.3.
const SUCCESSOR: HeaderValue = HeaderValue::from_static("</scrape>; rel=\"successor-version\"");

/// Whether a path, with or without its version, is below `/pipeline/`.
pub(crate) fn is_deprecated(path: &str) -> bool {
    unversioned(path).starts_with("/pipeline/")
}

/// Marks a response, including an error, as coming from a deprecated endpoint.
pub(crate) fn set_headers(headers: &mut HeaderMap) {
    headers.insert("deprecation", DEPRECATED);
    headers.insert(header::LINK, SUCCESSOR);
}
