//! Endpoints of the interface that have nothing behind them yet.

use super::error::ApiError;

/// POST endpoints without anything behind them.
pub(super) const POSTS: [&str; 1] = ["/search"];

/// The answer of all of them.
pub(super) async fn absent() -> ApiError {
    ApiError::NotBuilt
}

/// The answer of the AI endpoints. Decisions: Endpoints beyond the specification.
pub(super) async fn ai() -> ApiError {
    ApiError::AiSubscription
}
