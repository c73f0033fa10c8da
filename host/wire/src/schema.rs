//! The tables of parameters as JSON Schemas, for the OpenAPI document.

use serde_json::{Map, Value, json};

use trawl_plan::parameters::{self, Object, Parameter, Range, Routes, STEPS, Shape, StepKind};

use super::values::ITEMS_MAX;

/// Where the schemas are in the document.
const COMPONENTS: &str = "#/components/schemas/";
/// The schema of an automation step.
const STEP: &str = "Step";
/// The schema of `chunking_alg`, to which the document adds the loaded chunkers.
const CHUNKING: &str = "ChunkingForm";

/// The schemas of request objects and of all that is nested in them, by name.
pub fn request_schemas() -> Map<String, Value> {
    let is_of_pipelines =
        |row: &Parameter| Routes::ANALYSED.and(Routes::CRAWL_TEXT).has_all(row.routes);
    let is_of_transform = |row: &Parameter| Routes::TRANSFORM.has_all(row.routes);
    let mut schemas = Map::new();
    let mut scrape = request(|row| !is_of_pipelines(row) && !is_of_transform(row));
    scrape["example"] =
        json!({"url": "https://example.com", "return_format": "markdown", "metadata": true});
    let mut transform = request(|row| !row.routes.is_apart_from(Routes::TRANSFORM));
    transform["example"] = json!({
        "data": [{"html": "<h1>Hello</h1>", "url": "https://example.com"}], "return_format": "markdown",
    });
    schemas.insert("ScrapeRequest".to_owned(), scrape);
    schemas.insert("TransformRequest".to_owned(), transform);
    schemas.insert("PipelineRequest".to_owned(), request(is_of_pipelines));
    schemas.insert(
        "PipelineObject".to_owned(),
        json!({"allOf": [reference("ScrapeRequest"), reference("PipelineRequest")]}),
    );
    schemas.insert(
        CHUNKING.to_owned(),
        json!({
            "description": "The name of a chunker, or an object with it as `type` and the chunker's options.",
            "oneOf": [{"type": "string"}, {"type": "object"}],
        }),
    );
    for row in parameters::all() {
        add_nested(&row.shape, &mut schemas);
    }
    schemas
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("{COMPONENTS}{name}") })
}

/// The object of these parameters.
fn request(is_one: impl Fn(&Parameter) -> bool) -> Value {
    let mut properties = Map::new();
    for row in parameters::all().filter(|row| is_one(row)) {
        add_property(row, true, &mut properties);
    }
    json!({"type": "object", "properties": properties})
}

fn object(object: &Object) -> Value {
    let mut properties = Map::new();
    for row in object.rows {
        add_property(row, false, &mut properties);
    }
    let required: Vec<_> = object.rows.iter().filter(|row| is_required(row)).collect();
    let mut schema = json!({"type": "object", "properties": properties});
    if !required.is_empty() {
        schema["required"] = required.iter().map(|row| row.name).collect();
    }
    schema
}

/// Whether the key of a nested object must be there. One with two names may be under either.
fn is_required(row: &Parameter) -> bool {
    row.default == "required" && row.aliases.is_empty()
}

