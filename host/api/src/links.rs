//! `POST /links`: a crawl that returns the links of pages, without their content.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Request, State};
use axum::response::Response;

use super::error::ApiError;
use super::{Api, crawl, post, scrape};
use trawl_billing::Account;
use trawl_wire::Entry;
use trawl_wire::{ScrapeRequest, Verb};

#[utoipa::path(
    post,
    path = "/links",
    description = "Walks a site as `/crawl` does and returns the links of its pages: `links` is always there and `content` always \
        empty. `limit: 1` gives those of one page.",
    request_body(content = ScrapeRequest, description = "One request object, or an array of them",
        example = json!({"url": "http://sample.trawl.test/", "limit": 1})),
    responses(
        (status = 200, description = "One entry a page", body = Vec<Entry>),
    ),
    security(("key" = []))
)]
pub(super) async fn links(
    State(api): State<Api>,
    Extension(account): Extension<Arc<Account>>,
    request: Request,
) -> Result<Response, ApiError> {
    let work = |posted| crawl::pages(posted, Verb::Links);
    post::serve(&api, account, request, scrape::BODY_BYTES_MAX, work).await
}
