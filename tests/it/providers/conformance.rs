//! The conformance cases for all eleven adapters, natively and as components, each with its vendor
//! and without a socket.

use trawl_plugins::{Plugins, PluginsConfig};
use trawl_tests::World;
use trawl_tests::conformance::check;
use trawl_tests::vendors;

use super::ADAPTERS;

fn assert_none(wrong: &[String]) {
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn all_adapters_conform_natively() {
    let vendors = vendors::all();
    assert_eq!(vendors.len(), ADAPTERS.len());
    let pairs = ADAPTERS.into_iter().zip(&vendors);
    let wrong = pairs.flat_map(|(adapter, vendor)| check(adapter, vendor));
    assert_none(&wrong.collect::<Vec<_>>());
}

#[test]
fn all_adapters_conform_as_components() {
    let world = World::new();
    let plugins = Plugins::start(PluginsConfig {
        manifest: world.plugins(),
        cache_dir: world
            .data()
            .join("compiled")
            .canonicalize()
            .expect("a folder"),
    });
    let registry = plugins.expect("the checkout's plugins").snapshot();
    let vendors = vendors::all();
    let adapters: Vec<_> = registry.providers().collect();
    assert_eq!(adapters.len(), vendors.len());
    let wrong = adapters
        .iter()
        .zip(&vendors)
        .flat_map(|(adapter, vendor)| check(&***adapter, vendor));
    assert_none(&wrong.collect::<Vec<_>>());
}
