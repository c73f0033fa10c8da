//! The output cache: outputs of shareable pages in memory, for every caller with the same request.
//!
//! Outputs are a pure function of what [`OutputCache::key`] hashes: the body, its URL and type, the
//! plan, and the files and limits of the plugins that the plan names. So they are never out of
//! date: a reloaded plugin has another hash, and unused entries are evicted. Not cached are
//! - pages that the page cache may not store, pages of browsers and providers, and pages handed in:
//!   what was made for one caller, with headers, cookies or credentials of its own, must not be
//!   visible to another, not even that it was made;
//! - screenshots, which no two pages share, and native plugins, which need not be pure;
//! - everything that failed, in whole or in part: the next try may have more time.

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use trawl_model::lru::Lru;
use trawl_plan::OutputPlan;
use trawl_plugins::Registry;

use crate::extract::{Input, Outputs, shows_screenshot, used_plugins};

/// Outputs larger than this share of the cache would evict too much for one page.
const OUTPUTS_PART_MAX: u64 = 32;

/// Bytes hashed for most keys: two hashes, a URL, a plan.
const KEYED_BYTES: usize = 1024;

/// Key of outputs: a hash of everything they depend on.
type Key = blake3::Hash;

/// The most recently used outputs.
#[derive(Debug)]
pub(super) struct OutputCache {
    outputs: Arc<Lru<Key, Outputs>>,
    is_on: bool,
}

/// A write of outputs to the cache, committed once their page is paid for: what one caller did not
/// pay for must not be free for another. Dropping it stores nothing.
#[derive(Clone)]
pub struct OutputCacheWrite {
    cache: Arc<Lru<Key, Outputs>>,
    key: Key,
    outputs: Arc<Outputs>,
    bytes: u64,
}

impl OutputCache {
    /// A cache of so many bytes; zero stores nothing.
    pub(super) fn new(bytes_max: u64) -> Self {
        Self {
            outputs: Arc::new(Lru::new(bytes_max, OUTPUTS_PART_MAX)),
            is_on: bytes_max > 0,
        }
    }

    /// Whether outputs of this plan may be cached at all. Those that need no plugin are made as
    /// fast as they are found.
    pub(super) fn is_cacheable(&self, plan: &OutputPlan) -> bool {
        self.is_on && plan.analyst.is_none() && plan.needs_document() && !shows_screenshot(plan)
    }

    /// The hash of everything that outputs of a page with this body depend on, each part prefixed
    /// with its length. `None` if a plugin is not loaded, or native: such outputs are not cached.
    pub(super) fn key(
        registry: &Registry,
        input: &Input,
        plan: &OutputPlan,
        body: &blake3::Hash,
    ) -> Option<Key> {
        let mut hashed = Vec::with_capacity(KEYED_BYTES);
        let mut part = |bytes: &[u8]| used_plugins::part(&mut hashed, bytes);
        part(body.as_bytes());
        part(input.url.as_str().as_bytes());
        part(input.content_type.as_bytes());
        part(&[u8::from(input.is_serialised)]);
        part(&plan.canonical());
        part(used_plugins::hash(registry, input, plan)?.as_bytes());
        Some(blake3::hash(&hashed))
    }

    /// Cached outputs.
    pub(super) fn find(&self, key: &Key) -> Option<Arc<Outputs>> {
        let found = self.outputs.get(key);
        count(if found.is_some() { "hit" } else { "miss" });
        found
    }

    /// The write for outputs that were just made; `None` if they may not be cached.
    pub(super) fn write(&self, key: Key, outputs: &Outputs) -> Option<OutputCacheWrite> {
        if outputs.failure.is_some() || !self.outputs.has_room_for(outputs.bytes()) {
            return None;
        }
        let outputs = outputs.clone().written();
        let bytes = outputs.bytes();
        Some(OutputCacheWrite {
            cache: Arc::clone(&self.outputs),
            key,
            outputs: Arc::new(outputs),
            bytes,
        })
    }
}

impl OutputCacheWrite {
    /// Stores them.
    pub fn commit(self) {
        self.cache.insert(self.key, self.outputs, self.bytes);
        metrics::gauge!("trawl_outputs_bytes").set(self.cache.bytes() as f64);
    }
}

impl fmt::Debug for OutputCacheWrite {
    /// Without the outputs and the rest of the cache.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutputCacheWrite")
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}

fn count(outcome: &'static str) {
    metrics::counter!("trawl_outputs_total", "outcome" => outcome).increment(1);
}
