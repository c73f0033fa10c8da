//! What to make of a page: formats, filters, extractors.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::catalog::loaded;
use super::error::path_of_pointer;
use super::{Catalog, Format, FormatChoice, PlanError, PluginKind};

/// Default format of `content`.
pub const FORMAT_DEFAULT: &str = "raw";
/// Most formats of one page.
const FORMATS_MAX: usize = 16;
/// The first-party filter behind the `filter_*` and `*_selector` parameters.
pub const PRUNE: &str = "prune";
/// The filter behind `readability`.
pub const READABILITY: &str = "readability";
/// The extractor behind `return_page_links`.
pub const LINKS: &str = "links";
/// The extractor behind `metadata`.
pub const METADATA: &str = "metadata";
/// The extractor behind `return_json_data`.
pub const JSON_DATA: &str = "json_data";
/// The extractor behind `css_extraction_map`.
pub const SELECTORS: &str = "selectors";
/// The extractor behind `return_hidden_text`.
pub const HIDDEN_TEXT: &str = "hidden_text";

/// Chooses the formats of `content`, in the requested order and without duplicates.
///
/// `options` has an options object by format name; `clean_html` is the option `clean` of the format
/// `html`.
///
/// # Errors
/// A format is not loaded, its options are refused, or options name a format that was not
/// requested.
pub fn formats(
    names: &[String],
    mut options: Map<String, Value>,
    clean_html: bool,
    catalog: &dyn Catalog,
) -> Result<Vec<FormatChoice>, PlanError> {
    if names.len() > FORMATS_MAX {
        return Err(PlanError::new(
            "return_format",
            format!("more than {FORMATS_MAX} formats"),
        ));
    }
    let mut choices: Vec<FormatChoice> = Vec::with_capacity(names.len());
    for name in names {
        let mut choice = format(name, catalog)?;
        if choices.iter().any(|known| known.name == choice.name) {
            continue;
        }
        if let Format::Plugin(plugin) = &choice.format {
            let own = options
                .remove(&choice.name)
                .or_else(|| options.remove(plugin));
            choice.options = format_options(plugin, own, clean_html, catalog)?;
        }
        choices.push(choice);
    }
    match options.keys().next() {
        None => Ok(choices),
        Some(stray) => {
            let stray: String = stray.chars().take(64).collect();
            let reason = format!(
                "`{stray}` is not among the formats of `return_format`; options are keyed by format name"
            );
            Err(PlanError::new("format_options", reason))
        }
    }
}

/// The choice for a format's name, without options.
fn format(name: &str, catalog: &dyn Catalog) -> Result<FormatChoice, PlanError> {
    let name = match name.trim().to_lowercase() {
        name if name == "commonmark" => "markdown".to_owned(),
        name if name == "html2text" => "text".to_owned(),
        name => name,
    };
    let format = match name.as_str() {
        "empty" => Format::Empty,
        "screenshot" => Format::Screenshot,
        "raw" => Format::Plugin("html".to_owned()),
        _ => Format::Plugin(name.clone()),
    };
    if let Format::Plugin(plugin) = &format
        && !catalog.has(PluginKind::Format, plugin)
    {
        let shown: String = name.chars().take(64).collect();
        let reason = format!(
            "unknown format `{shown}`; {}, and always `raw`, `empty`, `screenshot`",
            loaded(catalog, PluginKind::Format)
        );
        return Err(PlanError::new("return_format", reason));
    }
    Ok(FormatChoice {
        name,
        format,
        options: Value::Object(Map::new()),
    })
}

fn format_options(
    plugin: &str,
    own: Option<Value>,
    clean_html: bool,
    catalog: &dyn Catalog,
) -> Result<Value, PlanError> {
    let mut options = own
        .filter(|value| !value.is_null())
        .unwrap_or_else(|| Value::Object(Map::new()));
    let is_callers = options != Value::Object(Map::new());
    if clean_html
        && plugin == "html"
        && let Some(map) = options.as_object_mut()
    {
        map.insert("clean".to_owned(), Value::Bool(true));
    }
    let field = if is_callers {
        "format_options"
    } else {
        "clean_html"
    };
    if is_callers || clean_html && plugin == "html" {
        catalog
            .check_options(PluginKind::Format, plugin, &options)
            .map_err(|reason| PlanError::new(field, format!("{plugin}: {reason}")))?;
    }
    Ok(options)
}

