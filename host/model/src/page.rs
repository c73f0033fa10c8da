//! A page as it was fetched, whoever fetched it: plain HTTP, a browser or a provider.

use bytes::Bytes;
use url::Url;

/// A fetched page. Also a site's 4xx and 5xx answers are pages: they keep their content and fail later.
#[derive(Clone, Debug)]
pub struct FetchedPage {
    /// Address as asked for.
    pub requested_url: Url,
    /// Address after redirects.
    pub final_url: Url,
    /// HTTP status of the final answer.
    pub status: u16,
    /// Headers of the final answer in the order received, names in lower case, repeats kept.
    pub headers: Vec<(String, String)>,
    /// Cookies set along the way (redirects included), name and value; the last one of a name wins.
    pub cookies: Vec<(String, String)>,
    /// Body of the final answer, content-encoding removed, character set untouched.
    pub body: Bytes,
    /// The `Content-Type` header as received; empty when there is none.
    pub content_type: String,
}

/// What a page's media type means for parsing and formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MediaKind {
    /// Parsed as HTML: `text/html`, `application/xhtml+xml`, or a missing type whose body begins like HTML.
    Html,
    /// Text that is not HTML: JSON, XML, plain text, scripts, style sheets. Returned as it is by textual formats.
    Text,
    /// Everything else: images, PDF, archives. Only `bytes` returns it.
    Binary,
}

impl MediaKind {
    /// The kind of a media type: lower case, without parameters.
    pub fn of(media_type: &str) -> Self {
        match media_type {
            "text/html" | "application/xhtml+xml" => Self::Html,
            "application/json"
            | "application/xml"
            | "application/javascript"
            | "application/ecmascript" => Self::Text,
            "application/x-ndjson"
            | "application/jsonl"
            | "application/x-javascript"
            | "application/yaml" => Self::Text,
            "image/svg+xml" => Self::Text,
            _ if media_type.starts_with("text/") => Self::Text,
            _ if media_type.ends_with("+json") || media_type.ends_with("+xml") => Self::Text,
            _ => Self::Binary,
        }
    }
}
