//! The handlers.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Request, State};
use axum::response::Response;
use serde::Serialize;

use trawl_billing::Account;
use trawl_plan::Pipeline;
use trawl_wire::Verb;

use super::responses::{LinksAnswer, QaAnswer};
use super::result::PipelineResult;
use crate::Api;
use crate::crawls::start;
use crate::http::body::BODY_BYTES_MAX;
use crate::http::error::ApiError;
use crate::http::request::{ApiRequest, serve};

/// Maximum size of the body of `crawl-text`: escaped as JSON, 10 MB of text take several times as
/// much.
const TEXT_BODY_BYTES_MAX: usize = 64_000_000;

#[utoipa::path(
    post,
    path = "/pipeline/extract-contacts",
    summary = "Extract contacts",
    description = "Crawls and extracts contacts: the entry of each page has them in `contacts`. The contacts of a crawl are stored, see \
        `GET /data/contacts`. Deprecated.",
    request_body(content = ref("#/components/schemas/ExtractContactsRequest"), description = "The parameters of `/crawl` and of the pipeline",
        example = json!({"url": "http://sample.trawl.test/", "limit": 3, "country": "DE", "return_format": "empty"})),
    responses(
        (status = 200, description = "One entry per page, with `contacts`", body = ref("#/components/schemas/CrawlAnswer"), example = json!([{
            "url": "https://example.com/contact", "status": 200, "content": "", "error": null, "duration_elasped_ms": 84,
            "contacts": {"emails": [{"value": "info@example.com", "sources": ["mailto"]}], "phones": [], "social": [], "people": [],
                "addresses": [], "business": {}},
            "costs": {"ai_cost": 0.0, "compute_cost": 0.000000012, "file_cost": 0.0, "bytes_transferred_cost": 0.000001256,
                "transform_cost": 0.000000002, "total_cost": 0.00000127},
        }])),
    ),
    security(("key" = []))
)]
#[deprecated]
pub(crate) async fn extract_contacts(
    State(api): State<Api>,
    Extension(account): Extension<Arc<Account>>,
    request: Request,
) -> Result<Response, ApiError> {
    let work = |request| pages(request, Pipeline::ExtractContacts);
    serve(&api, account, request, BODY_BYTES_MAX, work).await
}

#[utoipa::path(
    post,
    path = "/pipeline/label",
    summary = "Label pages",
    description = "Crawls and labels each page by topic: its entry has the result in `labels`. Deprecated.",
    request_body(content = ref("#/components/schemas/LabelRequest"), description = "The parameters of `/crawl` and of the pipeline",
        example = json!({"url": "http://sample.trawl.test/", "limit": 2, "labels": ["shop", "sailing", "documentation"]})),
    responses(
        (status = 200, description = "One entry per page, with `labels`", body = ref("#/components/schemas/CrawlAnswer"), example = json!([{
            "url": "https://example.com/", "status": 200, "content": "<!doctype html>", "error": null, "duration_elasped_ms": 84,
            "labels": {"labels": [{"label": "documentation", "confidence": 0.81, "reason": "`guide`, `reference`"}]},
            "costs": {"ai_cost": 0.0, "compute_cost": 0.000000012, "file_cost": 0.0, "bytes_transferred_cost": 0.000001256,
                "transform_cost": 0.000000002, "total_cost": 0.00000127},
        }])),
    ),
    security(("key" = []))
)]
#[deprecated]
pub(crate) async fn label(
    State(api): State<Api>,
    Extension(account): Extension<Arc<Account>>,
    request: Request,
) -> Result<Response, ApiError> {
    let work = |request| pages(request, Pipeline::Label);
    serve(&api, account, request, BODY_BYTES_MAX, work).await
}

