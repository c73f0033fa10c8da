//! Glue for WebAssembly: bindings generated from `wit/`, implemented for each plugin trait. Not
//! part of the public interface.

#![allow(
    unsafe_code,
    missing_docs,
    reason = "generated bindings contain unsafe code and have no docs"
)]

mod analysis;
mod conversation;
mod decoding;
mod searching;

use std::borrow::Cow;
use std::marker::PhantomData;

use trawl_contract::document_fields;

use crate::view::arrays::Arrays;
use crate::{Chunker, Document, Extractor, Failure, Filter, Format, Info, Output, Source, Span};
use crate::{Needs, options};

/// Bindings of the format world; the other worlds share its types.
pub mod format {
    wit_bindgen::generate!({
        path: ["../wit/types/1", "../wit/document/1", "../wit/format/1"],
        // All worlds of the contract are called `plugin`, but each export macro needs a name of its
        // own.
        inline: "package trawl:sdk; world format { export trawl:format/format@1.0.0; }",
        world: "trawl:sdk/format",
        pub_export_macro: true,
        export_macro_name: "__trawl_export_format",
        default_bindings_module: "trawl_sdk::component::format",
        generate_all,
    });
}

/// Bindings of the filter world.
pub mod filter {
    wit_bindgen::generate!({
        path: ["../wit/types/1", "../wit/document/1", "../wit/filter/1"],
        inline: "package trawl:sdk; world filter { export trawl:filter/filter@1.0.0; }",
        world: "trawl:sdk/filter",
        pub_export_macro: true,
        export_macro_name: "__trawl_export_filter",
        default_bindings_module: "trawl_sdk::component::filter",
        with: {
            "trawl:types/types@1.0.0": super::format::trawl::types::types,
            "trawl:document/tree@1.0.0": super::format::trawl::document::tree,
        },
    });
}

/// Bindings of the extractor world.
pub mod extractor {
    wit_bindgen::generate!({
        path: ["../wit/types/1", "../wit/document/1", "../wit/extractor/1"],
        inline: "package trawl:sdk; world extractor { export trawl:extractor/extractor@1.0.0; }",
        world: "trawl:sdk/extractor",
        pub_export_macro: true,
        export_macro_name: "__trawl_export_extractor",
        default_bindings_module: "trawl_sdk::component::extractor",
        with: {
            "trawl:types/types@1.0.0": super::format::trawl::types::types,
            "trawl:document/tree@1.0.0": super::format::trawl::document::tree,
        },
    });
}

/// Bindings of the chunker world.
pub mod chunker {
    wit_bindgen::generate!({
        path: ["../wit/types/1", "../wit/chunker/1"],
        inline: "package trawl:sdk; world chunker { export trawl:chunker/chunker@1.0.0; }",
        world: "trawl:sdk/chunker",
        pub_export_macro: true,
        export_macro_name: "__trawl_export_chunker",
        default_bindings_module: "trawl_sdk::component::chunker",
        with: {
            "trawl:types/types@1.0.0": super::format::trawl::types::types,
        },
    });
}

/// Bindings of the analyst world.
pub mod analyst {
    wit_bindgen::generate!({
        path: ["../wit/types/1", "../wit/document/1", "../wit/analyst/1"],
        inline: "package trawl:sdk; world analyst { export trawl:analyst/analyst@1.0.0; }",
        world: "trawl:sdk/analyst",
        pub_export_macro: true,
        export_macro_name: "__trawl_export_analyst",
        default_bindings_module: "trawl_sdk::component::analyst",
        with: {
            "trawl:types/types@1.0.0": super::format::trawl::types::types,
            "trawl:document/tree@1.0.0": super::format::trawl::document::tree,
        },
    });
}

/// Bindings of the decoder world.
pub mod decoder {
    wit_bindgen::generate!({
        path: ["../wit/types/1", "../wit/decoder/1"],
        inline: "package trawl:sdk; world decoder { export trawl:decoder/decoder@1.0.0; }",
        world: "trawl:sdk/decoder",
        pub_export_macro: true,
        export_macro_name: "__trawl_export_decoder",
        default_bindings_module: "trawl_sdk::component::decoder",
        with: {
            "trawl:types/types@1.0.0": super::format::trawl::types::types,
        },
    });
}

