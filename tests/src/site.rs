//! A website on loopback whose paths misbehave in every way that real ones do. It writes raw
//! HTTP/1.1, so a response may be malformed.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha1::{Digest, Sha1};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::coding::{encoded, gzip_bomb, stalled_body};
use crate::http_server::Listening;

/// The page at `/page`, and the decoded body of `/coded/…`.
pub const PAGE: &str = "<!DOCTYPE html><html lang=\"en\"><head><title>A page</title></head>\
<body><h1>A page</h1><p>Some <b>text</b> and <a href=\"/other\">a link</a>.</p></body></html>";
/// Time between two bytes of `/drip`.
const DRIP: Duration = Duration::from_millis(20);
/// What the key of a WebSocket's handshake is hashed with. RFC 6455 section 1.3.
const SOCKET_GUID: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/// The first byte of a frame that is a whole message of text, and the longest text whose length the
/// second one gives. RFC 6455 section 5.2.
const WHOLE_TEXT: u8 = 0x81;
const TEXT_BYTES_MAX: usize = 125;

/// The site. Its paths are the arms of `Visit::answer`.
pub struct FakeSite {
    /// The address it listens on.
    pub address: SocketAddr,
    seen: Arc<Seen>,
    _listening: Listening,
}

/// Content type and body of a page that a test has added.
type Stored = (String, Arc<[u8]>);

#[derive(Default)]
struct Seen {
    connections: AtomicUsize,
    requests: Mutex<Vec<String>>,
    slow: AtomicUsize,
    slow_most: AtomicUsize,
    pages: Mutex<HashMap<String, Stored>>,
}

impl FakeSite {
    /// Starts one on a free port of 127.0.0.1.
    ///
    /// # Panics
    /// When no port is free.
    pub async fn start() -> Self {
        Self::start_at("127.0.0.1").await
    }

    /// Starts one on another loopback address.
    ///
    /// # Panics
    /// When the address is not local.
    pub async fn start_at(ip: &str) -> Self {
        let seen = Arc::new(Seen::default());
        let known = Arc::clone(&seen);
        let listening = Listening::start(ip, move |stream| {
            known.connections.fetch_add(1, Ordering::SeqCst);
            let seen = Arc::clone(&known);
            Visit { stream, seen }.serve()
        });
        let listening = listening.await;
        Self {
            address: listening.address,
            seen,
            _listening: listening,
        }
    }

    /// The URL of a path.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Serves this body at a path from now on and returns its URL.
    pub fn put(&self, path: &str, content_type: &str, body: impl Into<Vec<u8>>) -> String {
        let pages = self.seen.pages.lock();
        let page = (content_type.to_owned(), body.into().into());
        pages
            .unwrap_or_else(PoisonError::into_inner)
            .insert(path.to_owned(), page);
        self.url(path)
    }

    /// Serves `/root`, which links to the pages `/p/0` to `/p/{n_pages - 1}`, and returns its URL.
    pub fn put_linked(&self, n_pages: usize) -> String {
        let mut links = String::new();
        for n in 0..n_pages {
            self.put(&format!("/p/{n}"), "text/html", format!("<p>Page {n}</p>"));
            links += &format!("<a href=\"/p/{n}\">{n}</a> ");
        }
        self.put("/root", "text/html", format!("<p>Root {links}</p>"))
    }

    /// Number of connections so far.
    pub fn connections(&self) -> usize {
        self.seen.connections.load(Ordering::SeqCst)
    }

    /// Highest number of concurrent requests for `/slow/…` so far.
    pub fn slow_at_once(&self) -> usize {
        self.seen.slow_most.load(Ordering::SeqCst)
    }