#[utoipa::path(
    post,
    path = "/pipeline/crawl-text",
    summary = "Crawl the URLs in a text",
    description = "Takes text, markdown or HTML and crawls all URLs in it as one crawl, with one `limit` and one bill. `depth` is 0 by \
        default: only the pages at these URLs. Deprecated.",
    request_body(content = ref("#/components/schemas/CrawlTextRequest"), description = "The parameters of `/crawl` except `url`, and `text`",
        example = json!({"text": "See http://sample.trawl.test/tides and [the knots](http://sample.trawl.test/knots).", "limit": 10,
            "return_format": "markdown"})),
    responses(
        (status = 200, description = "One entry per page; an empty list if the text has no URL", body = ref("#/components/schemas/CrawlAnswer"),
            headers(("X-Left-Out" = String, description = "`urls=n`: the text has n URLs beyond the first 100,000, which are not crawled"))),
        (status = 400, description = "A parameter is invalid; the error starts with its name", body = ref("#/components/schemas/Error"),
            example = json!({"error": "text: is missing, send the text with the URLs in it"})),
        (status = 413, description = "The text exceeds 10,000,000 bytes", body = ref("#/components/schemas/Error"),
            example = json!({"error": "the request is too large, the limit is 10000000 bytes: split it"})),
    ),
    security(("key" = []))
)]
#[deprecated]
pub(crate) async fn crawl_text(
    State(api): State<Api>,
    Extension(account): Extension<Arc<Account>>,
    request: Request,
) -> Result<Response, ApiError> {
    let work = |request| pages(request, Pipeline::CrawlText);
    serve(&api, account, request, TEXT_BODY_BYTES_MAX, work).await
}

#[utoipa::path(
    post,
    path = "/pipeline/extract-qa",
    summary = "Extract questions and answers",
    description = "Crawls and returns question-answer pairs found on the pages, ranked by the prompt. Deprecated.",
    request_body(content = ref("#/components/schemas/ExtractQaRequest"), description = "One object: the parameters of `/crawl` and of the pipeline",
        example = json!({"url": "http://sample.trawl.test/", "limit": 4, "prompt": "What is the rule of twelfths?", "count": 5})),
    responses(
        (status = 200, description = "The best pairs of all pages", body = QaAnswer),
    ),
    security(("key" = []))
)]
#[deprecated]
pub(crate) async fn extract_qa(
    State(api): State<Api>,
    Extension(account): Extension<Arc<Account>>,
    request: Request,
) -> Result<Response, ApiError> {
    let work = |request| joined::<QaAnswer>(request, Pipeline::ExtractQa);
    serve(&api, account, request, BODY_BYTES_MAX, work).await
}

#[utoipa::path(
    post,
    path = "/pipeline/filter-links",
    summary = "Find relevant links",
    description = "Crawls and returns the links that are relevant to the prompt. Deprecated.",
    request_body(content = ref("#/components/schemas/FilterLinksRequest"), description = "One object: the parameters of `/crawl` and of the pipeline",
        example = json!({"url": "http://sample.trawl.test/", "limit": 2, "prompt": "knots"})),
    responses(
        (status = 200, description = "The relevant links of all pages", body = LinksAnswer),
    ),
    security(("key" = []))
)]
#[deprecated]
pub(crate) async fn filter_links(
    State(api): State<Api>,
    Extension(account): Extension<Arc<Account>>,
    request: Request,
) -> Result<Response, ApiError> {
    let work = |request| joined::<LinksAnswer>(request, Pipeline::FilterLinks);
    serve(&api, account, request, BODY_BYTES_MAX, work).await
}

/// Runs a pipeline that answers with the entries of its crawl.
async fn pages(request: ApiRequest, pipeline: Pipeline) -> Result<Response, ApiError> {
    let plan = move |request: &ApiRequest| start::plan(request, Verb::Pipeline(pipeline));
    let (planned, request) = request.planned(plan).await?;
    planned.run(request, None).await
}

/// Runs a pipeline that answers with the joined findings of its crawl.
async fn joined<A>(request: ApiRequest, pipeline: Pipeline) -> Result<Response, ApiError>
where
    A: Serialize + for<'r> From<&'r PipelineResult>,
{
    let format = request.format;
    let result = PipelineResult::of(request, pipeline).await?;
    let mut response = format.object(&A::from(&result))?;
    result.set_headers(&mut response);
    Ok(response)
}
