//! The console: pages for people, served to browsers at `/`, their files below `/console/`. They
//! ask the interface like any other client, with the key that a person gives them. Decision D530.

mod files;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use axum::http::{HeaderMap, HeaderValue, Uri, header};
use axum::response::Response;

use crate::http::error::ApiError;
use crate::http::media_type::essence;
use crate::http::prepared::Prepared;
use crate::http::version::unversioned;
use files::{FILES, FRAME, INDEX, media_type};

/// The paths of the files.
pub(crate) const PATH: &str = "/console/{*path}";
/// What these paths begin with.
const FOLDER: &str = "/console/";

/// Scripts and styles are files of this server, nothing else is loaded or asked, and no text
/// becomes markup.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
    connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'; trusted-types 'none'";

/// The policy of the document in which a page of others is shown. That page inherits it: it has its
/// own styles, but loads nothing. `sandbox` gives the document an origin of its own, wherever it is
/// opened; scripts of that page are not run, since its frame is sandboxed once more.
const FRAME_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; img-src data:; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'self'; sandbox allow-scripts";

/// The first document of the console.
pub(crate) fn index(request: &HeaderMap) -> Result<Response, ApiError> {
    let mut response = response(INDEX, request)?;
    // At this path is another page for clients that are no browsers.
    let vary = HeaderValue::from_static("accept-encoding, accept");
    response.headers_mut().insert(header::VARY, vary);
    Ok(response)
}

/// `GET /console/…`: a file of the console.
pub(crate) async fn file(uri: Uri, headers: HeaderMap) -> Result<Response, ApiError> {
    let path = unversioned(uri.path());
    response(path.strip_prefix(FOLDER).unwrap_or_default(), &headers)
}

/// Whether the client shows documents to a person: `Accept` names HTML, as browsers do.
pub(crate) fn is_browser(request: &HeaderMap) -> bool {
    let values = request.get_all(header::ACCEPT).iter();
    let texts = values.filter_map(|value| value.to_str().ok());
    let mut ranges = texts.flat_map(|text| text.split(','));
    ranges.any(|range| essence(range) == "text/html")
}

fn response(path: &str, request: &HeaderMap) -> Result<Response, ApiError> {
    static PREPARED: LazyLock<BTreeMap<&'static str, Prepared>> = LazyLock::new(prepare);
    let prepared = PREPARED.get(path).ok_or(ApiError::NotFound(None))?;
    let mut response = prepared.response(request);
    let policy = if path == FRAME { FRAME_POLICY } else { POLICY };
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, policy),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
    ] {
        let value = HeaderValue::from_static(value);
        response.headers_mut().insert(name, value);
    }
    Ok(response)
}

/// Every file with its media type.
fn prepare() -> BTreeMap<&'static str, Prepared> {
    let known = FILES.iter().filter_map(|file| {
        let media_type = media_type(file.path)?;
        Some((file.path, Prepared::new(media_type, file.text)))
    });
    known.collect()
}
