//! Which analyst looks at the pages of a pipeline.

use serde::Serialize;
use serde_json::{Map, Value};

use trawl_model::ModelSize;

use super::catalog::loaded;
use super::{Catalog, PlanError, PluginKind};

/// An analyst for every page of a run, and for joining what it found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AnalystChoice {
    /// Name under which it is loaded.
    pub name: String,
    /// Its options object; the caller's words are its `prompt`.
    pub options: Value,
    /// The model that it may ask; `None` if it needs none.
    pub model: Option<ModelSize>,
}

impl AnalystChoice {
    /// Chooses an analyst. `field` is the parameter that a refusal names.
    ///
    /// # Errors
    /// It is not loaded, or refuses its options.
    pub fn new(
        field: &'static str,
        name: &str,
        options: Map<String, Value>,
        model: Option<ModelSize>,
        catalog: &dyn Catalog,
    ) -> Result<Self, PlanError> {
        const KIND: PluginKind = PluginKind::Analyst;
        if !catalog.has(KIND, name) {
            let reason = format!(
                "the analyst `{name}` is not loaded; {}",
                loaded(catalog, KIND)
            );
            return Err(PlanError::new(field, reason));
        }
        let options = Value::Object(options);
        catalog
            .check_options(KIND, name, &options)
            .map_err(|reason| PlanError::new(field, reason))?;
        Ok(Self {
            name: name.to_owned(),
            options,
            model,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::FakeCatalog;

    fn chosen(name: &str, options: Value) -> Result<AnalystChoice, PlanError> {
        let options = options.as_object().cloned().unwrap_or_default();
        AnalystChoice::new("prompt", name, options, None, &FakeCatalog)
    }

    #[test]
    fn an_analyst_is_chosen_with_its_options() {
        let choice = chosen("contacts", json!({"prompt": "who?"})).expect("it is loaded");
        assert_eq!(choice.name, "contacts");
        assert_eq!(choice.options, json!({"prompt": "who?"}));
    }

    #[test]
    fn what_is_not_loaded_or_refused_names_the_parameter() {
        let missing = chosen("nobody", json!({})).expect_err("it is not loaded");
        assert_eq!(missing.field, "prompt");
        assert!(
            missing.reason.contains("loaded: contacts, mine"),
            "{missing}"
        );
        let refused = chosen("mine", json!({"refused": 1})).expect_err("it is refused");
        assert_eq!(
            (refused.field, refused.reason.as_str()),
            ("prompt", "`refused` is not known")
        );
    }
}