fn add_property(row: &Parameter, is_parameter: bool, properties: &mut Map<String, Value>) {
    let plain = match row.name {
        "chunking_alg" => reference(CHUNKING),
        _ => shape(&row.shape),
    };
    let mut schema = if is_required(row) && !is_parameter {
        plain
    } else {
        nullable(plain)
    };
    let described = schema.get("description").and_then(Value::as_str);
    let mut text = row.doc.to_owned();
    if let Some(what) = described {
        text = format!("{text} Value: {what}.");
    }
    if !matches!(row.default, "not set" | "required" | "none") {
        text = format!("{text} Default: {}.", row.default);
    }
    let needs = row.needs.to_string();
    match (is_parameter, needs.is_empty()) {
        (true, true) => text = format!("{text} Used by {}.", row.routes),
        (true, false) => text = format!("{text} Used by {}, {needs}.", row.routes),
        (false, true) => {}
        (false, false) => text = format!("{text} It has an effect {needs}."),
    }
    schema["description"] = text.into();
    if let Ok(default @ (Value::Bool(_) | Value::Number(_))) = serde_json::from_str(row.default) {
        schema["default"] = default;
    }
    if let Ok(example) = serde_json::from_str::<Value>(row.example) {
        schema["examples"] = json!([example]);
    }
    if row.name == "url" && is_parameter {
        schema["minLength"] = 1.into();
    }
    for alias in row.aliases {
        let mut same = schema.clone();
        same["description"] = format!("The same as `{}`, which wins.", row.name).into();
        properties.insert((*alias).to_owned(), same);
    }
    properties.insert(row.name.to_owned(), schema);
}

/// The same or null.
fn nullable(mut schema: Value) -> Value {
    if let Some(forms) = schema.get_mut("oneOf").and_then(Value::as_array_mut) {
        forms.insert(0, json!({"type": "null"}));
        return schema;
    }
    match schema.get_mut("type") {
        Some(Value::Array(types)) => {
            if !types.contains(&json!("null")) {
                types.push("null".into());
            }
            schema
        }
        Some(one) => {
            *one = json!([one.take(), "null"]);
            schema
        }
        None => json!({"oneOf": [{"type": "null"}, schema]}),
    }
}

fn shape(of: &Shape) -> Value {
    match of {
        Shape::Switch => json!({"type": "boolean"}),
        Shape::Count(range) => count(*range),
        Shape::Number(range) => json!({"type": "number", "description": range}),
        Shape::Text(what) => json!({"type": "string", "description": what}),
        Shape::Name(choices) => {
            let names = choices
                .iter()
                .flat_map(|choice| std::iter::once(&choice.name).chain(choice.aliases));
            let names: Vec<_> = names.map(|name| format!("`{name}`")).collect();
            let text = format!("one of {}, in upper or lower case", names.join(", "));
            json!({"type": "string", "description": text})
        }
        Shape::Scalar => json!({"type": ["string", "number", "boolean", "null"]}),
        Shape::List(item) => {
            json!({"type": "array", "items": shape(item), "maxItems": ITEMS_MAX})
        }
        Shape::Bytes => {
            let byte = json!({"type": "integer", "minimum": 0, "maximum": 255});
            json!({"type": "array", "items": byte})
        }
        Shape::Object(object) => reference(object.name),
        Shape::Map(keys, value) => json!({
            "type": "object",
            "additionalProperties": nullable(shape(value)),
            "description": format!("an object from {keys} to values"),
        }),
        Shape::Either(shapes) => json!({"oneOf": shapes.iter().map(shape).collect::<Vec<_>>()}),
        Shape::Steps => json!({"type": "array", "items": reference(STEP)}),
        Shape::Options(what) => json!({"type": "object", "description": what}),
        Shape::Any(what, [one]) => json!({"type": one, "description": what}),
        Shape::Any(what, types) => {
            let forms = types.iter().map(|one| json!({"type": one}));
            json!({"oneOf": forms.collect::<Vec<_>>(), "description": what})
        }
    }
}

fn count(range: Range) -> Value {
    let mut schema = json!({"type": "integer", "format": "int64", "description": range.unit});
    schema["minimum"] = if range.is_refused { range.least } else { 0 }.into();
    if range.is_refused && range.most < u64::MAX {
        schema["maximum"] = range.most.into();
    }
    schema
}

