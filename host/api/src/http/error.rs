//! Error responses: the single conversion from errors to status codes and JSON bodies.

use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use trawl_billing::{BillingError, Cap, FundsError, SubscriptionError};
use trawl_control::ControlError;
use trawl_crawl::CrawlError;
use trawl_engine::search::SearchError;
use trawl_store::{StorageRefusal, StoreError};
use trawl_wire::RequestError;

/// What to do if the balance is too low.
const TOP_UP: &str = "`GET /data/credits` shows the balance; the operator tops it up with `trawl \
                      account top-up`, or with `POST /admin/accounts/{account}/top-ups`";
/// What to do if the ceiling of a run is too low.
const RAISE_CEILING: &str = "raise `max_credits_allowed`";
/// The same for the budget of a key.
const RAISE_BUDGET: &str = "`GET /account/keys` shows the budgets; raise it with `PUT \
                            /account/keys/{prefix}/budget` and a key without one, or use another key";

/// Why a key with a budget is refused where the account is changed, and what to do.
pub(crate) const KEY_HAS_BUDGET: &str = "the key of this request has a monthly budget, so it changes \
                                         nothing of the account: use a key without one (`GET \
                                         /account/keys` shows them), or ask the operator";

/// That the account has no such crawl.
pub(crate) const NO_CRAWL: &str =
    "no crawl has this id, or it ended more than 7 days ago: `GET /crawl` lists the crawls";
/// That the account has no such batch.
pub(crate) const NO_BATCH: &str =
    "no batch has this id, or it ended more than 7 days ago: `GET /batch` lists the batches";
/// All that is said of a bug or of a store that failed.
pub(crate) const INTERNAL: &str = "internal error, the request was not completed: try again; if it \
                                   repeats, tell the operator the `X-Request-Id`";
/// What to do where no search service is configured.
const NO_SEARCH: &str = "this server does not offer web search: the operator names a search service under \
                         `[search]` in trawl.toml, `backends = [\"searxng\"]`, or gives one of \
                         plugins.toml its key; the URLs of pages go to `/scrape`";
/// That a server accepts no more requests.
pub(crate) const SHUTTING_DOWN: &str = "the server is shutting down: send the request again";

/// Why a request failed. Decision D73.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ApiError {
    /// The request is invalid.
    Invalid(String),
    /// The key does not open the endpoint.
    Key(KeyRefusal),
    /// The balance, or a ceiling, does not cover the request: why, and what to do.
    Funds(String, &'static str),
    /// AI endpoints need a subscription that this server does not offer.
    AiSubscription,
    /// The account has no Unlimited subscription. Spec S26.
    PlanRequired,
    /// The account's Unlimited subscription is not active. Spec S26.
    PlanInactive,
    /// The key has a budget, and so may not change the account. Decision D440.
    KeyHasBudget,
    /// All seats are in use: seats of the account, requests in flight.
    NoSeat(u32, u32),
    /// No such path; the endpoint that may be meant.
    NotFound(Option<String>),
    /// What the request names does not exist.
    Unknown(String),
    /// The state of what the request names does not allow the operation.
    Taken(String),
    /// The account has no such crawl.
    NoCrawl,
    /// The path does not support this method; those that it supports, as a list for people.
    Method(Arc<str>),
    /// The body took too long to arrive.
    SlowBody,
    /// The request conflicts with another one.
    Conflict(&'static str),
    /// The body, or a field of it, exceeds this number of bytes.
    TooLarge(usize),
    /// The `Content-Type` is not JSON.
    MediaType,
    /// The rate limit is exceeded; seconds until it resets.
    SlowDown(u64),
    /// A limit of the account is reached: which, what is used of it and what to do; seconds until
    /// another try is useful.
    AtLimit(String, u64),
    /// Nothing more may be stored: why, and what to do.
    Storage(String),
    /// A bug, or the store failed; the cause is in the log.
    Internal,
    /// The endpoint is part of the interface but not available: what is missing, and what to do.
    NotImplemented(String),
    /// A search service that was asked failed: which, and how.
    SearchFailed(String),
    /// The server accepts no work at the moment.
    Busy(&'static str),
}

/// Why a key does not open an endpoint. Decision D227.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyRefusal {
    /// The request has no key.
    Missing,
    /// The header has another scheme than `Bearer`.
    Scheme,
    /// Unknown API key.
    Unknown,
    /// The admin key, where an account is needed.
    OfAdmin,
    /// An account's key, where the admin key is needed.
    OfAccount,
}

impl KeyRefusal {
    /// What to do about it.
    const fn hint(self) -> &'static str {
        match self {
            Self::Missing => "the request has no key: send `Authorization: Bearer KEY`",
            Self::Scheme => {
                "the header has another scheme than `Bearer`, for example `Basic`: send \
                 `Authorization: Bearer KEY`"
            }
            Self::Unknown => {
                "the key is unknown or revoked: check that it is complete, or create another one"
            }
            Self::OfAdmin => {
                "this is the admin key, which has no account: send the key of an account"
            }
            Self::OfAccount => "this is the key of an account: this endpoint needs the admin key",
        }
    }
}

