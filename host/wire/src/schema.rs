//! The tables of parameters as JSON Schemas, for the OpenAPI document.

use serde_json::{Map, Value, json};

use trawl_parameters::{
    self as parameters, HEADER_VALUE_PATTERN, ITEMS_MAX, Object, Parameter, Range, Route, STEPS,
    Shape, StepKind, TextRule, text_rule,
};
use trawl_plan::Pipeline;

/// Where the schemas are in the document.
const COMPONENTS: &str = "#/components/schemas/";
/// The schema of an automation step.
const STEP: &str = "Step";
/// The parameter that the path of `/fetch` has.
const URL: &str = "url";

/// A request object: the name of its schema, the route whose parameters it has, and an example.
struct Request {
    name: &'static str,
    route: Route,
    /// Whether the URL is left out, since the path has it or a search finds it.
    has_no_url: bool,
    example: &'static str,
}

const fn request(name: &'static str, route: Route, example: &'static str) -> Request {
    Request {
        name,
        route,
        has_no_url: false,
        example,
    }
}

/// All request objects.
const REQUESTS: [Request; 15] = [
    request(
        "ScrapeRequest",
        Route::Scrape,
        r#"{"url": "https://example.com", "return_format": "markdown", "metadata": true}"#,
    ),
    Request {
        has_no_url: true,
        ..request(
            "FetchRequest",
            Route::Scrape,
            r#"{"return_format": "markdown"}"#,
        )
    },
    request(
        "UnblockerRequest",
        Route::Unblocker,
        r#"{"url": "https://example.com", "return_format": "text"}"#,
    ),
    request(
        "ScreenshotRequest",
        Route::Screenshot,
        r#"{"url": "https://example.com", "full_page": false}"#,
    ),
    request(
        "CrawlRequest",
        Route::Crawl,
        r#"{"url": "https://example.com", "limit": 10, "return_format": "markdown"}"#,
    ),
    request(
        "LinksRequest",
        Route::Links,
        r#"{"url": "https://example.com", "limit": 1}"#,
    ),
    request(
        "BatchRequest",
        Route::Batch,
        r#"{"urls": ["https://example.com", {"url": "https://example.org", "return_format": "text"}], "return_format": "markdown"}"#,
    ),
    request(
        "MapRequest",
        Route::Map,
        r#"{"url": "https://example.com", "query": "install", "limit": 100}"#,
    ),
    Request {
        has_no_url: true,
        ..request(
            "SearchRequest",
            Route::Search,
            r#"{"search": "tide tables", "search_limit": 5}"#,
        )
    },
    request(
        "TransformRequest",
        Route::Transform,
        r#"{"data": [{"html": "<h1>Hello</h1>", "url": "https://example.com"}], "return_format": "markdown"}"#,
    ),
    request(
        "ExtractContactsRequest",
        Route::Pipeline(Pipeline::ExtractContacts),
        r#"{"url": "https://example.com", "limit": 10, "country": "DE"}"#,
    ),
    request(
        "ExtractQaRequest",
        Route::Pipeline(Pipeline::ExtractQa),
        r#"{"url": "https://example.com", "limit": 10, "prompt": "opening hours"}"#,
    ),
    request(
        "LabelRequest",
        Route::Pipeline(Pipeline::Label),
        r#"{"url": "https://example.com", "limit": 10, "labels": ["news", "shop"]}"#,
    ),
    request(
        "FilterLinksRequest",
        Route::Pipeline(Pipeline::FilterLinks),
        r#"{"url": "https://example.com", "limit": 10, "prompt": "prices"}"#,
    ),
    request(
        "CrawlTextRequest",
        Route::Pipeline(Pipeline::CrawlText),
        r#"{"text": "See https://example.com.", "return_format": "markdown"}"#,
    ),
];

/// The schemas of request objects and of all that is nested in them, by name.
pub fn request_schemas() -> Map<String, Value> {
    let mut schemas = Map::new();
    for request in &REQUESTS {
        let is_left_out = |row: &Parameter| request.has_no_url && row.name == URL;
        let rows = parameters::all().filter(|row| row.routes.has(request.route));
        let mut schema = properties(rows.filter(|row| !is_left_out(row)));
        schema["example"] = serde_json::from_str(request.example).unwrap_or_default();
        schemas.insert(request.name.to_owned(), schema);
    }
    // A crawl that waits for its secrets takes these and nothing else.
    let mut resumption = properties(parameters::all().filter(|row| row.is_secret));
    resumption["example"] = json!({"headers": {"authorization": "Basic dXNlcjpwYXNzd29yZA=="}});
    schemas.insert("ResumeRequest".to_owned(), resumption);
    for row in parameters::all() {
        add_own(row, &mut schemas);
    }
    schemas
}

