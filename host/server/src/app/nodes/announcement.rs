//! What a server that waits says of itself to the one that has the database, every second.

use std::net::SocketAddr;
use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use trawl_store::Serving;

use super::{ANNOUNCE_PATH, authorization, program_hash};

/// How often a server announces itself: often enough that one lost announcement does not matter.
const EVERY: Duration = Duration::from_secs(1);

/// Longest reason that is read.
const REASON_BYTES_MAX: usize = 4 * 1024;

/// A server that extracts pages.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Announcement {
    /// Where it gets them: `IP:PORT` or `name:PORT`.
    pub(super) address: String,
    /// How many it extracts at a time.
    pub(super) n_threads: usize,
    /// A hash of its program: another one may make something else of a page.
    pub(super) program: String,
}

/// Where others reach this server: at the configured address, or at the one that it listens on, if
/// that is one.
pub(in super::super) fn own_address(
    configured: Option<&str>,
    listens_on: Option<SocketAddr>,
) -> Option<String> {
    let own = listens_on.filter(|own| !own.ip().is_unspecified());
    let configured = configured.map(str::to_owned);
    configured.or_else(|| own.map(|own| own.to_string()))
}

/// Announces this server for as long as the future lives. Does nothing while no server has the
/// database; what is not heard is said again.
pub(super) async fn announce(
    client: Client<HttpConnector, Body>,
    mut serving: watch::Receiver<Option<Serving>>,
    (address, n_threads): (String, usize),
) {
    // It ends with the process at the latest.
    let program = tokio::task::spawn_blocking(program_hash).await;
    let Ok(Some(program)) = program else {
        tracing::warn!("the program's own file cannot be read: this server extracts no pages");
        return;
    };
    let announcement = Announcement {
        address,
        n_threads,
        program: program.to_hex().to_string(),
    };
    let Ok(announcement) = serde_json::to_vec(&announcement) else {
        return;
    };
    let announcement = Bytes::from(announcement);
    let mut was_refused = false;
    loop {
        let to = serving.borrow_and_update().clone();
        if let Some(request) = to.and_then(|to| request(&to, announcement.clone())) {
            let answer = tokio::time::timeout(EVERY, client.request(request)).await;
            let answer = answer.ok().and_then(Result::ok);
            let refusal = answer.filter(|answer| answer.status() == StatusCode::CONFLICT);
            let is_refused = refusal.is_some();
            if let Some(refusal) = refusal.filter(|_| !was_refused) {
                let reason = reason_of(refusal).await;
                tracing::warn!(
                    reason,
                    "this server extracts no pages for the one that serves"
                );
            }
            was_refused = is_refused;
        }
        tokio::time::sleep(EVERY).await;
    }
}

/// Why an announcement was refused, as JSON.
async fn reason_of(refusal: Response<Incoming>) -> String {
    let body = to_bytes(Body::new(refusal.into_body()), REASON_BYTES_MAX).await;
    body.map_or_else(
        |_| String::new(),
        |body| String::from_utf8_lossy(&body).into_owned(),
    )
}

fn request(to: &Serving, announcement: Bytes) -> Option<Request<Body>> {
    Request::post(format!("http://{}{ANNOUNCE_PATH}", to.address))
        .header(AUTHORIZATION, authorization(&to.key)?)
        .header(CONTENT_TYPE, "application/json")
        .body(Body::from(announcement))
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_stands_for_all_of_a_machine_is_none() {
        let at = |text: &str| text.parse().ok();
        let own = own_address(None, at("10.0.0.5:80"));
        assert_eq!(own.as_deref(), Some("10.0.0.5:80"));
        assert_eq!(own_address(None, at("0.0.0.0:80")), None);
        assert_eq!(own_address(None, at("[::]:80")), None);
        let configured = own_address(Some("a:80"), at("0.0.0.0:80"));
        assert_eq!(configured.as_deref(), Some("a:80"));
    }
}
