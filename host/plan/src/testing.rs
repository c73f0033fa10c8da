//! Fixtures for the tests of this crate and of those that depend on it: plans and a catalogue of
//! plugins.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use url::Url;

use trawl_model::{Catalog, Nanodollars, PluginKind};

use super::{Engine, FetchPlan, Format, FormatChoice, OutputPlan, PagePlan, RouteDependent};

/// A page by plain HTTP, without any output.
pub fn page_plan(url: &str) -> PagePlan {
    PagePlan {
        requested: url.to_owned(),
        url: Url::parse(url).expect("a URL"),
        engine: Engine::Http,
        fetch: Arc::new(FetchPlan::bare(Duration::from_secs(10))),
        output: Arc::new(OutputPlan::of(FormatChoice {
            name: "empty".to_owned(),
            format: Format::Empty,
            options: Value::Null,
        })),
        ceiling: Nanodollars::MAX,
        router: Arc::default(),
        render: Arc::default(),
        route_dependent: RouteDependent::default(),
    }
}

/// A catalogue with the first-party names, and a plugin of each kind called `mine`.
///
/// Each of its providers takes one credential. Accepts every options object but one with the key
/// `refused`, and selectors that begin with `!`.
#[derive(Clone, Copy, Debug)]
pub struct FakeCatalog;

impl Catalog for FakeCatalog {
    fn has(&self, kind: PluginKind, name: &str) -> bool {
        self.names(kind).iter().any(|known| known == name)
    }

    fn names(&self, kind: PluginKind) -> Vec<String> {
        let names: &[&str] = match kind {
            PluginKind::Format => &["bytes", "html", "markdown", "mine", "text", "xml"],
            PluginKind::Filter => &["mine", "prune", "readability"],
            PluginKind::Extractor => &["json_data", "links", "metadata", "mine", "selectors"],
            PluginKind::Chunker => &[
                "characters",
                "lines",
                "mine",
                "sentences",
                "tokens",
                "words",
            ],
            PluginKind::Analyst => &["contacts", "mine"],
            PluginKind::Decoder => &["archive", "data", "feed", "table"],
            PluginKind::Provider => &["acme", "provider_1", "provider_2"],
            PluginKind::Search => &["searxng"],
        };
        names.iter().map(|&name| name.to_owned()).collect()
    }

    fn own_credentials(&self) -> Vec<(String, String)> {
        let taken = [
            ("acme", "ACME_TOKEN"),
            ("provider_1", "PROVIDER1_API_KEY"),
            ("provider_2", "PROVIDER2_API_KEY"),
        ];
        taken
            .map(|(provider, credential)| (provider.to_owned(), credential.to_owned()))
            .to_vec()
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