/// The headers of `/fetch` that have parameters, as OpenAPI parameters by the name of the header.
pub fn header_parameters() -> Map<String, Value> {
    let headers = parameters::with_headers().map(|row| {
        let name = row.header();
        let mut schema = match own_schema(row) {
            Some((_, schema)) if schema["enum"].is_array() => schema,
            _ => header_shape(&row.shape),
        };
        if let Some(example) = header_example(row) {
            schema["examples"] = json!([example]);
        }
        let parameter = json!({
            "name": name,
            "in": "header",
            "description": format!("`{}` of `/scrape`: {}", row.name, row.doc),
            "required": false,
            "schema": schema,
        });
        (name, parameter)
    });
    headers.collect()
}

/// What the text of a header looks like: plain where the parameter has a plain form, else JSON.
fn header_shape(of: &Shape) -> Value {
    match of {
        Shape::Switch | Shape::Count(_) | Shape::Number(_) => shape(of),
        Shape::Text(what) => text(what),
        Shape::Name(_) => shape(of),
        Shape::Either(shapes) => {
            let forms: Vec<_> = shapes.iter().map(in_words).collect();
            json!({"type": "string", "description": forms.join(", or ")})
        }
        other => json!({"type": "string", "description": in_words(other)}),
    }
}

fn in_words(of: &Shape) -> String {
    match of {
        Shape::Text(what) => (*what).to_owned(),
        Shape::List(Shape::Text(what)) => format!("several with commas: {what}"),
        Shape::List(_) | Shape::Bytes | Shape::Steps => format!("JSON, {}", of.phrase()),
        Shape::Object(_) | Shape::Map(..) | Shape::Options(_) | Shape::Any(..) => {
            format!("JSON, {}", of.phrase())
        }
        _ => of.phrase(),
    }
}

/// The example of a parameter as the text of its header.
fn header_example(row: &Parameter) -> Option<Value> {
    let example: Value = serde_json::from_str(row.example).ok()?;
    Some(match example {
        Value::Array(_) | Value::Object(_) => row.example.into(),
        // The header is a text where the parameter may be an object, too.
        Value::Number(number) if matches!(row.shape, Shape::Either(_)) => number.to_string().into(),
        Value::Bool(is_on) if matches!(row.shape, Shape::Either(_)) => is_on.to_string().into(),
        plain => plain,
    })
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("{COMPONENTS}{name}") })
}

/// The object of these parameters.
fn properties<'a>(rows: impl Iterator<Item = &'a Parameter>) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for row in rows {
        add_property(row, &mut properties);
        required.extend(is_required(row).then_some(row.name));
    }
    let mut schema = json!({"type": "object", "properties": properties});
    if !required.is_empty() {
        schema["required"] = required.into();
    }
    schema
}

fn object(object: &Object) -> Value {
    properties(object.rows.iter())
}

/// The name and the schema of a value that has one of its own: generated clients name a type after
/// it. It is that of the row, or an object whose keys the caller or a plugin chooses.
fn own_schema(row: &Parameter) -> Option<(String, Value)> {
    let (name, schema) = match (row.schema, &row.shape) {
        (Some(own), Shape::Name(choices)) => {
            let names = choices
                .iter()
                .flat_map(|choice| std::iter::once(&choice.name).chain(choice.aliases));
            let names: Vec<_> = names.collect();
            let schema = json!({"type": "string", "enum": names, "description": own.doc});
            (own.name.to_owned(), schema)
        }
        // The document adds the forms that loaded plugins have.
        (Some(own), Shape::Either(shapes)) => {
            let types = shapes
                .iter()
                .map(|form| json!({"type": shape(form)["type"]}));
            let types: Vec<_> = types.collect();
            let schema = json!({"description": own.doc, "oneOf": types});
            (own.name.to_owned(), schema)
        }
        (Some(own), of) => (own.name.to_owned(), described(shape(of), own.doc)),
        (None, Shape::Map(..) | Shape::Options(_)) => {
            let mut schema = shape(&row.shape);
            if row.name == "headers" {
                schema["propertyNames"] = json!({"pattern": format!("^{TOKEN}+$")});
                schema["additionalProperties"]["pattern"] = HEADER_VALUE_PATTERN.into();
            }
            (in_camel_case(row.name), schema)
        }
        (None, _) => return None,
    };
    Some((name, schema))
}

/// `format_options` as `FormatOptions`.
fn in_camel_case(name: &str) -> String {
    let words = name.split('_').filter_map(|word| word.split_at_checked(1));
    let words = words.map(|(first, rest)| first.to_ascii_uppercase() + rest);
    words.collect()
}

