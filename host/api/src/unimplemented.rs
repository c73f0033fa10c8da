//! Endpoints of the interface that this server does not implement.

use crate::http::error::ApiError;

/// Paths of the POST endpoints that are not implemented.
pub(crate) const POSTS: [&str; 1] = ["/search"];

/// Answers 501.
#[utoipa::path(
    post,
    path = "/search",
    summary = "Search the web (not available)",
    description = "Web search. Not available on this server.",
    responses((status = 501, description = "Always", body = ref("#/components/schemas/Error"),
        example = json!({"error": "this server does not offer web search: send the URLs of pages to `/scrape`, or the URL of a site to `/crawl`"}))),
    security(("key" = []))
)]
pub(crate) async fn absent() -> ApiError {
    ApiError::NotImplemented(
        "this server does not offer web search: send the URLs of pages to `/scrape`, or the URL of a \
         site to `/crawl`"
            .to_owned(),
    )
}

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
