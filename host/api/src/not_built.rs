//! Endpoints of the interface that have nothing behind them yet.

use super::error::ApiError;

/// POST endpoints without anything behind them.
pub(super) const POSTS: [&str; 1] = ["/search"];

/// The answer of all of them.
#[utoipa::path(
    post,
    path = "/search",
    description = "Searching the web. Not available on this server.",
    responses((status = 501, description = "Always")),
    security(("key" = []))
)]
pub(super) async fn absent() -> ApiError {
    ApiError::NotBuilt
}

/// The answer of the AI endpoints. Decision D69.
#[utoipa::path(
    post,
    path = "/ai/{endpoint}",
    description = "AI endpoints need a subscription, which this server does not offer.",
    params(("endpoint" = String, Path, description = "Any", example = "scrape")),
    responses((status = 402, description = "Always", body = Object, example = json!({"error": "ai_subscription_required"}))),
    security(("key" = []))
)]
pub(super) async fn ai() -> ApiError {
    ApiError::AiSubscription
}