/// The built-in filter parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PruneOptions {
    /// `root_selector`.
    pub root_selector: Option<String>,
    /// `exclude_selector`.
    pub exclude_selector: Option<String>,
    /// `filter_images` or `filter_output_images`.
    pub images: bool,
    /// `filter_svg` or `filter_output_svg`.
    pub svg: bool,
    /// `filter_main_only` or `filter_output_main_only`.
    pub main_only: bool,
}

/// Chooses the filters that run before every output: the built-in one, then the caller's own by
/// name.
///
/// # Errors
/// A filter is not loaded, or its options are refused: a selector that does not parse is reported
/// under its own field.
pub fn filters(
    prune: PruneOptions,
    own: Map<String, Value>,
    catalog: &dyn Catalog,
) -> Result<Vec<(String, Value)>, PlanError> {
    let mut filters = Vec::new();
    if prune != PruneOptions::default() {
        filters.push((PRUNE.to_owned(), prune_options(prune, catalog)?));
    }
    filters.extend(named("filters", PluginKind::Filter, own, catalog)?);
    Ok(filters)
}

/// The options of the filter behind `readability`, as its plugin accepts them.
///
/// # Errors
/// The filter refuses them: a role has no such name.
pub fn main_content(
    options: Map<String, Value>,
    catalog: &dyn Catalog,
) -> Result<Value, PlanError> {
    const FIELD: &str = "readability";
    let has_options = !options.is_empty();
    let options = Value::Object(options);
    if has_options {
        catalog
            .check_options(PluginKind::Filter, READABILITY, &options)
            .map_err(|reason| {
                let below = reason.strip_prefix('`').and_then(|it| it.split_once("`: "));
                match below.filter(|(pointer, _)| pointer.starts_with('/')) {
                    Some((pointer, reason)) => {
                        PlanError::new(FIELD, reason).below(path_of_pointer(pointer))
                    }
                    None => PlanError::new(FIELD, reason),
                }
            })?;
    }
    Ok(options)
}

/// The options by which the extractor of named fields reads a selector map. Decision D18,
/// Decision D19.
///
/// # Errors
/// A selector does not parse, or the map has neither of its two shapes.
pub fn css_fields(map: Map<String, Value>, catalog: &dyn Catalog) -> Result<Value, PlanError> {
    const FIELD: &str = "css_extraction_map";
    let options = Value::Object(Map::from_iter([("map".to_owned(), Value::Object(map))]));
    catalog
        .check_options(PluginKind::Extractor, SELECTORS, &options)
        .map_err(|reason| {
            // A path is shown as one in the caller's own object, which the plugin has in `map`.
            let below = reason
                .strip_prefix("`/map/")
                .and_then(|below| below.split_once("`: "));
            match below {
                Some((below, reason)) => {
                    PlanError::new(FIELD, reason).below(path_of_pointer(&format!("/{below}")))
                }
                None => PlanError::new(FIELD, without_name("map", &reason)),
            }
        })?;
    Ok(options)
}

/// Most characters of an invalid selector that its error repeats.
const SELECTOR_CHARS_SHOWN: usize = 100;

fn prune_options(prune: PruneOptions, catalog: &dyn Catalog) -> Result<Value, PlanError> {
    let selectors = [
        ("root_selector", prune.root_selector),
        ("exclude_selector", prune.exclude_selector),
    ];
    let mut options = Map::new();
    for (field, selector) in selectors {
        let Some(selector) = selector else { continue };
        let alone = Value::Object(Map::from_iter([(
            field.to_owned(),
            Value::String(selector.clone()),
        )]));
        refuse_unloaded(field, PluginKind::Filter, PRUNE, catalog)?;
        catalog
            .check_options(PluginKind::Filter, PRUNE, &alone)
            .map_err(|reason| {
                let shown: String = selector.chars().take(SELECTOR_CHARS_SHOWN).collect();
                let reason = without_name(field, &reason);
                PlanError::new(field, format!("`{shown}` is not a selector: {reason}"))
            })?;
        if let Value::Object(alone) = alone {
            options.extend(alone);
        }
    }
    let switches = [
        ("images", "filter_images", prune.images),
        ("svg", "filter_svg", prune.svg),
        ("main_only", "filter_main_only", prune.main_only),
    ];
    for (option, field, is_on) in switches {
        if is_on {
            refuse_unloaded(field, PluginKind::Filter, PRUNE, catalog)?;
            options.insert(option.to_owned(), Value::Bool(true));
        }
    }
    Ok(Value::Object(options))
}

