//! `GET /metrics`: Prometheus metrics, with the admin key, or without it on local connections if
//! the configuration allows that.

use std::net::{IpAddr, SocketAddr};

use axum::extract::{ConnectInfo, Request, State};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};

use trawl_crawl::Crawls;
use trawl_model::clock::Clock;
use trawl_model::memory::MemoryBudget;

use crate::http::auth;
use crate::http::error::ApiError;
use crate::{Api, Rooms};

/// Headers that a reverse proxy adds: the peer is then the proxy, not the client.
const FORWARDED: [&str; 3] = ["forwarded", "x-forwarded-for", "x-real-ip"];

#[utoipa::path(
    get,
    path = "/metrics",
    summary = "Read the metrics",
    description = "Prometheus metrics. Needs the admin key, except on local connections if the configuration allows that.",
    responses(
        (status = 200, description = "Text exposition format 0.0.4", body = String, content_type = "text/plain"),
    ),
    security(("admin" = []))
)]
pub(crate) async fn metrics(
    State(api): State<Api>,
    request: Request,
) -> Result<Response, ApiError> {
    let is_open = api.settings.metrics_without_key && is_local(&request);
    if !is_open && !auth::is_admin(&api, request.headers()) {
        return Err(auth::refused(
            &api,
            request.headers(),
            auth::KeyAccess::Operator,
        ));
    }
    record(&api.rooms).await;
    let text = trawl_telemetry::metrics_text().ok_or_else(absent)?;
    Ok((
        [(
            header::CONTENT_TYPE,
            "text/plain; version=0.0.4; charset=utf-8",
        )],
        text,
    )
        .into_response())
}

/// The refusal of a server without metrics.
pub(crate) fn absent() -> ApiError {
    ApiError::NotImplemented("this server does not offer metrics: ask its operator".to_owned())
}

/// Takes a sample of the metrics, for `GET /admin/history`. To be called every
/// [`trawl_telemetry::SAMPLE_PERIOD`].
pub async fn sample_metrics(rooms: &Rooms) {
    record(rooms).await;
    trawl_telemetry::sample(Clock::wall().now());
}

/// Sets the gauges that are read when they are asked for.
async fn record(rooms: &Rooms) {
    record_memory(&rooms.memory);
    record_crawls(&rooms.crawls).await;
}

/// Sets the gauges of the memory budget. It changes with every page, so it is read when it is
/// asked for.
fn record_memory(budget: &MemoryBudget) {
    let memory = budget.in_use();
    metrics::gauge!("trawl_memory_bytes").set(memory.used as f64);
    metrics::gauge!("trawl_memory_bytes_max").set(memory.capacity as f64);
    metrics::gauge!("trawl_memory_waiting").set(memory.n_waiting as f64);
    for (kind, bytes) in memory.held() {
        metrics::gauge!("trawl_memory_held_bytes", "kind" => kind.name()).set(bytes as f64);
    }
}

/// Sets the gauges of crawls and of their events. A store that cannot be read leaves the age of the
/// oldest event as it was.
async fn record_crawls(crawls: &Crawls) {
    let (running, queued) = crawls.running_and_queued();
    metrics::gauge!("trawl_crawls", "state" => "running").set(running as f64);
    metrics::gauge!("trawl_crawls", "state" => "queued").set(queued as f64);
    match crawls.oldest_event_age().await {
        Ok(age) => metrics::gauge!("trawl_webhook_oldest_seconds").set(age.as_secs_f64()),
        Err(error) => tracing::debug!(error = %error, "the age of webhook events is not known"),
    }
}

/// Whether a request comes from a program of the server's own machine, and not from a page in a
/// browser there.
fn is_local(request: &Request) -> bool {
    let is_forwarded =
        |headers: &HeaderMap| FORWARDED.iter().any(|&name| headers.contains_key(name));
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>();
    peer.is_some_and(|peer| peer.0.ip().to_canonical().is_loopback())
        && !is_forwarded(request.headers())
        && is_named_locally(request)
}

/// Whether the server is named by an IP address or as `localhost`. Another name may be that of a
/// site, which lets it lead to this machine, so that its pages read answers from here.
fn is_named_locally(request: &Request) -> bool {
    let header = request.headers().get(header::HOST);
    let header = header.map(|value| value.to_str().unwrap_or_default().parse::<Authority>());
    let named: Authority = match (request.uri().authority(), header) {
        (Some(authority), _) => authority.clone(),
        (None, Some(Ok(authority))) => authority,
        (None, Some(Err(_))) => return false,
        // Browsers always name it.
        (None, None) => return true,
    };
    let host = named.host().trim_matches(['[', ']']);
    host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok()
}
