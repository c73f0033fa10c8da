//! Pages as plugins that are linked natively see them.

use trawl_document::Document;
use trawl_sdk::view::arrays::Arrays;

/// View of a parsed page for natively linked plugins.
pub fn arrays(document: &Document) -> Arrays<'_> {
    Arrays {
        url: &document.url,
        base: &document.base,
        media_type: &document.media_type,
        quirks: document.quirks,
        kinds: &document.kinds,
        parents: &document.parents,
        ends: &document.ends,
        names: &document.names,
        starts: &document.starts,
        counts: &document.counts,
        attribute_names: &document.attribute_names,
        attribute_starts: &document.attribute_starts,
        attribute_lengths: &document.attribute_lengths,
        name_text: &document.name_text,
        name_ends: &document.name_ends,
        name_spaces: &document.name_spaces,
        text: &document.text,
        kept: &[],
    }
}
