//! `POST /unblocker`: pages of sites that turn plain requests away.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Request, State};
use axum::response::Response;

use super::error::ApiError;
use super::{Api, post, scrape};
use trawl_billing::Account;
use trawl_wire::Entry;
use trawl_wire::{ScrapeRequest, Verb};

#[utoipa::path(
    post,
    path = "/unblocker",
    description = "As `/scrape` with a browser and, unless `proxy` names one, through the configured pool that sites turn away least.",
    request_body(content = ScrapeRequest, description = "One request object, or an array of them",
        example = json!({"url": "http://sample.trawl.test/", "return_format": "text"})),
    responses(
        (status = 200, description = "One entry a page", body = Vec<Entry>),
    ),
    security(("key" = []))
)]
pub(super) async fn unblocker(
    State(api): State<Api>,
    Extension(account): Extension<Arc<Account>>,
    request: Request,
) -> Result<Response, ApiError> {
    let work = |posted| scrape::pages(posted, Verb::Unblocker);
    post::serve(&api, account, request, scrape::BODY_BYTES_MAX, work).await
}
