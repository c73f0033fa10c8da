//! What many endpoints share in the document: names, tags, bodies, formats of responses, errors and
//! headers. Each endpoint documents only what is specific to it.

use serde_json::{Map, Value, json};

use trawl_plan::PAGES_MAX;

use super::names::operation_id;
use super::operation::{Operation, TAGS};
use super::responses::{add_errors, add_headers, error_schema, is_error, problem_schema};
use super::schemas::SCHEMAS;

const JSON: &str = "application/json";
const LINES: &str = "application/jsonl";
/// Schemas whose forms may overlap, since they have no discriminator.
const OVERLAPPING: [&str; 4] = ["Row", "Provider", "MapLine", "SearchAnswer"];
/// Schemas of responses that are lists, or may be one.
const LISTS: [&str; 6] = [
    "PageEntry",
    "LoggedPage",
    "CrawlAnswer",
    "Skipped",
    "MapLine",
    "SearchAnswer",
];

/// Request objects of which a request may send an array, with the most of them. Decision D7.
const BATCHED: [(&str, usize); 8] = [
    ("ScrapeRequest", 10_000),
    ("UnblockerRequest", 10_000),
    ("ScreenshotRequest", 10_000),
    ("CrawlRequest", 100),
    ("LinksRequest", 100),
    ("ExtractContactsRequest", 100),
    ("LabelRequest", 100),
    ("CrawlTextRequest", 100),
];

/// Completes every operation of the document.
pub(super) fn complete(document: &mut Value) {
    document["servers"] = json!([
        {"url": "/"},
        {"url": "/v1", "description": "The same endpoints under their version"},
    ]);
    let tag = |name: &str, description: &str| json!({"name": name, "description": description});
    let tags = TAGS.iter().map(|one| tag(one.name, one.description));
    document["tags"] = tags.collect();
    let schemas = &mut document["components"]["schemas"];
    schemas["Error"] = error_schema();
    schemas["Problem"] = problem_schema();
    schemas["CrawlAnswer"] = crawl_answer();
    schemas["CrawlEntry"] = crawl_entry();
    schemas["FinalEntry"] = final_entry();
    schemas["QueuedCrawl"] = queued_crawl();
    schemas["StoredRequest"] = stored_request();
    // A name of its own: clients would name it `CrawlRequest`, which is what a crawl is sent as.
    schemas["Crawl"]["properties"]["request"] = json!({"$ref": format!("{SCHEMAS}StoredRequest")});
    for name in OVERLAPPING {
        if let Some(schema) = schemas[name].as_object_mut()
            && let Some(forms) = schema.remove("oneOf")
        {
            schema.insert("anyOf".to_owned(), forms);
        }
    }
    narrow_schemas(schemas);
    open_objects(schemas);
    let Some(paths) = document["paths"].as_object_mut() else {
        return;
    };
    for (path, methods) in paths {
        let methods = methods.as_object_mut().into_iter().flatten();
        for (method, operation) in methods {
            complete_operation(path, method, operation);
        }
    }
}

