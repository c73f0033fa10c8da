//! Implements the decoder world for authors' types; conversions only.

use std::borrow::Cow;

use super::Exported;
use super::decoder::exports::trawl::decoder::decoder as wit;
use super::format::trawl::types::types;
use crate::decoder::{Decoder, Failure, File, Inner, PageRange};
use crate::options;

impl<P: Decoder> wit::Guest for Exported<P> {
    fn describe() -> types::Info {
        P::info().into()
    }

    fn decode(file: wit::File, options: String) -> Result<wit::Decoded, wit::Failure> {
        let options = options::read(&options).map_err(Failure::from)?;
        let ranges = file.pages.iter().map(|range| PageRange {
            first: range.first,
            last: range.last,
        });
        let file = File {
            pages: ranges.collect(),
            text: Cow::Owned(file.text),
            body: Cow::Owned(file.body),
            media_type: Cow::Owned(file.media_type),
            content_type: Cow::Owned(file.content_type),
            url: Cow::Owned(file.url),
        };
        let decoded = P::decode(&file, options)?;
        Ok(wit::Decoded {
            metadata: options::write(&decoded.metadata).map_err(Failure::from)?,
            html: decoded.html,
            page_count: decoded.page_count,
            warnings: decoded.warnings,
            inner: decoded.inner.map(wit::Inner::from),
        })
    }
}

impl From<Inner> for wit::Inner {
    fn from(inner: Inner) -> Self {
        Self {
            name: inner.name,
            content_type: inner.content_type,
            body: inner.body,
        }
    }
}

impl From<Failure> for wit::Failure {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::InvalidOptions(reason) => Self::InvalidOptions(reason),
            Failure::Unsupported(reason) => Self::Unsupported(reason),
            Failure::Damaged(reason) => Self::Damaged(reason),
            Failure::Encrypted(reason) => Self::Encrypted(reason),
            Failure::Limit(reason) => Self::Limit(reason),
            Failure::Failed(reason) => Self::Failed(reason),
        }
    }
}
