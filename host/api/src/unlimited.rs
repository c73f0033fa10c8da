//! `POST /unlimited/…`: the plain routes for accounts that pay by the month for requests in flight.
//!
//! The checks come in an order: key (the layer before), plan, parameters, slot. What passes them holds its slot to the last
//! byte of its answer: the slot is in the body, so hanging up, an error and a panic free it as well.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};

use super::error::ApiError;
use super::post::{self, ApiRequest};
use super::stream::holding;
use super::{Api, crawl, scrape};
use trawl_billing::{Account, Slot};
use trawl_model::Terms;
use trawl_wire::Entry;
use trawl_wire::{ScrapeRequest, Verb, refuse_ai};

/// What all paths begin with.
const PREFIX: &str = "/unlimited/";
const LIMIT: &str = "x-concurrency-limit";
const ACTIVE: &str = "x-concurrency-active";

#[utoipa::path(
    post,
    path = "/unlimited/scrape",
    description = "As `/scrape`, under the Unlimited plan: pages cost nothing, and as many requests may be in flight at once as the \
        account has seats, over the three routes of the plan together. A request beyond them is refused at once. Parameters of \
        AI are refused: `prompt`, `custom_prompt`, `extraction_prompt`, `extraction_schema`, `model`, `vision`, and whatever \
        begins with `openrouter`.",
    request_body(content = ScrapeRequest, description = "One request object, or an array of them",
        example = json!({"url": "http://sample.trawl.test/knots", "return_format": "markdown"})),
    responses(
        (status = 200, description = "One entry a page, with costs of 0", body = Vec<Entry>, headers(
            ("X-Concurrency-Limit" = u32, description = "Seats of the account"),
            ("X-Concurrency-Active" = u32, description = "Requests in flight, this one included"),
        )),
        (status = 400, description = "A parameter is wrong or not part of the plan; the text begins with its name",
            example = json!({"error": "prompt: is not part of the Unlimited plan, which uses no AI: leave it out"})),
        (status = 403, description = "The account has no Unlimited subscription, or it is not active (`unlimited_plan_inactive`)",
            example = json!({"error": "unlimited_plan_required"})),
        (status = 429, description = "All seats are in use, see `Retry-After`; or too many requests a minute (`slow down`)",
            headers(
                ("X-Concurrency-Limit" = u32, description = "Seats of the account"),
                ("X-Concurrency-Active" = u32, description = "Requests in flight"),
                ("Retry-After" = u32, description = "Seconds"),
            ),
            example = json!({"error": "concurrency_limit_reached", "seats": 8, "active": 8})),
    ),
    security(("key" = []))
)]
pub(super) async fn scrape(
    State(api): State<Api>,
    Extension(account): Extension<Arc<Account>>,
    request: Request,
) -> Response {
    serve(&api, account, request, FlatRateRoute::Scrape).await
}

#[utoipa::path(
    post,
    path = "/unlimited/crawl",
    description = "As `/crawl`, under the Unlimited plan, see `/unlimited/scrape`. The crawl holds one slot to the last byte of its \
        answer; in the background for as long as it runs.",
    request_body(content = ScrapeRequest, description = "One request object, or an array of them: each seed is a crawl of its own",
        example = json!({"url": "http://sample.trawl.test/", "limit": 2})),
    responses(
        (status = 200, description = "One entry a page, with costs of 0", body = Vec<Entry>),
        (status = 400, description = "A parameter is wrong or not part of the plan; the text begins with its name"),
        (status = 403, description = "No Unlimited subscription that is active", example = json!({"error": "unlimited_plan_inactive"})),
        (status = 429, description = "All seats are in use, see `Retry-After`",
            example = json!({"error": "concurrency_limit_reached", "seats": 8, "active": 8})),
    ),
    security(("key" = []))
)]
pub(super) async fn crawl(
    State(api): State<Api>,
    Extension(account): Extension<Arc<Account>>,
    request: Request,
) -> Response {
    serve(&api, account, request, FlatRateRoute::Crawl).await
}

