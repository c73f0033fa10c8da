//! Plugins: loading them from `plugins.toml`, calling them within limits, swapping them while the server runs.
//!
//! The only user of the WebAssembly engine. `extract` calls plugins through a [`Registry`] snapshot that its run began with; `api` and
//! the command line ask for [`Plugins::status`] and [`inspect`]. Calls are synchronous: make them on blocking threads, no more at once
//! than cores.

mod analyst;
mod bundle;
mod catalog;
mod chunker;
mod contract;
mod engine;
mod error;
mod extractor;
mod filter;
mod fingerprint;
mod format;
mod grant;
mod guest;
mod info;
mod inspect;
mod limits;
mod load;
mod manifest;
mod native;
mod parallel;
mod plugin;
mod provider;
mod question;
mod registry;
mod reload;
mod sample;
mod stats;
mod status;
mod trial;
mod v1;
mod view;
mod wasi;
mod watch;

pub use analyst::{AnalystPlugin, AnalystStep, AnalystSubject, AnalystTask, Finding, ModelReply};
pub use bundle::{Bundle, BundleError, Embedded, eject, embed};
pub use chunker::ChunkerPlugin;
pub use error::{Fault, LoadError, PluginError};
pub use extractor::ExtractorPlugin;
pub use filter::FilterPlugin;
pub use format::{FormatPlugin, Rendered};
pub use grant::{Grant, PriceTable};
pub use info::{Needs, PluginInfo, PluginSource};
pub use inspect::{Inspection, SampleCall, inspect};
pub use limits::Limits;
pub use provider::ProviderPlugin;
pub use question::Question;
pub use registry::Registry;
pub use reload::{Plugins, PluginsConfig};
pub use status::{PluginStatus, ReloadFailure, Status};
pub use view::PageView;

pub use trawl_model::PluginKind;
