//! Graceful shutdown: requests in flight finish, new ones are refused.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::cors;
use super::error::{ApiError, SHUTTING_DOWN};
use super::stream::holding;
use super::version::unversioned;
use crate::Api;

/// Monitoring endpoints, which stay available until the end.
pub(crate) const MONITORING: [&str; 2] = ["/health", "/metrics"];

/// Answers 503 to everything but the monitoring endpoints once the server is shutting down. A
/// preflight does nothing, and a browser that is refused it says nothing of the reason. Decision
/// D77.
pub(crate) async fn refuse_when_draining(
    State(api): State<Api>,
    request: Request,
    next: Next,
) -> Response {
    let path = unversioned(request.uri().path());
    if MONITORING.contains(&path) || cors::is_preflight(&request) {
        return next.run(request).await;
    }
    // Counted before the check: the server waits for the requests that are counted.
    let counted = api.rooms.in_flight.token();
    if api.service.is_draining() {
        return ApiError::Busy(SHUTTING_DOWN).into_response();
    }
    holding(next.run(request).await, counted)
}
