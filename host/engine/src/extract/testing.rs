//! Plugins for tests.

use std::path::Path;
use std::sync::Arc;

use tempfile::TempDir;

use trawl_plugins::{Plugins, PluginsConfig, Registry};
use trawl_test_guests::Guest;

/// A registry of these plugins; the lines are added to each entry.
pub(super) fn registry(plugins: &[Guest], lines: &str) -> Arc<Registry> {
    let folder = TempDir::new().expect("a folder");
    let mut manifest = String::new();
    for (number, guest) in plugins.iter().enumerate() {
        let (kind, name) = (guest.kind, &guest.name);
        manifest +=
            &format!("[[{kind}]]\nname = {name:?}\ncomponent = \"{number}.wasm\"\n{lines}\n");
        let file = folder.path().join(format!("{number}.wasm"));
        std::fs::write(file, guest.build()).expect("a guest");
    }
    let path = folder.path().join("plugins.toml");
    std::fs::write(&path, manifest).expect("a manifest");
    let cache_dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tmp/compiled-plugins");
    let config = PluginsConfig {
        manifest: path,
        cache_dir,
    };
    Plugins::start(config).expect("plugins").snapshot()
}
