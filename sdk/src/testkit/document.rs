//! Runs a decoder on a document.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::{Page, page};
use crate::decoder::{Decoded, Decoder, Failure, File, PageRange};
use crate::{Needs, options};

/// A document to run decoders on.
#[derive(Clone, Debug)]
pub struct Document {
    body: Vec<u8>,
    media_type: String,
    url: String,
    pages: Vec<PageRange>,
}

/// A document of this media type at `https://example.com/file`.
pub fn document(media_type: &str, body: impl AsRef<[u8]>) -> Document {
    Document {
        body: body.as_ref().to_vec(),
        media_type: media_type.to_owned(),
        url: "https://example.com/file".to_owned(),
        pages: Vec::new(),
    }
}

/// What the body of a decoded document contains.
///
/// # Panics
/// If the HTML has no body, or does not end with it.
pub fn body(decoded: &Decoded) -> &str {
    let (_, body) = decoded.html.split_once("<body>").expect("a body");
    body.strip_suffix("</body></html>").expect("its end")
}

impl Document {
    /// Sets the URL of the document.
    #[must_use]
    pub fn url(mut self, url: &str) -> Self {
        self.url = url.to_owned();
        self
    }

    /// Requests these pages, counted from 1, both ends included.
    #[must_use]
    pub fn pages(mut self, ranges: &[(u32, u32)]) -> Self {
        let range = |&(first, last): &(u32, u32)| PageRange { first, last };
        self.pages = ranges.iter().map(range).collect();
        self
    }

    /// Runs a decoder with these options. As text the document is decoded from UTF-8.
    ///
    /// # Errors
    /// The decoder's failure, or [`Failure::InvalidOptions`] if its options type rejects them.
    pub fn decode<D: Decoder>(&self, options: Value) -> Result<Decoded, Failure> {
        let options = options::read(&options.to_string())?;
        let needs = D::info().needs;
        let mut file = File {
            media_type: Cow::Borrowed(&self.media_type),
            content_type: Cow::Borrowed(&self.media_type),
            url: Cow::Borrowed(&self.url),
            pages: self.pages.clone(),
            ..File::default()
        };
        if needs.contains(Needs::SOURCE) {
            let text = self.body.strip_prefix(b"\xEF\xBB\xBF");
            file.text = String::from_utf8_lossy(text.unwrap_or(&self.body));
        }
        if needs.contains(Needs::BODY) {
            file.body = Cow::Borrowed(&self.body);
        }
        D::decode(&file, options)
    }

    /// Decodes a document of any bytes, and checks what holds for all of them: the same result
    /// twice, a whole document or a reason, and no complaint about options that are not there.
    /// `None` if the decoder fails.
    ///
    /// # Panics
    /// If any of this does not hold.
    pub fn decode_any<D: Decoder>(&self, options: &Value) -> Option<Decoded> {
        let decoded = self.decode::<D>(options.clone());
        assert_eq!(decoded, self.decode::<D>(options.clone()), "twice");
        match decoded {
            Ok(decoded) => {
                assert!(decoded.html.ends_with("</body></html>"));
                Some(decoded)
            }
            Err(Failure::InvalidOptions(reason)) if *options == json!({}) => panic!("{reason}"),
            Err(failure) => {
                assert!(!failure.to_string().is_empty());
                None
            }
        }
    }

    /// The page that the other plugins see of this document.
    ///
    /// # Panics
    /// If the decoder fails.
    pub fn page<D: Decoder>(&self, options: Value) -> Page {
        match self.decode::<D>(options) {
            Ok(decoded) => page(&decoded.html).url(&self.url),
            Err(failure) => panic!("not decoded: {failure}"),
        }
    }
}
