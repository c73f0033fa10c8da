//! Query and path parameters, read as axum does, with errors in the format of all others.
//! Decision D4.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use serde::de::{Deserialize, DeserializeOwned, Deserializer, Error as _};

use super::error::ApiError;

/// A whole number of at least 0 in a query, up to the largest that the document describes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Whole(pub(crate) u64);

impl Whole {
    /// The number, or the largest one of fewer bits.
    pub(crate) fn saturated(self) -> u32 {
        u32::try_from(self.0).unwrap_or(u32::MAX)
    }
}

impl<'de> Deserialize<'de> for Whole {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = u64::deserialize(deserializer)?;
        if i64::try_from(number).is_err() {
            return Err(D::Error::custom(format!("{number} is too large")));
        }
        Ok(Self(number))
    }
}

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
