//! `POST /unlimited/…`: the same endpoints for accounts that pay monthly for concurrency.
//!
//! The checks run in this order: key (in the authentication layer), subscription, parameters, slot.
//! A repeated request whose response is stored comes before: it fetches nothing, so it needs
//! neither plan nor slot.
//! A request holds its slot until the last byte of its response: the slot is part of the body, so
//! it is also released on disconnect, error and panic.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Request, State};
use axum::response::Response;

use trawl_billing::{Account, Slot};
use trawl_model::Terms;
use trawl_wire::{PageEntry, Verb, refuse_ai};

use crate::Api;
use crate::crawls::start::{self, PlannedCrawls};
use crate::http::body::BODY_BYTES_MAX;
use crate::http::concurrency;
use crate::http::error::ApiError;
use crate::http::idempotency;
use crate::http::params::refuse_query;
use crate::http::request::{self, ApiRequest};
use crate::http::stream::holding;
use crate::pages::scrape::{self, PlannedPages};

#[utoipa::path(
    post,
    path = "/unlimited/scrape",
    summary = "Fetch pages under the Unlimited plan",
    description = "Like `/scrape`, under the Unlimited plan: pages cost nothing, and the account may have as many requests in flight as it \
        has seats, counted over the three routes of the plan. Any further request gets an immediate 429. AI parameters are refused: \
        `prompt`, `custom_prompt`, `extraction_prompt`, `extraction_schema`, `model`, `vision`, and every name that starts with \
        `openrouter`.",
    request_body(content = ref("#/components/schemas/ScrapeRequest"), description = "One request object, or an array of them",
        example = json!({"url": "http://sample.trawl.test/knots", "return_format": "markdown"})),
    responses(
        (status = 200, description = "One entry per page, with costs of 0", body = Vec<PageEntry>),
        (status = 400, description = "A parameter is invalid or not part of the plan; the error starts with its name", body = ref("#/components/schemas/Error"),
            example = json!({"error": "prompt: is not part of the Unlimited plan, which uses no AI: leave it out"})),
        (status = 403, description = "The account has no Unlimited subscription, or it is not active (`unlimited_plan_inactive`)", body = ref("#/components/schemas/Error"),
            example = json!({"error": "unlimited_plan_required"})),
        (status = 429, description = "All seats are in use, see `Retry-After`; or the rate limit is exceeded (`slow down`)", body = ref("#/components/schemas/Error"),
            example = json!({"error": "concurrency_limit_reached", "seats": 8, "active": 8})),
    ),
    security(("key" = []))
)]
pub(crate) async fn scrape(
    State(api): State<Api>,
    Extension(account): Extension<Arc<Account>>,
    request: Request,
) -> Response {
    serve(&api, account, request, Endpoint::Scrape).await
}

#[utoipa::path(
    post,
    path = "/unlimited/crawl",
    summary = "Crawl under the Unlimited plan",
    description = "Like `/crawl`, under the Unlimited plan, see `/unlimited/scrape`. The crawl holds one slot until the last byte of its \
        response; a background crawl holds it while it runs.",
    request_body(content = ref("#/components/schemas/CrawlRequest"), description = "One request object, or an array of them: each object is a crawl of its own, with its own limits",
        example = json!({"url": "http://sample.trawl.test/", "limit": 2})),
    responses(
        (status = 200, description = "One entry per page, with costs of 0", body = ref("#/components/schemas/CrawlAnswer")),
        (status = 400, description = "A parameter is invalid or not part of the plan; the error starts with its name", body = ref("#/components/schemas/Error"),
            example = json!({"error": "prompt: is not part of the Unlimited plan, which uses no AI: leave it out"})),
        (status = 403, description = "No active Unlimited subscription", body = ref("#/components/schemas/Error"), example = json!({"error": "unlimited_plan_inactive"})),
        (status = 429, description = "All seats are in use, see `Retry-After`", body = ref("#/components/schemas/Error"),
            example = json!({"error": "concurrency_limit_reached", "seats": 8, "active": 8})),
    ),
    security(("key" = []))
)]
pub(crate) async fn crawl(
    State(api): State<Api>,
    Extension(account): Extension<Arc<Account>>,
    request: Request,
) -> Response {
    serve(&api, account, request, Endpoint::Crawl).await
}

