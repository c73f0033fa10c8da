//! The conformance cases for all eleven adapters, natively and as components, each with its vendor
//! and without a socket.

use trawl_plugins::{Plugins, PluginsConfig};
use trawl_sdk::provider::Provider;
use trawl_tests::World;
use trawl_tests::conformance::{Native, check};
use trawl_tests::vendors::{self, Vendor};

fn native<P: Provider>(vendor: &Vendor) -> Vec<String> {
    check(&Native::<P>::ADAPTER, vendor)
}

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
    let run: [fn(&Vendor) -> Vec<String>; 11] = [
        native::<provider_1::Zyte>,
        native::<provider_2::ScrapingBee>,
        native::<provider_3::ScraperApi>,
        native::<provider_4::Scrapfly>,
        native::<provider_5::ScrapeDo>,
        native::<provider_6::ZenRows>,
        native::<provider_7::BrightData>,
        native::<provider_8::Apify>,
        native::<provider_9::Browserless>,
        native::<provider_10::Oxylabs>,
        native::<provider_11::Decodo>,
    ];
    let vendors = vendors::all();
    assert_eq!(vendors.len(), run.len());
    let wrong = run
        .iter()
        .zip(&vendors)
        .flat_map(|(run, vendor)| run(vendor));
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
