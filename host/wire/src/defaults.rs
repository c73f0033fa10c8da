//! What a request is planned with: the loaded plugins, and the configuration that fills in what it
//! leaves open.

use trawl_model::{ModelSize, Terms};
use trawl_plan::router::RouterDefaults;
use trawl_plan::{Catalog, ConfiguredPool};

/// What a plan is made with.
#[derive(Clone, Copy)]
pub struct PlanContext<'a> {
    /// The loaded plugins.
    pub catalog: &'a dyn Catalog,
    /// Configuration and terms of the request.
    pub defaults: RequestDefaults<'a>,
}

/// Configuration and terms that apply to one request.
#[derive(Clone, Copy, Debug)]
pub struct RequestDefaults<'a> {
    /// The configured proxy pools.
    pub pools: &'a [ConfiguredPool],
    /// Router mode of a request without a `router` object, and the time of providers.
    pub router: RouterDefaults,
    /// The terms of the request.
    pub terms: Terms,
    /// The language model that pipelines may use.
    pub model: Option<KnownModel<'a>>,
}

/// What plans need to know of the configured language model.
#[derive(Clone, Copy, Debug)]
pub struct KnownModel<'a> {
    /// Its name.
    pub name: &'a str,
    /// The size of its context.
    pub size: ModelSize,
}

/// The operator's part of [`RequestDefaults`], owned: for requests that are planned again after a
/// restart.
#[derive(Clone, Debug, Default)]
pub struct ConfiguredDefaults {
    /// The configured proxy pools.
    pub pools: Vec<ConfiguredPool>,
    /// Router mode of a request without a `router` object, and the time of providers.
    pub router: RouterDefaults,
    /// The language model that pipelines may use.
    pub model: Option<ConfiguredModel>,
}

/// [`KnownModel`], owned.
#[derive(Clone, Debug)]
pub struct ConfiguredModel {
    /// Its name.
    pub name: String,
    /// The size of its context.
    pub size: ModelSize,
}

impl Default for RequestDefaults<'_> {
    fn default() -> Self {
        Self {
            pools: &[],
            router: RouterDefaults::default(),
            terms: Terms::PayAsYouGo,
            model: None,
        }
    }
}

impl ConfiguredDefaults {
    /// The defaults of a request on these terms.
    pub fn with_terms(&self, terms: Terms) -> RequestDefaults<'_> {
        RequestDefaults {
            pools: &self.pools,
            router: self.router,
            terms,
            model: self.model.as_ref().map(ConfiguredModel::known),
        }
    }
}

impl ConfiguredModel {
    fn known(&self) -> KnownModel<'_> {
        KnownModel {
            name: &self.name,
            size: self.size,
        }
    }
}

impl From<KnownModel<'_>> for ConfiguredModel {
    fn from(model: KnownModel<'_>) -> Self {
        Self {
            name: model.name.to_owned(),
            size: model.size,
        }
    }
}