#[utoipa::path(
    post,
    path = "/unlimited/links",
    summary = "List links under the Unlimited plan",
    description = "Like `/links`, under the Unlimited plan, see `/unlimited/scrape`.",
    request_body(content = ref("#/components/schemas/LinksRequest"), description = "One request object, or an array of them",
        example = json!({"url": "http://sample.trawl.test/", "limit": 1})),
    responses(
        (status = 200, description = "One entry per page, with costs of 0", body = ref("#/components/schemas/CrawlAnswer")),
        (status = 400, description = "A parameter is invalid or not part of the plan; the error starts with its name", body = ref("#/components/schemas/Error"),
            example = json!({"error": "prompt: is not part of the Unlimited plan, which uses no AI: leave it out"})),
        (status = 403, description = "No active Unlimited subscription", body = ref("#/components/schemas/Error"), example = json!({"error": "unlimited_plan_inactive"})),
        (status = 429, description = "All seats are in use, see `Retry-After`", body = ref("#/components/schemas/Error"),
            example = json!({"error": "concurrency_limit_reached", "seats": 8, "active": 8})),
    ),
    security(("key" = []))
)]
pub(crate) async fn links(
    State(api): State<Api>,
    Extension(account): Extension<Arc<Account>>,
    request: Request,
) -> Response {
    serve(&api, account, request, Endpoint::Links).await
}

/// The endpoints of the plan.
#[derive(Clone, Copy)]
enum Endpoint {
    Scrape,
    Crawl,
    Links,
}

impl Endpoint {
    fn plan(self, request: &ApiRequest) -> Result<Planned, ApiError> {
        Ok(match self {
            Self::Scrape => Planned::Pages(scrape::plan(request, Verb::Scrape)?),
            Self::Crawl => Planned::Crawls(start::plan(request, Verb::Scrape)?),
            Self::Links => Planned::Crawls(start::plan(request, Verb::Links)?),
        })
    }
}

/// A request that is planned and not started yet.
enum Planned {
    Pages(PlannedPages),
    Crawls(PlannedCrawls),
}

impl Planned {
    /// Whether it may have been started by an earlier try of the request, and still run.
    fn may_run_already(&self) -> bool {
        match self {
            Self::Pages(_) => false,
            Self::Crawls(crawls) => crawls.are_in_background(),
        }
    }

    /// Runs it with this slot. Crawls that run already need none.
    async fn run(
        self,
        request: ApiRequest,
        slot: Result<Arc<Slot>, ApiError>,
    ) -> Result<Response, ApiError> {
        match (self, slot) {
            (Self::Pages(pages), slot) => {
                let _held = slot?;
                pages.run(request).await
            }
            (Self::Crawls(crawls), Ok(slot)) => crawls.run(request, Some(slot)).await,
            (Self::Crawls(crawls), Err(refused)) => match crawls.have_begun(&request).await? {
                true => crawls.run(request, None).await,
                false => Err(refused),
            },
        }
    }
}

async fn serve(api: &Api, account: Arc<Account>, request: Request, endpoint: Endpoint) -> Response {
    let served = try_serve(api, Arc::clone(&account), request, endpoint).await;
    served.unwrap_or_else(|error| concurrency::refused(api, &account, error))
}

async fn try_serve(
    api: &Api,
    account: Arc<Account>,
    request: Request,
    endpoint: Endpoint,
) -> Result<Response, ApiError> {
    let billing = &api.rooms.billing;
    // A request without a key repeats no other: its body is only read if the account has a plan.
    let may_be_repeated = idempotency::key(request.headers())?.is_some();
    if !may_be_repeated {
        billing.unlimited(&account.id).await?;
    }
    refuse_query(request.method(), request.uri())?;
    let (payer, terms) = (Arc::clone(&account), Terms::Unlimited);
    let mut received = request::receive(api, payer, request, BODY_BYTES_MAX, terms).await?;
    if let Some(mut response) = received.replayed().await? {
        let count = billing.slots(&account.id);
        concurrency::set_headers(response.headers_mut(), count.seats, count.active);
        return Ok(response);
    }
    if may_be_repeated {
        billing.unlimited(&account.id).await?;
    }
    let plan = move |request: &ApiRequest| {
        refuse_ai(&request.body)?;
        endpoint.plan(request)
    };
    let (planned, request) = received.request.planned(plan).await?;
    received.request = request;
    let slot = match take_slot(api, &account).await {
        Err(refused) if !(may_be_repeated && planned.may_run_already()) => return Err(refused),
        slot => slot.map(Arc::new),
    };
    let held = slot.as_ref().ok().cloned();
    // With an idempotency key the work continues after a disconnect, so it holds the slot itself.
    let held_by_work = held.clone();
    let work = move |request: ApiRequest| async move {
        let response = planned.run(request, slot).await?;
        Ok::<_, ApiError>(holding(response, held_by_work))
    };
    let mut response = received.serve(work).await?;
    let count = billing.slots(&account.id);
    concurrency::set_headers(response.headers_mut(), count.seats, count.active);
    Ok(holding(response, held))
}

/// Takes a slot without waiting.
async fn take_slot(api: &Api, account: &Account) -> Result<Slot, ApiError> {
    let billing = &api.rooms.billing;
    match billing.take_slot(&account.id) {
        Ok(slot) => Ok(slot),
        Err(count) => {
            if count.seats == 0 {
                // The subscription ended since the first check.
                billing.unlimited(&account.id).await?;
            }
            Err(ApiError::NoSeat(count.seats, count.active))
        }
    }
}
