//! `POST /screenshot`: pictures of pages.

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
    path = "/screenshot",
    description = "Renders the named pages and returns a picture of each: `content` is a PNG file as base64, or as a list of integers \
        with `binary`. `full_page` (default), `clip`, `omit_background` and `viewport` say what is on it; all parameters of a \
        browser apply.",
    request_body(content = ScrapeRequest, description = "One request object, or an array of them",
        example = json!({"url": "http://sample.trawl.test/", "full_page": false})),
    responses(
        (status = 200, description = "One entry a page", body = Vec<Entry>),
    ),
    security(("key" = []))
)]
pub(super) async fn screenshot(
    State(api): State<Api>,
    Extension(account): Extension<Arc<Account>>,
    request: Request,
) -> Result<Response, ApiError> {
    let work = |posted| scrape::pages(posted, Verb::Screenshot);
    post::serve(&api, account, request, scrape::BODY_BYTES_MAX, work).await
}
