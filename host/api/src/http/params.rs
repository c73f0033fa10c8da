//! Query and path parameters, read as axum does, with errors in the format of all others.
//! Decision D4.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{Method, Uri};
use serde::de::{Deserialize, DeserializeOwned, Deserializer, Error as _};

use super::error::ApiError;

/// Most characters of a parameter's name in an error: the caller chooses the name.
const NAME_CHARS_MAX: usize = 100;

/// Refuses the query of an endpoint that has no query parameters. Decision D257.
///
/// # Errors
/// The first parameter by its name.
pub(crate) fn refuse_query(method: &Method, uri: &Uri) -> Result<(), ApiError> {
    let read = axum::extract::Query::<Vec<(String, String)>>::try_from_uri(uri);
    let parameters = read.map_or_else(|_| vec![("query".into(), String::new())], |query| query.0);
    let Some((name, _)) = parameters.first() else {
        return Ok(());
    };
    let name: String = name.chars().take(NAME_CHARS_MAX).collect();
    let advice = match *method {
        Method::POST | Method::PUT => ", parameters are fields of the JSON body",
        _ => "",
    };
    let reason = format!("{name}: unknown query parameter, this endpoint has none{advice}");
    Err(ApiError::Invalid(reason))
}

/// A whole number of at least 0 in a query, up to the largest that the document describes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Unsigned(pub(crate) u64);

impl Unsigned {
    /// The number, or the largest one of fewer bits.
    pub(crate) fn saturated(self) -> u32 {
        u32::try_from(self.0).unwrap_or(u32::MAX)
    }
}

impl<'de> Deserialize<'de> for Unsigned {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let text = text.trim();
        if text.is_empty() {
            return Err(D::Error::custom(EMPTY));
        }
        match text.parse::<i64>().map(u64::try_from) {
            Ok(Ok(number)) => Ok(Self(number)),
            _ => Err(D::Error::custom("must be a non-negative integer")),
        }
    }
}

/// What is wrong with a number that has no digits: an unset variable of a script, as a rule.
pub(crate) const EMPTY: &str = "is empty, send an integer or leave the parameter out";

/// The number of items that a request for a list asks for; a larger one counts as `most`. Decision
/// D257.
///
/// # Errors
/// It is 0: `limit: must be 1 to 10000`.
pub(crate) fn checked_limit(limit: Unsigned, most: u32) -> Result<u32, ApiError> {
    match limit.saturated() {
        0 => Err(ApiError::Invalid(out_of_range(most))),
        limit => Ok(limit.min(most)),
    }
}

/// The refusal of a `limit` that is not a number of items.
pub(crate) fn out_of_range(most: u32) -> String {
    format!("limit: must be an integer from 1 to {most}; a larger one counts as {most}")
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
