//! Endpoints of the interface that this server does not implement.

use crate::http::error::ApiError;

/// The response of the AI endpoints. Decision D69.
#[utoipa::path(
    post,
    path = "/ai/{endpoint}",
    summary = "AI endpoints (not available)",
    description = "AI endpoints need a subscription, which this server does not offer.",
    params(("endpoint" = String, Path, description = "Any", example = "scrape")),
    responses((status = 402, description = "Always", body = ref("#/components/schemas/Error"),
        example = json!({"error": "ai_subscription_required"}))),
    security(("key" = []))
)]
pub(crate) async fn ai() -> ApiError {
    ApiError::AiSubscription
}