#[utoipa::path(
    post,
    path = "/unlimited/links",
    description = "As `/links`, under the Unlimited plan, see `/unlimited/scrape`.",
    request_body(content = ScrapeRequest, description = "One request object, or an array of them",
        example = json!({"url": "http://sample.trawl.test/", "limit": 1})),
    responses(
        (status = 200, description = "One entry a page, with costs of 0", body = Vec<Entry>),
        (status = 400, description = "A parameter is wrong or not part of the plan; the text begins with its name"),
        (status = 403, description = "No Unlimited subscription that is active", example = json!({"error": "unlimited_plan_inactive"})),
        (status = 429, description = "All seats are in use, see `Retry-After`",
            example = json!({"error": "concurrency_limit_reached", "seats": 8, "active": 8})),
    ),
    security(("key" = []))
)]
pub(super) async fn links(
    State(api): State<Api>,
    Extension(account): Extension<Arc<Account>>,
    request: Request,
) -> Response {
    serve(&api, account, request, FlatRateRoute::Links).await
}

/// What is asked for.
#[derive(Clone, Copy)]
enum FlatRateRoute {
    Scrape,
    Crawl,
    Links,
}

/// What is asked for, planned and not begun.
enum Planned {
    Pages(scrape::Planned),
    Crawls(crawl::Planned),
}

impl FlatRateRoute {
    fn planned(self, posted: &ApiRequest) -> Result<Planned, ApiError> {
        Ok(match self {
            Self::Scrape => Planned::Pages(scrape::planned(posted, Verb::Scrape)?),
            Self::Crawl => Planned::Crawls(crawl::planned(posted, Verb::Scrape)?),
            Self::Links => Planned::Crawls(crawl::planned(posted, Verb::Links)?),
        })
    }
}

impl Planned {
    async fn run(self, posted: ApiRequest, slot: Arc<Slot>) -> Result<Response, ApiError> {
        match self {
            Self::Pages(pages) => pages.run().await,
            Self::Crawls(crawls) => crawls.run(posted, Some(slot)).await,
        }
    }
}

async fn serve(
    api: &Api,
    account: Arc<Account>,
    request: Request,
    wish: FlatRateRoute,
) -> Response {
    let served = admitted(api, Arc::clone(&account), request, wish).await;
    served.unwrap_or_else(|error| refused(api, &account, error))
}

async fn admitted(
    api: &Api,
    account: Arc<Account>,
    request: Request,
    wish: FlatRateRoute,
) -> Result<Response, ApiError> {
    api.service.billing().unlimited(&account.id).await?;
    let received = post::receive(
        api,
        Arc::clone(&account),
        request,
        scrape::BODY_BYTES_MAX,
        Terms::Unlimited,
    )
    .await?;
    refuse_ai(&received.posted.body)?;
    let planned = wish.planned(&received.posted)?;
    let slot = Arc::new(slot(api, &account).await?);
    // Under an idempotency key the work goes on without its caller, so it holds the slot by itself.
    let held = Arc::clone(&slot);
    let work = move |posted: ApiRequest| async move {
        let response = planned.run(posted, Arc::clone(&held)).await?;
        Ok::<_, ApiError>(holding(response, held))
    };
    let mut response = received.answer(work).await?;
    let count = slot.count();
    tell(count.seats, count.active, response.headers_mut());
    Ok(holding(response, slot))
}

/// Takes a slot at once or not at all.
async fn slot(api: &Api, account: &Account) -> Result<Slot, ApiError> {
    let billing = api.service.billing();
    match billing.take_slot(&account.id) {
        Ok(slot) => Ok(slot),
        Err(count) => {
            if count.seats == 0 {
                // Stopped since it was asked.
                billing.unlimited(&account.id).await?;
            }
            Err(ApiError::NoSeat(count.seats, count.active))
        }
    }
}

/// The answer to a request that got no slot, or failed with one. Spec S24.
fn refused(api: &Api, account: &Account, error: ApiError) -> Response {
    let count = match error {
        ApiError::NoSeat(seats, active) => (seats, active),
        _ => {
            let count = api.service.billing().slots(&account.id);
            (count.seats, count.active)
        }
    };
    let mut response = error.into_response();
    if response.status() == StatusCode::TOO_MANY_REQUESTS {
        tell(count.0, count.1, response.headers_mut());
    }
    response
}

/// The answer of the layer before to a key that asks too often, on a path of this file or any other.
pub(super) fn slow_down(api: &Api, account: &Account, path: &str, seconds: u64) -> Response {
    let error = ApiError::SlowDown(seconds);
    let path = path.strip_prefix("/v1").unwrap_or(path);
    match path.starts_with(PREFIX) {
        true => refused(api, account, error),
        false => error.into_response(),
    }
}

fn tell(seats: u32, active: u32, headers: &mut HeaderMap) {
    headers.insert(LIMIT, HeaderValue::from(seats));
    headers.insert(ACTIVE, HeaderValue::from(active));
}
