//! Plugins: loading them from `plugins.toml`, calling them within limits, swapping them while the
//! server runs.
//!
//! The only user of the WebAssembly engine. A run takes a [`Registry`] from [`Plugins::snapshot`]
//! and calls its plugins; the interface and the command line read [`Plugins::status`] and
//! [`inspect`]. Calls are synchronous: make them on blocking threads, no more at once than cores.

mod bundle;
mod call;
mod error;
mod info;
mod kinds;
mod limits;
mod load;
mod parallel;
mod registry;

pub use bundle::{Bundle, BundleError, eject};
pub use call::view::PageView;
pub use error::{Fault, LoadError, PluginError};
pub use info::{Needs, PluginInfo, PluginSource};
pub use kinds::analyst::{
    AnalystPlugin, AnalystStep, AnalystSubject, AnalystTask, Finding, ModelReply,
};
pub use kinds::chunker::ChunkerPlugin;
pub use kinds::decoder::{Decoded, DecoderPlugin, File, Inner, PageRange};
pub use kinds::extractor::ExtractorPlugin;
pub use kinds::filter::FilterPlugin;
pub use kinds::format::{FormatPlugin, Rendered};
pub use kinds::grant::{Grant, PriceTable};
pub use kinds::provider::ProviderPlugin;
pub use kinds::question::Question;
pub use kinds::search::SearchPlugin;
pub use limits::Limits;
pub use load::embed::{Embedded, embed};
pub use load::inspect::{Inspection, SampleCall, inspect};
pub use load::loader::{CompileReport, Compiling};
pub use registry::generation::Registry;
pub use registry::reload::{Plugins, PluginsConfig};
pub use registry::status::{PluginStatus, ReloadFailure, Status};

pub use trawl_model::PluginKind;
