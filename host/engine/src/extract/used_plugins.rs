//! The plugins that the outputs of a page depend on, as one hash.

use trawl_plan::output::{HIDDEN_TEXT, JSON_DATA, LINKS, METADATA, READABILITY, SELECTORS};
use trawl_plan::{Format, OutputPlan};
use trawl_plugins::{PluginKind, Registry};

use super::{Input, decoding};

/// Bytes hashed for most plans: a plugin or two.
const HASHED_BYTES: usize = 512;

/// The hash of the names, files and limits of all plugins that a page's outputs depend on. `None`
/// if one is not loaded, or native: what that makes need not be a pure function.
pub(super) fn hash(registry: &Registry, input: &Input, plan: &OutputPlan) -> Option<blake3::Hash> {
    let mut hashed = Vec::with_capacity(HASHED_BYTES);
    let mut plugins = plugins(plan);
    let decoders = decoding::names(registry, input, plan);
    plugins.extend(
        decoders
            .iter()
            .map(|name| (PluginKind::Decoder, name.as_str())),
    );
    for (kind, name) in plugins {
        let info = registry.info(kind, name).filter(|info| !info.native)?;
        let limits = serde_json::to_vec(&info.limits).ok()?;
        for of_plugin in [
            kind.name().as_bytes(),
            name.as_bytes(),
            info.hash.as_bytes(),
            &limits,
        ] {
            part(&mut hashed, of_plugin);
        }
    }
    Some(blake3::hash(&hashed))
}

/// Adds a part of what is hashed, behind its length: no two lists of parts are the same bytes.
pub(super) fn part(hashed: &mut Vec<u8>, bytes: &[u8]) {
    hashed.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
    hashed.extend_from_slice(bytes);
}

/// The plugins that a plan calls. Every field is named, so that a new one must be considered here.
fn plugins(plan: &OutputPlan) -> Vec<(PluginKind, &str)> {
    let OutputPlan {
        formats,
        single_format: _,
        filters,
        readability,
        extractors,
        metadata,
        rights: _,
        links,
        json_data,
        css_fields,
        hidden_text,
        link_rewrite: _,
        discover: _,
        anchors: _,
        headers: _,
        cookies: _,
        timing: _,
        pages: _,
        // Which decoders read the page is known by its type.
        decoder_options: _,
        chunking,
        max_size: _,
        // Outputs with an analyst are not cached.
        analyst: _,
    } = plan;
    let mut plugins = Vec::with_capacity(4);
    for choice in formats {
        if let Format::Plugin(name) = &choice.format {
            plugins.push((PluginKind::Format, name.as_str()));
        }
    }
    plugins.extend(
        filters
            .iter()
            .map(|(name, _)| (PluginKind::Filter, name.as_str())),
    );
    if readability.is_some() {
        plugins.push((PluginKind::Filter, READABILITY));
    }
    plugins.extend(
        extractors
            .keys()
            .map(|name| (PluginKind::Extractor, name.as_str())),
    );
    let built_in = [
        (*metadata, METADATA),
        (*links, LINKS),
        (*json_data, JSON_DATA),
        (css_fields.is_some(), SELECTORS),
        (*hidden_text, HIDDEN_TEXT),
    ];
    let wanted = built_in.into_iter().filter(|(is_wanted, _)| *is_wanted);
    plugins.extend(wanted.map(|(_, name)| (PluginKind::Extractor, name)));
    if let Some(chunking) = chunking {
        plugins.push((PluginKind::Chunker, &chunking.chunker));
    }
    plugins
}
