//! Headers and refusals of the Unlimited plan, which limits requests in flight. Spec S24.

use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};

use trawl_billing::Account;

use super::error::ApiError;
use super::version::unversioned;
use crate::Api;

/// Prefix of all paths of the plan.
const PREFIX: &str = "/unlimited/";
const LIMIT: &str = "x-concurrency-limit";
const ACTIVE: &str = "x-concurrency-active";

/// Reports the seats of an account and how many are in use.
pub(crate) fn set_headers(headers: &mut HeaderMap, seats: u32, active: u32) {
    headers.insert(LIMIT, HeaderValue::from(seats));
    headers.insert(ACTIVE, HeaderValue::from(active));
}

/// The response to a request that got no slot, or failed while holding one.
pub(crate) fn refused(api: &Api, account: &Account, error: ApiError) -> Response {
    let (seats, active) = match error {
        ApiError::NoSeat(seats, active) => (seats, active),
        _ => {
            let count = api.rooms.billing.slots(&account.id);
            (count.seats, count.active)
        }
    };
    let mut response = error.into_response();
    if response.status() == StatusCode::TOO_MANY_REQUESTS {
        set_headers(response.headers_mut(), seats, active);
    }
    response
}

/// The response to a key over its rate limit, on any path.
pub(crate) fn rate_limited(api: &Api, account: &Account, path: &str, seconds: u64) -> Response {
    let error = ApiError::SlowDown(seconds);
    if unversioned(path).starts_with(PREFIX) {
        refused(api, account, error)
    } else {
        error.into_response()
    }
}
