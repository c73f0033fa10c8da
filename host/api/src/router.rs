//! All routes and all layers.

use std::sync::Arc;
use std::time::Instant;

use axum::http::{Extensions, HeaderMap, StatusCode, Uri, Version};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::{Extension, Router, extract::DefaultBodyLimit};
use tower::ServiceBuilder;
use tower_http::CompressionLevel;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{DefaultPredicate, NotForContentType, Predicate};

use crate::account::{credits, deliveries, details, hosts, keys, notices, statement, usage};
use crate::crawls::{batch, crawl, links, list, log, map, skipped, stored_pages};
use crate::data::{contacts, tables};
use crate::http::closest::closest;
use crate::http::error::ApiError;
use crate::http::methods::{
    Endpoint, delete_with_query, get, get_with_query, post, post_with_query, put,
};
use crate::http::prepared::AsItIs;
use crate::http::queries::Queries;
use crate::http::rate::RateLimits;
use crate::http::version::VERSION;
use crate::http::{auth, cors, drain, error, observe, problem};
use crate::pages::{fetch, scrape, screenshot, search, transform, unblocker};
use crate::pipelines::endpoints as pipelines;
use crate::status::{health, key_directory, metrics, plugins, providers, start};
use crate::{
    Api, Rooms, Service, Settings, admin, console, mcp, openapi, unimplemented, unlimited,
};

/// The path of the page for people.
const START: &str = "/";

/// Builds the interface of a server. Serve it with the peer as `ConnectInfo<SocketAddr>`.
pub fn router(service: Arc<dyn Service>, rooms: Rooms, settings: Settings) -> Router {
    let trace = settings.trace;
    let rate_limits = RateLimits::new(settings.requests_per_minute, Instant::now());
    let queries = Queries::new(settings.queries_per_account);
    let api = Api {
        queries: Arc::new(queries),
        service,
        rooms: Arc::new(rooms),
        settings: Arc::new(settings),
        rate_limits: Arc::new(rate_limits),
        planning: Arc::default(),
        document: Arc::default(),
    };
    let account_routes =
        versioned(keyed_routes()).layer(from_fn_with_state(api.clone(), auth::require_key));
    let not_prepared =
        |_: StatusCode, _: Version, _: &HeaderMap, marks: &Extensions| !AsItIs::marks(marks);
    let except_lines = DefaultPredicate::new()
        .and(NotForContentType::const_new("application/jsonl"))
        .and(not_prepared);
    let admin_routes =
        versioned(admin::routes()).layer(from_fn_with_state(api.clone(), auth::require_admin));
    let compression = CompressionLayer::new()
        .quality(CompressionLevel::Fastest)
        .compress_when(except_lines);
    let known = known_paths();
    // Outermost first. One stack: a router boxes each layer and clones every box for every request.
    let layers = ServiceBuilder::new()
        .layer(from_fn_with_state(trace, observe::observe))
        .layer(from_fn_with_state(closed_paths(), cors::open_to_pages))
        .layer(compression)
        .layer(from_fn(problem::as_asked))
        .layer(CatchPanicLayer::custom(error::panicked))
        .layer(DefaultBodyLimit::disable())
        .layer(from_fn_with_state(api.clone(), drain::refuse_when_draining));
    let router: Router = versioned(open_routes())
        .merge(account_routes)
        .merge(admin_routes)
        .fallback(move |uri: Uri| not_found(Arc::clone(&known), uri))
        .layer(layers.clone())
        .with_state(api.clone());
    // Behind the others, which they call.
    let tool_routes: Router = versioned(tool_routes())
        .layer(Extension(mcp::Endpoints(router.clone())))
        .layer(from_fn_with_state(api.clone(), auth::require_key))
        .layer(layers)
        .with_state(api);
    router.merge(tool_routes)
}

/// The paths that a misspelt one may mean.
fn known_paths() -> Arc<[&'static str]> {
    let all = [
        open_routes(),
        keyed_routes(),
        tool_routes(),
        admin::routes(),
    ];
    all.iter()
        .flatten()
        .map(|(path, _)| *path)
        // They are for people and for programs of sites, who do not misspell them.
        .filter(|path| ![START, console::PATH, key_directory::PATH].contains(path))
        .collect()
}

/// The paths that no account's key opens.
fn closed_paths() -> Arc<[&'static str]> {
    [open_routes(), admin::routes()]
        .iter()
        .flatten()
        .map(|(path, _)| *path)
        .collect()
}

