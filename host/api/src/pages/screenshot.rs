//! `POST /screenshot`: screenshots of pages.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Request, State};
use axum::response::Response;

use trawl_billing::Account;
use trawl_wire::{PageEntry, Verb};

use super::scrape;
use crate::Api;
use crate::http::body::BODY_BYTES_MAX;
use crate::http::error::ApiError;
use crate::http::request::serve;

#[utoipa::path(
    post,
    path = "/screenshot",
    summary = "Take screenshots",
    description = "Renders the given pages and returns a screenshot of each: `content` is a PNG file in base64, or a list of byte \
        values with `binary`. `full_page` (default), `clip`, `omit_background` and `viewport` select what it shows; all browser \
        parameters apply.",
    request_body(content = ref("#/components/schemas/ScreenshotRequest"), description = "One request object, or an array of them",
        example = json!({"url": "http://sample.trawl.test/", "full_page": false})),
    responses(
        (status = 200, description = "One entry per page", body = Vec<PageEntry>),
    ),
    security(("key" = []))
)]
pub(crate) async fn screenshot(
    State(api): State<Api>,
    Extension(account): Extension<Arc<Account>>,
    request: Request,
) -> Result<Response, ApiError> {
    let work = |request| scrape::pages(request, Verb::Screenshot);
    serve(&api, account, request, BODY_BYTES_MAX, work).await
}
