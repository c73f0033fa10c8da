//! Responses outside the router: to connections that are refused, and to requests that no HTTP
//! parser accepts. They have the form of the API's errors.

/// A complete HTTP/1.1 response that ends its connection. `status` is a code with its phrase.
pub(super) fn response(status: &str, retry_after: bool, error: &str) -> Vec<u8> {
    let body = body(error);
    let retry = if retry_after {
        "retry-after: 1\r\n"
    } else {
        ""
    };
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n{retry}connection: close\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// The response of the HTTP parser, which has no body, with the body that explains it. `None` if it
/// is not a complete response without a body.
pub(super) fn explained(bare: &[u8]) -> Option<Vec<u8>> {
    const NO_BODY: &str = "content-length: 0\r\n";
    let head = std::str::from_utf8(bare).ok()?.strip_suffix("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?;
    let body = body(match status {
        "400" => "the request is not valid HTTP/1.1",
        "414" => "the URL of the request is too long, the limit is 65534 bytes",
        "431" => "the request has more than 100 headers or 65536 bytes before its body, send fewer",
        _ => return None,
    });
    let head = format!("{head}\r\n");
    let length = format!(
        "content-type: application/json\r\ncontent-length: {}\r\n",
        body.len()
    );
    if !head.contains(NO_BODY) {
        return None;
    }
    let head = head.replacen(NO_BODY, &length, 1);
    Some(format!("{head}\r\n{body}").into_bytes())
}

fn body(error: &str) -> String {
    serde_json::json!({ "error": error }).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_response_gets_a_body() {
        let bare = b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\ndate: x\r\n\r\n";
        let explained = String::from_utf8(explained(bare).expect("explained")).expect("UTF-8");
        let (head, body) = explained.split_once("\r\n\r\n").expect("a head");
        assert!(head.starts_with("HTTP/1.1 400 Bad Request\r\nconnection: close\r\n"));
        assert!(head.ends_with("\r\ndate: x"), "{head}");
        assert!(head.contains(&format!("content-length: {}\r\n", body.len())));
        assert_eq!(body, r#"{"error":"the request is not valid HTTP/1.1"}"#);
    }

    #[test]
    fn other_responses_stay() {
        for other in [
            &b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"[..],
            b"HTTP/1.1 400 Bad Request\r\ncontent-length: 2\r\n\r\n{}",
            b"HTTP/1.1 400 Bad Request\r\n",
            b"\xff",
        ] {
            assert_eq!(explained(other), None);
        }
    }
}
