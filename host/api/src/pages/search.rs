//! `POST /search`: pages that a web search finds.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Request, State};
use axum::response::Response;
use futures_util::StreamExt;

use trawl_billing::{Account, FundsError};
use trawl_engine::search::{Hit, SearchOutcome};
use trawl_model::outcome::PageOutcome;
use trawl_model::{Cause, PageFailure};
use trawl_plugins::Registry;
use trawl_wire::{
    PagesToCome, PlanContext, SearchAnswer, SearchHit, SearchRequest, SearchResponse,
    search_request,
};

use crate::Api;
use crate::http::body::BODY_BYTES_MAX;
use crate::http::error::ApiError;
use crate::http::headers;
use crate::http::request::{ApiRequest, serve};
use crate::http::stream;
use crate::service::{NewRun, Order, Outcomes};

#[utoipa::path(
    post,
    path = "/search",
    summary = "Search the web",
    description = "Asks a web search service that the operator configured. Returns the results; with `fetch_page_content` the page of \
        each result, as `/scrape` would return it, in the order of the results, with the result as `search` in its `metadata`. The \
        search costs what its service charges and what the server adds; the pages are charged like those of `/scrape`, and the first \
        good one has the cost of the search in its `compute_cost`.",
    request_body(content = ref("#/components/schemas/SearchRequest"), description = "One request object",
        example = json!({"search": "tide tables", "search_limit": 5})),
    responses(
        (status = 200, description = "The results, or the entries of their pages", body = SearchAnswer,
            example = json!({
                "content": [
                    {"position": 1, "url": "http://sample.trawl.test/tides", "title": "Tide tables", "description": "High and low water."},
                ],
                "engine": "searxng", "cost": 0.0,
                "costs": {"ai_cost": 0.0, "compute_cost": 0.0, "file_cost": 0.0, "bytes_transferred_cost": 0.0,
                    "transform_cost": 0.0, "total_cost": 0.0, "vendor": {"provider": "searxng", "route": "searxng.search",
                        "vendor_cost": 0.0, "billed_cost": 0.0, "byok": false, "attempts": 1}},
                "error": null, "status": 200,
            })),
        (status = 501, description = "No search service is configured", body = ref("#/components/schemas/Error"),
            example = json!({"error": "this server does not offer web search: the operator names a search service under `[search]` in trawl.toml"})),
        (status = 502, description = "The search service failed; nothing is charged", body = ref("#/components/schemas/Error"),
            example = json!({"error": "the search service failed: searxng: it cannot be reached"})),
    ),
    security(("key" = []))
)]
pub(crate) async fn search(
    State(api): State<Api>,
    Extension(account): Extension<Arc<Account>>,
    request: Request,
) -> Result<Response, ApiError> {
    serve(&api, account, request, BODY_BYTES_MAX, answer).await
}

/// A search that is planned.
struct PlannedSearch {
    registry: Arc<Registry>,
    request: SearchRequest,
}

fn plan(request: &ApiRequest) -> Result<PlannedSearch, ApiError> {
    let snapshot = request.api.service.snapshot();
    let catalog = request.asking(&snapshot);
    let context = PlanContext {
        catalog: &catalog,
        defaults: request.defaults(),
    };
    let search = search_request(&request.body, context)?;
    Ok(PlannedSearch {
        registry: snapshot.registry,
        request: search,
    })
}

/// Plans a search, asks the search service and answers with the results or their pages.
async fn answer(request: ApiRequest) -> Result<Response, ApiError> {
    let (planned, request) = request.planned(plan).await?;
    let PlannedSearch {
        registry,
        request: search,
    } = planned;
    let SearchRequest {
        plan,
        pages,
        mut ignored,
    } = search;
    let run = part(&request, &registry, 0);
    let limit = plan.limit;
    let mut found = request.api.service.search(run, plan).await?;
    found.hits.truncate(limit);
    for name in &found.without_effect {
        ignored.add(name);
    }
    let Some(pages) = pages else {
        let hits = found.hits.iter().zip(found.first_position..);
        let hits = hits.map(|(hit, position)| shown(hit, position)).collect();
        let results = SearchResponse::new(hits, &found.charge, &found.vendor);
        let mut response = request.format.object(&results)?;
        headers::set_ignored_parameters(&mut response, &ignored);
        return Ok(stream::holding(response, found.memory));
    };
    let (format, n_pages) = (request.format, found.hits.len());
    let outcomes = page_outcomes(&request, &registry, found, pages);
    drop(request);
    Ok(stream::pages(format, n_pages, outcomes, ignored).await)
}

/// The pages of the results, each with its result.
fn page_outcomes(
    request: &ApiRequest,
    registry: &Arc<Registry>,
    found: SearchOutcome,
    pages: PagesToCome,
) -> Outcomes {
    let urls: Vec<String> = found.hits.iter().map(|hit| hit.url.clone()).collect();
    let plans = pages.plans(&urls);
    let run = part(request, registry, 1);
    // In the order of the results: which of them a page belongs to is known by its place. Decision
    // D520.
    let begun = request.api.service.scrape(run, plans, Order::Input);
    // The search is charged, so its results are not lost with the money for their pages.
    let outcomes = begun.unwrap_or_else(|error| without_money(urls, &error));
    let (mut unpaid, memory) = (Some(found.charge.total()), found.memory);
    let hits = futures_util::stream::iter(found.hits.into_iter().zip(found.first_position..));
    let outcomes = outcomes
        .zip(hits)
        .map(move |(mut outcome, (hit, position))| {
            // Until the last page is sent.
            let _held = &memory;
            shown(&hit, position).add_to(&mut outcome);
            // A failed page costs nothing.
            if outcome.error.is_none()
                && let Some(search) = unpaid.take()
            {
                let compute = outcome.charge.compute;
                outcome.charge.compute = compute.saturating_add(search);
            }
            outcome
        });
    outcomes.boxed()
}

/// The outcomes of pages for which there is no money.
fn without_money(urls: Vec<String>, error: &FundsError) -> Outcomes {
    let failure = PageFailure::new(Cause::Funds, error.to_string());
    let outcomes = urls.into_iter();
    let outcomes = outcomes.map(move |url| PageOutcome::failed(url, failure.clone()));
    futures_util::stream::iter(outcomes).boxed()
}

/// The run of one part of the request, which is charged under a name of its own.
fn part(request: &ApiRequest, registry: &Arc<Registry>, number: usize) -> NewRun {
    let mut run = request.run_with(Arc::clone(registry));
    run.payment = run.payment.map(|payment| payment.part(number));
    run
}

fn shown(hit: &Hit, position: u64) -> SearchHit<'_> {
    SearchHit {
        position,
        url: &hit.url,
        title: &hit.title,
        description: &hit.snippet,
        date: hit.date.as_deref(),
        site_name: hit.site_name.as_deref(),
    }
}