/// Whether a parameter must be there. Its other names are not described, since a schema that allows
/// either says too much for generated clients.
fn is_required(row: &Parameter) -> bool {
    row.default == "required"
}

fn add_property(row: &Parameter, properties: &mut Map<String, Value>) {
    let plain = match own_schema(row) {
        Some((name, _)) => reference(&name),
        None => shape(&row.shape),
    };
    let mut schema = if is_required(row) {
        plain
    } else {
        nullable(plain)
    };
    if is_required(row) && matches!(row.shape, Shape::List(_)) {
        schema["minItems"] = 1.into();
    }
    let described = schema.get("description").and_then(Value::as_str);
    let mut text = row.doc.to_owned();
    if let Some(what) = described {
        text = format!("{text} Value: {what}.");
    }
    // Not as `default`: generated clients would send it, and TypeScript would require it.
    if !matches!(row.default, "not set" | "required" | "none") {
        text = format!("{text} Default: {}.", row.default);
    }
    let needs = row.condition();
    if !needs.is_empty() {
        text = format!("{text} It has an effect {needs}.");
    }
    schema["description"] = text.into();
    if let Ok(example) = serde_json::from_str::<Value>(row.example) {
        schema["examples"] = json!([example]);
    }
    for alias in row.aliases.iter().filter(|_| !is_required(row)) {
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
        Shape::Number(range) => {
            let mut schema = json!({"type": "number", "description": range});
            let bounds = range.split_once(" to ");
            let bounds = bounds.map(|(least, most)| (least.parse::<f64>(), most.parse::<f64>()));
            if let Some((Ok(least), Ok(most))) = bounds {
                (schema["minimum"], schema["maximum"]) = (least.into(), most.into());
            }
            schema
        }
        Shape::Text(what) => text(what),
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
            "description": format!("an object whose keys are {keys}"),
        }),
        Shape::Either(shapes) => json!({"oneOf": shapes.iter().map(shape).collect::<Vec<_>>()}),
        Shape::Steps => json!({"type": "array", "items": reference(STEP)}),
        Shape::Options(what) => json!({"type": "object", "description": what}),
        Shape::Any(what, [one]) => described(of_type(one), what),
        Shape::Any(what, types) => {
            let forms = types.iter().map(|one| of_type(one));
            described(json!({"oneOf": forms.collect::<Vec<_>>()}), what)
        }
    }
}

/// A character of a header's name. RFC 9110 section 5.6.2.
const TOKEN: &str = "[!#$%&'*+.^_`|~0-9A-Za-z-]";

/// A text with the part of its rules that a schema can express.
fn text(what: &str) -> Value {
    let schema = match text_rule(what) {
        Some(TextRule::Pattern(pattern)) => json!({ "pattern": pattern }),
        Some(TextRule::Format(format)) => json!({ "format": format }),
        None => json!({}),
    };
    let mut schema = described(schema, what);
    schema["type"] = "string".into();
    schema
}

/// A value that a plugin checks.
fn of_type(name: &str) -> Value {
    match name {
        // Generators of clients want to know of what a list is.
        "array" => json!({"type": name, "items": {}}),
        name => json!({ "type": name }),
    }
}

fn described(mut schema: Value, text: &str) -> Value {
    schema["description"] = text.into();
    schema
}

fn count(range: Range) -> Value {
    let mut schema = json!({"type": "integer", "format": "int64", "description": range.unit});
    schema["minimum"] = if range.is_refused { range.least } else { 0 }.into();
    if range.is_refused && range.most < u64::MAX {
        schema["maximum"] = range.most.into();
    }
    schema
}

/// Adds the schemas that the value of a parameter has, its own and those of the objects in it.
fn add_own(row: &Parameter, schemas: &mut Map<String, Value>) {
    schemas.extend(own_schema(row));
    add_nested(&row.shape, schemas);
}

/// Adds the schemas of the objects in a shape.
fn add_nested(of: &Shape, schemas: &mut Map<String, Value>) {
    match of {
        Shape::Object(nested) if schemas.contains_key(nested.name) => {}
        Shape::Object(nested) => {
            schemas.insert(nested.name.to_owned(), object(nested));
            for row in nested.rows {
                add_own(row, schemas);
            }
        }
        Shape::List(item) | Shape::Map(_, item) => add_nested(item, schemas),
        Shape::Either(shapes) => shapes.iter().for_each(|shape| add_nested(shape, schemas)),
        Shape::Steps if schemas.contains_key(STEP) => {}
        Shape::Steps => {
            let mut forms = Vec::new();
            for kind in STEPS {
                let (named, of_kind) = step(kind);
                schemas.extend(named);
                forms.extend(of_kind);
            }
            let step = json!({"description": "A step in one of its forms.", "anyOf": forms});
            schemas.insert(STEP.to_owned(), step);
            for row in STEPS.iter().flat_map(|kind| kind.rows) {
                add_own(row, schemas);
            }
        }
        _ => {}
    }
}

