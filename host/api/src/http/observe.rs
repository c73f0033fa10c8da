//! Observability of requests: request id, tracing span, metrics.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;
use tracing::Instrument;

use super::deprecation;
use super::trace::TraceSettings;
use super::version::unversioned;

const REQUEST_ID: &str = "x-request-id";
/// Maximum length of an id that a client sends.
const REQUEST_ID_BYTES_MAX: usize = 64;

/// The id of a request, as an extension of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct RequestId(pub(crate) Arc<str>);

/// Who was served, for the access log: an extension of the response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Served {
    /// The id of the request.
    pub request_id: Option<Arc<str>>,
    /// The account, if the request had its key.
    pub account: Option<Arc<str>>,
}

/// The outermost layer: assigns the request id, opens the span, records the metrics.
pub(crate) async fn observe(
    State(settings): State<TraceSettings>,
    mut request: Request,
    next: Next,
) -> Response {
    let started = Instant::now();
    let id: Arc<str> = request_id(request.headers()).into();
    let method = request.method();
    let is_deprecated = deprecation::is_deprecated(request.uri().path());
    // `/x` and `/v1/x` count as one.
    let route = request
        .extensions()
        .get::<MatchedPath>()
        .map(|path| unversioned(path.as_str()).to_owned());
    let span = tracing::info_span!(
        "request",
        request_id = %id,
        %method,
        path = loggable_path(request.uri().path()),
        account = tracing::field::Empty,
        trace_id = tracing::field::Empty,
        parent_span_id = tracing::field::Empty,
        span_id = tracing::field::Empty,
    );
    let traced = settings.of(request.headers(), &span);
    if let Some(traced) = traced {
        traced.record(&span);
        request.extensions_mut().insert(traced.trace);
    }
    request.extensions_mut().insert(RequestId(Arc::clone(&id)));
    let mut response = next.run(request).instrument(span.clone()).await;
    let status = response.status();
    let route = route.unwrap_or_else(|| "unknown".to_owned());
    trawl_telemetry::note_answer(&span, &route, status.as_u16());
    // Until the response starts: the duration of a stream depends on its reader.
    let elapsed = started.elapsed();
    metrics::counter!("trawl_requests_total", "route" => route.clone(), "status" => status.as_u16().to_string()).increment(1);
    metrics::histogram!("trawl_request_duration_seconds", "route" => route).record(elapsed);
    span.in_scope(|| {
        tracing::debug!(
            status = status.as_u16(),
            duration_ms = elapsed.as_millis(),
            "request served"
        )
    });
    if is_deprecated {
        deprecation::set_headers(response.headers_mut());
    }
    if let Some(traced) = traced {
        settings.respond(traced, response.headers_mut());
    }
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    let served = response.extensions_mut().get_or_insert_default::<Served>();
    served.request_id = Some(id);
    response
}

/// The client's id if it is short and safe to log, otherwise a new one.
fn request_id(headers: &HeaderMap) -> String {
    let is_safe = |id: &&str| {
        (1..=REQUEST_ID_BYTES_MAX).contains(&id.len())
            && id
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
    };
    let sent = headers
        .get(REQUEST_ID)
        .and_then(|id| id.to_str().ok())
        .filter(is_safe);
    sent.map_or_else(new_id, str::to_owned)
}

/// A random number per process and a counter: ids must be unique across restarts, and need not be
/// secret. Without a source of randomness the counter alone has to do.
fn new_id() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    static PROCESS: LazyLock<u64> = LazyLock::new(|| getrandom::u64().unwrap_or_default());
    let (process, count) = (*PROCESS, COUNT.fetch_add(1, Ordering::Relaxed));
    format!("{process:016x}{count:08x}")
}

/// The part of a path that may be logged: a request to revoke a key may contain the complete key,
/// and the URL of `/fetch/` a password.
pub fn loggable_path(path: &str) -> &str {
    const ENDS: [&str; 2] = ["/keys/", "/fetch/"];
    let ends = ENDS.iter();
    let end = ends.filter_map(|end| path.find(end).map(|start| start + end.len()));
    end.min().map_or(path, |end| &path[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_urls_in_paths_are_not_logged() {
        assert_eq!(loggable_path("/v1/crawl/c1/pages"), "/v1/crawl/c1/pages");
        for path in ["/account/keys/tr_canary", "/account/keys/tr_canary/budget"] {
            assert_eq!(loggable_path(path), "/account/keys/");
        }
        assert_eq!(loggable_path("/fetch/u:canary@a.example/keys/"), "/fetch/");
    }

    #[test]
    fn safe_request_ids_are_accepted() {
        let sent = |id: &str| {
            let value = HeaderValue::from_str(id).expect("a header value");
            request_id(&HeaderMap::from_iter([(
                axum::http::HeaderName::from_static(REQUEST_ID),
                value,
            )]))
        };
        assert_eq!(sent("abc-1_2.3"), "abc-1_2.3");
        for bad in ["", "a b", "a\"b", &"x".repeat(65)] {
            assert_ne!(sent(bad), bad);
        }
        assert_ne!(request_id(&HeaderMap::new()), request_id(&HeaderMap::new()));
    }
}
