//! The document as a whole.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use trawl_crawl::webhooks::EventKind;

use super::fixed;
use super::options::add_plugins;
use super::schemas::{SCHEMAS, add_references};

fn documented(plugins: Value) -> Value {
    let mut document = fixed();
    add_plugins(&mut document, &json!({"generation": 1, "plugins": plugins}));
    document["components"]["schemas"].clone()
}

#[test]
fn options_are_added_to_the_request_objects() {
    let schema = json!({"type": "object", "properties": {"width": {"type": "integer"}}});
    let plugin = |kind: &str| json!({"kind": kind, "name": "mine", "summary": "Mine", "options_schema": schema});
    let schemas = documented(json!([
        plugin("format"),
        plugin("filter"),
        plugin("extractor"),
        plugin("chunker"),
        plugin("decoder"),
    ]));
    for (field, name) in [
        ("format_options", "FormatOptions"),
        ("filters", "Filters"),
        ("extractors", "Extractors"),
        ("decoder_options", "DecoderOptions"),
    ] {
        let mine = &schemas[name]["properties"]["mine"];
        let options = match field {
            "format_options" | "decoder_options" => mine,
            _ => &mine["anyOf"][0],
        };
        assert_eq!(options["properties"], schema["properties"], "{field}");
        assert_eq!(options["description"], "Mine");
        for request in ["ScrapeRequest", "TransformRequest"] {
            let property = &schemas[request]["properties"][field];
            let name = format!("{SCHEMAS}{name}");
            assert_eq!(property["oneOf"][1]["$ref"], name, "{request}");
        }
    }
    let forms = schemas["ChunkingForm"]["anyOf"].as_array().expect("forms");
    let mine = forms.last().expect("the chunker's form");
    assert_eq!(mine["properties"]["type"], json!({"const": "mine"}));
    assert_eq!(mine["properties"]["width"], json!({"type": "integer"}));
    assert_eq!(mine["required"], json!(["type"]));
}

#[test]
fn chunks_of_built_in_chunkers_may_overlap() {
    let chunker = |name: &str| json!({"kind": "chunker", "name": name, "summary": ""});
    let schemas = documented(json!([chunker("words"), chunker("mine")]));
    let forms = schemas["ChunkingForm"]["anyOf"].as_array().expect("forms");
    let overlap = |name: &str| {
        let mut forms = forms.iter().map(|form| &form["properties"]);
        let of_name = forms.find(|properties| properties["type"]["const"] == *name);
        of_name.expect("its form")["overlap"].clone()
    };
    assert_eq!(overlap("words")["type"], json!(["integer", "null"]));
    assert_eq!(overlap("mine"), Value::Null);
}

#[test]
fn ids_of_operations_are_unique() {
    let document = fixed();
    let paths = document["paths"].as_object().expect("paths");
    let mut ids = BTreeSet::new();
    for (path, methods) in paths {
        for (method, operation) in methods.as_object().expect("methods") {
            let id = operation["operationId"].as_str().expect("an id");
            assert!(ids.insert(id), "{method} {path}: {id}");
        }
    }
}

/// What a reference within the document points to; anything else is itself.
fn resolved<'v>(document: &'v Value, part: &'v Value) -> &'v Value {
    let pointer = part["$ref"].as_str().and_then(|to| to.strip_prefix('#'));
    pointer.map_or(part, |pointer| {
        document.pointer(pointer).expect("what it refers to")
    })
}

/// Calls `visit` for each operation with its method and path.
fn each_operation(document: &Value, visit: &mut dyn FnMut(&str, &Value)) {
    let paths = document["paths"].as_object().expect("paths");
    for (path, methods) in paths {
        for (method, operation) in methods.as_object().expect("methods") {
            visit(&format!("{method} {path}"), operation);
        }
    }
}

#[test]
fn parameters_of_pipelines_have_the_bounds_of_their_analysts() {
    let options = json!({"properties": {
        "count": {"type": "integer", "minimum": 1, "maximum": 50, "default": 5},
        "none": {"maximum": 3},
    }});
    let plugin =
        json!({"kind": "analyst", "name": "label", "summary": "", "options_schema": options});
    let schemas = documented(json!([plugin]));
    let count = &schemas["LabelRequest"]["properties"]["count"];
    assert_eq!(
        (&count["minimum"], &count["maximum"]),
        (&json!(1), &json!(50))
    );
    assert_eq!(count["type"], json!(["integer", "null"]));
    assert_eq!(count.get("default"), None);
    assert_eq!(schemas["LabelRequest"]["properties"].get("none"), None);
    let other = &schemas["ExtractQaRequest"]["properties"]["count"];
    assert_eq!(other.get("maximum"), None);
}

