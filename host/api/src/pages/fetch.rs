//! `/fetch/{domain}/{path}`: the page at `https://domain/path`, with parameters in headers.
//! Decision D236.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Extension;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use serde_json::value::{RawValue, to_raw_value};

use trawl_billing::Account;
use trawl_model::Terms;
use trawl_parameters::{Header, Parameter};
use trawl_plan::{Ignored, address};
use trawl_wire::{PageEntry, header_value};

use super::reader::ContentForm;
use super::scrape;
use crate::Api;
use crate::http::body::BODY_BYTES_MAX;
use crate::http::error::ApiError;
use crate::http::fields::{Unique, not_an_object};
use crate::http::format::ResponseFormat;
use crate::http::idempotency;
use crate::http::request::{ApiRequest, receive};
use crate::http::version::unversioned;

/// What precedes the URL in the path.
const PREFIX: &str = "/fetch/";
/// Parameters that are written here.
const URL: &str = "url";
const RETURN_FORMAT: &str = "return_format";

#[utoipa::path(
    method(get, post),
    path = "/fetch/{domain}/{path}",
    summary = "Fetch one page by its path",
    description = "Fetches `https://domain/path` as `/scrape` does. The query belongs to that URL. Parameters are headers, \
        `X-Return-Format` for `return_format`; in a POST they may also be the JSON body, which wins. With an `Accept` that prefers \
        `text/markdown`, `text/html` or `text/plain`, the answer is the content alone.",
    params(
        ("domain" = String, Path, description = "Host of the page, with its port if that is not the ordinary one", example = "sample.trawl.test"),
        ("path" = String, Path, description = "Path of the page, which may contain slashes", example = "tides"),
    ),
    request_body(content = ref("#/components/schemas/FetchRequest"), description = "Parameters other than `url`",
        example = json!({"return_format": "text"})),
    responses(
        (status = 200, description = "A list with one entry, or the content of the page alone with its status, URL and cost as headers",
            body = Vec<PageEntry>, headers(
                ("X-Page-Status" = u16, description = "With the content alone: status of the page"),
                ("X-Page-Url" = String, description = "With the content alone: URL of the page after redirects"),
                ("X-Cost" = f64, description = "With the content alone: cost of the page in dollars"),
                ("Vary" = String, description = "Includes `accept` with the content alone"),
                ("Content-Security-Policy" = String, description = "With the content alone: `sandbox`"),
                ("X-Content-Type-Options" = String, description = "With the content alone: `nosniff`"),
            )),
        (status = 502, description = "The page failed, and only its content was asked for", body = ref("#/components/schemas/Error"),
            headers(
                ("X-Page-Status" = u16, description = "Status of the page"),
                ("X-Page-Url" = String, description = "URL of the page after redirects"),
                ("X-Cost" = f64, description = "0: a page that failed costs nothing"),
            ),
            example = json!({"error": "the site answered 404 Not Found", "cause": "http_status"})),
    ),
    security(("key" = []))
)]
pub(crate) async fn fetch(
    State(api): State<Api>,
    Extension(account): Extension<Arc<Account>>,
    request: Request,
) -> Result<Response, ApiError> {
    let url = target(request.uri())?;
    let form = ContentForm::of(request.headers());
    if form.is_some() && idempotency::key(request.headers())?.is_some() {
        let reason =
            "Idempotency-Key: only for answers as JSON, leave it or the header `Accept` out";
        return Err(ApiError::Invalid(reason.to_owned()));
    }
    let headers = Headers::read(request.headers())?;
    let terms = Terms::PayAsYouGo;
    let received = receive(&api, account, request, BODY_BYTES_MAX, terms).await?;
    let written = ScrapeBody::new(&received.request.body, &url, form, headers)?;
    // All that the request says is in its body now, also for the `Idempotency-Key`.
    let received = received.with_body(written.body).await?;
    let work = move |request| run(request, form, written.ignored);
    received.serve(work).await
}

/// Scrapes the page and answers with its entry, or with its content alone.
async fn run(
    mut request: ApiRequest,
    form: Option<ContentForm>,
    ignored: Ignored,
) -> Result<Response, ApiError> {
    let Some(form) = form else {
        return scrape::page(request, ignored).await;
    };
    let owner = request.account.id.as_str();
    let memory = request.api.rooms.memory.share(owner);
    request.format = ResponseFormat::Json;
    let entries = scrape::page(request, ignored).await?;
    form.response(entries, &memory).await
}

