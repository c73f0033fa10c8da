//! The cookies of a page's caller. They belong to one origin, and not every browser's jar knows
//! ports. Where the browser lets its requests be changed they are taken out before; the handshakes
//! of its WebSockets are changed here, at the beginning of their tunnels.
//!
//! A WebSocket over a connection of HTTP/2 that is open already (RFC 8441) has no tunnel of its
//! own, and what it sends is not seen here. Only the jar can keep cookies from it, by binding them
//! to their port: `trawl_render` turns that on.

use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use url::Url;

use super::meter::Meter;

/// Type of a TLS record that has a part of a handshake, and bytes of a record's head. RFC 8446
/// section 5.1.
const HANDSHAKE: u8 = 22;
const RECORD_HEAD_BYTES: usize = 5;
/// Bytes of a ClientHello before its session: kind and length, version, random value. RFC 8446
/// section 4.1.2.
const HELLO_HEAD_BYTES: usize = 4 + 2 + 32;
/// Number of the extension that lists protocols. RFC 7301 section 3.1.
const ALPN: [u8; 2] = [0, 16];
/// The protocol that Chromium offers for requests, and for no WebSocket.
const HTTP_2: &[u8] = b"h2";
/// How a line of a request's head begins that has cookies.
const COOKIE: &[u8] = b"cookie:";
/// How the answer to a handshake begins that opens a WebSocket. RFC 6455 section 4.2.2.
const SWITCHING: &[u8] = b"HTTP/1.1 101";

/// The cookies that a channel keeps from other ports of their host. Clones share them.
#[derive(Clone, Default)]
pub struct KeptCookies(Arc<Mutex<Option<Kept>>>);

struct Kept {
    home: Url,
    pairs: Vec<String>,
}

impl KeptCookies {
    /// From now on these cookies, each as `name=value`, enter no tunnel to another port of this
    /// URL's host.
    pub fn keep(&self, home: &Url, pairs: Vec<String>) {
        let home = home.clone();
        *self.locked() = (!pairs.is_empty()).then_some(Kept { home, pairs });
    }

    /// The browser has them no more.
    pub fn release(&self) {
        *self.locked() = None;
    }

    /// Those that must not enter a tunnel to the host and port of this URL.
    pub(super) fn kept_from(&self, url: &Url) -> Option<Vec<String>> {
        let kept = self.locked();
        let Kept { home, pairs } = kept.as_ref()?;
        let is_kept = home.host() == url.host() && !is_own_port(home, url);
        is_kept.then(|| pairs.clone())
    }

    fn locked(&self) -> MutexGuard<'_, Option<Kept>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Omits them.
impl fmt::Debug for KeptCookies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeptCookies").finish_non_exhaustive()
    }
}

/// Whether a port belongs to the page's origin, or to its upgrade to `https`.
fn is_own_port(home: &Url, url: &Url) -> bool {
    let port = url.port_or_known_default();
    let is_upgrade = home.scheme() == "http" && home.port().is_none() && port == Some(443);
    is_upgrade || home.port_or_known_default() == port
}

/// Passes on the beginning of a tunnel: the head of a request without these cookies, and how its
/// answer begins, or the first record of TLS.
///
/// # Errors
/// It breaks off or is too large, it belongs to a WebSocket over TLS, which may have them, or its
/// WebSocket is not opened: after a 401 the browser would send the head again, with them.
pub(super) async fn begin(
    cookies: &[String],
    near: &mut (impl AsyncRead + AsyncWrite + Unpin),
    far: &mut (impl AsyncRead + AsyncWrite + Unpin),
    head_bytes_max: usize,
    meter: &Meter,
) -> io::Result<()> {
    let first = near.read_u8().await?;
    if first == HANDSHAKE {
        let record = first_record(near).await?;
        return pass_on(&record, far, meter).await;
    }
    let mut head = vec![first];
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() >= head_bytes_max {
            return Err(io::Error::other("the head of a request is too large"));
        }
        head.push(near.read_u8().await?);
    }
    pass_on(&without(&head, cookies), far, meter).await?;
    let mut answer = [0; SWITCHING.len()];
    far.read_exact(&mut answer).await?;
    meter.receive_from_tunnel(answer.len())?;
    if answer != *SWITCHING {
        let reason = "a WebSocket to another port of the host was not opened by it";
        return Err(io::Error::other(reason));
    }
    near.write_all(&answer).await?;
    near.flush().await
}

