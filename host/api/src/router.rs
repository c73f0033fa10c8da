//! All routes, once, and all layers, in one stack.

use std::sync::Arc;
use std::time::Instant;

use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{MethodRouter, any, get, post, put};
use axum::{Router, extract::DefaultBodyLimit};
use tower::ServiceBuilder;
use tower_http::CompressionLevel;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{DefaultPredicate, NotForContentType, Predicate};

use super::rate::Rates;
use super::{
    Api, Service, account, admin, auth, contacts, crawl, credits, data, drain, error, fetch,
    health, links, metrics, not_built, observe, openapi, pipeline, plugins, providers, scrape,
    screenshot, transform, unblocker, unlimited,
};

/// The interface of a service. Serve it with the peer's address as `ConnectInfo<SocketAddr>`.
pub fn router(service: Arc<dyn Service>) -> Router {
    let rates = Arc::new(Rates::new(service.requests_per_minute(), Instant::now()));
    let api = Api { service, rates };
    let keyed = both(keyed_routes())
        .method_not_allowed_fallback(error::method_not_allowed)
        .layer(from_fn_with_state(api.clone(), auth::require_key));
    let not_lines = DefaultPredicate::new().and(NotForContentType::const_new("application/jsonl"));
    let operators = both(admin::routes())
        .method_not_allowed_fallback(error::method_not_allowed)
        .layer(from_fn_with_state(api.clone(), auth::require_admin));
    let compression = CompressionLayer::new()
        .quality(CompressionLevel::Fastest)
        .compress_when(not_lines);
    // Outside in. One stack, because a router boxes what it adds a layer to, and copies every box for every request.
    let layers = ServiceBuilder::new()
        .layer(from_fn(observe::observe))
        .layer(CatchPanicLayer::custom(error::panicked))
        .layer(compression)
        .layer(DefaultBodyLimit::disable())
        .layer(from_fn_with_state(api.clone(), drain::refuse_when_draining));
    both(open_routes())
        .method_not_allowed_fallback(error::method_not_allowed)
        .merge(keyed)
        .merge(operators)
        .fallback(error::not_found)
        .layer(layers)
        .with_state(api)
}

/// Routes without an account's key. Decision D109.
fn open_routes() -> Vec<(&'static str, MethodRouter<Api>)> {
    vec![
        ("/health", get(health::health)),
        ("/openapi.json", get(openapi::openapi)),
        ("/metrics", get(metrics::metrics)),
        ("/providers", get(providers::providers)),
    ]
}

/// Routes behind a key.
#[expect(deprecated, reason = "deprecated endpoints are served")]
fn keyed_routes() -> Vec<(&'static str, MethodRouter<Api>)> {
    let mut routes = vec![
        ("/scrape", post(scrape::scrape)),
        ("/links", post(links::links)),
        ("/screenshot", post(screenshot::screenshot)),
        ("/unblocker", post(unblocker::unblocker)),
        ("/unlimited/scrape", post(unlimited::scrape)),
        ("/unlimited/crawl", post(unlimited::crawl)),
        ("/unlimited/links", post(unlimited::links)),
        ("/transform", post(transform::transform)),
        ("/data/credits", get(credits::credits)),
        ("/plugins", get(plugins::plugins)),
        ("/ai/{*rest}", any(not_built::ai)),
        ("/fetch/{*target}", get(fetch::fetch).post(fetch::fetch)),
        ("/account", get(account::account)),
        ("/account/statement", get(account::statement)),
        ("/account/notices", put(account::set_notices)),
        ("/data/{table}", get(data::table)),
        ("/data/contacts", get(contacts::contacts)),
        (
            "/pipeline/extract-contacts",
            post(pipeline::extract_contacts),
        ),
        ("/pipeline/extract-qa", post(pipeline::extract_qa)),
        ("/pipeline/label", post(pipeline::label)),
        ("/pipeline/filter-links", post(pipeline::filter_links)),
        ("/pipeline/crawl-text", post(pipeline::crawl_text)),
        ("/crawl", post(crawl::crawl)),
        ("/crawl/{id}", get(crawl::show).delete(crawl::stop)),
        ("/crawl/{id}/pages", get(crawl::stored_pages)),
        ("/crawl/{id}/skipped", get(crawl::skipped)),
        ("/crawl/{id}/resume", post(crawl::resume)),
    ];
    routes.extend(not_built::POSTS.map(|path| (path, post(not_built::absent))));
    routes
}

/// Every route at `/x` and at `/v1/x`.
fn both(routes: Vec<(&'static str, MethodRouter<Api>)>) -> Router<Api> {
    routes
        .into_iter()
        .fold(Router::new(), |router, (path, methods)| {
            router
                .route(path, methods.clone())
                .route(&format!("/v1{path}"), methods)
        })
}