/// Bindings of the provider world.
pub mod provider {
    wit_bindgen::generate!({
        path: ["../wit/types/1", "../wit/provider/1"],
        inline: "package trawl:sdk; world provider { export trawl:provider/provider@1.0.0; }",
        world: "trawl:sdk/provider",
        pub_export_macro: true,
        export_macro_name: "__trawl_export_provider",
        default_bindings_module: "trawl_sdk::component::provider",
        with: {
            "trawl:types/types@1.0.0": super::format::trawl::types::types,
        },
        generate_all,
    });
}

/// Bindings of the search world; it shares what is exchanged with a service with the provider
/// world.
pub mod search {
    wit_bindgen::generate!({
        path: ["../wit/types/1", "../wit/provider/1", "../wit/search/1"],
        inline: "package trawl:sdk; world search { export trawl:search/search@1.0.0; }",
        world: "trawl:sdk/search",
        pub_export_macro: true,
        export_macro_name: "__trawl_export_search",
        default_bindings_module: "trawl_sdk::component::search",
        with: {
            "trawl:types/types@1.0.0": super::format::trawl::types::types,
            "trawl:provider/service@1.0.0": super::provider::trawl::provider::service,
        },
    });
}

use format::trawl::document::tree;
use format::trawl::types::types;

/// Implements the generated traits for an author's plugin.
pub struct Exported<P>(PhantomData<P>);

impl<P: Format> format::exports::trawl::format::format::Guest for Exported<P> {
    fn describe() -> types::Info {
        P::info().into()
    }

    fn render(
        document: tree::Document,
        source: tree::Source,
        options: String,
    ) -> Result<format::exports::trawl::format::format::Output, types::Failure> {
        use format::exports::trawl::format::format::Output as Lowered;
        let options = options::read(&options)?;
        let output = P::render(&Document::new(borrow(&document)), source.into(), options)?;
        Ok(match output {
            Output::Text(text) => Lowered::Text(text),
            Output::Bytes(bytes) => Lowered::Bytes(bytes),
        })
    }
}

impl<P: Filter> filter::exports::trawl::filter::filter::Guest for Exported<P> {
    fn describe() -> types::Info {
        P::info().into()
    }

    fn keep(document: tree::Document, options: String) -> Result<Vec<u8>, types::Failure> {
        let options = options::read(&options)?;
        Ok(P::keep(&Document::new(borrow(&document)), options)?.into_bits())
    }
}

impl<P: Extractor> extractor::exports::trawl::extractor::extractor::Guest for Exported<P> {
    fn describe() -> types::Info {
        P::info().into()
    }

    fn extract(
        document: tree::Document,
        source: tree::Source,
        options: String,
    ) -> Result<String, types::Failure> {
        let options = options::read(&options)?;
        let answer = P::extract(&Document::new(borrow(&document)), source.into(), options)?;
        Ok(options::write(&answer)?)
    }
}

impl<P: Chunker> chunker::exports::trawl::chunker::chunker::Guest for Exported<P> {
    fn describe() -> types::Info {
        P::info().into()
    }

    fn chunk(
        text: String,
        options: String,
    ) -> Result<Vec<chunker::exports::trawl::chunker::chunker::Span>, types::Failure> {
        use chunker::exports::trawl::chunker::chunker::Span as Lowered;
        let spans = P::chunk(&text, options::read(&options)?)?;
        let lower = |Span { start, end }| Lowered { start, end };
        Ok(spans.into_iter().map(lower).collect())
    }
}

/// Borrows the lists of the call without copying them.
fn borrow(document: &tree::Document) -> Arrays<'_> {
    document_fields!(borrow document, &document.kept)
}

impl From<tree::Source> for Source<'static> {
    fn from(source: tree::Source) -> Self {
        Self {
            text: Cow::Owned(source.text),
            body: Cow::Owned(source.body),
            content_type: Cow::Owned(source.content_type),
            charset: Cow::Owned(source.charset),
        }
    }
}

impl From<Info> for types::Info {
    fn from(info: Info) -> Self {
        let mut needs = types::Needs::empty();
        for (need, lowered) in [
            (Needs::SOURCE, types::Needs::SOURCE),
            (Needs::BODY, types::Needs::BODY),
        ] {
            if info.needs.contains(need) {
                needs = needs | lowered;
            }
        }
        Self {
            name: info.name.to_owned(),
            version: info.version.to_owned(),
            summary: info.summary.to_owned(),
            options_schema: info.options_schema.to_owned(),
            needs,
        }
    }
}

impl From<Failure> for types::Failure {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::InvalidOptions(reason) => Self::InvalidOptions(reason),
            Failure::Unsupported(reason) => Self::Unsupported(reason),
            Failure::Failed(reason) => Self::Failed(reason),
        }
    }
}
