//! Plugins: loading them from `plugins.toml`, calling them within limits, swapping them while the server runs.
//!
//! The only user of the WebAssembly engine. `extract` calls plugins through a [`Registry`] snapshot that its run began with; `api` and
//! the command line ask for [`Plugins::status`] and [`inspect`]. Calls are synchronous: make them on blocking threads, no more at once
//! than cores.

mod analyst;
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
pub use chunker::ChunkerPlugin;
pub use error::{Fault, LoadError, PluginError};
pub use extractor::ExtractorPlugin;
pub use filter::FilterPlugin;
pub use format::{FormatPlugin, Rendered};
pub use grant::{Grant, PriceTable};
pub use info::{Needs, PluginInfo};
pub use inspect::{Inspection, SampleCall, inspect};
pub use limits::Limits;
pub use provider::ProviderPlugin;
pub use question::Question;
pub use registry::Registry;
pub use reload::{Plugins, PluginsConfig};
pub use status::{PluginStatus, ReloadFailure, Status};
pub use view::PageView;

/// What a plugin does: one contract package each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Turns a page into content.
    Format,
    /// Decides which nodes of a page stay.
    Filter,
    /// Reads fields out of a page.
    Extractor,
    /// Splits content into pieces.
    Chunker,
    /// Finds out what a page says, with a model where there is one.
    Analyst,
    /// Speaks the protocol of a scraping service.
    Provider,
}

impl Kind {
    /// Every kind, in the order of the manifest.
    pub const ALL: [Self; 6] = [
        Self::Format,
        Self::Filter,
        Self::Extractor,
        Self::Chunker,
        Self::Analyst,
        Self::Provider,
    ];

    /// Name in the manifest, in messages and in the contract.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Format => "format",
            Self::Filter => "filter",
            Self::Extractor => "extractor",
            Self::Chunker => "chunker",
            Self::Analyst => "analyst",
            Self::Provider => "provider",
        }
    }
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
