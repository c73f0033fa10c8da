//! What a request may name: what plans need to know of the loaded plugins.

use trawl_model::{Catalog, PluginKind};

/// What is loaded, as a sentence for the end of a refusal: `loaded: html, markdown`.
pub(crate) fn loaded(catalog: &dyn Catalog, kind: PluginKind) -> String {
    match catalog.names(kind).as_slice() {
        [] => format!("no {} is loaded", kind.name()),
        names => format!("loaded: {}", names.join(", ")),
    }
}
