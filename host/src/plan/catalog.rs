//! What a request may ask for by name: the loaded plugins, as far as a plan has to know them.

use serde_json::Value;

/// A kind of plugin that requests name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PluginKind {
    /// Makes `content`.
    Format,
    /// Decides which nodes stay.
    Filter,
    /// Reads fields.
    Extractor,
    /// Splits `content`.
    Chunker,
    /// Finds out what pages say. Pipelines name it; no request of one's own does.
    Analyst,
    /// Serves pages through a third party.
    Provider,
}

impl PluginKind {
    /// The kind in a sentence.
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

/// The plugins one run may use. The registry's snapshot implements it.
pub trait Catalog {
    /// Whether a plugin of this kind is loaded under this name.
    fn has(&self, kind: PluginKind, name: &str) -> bool;

    /// Names loaded under this kind, sorted.
    fn names(&self, kind: PluginKind) -> Vec<String>;

    /// Whether a loaded plugin takes this options object: by its schema, and by asking the plugin where the registry can.
    ///
    /// # Errors
    /// What is wrong with the options, for the caller.
    fn check_options(&self, kind: PluginKind, name: &str, options: &Value) -> Result<(), String>;
}

/// What is loaded, as a sentence for the end of a refusal: `loaded: html, markdown`.
pub(super) fn loaded(catalog: &dyn Catalog, kind: PluginKind) -> String {
    match catalog.names(kind).as_slice() {
        [] => format!("no {} is loaded", kind.name()),
        names => format!("loaded: {}", names.join(", ")),
    }
}

#[cfg(test)]
pub(crate) mod fake {
    //! A catalogue for tests: the first-party names, and a plugin of each kind called `mine`.

    use super::*;

    /// Accepts every options object but one with the key `refused`, and selectors that begin with `!`.
    pub(crate) struct FakeCatalog;

    impl Catalog for FakeCatalog {
        fn has(&self, kind: PluginKind, name: &str) -> bool {
            self.names(kind).iter().any(|known| known == name)
        }

        fn names(&self, kind: PluginKind) -> Vec<String> {
            let names: &[&str] = match kind {
                PluginKind::Format => &["bytes", "html", "markdown", "mine", "text", "xml"],
                PluginKind::Filter => &["mine", "prune", "readability"],
                PluginKind::Extractor => &["json_data", "links", "metadata", "mine", "selectors"],
                PluginKind::Chunker => &["characters", "lines", "mine", "sentences", "words"],
                PluginKind::Analyst => &["contacts", "mine"],
                PluginKind::Provider => &["acme", "provider_1", "provider_2"],
            };
            names.iter().map(|&name| name.to_owned()).collect()
        }

        fn check_options(&self, _: PluginKind, _: &str, options: &Value) -> Result<(), String> {
            let Some(map) = options.as_object() else {
                return Err("not an object".to_owned());
            };
            if map.contains_key("refused") {
                return Err("`refused` is not known".to_owned());
            }
            let is_bad = |value: &Value| value.as_str().is_some_and(|text| text.starts_with('!'));
            match map.iter().find(|(_, value)| is_bad(value)) {
                Some((name, _)) => Err(format!("`{name}`: not a selector")),
                None => Ok(()),
            }
        }
    }
}