    /// Heads of all requests so far.
    pub fn requests(&self) -> Vec<String> {
        let requests = self.seen.requests.lock();
        requests.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// One connection of a client.
struct Visit {
    stream: TcpStream,
    seen: Arc<Seen>,
}

/// A request for `/slow/…` that is in progress.
struct Slow(Arc<Seen>);

impl Slow {
    fn begin(seen: Arc<Seen>) -> Self {
        let now = seen.slow.fetch_add(1, Ordering::SeqCst) + 1;
        seen.slow_most.fetch_max(now, Ordering::SeqCst);
        Self(seen)
    }
}

impl Drop for Slow {
    fn drop(&mut self) {
        self.0.slow.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Whether the connection stays open after a response; `None` closes it.
type Next = Option<()>;

impl Visit {
    async fn serve(mut self) {
        while let Some(head) = self.head().await {
            let target = head.split(' ').nth(1).unwrap_or("/").to_owned();
            let requests = self.seen.requests.lock();
            requests
                .unwrap_or_else(PoisonError::into_inner)
                .push(head.clone());
            if self.answer(&target, &head).await.is_none() {
                return;
            }
        }
    }

    async fn head(&mut self) -> Option<String> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(self.stream.read_u8().await.ok()?);
            // Web servers respond like this to a TLS handshake on a plain HTTP port.
            if head == [0x16] {
                self.whole("400 Bad Request", "", b"this is plain HTTP")
                    .await;
                return None;
            }
        }
        String::from_utf8(head).ok()
    }

    async fn answer(&mut self, target: &str, head: &str) -> Next {
        // A proxy gets the absolute form of the target.
        let target = match target.strip_prefix("http://") {
            Some(rest) => rest.find('/').map_or("/", |slash| &rest[slash..]),
            None => target,
        };
        if let Some((content_type, body)) = self.page(target) {
            let header = format!("Content-Type: {content_type}\r\n");
            return self.whole("200 OK", &header, &body).await;
        }
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let (first, rest) = path[1.min(path.len())..]
            .split_once('/')
            .unwrap_or((path.get(1..)?, ""));
        match first {
            "page" => self.html(PAGE).await,
            "echo" => {
                self.whole("200 OK", "Content-Type: text/plain\r\n", head.as_bytes())
                    .await
            }
            "status" => {
                let has_body = !matches!(rest, "204" | "304");
                let body = if has_body { PAGE } else { "" };
                self.whole(rest, "Content-Type: text/html\r\n", body.as_bytes())
                    .await
            }
            "redirect" => match rest.parse::<usize>() {
                Ok(0) | Err(_) => self.html(PAGE).await,
                Ok(left) => {
                    self.redirect("302 Found", &format!("/redirect/{}", left - 1), "")
                        .await
                }
            },
            "slow" => {
                let slow = Slow::begin(Arc::clone(&self.seen));
                tokio::time::sleep(Duration::from_millis(rest.parse().unwrap_or(0))).await;
                // Before the response, because the client may send its next request before this
                // task continues.
                drop(slow);
                self.html(PAGE).await
            }
            // A browser asks for this where it navigates, plain HTTP does not.
            "no-browsers" if head.to_lowercase().contains("\nupgrade-insecure-requests:") => {
                std::future::pending().await
            }
            "no-browsers" => self.html(PAGE).await,
            "loop" => self.redirect("302 Found", "/loop", "").await,
            "to" => self.redirect("307 Temporary Redirect", query, "").await,
            "login" => {
                self.redirect("303 See Other", "/echo", "Set-Cookie: sid=in; Path=/\r\n")
                    .await
            }
            "cookies" => {
                let cookies = "Set-Cookie: a=1\r\nSet-Cookie: b=2; Path=/\r\nSet-Cookie: a=3\r\nSet-Cookie: x=9; Domain=com\r\n";
                self.whole("200 OK", cookies, b"set").await
            }
            "repeated" => {
                self.whole("200 OK", "X-A: 1\r\nX-B: 2\r\nX-A: 3\r\n", b"")
                    .await
            }
            "headers" => {
                let lines: String = (0..10_000)
                    .map(|number| format!("X-{number}: 1\r\n"))
                    .collect();
                self.whole("200 OK", &lines, b"").await
            }
            "coded" => self.coded(rest, rest).await,
            "mislabelled" => self.coded(rest, "gzip").await,
            "cut" => self.cut(rest).await,
            "bomb" => self.bomb(rest).await,
            "stalled" => self.stalled().await,
            "typed" => self.typed(rest).await,
            "feed" => self.feed(rest, query, head).await,
            _ => self.odd(first).await,
        }
    }

    fn page(&self, path: &str) -> Option<(String, Arc<[u8]>)> {
        let pages = self.seen.pages.lock();
        pages
            .unwrap_or_else(PoisonError::into_inner)
            .get(path)
            .cloned()
    }

    /// Responses that violate the protocol.
    async fn odd(&mut self, kind: &str) -> Next {
        match kind {
            "endless" => {
                self.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                    .await?;
                let chunk = [b"4000\r\n".as_slice(), &[b'x'; 0x4000], b"\r\n"].concat();
                loop {
                    self.write(&chunk).await?;
                }
            }
            "drip" => {
                self.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
                    .await?;
                loop {
                    self.write(b"x").await?;
                    tokio::time::sleep(DRIP).await;
                }
            }
            "truncated" => {
                self.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nonly this")
                    .await?;
                None
            }
            "truncated-chunks" => {
                self.write(
                    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nonly this\r\n",
                )
                .await?;
                None
            }
            "reset" => {
                self.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nonly this")
                    .await?;
                tokio::time::sleep(DRIP).await;
                self.stream.set_zero_linger().ok()?;
                None
            }
            "silent" => std::future::pending().await,
            "garbage" => {
                self.write(b"SSH-2.0-not_the_protocol_you_want\r\n").await?;
                None
            }
            // Leaves the connection open, and closes it at the next request.
            "stale" => {
                self.html(PAGE).await?;
                self.head().await;
                None
            }
            _ => {
                self.whole(
                    "404 Not Found",
                    "Content-Type: text/html\r\n",
                    b"<p>no such page",
                )
                .await
            }
        }
    }

    async fn coded(&mut self, codings: &str, label: &str) -> Next {
        let body = encoded(codings, PAGE.as_bytes());
        let label = label.replace("raw-", "");
        let headers = format!("Content-Type: text/html\r\nContent-Encoding: {label}\r\n");
        self.whole("200 OK", &headers, &body).await
    }

    /// The page without the end of its data.
    async fn cut(&mut self, coding: &str) -> Next {
        let mut body = encoded(coding, PAGE.as_bytes());
        body.truncate(body.len() - 9);
        let headers = format!("Content-Type: text/html\r\nContent-Encoding: {coding}\r\n");
        self.whole("200 OK", &headers, &body).await
    }

    /// 1 GiB for gzip, 8 MiB for other codings.
    async fn bomb(&mut self, coding: &str) -> Next {
        let body = match coding {
            "gzip" => gzip_bomb(),
            coding => encoded(coding, &vec![0; 8 << 20]),
        };
        let headers = format!("Content-Type: text/html\r\nContent-Encoding: {coding}\r\n");
        self.whole("200 OK", &headers, &body).await
    }

    /// 63 MiB in gzip, except for the last bytes, which never come.
    async fn stalled(&mut self) -> Next {
        let body = stalled_body();
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n\r\n",
            body.len() + 1
        );
        self.write(head.as_bytes()).await?;
        self.write(body).await?;
        std::future::pending().await
    }

    async fn typed(&mut self, kind: &str) -> Next {
        let (media_type, body): (&str, &[u8]) = match kind {
            "json" => ("application/json", b"{\"a\": [1, 2]}"),
            "png" => ("image/png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"),
            "dvi" => ("application/x-dvi", b"\xf7\x02\x01\x83\x92\xc0\x1c;\0"),
            "latin1" => ("text/html; charset=iso-8859-1", b"<p>caf\xe9</p>"),
            "shift-jis" => ("text/html; charset=shift_jis", b"<p>\x93\xfa\x96{</p>"),
            "utf-16" => ("text/html", b"\xff\xfe<\0p\0>\0h\0i\0"),
            _ => ("text/plain", b"plain"),
        };
        let header = format!("Content-Type: {media_type}\r\n");
        self.whole("200 OK", &header, body).await
    }

    /// A WebSocket that sends this text after so many milliseconds and stays open.
    async fn feed(&mut self, delay_ms: &str, text: &str, head: &str) -> Next {
        let head = format!(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Accept: {}\r\n\r\n",
            socket_accept(head)?
        );
        self.write(head.as_bytes()).await?;
        tokio::time::sleep(Duration::from_millis(delay_ms.parse().ok()?)).await;
        let length = u8::try_from(text.len().min(TEXT_BYTES_MAX)).ok()?;
        let text = &text.as_bytes()[..usize::from(length)];
        self.write(&[&[WHOLE_TEXT, length][..], text].concat())
            .await?;
        while self.stream.read_u8().await.is_ok() {}
        None
    }

    async fn html(&mut self, body: &str) -> Next {
        let header = "Content-Type: text/html; charset=utf-8\r\n";
        self.whole("200 OK", header, body.as_bytes()).await
    }

    async fn redirect(&mut self, status: &str, location: &str, headers: &str) -> Next {
        let headers = format!("{headers}Location: {location}\r\n");
        self.whole(status, &headers, b"").await
    }

    async fn whole(&mut self, status: &str, headers: &str, body: &[u8]) -> Next {
        let head = format!(
            "HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\n\r\n",
            body.len()
        );
        self.write(head.as_bytes()).await?;
        self.write(body).await
    }

    async fn write(&mut self, bytes: &[u8]) -> Next {
        self.stream.write_all(bytes).await.ok()
    }
}

/// The value of `Sec-WebSocket-Accept` that belongs to the key in a request's head; `None` if that
/// has none. RFC 6455 section 4.2.2.
fn socket_accept(head: &str) -> Option<String> {
    let mut lines = head.lines().filter_map(|line| line.split_once(':'));
    let (_, key) = lines.find(|(name, _)| name.eq_ignore_ascii_case("Sec-WebSocket-Key"))?;
    let hash = Sha1::digest(format!("{}{SOCKET_GUID}", key.trim()));
    Some(STANDARD.encode(hash))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_of_a_socket_is_answered() {
        // The example of RFC 6455 section 1.3.
        let head = "GET / HTTP/1.1\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
        let accept = socket_accept(head);
        assert_eq!(accept.as_deref(), Some("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
        assert_eq!(socket_accept("GET / HTTP/1.1\r\n\r\n"), None);
    }
}