/// The URL of the page, from the path and query of the request.
fn target(uri: &Uri) -> Result<String, ApiError> {
    let path = unversioned(uri.path());
    let rest = path.strip_prefix(PREFIX).unwrap_or_default();
    if rest.is_empty() {
        let reason = "url: the path has no URL, write `/fetch/example.com/path`";
        return Err(ApiError::Invalid(reason.to_owned()));
    }
    let mut url = with_scheme(&decoded_host(rest)?);
    if let Some(query) = uri.query() {
        // A URL that was sent in one segment may have brought its own.
        url.push(if url.contains('?') { '&' } else { '?' });
        url.push_str(query);
    }
    if address::split(&url).len() > 1 {
        // A path names one page, even if its commas look like a list of URLs.
        Ok(url.replace(',', "%2C"))
    } else {
        Ok(url)
    }
}

/// Clients that are generated from the OpenAPI document escape the colon of a port, or all of a URL
/// so that it is one segment. No host contains an escape; a password before it may.
fn decoded_host(rest: &str) -> Result<Cow<'_, str>, ApiError> {
    let end = rest.find('/').unwrap_or(rest.len());
    let (host, path) = rest.split_at(end);
    if !host.contains('%') || host.contains('@') {
        return Ok(rest.into());
    }
    let host = decoded(host)?;
    if host.contains(['/', '?', '#']) {
        decoded(rest).map(Cow::Owned)
    } else {
        Ok(format!("{host}{path}").into())
    }
}

/// A text without its percent escapes. RFC 3986 section 2.1.
fn decoded(text: &str) -> Result<String, ApiError> {
    let refusal = || {
        let reason = "url: the path is not UTF-8 with percent escapes like `%2F`";
        ApiError::Invalid(reason.to_owned())
    };
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, others)) = rest.split_first() {
        if first != b'%' {
            bytes.push(first);
            rest = others;
            continue;
        }
        let digits = others
            .get(..2)
            .and_then(|digits| str::from_utf8(digits).ok());
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(byte.ok_or_else(refusal)?);
        rest = &others[2..];
    }
    String::from_utf8(bytes).map_err(|_| refusal())
}

/// The URL with its scheme, which is `https` if it has none. A reverse proxy may have merged the
/// slashes behind it.
fn with_scheme(written: &str) -> String {
    let (scheme, rest) = written.split_once(":/").unwrap_or_default();
    let is_scheme = |text: &str| {
        text.starts_with(|first: char| first.is_ascii_alphabetic())
            && text
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    };
    let is_ours = ["http", "https"]
        .iter()
        .any(|ours| scheme.eq_ignore_ascii_case(ours));
    if is_ours {
        format!("{scheme}://{}", rest.trim_start_matches('/'))
    } else if is_scheme(scheme) && rest.starts_with('/') {
        // It is refused by its name.
        written.to_owned()
    } else {
        format!("https://{written}")
    }
}