#[test]
fn every_operation_has_its_words_and_every_error_an_example() {
    let document = fixed();
    let tags: Vec<_> = document["tags"].as_array().expect("tags").iter().collect();
    each_operation(&document, &mut |name, operation| {
        for field in ["summary", "description"] {
            let text = operation[field].as_str().unwrap_or_default();
            assert!(!text.is_empty(), "{name} has no {field}");
        }
        assert!(operation["security"].is_array(), "{name}");
        let tag = &operation["tags"][0];
        assert!(
            tags.iter().any(|known| known["name"] == *tag),
            "{name}: {tag}"
        );
        for (status, response) in operation["responses"].as_object().expect("responses") {
            let response = resolved(&document, response);
            let content = &response["content"]["application/json"];
            if !status.starts_with(['4', '5']) || (name == "get /health" && status == "503") {
                continue;
            }
            let text = content["example"]["error"].as_str().unwrap_or_default();
            assert!(!text.is_empty(), "{name} {status} has no example");
            assert_eq!(
                content["schema"]["$ref"], "#/components/schemas/Error",
                "{name} {status}"
            );
            let problem = &response["content"]["application/problem+json"];
            assert_eq!(
                problem["schema"]["$ref"], "#/components/schemas/Problem",
                "{name} {status}"
            );
        }
    });
}

#[test]
fn response_headers_are_declared() {
    let document = fixed();
    let header = |pointer: &str, name: &str| {
        let (method, rest) = pointer.split_once(' ').expect("a method");
        let (path, status) = rest.split_once(' ').expect("a status");
        let response = &document["paths"][path][method]["responses"][status];
        let header = &resolved(&document, response)["headers"][name];
        resolved(&document, header).clone()
    };
    let check = |pointer: &str, name: &str, is_always: bool| {
        let header = header(pointer, name);
        assert_eq!(header["required"], is_always, "{pointer}: {name}");
    };
    check("post /scrape 200", "X-Request-Id", true);
    check("post /scrape 200", "RateLimit-Limit", true);
    check("post /scrape 200", "RateLimit-Policy", true);
    check("post /scrape 200", "RateLimit", true);
    check("post /scrape 200", "X-Ignored-Parameters", false);
    check("post /scrape 200", "X-Parameter-Hints", false);
    check("post /scrape 200", "Idempotency-Replayed", false);
    check("post /scrape 401", "WWW-Authenticate", true);
    check("post /scrape 405", "Allow", true);
    check("post /scrape 429", "Retry-After", true);
    check("post /scrape 503", "Retry-After", true);
    check("get /fetch/{url} 200", "X-Ignored-Parameters", false);
    check("get /fetch/{domain}/{path} 200", "X-Page-Status", false);
    check("post /crawl 200", "X-Crawl-Id", false);
    check("post /pipeline/crawl-text 200", "X-Left-Out", false);
    check("post /pipeline/label 400", "Deprecation", true);
    check("post /pipeline/label 400", "Link", true);
    check("post /unlimited/links 200", "X-Concurrency-Active", true);
    check("post /unlimited/crawl 429", "X-Concurrency-Limit", true);
    check("get /crawl/{id}/pages 200", "X-Next-Cursor", false);
    check("get /crawl/{id}/skipped 200", "X-Next-Cursor", false);
    assert_eq!(
        header("get /admin/verify 200", "RateLimit-Limit"),
        Value::Null
    );
    assert_eq!(header("get /health 503", "Retry-After"), Value::Null);
}

