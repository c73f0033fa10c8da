//! The registry as plans see it.

use serde_json::Value;

use crate::plan::{Catalog, PluginKind};
use crate::plugins::{Kind, Registry};

impl Catalog for Registry {
    fn has(&self, kind: PluginKind, name: &str) -> bool {
        match kind {
            PluginKind::Format => self.format(name).is_some(),
            PluginKind::Filter => self.filter(name).is_some(),
            PluginKind::Extractor => self.extractor(name).is_some(),
            PluginKind::Chunker => self.chunker(name).is_some(),
        }
    }

    fn names(&self, kind: PluginKind) -> Vec<String> {
        let kind = match kind {
            PluginKind::Format => Kind::Format,
            PluginKind::Filter => Kind::Filter,
            PluginKind::Extractor => Kind::Extractor,
            PluginKind::Chunker => Kind::Chunker,
        };
        let mut names: Vec<String> = self.names(kind).into_iter().map(str::to_owned).collect();
        names.sort_unstable();
        names
    }

    fn check_options(&self, kind: PluginKind, name: &str, options: &Value) -> Result<(), String> {
        let checked = match kind {
            PluginKind::Format => self
                .format(name)
                .map(|plugin| plugin.check_options(options)),
            PluginKind::Filter => self
                .filter(name)
                .map(|plugin| plugin.check_options(options)),
            PluginKind::Extractor => self
                .extractor(name)
                .map(|plugin| plugin.check_options(options)),
            PluginKind::Chunker => self
                .chunker(name)
                .map(|plugin| plugin.check_options(options)),
        };
        checked.unwrap_or_else(|| Err(format!("{} `{name}` is not loaded", kind.name())))
    }
}
