//! Options of plugins in the schemas of request objects.

use serde_json::{Map, Value, json};

use trawl_plan::chunking;

/// Adds the options of the active plugins to the schemas of request objects, under the names that
/// requests use. `status` is the response of `GET /plugins`.
pub(super) fn add_plugins(document: &mut Value, status: &Value) {
    let plugins = status["plugins"].as_array().map_or(&[][..], Vec::as_slice);
    let schemas = &mut document["components"]["schemas"];
    let by_name = [
        ("format", "FormatOptions"),
        ("filter", "Filters"),
        ("extractor", "Extractors"),
        ("decoder", "DecoderOptions"),
    ];
    for (kind, object) in by_name {
        schemas[object]["properties"] = options_by_name(plugins, kind).into();
        schemas[object]["additionalProperties"] = json!(false);
    }
    for (object, analyst) in ANALYSED {
        let mut analysts = of_kind(plugins, "analyst");
        if let Some((_, plugin)) = analysts.find(|(name, _)| *name == analyst) {
            narrow(&mut schemas[object]["properties"], plugin);
        }
    }
    let chunkers = of_kind(plugins, "chunker").map(|(name, plugin)| chunker_form(name, plugin));
    if let Some(forms) = schemas["ChunkingForm"]["oneOf"].as_array_mut() {
        // `anyOf`: a plain name also matches the string form, an object also a form with a name.
        forms.extend(chunkers);
        let forms = std::mem::take(forms);
        schemas["ChunkingForm"] = json!({
            "description": schemas["ChunkingForm"]["description"],
            "anyOf": forms,
        });
    }
}

/// The requests with the options of an analyst among their parameters.
const ANALYSED: [(&str, &str); 4] = [
    ("ExtractContactsRequest", "contacts"),
    ("ExtractQaRequest", "qa"),
    ("LabelRequest", "label"),
    ("FilterLinksRequest", "filter_links"),
];

/// Describes the parameters that an analyst checks as it does.
fn narrow(properties: &mut Value, analyst: &Value) {
    let options = analyst["options_schema"]["properties"].as_object();
    for (name, option) in options.into_iter().flatten() {
        let Some(property) = properties.get_mut(name).filter(|_| name != "prompt") else {
            continue;
        };
        for (key, value) in option.as_object().into_iter().flatten() {
            if !matches!(key.as_str(), "default" | "description" | "type") {
                property[key] = value.clone();
            }
        }
    }
}

/// The plugins of a kind, with their names.
fn of_kind<'a>(plugins: &'a [Value], kind: &str) -> impl Iterator<Item = (&'a str, &'a Value)> {
    let plugins = plugins.iter().filter(move |plugin| plugin["kind"] == *kind);
    plugins.filter_map(|plugin| Some((plugin["name"].as_str()?, plugin)))
}

fn options_by_name(plugins: &[Value], kind: &str) -> Map<String, Value> {
    let described = |name: &str, plugin: &Value| {
        let options = options(name, plugin);
        // Filters and extractors are also switched on and off.
        match kind {
            "format" | "decoder" => options,
            _ => json!({
                "description": plugin["summary"],
                "anyOf": [options, {"type": ["boolean", "null"]}],
            }),
        }
    };
    let plugins = of_kind(plugins, kind);
    let each = plugins.map(|(name, plugin)| (name.to_owned(), described(name, plugin)));
    each.collect()
}

/// The options schema of a plugin, described by its summary if it has no description. A schema with
/// references gets an identifier, since they resolve within the schema, not the document.
fn options(name: &str, plugin: &Value) -> Value {
    let mut schema = plugin["options_schema"].clone();
    let has_references = schema.to_string().contains("\"$ref\"");
    if let Some(schema) = schema.as_object_mut() {
        schema
            .entry("description")
            .or_insert_with(|| plugin["summary"].clone());
        if has_references {
            let kind = plugin["kind"].as_str().unwrap_or_default();
            let id = format!("urn:trawl:{kind}:{name}");
            schema.entry("$id").or_insert_with(|| id.into());
        }
    }
    schema
}

/// The object form of `chunking_alg` for one chunker: its options and its name as `type`.
fn chunker_form(name: &str, plugin: &Value) -> Value {
    let mut schema = options(name, plugin);
    if !schema["properties"].is_object() {
        schema["properties"] = json!({});
    }
    schema["properties"]["type"] = json!({"const": name});
    if chunking::is_built_in(name) {
        schema["properties"][chunking::OVERLAP] = json!({
            "type": ["integer", "null"],
            "minimum": 0,
            "description": "How much each chunk but the first repeats of the one before, at most half of `value`",
        });
    }
    let mut required = vec![json!("type")];
    required.extend(schema["required"].as_array().into_iter().flatten().cloned());
    schema["required"] = required.into();
    schema
}
