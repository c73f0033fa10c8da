//! Several servers of one database. One has it and decides: what is fetched, when, and who pays.
//! The others wait to replace it ([`standby`]), send it what they are asked ([`forward`]), and
//! extract pages for it: each announces itself every second, and gets pages while it does
//! (`trawl_engine::extract::remote`).
//!
//! What they say to each other needs the key that only who reads the database knows, and is between
//! equal programs alone.

mod announcement;
mod forward;
mod joined;
mod standby;
mod transport;

use std::sync::OnceLock;

use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};

use trawl_model::secret::Secret;

pub(super) use announcement::own_address;
pub(super) use joined::routes;
pub(super) use standby::Standby;
pub(crate) use standby::Waiting;
pub(super) use transport::HttpTransport;

/// Where a server that waits announces itself to the one that has the database.
const ANNOUNCE_PATH: &str = "/cluster/nodes";
/// Where it gets pages to extract.
const PAGES_PATH: &str = "/cluster/pages";

/// The header by which a server shows that it knows the key.
fn authorization(key: &Secret) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(&format!("Bearer {}", key.expose())).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// Whether a request shows that its sender knows the key.
fn is_of_a_node(headers: &HeaderMap, key: Option<&Secret>) -> bool {
    let sent = headers.get(AUTHORIZATION).and_then(|it| it.to_str().ok());
    let sent = sent.and_then(|it| it.strip_prefix("Bearer "));
    sent.zip(key)
        .is_some_and(|(sent, key)| Secret::new(sent) == *key)
}

/// A refusal as JSON.
fn refusal(status: StatusCode, text: &str) -> Response {
    let body = serde_json::json!({ "error": text }).to_string();
    let headers = [(CONTENT_TYPE, "application/json")];
    (status, headers, body).into_response()
}

/// A hash of the running program's file, read once; `None` if it cannot be read. Takes a moment, so
/// call it on a thread that may block.
fn program_hash() -> Option<blake3::Hash> {
    static HASH: OnceLock<Option<blake3::Hash>> = OnceLock::new();
    *HASH.get_or_init(|| {
        let file = std::fs::File::open("/proc/self/exe").ok()?;
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(file).ok()?;
        Some(hasher.finalize())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_key_itself_opens() {
        let key = Secret::new("k");
        let mut headers = HeaderMap::new();
        assert!(!is_of_a_node(&headers, Some(&key)));
        headers.insert(AUTHORIZATION, authorization(&key).expect("a header"));
        assert!(is_of_a_node(&headers, Some(&key)));
        assert!(!is_of_a_node(&headers, Some(&Secret::new("kk"))));
        assert!(!is_of_a_node(&headers, None), "no server has the database");
    }
}
