//! The input of parsing and scanning.

use url::Url;

/// A page's source, and what is known about it.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// The decoded source.
    pub text: &'a str,
    /// URL of the page after redirects.
    pub url: &'a Url,
    /// Media type, lower case, without parameters.
    pub media_type: &'a str,
    /// Label of the character set that the text was decoded from: queries of its URLs are in it.
    pub charset: &'a str,
    /// Whether a browser wrote the source from its tree. Then its tags say what the tree is.
    pub is_serialised: bool,
}

impl<'a> Page<'a> {
    /// An HTML page in UTF-8.
    #[must_use]
    pub fn html(text: &'a str, url: &'a Url) -> Self {
        Self {
            text,
            url,
            media_type: "text/html",
            charset: "utf-8",
            is_serialised: false,
        }
    }
}
