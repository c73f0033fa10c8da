//! The kinds of plugins, and what a plan needs to know about the loaded ones.

use std::fmt;
use std::str::FromStr;

use serde_json::Value;

/// What a plugin does. Each kind has a contract package of its own in `wit/`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PluginKind {
    /// Turns a page into `content`.
    Format,
    /// Removes nodes of a page.
    Filter,
    /// Extracts fields from a page.
    Extractor,
    /// Splits `content` into chunks.
    Chunker,
    /// Analyses a page, with a language model if one is configured. Only pipelines use analysts.
    Analyst,
    /// Turns a document that is not HTML into HTML.
    Decoder,
    /// Speaks the protocol of a third-party scraping service.
    Provider,
    /// Speaks the protocol of a web search service.
    Search,
}

impl PluginKind {
    /// Every kind, in the order of the manifest.
    pub const ALL: [Self; 8] = [
        Self::Format,
        Self::Filter,
        Self::Extractor,
        Self::Chunker,
        Self::Analyst,
        Self::Decoder,
        Self::Provider,
        Self::Search,
    ];

    /// Name in the manifest, in messages, in the contract and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Format => "format",
            Self::Filter => "filter",
            Self::Extractor => "extractor",
            Self::Chunker => "chunker",
            Self::Analyst => "analyst",
            Self::Decoder => "decoder",
            Self::Provider => "provider",
            Self::Search => "search",
        }
    }

    /// What plugins of this kind do, in half a sentence.
    pub const fn summary(self) -> &'static str {
        match self {
            Self::Format => "turns a page into `content`",
            Self::Filter => "decides which parts of a page stay",
            Self::Extractor => "reads fields out of a page",
            Self::Chunker => "splits `content` into chunks",
            Self::Analyst => "analyses a page, with a language model if one is configured",
            Self::Decoder => "turns a document that is not HTML into HTML",
            Self::Provider => "speaks the protocol of a third-party scraping service",
            Self::Search => "speaks the protocol of a web search service",
        }
    }
}

impl fmt::Display for PluginKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// No plugin kind has this name.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not a kind of plugin")]
pub struct UnknownKind(String);

impl FromStr for PluginKind {
    type Err = UnknownKind;

    fn from_str(name: &str) -> Result<Self, UnknownKind> {
        let known = Self::ALL.into_iter().find(|kind| kind.name() == name);
        known.ok_or_else(|| UnknownKind(name.to_owned()))
    }
}

/// The plugins that one run may use. The snapshot of the registry implements it.
pub trait Catalog {
    /// Whether a plugin of this kind is loaded under this name.
    fn has(&self, kind: PluginKind, name: &str) -> bool;

    /// Names loaded under this kind, sorted.
    fn names(&self, kind: PluginKind) -> Vec<String>;

    /// The credentials that a request may send, each as the name of the provider that takes it and
    /// its own: those of loaded providers that need a single one. Spec S18.
    fn own_credentials(&self) -> Vec<(String, String)>;

    /// Whether a loaded plugin accepts this options object: by its schema, and by calling the
    /// plugin where the schema is not enough.
    ///
    /// # Errors
    /// What is wrong with the options, for the caller.
    fn check_options(&self, kind: PluginKind, name: &str, options: &Value) -> Result<(), String>;
}
