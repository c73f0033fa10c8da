//! `GET /openapi.json`: the interface as OpenAPI 3.1.

mod common;
mod names;
mod operation;
mod options;
mod responses;
mod schemas;
mod shared;
mod webhooks;

use std::sync::{Arc, LazyLock};

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde_json::Value;
use tokio::sync::Mutex;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::{Modify, OpenApi};

use crate::account::{credits, deliveries, details, hosts, keys, notices, statement, usage};
use crate::crawls::{batch, crawl, links, list, log, map, skipped, stored_pages};
use crate::data::{contacts, tables};
use crate::http::error::ApiError;
use crate::http::format::ResponseFormat;
use crate::http::prepared::Prepared;
use crate::pages::{fetch, scrape, screenshot, search, transform, unblocker};
use crate::pipelines::endpoints as pipeline;
use crate::status::{health, metrics, plugins, providers};
use crate::{Api, Service, admin, unimplemented, unlimited};

/// The documented endpoints. Each is served at `/x` and at `/v1/x`.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Trawl",
        description = "Fetches, renders and crawls web pages and returns them in formats that plugins produce. Every path is also \
            served under `/v1`. Errors are objects with an `error` field, and problem details (RFC 9457) where `Accept` names \
            `application/problem+json`."
    ),
    paths(
        scrape::scrape,
        search::search,
        links::links,
        map::map,
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
        log::log,
        skipped::skipped,
        crawl::resume,
        batch::batch,
        batch::list,
        batch::show,
        batch::stop,
        batch::pages,
        batch::skipped,
        batch::resume,
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
        hosts::hosts,
        deliveries::deliveries,
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
/// takes as long as serving a hundred pages, and the request needs no key.
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
    options::add_plugins(&mut document, status);
    Prepared::new(ResponseFormat::Json.media_type(), document.to_string())
}

/// The document without the options of plugins.
fn fixed() -> Value {
    let mut interface = Interface::openapi();
    interface.merge(admin::Operators::openapi());
    let mut document = serde_json::to_value(interface).unwrap_or_default();
    schemas::name_lists(&mut document);
    schemas::describe_requests(&mut document);
    common::describe_fetch(&mut document, trawl_wire::header_parameters());
    common::complete(&mut document);
    webhooks::add_webhooks(&mut document);
    shared::share(&mut document);
    document
}

#[cfg(test)]
mod tests;
