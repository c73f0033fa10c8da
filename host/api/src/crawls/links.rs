//! `POST /links`: a crawl that returns the links of pages, without their content.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Request, State};
use axum::response::Response;

use trawl_billing::Account;
use trawl_wire::Verb;

use super::start;
use crate::Api;
use crate::http::body::BODY_BYTES_MAX;
use crate::http::error::ApiError;
use crate::http::request::serve;

#[utoipa::path(
    post,
    path = "/links",
    summary = "List the links of a site",
    description = "Crawls a site as `/crawl` does and returns the links of its pages: every entry has `links`, and `content` is \
        empty. `limit: 1` returns the links of one page.",
    request_body(content = ref("#/components/schemas/LinksRequest"), description = "One request object, or an array of them",
        example = json!({"url": "http://sample.trawl.test/", "limit": 1})),
    responses(
        (status = 200, description = "One entry per page", body = ref("#/components/schemas/CrawlAnswer")),
    ),
    security(("key" = []))
)]
pub(crate) async fn links(
    State(api): State<Api>,
    Extension(account): Extension<Arc<Account>>,
    request: Request,
) -> Result<Response, ApiError> {
    let work = |request| start::pages(request, Verb::Links);
    serve(&api, account, request, BODY_BYTES_MAX, work).await
}
