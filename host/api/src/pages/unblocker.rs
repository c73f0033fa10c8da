//! `POST /unblocker`: pages of sites that block plain requests.

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
    path = "/unblocker",
    summary = "Fetch pages of sites that block plain requests",
    description = "Like `/scrape`, but with a browser and, unless `proxy` names a pool, through the configured proxy pool that \
        sites block least.",
    request_body(content = ref("#/components/schemas/UnblockerRequest"), description = "One request object, or an array of them",
        example = json!({"url": "http://sample.trawl.test/", "return_format": "text"})),
    responses(
        (status = 200, description = "One entry per page", body = Vec<PageEntry>),
    ),
    security(("key" = []))
)]
pub(crate) async fn unblocker(
    State(api): State<Api>,
    Extension(account): Extension<Arc<Account>>,
    request: Request,
) -> Result<Response, ApiError> {
    let work = |request| scrape::pages(request, Verb::Unblocker);
    serve(&api, account, request, BODY_BYTES_MAX, work).await
}
