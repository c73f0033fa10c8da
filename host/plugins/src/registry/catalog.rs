//! The registry as a catalog for planning requests.

use std::sync::Arc;

use serde_json::Value;
use tokio::runtime::{Handle, RuntimeFlavor};

use trawl_model::{Catalog, PluginKind};

use super::generation::Registry;

impl Catalog for Registry {
    fn has(&self, kind: PluginKind, name: &str) -> bool {
        match kind {
            PluginKind::Format => self.format(name).is_some(),
            PluginKind::Filter => self.filter(name).is_some(),
            PluginKind::Extractor => self.extractor(name).is_some(),
            PluginKind::Chunker => self.chunker(name).is_some(),
            PluginKind::Analyst => self.analyst(name).is_some(),
            PluginKind::Decoder => self.decoder(name).is_some(),
            PluginKind::Provider | PluginKind::Search => self.names(kind).contains(&name),
        }
    }

    fn names(&self, kind: PluginKind) -> Vec<String> {
        let mut names: Vec<String> = Self::names(self, kind)
            .into_iter()
            .map(str::to_owned)
            .collect();
        names.sort_unstable();
        names
    }

    fn own_credentials(&self) -> Vec<(String, String)> {
        let taken = self.providers().filter_map(|plugin| {
            let [credential] = plugin.grant().credentials.as_slice() else {
                return None;
            };
            Some((plugin.info().name.clone(), credential.clone()))
        });
        taken.collect()
    }

    fn check_options(&self, kind: PluginKind, name: &str, options: &Value) -> Result<(), String> {
        let options_text = options.to_string();
        let key = key(kind, name, &options_text);
        if let Some(known) = self.checked.get(&key) {
            return (*known).clone();
        }
        let checked = blocking(|| match kind {
            PluginKind::Format => self.format(name).map(|it| it.check_options(options)),
            PluginKind::Filter => self.filter(name).map(|it| it.check_options(options)),
            PluginKind::Extractor => self.extractor(name).map(|it| it.check_options(options)),
            PluginKind::Chunker => self.chunker(name).map(|it| it.check_options(options)),
            PluginKind::Analyst => self.analyst(name).map(|it| it.check_options(options)),
            PluginKind::Decoder => self.decoder(name).map(|it| it.check_options(options)),
            PluginKind::Provider | PluginKind::Search => None,
        });
        let checked =
            checked.unwrap_or_else(|| Err(format!("{} `{name}` is not loaded", kind.name())));
        let bytes = checked.as_ref().err().map_or(0, String::len) as u64;
        self.checked.insert(key, Arc::new(checked.clone()), bytes);
        checked
    }
}

/// What a check of options is remembered under. Names have no zero byte.
fn key(kind: PluginKind, name: &str, options: &str) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    for part in [kind.name(), "\0", name, "\0", options] {
        hasher.update(part.as_bytes());
    }
    *hasher.finalize().as_bytes()
}

/// Runs `work`, which may call a plugin. That takes microseconds, but a misbehaving plugin uses up
/// its time limit; where this is not a thread that may block already, a multi-threaded runtime
/// serves other requests meanwhile.
fn blocking<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        Ok(_) | Err(_) => work(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use trawl_test_guests::Guest;

    use super::*;
    use crate::{Plugins, PluginsConfig};

    /// A registry with this plugin only.
    fn registry(guest: &Guest) -> std::sync::Arc<Registry> {
        let folder = tempfile::tempdir().expect("a directory");
        let manifest = folder.path().join("plugins.toml");
        let more = match guest.kind {
            "decoder" => "media_types = [\"a/b\"]",
            _ => "",
        };
        let entry = format!(
            "[[{}]]\nname = \"mine\"\ncomponent = \"mine.wasm\"\n{more}",
            guest.kind
        );
        std::fs::write(folder.path().join("mine.wasm"), guest.build()).expect("written");
        std::fs::write(&manifest, entry).expect("written");
        let cache_dir = folder.path().join("compiled");
        let plugins = Plugins::start(PluginsConfig {
            manifest,
            cache_dir,
        });
        plugins.expect("it loads").snapshot()
    }

    #[test]
    fn options_are_tried_where_the_schema_accepts_them() {
        const REFUSES: &str = "(return (call $fail (i32.const 0) (i32.const 512) (i32.const 5)))";
        let guests = [
            (PluginKind::Format, Guest::echo_format("mine")),
            (PluginKind::Filter, Guest::keeping_filter("mine")),
            (PluginKind::Extractor, Guest::echo_extractor("mine")),
            (PluginKind::Chunker, Guest::whole_chunker("mine")),
            (PluginKind::Decoder, Guest::echo_decoder("mine")),
            (PluginKind::Analyst, Guest::asking_analyst("mine")),
        ];
        for (kind, guest) in guests {
            let mut guest = guest.when_asked(REFUSES);
            guest.extra += "(data (i32.const 512) \"nope!\")";
            let registry = registry(&guest);
            let checked = |options| Catalog::check_options(&*registry, kind, "mine", &options);
            assert_eq!(checked(json!({})), Ok(()), "{kind:?}");
            assert_eq!(
                checked(json!({"a": 1})),
                Err("nope!".to_owned()),
                "{kind:?}"
            );
        }
    }

    #[test]
    fn options_are_tried_once_a_generation() {
        let registry = registry(&Guest::keeping_filter("mine"));
        let counts = |registry: &Registry| {
            let filter = registry.filter("mine").expect("loaded");
            filter.core.counts().calls
        };
        let before = counts(&registry);
        for _ in 0..100 {
            let options = json!({"a": 1});
            let checked = Catalog::check_options(&*registry, PluginKind::Filter, "mine", &options);
            assert_eq!(checked, Ok(()));
        }
        assert_eq!(counts(&registry), before + 1);
    }

    #[test]
    fn a_trap_in_the_trial_call_does_not_refuse_the_options() {
        let registry = registry(&Guest::keeping_filter("mine").when_asked("unreachable"));
        let checked =
            Catalog::check_options(&*registry, PluginKind::Filter, "mine", &json!({"a": 1}));
        assert_eq!(checked, Ok(()));
    }
}