impl ApiError {
    /// The refusal of a request whose account has held its share of the memory for too long.
    pub(crate) fn no_memory() -> Self {
        let reason = "memory: the account holds its share of the server's memory: read its answers, wait for the ends of its requests, or send fewer large ones at once";
        Self::AtLimit(reason.to_owned(), 1)
    }

    fn status(&self) -> StatusCode {
        match self {
            Self::Invalid(_) => StatusCode::BAD_REQUEST,
            Self::Key(_) => StatusCode::UNAUTHORIZED,
            Self::Funds(..) | Self::AiSubscription => StatusCode::PAYMENT_REQUIRED,
            Self::PlanRequired | Self::PlanInactive | Self::KeyHasBudget => StatusCode::FORBIDDEN,
            Self::NotFound(_) | Self::NoCrawl | Self::Unknown(_) => StatusCode::NOT_FOUND,
            Self::Method(_) => StatusCode::METHOD_NOT_ALLOWED,
            Self::SlowBody => StatusCode::REQUEST_TIMEOUT,
            Self::Conflict(_) | Self::Taken(_) => StatusCode::CONFLICT,
            Self::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::MediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::SlowDown(_) | Self::NoSeat(..) | Self::AtLimit(..) => {
                StatusCode::TOO_MANY_REQUESTS
            }
            Self::Storage(_) => StatusCode::INSUFFICIENT_STORAGE,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
            Self::NotImplemented(_) => StatusCode::NOT_IMPLEMENTED,
            Self::SearchFailed(_) => StatusCode::BAD_GATEWAY,
            Self::Busy(_) => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Invalid(reason)
            | Self::Funds(reason, _)
            | Self::Unknown(reason)
            | Self::AtLimit(reason, _)
            | Self::Storage(reason)
            | Self::NotImplemented(reason)
            | Self::Taken(reason) => reason.clone(),
            Self::SearchFailed(reason) => format!("the search service failed: {reason}"),
            Self::Key(_) => "invalid api key".to_owned(),
            Self::AiSubscription => "ai_subscription_required".to_owned(),
            Self::PlanRequired => "unlimited_plan_required".to_owned(),
            Self::PlanInactive => "unlimited_plan_inactive".to_owned(),
            Self::KeyHasBudget => KEY_HAS_BUDGET.to_owned(),
            Self::NoSeat(..) => "concurrency_limit_reached".to_owned(),
            Self::NotFound(None) => "no such endpoint, see /openapi.json".to_owned(),
            Self::NotFound(Some(meant)) => {
                format!("no such endpoint, did you mean `{meant}`? /openapi.json lists all")
            }
            Self::NoCrawl => NO_CRAWL.to_owned(),
            Self::Method(served) => {
                format!("this endpoint does not support this method: use {served}")
            }
            Self::SlowBody => {
                "timed out reading the request body, send it without pauses".to_owned()
            }
            Self::Conflict(reason) | Self::Busy(reason) => (*reason).to_owned(),
            Self::TooLarge(bytes_max) => {
                format!("the request is too large, the limit is {bytes_max} bytes: split it")
            }
            Self::MediaType => "send a JSON body with `Content-Type: application/json`".to_owned(),
            Self::SlowDown(_) => "slow down".to_owned(),
            Self::Internal => INTERNAL.to_owned(),
        }
    }

