//! What the author of a Trawl plugin links.
#![cfg_attr(
    test,
    allow(clippy::unwrap_used, reason = "a test says what it expects")
)]

#[cfg(feature = "native")]
pub mod abi;
mod options;
mod plugin;
#[cfg(feature = "testkit")]
pub mod testkit;
mod types;
pub mod view;

pub use plugin::{Chunker, Extractor, Filter, Format};
pub use types::{Failure, Info, Needs, Output, Source, Span};
pub use view::{
    Document, Element, Kind, Mask, Namespace, Node, Selector, SelectorError, Step, Tag,
};

#[doc(hidden)]
pub use {serde, serde_json};
