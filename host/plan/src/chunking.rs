//! `chunking_alg`: which chunker splits the content.

use serde_json::{Map, Value, json};

use super::catalog::loaded;
use super::{Catalog, Chunking, PlanError, PluginKind};

const FIELD: &str = "chunking_alg";

/// Names of the built-in chunkers: names in requests (any case), name in the registry, default
/// size.
///
/// Decision D31: the string forms have no size; these make chunks of about a paragraph, a page and
/// a screen.
const BUILT_IN: [(&[&str], &str, u64); 4] = [
    (&["words", "bywords"], "words", 200),
    (&["sentences", "bysentence", "bysentences"], "sentences", 10),
    (&["lines", "bylines"], "lines", 40),
    (&["characters", "bycharacterlength"], "characters", 1_000),
];

/// The requested chunking: a name and, in the object form, the rest of the object.
///
/// # Errors
/// The chunker is not loaded, its size is zero, or it refuses its options.
pub fn choose(
    name: &str,
    mut options: Map<String, Value>,
    catalog: &dyn Catalog,
) -> Result<Option<Chunking>, PlanError> {
    let name = name.trim().to_lowercase();
    if name == "none" {
        return Ok(None);
    }
    options.retain(|_, value| !value.is_null());
    let built_in = BUILT_IN
        .iter()
        .find(|(names, ..)| names.contains(&name.as_str()));
    let chunker = match built_in {
        Some(&(_, chunker, size)) => {
            options.entry("value").or_insert(json!(size));
            if options["value"].as_u64().is_none_or(|size| size == 0) {
                return Err(PlanError::new(
                    FIELD,
                    "`value` must be a whole number of at least 1",
                ));
            }
            chunker.to_owned()
        }
        None => name,
    };
    if !catalog.has(PluginKind::Chunker, &chunker) {
        let reason = format!(
            "unknown chunker `{chunker}`; {}, or `none`",
            loaded(catalog, PluginKind::Chunker)
        );
        return Err(PlanError::new(FIELD, reason));
    }
    let options = Value::Object(options);
    catalog
        .check_options(PluginKind::Chunker, &chunker, &options)
        .map_err(|reason| PlanError::new(FIELD, reason))?;
    Ok(Some(Chunking { chunker, options }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::FakeCatalog;

    fn chunking(name: &str, options: Value) -> Result<Option<(String, Value)>, PlanError> {
        let options = options.as_object().cloned().unwrap_or_default();
        choose(name, options, &FakeCatalog).map(|chosen| chosen.map(|c| (c.chunker, c.options)))
    }

    #[test]
    fn both_forms_name_a_chunker_and_its_size() {
        let check = |name: &str, options: Value, chunker: &str, size: u64| {
            let expected = Ok(Some((chunker.to_owned(), json!({"value": size}))));
            assert_eq!(chunking(name, options), expected, "{name}");
        };
        check("words", json!({}), "words", 200);
        check("Sentences", json!({}), "sentences", 10);
        check("lines", json!({}), "lines", 40);
        check("ByWords", json!({"value": 7}), "words", 7);
        check("BySentence", json!({"value": 2}), "sentences", 2);
        check("ByLines", json!({"value": null}), "lines", 40);
        check("ByCharacterLength", json!({"value": 9}), "characters", 9);
        assert_eq!(chunking("none", json!({})), Ok(None));
        assert_eq!(
            chunking("mine", json!({"overlap": 3})),
            Ok(Some(("mine".to_owned(), json!({"overlap": 3}))))
        );
    }

    #[test]
    fn an_unknown_chunker_or_a_bad_size_is_refused() {
        for (name, options) in [
            ("paragraphs", json!({})),
            ("", json!({})),
            ("words", json!({"value": 0})),
            ("words", json!({"value": -1})),
            ("words", json!({"value": "3"})),
            ("mine", json!({"refused": 1})),
        ] {
            let error = chunking(name, options).expect_err(name);
            assert_eq!(error.field, "chunking_alg");
        }
        let error = chunking("paragraphs", json!({})).expect_err("unknown");
        assert!(
            error.reason.contains("loaded: characters, lines, mine"),
            "{error}"
        );
    }
}
