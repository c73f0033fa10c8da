//! `chunking_alg`: which chunker splits the content.

use serde_json::{Map, Value, json};

use super::catalog::loaded;
use super::{Catalog, Chunking, Overlap, PlanError, PluginKind};

const FIELD: &str = "chunking_alg";
/// The option of the built-in chunkers that is not one of their plugins, whose chunks never
/// overlap.
pub const OVERLAP: &str = "overlap";

/// Names of the built-in chunkers: names in requests (any case), name in the registry, default
/// size.
///
/// Decision D31: the string forms have no size; these make chunks of about a paragraph, a page and
/// a screen, and of the tokens that models for embeddings take at once.
const BUILT_IN: [(&[&str], &str, u64); 5] = [
    (&["words", "bywords"], "words", 200),
    (&["sentences", "bysentence", "bysentences"], "sentences", 10),
    (&["lines", "bylines"], "lines", 40),
    (&["characters", "bycharacterlength"], "characters", 1_000),
    (&["tokens", "bytokens"], "tokens", 500),
];

/// Whether this is the name of a built-in chunker in the registry.
pub fn is_built_in(chunker: &str) -> bool {
    BUILT_IN.iter().any(|(_, name, _)| *name == chunker)
}

/// The requested chunking: a name and, in the object form, the rest of the object.
///
/// # Errors
/// The chunker is not loaded, its size is zero, its chunks overlap by more than half of it, or it
/// refuses its options.
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
    let mut overlap = None;
    let chunker = match built_in {
        Some(&(_, chunker, size)) => {
            options.entry("value").or_insert(json!(size));
            if options["value"].as_u64().is_none_or(|size| size == 0) {
                return Err(PlanError::new(
                    FIELD,
                    "`value` must be a whole number of at least 1",
                ));
            }
            overlap = take_overlap(&mut options)?;
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
    Ok(Some(Chunking {
        chunker,
        options,
        overlap,
    }))
}

/// Takes `overlap` from the options of a built-in chunker, and the size of a chunk without it into
/// them: with it, a chunk has `value`. Its other options are those of the overlap, too.
fn take_overlap(options: &mut Map<String, Value>) -> Result<Option<Overlap>, PlanError> {
    let Some(sent) = options.remove(OVERLAP) else {
        return Ok(None);
    };
    let size = options.get("value").and_then(Value::as_u64).unwrap_or(1);
    let overlap = sent.as_u64().filter(|overlap| *overlap <= size / 2);
    let Some(overlap) = overlap else {
        let reason = format!(
            "`overlap` must be a whole number from 0 to {}, half of `value`",
            size / 2
        );
        return Err(PlanError::new(FIELD, reason));
    };
    if overlap == 0 {
        return Ok(None);
    }
    options.insert("value".to_owned(), json!(size - overlap));
    // Small pieces come closer to the overlap, large ones end at better places.
    let piece = (overlap / 2).max(1);
    let mut of_pieces = options.clone();
    of_pieces.insert("value".to_owned(), json!(piece));
    Ok(Some(Overlap {
        options: of_pieces.into(),
        pieces: overlap / piece,
    }))
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
        check("tokens", json!({}), "tokens", 500);
        check("ByTokens", json!({"value": 8}), "tokens", 8);
        assert_eq!(chunking("none", json!({})), Ok(None));
        assert_eq!(
            chunking("mine", json!({"overlap": 3})),
            Ok(Some(("mine".to_owned(), json!({"overlap": 3}))))
        );
    }

    #[test]
    fn an_overlap_is_part_of_the_size() {
        let check = |overlap: u64, size: u64, pieces: Option<(u64, u64)>| {
            let options = json!({"value": 200, "overlap": overlap});
            let options = options.as_object().cloned().unwrap_or_default();
            let chosen = choose("ByWords", options, &FakeCatalog).expect("fits");
            let chosen = chosen.expect("a chunker");
            assert_eq!(chosen.options, json!({"value": size}), "{overlap}");
            let expected = pieces.map(|(value, pieces)| Overlap {
                options: json!({"value": value}),
                pieces,
            });
            assert_eq!(chosen.overlap, expected, "{overlap}");
        };
        check(0, 200, None);
        check(1, 199, Some((1, 1)));
        check(3, 197, Some((1, 3)));
        check(20, 180, Some((10, 2)));
        check(21, 179, Some((10, 2)));
        check(100, 100, Some((50, 2)));
        let options = json!({"value": 200, "overlap": 20, "encoding": "o200k_base"});
        let options = options.as_object().cloned().unwrap_or_default();
        let chosen = choose("ByTokens", options, &FakeCatalog).expect("fits");
        let overlap = chosen.and_then(|chosen| chosen.overlap);
        assert_eq!(
            overlap.map(|overlap| overlap.options),
            Some(json!({"value": 10, "encoding": "o200k_base"}))
        );
        for overlap in [json!(101), json!(-1), json!("20"), json!(0.5)] {
            let error = chunking("words", json!({"value": 200, "overlap": overlap}));
            let error = error.expect_err("a bad overlap");
            assert_eq!(error.field, "chunking_alg");
            assert!(error.reason.ends_with("from 0 to 100, half of `value`"));
        }
        assert!(chunking("words", json!({"overlap": null})).is_ok());
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
