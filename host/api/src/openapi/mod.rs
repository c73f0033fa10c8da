//! `GET /openapi.json`: the interface as OpenAPI 3.1.

mod common;
mod names;
mod operation;
mod responses;
mod shared;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde_json::{Map, Value, json};
use tokio::sync::Mutex;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::{Modify, OpenApi};

use trawl_plan::chunking;

use crate::account::{credits, details, keys, notices, statement, usage};
use crate::crawls::{crawl, links, list, skipped, stored_pages};
use crate::data::{contacts, tables};
use crate::http::error::ApiError;
use crate::http::format::ResponseFormat;
use crate::http::prepared::Prepared;
use crate::pages::{fetch, scrape, screenshot, transform, unblocker};
use crate::pipelines::endpoints as pipeline;
use crate::status::{health, metrics, plugins, providers};
use crate::{Api, Service, admin, unimplemented, unlimited};

/// Where schemas are in the document.
const SCHEMAS: &str = "#/components/schemas/";

/// The documented endpoints. Each is served at `/x` and at `/v1/x`.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Trawl",
        description = "Fetches, renders and crawls web pages and returns them in formats that plugins produce. Every path is also \
            served under `/v1`. Errors are objects with an `error` field."
    ),
    paths(
        scrape::scrape,
        links::links,
        screenshot::screenshot,
        unblocker::unblocker,
        unlimited::scrape,
        unlimited::crawl,
        unlimited::links,
        crawl::crawl,
        list::list,
        crawl::show,
        crawl::stop,
        stored_pages::stored_pages,
        skipped::skipped,
        crawl::resume,
        transform::transform,
        pipeline::extract_contacts,
        pipeline::extract_qa,
        pipeline::label,
        pipeline::filter_links,
        pipeline::crawl_text,
        contacts::contacts,
        fetch::fetch,
        details::account,
        statement::statement,
        usage::usage,
        notices::set_notices,
        keys::list,
        keys::create,
        keys::set_budget,
        keys::revoke,
        keys::webhook_secret,
        keys::renew_webhook_secret,
        tables::table,
        credits::credits,
        plugins::plugins,
        providers::providers,
        health::health,
        metrics::metrics,
        openapi,
        unimplemented::absent,
        unimplemented::ai,
    ),
    modifiers(&KeyScheme)
)]
struct Interface;

/// Adds the two kinds of keys.
struct KeyScheme;

impl Modify for KeyScheme {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        let components = openapi.components.get_or_insert_default();
        for name in ["key", "admin"] {
            let bearer = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
            components.add_security_scheme(name, bearer);
        }
    }
}

#[utoipa::path(
    get,
    path = "/openapi.json",
    summary = "Read this document",
    description = "Returns this document, with the options of the active plugins. Needs no key. Its `ETag` stays the same until \
        plugins change.",
    responses(
        (status = 200, description = "OpenAPI 3.1", body = Object),
        (status = 304, description = "The document is the one that `If-None-Match` names"),
    )
)]
pub(crate) async fn openapi(
    State(api): State<Api>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let document = api.document.current(&api.service).await?;
    Ok(document.response(&headers))
}

/// The document of the plugins in effect. It is made once for each generation of them, because that
/// takes as long as serving a hundred pages and anybody may ask for it.
#[derive(Debug, Default)]
pub(crate) struct CurrentDocument(Arc<Mutex<Option<Made>>>);

/// The document, and the generation of plugins that it was made for.
type Made = (u64, Arc<Prepared>);

impl CurrentDocument {
    /// The document; the first request of a generation makes it on a thread of its own, the others
    /// wait for it. It is made to its end, even if that request is not waited for any more.
    async fn current(&self, service: &Arc<dyn Service>) -> Result<Arc<Prepared>, ApiError> {
        let last = Arc::clone(&self.0).lock_owned().await;
        let generation = service.plugins_generation();
        if let Some((made_for, document)) = &*last
            && *made_for == generation
        {
            return Ok(Arc::clone(document));
        }
        let service = Arc::clone(service);
        // The lock goes with it, so that the next request finds what was made.
        let making = tokio::task::spawn_blocking(move || {
            let mut last = last;
            let document = Arc::new(prepare(&service.plugins()));
            *last = Some((generation, Arc::clone(&document)));
            document
        });
        making.await.map_err(|_panicked| ApiError::Internal)
    }
}

/// The document with the options of these plugins. `status` is the response of `GET /plugins`.
fn prepare(status: &Value) -> Prepared {
    static FIXED: LazyLock<Value> = LazyLock::new(fixed);
    let mut document = FIXED.clone();
    add_plugins(&mut document, status);
    Prepared::new(ResponseFormat::Json.media_type(), document.to_string())
}

