//! `POST /map`: the URLs of a site, without fetching its pages.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use axum::Extension;
use axum::extract::{Request, State};
use axum::response::Response;
use futures_util::{StreamExt, stream};

use trawl_billing::Account;
use trawl_crawl::SiteMap;
use trawl_model::RequestTrace;
use trawl_plan::PagePlan;
use trawl_plugins::Registry;
use trawl_wire::{MapLine, MapRequest, PlanContext, map_request};

use crate::Api;
use crate::http::body::BODY_BYTES_MAX;
use crate::http::error::ApiError;
use crate::http::headers;
use crate::http::request::{ApiRequest, serve};
use crate::http::stream as responses;
use crate::service::{Order, Outcomes};

/// Work on a map may take a second, so it is done where large requests are planned.
const ON_A_THREAD: usize = usize::MAX;

#[utoipa::path(
    post,
    path = "/map",
    summary = "List the URLs of a site",
    description = "Lists the URLs of a site without fetching its pages, each once, `http` and `https` as one: the links of the start \
        page, all pages of the sitemaps that robots.txt names, and the links of those of its pages that the page cache has. With `query` \
        the best matches come first. The last item has no `url`: it says which sitemaps were read, and what the map costs. The start \
        page is charged like a page of `/crawl`, cached pages like pages from the cache; robots.txt and sitemaps are free.",
    request_body(content = ref("#/components/schemas/MapRequest"), description = "One request object with one URL",
        example = json!({"url": "http://sample.trawl.test/", "query": "tides", "limit": 100})),
    responses(
        (status = 200, description = "One item per URL, and the end", body = Vec<MapLine>,
            example = json!([
                {"url": "http://sample.trawl.test/tides", "found": "sitemap", "lastmod": "2026-01-31", "anchor": "Tide tables", "score": 0.61},
                {"n_urls": 1, "n_found": 1, "is_cut": false,
                    "sitemaps": [{"location": "http://sample.trawl.test/sitemap.xml", "n_urls": 1, "error": null}],
                    "start_page": {"location": "http://sample.trawl.test/", "status": 200, "error": null, "costs": {
                        "ai_cost": 0.0, "compute_cost": 0.000000012, "file_cost": 0.0, "bytes_transferred_cost": 0.000001256,
                        "transform_cost": 0.000000002, "total_cost": 0.00000127}},
                    "n_cached_pages": 0, "total_cost": 0.00000127},
            ])),
    ),
    security(("key" = []))
)]
pub(crate) async fn map(
    State(api): State<Api>,
    Extension(account): Extension<Arc<Account>>,
    request: Request,
) -> Result<Response, ApiError> {
    serve(&api, account, request, BODY_BYTES_MAX, answer).await
}

/// A map that is planned.
struct PlannedMap {
    registry: Arc<Registry>,
    request: MapRequest,
}

fn plan(request: &ApiRequest) -> Result<PlannedMap, ApiError> {
    let snapshot = request.api.service.snapshot();
    let catalog = request.asking(&snapshot);
    let context = PlanContext {
        catalog: &catalog,
        defaults: request.defaults(),
    };
    let map = map_request(&request.body, context)?;
    Ok(PlannedMap {
        registry: snapshot.registry,
        request: map,
    })
}

/// Plans a map, finds the URLs and answers with them.
async fn answer(request: ApiRequest) -> Result<Response, ApiError> {
    let (planned, request) = request.planned(plan).await?;
    let PlannedMap {
        registry,
        request: MapRequest { plan, ignored },
    } = planned;
    let mut map = request
        .api
        .rooms
        .crawls
        .site_map(Arc::new(plan), &request.account.id)
        .with_trace(request.trace.and_then(RequestTrace::for_requests));
    if let Some(start) = map.start_page() {
        let mut outcomes = pages(&request, &registry, 0, vec![start])?;
        if let Some(outcome) = outcomes.next().await {
            map.add_start_page(&outcome);
        }
    }
    let map = map.read_sitemaps().await;
    let map = with_cached_pages(map, &request, &registry).await?;
    let planning = &request.api.planning;
    let writing = planning.work(&request.account.id, ON_A_THREAD, move || map.into_lines());
    let (lines, lease) = writing.await?.into_parts();
    let lines = stream::iter(lines).map(Ok);
    let mut response = responses::holding(responses::entries(request.format, lines), lease);
    headers::set_ignored_parameters(&mut response, &ignored);
    Ok(response)
}

/// The map with the links of those of its pages that the page cache has.
async fn with_cached_pages(
    map: SiteMap,
    request: &ApiRequest,
    registry: &Arc<Registry>,
) -> Result<SiteMap, ApiError> {
    let service = Arc::clone(&request.api.service);
    let look_up = move || {
        // The start page is charged: a fault of the cache must not lose what it has.
        let looked_up = AssertUnwindSafe(|| map.cached_pages(&|plan| service.is_cached(plan)));
        (catch_unwind(looked_up), map)
    };
    let account = &request.account.id;
    let looking_up = request.api.planning.work(account, ON_A_THREAD, look_up);
    let (plans, mut map) = looking_up.await?;
    let Ok(plans) = plans else {
        tracing::error!("looking up the pages of a map panicked");
        map.end_search();
        return Ok(map);
    };
    if plans.is_empty() {
        return Ok(map);
    }
    let Ok(mut outcomes) = pages(request, registry, 1, plans) else {
        // The start page is charged, so what it has is not lost with the money for the others.
        map.end_search();
        return Ok(map);
    };
    while let Some(outcome) = outcomes.next().await {
        map.add_cached_page(&outcome);
    }
    Ok(map)
}

/// The outcomes of pages, charged as the part of the request with this number.
fn pages(
    request: &ApiRequest,
    registry: &Arc<Registry>,
    part: usize,
    plans: Vec<PagePlan>,
) -> Result<Outcomes, ApiError> {
    let mut run = request.run_with(Arc::clone(registry));
    run.payment = run.payment.map(|payment| payment.part(part));
    let plans = plans.into_iter().map(Ok).collect();
    let service = &request.api.service;
    Ok(service.scrape(run, plans, Order::Input)?)
}