/// Adds the schemas of the objects in a shape.
fn add_nested(of: &Shape, schemas: &mut Map<String, Value>) {
    match of {
        Shape::Object(nested) if schemas.contains_key(nested.name) => {}
        Shape::Object(nested) => {
            schemas.insert(nested.name.to_owned(), object(nested));
            for row in nested.rows {
                add_nested(&row.shape, schemas);
            }
        }
        Shape::List(item) | Shape::Map(_, item) => add_nested(item, schemas),
        Shape::Either(shapes) => shapes.iter().for_each(|shape| add_nested(shape, schemas)),
        Shape::Steps if schemas.contains_key(STEP) => {}
        Shape::Steps => {
            let forms: Vec<_> = STEPS.iter().flat_map(step).collect();
            let step = json!({"description": "A step in one of its forms.", "anyOf": forms});
            schemas.insert(STEP.to_owned(), step);
            for row in STEPS.iter().flat_map(|kind| kind.rows) {
                add_nested(&row.shape, schemas);
            }
        }
        _ => {}
    }
}

/// The forms of a step: `{"Click": "#a"}` and `{"type": "Click", "selector": "#a"}`.
fn step(kind: &StepKind) -> Vec<Value> {
    let mut keys = Map::new();
    for row in kind.rows {
        add_property(row, false, &mut keys);
    }
    let mut values = vec![json!({"type": "object", "properties": keys})];
    match kind.name {
        "WaitForNavigation" => values.push(json!({"type": "boolean"})),
        _ => values.extend(kind.rows.first().map(|row| shape(&row.shape))),
    }
    let short = json!({
        "type": "object",
        "description": kind.doc,
        "properties": {(kind.name): {"anyOf": values}},
        "required": [kind.name],
    });
    keys.insert("type".to_owned(), json!({"const": kind.name}));
    let long = json!({
        "type": "object",
        "description": kind.doc,
        "properties": keys,
        "required": ["type"],
    });
    let mut forms = vec![short, long];
    if kind.name == "WaitForNavigation" {
        forms.push(json!({"const": kind.name, "description": kind.doc}));
    }
    forms
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All references in a value.
    fn references(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(map) => {
                if let Some(Value::String(name)) = map.get("$ref") {
                    found.push(name.clone());
                }
                map.values().for_each(|value| references(value, found));
            }
            Value::Array(items) => items.iter().for_each(|item| references(item, found)),
            _ => {}
        }
    }

    #[test]
    fn every_parameter_is_described_and_every_reference_leads_somewhere() {
        let schemas = request_schemas();
        let mut found = Vec::new();
        references(&Value::Object(schemas.clone()), &mut found);
        for name in &found {
            let name = name.strip_prefix(COMPONENTS).expect("a component");
            assert!(schemas.contains_key(name), "{name}");
        }
        for (name, schema) in &schemas {
            let is_used = found
                .iter()
                .any(|other| other.ends_with(&format!("/{name}")));
            assert!(
                is_used || name.ends_with("Request") || name == "PipelineObject",
                "{name}"
            );
            for (key, property) in schema["properties"].as_object().into_iter().flatten() {
                let text = property["description"].as_str().unwrap_or_default();
                assert!(text.ends_with('.'), "{name}.{key}: {text}");
            }
        }
        for row in parameters::all() {
            let owners = ["ScrapeRequest", "TransformRequest", "PipelineRequest"];
            let mut owners = owners.iter().map(|owner| &schemas[*owner]["properties"]);
            assert!(
                owners.any(|properties| properties[row.name].is_object()),
                "{}",
                row.name
            );
        }
        let limit = &schemas["ScrapeRequest"]["properties"]["concurrency_limit"];
        assert_eq!(limit["type"], json!(["integer", "null"]));
        assert_eq!(
            (&limit["minimum"], &limit["maximum"]),
            (&json!(1), &json!(10))
        );
        // A value beyond is set to the bound.
        let depth = &schemas["ScrapeRequest"]["properties"]["depth"];
        assert_eq!(
            (depth.get("maximum"), &depth["default"]),
            (None, &Value::Null)
        );
    }

    #[test]
    fn the_words_are_for_callers() {
        let text = Value::Object(request_schemas()).to_string();
        for word in ["Decision", "Spec S", "host/", "serde", "Option<"] {
            assert!(!text.contains(word), "{word}");
        }
    }
}
