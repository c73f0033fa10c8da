//! `POST /transform`: outputs of HTML that the client sends.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Request, State};
use axum::response::Response;
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use trawl_billing::Account;
use trawl_model::outcome::PageOutcome;
use trawl_model::{Charge, Fields};
use trawl_wire::{ContentForm, Costs, transform_plan};

use crate::Api;
use crate::http::error::ApiError;
use crate::http::headers;
use crate::http::request::{ApiRequest, serve};

/// Maximum size of the body: sent as lists of byte values, 10 MB of HTML take several times as
/// much.
const BODY_BYTES_MAX: usize = 64_000_000;

/// Response of `/transform`.
#[derive(Serialize, ToSchema)]
#[schema(as = TransformAnswer)]
pub(crate) struct Transformed<'a> {
    /// The content of each page, as in a page entry.
    #[schema(value_type = Vec<String>)]
    content: Vec<ContentForm<'a>>,
    /// Metadata of each page, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<Object>>)]
    metadata: Option<Vec<Option<&'a Map<String, Value>>>>,
    /// Links of each page, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<Vec<String>>>)]
    links: Option<Vec<Option<&'a Value>>>,
    /// Structured data of each page, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<Object>>)]
    json_data: Option<Vec<Option<&'a Value>>>,
    /// Values of each page by field of the selector map, if the request has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<Object>>)]
    css_extracted: Option<Vec<Option<&'a Value>>>,
    /// Results of the requested extractors for each page, by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<Object>>)]
    extracted: Option<Vec<Option<&'a Map<String, Value>>>>,
    /// Costs of the request.
    cost: &'a Costs,
    /// The same as `cost`.
    costs: &'a Costs,
    /// Error of the first page that failed; null if none failed.
    error: Option<&'a str>,
    /// What went wrong with that page, as a name.
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<&'static str>,
    /// Always 200.
    status: u16,
}

#[utoipa::path(
    post,
    path = "/transform",
    summary = "Convert HTML",
    description = "Converts HTML from the request body into the requested formats and fields; nothing is fetched. Each field is a \
        list like `content`, with one item per page; the item of a page that failed is null.",
    request_body(content = ref("#/components/schemas/TransformRequest"),
        example = json!({"data": [{"html": "<h1>Hello</h1><p>World</p>", "url": "https://example.com/"}], "return_format": "markdown"})),
    responses(
        (status = 200, description = "The contents in the order of `data`", body = Transformed),
        (status = 413, description = "The pages exceed 10,000,000 bytes in total", body = ref("#/components/schemas/Error"),
            example = json!({"error": "the request is too large, the limit is 10000000 bytes: split it"})),
    ),
    security(("key" = []))
)]
pub(crate) async fn transform(
    State(api): State<Api>,
    Extension(account): Extension<Arc<Account>>,
    request: Request,
) -> Result<Response, ApiError> {
    serve(&api, account, request, BODY_BYTES_MAX, transform_pages).await
}

async fn transform_pages(request: ApiRequest) -> Result<Response, ApiError> {
    let plan = |request: &ApiRequest| {
        let snapshot = request.api.service.snapshot();
        let plan = transform_plan(&request.body, &request.asking(&snapshot))?;
        Ok::<_, ApiError>((snapshot.registry, plan))
    };
    let ((registry, mut plan), request) = request.planned(plan).await?;
    let ignored = std::mem::take(&mut plan.ignored);
    let run = request.run_with(registry);
    let outcomes = request.api.service.transform(run, plan).await?;
    let costs = Costs::new(&total_charge(&outcomes), None);
    let failure = outcomes.iter().find_map(|outcome| outcome.error.as_ref());
    let answer = Transformed {
        content: outcomes
            .iter()
            .map(|outcome| ContentForm(&outcome.content))
            .collect(),
        metadata: column(&outcomes, |fields| fields.metadata.as_ref()),
        links: column(&outcomes, |fields| fields.links.as_ref()),
        json_data: column(&outcomes, |fields| fields.json_data.as_ref()),
        css_extracted: column(&outcomes, |fields| fields.css_extracted.as_ref()),
        extracted: column(&outcomes, |fields| fields.extracted.as_ref()),
        cost: &costs,
        costs: &costs,
        error: failure.map(|failure| failure.message.as_str()),
        cause: failure.map(|failure| failure.cause.name()),
        status: 200,
    };
    let mut response = request.format.object(&answer)?;
    headers::set_ignored_parameters(&mut response, &ignored);
    Ok(response)
}

/// One field of all pages; `None` if no page has it.
fn column<'a, T>(
    outcomes: &'a [PageOutcome],
    field: impl Fn(&'a Fields) -> Option<&'a T>,
) -> Option<Vec<Option<&'a T>>> {
    let column: Vec<_> = outcomes
        .iter()
        .map(|outcome| field(&outcome.fields))
        .collect();
    column.iter().any(Option::is_some).then_some(column)
}

fn total_charge(outcomes: &[PageOutcome]) -> Charge {
    outcomes.iter().fold(Charge::default(), |sum, outcome| {
        let charge = &outcome.charge;
        Charge {
            ai: sum.ai + charge.ai,
            compute: sum.compute + charge.compute,
            file: sum.file + charge.file,
            bytes_transferred: sum.bytes_transferred + charge.bytes_transferred,
            transform: sum.transform + charge.transform,
            vendor_billed: sum.vendor_billed + charge.vendor_billed,
        }
    })
}