/// The document without the options of plugins.
fn fixed() -> Value {
    let mut interface = Interface::openapi();
    interface.merge(admin::Operators::openapi());
    let mut document = serde_json::to_value(interface).unwrap_or_default();
    name_lists(&mut document);
    describe_requests(&mut document);
    common::describe_fetch(&mut document, trawl_wire::header_parameters());
    common::complete(&mut document);
    shared::share(&mut document);
    document
}

/// Gives the pages of lists and the rows in them schemas with names of their own: what is derived
/// as `Page_Key`, with its rows inside, becomes `KeyList` with `Key`.
fn name_lists(document: &mut Value) {
    let schemas = document.pointer_mut("/components/schemas");
    let Some(schemas) = schemas.and_then(Value::as_object_mut) else {
        return;
    };
    let mut names = BTreeMap::new();
    for (name, mut list) in std::mem::take(schemas) {
        let Some(row) = name.strip_prefix("Page_") else {
            schemas.entry(name).or_insert(list);
            continue;
        };
        let inside = &mut list["properties"]["data"]["items"];
        if inside["$ref"].is_null() {
            schemas.insert(row.to_owned(), inside.take());
            *inside = json!({"$ref": format!("{SCHEMAS}{row}")});
        }
        let new = format!("{row}List");
        schemas.insert(new.clone(), list);
        names.insert(format!("{SCHEMAS}{name}"), format!("{SCHEMAS}{new}"));
    }
    rename_references(document, &names);
}

fn rename_references(part: &mut Value, names: &BTreeMap<String, String>) {
    match part {
        Value::Object(parts) => {
            if let Some(Value::String(reference)) = parts.get_mut("$ref")
                && let Some(new) = names.get(reference)
            {
                reference.clone_from(new);
            }
            parts
                .values_mut()
                .for_each(|part| rename_references(part, names));
        }
        Value::Array(parts) => parts
            .iter_mut()
            .for_each(|part| rename_references(part, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Describes request objects as the tables of parameters do, and leaves out the schemas that
/// nothing refers to then.
fn describe_requests(document: &mut Value) {
    let schemas = document.pointer_mut("/components/schemas");
    if let Some(schemas) = schemas.and_then(Value::as_object_mut) {
        schemas.extend(trawl_wire::request_schemas());
    }
    loop {
        let mut used = BTreeSet::new();
        add_references(document, &mut used);
        let schemas = document.pointer_mut("/components/schemas");
        let Some(schemas) = schemas.and_then(Value::as_object_mut) else {
            return;
        };
        let n_schemas = schemas.len();
        schemas.retain(|name, _| used.contains(name));
        if schemas.len() == n_schemas {
            return;
        }
    }
}

/// Adds the names of the schemas that a part of the document refers to.
fn add_references(part: &Value, used: &mut BTreeSet<String>) {
    match part {
        Value::Object(parts) => {
            let name = parts.get("$ref").and_then(Value::as_str);
            let name = name.and_then(|name| name.strip_prefix(SCHEMAS));
            used.extend(name.map(str::to_owned));
            parts.values().for_each(|part| add_references(part, used));
        }
        Value::Array(parts) => parts.iter().for_each(|part| add_references(part, used)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Adds the options of the active plugins to the schemas of request objects, under the names that
/// requests use. `status` is the response of `GET /plugins`.
fn add_plugins(document: &mut Value, status: &Value) {
    let plugins = status["plugins"].as_array().map_or(&[][..], Vec::as_slice);
    let schemas = &mut document["components"]["schemas"];
    let by_name = [
        ("format", "FormatOptions"),
        ("filter", "Filters"),
        ("extractor", "Extractors"),
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
            "format" => options,
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

#[cfg(test)]
mod tests {
    use super::*;

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
        ]));
        for (field, name) in [
            ("format_options", "FormatOptions"),
            ("filters", "Filters"),
            ("extractors", "Extractors"),
        ] {
            let mine = &schemas[name]["properties"]["mine"];
            let options = match field {
                "format_options" => mine,
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
        let plugin =
            json!({"kind": "format", "name": "mine", "summary": "", "options_schema": schema});
        let schemas = documented(json!([plugin]));
        let options = &schemas["FormatOptions"]["properties"]["mine"];
        assert_eq!(options["$id"], "urn:trawl:format:mine");
        assert_eq!(options["$defs"], json!({"a": {}}));
    }
}
