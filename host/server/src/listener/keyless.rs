//! Requests without a key: how many of one peer are answered at a time. Decision D302.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::Body;
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};

use super::limits::peer_group;

/// Requests without a key that are being answered, by peer.
#[derive(Debug)]
pub(super) struct Keyless {
    per_peer: usize,
    by_peer: Mutex<HashMap<IpAddr, usize>>,
}

/// One of them; counted until it is dropped.
#[derive(Debug)]
pub(super) struct KeylessRequest {
    peer: IpAddr,
    all: Arc<Keyless>,
}

impl Keyless {
    /// At most this many of each peer.
    pub(super) fn new(per_peer: usize) -> Arc<Self> {
        Arc::new(Self {
            per_peer,
            by_peer: Mutex::default(),
        })
    }

    /// Counts a request of this peer; `None` if it has as many as it may.
    pub(super) fn enter(self: &Arc<Self>, peer: IpAddr) -> Option<KeylessRequest> {
        let peer = peer_group(peer);
        let mut by_peer = self.by_peer();
        let n_requests = by_peer.get(&peer).copied().unwrap_or(0);
        if n_requests >= self.per_peer {
            return None;
        }
        by_peer.insert(peer, n_requests + 1);
        Some(KeylessRequest {
            peer,
            all: Arc::clone(self),
        })
    }

    /// The response to a request that is one too many.
    pub(super) fn refusal(&self) -> Response<Body> {
        let limit = self.per_peer;
        let error = format!(
            "limit of {limit} requests without a key in progress reached for your IP address; use fewer"
        );
        let body = serde_json::json!({ "error": error }).to_string();
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
        let headers = response.headers_mut();
        let json = HeaderValue::from_static("application/json");
        headers.insert(header::CONTENT_TYPE, json);
        headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        response
    }

    fn by_peer(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.by_peer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a request brings no key. What it brings is checked later.
pub(super) fn is_keyless(headers: &HeaderMap) -> bool {
    !headers.contains_key(header::AUTHORIZATION)
}

impl Drop for KeylessRequest {
    fn drop(&mut self) {
        let mut by_peer = self.all.by_peer();
        if let Some(n_requests) = by_peer.get_mut(&self.peer) {
            *n_requests -= 1;
            if *n_requests == 0 {
                by_peer.remove(&self.peer);
            }
        }
    }
}
