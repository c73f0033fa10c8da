//! Replies of a service from files: a raw HTTP/1.1 response, a JSON object that describes one, or a
//! body.

use std::borrow::Cow;
use std::path::Path;

use anyhow::{Context, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use trawl_contract::provider::Reply;

/// A reply as a JSON object.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Described {
    status: u16,
    #[serde(default)]
    headers: Vec<(String, String)>,
    body_text: Option<String>,
    body_base64: Option<String>,
}

/// Reads a reply.
///
/// # Errors
/// The file cannot be read, or it starts like a response but is not one.
pub(super) fn read(path: &Path) -> anyhow::Result<Reply<'static>> {
    let bytes = std::fs::read(path).with_context(|| format!("cannot read `{}`", path.display()))?;
    parse(&bytes).with_context(|| format!("`{}` is not a reply", path.display()))
}

fn parse(bytes: &[u8]) -> anyhow::Result<Reply<'static>> {
    if bytes.starts_with(b"HTTP/") {
        return raw(bytes);
    }
    if let Ok(described) = serde_json::from_slice::<Described>(bytes) {
        let body = match (described.body_text, described.body_base64) {
            (Some(text), None) => text.into_bytes(),
            (None, Some(text)) => STANDARD
                .decode(text)
                .context("`body_base64` is not valid base64")?,
            (None, None) => Vec::new(),
            (Some(_), Some(_)) => bail!("give `body_text` or `body_base64`, not both"),
        };
        return Ok(reply(described.status, described.headers, body));
    }
    Ok(reply(200, Vec::new(), bytes.to_vec()))
}

fn raw(bytes: &[u8]) -> anyhow::Result<Reply<'static>> {
    let find = |text: &[u8]| bytes.windows(text.len()).position(|window| window == text);
    let (head_end, body_at) = match (find(b"\r\n\r\n"), find(b"\n\n")) {
        (Some(at), _) => (at, at + 4),
        (None, Some(at)) => (at, at + 2),
        (None, None) => (bytes.len(), bytes.len()),
    };
    let head = String::from_utf8_lossy(&bytes[..head_end]);
    let mut lines = head.lines();
    let status = lines.next().and_then(|line| line.split_whitespace().nth(1));
    let status = status
        .and_then(|status| status.parse().ok())
        .context("the first line has no status")?;
    let headers = lines.map(|line| {
        let (name, value) = line.split_once(':').context("a header has no colon")?;
        Ok((name.trim().to_owned(), value.trim().to_owned()))
    });
    let headers = headers.collect::<anyhow::Result<_>>()?;
    Ok(reply(status, headers, bytes[body_at..].to_vec()))
}

fn reply(status: u16, headers: Vec<(String, String)>, body: Vec<u8>) -> Reply<'static> {
    let headers = headers.into_iter();
    Reply {
        status,
        headers: headers
            .map(|(name, value)| (name.to_lowercase(), value))
            .collect(),
        body: Cow::Owned(body),
        elapsed_ms: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_has_three_formats() {
        let check = |text: &str, status: u16, header: Option<&str>, body: &str| {
            let reply = parse(text.as_bytes()).expect("a reply");
            assert_eq!(reply.status, status, "{text}");
            assert_eq!(reply.header("x-a"), header, "{text}");
            assert_eq!(reply.text(), body, "{text}");
        };
        check(
            "HTTP/1.1 404 Not Found\r\nX-A: 1\r\n\r\nbo\n\ndy",
            404,
            Some("1"),
            "bo\n\ndy",
        );
        check("HTTP/1.1 204 No Content\nX-A: 1\n\n", 204, Some("1"), "");
        check(
            r#"{"status":503,"headers":[["X-A","1"]],"body_text":"busy"}"#,
            503,
            Some("1"),
            "busy",
        );
        check(r#"{"status":200,"body_base64":"YQ=="}"#, 200, None, "a");
        check(r#"{"results":[]}"#, 200, None, r#"{"results":[]}"#);
        check("<p>", 200, None, "<p>");
        assert!(parse(b"HTTP/1.1").is_err());
        assert!(parse(b"HTTP/1.1 200 OK\nnonsense\n\n").is_err());
        assert!(parse(br#"{"status":200,"body_text":"","body_base64":""}"#).is_err());
    }
}
