//! Authentication by API key, and the rate limit of the account.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use trawl_billing::Account;

use super::concurrency;
use super::cors;
use super::error::{ApiError, KeyRefusal};
use super::observe::Served;
use super::rate::RateLimit;
use crate::Api;

/// Authenticates a request and applies the rate limit of its account. Passes the account and its
/// share of the memory on as request extensions. A preflight needs no key. Decision D430.
pub(crate) async fn require_key(
    State(api): State<Api>,
    mut request: Request,
    next: Next,
) -> Response {
    if cors::is_preflight(&request) {
        return next.run(request).await;
    }
    let Some((account, limit)) = authenticate(&api, request.headers()) else {
        return refused(&api, request.headers(), KeyAccess::Accounts).into_response();
    };
    let id = account.id.as_str();
    tracing::Span::current().record("account", id);
    let served = Served {
        request_id: None,
        account: Some(id.into()),
    };
    let mut response = if limit.is_granted {
        let share = api.rooms.memory.share(id);
        request.extensions_mut().insert(share);
        request.extensions_mut().insert(account);
        next.run(request).await
    } else {
        let path = request.uri().path();
        concurrency::rate_limited(&api, &account, path, limit.reset_seconds)
    };
    set_headers(response.headers_mut(), &limit);
    response.extensions_mut().insert(served);
    response
}

fn authenticate(api: &Api, headers: &HeaderMap) -> Option<(Arc<Account>, RateLimit)> {
    let key = key(headers)?;
    let account = api.rooms.billing.authenticate(key)?;
    let limit = api.rate_limits.take(&account.id, std::time::Instant::now());
    Some((account, limit))
}

/// Answers a request outside the routes of accounts for the account of its key, within its rate
/// limit. `None` if the key belongs to no account.
pub(crate) fn answer_account(
    api: &Api,
    headers: &HeaderMap,
    path: &str,
    answer: impl FnOnce() -> Response,
) -> Option<Response> {
    let (account, limit) = authenticate(api, headers)?;
    let mut response = if limit.is_granted {
        answer()
    } else {
        concurrency::rate_limited(api, &account, path, limit.reset_seconds)
    };
    set_headers(response.headers_mut(), &limit);
    Some(response)
}

/// Whether a request carries the admin key. Decision D109.
pub(crate) fn is_admin(api: &Api, headers: &HeaderMap) -> bool {
    key(headers).is_some_and(|key| api.service.is_admin(key))
}

/// Requires the admin key, but for a preflight, whose answer opens nothing to pages of other
/// origins. What the operator sends takes from the server's own share of the memory.
pub(crate) async fn require_admin(
    State(api): State<Api>,
    mut request: Request,
    next: Next,
) -> Response {
    if cors::is_preflight(&request) {
        next.run(request).await
    } else if is_admin(&api, request.headers()) {
        let share = api.rooms.memory.share("");
        request.extensions_mut().insert(share);
        next.run(request).await
    } else {
        refused(&api, request.headers(), KeyAccess::Operator).into_response()
    }
}

/// Whose key opens an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyAccess {
    /// Any account's.
    Accounts,
    /// The admin key alone.
    Operator,
}

/// The refusal of a request whose key does not open the endpoint. Decision D227.
pub(crate) fn refused(api: &Api, headers: &HeaderMap, access: KeyAccess) -> ApiError {
    let Some(key) = key(headers) else {
        let header = headers.get(header::AUTHORIZATION);
        let is_unreadable = header.is_some_and(|header| header.to_str().is_err());
        return ApiError::Key(if is_unreadable {
            KeyRefusal::Unknown
        } else {
            KeyRefusal::Missing
        });
    };
    if has_other_scheme(headers) {
        return ApiError::Key(KeyRefusal::Scheme);
    }
    ApiError::Key(match access {
        KeyAccess::Accounts if api.service.is_admin(key) => KeyRefusal::OfAdmin,
        KeyAccess::Operator if api.rooms.billing.authenticate(key).is_some() => {
            KeyRefusal::OfAccount
        }
        KeyAccess::Accounts | KeyAccess::Operator => KeyRefusal::Unknown,
    })
}

/// The key of an `Authorization` header, with or without `Bearer`.
pub(crate) fn key(headers: &HeaderMap) -> Option<&str> {
    let text = headers.get(header::AUTHORIZATION)?.to_str().ok()?.trim();
    let key = match text.split_once(' ') {
        Some((scheme, key)) if scheme.eq_ignore_ascii_case("bearer") => key.trim(),
        _ => text,
    };
    (!key.is_empty()).then_some(key)
}

/// Whether an `Authorization` header has a scheme that is not `Bearer`. No key has a space.
fn has_other_scheme(headers: &HeaderMap) -> bool {
    let header = headers.get(header::AUTHORIZATION);
    let text = header.and_then(|header| header.to_str().ok());
    let written = text.and_then(|text| text.trim().split_once(' '));
    written.is_some_and(|(scheme, _)| !scheme.eq_ignore_ascii_case("bearer"))
}

fn set_headers(headers: &mut HeaderMap, limit: &RateLimit) {
    headers.insert("ratelimit-limit", HeaderValue::from(limit.limit));
    headers.insert("ratelimit-remaining", HeaderValue::from(limit.remaining));
    headers.insert("ratelimit-reset", HeaderValue::from(limit.reset_seconds));
    let fields = [
        ("ratelimit-policy", limit.policy_field()),
        ("ratelimit", limit.field()),
    ];
    for (name, value) in fields {
        if let Ok(value) = HeaderValue::try_from(value) {
            headers.insert(name, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scheme_other_than_bearer_is_seen() {
        let check = |text: &'static str, expected: bool| {
            let headers =
                HeaderMap::from_iter([(header::AUTHORIZATION, HeaderValue::from_static(text))]);
            assert_eq!(has_other_scheme(&headers), expected, "{text}");
        };
        check("Basic eDp5", true);
        check(" digest a=b", true);
        check("Bearer tr_1", false);
        check("bearer tr_1 tr_2", false);
        check("tr_1", false);
        check("", false);
        assert!(!has_other_scheme(&HeaderMap::new()));
    }

    #[test]
    fn a_key_is_read_with_or_without_bearer() {
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
