//! SDK for authors of Trawl plugins.
//!
//! A plugin is a type that implements one of eight traits ([`Format`], [`Filter`], [`Extractor`],
//! [`Chunker`], [`Analyst`](analyst::Analyst), [`Decoder`](decoder::Decoder),
//! [`Provider`](provider::Provider), [`Search`](search::Search)), and one line that exports it:
//!
//! ```
//! use trawl_sdk::{Document, Failure, Format, Info, Output, Source};
//!
//! struct Headings;
//!
//! impl Format for Headings {
//!     type Options = ();
//!
//!     fn info() -> Info {
//!         Info::new("headings", env!("CARGO_PKG_VERSION"), "The headings of a page, one per line")
//!     }
//!
//!     fn render(document: &Document, _: Source, _: ()) -> Result<Output, Failure> {
//!         let headings = document.select("h1, h2, h3, h4, h5, h6")?;
//!         let lines: Vec<String> = headings.map(|heading| heading.text()).collect();
//!         Ok(Output::Text(lines.join("\n")))
//!     }
//! }
//!
//! trawl_sdk::export!(format: Headings);
//! ```
//!
//! The host passes the parsed page as a [`Document`]. The feature `testkit` adds a module that runs
//! a plugin on a page in a test. The guide is `README.md`.
#![cfg_attr(test, allow(clippy::unwrap_used, reason = "tests may panic"))]

pub mod analyst;
#[cfg(all(target_arch = "wasm32", feature = "arena"))]
mod arena;
pub mod calendar;
#[cfg(target_arch = "wasm32")]
#[doc(hidden)]
pub mod component;
pub mod decoder;
mod export;
#[cfg(all(target_arch = "wasm32", feature = "arena"))]
mod memory;
#[cfg(not(target_arch = "wasm32"))]
#[doc(hidden)]
pub mod native;
mod options;
mod plugin;
pub mod provider;
#[cfg(target_arch = "wasm32")]
mod random;
pub mod scan;
pub mod search;
#[cfg(feature = "testkit")]
pub mod testkit;
mod types;
pub mod view;
#[cfg(feature = "xml")]
pub mod xml;

#[cfg(not(target_arch = "wasm32"))]
#[doc(inline)]
pub use trawl_contract::abi;

pub use plugin::{Chunker, Extractor, Filter, Format};
pub use types::{Failure, Info, Needs, Output, Source, Span};
pub use view::{
    Declarations, Document, Element, HiddenBy, Kind, Mask, Namespace, Node, Selector,
    SelectorError, Step, Steps, Tag, TextOptions,
};

/// Compiles the code examples of the guide.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
