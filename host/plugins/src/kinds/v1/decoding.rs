//! Decoders in version 1 of their contract: conversions between the host's types and the bindings'.

use super::Export;
use super::bindings::exports::trawl::decoder::decoder as wit;
use crate::call::plugin::Measured;
use crate::error::Fault;
use crate::kinds::decoder::{Decode, File, Inner, RawDecoded};

impl Decode for Export<wit::GuestIndices> {
    fn decode(&self, file: &File<'_>, options: &str) -> Measured<RawDecoded> {
        let ranges = file.pages.iter().map(|range| wit::PageRange {
            first: range.first,
            last: range.last,
        });
        let pages: Vec<wit::PageRange> = ranges.collect();
        let lowered = wit::File {
            text: if self.needs.source { file.text } else { "" },
            body: if self.needs.body { file.body } else { &[] },
            media_type: file.media_type,
            content_type: file.content_type,
            url: file.url,
            pages: &pages,
        };
        self.component.call(|store, instance| {
            let exports = self.indices.load(&mut *store, instance)?;
            let decoded = exports.call_decode(store, lowered, options)?;
            Ok(decoded.map(RawDecoded::from).map_err(Fault::from))
        })
    }
}

impl From<wit::Decoded> for RawDecoded {
    fn from(decoded: wit::Decoded) -> Self {
        Self {
            html: decoded.html,
            metadata: decoded.metadata,
            page_count: decoded.page_count,
            warnings: decoded.warnings,
            inner: decoded.inner.map(Inner::from),
        }
    }
}

impl From<wit::Inner> for Inner {
    fn from(inner: wit::Inner) -> Self {
        Self {
            name: inner.name,
            content_type: inner.content_type,
            body: inner.body,
        }
    }
}

impl From<wit::Failure> for Fault {
    fn from(failure: wit::Failure) -> Self {
        match failure {
            wit::Failure::InvalidOptions(reason) => Self::InvalidOptions(reason),
            wit::Failure::Unsupported(reason) => Self::Unsupported(reason),
            wit::Failure::Damaged(reason) => Self::Damaged(reason),
            wit::Failure::Encrypted(reason) => Self::Encrypted(reason),
            wit::Failure::Limit(reason) => Self::Limit(reason),
            wit::Failure::Failed(reason) => Self::Failed(reason),
        }
    }
}
