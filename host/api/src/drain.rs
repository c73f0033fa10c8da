//! A server on its way out: requests in flight end, new ones are sent elsewhere.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::Api;
use super::error::ApiError;
use super::stream::holding;

/// Routes for those who watch the server: they go on to the end.
const WATCHED: [&str; 2] = ["/health", "/metrics"];

/// Answers 503 to everything but the watchers' routes once the server has been told to stop.
/// Decision D77.
pub(super) async fn refuse_when_draining(
    State(api): State<Api>,
    request: Request,
    next: Next,
) -> Response {
    let path = request.uri().path();
    let path = path.strip_prefix("/v1").unwrap_or(path);
    if WATCHED.contains(&path) {
        return next.run(request).await;
    }
    // Counted before the server is asked, which waits for those that are counted.
    let counted = api.service.in_flight().token();
    if api.service.is_draining() {
        return ApiError::Busy("the server is shutting down").into_response();
    }
    holding(next.run(request).await, counted)
}
