//! `/fetch/{domain}/{path}`: the page at `https://domain/path`.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Extension;
use axum::extract::{Request, State};
use axum::http::{Method, Uri};
use axum::response::Response;
use serde_json::value::to_raw_value;

use trawl_billing::Account;
use trawl_plan::address;
use trawl_wire::{Entry, ScrapeRequest, Verb};

use super::reader::ContentForm;
use super::scrape;
use crate::Api;
use crate::http::body::BODY_BYTES_MAX;
use crate::http::error::ApiError;
use crate::http::fields::Unique;
use crate::http::format::ResponseFormat;
use crate::http::idempotency;
use crate::http::request::{ApiRequest, serve};

/// What precedes the URL in the path.
const PREFIX: &str = "/fetch/";

#[utoipa::path(
    method(get, post),
    path = "/fetch/{domain}/{path}",
    description = "Fetches `https://domain/path`, including the query, as `/scrape` does. The optional body has the other parameters; a \
        GET has no body, and with an `Accept` that prefers `text/markdown`, `text/html` or `text/plain` its answer is the content alone.",
    params(
        ("domain" = String, Path, description = "Host of the page", example = "sample.trawl.test"),
        ("path" = String, Path, description = "Path of the page; may contain slashes, may be empty", example = "tides"),
    ),
    request_body(content = ScrapeRequest, description = "Parameters other than `url`",
        example = json!({"return_format": "text"})),
    responses(
        (status = 200, description = "A list with one entry", body = Vec<Entry>),
        (status = 502, description = "The page failed, and only its content was asked for",
            example = json!({"error": "the site answered 404 Not Found"})),
    ),
    security(("key" = []))
)]
pub(crate) async fn fetch(
    State(api): State<Api>,
    Extension(account): Extension<Arc<Account>>,
    request: Request,
) -> Result<Response, ApiError> {
    let url = target(request.uri())?;
    let form = match *request.method() {
        Method::GET => ContentForm::of(request.headers()),
        _ => None,
    };
    if form.is_some() && idempotency::key(request.headers())?.is_some() {
        let reason =
            "Idempotency-Key: only for answers as JSON, leave it or the header `Accept` out";
        return Err(ApiError::Invalid(reason.to_owned()));
    }
    let work = move |request: ApiRequest| async move {
        let body = with_url(&request.body, &url, form)?;
        let mut request = request.with_body(body);
        let Some(form) = form else {
            return scrape::pages(request, Verb::Scrape).await;
        };
        let memory = request.service.memory();
        let memory = memory.share(request.account.id.as_str());
        request.format = ResponseFormat::Json;
        let entries = scrape::pages(request, Verb::Scrape).await?;
        form.response(entries, &memory).await
    };
    serve(&api, account, request, BODY_BYTES_MAX, work).await
}

/// The URL of the page, from the path and query of the request.
fn target(uri: &Uri) -> Result<String, ApiError> {
    let path = uri.path_and_query().map_or("", |path| path.as_str());
    let path = path.strip_prefix("/v1").unwrap_or(path);
    let rest = path.strip_prefix(PREFIX).unwrap_or_default();
    if rest.is_empty() {
        let reason = "url: the path has no URL, write `/fetch/example.com/path`";
        return Err(ApiError::Invalid(reason.to_owned()));
    }
    let has_scheme = ["http://", "https://"]
        .iter()
        .any(|scheme| rest.starts_with(scheme));
    let url = if has_scheme {
        rest.to_owned()
    } else {
        format!("https://{rest}")
    };
    if address::split(&url).len() > 1 {
        // A path names one page, even if its commas look like a list of URLs.
        Ok(url.replace(',', "%2C"))
    } else {
        Ok(url)
    }
}

/// The request object of the body with its `url` set, and with the format of the content if that is
/// all that is returned.
fn with_url(body: &[u8], url: &str, form: Option<ContentForm>) -> Result<Vec<u8>, ApiError> {
    let invalid =
        |error: serde_json::Error| ApiError::Invalid(format!("Deserialization error: {error}"));
    let mut fields = match body.trim_ascii() {
        b"" => BTreeMap::new(),
        body => serde_json::from_slice::<Unique>(body).map_err(invalid)?.0,
    };
    fields.insert("url".to_owned(), to_raw_value(url).map_err(invalid)?);
    if let Some(form) = form {
        let format = to_raw_value(form.return_format()).map_err(invalid)?;
        fields.insert("return_format".to_owned(), format);
    }
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
    fn the_body_has_the_other_parameters() {
        let check = |body: &str, expected: &str| {
            let made = with_url(body.as_bytes(), "https://a.com", None).expect("a body");
            assert_eq!(String::from_utf8_lossy(&made), expected);
        };
        check("", r#"{"url":"https://a.com"}"#);
        check(
            r#" {"limit": 1e2, "url": "b.com"}"#,
            r#"{"limit":1e2,"url":"https://a.com"}"#,
        );
        let made = with_url(b"", "https://a.com", Some(ContentForm::Html)).expect("a body");
        let expected = r#"{"return_format":"raw","url":"https://a.com"}"#;
        assert_eq!(String::from_utf8_lossy(&made), expected);
        for bad in ["[]", "3", "{", r#"{"a":1,"a":1}"#] {
            let error = with_url(bad.as_bytes(), "https://a.com", None).expect_err(bad);
            assert!(
                matches!(error, ApiError::Invalid(text) if text.starts_with("Deserialization error: "))
            );
        }
    }
}
