//! Version 1 of the contracts: generated bindings, and conversions between the host's types and
//! theirs.

mod analysis;
mod decoding;
mod provider;
mod search;

use trawl_contract::document_fields;

use super::analyst::Analyse;
use super::chunker::Chunk;
use super::decoder::Decode;
use super::extractor::Extract;
use super::filter::Keep;
use super::format::{Render, Rendered};
use crate::call::instance::LinkedComponent;
use crate::call::plugin::Measured;
use crate::call::view::PageView;
use crate::error::Fault;
use crate::info::{Described, Needs};

pub(crate) use provider::open_provider;
pub(crate) use search::open_search;

use bindings::exports::trawl::{analyst, chunker, decoder, extractor, filter, format};
use bindings::trawl::document::tree::{Document, Source};
use bindings::trawl::types::types::{Failure, Info};

mod bindings {
    #![allow(missing_docs, unreachable_pub, reason = "generated from the contract")]

    wasmtime::component::bindgen!({
        path: [
            "../../wit/types/1",
            "../../wit/document/1",
            "../../wit/format/1",
            "../../wit/filter/1",
            "../../wit/extractor/1",
            "../../wit/chunker/1",
            "../../wit/analyst/1",
            "../../wit/decoder/1",
            "../../wit/provider/1",
            "../../wit/search/1",
        ],
        // One world of all kinds, so that they share types. A component exports one of the
        // interfaces.
        inline: "
            package trawl:host;
            world kinds {
                export trawl:format/format@1.0.0;
                export trawl:filter/filter@1.0.0;
                export trawl:extractor/extractor@1.0.0;
                export trawl:chunker/chunker@1.0.0;
                export trawl:analyst/analyst@1.0.0;
                export trawl:decoder/decoder@1.0.0;
                export trawl:provider/provider@1.0.0;
                export trawl:search/search@1.0.0;
            }
        ",
        world: "trawl:host/kinds",
        ownership: Borrowing { duplicate_if_necessary: false },
    });
}

/// A component of one kind, and the indices of its exports.
struct Export<I> {
    component: LinkedComponent,
    indices: I,
    needs: Needs,
}

/// The function that opens components of one kind.
macro_rules! kind {
    ($open:ident, $interface:ident::$module:ident, $backend:ident) => {
        /// Opens a component of this kind: looks up its exports and calls `describe`.
        ///
        /// # Errors
        /// The failure of `describe`, or a missing export.
        pub(crate) fn $open(
            component: LinkedComponent,
        ) -> Result<(Described, Box<dyn $backend>), Fault> {
            let indices =
                $interface::$module::GuestIndices::new(component.linked()).map_err(|error| {
                    Fault::Trap {
                        reason: error.to_string(),
                    }
                })?;
            let described = component.call(|store, instance| {
                let info = indices.load(&mut *store, instance)?.call_describe(store)?;
                Ok(Ok(Described::from(info)))
            });
            let described = described.result?;
            let needs = described.needs;
            Ok((
                described,
                Box::new(Export {
                    component,
                    indices,
                    needs,
                }),
            ))
        }
    };
}

kind!(open_format, format::format, Render);
kind!(open_filter, filter::filter, Keep);
kind!(open_extractor, extractor::extractor, Extract);
kind!(open_chunker, chunker::chunker, Chunk);
kind!(open_analyst, analyst::analyst, Analyse);
kind!(open_decoder, decoder::decoder, Decode);

impl Render for Export<format::format::GuestIndices> {
    fn render(&self, page: &PageView<'_>, options: &str) -> Measured<Rendered> {
        self.component.call(|store, instance| {
            let exports = self.indices.load(&mut *store, instance)?;
            let output =
                exports.call_render(store, lend(page), source(page, self.needs), options)?;
            Ok(output.map(Rendered::from).map_err(Fault::from))
        })
    }
}

impl Keep for Export<filter::filter::GuestIndices> {
    fn keep(&self, page: &PageView<'_>, options: &str) -> Measured<Vec<u8>> {
        self.component.call(|store, instance| {
            let exports = self.indices.load(&mut *store, instance)?;
            let mask = exports.call_keep(store, lend(page), options)?;
            Ok(mask.map_err(Fault::from))
        })
    }
}

impl Extract for Export<extractor::extractor::GuestIndices> {
    fn extract(&self, page: &PageView<'_>, options: &str) -> Measured<String> {
        self.component.call(|store, instance| {
            let exports = self.indices.load(&mut *store, instance)?;
            let json =
                exports.call_extract(store, lend(page), source(page, self.needs), options)?;
            Ok(json.map_err(Fault::from))
        })
    }
}

impl Chunk for Export<chunker::chunker::GuestIndices> {
    fn chunk(&self, text: &str, options: &str) -> Measured<Vec<(u32, u32)>> {
        self.component.call(|store, instance| {
            let exports = self.indices.load(&mut *store, instance)?;
            let spans = exports.call_chunk(store, text, options)?;
            let pairs = |spans: Vec<chunker::chunker::Span>| {
                spans.iter().map(|span| (span.start, span.end)).collect()
            };
            Ok(spans.map(pairs).map_err(Fault::from))
        })
    }
}

/// The parsed page as the contract's record; borrows, copies nothing.
fn lend<'a>(page: &PageView<'a>) -> Document<'a> {
    let arrays = page.document.arrays(page.kept);
    macro_rules! record {
        ($($(#[$doc:meta])* $name:ident: $slice:tt,)*) => {
            Document {
                quirks: arrays.quirks,
                $($name: arrays.$name,)*
                kept: arrays.kept,
            }
        };
    }
    document_fields!(each record)
}

fn source<'a>(page: &PageView<'a>, needs: Needs) -> Source<'a> {
    Source {
        text: if needs.source { page.text } else { "" },
        body: if needs.body { page.body } else { &[] },
        content_type: page.content_type,
        charset: page.charset,
    }
}

impl From<Info> for Described {
    fn from(info: Info) -> Self {
        use bindings::trawl::types::types::Needs as Flags;
        Self {
            name: info.name,
            version: info.version,
            summary: info.summary,
            options_schema: info.options_schema,
            needs: Needs {
                source: info.needs.contains(Flags::SOURCE),
                body: info.needs.contains(Flags::BODY),
            },
        }
    }
}

impl From<Failure> for Fault {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::InvalidOptions(reason) => Self::InvalidOptions(reason),
            Failure::Unsupported(reason) => Self::Unsupported(reason),
            Failure::Failed(reason) => Self::Failed(reason),
        }
    }
}

impl From<format::format::Output> for Rendered {
    fn from(output: format::format::Output) -> Self {
        match output {
            format::format::Output::Text(text) => Self::Text(text),
            format::format::Output::Bytes(bytes) => Self::Bytes(bytes),
        }
    }
}