/// A plugin's refusal of an option, without the option's name if the error names it already.
fn without_name<'a>(option: &str, reason: &'a str) -> &'a str {
    let named = reason
        .strip_prefix('`')
        .and_then(|rest| rest.strip_prefix(option));
    named
        .and_then(|rest| rest.strip_prefix("`: "))
        .unwrap_or(reason)
}

/// Chooses the extractors requested by name.
///
/// # Errors
/// One is not loaded, or refuses its options.
pub fn extractors(
    own: Map<String, Value>,
    catalog: &dyn Catalog,
) -> Result<BTreeMap<String, Value>, PlanError> {
    Ok(named("extractors", PluginKind::Extractor, own, catalog)?
        .into_iter()
        .collect())
}

/// The options of decoders by name. A decoder that reads no page of the request does not use them.
///
/// # Errors
/// One is not loaded, or refuses its options.
pub fn decoders(
    own: Map<String, Value>,
    catalog: &dyn Catalog,
) -> Result<BTreeMap<String, Value>, PlanError> {
    Ok(named("decoder_options", PluginKind::Decoder, own, catalog)?
        .into_iter()
        .collect())
}

/// Plugins by name with their options; an option value of `null` or `true` means no options.
fn named(
    field: &'static str,
    kind: PluginKind,
    own: Map<String, Value>,
    catalog: &dyn Catalog,
) -> Result<Vec<(String, Value)>, PlanError> {
    let mut chosen = Vec::with_capacity(own.len());
    for (name, options) in own {
        let options = match options {
            Value::Bool(false) => continue,
            Value::Null | Value::Bool(true) => Value::Object(Map::new()),
            options => options,
        };
        refuse_unloaded(field, kind, &name, catalog)?;
        catalog
            .check_options(kind, &name, &options)
            .map_err(|reason| PlanError::new(field, format!("{name}: {reason}")))?;
        chosen.push((name, options));
    }
    Ok(chosen)
}