    fn body(&self) -> String {
        let text = self.text();
        match self {
            // Decision D97.
            Self::NoSeat(seats, active) => {
                format!("{{\"error\":\"{text}\",\"seats\":{seats},\"active\":{active}}}")
            }
            _ => match self.hint() {
                Some(hint) => json!({ "error": text, "hint": hint }).to_string(),
                None => json!({ "error": text }).to_string(),
            },
        }
    }

    /// What to do, where the interface fixes the text of the error. That of a 403 of the Unlimited
    /// plan is the whole body. Decisions D227 and D431.
    fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Key(refusal) => Some(refusal.hint()),
            Self::Funds(_, hint) => Some(*hint),
            Self::AiSubscription => Some(
                "this server has no AI endpoints: use `/scrape` and `/crawl`, or the pipelines below \
                 `/pipeline`",
            ),
            _ => None,
        }
    }

    fn header(&self) -> Option<(HeaderName, HeaderValue)> {
        match self {
            Self::Key(_) => Some((header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))),
            Self::SlowDown(seconds) | Self::AtLimit(_, seconds) => {
                Some((header::RETRY_AFTER, HeaderValue::from(*seconds)))
            }
            Self::Busy(_) | Self::NoSeat(..) => {
                Some((header::RETRY_AFTER, HeaderValue::from_static("1")))
            }
            Self::Invalid(_)
            | Self::Funds(..)
            | Self::AiSubscription
            | Self::PlanRequired
            | Self::PlanInactive
            | Self::KeyHasBudget
            | Self::NotFound(_)
            | Self::NoCrawl
            | Self::Unknown(_)
            | Self::Taken(_)
            | Self::Method(_)
            | Self::SlowBody
            | Self::Conflict(_)
            | Self::TooLarge(_)
            | Self::MediaType
            | Self::Storage(_)
            | Self::Internal
            | Self::NotImplemented(_)
            | Self::SearchFailed(_) => None,
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let body = self.body();
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = self.status();
        let json = HeaderValue::from_static("application/json");
        response.headers_mut().insert(header::CONTENT_TYPE, json);
        if let Some((name, value)) = self.header() {
            response.headers_mut().insert(name, value);
        }
        response
    }
}

impl From<RequestError> for ApiError {
    fn from(error: RequestError) -> Self {
        match error {
            RequestError::Wire(error) => Self::Invalid(error.to_string()),
            RequestError::Plan(error) => Self::Invalid(error.to_string()),
            RequestError::NotInPlan(_) => Self::Invalid(error.to_string()),
            RequestError::NotLoaded(analyst) => Self::NotImplemented(format!(
                "this server does not offer this endpoint: its plugin `{analyst}` is not loaded: the \
                 operator adds it to `plugins.toml`"
            )),
            RequestError::TooLarge(bytes_max) => Self::TooLarge(bytes_max),
        }
    }
}

impl From<FundsError> for ApiError {
    fn from(error: FundsError) -> Self {
        let lack = |hint| Self::Funds(error.to_string(), hint);
        match &error {
            FundsError::Empty => lack(TOP_UP),
            FundsError::KeySpent(_) => lack(RAISE_BUDGET),
            FundsError::AllHeld => {
                lack("wait for the pages in flight to end, or top up the account")
            }
            FundsError::Short(shortfall) => lack(match shortfall.cap {
                Cap::Balance => TOP_UP,
                Cap::Page => "raise `max_credits_per_page`",
                Cap::Run => RAISE_CEILING,
                Cap::Key(_) => RAISE_BUDGET,
            }),
            FundsError::CeilingReached => lack(RAISE_CEILING),
            FundsError::UnknownAccount => Self::Key(KeyRefusal::Unknown),
            FundsError::Busy => Self::Busy("too many pages are in flight, try again"),
        }
    }
}

