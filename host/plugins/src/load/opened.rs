//! A plugin that has been opened: its functions, and its description, not yet checked.

use std::sync::Arc;

use trawl_contract::provider::Description;
use trawl_contract::search;

use super::loaded::Loaded;
use super::manifest::ManifestEntry;
use crate::call::plugin::Core;
use crate::info::Described;
use crate::kinds::analyst::{Analyse, AnalystPlugin};
use crate::kinds::chunker::{Chunk, ChunkerPlugin};
use crate::kinds::decoder::{Decode, DecoderPlugin};
use crate::kinds::extractor::{Extract, ExtractorPlugin};
use crate::kinds::filter::{FilterPlugin, Keep};
use crate::kinds::format::{FormatPlugin, Render};
use crate::kinds::grant::Grant;
use crate::kinds::provider::{Converse, ProviderPlugin};
use crate::kinds::search::{SearchPlugin, Seek};

/// The functions of a plugin and its description.
pub(crate) enum Opened {
    Format(Described, Box<dyn Render>),
    Filter(Described, Box<dyn Keep>),
    Extractor(Described, Box<dyn Extract>),
    Chunker(Described, Box<dyn Chunk>),
    Analyst(Described, Box<dyn Analyse>),
    Decoder(Described, Box<dyn Decode>),
    Provider(Described, Box<Description>, Box<dyn Converse>),
    Search(Described, Box<search::Description>, Box<dyn Seek>),
}

impl Opened {
    pub(super) fn described(&self) -> &Described {
        match self {
            Self::Format(described, _)
            | Self::Filter(described, _)
            | Self::Extractor(described, _)
            | Self::Chunker(described, _)
            | Self::Analyst(described, _)
            | Self::Decoder(described, _)
            | Self::Provider(described, ..)
            | Self::Search(described, ..) => described,
        }
    }

    /// What the entry grants a provider or a search adapter; without an entry, everything in its
    /// description.
    pub(super) fn grant(&self, entry: &ManifestEntry) -> Result<Option<Grant>, String> {
        let grant = |description: &Description| match &entry.grant {
            Some(granted) => granted.check(description),
            None => Ok(Grant::of_itself(description)),
        };
        match self {
            Self::Provider(_, description, _) => grant(description).map(Some),
            Self::Search(_, description, _) => grant(&description.as_provider()).map(Some),
            _ => Ok(None),
        }
    }

    pub(super) fn into_loaded(
        self,
        core: Core,
        grant: Option<Grant>,
        entry: &ManifestEntry,
    ) -> Loaded {
        match self {
            Self::Format(_, backend) => Loaded::Format(Arc::new(FormatPlugin { core, backend })),
            Self::Filter(_, backend) => Loaded::Filter(Arc::new(FilterPlugin { core, backend })),
            Self::Extractor(_, backend) => {
                Loaded::Extractor(Arc::new(ExtractorPlugin { core, backend }))
            }
            Self::Chunker(_, backend) => Loaded::Chunker(Arc::new(ChunkerPlugin { core, backend })),
            Self::Analyst(_, backend) => Loaded::Analyst(Arc::new(AnalystPlugin { core, backend })),
            Self::Decoder(_, backend) => Loaded::Decoder(Arc::new(DecoderPlugin {
                core,
                backend,
                signatures: entry.media.signatures.clone(),
            })),
            Self::Provider(_, description, backend) => {
                let grant = grant.unwrap_or_else(|| Grant::of_itself(&description));
                Loaded::Provider(Arc::new(ProviderPlugin {
                    core,
                    backend,
                    description: *description,
                    grant,
                }))
            }
            Self::Search(_, description, backend) => {
                let grant = grant.unwrap_or_else(|| Grant::of_itself(&description.as_provider()));
                Loaded::Search(Arc::new(SearchPlugin {
                    core,
                    backend,
                    description: *description,
                    grant,
                }))
            }
        }
    }
}
