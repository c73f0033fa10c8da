//! The key of a request: who is asking, and how often.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::Api;
use super::error::ApiError;
use super::rate::Allowance;
use super::unlimited;
use trawl_billing::Account;

/// Opens the routes behind a key. Hands the account on as a request extension.
pub(super) async fn require_key(
    State(api): State<Api>,
    mut request: Request,
    next: Next,
) -> Response {
    let Some((account, allowance)) = admit(&api, request.headers()) else {
        return ApiError::Key.into_response();
    };
    tracing::Span::current().record("account", account.id.as_str());
    let mut response = if allowance.is_granted {
        request.extensions_mut().insert(account);
        next.run(request).await
    } else {
        unlimited::slow_down(
            &api,
            &account,
            request.uri().path(),
            allowance.reset_seconds,
        )
    };
    tell(&allowance, response.headers_mut());
    response
}

fn admit(api: &Api, headers: &HeaderMap) -> Option<(Arc<Account>, Allowance)> {
    let key = key(headers)?;
    let account = api.service.billing().authenticate(key)?;
    let allowance = api.rates.take(key, std::time::Instant::now());
    Some((account, allowance))
}

/// Whether a request carries the admin key. Decision D109.
pub(super) fn is_admin(api: &Api, headers: &HeaderMap) -> bool {
    key(headers).is_some_and(|key| api.service.is_admin(key))
}

/// Opens the routes behind the admin key.
pub(super) async fn require_admin(
    State(api): State<Api>,
    request: Request,
    next: Next,
) -> Response {
    match is_admin(&api, request.headers()) {
        true => next.run(request).await,
        false => ApiError::Key.into_response(),
    }
}

/// The key of an `Authorization` header, with or without `Bearer`.
fn key(headers: &HeaderMap) -> Option<&str> {
    let text = headers.get(header::AUTHORIZATION)?.to_str().ok()?.trim();
    let key = match text.split_once(' ') {
        Some((scheme, key)) if scheme.eq_ignore_ascii_case("bearer") => key.trim(),
        _ => text,
    };
    (!key.is_empty()).then_some(key)
}

fn tell(allowance: &Allowance, headers: &mut HeaderMap) {
    headers.insert("ratelimit-limit", HeaderValue::from(allowance.limit));
    headers.insert(
        "ratelimit-remaining",
        HeaderValue::from(allowance.remaining),
    );
    headers.insert(
        "ratelimit-reset",
        HeaderValue::from(allowance.reset_seconds),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_bare_or_as_bearer() {
        let check = |text: &'static str, expected: Option<&str>| {
            let headers =
                HeaderMap::from_iter([(header::AUTHORIZATION, HeaderValue::from_static(text))]);
            assert_eq!(key(&headers), expected, "{text}");
        };
        check("Bearer tr_1", Some("tr_1"));
        check("bearer  tr_1 ", Some("tr_1"));
        check("tr_1", Some("tr_1"));
        check("", None);
        check("Bearer ", Some("Bearer"));
        assert_eq!(key(&HeaderMap::new()), None);
    }
}
