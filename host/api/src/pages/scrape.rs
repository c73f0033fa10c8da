//! `POST /scrape`: pages by their URLs.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Request, State};
use axum::response::Response;

use trawl_billing::Account;
use trawl_plan::{Ignored, ScrapePlan};
use trawl_plugins::Registry;
use trawl_wire::{PageEntry, PlanContext, Verb, scrape_plan};

use crate::Api;
use crate::http::body::BODY_BYTES_MAX;
use crate::http::error::ApiError;
use crate::http::request::{ApiRequest, serve};
use crate::http::stream;

#[utoipa::path(
    post,
    path = "/scrape",
    summary = "Fetch pages",
    description = "Fetches the given pages and returns one entry per page, in the order of the request. With \
        `Content-Type: application/jsonl` or `Accept: application/jsonl`, the response has one line per page, in the order \
        in which pages finish.",
    request_body(content = ref("#/components/schemas/ScrapeRequest"), description = "One request object, or an array of them",
        example = json!({"url": "http://sample.trawl.test/tides", "return_format": "markdown", "metadata": true})),
    responses(
        (status = 200, description = "One entry per page; `error` is set for a page that failed", body = Vec<PageEntry>),
    ),
    security(("key" = []))
)]
pub(crate) async fn scrape(
    State(api): State<Api>,
    Extension(account): Extension<Arc<Account>>,
    request: Request,
) -> Result<Response, ApiError> {
    let work = |request| pages(request, Verb::Scrape);
    serve(&api, account, request, BODY_BYTES_MAX, work).await
}

/// Plans and runs the pages of a request.
pub(crate) async fn pages(request: ApiRequest, verb: Verb) -> Result<Response, ApiError> {
    let (planned, request) = request.planned(move |request| plan(request, verb)).await?;
    planned.run(request).await
}

/// Plans and runs the page of a request. `ignored` is added to the parameters that its plan
/// ignores.
pub(crate) async fn page(request: ApiRequest, ignored: Ignored) -> Result<Response, ApiError> {
    let plan = |request: &ApiRequest| plan(request, Verb::Scrape);
    let (mut planned, request) = request.planned(plan).await?;
    planned.plan.ignored.extend(&ignored);
    planned.run(request).await
}

/// Pages that are planned and not started yet.
pub(crate) struct PlannedPages {
    registry: Arc<Registry>,
    plan: ScrapePlan,
}

/// Plans the pages of a request.
pub(crate) fn plan(request: &ApiRequest, verb: Verb) -> Result<PlannedPages, ApiError> {
    let snapshot = request.api.service.snapshot();
    let catalog = request.asking(&snapshot);
    let context = PlanContext {
        catalog: &catalog,
        defaults: request.defaults(),
    };
    let plan = scrape_plan(&request.body, verb, context)?;
    Ok(PlannedPages {
        registry: snapshot.registry,
        plan,
    })
}

impl PlannedPages {
    /// Runs the pages. The request's body gives its memory back to them.
    pub(crate) async fn run(self, request: ApiRequest) -> Result<Response, ApiError> {
        let Self { registry, plan } = self;
        let (format, n_pages) = (request.format, plan.pages.len());
        let run = request.run_with(registry);
        let outcomes = request
            .api
            .service
            .scrape(run, plan.pages, format.order())?;
        drop(request);
        Ok(stream::pages(format, n_pages, outcomes, plan.ignored).await)
    }
}
