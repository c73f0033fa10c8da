//! How a response is serialized: one JSON text, or JSON lines. Decision D2.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use serde::Serialize;

use trawl_model::memory::MemoryLease;

use super::error::ApiError;
use super::media_type::essence;

/// Serialization of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResponseFormat {
    /// One JSON text.
    Json,
    /// One compact JSON object per line.
    JsonLines,
}

impl ResponseFormat {
    /// The format that the request headers select.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let names_lines = |name| {
            headers
                .get(name)
                .and_then(|value: &HeaderValue| value.to_str().ok())
                .is_some_and(|text| {
                    text.split(',')
                        .any(|part| essence(part) == "application/jsonl")
                })
        };
        if names_lines(header::CONTENT_TYPE) || names_lines(header::ACCEPT) {
            return Self::JsonLines;
        }
        Self::Json
    }

    /// The media type of the response.
    pub(crate) const fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::JsonLines => "application/jsonl",
        }
    }

    /// A response with this body.
    pub(crate) fn response(self, body: impl Into<Body>) -> Response {
        let mut response = Response::new(body.into());
        let media_type = HeaderValue::from_static(self.media_type());
        response
            .headers_mut()
            .insert(header::CONTENT_TYPE, media_type);
        response
    }

    /// A response whose body is a single object.
    pub(crate) fn object(self, object: &impl Serialize) -> Result<Response, ApiError> {
        Ok(self.response(self.written(object)?))
    }

    /// The same with a body that holds its memory until it is sent. The lease is changed to what
    /// the body needs.
    pub(crate) fn held_object(
        self,
        object: &impl Serialize,
        mut lease: MemoryLease,
    ) -> Result<Response, ApiError> {
        let body = self.written(object)?;
        lease.record(body.len());
        Ok(self.response(lease.attach(body)))
    }

    fn written(self, object: &impl Serialize) -> Result<Vec<u8>, ApiError> {
        let mut body = serde_json::to_vec(object).map_err(|error| {
            tracing::error!(error = %error, "cannot serialize a response");
            ApiError::Internal
        })?;
        if self == Self::JsonLines {
            body.push(b'\n');
        }
        Ok(body)
    }
}