/// Steps that have no required key: null, or their name alone, has every default.
const NEEDS_NOTHING: [&str; 3] = ["Screenshot", "WaitForDom", "WaitForNavigation"];

/// The schemas of a step with their names, and its forms: `{"Click": "#a"}`, `{"Click":
/// {"selector": "#a"}}` and `{"type": "Click", "selector": "#a"}`.
fn step(kind: &StepKind) -> ([(String, Value); 3], Vec<Value>) {
    let short = format!("Short{}{STEP}", kind.name);
    let (options, long) = (
        format!("{}Options", kind.name),
        format!("{}{STEP}", kind.name),
    );
    let mut keys = Map::new();
    for row in kind.rows {
        add_property(row, &mut keys);
    }
    let text = format!("Keys of a step: {}", kind.doc);
    let inner = json!({"type": "object", "description": text, "properties": keys});
    let mut values = vec![reference(&options)];
    match kind.name {
        "WaitForNavigation" => values.push(json!({"type": "boolean"})),
        "Screenshot" => values.push(json!({"const": true})),
        _ => values.extend(kind.rows.first().map(|row| shape(&row.shape))),
    }
    let needs_nothing = NEEDS_NOTHING.contains(&kind.name);
    values.extend(needs_nothing.then(|| json!({"type": "null"})));
    let one = json!({
        "type": "object",
        "description": kind.doc,
        "properties": {
            (kind.name): {"anyOf": values, "description": "Keys of the step, or the first alone."},
        },
        "required": [kind.name],
    });
    let mut forms = vec![reference(&short), reference(&long)];
    if needs_nothing {
        forms.push(json!({"const": kind.name, "description": kind.doc}));
    }
    let name = json!({"const": kind.name, "description": "Name of the step."});
    keys.insert("type".to_owned(), name);
    let outer = json!({
        "type": "object",
        "description": kind.doc,
        "properties": keys,
        "required": ["type"],
    });
    ([(short, one), (options, inner), (long, outer)], forms)
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
            assert!(is_used || name.ends_with("Request"), "{name}");
            for (key, property) in schema["properties"].as_object().into_iter().flatten() {
                let text = property["description"].as_str().unwrap_or_default();
                assert!(text.ends_with('.'), "{name}.{key}: {text}");
            }
        }
        for row in parameters::all() {
            for request in REQUESTS.iter().filter(|request| !request.has_no_url) {
                let property = &schemas[request.name]["properties"][row.name];
                assert_eq!(
                    property.is_object(),
                    row.routes.has(request.route),
                    "{}.{}",
                    request.name,
                    row.name
                );
            }
        }
        assert_eq!(schemas["FetchRequest"]["properties"].get(URL), None);
        assert_eq!(schemas["CrawlTextRequest"]["required"], json!(["text"]));
        let limit = &schemas["CrawlRequest"]["properties"]["concurrency_limit"];
        assert_eq!(limit["type"], json!(["integer", "null"]));
        assert_eq!(
            (&limit["minimum"], &limit["maximum"]),
            (&json!(1), &json!(10))
        );
        // A value beyond is set to the bound.
        let depth = &schemas["CrawlRequest"]["properties"]["depth"];
        assert_eq!(depth.get("maximum"), None);
    }

    #[test]
    fn a_crawl_that_waits_takes_its_secrets() {
        let resumption = &request_schemas()["ResumeRequest"]["properties"];
        let names: Vec<_> = resumption.as_object().into_iter().flatten().collect();
        let mut names: Vec<_> = names.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        let expected = [
            "automation_scripts",
            "cookies",
            "evaluate_on_new_document",
            "execution_scripts",
            "headers",
            "router",
        ];
        assert_eq!(names, expected);
    }

    #[test]
    fn headers_have_plain_forms_where_there_are_any() {
        let headers = header_parameters();
        let schema = |name: &str| &headers[name]["schema"];
        assert_eq!(schema("X-Metadata")["type"], "boolean");
        assert_eq!(schema("X-Max-Size")["type"], "integer");
        assert_eq!(schema("X-Viewport")["type"], "string");
        assert_eq!(schema("X-Scroll")["examples"], json!(["2000"]));
        assert_eq!(headers.get("X-Url"), None);
    }

    #[test]
    fn the_words_are_for_callers() {
        let mut all = request_schemas();
        all.extend(header_parameters());
        let text = Value::Object(all).to_string();
        for word in ["Decision", "Spec S", "host/", "serde", "Option<"] {
            assert!(!text.contains(word), "{word}");
        }
    }
}
