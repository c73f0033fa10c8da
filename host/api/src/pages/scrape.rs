//! `POST /scrape`: pages by their URLs.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Request, State};
use axum::response::Response;

use trawl_billing::Account;
use trawl_plan::{Ignored, ScrapePlan};
use trawl_wire::{Entry, PlanContext, Verb, scrape_plan};

use crate::http::body::BODY_BYTES_MAX;
use crate::http::error::ApiError;
use crate::http::format::ResponseFormat;
use crate::http::request::{ApiRequest, serve};
use crate::http::stream;
use crate::{Api, Run};

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
        (status = 200, description = "One entry per page; `error` is set for a page that failed", body = Vec<Entry>),
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
    let (planned, _) = request.planned(move |request| plan(request, verb)).await?;
    planned.run().await
}

/// Plans and runs the page of a request. `ignored` is added to the parameters that its plan
/// ignores.
pub(crate) async fn page(request: ApiRequest, ignored: Ignored) -> Result<Response, ApiError> {
    let plan = |request: &ApiRequest| plan(request, Verb::Scrape);
    let (mut planned, _) = request.planned(plan).await?;
    planned.plan.ignored.extend(&ignored);
    planned.run().await
}

/// Pages that are planned and not started yet.
pub(crate) struct PlannedPages {
    run: Arc<dyn Run>,
    plan: ScrapePlan,
    format: ResponseFormat,
}

/// Plans the pages of a request.
pub(crate) fn plan(request: &ApiRequest, verb: Verb) -> Result<PlannedPages, ApiError> {
    let run = request.begin_run();
    let catalog = request.asking(&*run);
    let context = PlanContext {
        catalog: &catalog,
        defaults: request.defaults(),
    };
    let plan = scrape_plan(&request.body, verb, context)?;
    let format = request.format;
    Ok(PlannedPages { run, plan, format })
}

impl PlannedPages {
    /// Runs the pages.
    pub(crate) async fn run(self) -> Result<Response, ApiError> {
        let Self { run, plan, format } = self;
        let n_pages = plan.pages.len();
        let outcomes = run.scrape(plan.pages, format.order())?;
        Ok(stream::pages(format, n_pages, outcomes, plan.ignored).await)
    }
}
