//! The server that has the database learns of the others.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::body::to_bytes;
use axum::extract::{ConnectInfo, Request, State};
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

async fn announced(
    State(joined): State<Arc<Joined>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    request: Request,
) -> Response {
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
    if is_elsewhere(&announcement.address, peer.ip()) {
        return refusal(
            StatusCode::CONFLICT,
            "an address of loopback, which is another machine's: set `[store] address`",
        );
    }
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

/// Whether an address is one of loopback on another machine.
fn is_elsewhere(address: &str, peer: IpAddr) -> bool {
    let address = address.parse::<SocketAddr>();
    address.is_ok_and(|address| address.ip().is_loopback()) && !peer.is_loopback()
}

/// A refusal as JSON.
pub(super) fn refusal(status: StatusCode, text: &str) -> Response {
    let body = serde_json::json!({ "error": text }).to_string();
    let headers = [(http::header::CONTENT_TYPE, "application/json")];
    (status, headers, body).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_reached_from_the_same_machine_alone() {
        let (here, there) = ("127.0.0.1", "10.0.0.6");
        let at = |ip: &str| ip.parse().expect("an address");
        assert!(!is_elsewhere("127.0.0.1:8700", at(here)));
        assert!(is_elsewhere("127.0.0.1:8700", at(there)));
        assert!(is_elsewhere("[::1]:8700", at(there)));
        assert!(!is_elsewhere("10.0.0.6:8700", at(there)));
        assert!(!is_elsewhere("node:8700", at(there)));
    }
}