fn refuse_unloaded(
    field: &'static str,
    kind: PluginKind,
    name: &str,
    catalog: &dyn Catalog,
) -> Result<(), PlanError> {
    if catalog.has(kind, name) {
        return Ok(());
    }
    let shown: String = name.chars().take(64).collect();
    let reason = format!(
        "{} `{shown}` is not loaded; {}",
        kind.name(),
        loaded(catalog, kind)
    );
    Err(PlanError::new(field, reason))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::FakeCatalog;

    fn map(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap_or_default()
    }

    fn chosen(
        names: &[&str],
        options: Value,
        clean: bool,
    ) -> Result<Vec<(String, Format, Value)>, PlanError> {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let choices = formats(&names, map(options), clean, &FakeCatalog)?;
        Ok(choices
            .into_iter()
            .map(|c| (c.name, c.format, c.options))
            .collect())
    }

    fn plugin(name: &str) -> Format {
        Format::Plugin(name.to_owned())
    }

    #[test]
    fn names_have_aliases_and_retain_their_order() {
        let choices = chosen(
            &[
                "RAW",
                "commonmark",
                "markdown",
                "html2text",
                "bytes",
                "empty",
                "mine",
            ],
            json!({}),
            false,
        );
        let names: Vec<_> = choices
            .expect("all known")
            .into_iter()
            .map(|(name, format, _)| (name, format))
            .collect();
        assert_eq!(
            names,
            [
                ("raw".to_owned(), plugin("html")),
                ("markdown".to_owned(), plugin("markdown")),
                ("text".to_owned(), plugin("text")),
                ("bytes".to_owned(), plugin("bytes")),
                ("empty".to_owned(), Format::Empty),
                ("mine".to_owned(), plugin("mine")),
            ]
        );
    }

    #[test]
    fn an_unknown_format_is_reported_with_the_loaded_ones() {
        for name in ["pdf", "", "markdown2"] {
            let error = chosen(&[name], json!({}), false).expect_err(name);
            assert_eq!(error.field, "return_format");
            assert!(
                error
                    .reason
                    .contains("bytes, html, markdown, mine, text, xml"),
                "{error}"
            );
        }
        assert!(chosen(&["x"; 17], json!({}), false).is_err());
    }

    #[test]
    fn options_are_keyed_by_format_name() {
        let check = |names: &[&str], options: Value, clean, expected: Value| {
            let choices = chosen(names, options, clean).expect("accepted");
            assert_eq!(choices[0].2, expected, "{names:?}");
        };
        check(
            &["markdown"],
            json!({"markdown": {"a": 1}}),
            false,
            json!({"a": 1}),
        );
        check(
            &["raw"],
            json!({"html": {"a": 1}}),
            true,
            json!({"a": 1, "clean": true}),
        );
        check(&["raw"], json!({}), true, json!({"clean": true}));
        check(&["markdown"], json!({"markdown": null}), true, json!({}));
        for options in [
            json!({"text": {}}),
            json!({"markdown": {"refused": 1}}),
            json!({"markdown": 3}),
        ] {
            let error = chosen(&["markdown"], options, false).expect_err("refused");
            assert_eq!(error.field, "format_options");
        }
    }

    #[test]
    fn the_built_in_filter_gets_only_what_was_requested() {
        let prune = PruneOptions {
            root_selector: Some("main".to_owned()),
            images: true,
            ..PruneOptions::default()
        };
        let chosen = filters(prune, map(json!({"mine": {"a": 1}})), &FakeCatalog);
        assert_eq!(
            chosen,
            Ok(vec![
                (
                    "prune".to_owned(),
                    json!({"root_selector": "main", "images": true})
                ),
                ("mine".to_owned(), json!({"a": 1})),
            ])
        );
        assert_eq!(
            filters(PruneOptions::default(), Map::new(), &FakeCatalog),
            Ok(vec![])
        );
    }

    #[test]
    fn a_selector_that_does_not_parse_is_reported_under_its_field() {
        let root = PruneOptions {
            root_selector: Some("!".to_owned()),
            ..PruneOptions::default()
        };
        let exclude = PruneOptions {
            root_selector: Some("a".to_owned()),
            exclude_selector: Some("!".to_owned()),
            ..PruneOptions::default()
        };
        for (prune, field) in [(root, "root_selector"), (exclude, "exclude_selector")] {
            let error = filters(prune, Map::new(), &FakeCatalog).expect_err(field);
            assert_eq!(error.field, field);
            assert_eq!(error.reason, "`!` is not a selector: not a selector");
        }
    }

    #[test]
    fn a_choice_of_roles_is_checked_by_its_filter() {
        for options in [json!({}), json!({"include": ["byline"], "only": "body"})] {
            let chosen = main_content(map(options.clone()), &FakeCatalog);
            assert_eq!(chosen, Ok(options));
        }
        let error = main_content(map(json!({"refused": 1})), &FakeCatalog).expect_err("refused");
        assert_eq!(error.field, "readability");
    }

    #[test]
    fn plugins_by_name_must_be_loaded() {
        let chosen = extractors(
            map(json!({"mine": true, "links": false, "metadata": null})),
            &FakeCatalog,
        );
        assert_eq!(
            chosen,
            Ok(BTreeMap::from([
                ("metadata".to_owned(), json!({})),
                ("mine".to_owned(), json!({}))
            ]))
        );
        for bad in [
            json!({"nope": {}}),
            json!({"mine": {"refused": 1}}),
            json!({"mine": 3}),
        ] {
            assert_eq!(
                extractors(map(bad), &FakeCatalog).map_err(|error| error.field),
                Err("extractors")
            );
        }
    }
}
