//! A fetched page, from plain HTTP, a browser or a provider.

use bytes::Bytes;
use url::Url;

/// A fetched page. A site's 4xx and 5xx answers are pages too: they have content and fail later.
#[derive(Clone, Debug)]
pub struct FetchedPage {
    /// The requested URL.
    pub requested_url: Url,
    /// URL after redirects.
    pub final_url: Url,
    /// The redirects from the one to the other.
    pub redirects: Vec<Hop>,
    /// HTTP status of the final answer.
    pub status: u16,
    /// Headers of the final answer in the order received, names in lower case, with repeats.
    pub headers: Vec<(String, String)>,
    /// Cookies set along the way (redirects included), name and value; the last one of a name wins.
    pub cookies: Vec<(String, String)>,
    /// Body of the final answer, content-encoding removed, character set untouched.
    pub body: Bytes,
    /// The `Content-Type` header as received, as a list if it is repeated; empty if there is none.
    pub content_type: String,
}

/// A redirect that was followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hop {
    /// Status of the answer; `None` if it is not known any more.
    pub status: Option<u16>,
    /// The URL that it led to.
    pub to: String,
}

/// A header as one list: its values, joined with `, `; empty if there is none. RFC 9110 section
/// 5.2.
pub fn header_list(headers: &[(String, String)], name: &str) -> String {
    let own = headers.iter().filter(|(known, _)| known == name);
    let values: Vec<&str> = own.map(|(_, value)| value.as_str()).collect();
    values.join(", ")
}

/// What a page's media type means for parsing and formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MediaKind {
    /// Parsed as HTML: `text/html`, `application/xhtml+xml`, or a missing type with a body that
    /// begins like HTML.
    Html,
    /// Text that is not HTML: JSON, XML, plain text, scripts, style sheets. Textual formats return
    /// it unchanged.
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