/// Declares that objects without known keys have some: otherwise generated clients take them for
/// empty.
fn open_objects(part: &mut Value) {
    match part {
        Value::Object(parts) => {
            let kind = parts.get("type");
            let is_object = kind.is_some_and(|kind| match kind {
                Value::Array(kinds) => kinds.contains(&json!("object")),
                kind => kind == "object",
            });
            let has_keys = ["properties", "additionalProperties"];
            if is_object && !has_keys.iter().any(|key| parts.contains_key(*key)) {
                parts.insert("additionalProperties".to_owned(), json!(true));
            }
            let inner = parts
                .iter_mut()
                .filter(|(key, _)| *key != "example" && *key != "examples");
            inner.for_each(|(_, part)| open_objects(part));
        }
        Value::Array(parts) => parts.iter_mut().for_each(open_objects),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The response to a request that crawls: pages, or with `run_in_background` the crawls. Decision
/// D48.
fn crawl_answer() -> Value {
    let list = |of: &str| json!({"type": "array", "items": {"$ref": format!("{SCHEMAS}{of}")}});
    json!({
        "description": "The entries of pages; with `run_in_background` the queued crawl, or a list of several.",
        // An empty list is one of either.
        "anyOf": [
            list("PageEntry"), {"$ref": format!("{SCHEMAS}QueuedCrawl")}, list("QueuedCrawl"), list("CrawlEntry"),
        ],
    })
}

/// An entry of a crawl whose request has `final_entry`.
fn crawl_entry() -> Value {
    let either =
        ["PageEntry", "FinalEntry"].map(|name| json!({"$ref": format!("{SCHEMAS}{name}")}));
    json!({"description": "A page, or the end of the crawl.", "anyOf": either})
}

fn final_entry() -> Value {
    json!({
        "description": "The end of a crawl, after its pages, if its request has `final_entry`.",
        "type": "object",
        "properties": {
            "crawl_id": {"type": "string", "description": "Id of the crawl"},
            "stop_reason": {"type": "string", "description": "Why it ended"},
            "pages": {"type": "integer", "minimum": 0, "description": "Pages delivered, including failed ones"},
            "failed": {"type": "integer", "minimum": 0, "description": "Pages that failed"},
            "total_cost": {"type": "number", "description": "What it cost, in dollars"},
        },
        "required": ["crawl_id", "stop_reason", "pages", "failed", "total_cost"],
        "example": {
            "crawl_id": "0a1b2c3d4e5f60718293a4b5c6d7e8f9", "stop_reason": "limit", "pages": 100, "failed": 2,
            "total_cost": 0.00012,
        },
    })
}

fn queued_crawl() -> Value {
    json!({
        "description": "A crawl that runs in the background.",
        "type": "object",
        "properties": {
            "id": {"type": "string", "description": "Its id"},
            "status": {"type": "string", "description": "Always `queued`"},
        },
        "required": ["id", "status"],
        "example": {"id": "0a1b2c3d4e5f60718293a4b5c6d7e8f9", "status": "queued"},
    })
}

fn stored_request() -> Value {
    json!({
        "description": "The request object of a crawl with its limits, and null in place of each secret.",
        "type": "object",
        "additionalProperties": true,
    })
}

fn complete_operation(path: &str, method: &str, described: &mut Value) {
    if method == "get"
        && let Some(described) = described.as_object_mut()
    {
        // A path with both methods is documented once.
        described.remove("requestBody");
    }
    narrow_queries(described);
    let operation = Operation::new(path, method, described);
    described["operationId"] = operation_id(method, path).into();
    described["tags"] = json!([operation.tag()]);
    if !operation.is_keyed {
        described["security"] = json!([]);
    }
    batch(described);
    if operation.has_body {
        described["requestBody"]["required"] = json!(!operation.may_omit_body());
    }
    if operation.is_work() {
        idempotency(described);
    }
    let responses = described["responses"].as_object_mut();
    let Some(responses) = responses else {
        return;
    };
    add_errors(&operation, responses);
    for (status, response) in responses {
        if !is_error(status) {
            add_formats(response);
        }
        add_headers(&operation, status, response);
    }
}

/// A date, or a time in UTC, as queries take them; blank is not set.
const TIME: &str = r"^((19[7-9]\d|[2-9]\d{3})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])(T([01]\d|2[0-3])(:[0-5]\d){2}(\.\d{1,9})?Z)?)?$";

/// A `next_cursor`; blank is not set.
const CURSOR: &str = r"^\s*(\d{1,19}(\.\d{1,19}){2})?\s*$";

/// Says of query parameters what their types do not: bounds, forms, and that none can be null.
fn narrow_queries(described: &mut Value) {
    let parameters = described.get_mut("parameters");
    let parameters = parameters.and_then(Value::as_array_mut);
    for parameter in parameters.into_iter().flatten() {
        if parameter["in"] != "query" {
            continue;
        }
        let kinds = parameter["schema"]["type"].as_array();
        let kinds = kinds.into_iter().flatten().filter(|kind| **kind != "null");
        if let [one] = kinds.cloned().collect::<Vec<_>>().as_slice() {
            parameter["schema"]["type"] = one.clone();
        }
        let name = parameter["name"].as_str().unwrap_or_default().to_owned();
        let schema = &mut parameter["schema"];
        match name.as_str() {
            "limit" | "page" | "minutes" => schema["minimum"] = 1.into(),
            "from" | "to" => schema["pattern"] = TIME.into(),
            "cursor" if schema["type"] == "string" && schema["pattern"].is_null() => {
                schema["pattern"] = CURSOR.into();
            }
            "format" => schema["enum"] = json!(["json", "csv"]),
            _ => {}
        }
    }
}

/// Says of schemas what their types do not: amounts are decimal text or whole numbers, a request
/// with a misspelt field is refused, content has many forms.
fn narrow_schemas(schemas: &mut Value) {
    narrow_amounts(schemas);
    for name in [
        "TopUpRequest",
        "AccountRequest",
        "NoticesRequest",
        "KeyRequest",
        "KeyBudgetRequest",
        "SeatsRequest",
    ] {
        schemas[name]["additionalProperties"] = json!(false);
    }
    // Neither blank at an end nor with control characters.
    let end = r"[^\s\x00-\x1F\x7F-\x9F]";
    let printable = format!(r"{end}([^\x00-\x1F\x7F-\x9F]*{end})?");
    let name = &mut schemas["AccountRequest"]["properties"]["name"];
    name["pattern"] = format!("^(?!acc_){printable}$").into();
    name["maxLength"] = 100.into();
    let name = &mut schemas["KeyRequest"]["properties"]["name"];
    name["pattern"] = format!("^({printable})?$").into();
    name["maxLength"] = 100.into();
    let id = &mut schemas["TopUpRequest"]["properties"]["id"];
    (id["minLength"], id["maxLength"]) = (1.into(), 100.into());
    let seats = &mut schemas["SeatsRequest"]["properties"]["seats"];
    seats["maximum"] = 10_000.into();
    // A string, a list or an object, as in page entries.
    schemas["TransformAnswer"]["properties"]["content"]["items"] = json!({});
}

/// Says which texts and numbers are amounts.
fn narrow_amounts(schemas: &mut Value) {
    // Fractions are sent as text: no schema says how many decimals a number has.
    let amount = |text: &str, least: i64, most: i64| {
        json!({"oneOf": [
            {"type": "string", "pattern": text},
            {"type": "integer", "minimum": least, "maximum": most},
        ]})
    };
    let positive = r"^\s*\$?(?=.*[1-9])\d{1,6}(\.\d{0,9})?\s*$";
    let any = r"^\s*\$?\d{1,6}(\.\d{0,9})?\s*$";
    let large = r"^\s*\$?\d{1,9}(\.\d{0,9})?\s*$";
    for (name, field, text, least, most) in [
        ("TopUpRequest", "dollars", positive, 1, 1_000_000),
        ("AccountRequest", "dollars", any, 0, 1_000_000),
        (
            "NoticesRequest",
            "low_balance_dollars",
            large,
            0,
            9_223_372_036,
        ),
        ("KeyRequest", "monthly_budget", large, 0, 9_223_372_036),
        (
            "KeyBudgetRequest",
            "monthly_budget",
            large,
            0,
            9_223_372_036,
        ),
    ] {
        let field = &mut schemas[name]["properties"][field];
        let (mut schema, description) = (amount(text, least, most), field["description"].take());
        if field["type"].is_array()
            && let Some(forms) = schema["oneOf"].as_array_mut()
        {
            forms.insert(0, json!({"type": "null"}));
        }
        schema["description"] = description;
        *field = schema;
    }
}

/// Allows an array of request objects.
fn batch(described: &mut Value) {
    let Some(schema) = described.pointer_mut("/requestBody/content/application~1json/schema")
    else {
        return;
    };
    let name = schema["$ref"]
        .as_str()
        .and_then(|name| name.strip_prefix(SCHEMAS));
    let batched = BATCHED.iter().find(|(batched, _)| Some(*batched) == name);
    let (item, most) = match batched {
        Some((_, most)) => (schema.clone(), *most),
        // Its array is one of pages, as its `urls`.
        None if name == Some("BatchRequest") => {
            let forms = [json!({"type": "string"}), json!({"type": "object"})];
            (json!({"oneOf": forms}), PAGES_MAX)
        }
        None => return,
    };
    let one = schema.take();
    let array = json!({"type": "array", "items": item, "minItems": 1, "maxItems": most});
    *schema = json!({"oneOf": [one, array]});
}

fn idempotency(described: &mut Value) {
    let header = json!({
        "name": "Idempotency-Key",
        "in": "header",
        "description": "A repeat of the request with the same key within 24 hours returns the first response and costs nothing",
        "required": false,
        "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]([ -~]*[!-~])?$"},
    });
    let parameters = described.get_mut("parameters");
    match parameters.and_then(Value::as_array_mut) {
        Some(parameters) => parameters.push(header),
        None => described["parameters"] = json!([header]),
    }
}

/// Documents the other formats of a response: JSON lines of lists (Decision D2), and the formats of
/// a statement.
fn add_formats(response: &mut Value) {
    let content = response.get_mut("content").and_then(Value::as_object_mut);
    let Some(content) = content else {
        return;
    };
    let is_list = |json: &Value| {
        let of = [&json["schema"]["items"]["$ref"], &json["schema"]["$ref"]];
        let names = of
            .into_iter()
            .filter_map(|name| name.as_str()?.strip_prefix(SCHEMAS));
        names.into_iter().any(|name| LISTS.contains(&name))
    };
    if content.get(JSON).is_some_and(is_list) {
        let text = "The same as lines: one item as compact JSON per line; pages in the order in which they finish";
        let lines = json!({"schema": {"type": "string", "description": text}});
        content.insert(LINES.to_owned(), lines);
    }
    let is_statement = |json: &Value| json["schema"]["$ref"] == format!("{SCHEMAS}Statement");
    if content.get(JSON).is_some_and(is_statement) {
        let text = |what: &str| json!({"schema": {"type": "string", "description": what}});
        let lines = text("One `StatementEntry` as compact JSON per line");
        content.insert(LINES.to_owned(), lines);
        let table = text("One line per entry, amounts as exact decimals");
        content.insert("text/csv".to_owned(), table);
    }
}

/// The header parameters and the formats of `/fetch`, and its second path: the URL as one segment,
/// as generated clients send it. Decision D236.
pub(super) fn describe_fetch(document: &mut Value, headers: Map<String, Value>) {
    const PATH: &str = "/fetch/{domain}/{path}";
    const WHOLE: &str = "/fetch/{url}";
    let references = headers.keys();
    let references =
        references.map(|name| json!({"$ref": format!("#/components/parameters/{name}")}));
    let references: Vec<Value> = references.collect();
    document["components"]["parameters"] = headers.into();
    let Some(paths) = document["paths"].as_object_mut() else {
        return;
    };
    let Some(mut methods) = paths.get(PATH).cloned() else {
        return;
    };
    let texts = ["text/markdown", "text/html", "text/plain"];
    let complete = |methods: &mut Value, of_path: Option<&Value>| {
        for (_, described) in methods.as_object_mut().into_iter().flatten() {
            if let Some(of_path) = of_path {
                described["parameters"] = json!([of_path]);
            }
            if let Some(parameters) = described["parameters"].as_array_mut() {
                parameters.extend(references.iter().cloned());
            }
            for media_type in texts {
                described["responses"]["200"]["content"][media_type] = json!({
                    "schema": {"type": "string", "description": "The content of the page alone"},
                });
            }
        }
    };
    let url = json!({
        "name": "url",
        "in": "path",
        "description": "URL of the page, its scheme `https` if it has none: as it is, or percent-encoded as one segment",
        "required": true,
        "schema": {"type": "string", "minLength": 1},
        "example": "http://sample.trawl.test/tides",
    });
    if let Some(described) = paths.get_mut(PATH) {
        complete(described, None);
    }
    complete(&mut methods, Some(&url));
    paths.insert(WHOLE.to_owned(), methods);
}
