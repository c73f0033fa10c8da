//! What errors of the browser and of a page's scripts mean.

use chromiumoxide::cdp::js_protocol::runtime::ExceptionDetails;
use url::Url;

use trawl_model::Cause;

use super::error::RenderError;
use trawl_net::egress::Refusal;

/// What precedes each frame of a stack in the description of an error.
const FRAME: &str = "\n    at ";

/// The text of an exception that a script threw, without its stack: the frames are those of Trawl.
/// Decision D260.
pub(super) fn thrown(details: ExceptionDetails) -> String {
    let description = details
        .exception
        .and_then(|exception| exception.description);
    let mut text = description.unwrap_or(details.text);
    if let Some(end) = text.find(FRAME) {
        text.truncate(end);
    }
    text
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
    Some(RenderError::Load(found.cause, found.reason.clone()))
}

/// What an error of the browser's network stack means.
pub(super) fn load_error(error: &str, is_download: bool, wants_screenshot: bool) -> RenderError {
    let name = error.trim_start_matches("net::");
    let cause = match name {
        "ERR_ABORTED" if is_download => {
            let text = if wants_screenshot {
                "the URL is a download: no screenshot can be made of it"
            } else {
                "the URL is a download, not a page; use `request: \"http\"`"
            };
            return RenderError::Load(Cause::Download, text.to_owned());
        }
        "ERR_NAME_NOT_RESOLVED" => Cause::Dns,
        "ERR_CONNECTION_REFUSED" => Cause::ConnectionRefused,
        "ERR_CONNECTION_RESET" => Cause::ConnectionReset,
        "ERR_TIMED_OUT" | "ERR_CONNECTION_TIMED_OUT" => Cause::ConnectionTimeout,
        "ERR_TOO_MANY_REDIRECTS" => Cause::TooManyRedirects,
        "ERR_CONNECTION_CLOSED"
        | "ERR_EMPTY_RESPONSE"
        | "ERR_ABORTED"
        | "ERR_INVALID_HTTP_RESPONSE" => Cause::ConnectionClosed,
        "ERR_INVALID_URL"
        | "ERR_UNKNOWN_URL_SCHEME"
        | "ERR_DISALLOWED_URL_SCHEME"
        | "ERR_UNSAFE_PORT" => Cause::BadUrl,
        name if name.starts_with("ERR_CERT_") || name.starts_with("ERR_SSL_") => Cause::Tls,
        _ => Cause::Unreachable,
    };
    let hint = match name {
        "ERR_SSL_PROTOCOL_ERROR" => "; write `http://` for a site without TLS",
        _ => "",
    };
    RenderError::Load(cause, format!("the page cannot be loaded: {error}{hint}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exception_has_no_stack() {
        let check = |description: Option<&str>, expected: &str| {
            let details = serde_json::json!({
                "exceptionId": 1, "text": "Uncaught", "lineNumber": 0, "columnNumber": 0,
                "exception": {"type": "object", "description": description},
            });
            let details = serde_json::from_value(details).expect("details");
            assert_eq!(thrown(details), expected);
        };
        let stack = "SyntaxError: 'a>>' is not\na selector\n    at Object.point (<anonymous>:1:7)";
        check(Some(stack), "SyntaxError: 'a>>' is not\na selector");
        check(Some("Error: at home"), "Error: at home");
        check(None, "Uncaught");
    }

    #[test]
    fn a_download_has_no_screenshot() {
        let text = |wants_screenshot| match load_error("net::ERR_ABORTED", true, wants_screenshot) {
            RenderError::Load(_, text) => text,
            other => panic!("another error: {other:?}"),
        };
        assert!(text(false).contains("`request: \"http\"`"));
        assert!(text(true).contains("no screenshot") && !text(true).contains("http"));
    }

    #[test]
    fn errors_of_the_network_stack_have_their_causes() {
        let check = |name: &str, expected: Cause, status: u16| {
            let failure = load_error(&format!("net::{name}"), false, false).failure();
            assert_eq!(
                (failure.cause, failure.status()),
                (expected, status),
                "{name}"
            );
        };
        check("ERR_NAME_NOT_RESOLVED", Cause::Dns, 525);
        check("ERR_CERT_DATE_INVALID", Cause::Tls, 526);
        check("ERR_SSL_PROTOCOL_ERROR", Cause::Tls, 526);
        check("ERR_UNSAFE_PORT", Cause::BadUrl, 526);
        check("ERR_ADDRESS_UNREACHABLE", Cause::Unreachable, 526);
        check("ERR_EMPTY_RESPONSE", Cause::ConnectionClosed, 522);
    }
}