#[test]
fn a_batch_is_an_object_or_an_array_of_pages() {
    let document = fixed();
    let operation = &document["paths"]["/batch"]["post"];
    let body = &operation["requestBody"]["content"]["application/json"]["schema"];
    let forms = body["oneOf"].as_array().expect("forms");
    assert_eq!(forms[0]["$ref"], format!("{SCHEMAS}BatchRequest"));
    let schemas = &document["components"]["schemas"];
    let urls = &schemas["BatchRequest"]["properties"]["urls"];
    assert_eq!(forms[1]["maxItems"], urls["maxItems"]);
    let types = |items: &Value| {
        let forms = items["oneOf"].as_array().expect("forms");
        forms
            .iter()
            .map(|form| form["type"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(types(&forms[1]["items"]), types(&urls["items"]));
}

#[test]
fn every_event_is_described_with_its_headers_and_fields() {
    let document = fixed();
    let webhooks = document["webhooks"].as_object().expect("webhooks");
    assert_eq!(webhooks.len(), EventKind::ALL.len());
    for kind in EventKind::ALL {
        let operation = &webhooks[kind.name()]["post"];
        let headers = operation["parameters"].as_array().expect("headers");
        let names = headers.iter().map(|header| {
            let header = resolved(&document, header);
            header["name"].as_str().expect("a name")
        });
        let names: Vec<_> = names.collect();
        let standard = ["webhook-id", "webhook-timestamp", "webhook-signature"];
        assert!(names.ends_with(&standard), "{names:?}");
        assert!(names.contains(&"X-Trawl-Signature"), "{names:?}");
        let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
        let schema = resolved(&document, schema);
        assert_eq!(schema["properties"]["event"]["const"], kind.name());
        for field in kind.fields() {
            assert!(schema["properties"][field.name].is_object());
            let required = schema["required"].as_array().expect("a list");
            let is_required = required.iter().any(|name| name == field.name);
            assert_eq!(is_required, field.is_always, "{}", field.name);
        }
    }
    let schemas = &document["components"]["schemas"];
    assert!(schemas["FindMetadataEvent"].is_object());
}

#[test]
fn nothing_that_operations_share_is_written_twice() {
    let document = fixed();
    let mut written = BTreeSet::new();
    let (mut n_errors, mut n_headers) = (0, 0);
    each_operation(&document, &mut |name, operation| {
        for (status, response) in operation["responses"].as_object().expect("responses") {
            let is_error = status.starts_with(['4', '5']);
            n_errors += usize::from(is_error);
            if is_error && response["$ref"].is_null() {
                assert!(written.insert(response.to_string()), "{name} {status}");
            }
            let headers = resolved(&document, response)["headers"].as_object();
            for (header, described) in headers.into_iter().flatten() {
                n_headers += 1;
                assert!(described["$ref"].is_string(), "{name} {status} {header}");
            }
        }
    });
    assert!(
        n_headers > 1_000 && n_errors > 5 * written.len(),
        "{n_errors}, {n_headers}"
    );
}

#[test]
fn the_words_are_for_callers() {
    let document = fixed();
    let text = document.to_string();
    for word in [
        "Decision", "Spec S", "Spec:", "host/", "serde", "Option<", "Vec<", "::", "View\"",
    ] {
        let at = text.find(word);
        let around = at.map(|at| text.get(at.saturating_sub(80)..at + 40).unwrap_or_default());
        assert_eq!(around, None, "{word}");
    }
    let schemas = document["components"]["schemas"].as_object();
    for name in schemas.expect("schemas").keys() {
        assert!(
            name.bytes().all(|byte| byte.is_ascii_alphanumeric()),
            "{name}"
        );
    }
}

#[test]
fn every_schema_is_used_and_every_reference_has_one() {
    let document = fixed();
    let mut used = BTreeSet::new();
    add_references(&document, &mut used);
    let schemas = document["components"]["schemas"].as_object();
    let known: BTreeSet<String> = schemas.expect("schemas").keys().cloned().collect();
    assert_eq!(used, known);
    let parameters = document["components"]["parameters"].as_object();
    assert!(parameters.expect("parameters").len() > 40);
    // They are those of the tables.
    for name in [
        "Router", "Viewport", "WaitFor", "Step", "Webhooks", "Duration",
    ] {
        assert!(known.contains(name), "{name}");
    }
    assert!(!known.contains("RouterForm"));
}

#[test]
fn references_resolve_within_the_schema() {
    let schema = json!({"$defs": {"a": {}}, "properties": {"x": {"$ref": "#/$defs/a"}}});
    let plugin = json!({"kind": "format", "name": "mine", "summary": "", "options_schema": schema});
    let schemas = documented(json!([plugin]));
    let options = &schemas["FormatOptions"]["properties"]["mine"];
    assert_eq!(options["$id"], "urn:trawl:format:mine");
    assert_eq!(options["$defs"], json!({"a": {}}));
}