impl From<BillingError> for ApiError {
    fn from(error: BillingError) -> Self {
        let field = |name: &str| Self::Invalid(format!("{name}: {error}"));
        match error {
            BillingError::BadIdempotencyKey { .. } => Self::Invalid(error.to_string()),
            BillingError::BadName { .. } | BillingError::BadKeyName { .. } => field("name"),
            BillingError::BadAmount { .. } => field("dollars"),
            BillingError::BadTopUpId { .. } => field("id"),
            BillingError::BadSeats { .. } => field("seats"),
            BillingError::BadThreshold { .. } => field("low_balance_dollars"),
            BillingError::BadBudget { .. } => field("monthly_budget"),
            BillingError::UnknownAccount { .. } | BillingError::UnknownKey { .. } => {
                Self::Unknown(error.to_string())
            }
            BillingError::NameTaken { .. }
            | BillingError::IdTaken { .. }
            | BillingError::NoSubscription { .. } => Self::Taken(error.to_string()),
            BillingError::NotCovered { .. } => Self::Funds(error.to_string(), TOP_UP),
            BillingError::Store(StoreError::Memory(_)) => Self::no_memory(),
            BillingError::OutgrewCeiling { .. }
            | BillingError::Unavailable
            | BillingError::Store(_)
            | BillingError::Random(_) => {
                tracing::error!(error = %error, "billing failed");
                Self::Internal
            }
        }
    }
}

impl From<ControlError> for ApiError {
    fn from(error: ControlError) -> Self {
        match error {
            ControlError::Billing(error) => error.into(),
            ControlError::Field { .. } => Self::Invalid(error.to_string()),
            ControlError::Refused(_)
            | ControlError::NoAnswer { .. }
            | ControlError::Socket { .. }
            | ControlError::Broken(_)
            | ControlError::Version(_)
            | ControlError::Store(_) => {
                tracing::error!(error = %error, "an admin request failed");
                Self::Internal
            }
        }
    }
}

impl From<CrawlError> for ApiError {
    fn from(error: CrawlError) -> Self {
        match error {
            CrawlError::Unknown => Self::NoCrawl,
            CrawlError::Funds(error) => error.into(),
            CrawlError::TooManyBytes(full) => Self::AtLimit(full.to_string(), 60),
            CrawlError::TooMany(full) => Self::AtLimit(full.to_string(), 60),
            CrawlError::WebhooksFull(full) => Self::AtLimit(full.to_string(), 60),
            CrawlError::Storage(refusal) => refusal.into(),
            CrawlError::NotParked(_) => Self::Taken(error.to_string()),
            CrawlError::Plan(reason) => Self::Invalid(reason),
            CrawlError::NoPlan(error) => error.into(),
            CrawlError::Store(error) => error.into(),
            CrawlError::Random => {
                tracing::error!(error = %error, "a crawl request failed");
                Self::Internal
            }
        }
    }
}

impl From<StorageRefusal> for ApiError {
    fn from(refusal: StorageRefusal) -> Self {
        match refusal {
            StorageRefusal::DiskLow | StorageRefusal::Quota { .. } => {
                Self::Storage(refusal.to_string())
            }
            StorageRefusal::Store(error) => error.into(),
        }
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        if let StoreError::TooSlow(_) = error {
            return Self::Busy(
                "the list took too long to read: send a smaller `limit`, and `cursor` in place of `page`",
            );
        }
        if let StoreError::Memory(_) = error {
            return Self::no_memory();
        }
        tracing::error!(error = %error, "the store failed");
        if error.is_full() {
            return Self::Storage("the server's disk is full, try again later".to_owned());
        }
        if error.is_unreachable() {
            return Self::Busy("the server's database cannot be reached, try again later");
        }
        Self::Internal
    }
}

