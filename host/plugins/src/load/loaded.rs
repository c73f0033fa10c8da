//! A loaded plugin of any kind, and what it was loaded from.

use std::path::Path;
use std::sync::Arc;

use super::manifest::ManifestEntry;
use super::sample;
use crate::call::plugin::{Core, Measured};
use crate::info::PluginInfo;
use crate::kinds::analyst::{AnalystPlugin, AnalystSubject, AnalystTask};
use crate::kinds::chunker::ChunkerPlugin;
use crate::kinds::decoder::DecoderPlugin;
use crate::kinds::extractor::ExtractorPlugin;
use crate::kinds::filter::FilterPlugin;
use crate::kinds::format::FormatPlugin;
use crate::kinds::provider::ProviderPlugin;
use crate::kinds::search::SearchPlugin;

/// What a plugin was loaded from. A plugin with an equal origin is not loaded again.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Origin {
    entry: ManifestEntry,
    hash: blake3::Hash,
}

impl Origin {
    pub(crate) fn new(entry: ManifestEntry, bytes: &[u8]) -> Self {
        Self {
            entry,
            hash: blake3::hash(bytes),
        }
    }

    /// The entry of the manifest.
    pub(crate) fn entry(&self) -> &ManifestEntry {
        &self.entry
    }

    /// Hash of the file.
    pub(crate) fn hash(&self) -> &blake3::Hash {
        &self.hash
    }

    /// The file it was loaded from; `None` for a bundled component.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.entry.code.file()
    }
}

/// A loaded plugin of any kind.
#[derive(Clone)]
pub(crate) enum Loaded {
    Format(Arc<FormatPlugin>),
    Filter(Arc<FilterPlugin>),
    Extractor(Arc<ExtractorPlugin>),
    Chunker(Arc<ChunkerPlugin>),
    Analyst(Arc<AnalystPlugin>),
    Decoder(Arc<DecoderPlugin>),
    Provider(Arc<ProviderPlugin>),
    Search(Arc<SearchPlugin>),
}

impl Loaded {
    pub(crate) fn core(&self) -> &Core {
        match self {
            Self::Format(plugin) => &plugin.core,
            Self::Filter(plugin) => &plugin.core,
            Self::Extractor(plugin) => &plugin.core,
            Self::Chunker(plugin) => &plugin.core,
            Self::Analyst(plugin) => &plugin.core,
            Self::Decoder(plugin) => &plugin.core,
            Self::Provider(plugin) => &plugin.core,
            Self::Search(plugin) => &plugin.core,
        }
    }

    pub(crate) fn info(&self) -> &PluginInfo {
        &self.core().info
    }

    /// Calls it once on the sample page, without counting the call.
    pub(crate) fn sample_call(&self) -> Measured<()> {
        const OPTIONS: &str = "{}";
        match self {
            Self::Format(plugin) => {
                sample::with_page(|page| without_value(plugin.backend.render(page, OPTIONS)))
            }
            Self::Filter(plugin) => {
                sample::with_page(|page| without_value(plugin.backend.keep(page, OPTIONS)))
            }
            Self::Extractor(plugin) => {
                sample::with_page(|page| without_value(plugin.backend.extract(page, OPTIONS)))
            }
            Self::Chunker(plugin) => without_value(plugin.backend.chunk(sample::TEXT, OPTIONS)),
            Self::Analyst(plugin) => sample::with_page(|page| {
                without_value(plugin.try_start(&AnalystTask {
                    subject: AnalystSubject::Page(page),
                    options: OPTIONS,
                    model: None,
                }))
            }),
            Self::Decoder(plugin) => without_value(plugin.backend.decode(&sample::file(), OPTIONS)),
            Self::Provider(plugin) => {
                without_value(plugin.backend.start(&sample::task(&plugin.grant)))
            }
            Self::Search(plugin) => {
                without_value(plugin.backend.start(&sample::query(&plugin.grant)))
            }
        }
    }
}

fn without_value<R>(measured: Measured<R>) -> Measured<()> {
    Measured {
        result: measured.result.map(|_| ()),
        elapsed: measured.elapsed,
        memory_peak: measured.memory_peak,
    }
}
