//! `/fetch` for readers: the content of a page alone, in the form that `Accept` prefers.
//! Decision D197.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use futures_util::StreamExt;
use serde_json::{Value, json};

use trawl_model::memory::{MemoryKind, MemoryShare};

use crate::http::error::ApiError;
use crate::http::media_type::essence;

/// A form of content alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ContentForm {
    /// `text/markdown`
    Markdown,
    /// `text/html`
    Html,
    /// `text/plain`
    Text,
}

impl ContentForm {
    /// Every form, in the order of preference among those that a client likes alike.
    const ALL: [Self; 3] = [Self::Markdown, Self::Html, Self::Text];

    /// The form that the headers prefer; `None` for page entries as JSON.
    pub(super) fn of(headers: &HeaderMap) -> Option<Self> {
        let sent = headers.get_all(header::ACCEPT).iter();
        let accept: Vec<&str> = sent.filter_map(|accept| accept.to_str().ok()).collect();
        let accept = &accept.join(",");
        let json = ["application/json", "application/jsonl"].map(|name| quality(accept, name));
        let mut best = (json[0].max(json[1]), None);
        for form in Self::ALL {
            let quality = quality(accept, form.media_type());
            if quality > best.0 {
                best = (quality, Some(form));
            }
        }
        best.1
    }

    /// The `return_format` of the content.
    pub(super) const fn return_format(self) -> &'static str {
        match self {
            Self::Markdown => "markdown",
            Self::Html => "raw",
            Self::Text => "text",
        }
    }

    /// Whether a `return_format` of this name gives the same.
    pub(super) fn is_named(self, format: &str) -> bool {
        let names = match self {
            Self::Markdown => ["markdown", "commonmark"],
            Self::Html => ["raw", "html"],
            Self::Text => ["text", "html2text"],
        };
        let format = format.trim();
        names.iter().any(|name| format.eq_ignore_ascii_case(name))
    }

    const fn media_type(self) -> &'static str {
        match self {
            Self::Markdown => "text/markdown",
            Self::Html => "text/html",
            Self::Text => "text/plain",
        }
    }

    /// The content of the entry in a response, or the error of a page that failed. What is read
    /// counts as memory of the account.
    pub(super) async fn response(
        self,
        entries: Response,
        memory: &MemoryShare,
    ) -> Result<Response, ApiError> {
        let (mut parts, body) = entries.into_parts();
        let mut chunks = body.into_data_stream();
        let mut lease = memory.page().lease_for(MemoryKind::Answers);
        let mut buffer = Vec::new();
        while let Some(chunk) = chunks.next().await {
            buffer.extend_from_slice(&chunk.map_err(|_| ApiError::Internal)?);
            lease.record(buffer.capacity());
        }
        let mut entries: Vec<Value> = serde_json::from_slice(&buffer).map_err(|error| {
            tracing::error!(%error, "the entry of a page is not JSON");
            ApiError::Internal
        })?;
        drop(buffer);
        let mut entry = entries.pop().ok_or(ApiError::Internal)?;
        let (media_type, body) = match entry["error"].as_str() {
            Some(error) => {
                parts.status = StatusCode::BAD_GATEWAY;
                let body = json!({ "error": error, "cause": entry["cause"] }).to_string();
                ("application/json".to_owned(), body)
            }
            None => {
                let body = match entry["content"].take() {
                    Value::String(text) => text,
                    other => other.to_string(),
                };
                (format!("{}; charset=utf-8", self.media_type()), body)
            }
        };
        lease.record(body.capacity());
        parts.headers.remove(header::CONTENT_LENGTH);
        for (name, value) in [
            ("content-type", media_type),
            ("vary", "accept".to_owned()),
            ("x-page-status", entry["status"].to_string()),
            ("x-page-url", text(&entry["url"])),
            ("x-cost", plain_decimal(&entry["costs"]["total_cost"])),
            // A page of another site is not to act as one of this server's.
            ("content-security-policy", "sandbox".to_owned()),
            ("x-content-type-options", "nosniff".to_owned()),
        ] {
            if let Ok(value) = HeaderValue::try_from(value) {
                parts.headers.insert(name, value);
            }
        }
        Ok(Response::from_parts(parts, Body::from(lease.attach(body))))
    }
}

/// A number without an exponent, which not every reader of a header takes: JSON writes a small one
/// as `1.256e-6`.
fn plain_decimal(number: &Value) -> String {
    number.as_f64().unwrap_or_default().to_string()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// How much a client likes a media type, from 0 to 1: by the range that names it most exactly.
fn quality(accept: &str, media_type: &str) -> f32 {
    let mut best = (0_u8, 0.0);
    for range in accept.split(',') {
        let name = essence(range);
        let is_of_kind = |kind: &str| media_type.split('/').next() == Some(kind);
        let exactness = if name == media_type {
            3
        } else if name.strip_suffix("/*").is_some_and(is_of_kind) {
            2
        } else {
            u8::from(name == "*/*")
        };
        if exactness > best.0 {
            let weights = range.split(';').skip(1);
            let mut weights = weights.filter_map(|part| part.trim().strip_prefix("q="));
            let weight = weights.find_map(|text| text.parse().ok());
            best = (exactness, weight.unwrap_or(1.0));
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_is_a_plain_decimal() {
        let check = |number: f64, expected: &str| {
            assert_eq!(plain_decimal(&json!(number)), expected);
        };
        check(0.000_001_256, "0.000001256");
        check(0.000_000_001, "0.000000001");
        check(12.5, "12.5");
        check(0.0, "0");
        assert_eq!(plain_decimal(&Value::Null), "0");
    }

    #[test]
    fn the_form_that_is_preferred_is_chosen() {
        let of = |accept: &'static str| {
            let value = HeaderValue::from_static(accept);
            ContentForm::of(&HeaderMap::from_iter([(header::ACCEPT, value)]))
        };
        let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
        assert_eq!(of(browser), Some(ContentForm::Html));
        assert_eq!(of("text/markdown"), Some(ContentForm::Markdown));
        assert_eq!(of("text/*"), Some(ContentForm::Markdown));
        assert_eq!(
            of("text/markdown;q=0.5, text/plain"),
            Some(ContentForm::Text)
        );
        for json in [
            "*/*",
            "application/json",
            "application/json, text/plain, */*",
            "application/jsonl",
            "image/png",
            "text/html;q=0",
            "",
        ] {
            assert_eq!(of(json), None, "{json}");
        }
        assert_eq!(ContentForm::of(&HeaderMap::new()), None);
    }
}