/// The response to an unknown path.
async fn not_found(endpoints: Arc<[&'static str]>, uri: Uri) -> ApiError {
    ApiError::NotFound(closest(&endpoints, uri.path()))
}

/// Routes that need no account key. Decision D109.
fn open_routes() -> Vec<Endpoint> {
    vec![
        // Tools of operators and browsers add parameters of their own, which mean nothing here.
        (START, get_with_query(start::start)),
        (console::PATH, get_with_query(console::file)),
        ("/health", get_with_query(health::health)),
        ("/openapi.json", get_with_query(openapi::openapi)),
        ("/metrics", get_with_query(metrics::metrics)),
        ("/providers", get(providers::providers)),
        (
            key_directory::PATH,
            get_with_query(key_directory::key_directory),
        ),
    ]
}

/// Paths of the routes that need no account key.
#[cfg(test)]
pub(crate) fn open_paths() -> impl Iterator<Item = &'static str> {
    open_routes().into_iter().map(|(path, _)| path)
}

/// Routes that need an account key.
#[expect(deprecated, reason = "deprecated endpoints are still served")]
fn keyed_routes() -> Vec<Endpoint> {
    let mut routes = vec![
        ("/scrape", post(scrape::scrape)),
        ("/search", post(search::search)),
        ("/links", post(links::links)),
        ("/map", post(map::map)),
        ("/screenshot", post(screenshot::screenshot)),
        ("/unblocker", post(unblocker::unblocker)),
        // They refuse a query in the order of their checks.
        ("/unlimited/scrape", post_with_query(unlimited::scrape)),
        ("/unlimited/crawl", post_with_query(unlimited::crawl)),
        ("/unlimited/links", post_with_query(unlimited::links)),
        ("/transform", post(transform::transform)),
        ("/data/credits", get(credits::credits)),
        ("/plugins", get(plugins::plugins)),
        ("/ai/{*rest}", post(unimplemented::ai)),
        (
            "/fetch/{*target}",
            get_with_query(fetch::fetch).post_with_query(fetch::fetch),
        ),
        ("/account", get(details::account)),
        ("/account/statement", get_with_query(statement::statement)),
        ("/account/usage", get_with_query(usage::usage)),
        ("/account/hosts", get_with_query(hosts::hosts)),
        ("/account/deliveries", get(deliveries::deliveries)),
        ("/account/notices", put(notices::set_notices)),
        (
            "/account/keys",
            get_with_query(keys::list).post(keys::create),
        ),
        ("/account/keys/{prefix}", delete_with_query(keys::revoke)),
        ("/account/keys/{prefix}/budget", put(keys::set_budget)),
        (
            "/account/webhook-secret",
            get(keys::webhook_secret).post(keys::renew_webhook_secret),
        ),
        ("/data/{table}", get_with_query(tables::table)),
        ("/data/contacts", get_with_query(contacts::contacts)),
        (
            "/pipeline/extract-contacts",
            post(pipelines::extract_contacts),
        ),
        ("/pipeline/extract-qa", post(pipelines::extract_qa)),
        ("/pipeline/label", post(pipelines::label)),
        ("/pipeline/filter-links", post(pipelines::filter_links)),
        ("/pipeline/crawl-text", post(pipelines::crawl_text)),
    ];
    routes.extend(crawl_routes());
    routes
}

/// Routes of crawls and batches, which need an account key, too.
fn crawl_routes() -> Vec<Endpoint> {
    vec![
        ("/crawl", get_with_query(list::list).post(crawl::crawl)),
        ("/crawl/{id}", get(crawl::show).delete(crawl::stop)),
        (
            "/crawl/{id}/pages",
            get_with_query(stored_pages::stored_pages),
        ),
        ("/crawl/{id}/log", get_with_query(log::log)),
        ("/crawl/{id}/skipped", get_with_query(skipped::skipped)),
        ("/crawl/{id}/resume", post(crawl::resume)),
        ("/batch", get_with_query(batch::list).post(batch::batch)),
        ("/batch/{id}", get(batch::show).delete(batch::stop)),
        ("/batch/{id}/pages", get_with_query(batch::pages)),
        ("/batch/{id}/skipped", get_with_query(batch::skipped)),
        ("/batch/{id}/resume", post(batch::resume)),
    ]
}

/// Routes of tools, which send requests to all others. They need an account key.
fn tool_routes() -> Vec<Endpoint> {
    vec![("/mcp", post(mcp::mcp))]
}

/// Serves every route at `/x` and at `/v1/x`.
fn versioned(routes: Vec<Endpoint>) -> Router<Api> {
    routes
        .into_iter()
        .fold(Router::new(), |router, (path, methods)| {
            let methods = methods.into_router();
            router
                .route(path, methods.clone())
                .route(&format!("{VERSION}{path}"), methods)
        })
}
