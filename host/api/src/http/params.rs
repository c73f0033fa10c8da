//! Query and path parameters, read as axum does, with errors in the format of all others.
//! Decision D4.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use super::error::ApiError;

/// The query parameters of a URL.
pub(crate) struct Query<T>(pub(crate) T);

/// The path parameters of a URL.
pub(crate) struct Path<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let read = axum::extract::Query::<T>::from_request_parts(parts, state).await;
        read.map(|query| Self(query.0)).map_err(|error| {
            let text = error.body_text();
            // The name of the parameter comes first, as in all other errors.
            let reason = text.strip_prefix("Failed to deserialize query string: ");
            ApiError::Invalid(reason.unwrap_or(&text).to_owned())
        })
    }
}

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Path<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let read = axum::extract::Path::<T>::from_request_parts(parts, state).await;
        read.map(|path| Self(path.0))
            .map_err(|error| ApiError::Invalid(error.body_text()))
    }
}
