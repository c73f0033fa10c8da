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
use super::{ANNOUNCE_PATH, is_of_a_node, program_hash, refusal};

/// Largest announcement.
const ANNOUNCEMENT_BYTES_MAX: usize = 4 * 1024;

struct Joined {
    key: Secret,
    workers: Arc<RemoteWorkers>,
}

/// The route where others announce themselves. Requests without the key are refused.
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

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use futures_util::future::BoxFuture;
    use http::header::AUTHORIZATION;
    use tower::ServiceExt as _;
    use trawl_engine::extract::remote::Transport;

    use super::super::authorization;
    use super::*;

    /// No page is sent here.
    #[derive(Debug)]
    struct Unused;

    impl Transport for Unused {
        fn send(
            &self,
            _address: Arc<str>,
            _request: Vec<u8>,
        ) -> BoxFuture<'_, Option<axum::body::Bytes>> {
            Box::pin(std::future::ready(None))
        }
    }

    #[tokio::test]
    async fn only_equal_programs_that_know_the_key_and_can_be_reached_join() {
        let key = Secret::new("k");
        let own = program_hash().expect("a program").to_hex().to_string();
        let announce = async |key: &Secret, peer: &str, program: &str| {
            let workers = Arc::new(RemoteWorkers::new(Box::new(Unused)));
            let router = routes(Secret::new("k"), Arc::clone(&workers));
            let announcement = Announcement {
                address: "127.0.0.1:8700".to_owned(),
                n_threads: 2,
                program: program.to_owned(),
            };
            let peer: SocketAddr = peer.parse().expect("an address");
            let request = http::Request::post(ANNOUNCE_PATH)
                .header(AUTHORIZATION, authorization(key).expect("a header"))
                .extension(ConnectInfo(peer))
                .body(Body::from(serde_json::to_vec(&announcement).expect("JSON")))
                .expect("a request");
            let answer = router.oneshot(request).await.expect("an answer");
            (answer.status().as_u16(), workers.n_nodes())
        };
        let here = "127.0.0.1:9";
        assert_eq!(announce(&key, here, &own).await, (204, 1));
        assert_eq!(announce(&Secret::new("other"), here, &own).await, (401, 0));
        assert_eq!(announce(&key, here, "another program").await, (409, 0));
        assert_eq!(announce(&key, "10.0.0.6:9", &own).await, (409, 0));
    }

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
