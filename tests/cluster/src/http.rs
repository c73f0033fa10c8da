//! As much of an HTTP client as loopback needs: one request a connection.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, anyhow};
use serde_json::Value;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// An answer.
#[derive(Debug)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The head, up to the empty line.
    pub head: String,
    /// The body.
    pub body: Vec<u8>,
}

impl Answer {
    /// The body as JSON.
    ///
    /// # Errors
    /// It is something else.
    pub fn json(&self) -> anyhow::Result<Value> {
        serde_json::from_slice(&self.body).context("the answer is not JSON")
    }

    /// The value of a header; its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(':'));
        let found = lines.find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.trim())
    }
}

/// A request.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The method.
    pub method: &'a str,
    /// The path, with its query.
    pub path: &'a str,
    /// A body.
    pub body: Option<&'a Value>,
    /// The `Idempotency-Key`, so that a repeated request is one.
    pub once: Option<&'a str>,
}

impl<'a> Request<'a> {
    /// A request without a body.
    pub const fn new(method: &'a str, path: &'a str) -> Self {
        Self {
            method,
            path,
            body: None,
            once: None,
        }
    }
}

/// Sends a request with this API key, or with none if it is empty.
///
/// # Errors
/// No whole answer came.
pub fn send(to: SocketAddr, key: &str, request: &Request<'_>) -> anyhow::Result<Answer> {
    send_within(PATIENCE, to, key, request)
}

/// The same, whose connection, and each part of whose answer, takes no longer than `time_max`.
///
/// # Errors
/// No whole answer came.
pub fn send_within(
    time_max: Duration,
    to: SocketAddr,
    key: &str,
    request: &Request<'_>,
) -> anyhow::Result<Answer> {
    let mut stream = TcpStream::connect_timeout(&to, time_max)?;
    stream.set_read_timeout(Some(time_max))?;
    stream.set_write_timeout(Some(time_max))?;
    let Request { method, path, .. } = request;
    let body = request.body.map(Value::to_string).unwrap_or_default();
    let mut headers = String::new();
    if !key.is_empty() {
        headers += &format!("Authorization: Bearer {key}\r\n");
    }
    if let Some(once) = request.once {
        headers += &format!("Idempotency-Key: {once}\r\n");
    }
    // With HTTP/1.0 there are no chunks, and the answer ends with the connection.
    let head = format!(
        "{method} {path} HTTP/1.0\r\nHost: {to}\r\n{headers}\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())?;
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes)?;
    parse(&bytes).ok_or_else(|| anyhow!("`{method} {path}` has no whole answer"))
}

fn parse(bytes: &[u8]) -> Option<Answer> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let body = bytes[end + 4..].to_vec();
    let answer = Answer { status, head, body };
    let length: Option<usize> = answer
        .header("content-length")
        .and_then(|value| value.parse().ok());
    let is_whole = length.is_none_or(|length| length == answer.body.len());
    is_whole.then_some(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_answer_is_read_and_a_cut_one_is_not() {
        let text = b"HTTP/1.1 202 Accepted\r\nContent-Length: 2\r\nX-Next-Cursor: 7\r\n\r\n{}";
        let answer = parse(text).expect("an answer");
        assert_eq!((answer.status, answer.body.as_slice()), (202, &b"{}"[..]));
        assert_eq!(answer.header("x-next-cursor"), Some("7"));
        assert!(answer.json().is_ok());
        assert!(parse(&text[..text.len() - 1]).is_none());
        assert!(parse(b"HTTP/1.1 200").is_none());
    }
}