/// Reads what follows the type of the first record of TLS: the whole record if it is from a
/// connection for requests.
async fn first_record(near: &mut (impl AsyncRead + Unpin)) -> io::Result<Vec<u8>> {
    let mut record = vec![0; RECORD_HEAD_BYTES];
    record[0] = HANDSHAKE;
    near.read_exact(&mut record[1..]).await?;
    let length = u16::from_be_bytes([record[3], record[4]]);
    record.resize(RECORD_HEAD_BYTES + usize::from(length), 0);
    near.read_exact(&mut record[RECORD_HEAD_BYTES..]).await?;
    if !offers_http_2(&record[RECORD_HEAD_BYTES..]) {
        let reason = "a WebSocket to another port of the host may carry the caller's cookies";
        return Err(io::Error::other(reason));
    }
    Ok(record)
}

/// Sends bytes into a tunnel, and counts them.
async fn pass_on(
    bytes: &[u8],
    far: &mut (impl AsyncWrite + Unpin),
    meter: &Meter,
) -> io::Result<()> {
    meter.send(bytes.len())?;
    far.write_all(bytes).await?;
    far.flush().await
}

/// The head of a request without these cookies.
fn without(head: &[u8], cookies: &[String]) -> Vec<u8> {
    let mut kept = Vec::with_capacity(head.len());
    for line in head.split_inclusive(|byte| *byte == b'\n') {
        let (name, value) = line.split_at(line.len().min(COOKIE.len()));
        if !name.eq_ignore_ascii_case(COOKIE) {
            kept.extend_from_slice(line);
            continue;
        }
        let is_other = |pair: &&[u8]| cookies.iter().all(|own| own.as_bytes() != *pair);
        let pairs = value.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
        let others: Vec<&[u8]> = pairs.filter(is_other).collect();
        if !others.is_empty() {
            kept.extend_from_slice(b"Cookie: ");
            kept.extend_from_slice(&others.join(&b"; "[..]));
            kept.extend_from_slice(b"\r\n");
        }
    }
    kept
}

/// Whether a ClientHello offers HTTP/2.
fn offers_http_2(hello: &[u8]) -> bool {
    let mut names = protocols(hello).unwrap_or_default();
    while let Some((name, rest)) = field(names, 1) {
        if name == HTTP_2 {
            return true;
        }
        names = rest;
    }
    false
}

/// The list of protocols that a ClientHello offers.
fn protocols(hello: &[u8]) -> Option<&[u8]> {
    let mut rest = hello.get(HELLO_HEAD_BYTES..)?;
    // The session, the cipher suites and the compression methods.
    for width in [1, 2, 1] {
        (_, rest) = field(rest, width)?;
    }
    let (mut extensions, _) = field(rest, 2)?;
    while let Some((kind, after)) = extensions.split_at_checked(2) {
        let (content, rest) = field(after, 2)?;
        if kind == ALPN {
            return field(content, 2).map(|(list, _)| list);
        }
        extensions = rest;
    }
    None
}

/// A field that begins with its length, a number of so many bytes, and what follows it.
fn field(bytes: &[u8], width: usize) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_at_checked(width)?;
    let add = |sum: usize, byte: &u8| (sum << 8) + usize::from(*byte);
    rest.split_at_checked(length.iter().fold(0, add))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).expect("a URL")
    }

    #[test]
    fn cookies_are_kept_from_other_ports_of_their_host() {
        for (home, tunnel, is_kept) in [
            ("http://a.example/", "https://a.example:81/", true),
            ("http://a.example/", "https://a.example:80/", false),
            ("http://a.example/", "https://a.example/", false),
            ("http://a.example:8080/", "https://a.example/", true),
            ("http://a.example:8080/", "https://a.example:8080/", false),
            ("https://a.example/", "https://a.example:80/", true),
            ("https://a.example/", "https://a.example:443/", false),
            ("http://a.example/", "https://b.example:81/", false),
        ] {
            let cookies = KeptCookies::default();
            cookies.keep(&url(home), vec!["sid=secret".to_owned()]);
            let kept = cookies.kept_from(&url(tunnel));
            assert_eq!(kept.is_some(), is_kept, "{home} {tunnel}");
            cookies.release();
            assert_eq!(cookies.kept_from(&url(tunnel)), None);
        }
    }

    #[test]
    fn a_head_keeps_the_cookies_of_the_site() {
        let own = ["sid=secret".to_owned()];
        for (cookie, kept) in [
            ("cookie: sid=secret\r\n", ""),
            ("Cookie: s=1; sid=secret;t=2\r\n", "Cookie: s=1; t=2\r\n"),
            ("Cookie: sid=renewed\r\n", "Cookie: sid=renewed\r\n"),
            ("X-Cookie: sid=secret\r\n", "X-Cookie: sid=secret\r\n"),
        ] {
            let head = |line: &str| format!("GET / HTTP/1.1\r\n{line}Host: a\r\n\r\n");
            let found = without(head(cookie).as_bytes(), &own);
            assert_eq!(String::from_utf8_lossy(&found), head(kept));
        }
    }
}
