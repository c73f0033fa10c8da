//! `/fetch/{domain}/{path}`: the page `https://domain/path`, named by the path of the request.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Extension;
use axum::extract::{Request, State};
use axum::http::Uri;
use axum::response::Response;
use serde_json::value::to_raw_value;

use super::body::Unique;
use super::error::ApiError;
use super::post::{self, ApiRequest};
use super::{Api, scrape};
use trawl_billing::Account;
use trawl_plan::address;
use trawl_wire::Entry;
use trawl_wire::{ScrapeRequest, Verb};

/// What stands before the address.
const PREFIX: &str = "/fetch/";

#[utoipa::path(
    method(get, post),
    path = "/fetch/{domain}/{path}",
    description = "Fetches `https://domain/path`, its query included, as `/scrape` does. The body holds the other parameters and may be \
        missing; a GET has none.",
    params(
        ("domain" = String, Path, description = "Host of the page", example = "sample.trawl.test"),
        ("path" = String, Path, description = "Path of the page; may have slashes, may be missing", example = "tides"),
    ),
    request_body(content = ScrapeRequest, description = "Parameters other than `url`",
        example = json!({"return_format": "text"})),
    responses(
        (status = 200, description = "A list with the page's entry", body = Vec<Entry>),
    ),
    security(("key" = []))
)]
pub(super) async fn fetch(
    State(api): State<Api>,
    Extension(account): Extension<Arc<Account>>,
    request: Request,
) -> Result<Response, ApiError> {
    let url = target(request.uri())?;
    let work = |posted: ApiRequest| async move {
        let body = with_url(&posted.body, &url)?;
        scrape::pages(posted.with_body(body), Verb::Scrape).await
    };
    post::serve(&api, account, request, scrape::BODY_BYTES_MAX, work).await
}

/// The page's address, as the request's path and query spell it.
fn target(uri: &Uri) -> Result<String, ApiError> {
    let path = uri.path_and_query().map_or("", |path| path.as_str());
    let path = path.strip_prefix("/v1").unwrap_or(path);
    let rest = path.strip_prefix(PREFIX).unwrap_or_default();
    if rest.is_empty() {
        let reason = "url: the path names no page, write `/fetch/example.com/path`";
        return Err(ApiError::Invalid(reason.to_owned()));
    }
    let has_scheme = ["http://", "https://"]
        .iter()
        .any(|scheme| rest.starts_with(scheme));
    let url = match has_scheme {
        true => rest.to_owned(),
        false => format!("https://{rest}"),
    };
    Ok(match address::split(&url).len() {
        // One path is one page, whatever its commas look like.
        2.. => url.replace(',', "%2C"),
        _ => url,
    })
}

/// The request object of the body with this address in it.
fn with_url(body: &[u8], url: &str) -> Result<Vec<u8>, ApiError> {
    let invalid =
        |error: serde_json::Error| ApiError::Invalid(format!("Deserialization error: {error}"));
    let mut fields = match body.trim_ascii() {
        b"" => BTreeMap::new(),
        body => serde_json::from_slice::<Unique>(body).map_err(invalid)?.0,
    };
    fields.insert("url".to_owned(), to_raw_value(url).map_err(invalid)?);
    serde_json::to_vec(&fields).map_err(invalid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_names_one_page() {
        let check = |uri: &str, expected: &str| {
            let uri = uri.parse().expect("a URI");
            assert_eq!(target(&uri).as_deref(), Ok(expected), "{uri}");
        };
        check("/fetch/a.com/x/y?q=1&r", "https://a.com/x/y?q=1&r");
        check("/v1/fetch/a.com", "https://a.com");
        check("/fetch/http://a.com:81/%C3%A4", "http://a.com:81/%C3%A4");
        check("/fetch/a.com/b,c", "https://a.com/b,c");
        check(
            "/fetch/a.com/b,https://c.com",
            "https://a.com/b%2Chttps://c.com",
        );
        assert!(target(&"/fetch/".parse().expect("a URI")).is_err());
    }

    #[test]
    fn the_body_holds_the_other_parameters() {
        let check = |body: &str, expected: &str| {
            let made = with_url(body.as_bytes(), "https://a.com").expect("a body");
            assert_eq!(String::from_utf8_lossy(&made), expected);
        };
        check("", r#"{"url":"https://a.com"}"#);
        check(
            r#" {"limit": 1e2, "url": "b.com"}"#,
            r#"{"limit":1e2,"url":"https://a.com"}"#,
        );
        for bad in ["[]", "3", "{", r#"{"a":1,"a":1}"#] {
            let error = with_url(bad.as_bytes(), "https://a.com").expect_err(bad);
            assert!(
                matches!(error, ApiError::Invalid(text) if text.starts_with("Deserialization error: "))
            );
        }
    }
}