impl From<SearchError> for ApiError {
    fn from(error: SearchError) -> Self {
        match error {
            SearchError::NotConfigured => Self::NotImplemented(NO_SEARCH.to_owned()),
            SearchError::Funds(error) => error.into(),
            SearchError::Unfunded(reason) => Self::Funds(reason, TOP_UP),
            SearchError::Failed(reason) => Self::SearchFailed(reason),
            SearchError::Unpaid(error) => error.into(),
        }
    }
}

impl From<SubscriptionError> for ApiError {
    fn from(error: SubscriptionError) -> Self {
        match error {
            SubscriptionError::Required => Self::PlanRequired,
            SubscriptionError::Inactive => Self::PlanInactive,
            SubscriptionError::Failed(error) => error.into(),
        }
    }
}

/// The response after a panic in a handler. The panic message may contain anything, so it is
/// neither sent nor logged here.
pub(crate) fn panicked(_: Box<dyn std::any::Any + Send>) -> Response {
    tracing::error!("a request handler panicked");
    ApiError::Internal.into_response()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use trawl_billing::{KeyPrefix, KeySpent, Shortfall};
    use trawl_model::Nanodollars;
    use trawl_model::clock::Timestamp;

    use super::*;

    #[test]
    fn an_error_says_what_to_do() {
        let check = |error: ApiError, expected: &str| {
            let (error, hint) = (error.text(), error.hint().unwrap_or_default());
            assert!(
                format!("{error}: {hint}").contains(expected),
                "{error}: {hint}"
            );
        };
        check(ApiError::Key(KeyRefusal::Missing), "send `Authorization: ");
        check(ApiError::AiSubscription, "use `/scrape`");
        check(ApiError::KeyHasBudget, "use a key without one");
        check(ApiError::NotFound(None), "see /openapi.json");
        check(ApiError::NoCrawl, "`GET /crawl` lists");
        check(ApiError::Method("GET".into()), "use GET");
        check(ApiError::SlowBody, "send it without pauses");
        check(ApiError::TooLarge(7), "the limit is 7 bytes: split it");
        check(ApiError::MediaType, "send a JSON body");
        check(ApiError::no_memory(), "read its answers");
        check(ApiError::Internal, "try again");
        check(ApiError::Busy(SHUTTING_DOWN), "send the request again");
        let state = trawl_store::CrawlState::Running;
        check(CrawlError::NotParked(state).into(), "the crawl is running");
    }

    #[test]
    fn a_lack_of_money_says_what_to_raise() {
        let check = |error: FundsError, expected: &str| {
            let body = ApiError::from(error).body();
            let body: Value = serde_json::from_str(&body).expect("JSON");
            let hint = body["hint"].as_str().unwrap_or_default();
            assert!(hint.contains(expected), "{body}");
        };
        check(FundsError::Empty, "`trawl account top-up`");
        check(FundsError::AllHeld, "wait for the pages in flight");
        check(FundsError::CeilingReached, "raise `max_credits_allowed`");
        let (key, of_key) = (
            KeyPrefix::new("tr_1"),
            "`PUT /account/keys/{prefix}/budget`",
        );
        let spent = KeySpent {
            key,
            budget: Nanodollars(1),
            spent: Nanodollars(1),
            until: Timestamp(2),
        };
        check(FundsError::KeySpent(spent), of_key);
        for (cap, expected) in [
            (Cap::Key(key), of_key),
            (Cap::Page, "raise `max_credits_per_page`"),
            (Cap::Run, "raise `max_credits_allowed`"),
            (Cap::Balance, "`trawl account top-up`"),
        ] {
            let shortfall = Shortfall {
                cap,
                wanted: Nanodollars(2),
                of: Nanodollars(1),
                spent: Nanodollars::ZERO,
                elsewhere: Nanodollars::ZERO,
            };
            check(FundsError::Short(shortfall), expected);
        }
    }
}
