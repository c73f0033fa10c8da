//! What errors of the browser and of a page's scripts mean.

use chromiumoxide::cdp::js_protocol::runtime::ExceptionDetails;
use url::Url;

use trawl_model::failure::status;

use super::RenderError;
use trawl_net::egress::Refusal;

/// The text of an exception that a script threw.
pub(super) fn thrown(details: ExceptionDetails) -> String {
    let description = details
        .exception
        .and_then(|exception| exception.description);
    description.unwrap_or(details.text)
}

/// Why the proxy refused the page's own URL.
pub(super) fn refusal(refused: &[Refusal], url: &Url) -> Option<RenderError> {
    let host = url.host_str()?;
    let port = url.port_or_known_default()?;
    let destination = format!("{host}:{port}");
    let found = refused
        .iter()
        .rev()
        .find(|refused| refused.destination == destination)?;
    Some(RenderError::Load(found.status, found.reason.clone()))
}

/// What an error of the browser's network stack means.
pub(super) fn load_error(error: &str, is_download: bool, wants_screenshot: bool) -> RenderError {
    let code = match error.trim_start_matches("net::") {
        "ERR_ABORTED" if is_download => {
            let text = if wants_screenshot {
                "the URL is a download, of which no screenshot can be made"
            } else {
                "the URL is a download, not a page; use `request: \"http\"`"
            };
            return RenderError::Load(status::BROWSER_FAILED, text.to_owned());
        }
        "ERR_NAME_NOT_RESOLVED" => status::NAME_NOT_RESOLVED,
        "ERR_CONNECTION_REFUSED" => status::CONNECTION_REFUSED,
        "ERR_CONNECTION_RESET" => status::RESET,
        "ERR_TIMED_OUT" | "ERR_CONNECTION_TIMED_OUT" => status::TIMED_OUT,
        "ERR_TOO_MANY_REDIRECTS" => status::TOO_MANY_REDIRECTS,
        "ERR_CONNECTION_CLOSED"
        | "ERR_EMPTY_RESPONSE"
        | "ERR_ABORTED"
        | "ERR_INVALID_HTTP_RESPONSE" => status::ABORTED,
        _ => status::UNREACHABLE_OR_REFUSED,
    };
    let hint = match error.trim_start_matches("net::") {
        "ERR_SSL_PROTOCOL_ERROR" => "; write `http://` for a site without TLS",
        _ => "",
    };
    RenderError::Load(code, format!("the page cannot be loaded: {error}{hint}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_download_has_no_screenshot() {
        let text = |wants_screenshot| match load_error("net::ERR_ABORTED", true, wants_screenshot) {
            RenderError::Load(_, text) => text,
            other => panic!("another error: {other:?}"),
        };
        assert!(text(false).contains("`request: \"http\"`"));
        assert!(text(true).contains("no screenshot") && !text(true).contains("http"));
    }
}