/// The parameters in the headers of a request.
#[derive(Default)]
struct Headers {
    values: Vec<(&'static Parameter, Box<RawValue>)>,
    ignored: Ignored,
}

impl Headers {
    /// Reads the headers of a request.
    ///
    /// # Errors
    /// The header of a parameter is there twice and no list, is not UTF-8, or looks like JSON and
    /// is none.
    fn read(headers: &HeaderMap) -> Result<Self, ApiError> {
        let mut read = Self::default();
        for name in headers.keys() {
            match Header::named(name.as_str()) {
                Header::Foreign => {}
                Header::Idle(meant) => {
                    let meant = meant.map(Parameter::header);
                    read.ignored.add_unknown(name.as_str(), || meant.as_deref());
                }
                Header::Of(row) => {
                    let text = text(headers, row)?;
                    let value = header_value(row, &text)?;
                    read.values.extend(value.map(|value| (row, value)));
                }
            }
        }
        Ok(read)
    }
}

/// The value of a parameter's header.
fn text(headers: &HeaderMap, row: &Parameter) -> Result<String, ApiError> {
    let name = row.header();
    let invalid =
        |reason: &str| ApiError::Invalid(format!("{}: header `{name}` {reason}", row.name));
    let mut texts = headers.get_all(&name).iter();
    let first = texts.next().map(|value| str::from_utf8(value.as_bytes()));
    match (first, texts.next()) {
        (Some(Ok(text)), None) => Ok(text.to_owned()),
        (Some(Err(_)), _) => Err(invalid("is not UTF-8")),
        _ => Err(invalid("is there more than once, send one")),
    }
}

/// All that a request says, as the body of a scrape.
#[derive(Debug)]
struct ScrapeBody {
    body: Vec<u8>,
    /// What the path, the body or `Accept` says otherwise.
    ignored: Ignored,
}

impl ScrapeBody {
    /// The request object of the body with its `url` set, with the parameters of the headers, and
    /// with the format of the content if that is all that is returned.
    ///
    /// # Errors
    /// The body is not a JSON object.
    fn new(
        body: &[u8],
        url: &str,
        form: Option<ContentForm>,
        headers: Headers,
    ) -> Result<Self, ApiError> {
        let invalid = |error: serde_json::Error| not_an_object(&error);
        let mut fields = match body.trim_ascii() {
            b"" => BTreeMap::new(),
            body => serde_json::from_slice::<Unique>(body).map_err(invalid)?.0,
        };
        let Headers {
            values,
            mut ignored,
        } = headers;
        let is_set = |value: Option<&RawValue>| value.is_some_and(|value| value.get() != "null");
        for (row, value) in values {
            if is_set(fields.get(row.name).map(AsRef::as_ref)) {
                ignored.add(row.header().to_ascii_lowercase());
            } else {
                fields.insert(row.name.to_owned(), value);
            }
        }
        let sent = fields.insert(URL.to_owned(), to_raw_value(url).map_err(invalid)?);
        if is_set(sent.as_deref()) {
            ignored.add(URL);
        }
        if let Some(form) = form {
            let format = to_raw_value(form.return_format()).map_err(invalid)?;
            let sent = fields.insert(RETURN_FORMAT.to_owned(), format);
            let names_form = |sent: &RawValue| {
                let name = serde_json::from_str::<String>(sent.get());
                name.is_ok_and(|name| form.is_named(&name))
            };
            if is_set(sent.as_deref()) && !sent.as_deref().is_some_and(names_form) {
                ignored.add(RETURN_FORMAT);
            }
        }
        let body = serde_json::to_vec(&fields).map_err(invalid)?;
        Ok(Self { body, ignored })
    }
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> Result<Headers, ApiError> {
        let mut map = HeaderMap::new();
        for (name, value) in pairs {
            map.append(
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            );
        }
        Headers::read(&map)
    }

    fn written(
        body: &str,
        form: Option<ContentForm>,
        pairs: &[(&'static str, &'static str)],
    ) -> Result<(String, Ignored), ApiError> {
        let written = ScrapeBody::new(body.as_bytes(), "https://a.com", form, headers(pairs)?)?;
        let body = String::from_utf8_lossy(&written.body).into_owned();
        Ok((body, written.ignored))
    }

    #[test]
    fn the_path_names_one_page() {
        let check = |uri: &str, expected: &str| {
            let uri = uri.parse().expect("a URI");
            assert_eq!(target(&uri).as_deref(), Ok(expected), "{uri}");
        };
        check("/fetch/a.com/x/y?q=1&r", "https://a.com/x/y?q=1&r");
        check("/v1/fetch/a.com", "https://a.com");
        check("/fetch/http://a.com:81/%C3%A4", "http://a.com:81/%C3%A4");
        check("/fetch/HTTPS:/a.com//x?q", "HTTPS://a.com//x?q");
        check("/fetch/a.com/b,c", "https://a.com/b,c");
        check(
            "/fetch/a.com/b,https://c.com",
            "https://a.com/b%2Chttps://c.com",
        );
        check(
            "/fetch/a.com/https://b.com/",
            "https://a.com/https://b.com/",
        );
        check(
            "/fetch/a.com?to=https://b.com",
            "https://a.com?to=https://b.com",
        );
        check("/fetch/ftp://a.com/", "ftp://a.com/");
        // As generated clients write it.
        check("/fetch/a.com%3A81/x%2Fy", "https://a.com:81/x%2Fy");
        check("/fetch/a.com%2Fx%2Fy%3Fq%3D1", "https://a.com/x/y?q=1");
        check("/fetch/http%3a%2f%2Fa.com%2f%C3%A4", "http://a.com/ä");
        check("/fetch/a.com%2Fx%3Fq?r=1", "https://a.com/x?q&r=1");
        check("/fetch/u:a%2Fb@a.com/x", "https://u:a%2Fb@a.com/x");
        for bad in ["/fetch/", "/fetch/a%2", "/fetch/%FF", "/fetch/a%zz/x"] {
            let uri = bad.parse().expect("a URI");
            let error = target(&uri).expect_err(bad);
            assert!(matches!(error, ApiError::Invalid(text) if text.starts_with("url: ")));
        }
    }

