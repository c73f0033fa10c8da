//! The plugins of one generation. A run takes a snapshot at its start and uses it to its end.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use trawl_model::PluginKind;
use trawl_model::lru::Lru;

use crate::info::PluginInfo;
use crate::kinds::analyst::AnalystPlugin;
use crate::kinds::chunker::ChunkerPlugin;
use crate::kinds::decoder::DecoderPlugin;
use crate::kinds::extractor::ExtractorPlugin;
use crate::kinds::filter::FilterPlugin;
use crate::kinds::format::FormatPlugin;
use crate::kinds::provider::ProviderPlugin;
use crate::kinds::search::SearchPlugin;
use crate::load::loaded::{Loaded, Origin};

/// Most bytes of remembered checks of options: some thousand of them.
const CHECKED_BYTES_MAX: u64 = 1 << 20;
/// One remembered check may take such a part of them: its reason quotes what the caller wrote.
const CHECKED_PART: u64 = 16;

/// Whether a plugin accepted options, by the hash of its kind, its name and the options.
pub(crate) type Checked = Lru<[u8; 32], Result<(), String>>;

/// All loaded plugins by kind and name. Immutable; a reload creates the next one.
pub struct Registry {
    generation: u64,
    /// In the order of the manifest, with their origins.
    entries: Vec<(Origin, Loaded)>,
    positions: BTreeMap<(PluginKind, String), usize>,
    /// Options that these plugins have checked.
    pub(super) checked: Checked,
}

impl Registry {
    /// A registry of plugins in the order of the manifest; names of a kind are unique.
    pub(crate) fn new(generation: u64, entries: Vec<(Origin, Loaded)>) -> Self {
        let position = |(index, (_, loaded)): (usize, &(Origin, Loaded))| {
            let info = loaded.info();
            ((info.kind, info.name.clone()), index)
        };
        Self {
            generation,
            positions: entries.iter().enumerate().map(position).collect(),
            entries,
            checked: Lru::new(CHECKED_BYTES_MAX, CHECKED_PART),
        }
    }

    /// A registry without plugins.
    pub fn empty() -> Arc<Self> {
        Arc::new(Self::new(1, Vec::new()))
    }

    /// Which reload this is, from 1.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// The format of this name.
    pub fn format(&self, name: &str) -> Option<Arc<FormatPlugin>> {
        match self.find(PluginKind::Format, name)? {
            Loaded::Format(plugin) => Some(Arc::clone(plugin)),
            _ => None,
        }
    }

    /// The filter of this name.
    pub fn filter(&self, name: &str) -> Option<Arc<FilterPlugin>> {
        match self.find(PluginKind::Filter, name)? {
            Loaded::Filter(plugin) => Some(Arc::clone(plugin)),
            _ => None,
        }
    }

    /// The extractor of this name.
    pub fn extractor(&self, name: &str) -> Option<Arc<ExtractorPlugin>> {
        match self.find(PluginKind::Extractor, name)? {
            Loaded::Extractor(plugin) => Some(Arc::clone(plugin)),
            _ => None,
        }
    }

    /// The chunker of this name.
    pub fn chunker(&self, name: &str) -> Option<Arc<ChunkerPlugin>> {
        match self.find(PluginKind::Chunker, name)? {
            Loaded::Chunker(plugin) => Some(Arc::clone(plugin)),
            _ => None,
        }
    }

    /// Description of the plugin of this kind and name.
    pub fn info(&self, kind: PluginKind, name: &str) -> Option<&PluginInfo> {
        self.find(kind, name).map(Loaded::info)
    }

    /// The analyst of this name.
    pub fn analyst(&self, name: &str) -> Option<Arc<AnalystPlugin>> {
        match self.find(PluginKind::Analyst, name)? {
            Loaded::Analyst(plugin) => Some(Arc::clone(plugin)),
            _ => None,
        }
    }

    /// The decoder of this name.
    pub fn decoder(&self, name: &str) -> Option<Arc<DecoderPlugin>> {
        match self.find(PluginKind::Decoder, name)? {
            Loaded::Decoder(plugin) => Some(Arc::clone(plugin)),
            _ => None,
        }
    }

    /// The decoders for a body, in the order of the manifest: those of its media type; if that says
    /// nothing, those whose signature it begins with. Decision D249.
    pub fn decoders<'a>(
        &'a self,
        media_type: &'a str,
        body: &'a [u8],
    ) -> impl Iterator<Item = &'a Arc<DecoderPlugin>> {
        self.entries
            .iter()
            .filter_map(move |(_, loaded)| match loaded {
                Loaded::Decoder(plugin) if plugin.reads(media_type, body) => Some(plugin),
                _ => None,
            })
    }

    /// The providers, in the order of the manifest: the operator's order of preference.
    pub fn providers(&self) -> impl Iterator<Item = &Arc<ProviderPlugin>> {
        self.entries.iter().filter_map(|(_, loaded)| match loaded {
            Loaded::Provider(plugin) => Some(plugin),
            _ => None,
        })
    }

    /// The search adapters, in the order of the manifest: the operator's order of preference.
    pub fn searches(&self) -> impl Iterator<Item = &Arc<SearchPlugin>> {
        self.entries.iter().filter_map(|(_, loaded)| match loaded {
            Loaded::Search(plugin) => Some(plugin),
            _ => None,
        })
    }

    /// Names of one kind, in the order of the manifest.
    pub fn names(&self, kind: PluginKind) -> Vec<&str> {
        let infos = self.entries.iter().map(|(_, loaded)| loaded.info());
        infos
            .filter(|info| info.kind == kind)
            .map(|info| info.name.as_str())
            .collect()
    }

    /// Everything loaded, in the order of the manifest.
    pub(crate) fn entries(&self) -> &[(Origin, Loaded)] {
        &self.entries
    }

    /// The files it was loaded from.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let files = self.entries.iter().filter_map(|(origin, _)| origin.file());
        files.map(Path::to_owned).collect()
    }

    /// Whether another registry was loaded from the same files and entries, in the same order.
    pub(crate) fn is_same_as(&self, other: &Self) -> bool {
        let origins = |registry: &Self| {
            registry
                .entries
                .iter()
                .map(|(origin, _)| origin.clone())
                .collect::<Vec<_>>()
        };
        origins(self) == origins(other)
    }

    fn find(&self, kind: PluginKind, name: &str) -> Option<&Loaded> {
        let position = self.positions.get(&(kind, name.to_owned()))?;
        self.entries.get(*position).map(|(_, loaded)| loaded)
    }
}
