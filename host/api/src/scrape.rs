//! `POST /scrape`: pages by their addresses.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Request, State};
use axum::http::HeaderValue;
use axum::response::Response;

use super::error::ApiError;
use super::post::{self, ApiRequest, Form};
use super::service::Run;
use super::{Api, stream};
use trawl_billing::Account;
use trawl_plan::ScrapePlan;
use trawl_wire::Entry;
use trawl_wire::{PlanContext, ScrapeRequest, Verb, scrape_plan};

/// Most bytes of a request body. Decision D75.
pub(super) const BODY_BYTES_MAX: usize = 10_000_000;

#[utoipa::path(
    post,
    path = "/scrape",
    description = "Fetches the named pages and returns one entry a page, in the order of the request. With \
        `Content-Type: application/jsonl` or `Accept: application/jsonl` the answer is a line a page, in the order of finishing.",
    request_body(content = ScrapeRequest, description = "One request object, or an array of them",
        example = json!({"url": "http://sample.trawl.test/tides", "return_format": "markdown", "metadata": true})),
    responses(
        (status = 200, description = "One entry a page; a page that failed has `error` set", body = Vec<Entry>),
    ),
    security(("key" = []))
)]
pub(super) async fn scrape(
    State(api): State<Api>,
    Extension(account): Extension<Arc<Account>>,
    request: Request,
) -> Result<Response, ApiError> {
    post::serve(&api, account, request, BODY_BYTES_MAX, |posted| {
        pages(posted, Verb::Scrape)
    })
    .await
}

/// Plans the pages of a request and runs them.
pub(super) async fn pages(posted: ApiRequest, verb: Verb) -> Result<Response, ApiError> {
    planned(&posted, verb)?.run().await
}

/// Pages that are planned and not begun.
pub(super) struct Planned {
    run: Arc<dyn Run>,
    plan: ScrapePlan,
    form: Form,
}

/// Plans the pages of a request.
pub(super) fn planned(posted: &ApiRequest, verb: Verb) -> Result<Planned, ApiError> {
    let run = posted.begin_run();
    let ground = PlanContext {
        catalog: run.catalog(),
        ways: posted.ways(),
    };
    let plan = scrape_plan(&posted.body, verb, ground)?;
    let form = posted.form;
    Ok(Planned { run, plan, form })
}

impl Planned {
    /// Runs the pages.
    pub(super) async fn run(self) -> Result<Response, ApiError> {
        let Self { run, plan, form } = self;
        let n_pages = plan.pages.len();
        let outcomes = run.scrape(plan.pages, form.order())?;
        let mut response = stream::answer(form, n_pages, outcomes).await;
        tell_ignored(&plan.ignored, &mut response);
        Ok(response)
    }
}

/// Names the parameters without effect in the answer's header.
pub(super) fn tell_ignored(ignored: &[String], response: &mut Response) {
    if !ignored.is_empty()
        && let Ok(names) = HeaderValue::from_str(&ignored.join(", "))
    {
        response.headers_mut().insert("x-ignored-parameters", names);
    }
}