    #[test]
    fn the_body_has_the_other_parameters() {
        let check = |body: &str, expected: &str, names: &[&str]| {
            let (made, ignored) = written(body, None, &[]).expect("a body");
            assert_eq!(made, expected);
            assert_eq!(ignored.names(), names);
        };
        check("", r#"{"url":"https://a.com"}"#, &[]);
        check(
            r#" {"limit": 1e2, "url": "b.com"}"#,
            r#"{"limit":1e2,"url":"https://a.com"}"#,
            &["url"],
        );
        check(r#"{"url": null}"#, r#"{"url":"https://a.com"}"#, &[]);
        for (bad, reason) in [
            ("[]", "expected a JSON object"),
            ("3", "expected a JSON object"),
            ("{", "the body is not valid JSON: "),
            (r#"{"a":1,"a":1}"#, "duplicate field `a`"),
        ] {
            let error = written(bad, None, &[]).expect_err(bad);
            // Only a field of a wrong type begins with "Deserialization error".
            assert!(
                matches!(&error, ApiError::Invalid(text)
                    if text.contains(reason) && !text.starts_with("Deserialization")),
                "{error:?}"
            );
        }
    }

    #[test]
    fn headers_have_parameters_too_and_the_body_wins() {
        let pairs = [
            ("x-max-size", "100"),
            ("x-metadata", "true"),
            ("x-request-id", "abc"),
            ("x-forwarded-for", "192.0.2.1"),
            ("x-retrun-format", "text"),
            ("x-limit", "3"),
            ("x-readability", ""),
        ];
        let (made, ignored) = written(r#"{"max_size": 7}"#, None, &pairs).expect("a body");
        assert_eq!(
            made,
            r#"{"max_size":7,"metadata":true,"url":"https://a.com"}"#
        );
        let mut names = ignored.names().to_vec();
        names.sort_unstable();
        assert_eq!(names, ["x-limit", "x-max-size", "x-retrun-format"]);
        assert_eq!(ignored.hints(), ["x-retrun-format=X-Return-Format"]);
        let refused = |pairs: &[(&'static str, &'static str)], expected: &str| {
            let error = written("", None, pairs).expect_err(expected);
            assert!(
                matches!(&error, ApiError::Invalid(text) if text.contains(expected)),
                "{error:?}"
            );
        };
        refused(
            &[("x-max-size", "1"), ("x-max-size", "2")],
            "max_size: header `X-Max-Size` is there more than once",
        );
        refused(
            &[("x-viewport", "{")],
            "viewport: header `X-Viewport` is not valid JSON",
        );
    }

    #[test]
    fn the_form_of_the_answer_is_its_format() {
        let check = |format: &'static str, form: ContentForm, expected: &str, names: &[&str]| {
            let (made, ignored) =
                written("", Some(form), &[("x-return-format", format)]).expect("a body");
            assert_eq!(
                made,
                format!(r#"{{"return_format":"{expected}","url":"https://a.com"}}"#)
            );
            assert_eq!(ignored.names(), names, "{format}");
        };
        check("HTML", ContentForm::Html, "raw", &[]);
        check("commonmark", ContentForm::Markdown, "markdown", &[]);
        check("markdown", ContentForm::Text, "text", &["return_format"]);
        check("text,xml", ContentForm::Text, "text", &["return_format"]);
    }
}
