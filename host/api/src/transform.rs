//! `POST /transform`: outputs of pages that the caller hands in.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Request, State};
use axum::response::Response;
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::Api;
use super::error::ApiError;
use super::post::{self, ApiRequest};
use super::scrape::tell_ignored;
use trawl_billing::Account;
use trawl_engine::page::PageOutcome;
use trawl_model::{Charge, Fields};
use trawl_wire::ContentForm;
use trawl_wire::{Costs, TransformRequest, transform_plan};

/// Most bytes of the body: as lists of byte values the 10 MB of the sources take several times as much.
const BODY_BYTES_MAX: usize = 64_000_000;

/// Answer of `/transform`.
#[derive(Serialize, ToSchema)]
#[schema(as = TransformAnswer)]
pub(super) struct Transformed<'a> {
    /// One content a page, as in a page entry.
    #[schema(value_type = Vec<String>)]
    content: Vec<ContentForm<'a>>,
    /// Metadata of each page, when asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<Object>>)]
    metadata: Option<Vec<Option<&'a Map<String, Value>>>>,
    /// Links of each page, when asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<Vec<String>>>)]
    links: Option<Vec<Option<&'a Value>>>,
    /// Structured data of each page, when asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<Object>>)]
    json_data: Option<Vec<Option<&'a Value>>>,
    /// Values by field of the selector map for each page, when there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<Object>>)]
    css_extracted: Option<Vec<Option<&'a Value>>>,
    /// Results of extractors asked for by name for each page.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<Object>>)]
    extracted: Option<Vec<Option<&'a Map<String, Value>>>>,
    /// What it costs.
    cost: &'a Costs,
    /// The same.
    costs: &'a Costs,
    /// Why the first page that failed did; null when none failed.
    error: Option<&'a str>,
    /// Always 200.
    status: u16,
}

#[utoipa::path(
    post,
    path = "/transform",
    description = "Makes formats and fields of HTML that is sent along; nothing is fetched. Fields are lists beside `content`, an item \
        a page; an item is null when the page failed.",
    request_body(content = TransformRequest,
        example = json!({"data": [{"html": "<h1>Hello</h1><p>World</p>", "url": "https://example.com/"}], "return_format": "markdown"})),
    responses(
        (status = 200, description = "The contents in the order of `data`", body = Transformed),
        (status = 413, description = "The pages have more than 10,000,000 bytes together"),
    ),
    security(("key" = []))
)]
pub(super) async fn transform(
    State(api): State<Api>,
    Extension(account): Extension<Arc<Account>>,
    request: Request,
) -> Result<Response, ApiError> {
    post::serve(&api, account, request, BODY_BYTES_MAX, transformed).await
}

async fn transformed(posted: ApiRequest) -> Result<Response, ApiError> {
    let run = posted.begin_run();
    let mut plan = transform_plan(&posted.body, run.catalog())?;
    let ignored = std::mem::take(&mut plan.ignored);
    let outcomes = run.transform(plan).await?;
    let costs = Costs::new(&whole_charge(&outcomes), None);
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
        error: outcomes.iter().find_map(|outcome| outcome.error.as_deref()),
        status: 200,
    };
    let mut response = posted.form.one(&answer)?;
    tell_ignored(&ignored, &mut response);
    Ok(response)
}

/// One field of every page; `None` when no page has it.
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

fn whole_charge(outcomes: &[PageOutcome]) -> Charge {
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
