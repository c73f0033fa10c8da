//! `GET /openapi.json`: the interface as OpenAPI 3.1.

mod common;
mod names;

use std::collections::BTreeSet;
use std::sync::LazyLock;

use axum::extract::State;
use axum::response::Response;
use serde_json::{Map, Value, json};
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::{Modify, OpenApi};

use crate::account::{credits, details, keys, notices, statement};
use crate::crawls::{crawl, links, skipped, stored_pages};
use crate::data::{contacts, tables};
use crate::http::error::ApiError;
use crate::http::format::ResponseFormat;
use crate::pages::{fetch, scrape, screenshot, transform, unblocker};
use crate::pipelines::endpoints as pipeline;
use crate::status::{health, metrics, plugins, providers};
use crate::{Api, admin, unimplemented, unlimited};

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
        notices::set_notices,
        keys::list,
        keys::create,
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
    description = "Returns this document, with the options of the active plugins. Needs no key.",
    responses((status = 200, description = "OpenAPI 3.1", body = Object))
)]
pub(crate) async fn openapi(State(api): State<Api>) -> Result<Response, ApiError> {
    static FIXED: LazyLock<Value> = LazyLock::new(fixed);
    let mut document = FIXED.clone();
    add_plugins(&mut document, &api.service.plugins());
    ResponseFormat::Json.object(&document)
}

/// The document without the options of plugins.
fn fixed() -> Value {
    let mut interface = Interface::openapi();
    interface.merge(admin::Operators::openapi());
    let mut document = serde_json::to_value(interface).unwrap_or_default();
    describe_requests(&mut document);
    common::complete(&mut document);
    document
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
            let name = name.and_then(|name| name.strip_prefix("#/components/schemas/"));
            used.extend(name.map(str::to_owned));
            parts.values().for_each(|part| add_references(part, used));
        }
        Value::Array(parts) => parts.iter().for_each(|part| add_references(part, used)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Adds the options of the active plugins to the request objects, under the names that requests
/// use. `status` is the response of `GET /plugins`.
fn add_plugins(document: &mut Value, status: &Value) {
    let plugins = status["plugins"].as_array().map_or(&[][..], Vec::as_slice);
    let schemas = &mut document["components"]["schemas"];
    let by_name = [
        ("format", "format_options"),
        ("filter", "filters"),
        ("extractor", "extractors"),
    ];
    for object in ["ScrapeRequest", "TransformRequest"] {
        for (kind, field) in by_name {
            let field = &mut schemas[object]["properties"][field];
            if field.is_object() {
                field["properties"] = options_by_name(plugins, kind).into();
            }
        }
    }
    let chunkers = of_kind(plugins, "chunker").map(|(name, plugin)| chunking(name, plugin));
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

/// The plugins of a kind, with their names.
fn of_kind<'a>(plugins: &'a [Value], kind: &str) -> impl Iterator<Item = (&'a str, &'a Value)> {
    let plugins = plugins.iter().filter(move |plugin| plugin["kind"] == *kind);
    plugins.filter_map(|plugin| Some((plugin["name"].as_str()?, plugin)))
}

fn options_by_name(plugins: &[Value], kind: &str) -> Map<String, Value> {
    of_kind(plugins, kind)
        .map(|(name, plugin)| (name.to_owned(), options(name, plugin)))
        .collect()
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
fn chunking(name: &str, plugin: &Value) -> Value {
    let mut schema = options(name, plugin);
    if !schema["properties"].is_object() {
        schema["properties"] = json!({});
    }
    schema["properties"]["type"] = json!({"const": name});
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
        let scrape = &schemas["ScrapeRequest"]["properties"];
        for field in ["format_options", "filters", "extractors"] {
            let options = &scrape[field]["properties"]["mine"];
            assert_eq!(options["properties"], schema["properties"], "{field}");
            assert_eq!(options["description"], "Mine");
        }
        let transform = &schemas["TransformRequest"]["properties"];
        assert!(transform["filters"]["properties"]["mine"].is_object());
        assert!(transform["extractors"]["properties"]["mine"].is_object());
        let forms = schemas["ChunkingForm"]["anyOf"].as_array().expect("forms");
        let mine = forms.last().expect("the chunker's form");
        assert_eq!(mine["properties"]["type"], json!({"const": "mine"}));
        assert_eq!(mine["properties"]["width"], json!({"type": "integer"}));
        assert_eq!(mine["required"], json!(["type"]));
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

    #[test]
    fn every_schema_is_used_and_every_reference_has_one() {
        let document = fixed();
        let mut used = BTreeSet::new();
        add_references(&document, &mut used);
        let schemas = document["components"]["schemas"].as_object();
        let known: BTreeSet<String> = schemas.expect("schemas").keys().cloned().collect();
        assert_eq!(used, known);
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
        let options =
            &schemas["ScrapeRequest"]["properties"]["format_options"]["properties"]["mine"];
        assert_eq!(options["$id"], "urn:trawl:format:mine");
        assert_eq!(options["$defs"], json!({"a": {}}));
    }
}
