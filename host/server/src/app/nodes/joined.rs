//! The server that has the database learns of the others.

use std::sync::Arc;

use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::{Router, routing};
use http::StatusCode;

use trawl_engine::extract::remote::RemoteWorkers;
use trawl_model::secret::Secret;

use super::announcement::Announcement;
use super::{ANNOUNCE_PATH, is_of_a_node, program_hash};

/// Largest announcement.
const ANNOUNCEMENT_BYTES_MAX: usize = 4 * 1024;

struct Joined {
    key: Secret,
    workers: Arc<RemoteWorkers>,
}

/// The route where others announce themselves. Who lacks the key is told nothing.
pub(in super::super) fn routes(key: Secret, workers: Arc<RemoteWorkers>) -> Router {
    let joined = Arc::new(Joined { key, workers });
    Router::new()
        .route(ANNOUNCE_PATH, routing::post(announced))
        .with_state(joined)
}

async fn announced(State(joined): State<Arc<Joined>>, request: Request) -> Response {
    if !is_of_a_node(request.headers(), Some(&joined.key)) {
        return refusal(
            StatusCode::UNAUTHORIZED,
            "this is for servers of the same database",
        );
    }
    let body = to_bytes(request.into_body(), ANNOUNCEMENT_BYTES_MAX).await;
    let announcement = body
        .ok()
        .and_then(|body| serde_json::from_slice(&body).ok());
    let Some(announcement): Option<Announcement> = announcement else {
        return refusal(StatusCode::CONFLICT, "not an announcement of this program");
    };
    let own = tokio::task::spawn_blocking(program_hash)
        .await
        .ok()
        .flatten();
    if own.is_none_or(|own| own.to_hex().as_str() != announcement.program) {
        return refusal(StatusCode::CONFLICT, "another version of this program");
    }
    joined
        .workers
        .announced(&announcement.address, announcement.n_threads);
    StatusCode::NO_CONTENT.into_response()
}

/// A refusal as JSON.
pub(super) fn refusal(status: StatusCode, text: &str) -> Response {
    let body = serde_json::json!({ "error": text }).to_string();
    let headers = [(http::header::CONTENT_TYPE, "application/json")];
    (status, headers, body).into_response()
}
