//! `GET /.well-known/http-message-signatures-directory`: the public key by which sites check that a
//! request is this server's. draft-meunier-http-message-signatures-directory.

use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName};
use axum::response::{IntoResponse, Response};

use crate::Api;
use crate::http::error::ApiError;
use crate::http::prepared::AsItIs;

/// Its path.
pub(crate) const PATH: &str = "/.well-known/http-message-signatures-directory";
const MEDIA_TYPE: &str = "application/http-message-signatures-directory+json";
const SIGNATURE_INPUT: HeaderName = HeaderName::from_static("signature-input");
const SIGNATURE: HeaderName = HeaderName::from_static("signature");

/// The key, as a JSON Web Key Set that is itself signed; 404 if requests are not signed. The
/// OpenAPI document is silent about it, because it is for sites and not for callers.
pub(crate) async fn key_directory(State(api): State<Api>) -> Result<Response, ApiError> {
    let directory = api.service.key_directory();
    let directory = directory.ok_or(ApiError::NotFound(None))?;
    let headers = [
        (CONTENT_TYPE, MEDIA_TYPE.to_owned()),
        (
            CACHE_CONTROL,
            format!("max-age={}", directory.age.as_secs()),
        ),
        (SIGNATURE_INPUT, directory.signature_input),
        (SIGNATURE, directory.signature),
    ];
    let mut response = (headers, directory.document).into_response();
    // It has a few hundred bytes, and anybody may ask for it.
    response.extensions_mut().insert(AsItIs);
    Ok(response)
}
