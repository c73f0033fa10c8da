//! Response headers that several endpoints set.

use axum::http::HeaderValue;
use axum::response::Response;

use trawl_plan::Ignored;

/// Lists the request parameters that have no effect, and the known ones that are closest to those
/// that are not known.
pub(crate) fn set_ignored_parameters(response: &mut Response, ignored: &Ignored) {
    set_list(response, "x-ignored-parameters", ignored.names());
    set_list(response, "x-parameter-hints", ignored.hints());
}

/// Lists the crawls that a request started.
pub(crate) fn set_crawl_ids(response: &mut Response, ids: &[String]) {
    set_list(response, "x-crawl-id", ids);
}

/// Says how many URLs of a text are not crawled. Decision D221.
pub(crate) fn set_left_out(response: &mut Response, n_urls: u64) {
    if n_urls > 0 {
        set_list(response, "x-left-out", &[format!("urls={n_urls}")]);
    }
}

/// Sets the cursor from which the next request continues.
pub(crate) fn set_next_cursor(response: &mut Response, cursor: impl Into<HeaderValue>) {
    response
        .headers_mut()
        .insert("x-next-cursor", cursor.into());
}

fn set_list(response: &mut Response, header: &'static str, values: &[String]) {
    if !values.is_empty()
        && let Ok(value) = HeaderValue::from_str(&values.join(", "))
    {
        response.headers_mut().insert(header, value);
    }
}
