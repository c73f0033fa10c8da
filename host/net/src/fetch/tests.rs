//! Pages of sites that speak odd HTTP, octet for octet.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use trawl_model::Cause;
use trawl_plan::testing::page_plan;

use super::loopback::fetcher;
use super::*;
use crate::politeness::{Politeness, PolitenessConfig, RequestPace};

/// What a site does after a request.
enum Act {
    /// Sends these octets and closes the connection.
    Close(Vec<u8>),
    /// Sends these octets and waits for the client to close it.
    Hold(Vec<u8>),
    /// Sends these octets and, a little later, resets it.
    Reset(Vec<u8>),
}

/// A site on loopback with its requests so far.
struct Site {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Site {
    /// A site that answers by the head of a request and its number, counted from 0.
    async fn start(answer: impl Fn(&[u8], usize) -> Act + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("a bound listener");
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (answer, log) = (Arc::new(answer), Arc::clone(&requests));
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let (answer, log) = (Arc::clone(&answer), Arc::clone(&log));
                tokio::spawn(async move {
                    let mut socket = socket;
                    let head = head(&mut socket).await;
                    let number = {
                        let mut log = log.lock().expect("no panic");
                        log.push(head.clone());
                        log.len() - 1
                    };
                    act(socket, answer(&head, number)).await;
                });
            }
        });
        Self { address, requests }
    }

    /// A site that answers everything with these octets.
    async fn saying(octets: &[u8]) -> Self {
        let octets = octets.to_vec();
        Self::start(move |_, _| Act::Close(octets.clone())).await
    }

    fn url(&self, path: &str) -> Url {
        let url = format!("http://{}{path}", self.address);
        url.parse().expect("a URL")
    }

    /// The lines of a request.
    fn request(&self, number: usize) -> Vec<Vec<u8>> {
        let requests = self.requests.lock().expect("no panic");
        let lines = requests[number].split(|byte| *byte == b'\n');
        lines.map(|line| line.trim_ascii().to_vec()).collect()
    }

    fn n_requests(&self) -> usize {
        self.requests.lock().expect("no panic").len()
    }

    async fn fetch(&self, path: &str, plan: &FetchPlan) -> Result<Fetched, FetchError> {
        let politeness = Politeness::new(&PolitenessConfig::default());
        let permit = politeness.permit("127.0.0.1").await;
        let caller = Caller {
            cookies: &CookieJar::new(),
            memory: &MemoryBudget::unlimited().share("a").page(),
        };
        fetcher()
            .fetch(&permit, &self.url(path), plan, caller)
            .await
    }

    async fn page(&self) -> Fetched {
        self.fetch("/", &plan()).await.expect("a page")
    }

    async fn failure(&self) -> Cause {
        let error = self.fetch("/", &plan()).await.expect_err("no page");
        error.failure().cause
    }

    async fn file(&self) -> GetResponse {
        let get = PoliteGet::new(fetcher(), Politeness::new(&PolitenessConfig::default()));
        let limits = GetLimits {
            bytes_max: 1 << 20,
            time_max: Duration::from_secs(20),
            pause_max: Duration::from_secs(5),
            exit: trawl_plan::Exit::default(),
            pace: None,
        };
        get.get(&self.url("/robots.txt"), limits)
            .await
            .expect("a response")
    }
}

async fn head(socket: &mut TcpStream) -> Vec<u8> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") && head.len() < 64 * 1024 {
        match socket.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => break,
        }
    }
    head
}

async fn act(mut socket: TcpStream, act: Act) {
    let (Act::Close(octets) | Act::Hold(octets) | Act::Reset(octets)) = &act;
    // The client may be gone.
    let _ = socket.write_all(octets).await;
    match act {
        Act::Close(_) => {}
        Act::Hold(_) => {
            let _ = tokio::time::timeout(Duration::from_secs(60), socket.read_u8()).await;
        }
        Act::Reset(_) => {
            // The octets before it must have been read.
            tokio::time::sleep(Duration::from_millis(300)).await;
            let _ = socket.set_zero_linger();
        }
    }
}

fn plan() -> FetchPlan {
    FetchPlan::clone(&page_plan("http://127.0.0.1/").fetch)
}

/// An answer with these header lines and this body, without any length.
fn answer(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status}\r\nconnection: close\r\n{headers}\r\n");
    [head.as_bytes(), body].concat()
}

fn ok(headers: &str, body: &[u8]) -> Vec<u8> {
    answer("200 OK", headers, body)
}

fn gzip(body: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(body).expect("memory to memory");
    encoder.finish().expect("memory to memory")
}

/// A chunk of a body, and whatever follows it.
fn chunk(body: &[u8], end: &str) -> Vec<u8> {
    let size = format!("{:x}\r\n", body.len());
    [size.as_bytes(), body, b"\r\n", end.as_bytes()].concat()
}

#[tokio::test]
async fn octets_of_redirects_and_cookies_come_back_as_they_were() {
    let site = Site::start(|_, number| {
        Act::Close(match number {
            0 => [
                b"HTTP/1.1 302 Found\r\ncontent-length: 0\r\nset-cookie: caf\xe9=\xff\x80; Path=/\r\n"
                    .as_slice(),
                b"set-cookie: u=\xc3\xa9\r\nlocation: /jos\xe9-rizal?\xfc\r\nconnection: close\r\n\r\n",
            ]
            .concat(),
            _ => ok("", b"there"),
        })
    })
    .await;
    let fetched = site.page().await;
    assert_eq!(fetched.page.final_url, site.url("/jos%E9-rizal?%FC"));
    let lines = site.request(1);
    assert_eq!(lines[0], b"GET /jos%E9-rizal?%FC HTTP/1.1");
    let cookie = lines.iter().find(|line| line.starts_with(b"cookie:"));
    let expected = b"cookie: caf\xe9=\xff\x80; u=\xc3\xa9";
    assert_eq!(cookie.map(Vec::as_slice), Some(expected.as_slice()));
    let cookies = [("café", "ÿ\u{80}"), ("u", "é")];
    let cookies = cookies.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(fetched.page.cookies, cookies);
}

#[tokio::test]
async fn twenty_redirects_are_followed() {
    let site = Site::start(|_, number| {
        Act::Close(answer(
            "302 Found",
            &format!("location: /{number}\r\n"),
            b"",
        ))
    })
    .await;
    assert_eq!(site.failure().await, Cause::TooManyRedirects);
    assert_eq!(site.n_requests(), 21);
}

#[tokio::test]
async fn a_redirected_page_holds_no_connection_while_it_waits() {
    const DELAY: Duration = Duration::from_secs(2);
    let site = Site::start(|_, number| match number {
        // Its body never comes.
        0 => Act::Hold(
            b"HTTP/1.1 302 Found\r\nlocation: /next\r\ncontent-length: 9\r\n\r\n".to_vec(),
        ),
        _ => Act::Close(ok("", b"there")),
    })
    .await;
    let politeness = Politeness::new(&PolitenessConfig::default());
    let pace = RequestPace {
        delay: DELAY,
        ..RequestPace::NONE
    };
    let permit = politeness.permit_with("127.0.0.1", pace).await;
    let caller = Caller {
        cookies: &CookieJar::new(),
        memory: &MemoryBudget::unlimited().share("a").page(),
    };
    let (fetcher, url, plan) = (fetcher(), site.url("/"), plan());
    let begun = Instant::now();
    let fetching = fetcher.fetch(&permit, &url, &plan, caller);
    let closing = async {
        while site.n_requests() == 0 || fetcher.egress.connections().n_used > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        begun.elapsed()
    };
    let (fetched, closed) = tokio::join!(fetching, closing);
    assert_eq!(&fetched.expect("a page").page.body[..], b"there");
    assert!(closed < DELAY / 2, "{closed:?}");
}

#[tokio::test]
async fn a_redirect_to_nowhere_is_a_page_and_one_to_two_places_a_failure() {
    let site = Site::saying(&answer("302 Found", "location:\r\n", b"nothing here")).await;
    let page = site.page().await.page;
    assert_eq!((page.status, &page.body[..]), (302, &b"nothing here"[..]));
    let two = "location: /a\r\nlocation: /b\r\n";
    let site = Site::saying(&answer("302 Found", two, b"")).await;
    assert_eq!(site.failure().await, Cause::BadRedirect);
}

/// A session that has expired: the site deletes it and sends the visitor to the same page.
#[tokio::test]
async fn a_cookie_that_the_site_deletes_ends_a_loop() {
    let site = Site::start(|head, _| {
        let has_session = memchr::memmem::find(head, b"session=old").is_some();
        let lines = "set-cookie: session=; Max-Age=0; Path=/\r\nset-cookie: t=1\r\nlocation: /\r\n";
        Act::Close(if has_session {
            answer("302 Found", lines, b"")
        } else {
            ok(
                "set-cookie: t=; Max-Age=0\r\nset-cookie: new=1\r\n",
                b"sign in",
            )
        })
    })
    .await;
    let session = || ("session".to_owned(), "old".to_owned());
    let by_parameter = FetchPlan {
        cookies: vec![session(), ("lang".to_owned(), "en".to_owned())],
        ..plan()
    };
    let header = http::HeaderValue::from_static("session=old; lang=en");
    let by_header = FetchPlan {
        headers: vec![(COOKIE, header)],
        ..plan()
    };
    for (n_before, plan) in [(0, by_parameter), (2, by_header)] {
        let fetched = site.fetch("/", &plan).await.expect("a page");
        assert_eq!(&fetched.page.body[..], b"sign in");
        assert_eq!(site.n_requests(), n_before + 2);
        let lines = site.request(n_before + 1);
        assert!(
            lines.contains(&b"cookie: t=1; lang=en".to_vec()),
            "{lines:?}"
        );
        // Neither the deleted one nor the one that was set and deleted again.
        assert_eq!(fetched.page.cookies, [("new".to_owned(), "1".to_owned())]);
    }
}

#[tokio::test]
async fn a_body_without_its_end_is_incomplete() {
    let short = ok("content-length: 4000\r\n", b"sixteen bytes ..");
    let half = b"fa0\r\nsixteen bytes ..";
    let chunks = ok("transfer-encoding: chunked\r\n", &chunk(b"a chunk", ""));
    let chunk_cut = ok("transfer-encoding: chunked\r\n", half);
    let no_chunks = ok("transfer-encoding: chunked\r\n", b"no chunks");
    for octets in [short, chunks, chunk_cut] {
        let shown = String::from_utf8_lossy(&octets).into_owned();
        let site = Site::saying(&octets).await;
        assert_eq!(site.failure().await, Cause::Incomplete, "{shown}");
        assert_eq!(site.file().await.end, BodyEnd::Broken, "{shown}");
    }
    assert_eq!(
        Site::saying(&no_chunks).await.failure().await,
        Cause::ConnectionClosed
    );
    let reset = ok("content-length: 4000\r\n", b"sixteen bytes ..");
    let site = Site::start(move |_, _| Act::Reset(reset.clone())).await;
    assert_eq!(site.failure().await, Cause::ConnectionReset);
}

#[tokio::test]
async fn a_coded_body_that_is_whole_needs_no_right_length() {
    const TEXT: &[u8] =
        b"It was a bright cold day in April, and the clocks were striking thirteen.";
    let text = TEXT.repeat(20);
    let coded = gzip(&text);
    let before = format!(
        "content-encoding: gzip\r\ncontent-length: {}\r\n",
        text.len()
    );
    let chunked = "content-encoding: gzip\r\ntransfer-encoding: chunked\r\n";
    for octets in [
        ok(&before, &coded),
        ok(chunked, &chunk(&coded, "0\r\n")),
        ok(chunked, &chunk(&coded, "")),
    ] {
        let site = Site::saying(&octets).await;
        let fetched = site.page().await;
        assert!(fetched.page.body == text);
        assert_eq!(fetched.fault, None);
        assert!(fetched.request.is_some());
        let file = site.file().await;
        assert!(file.body == text && file.end == BodyEnd::Complete);
    }
    let none = ok("content-encoding: gzip\r\ncontent-length: 9\r\n", b"");
    assert_eq!(Site::saying(&none).await.failure().await, Cause::Incomplete);
    // Not whole: its checksum may have been wrong.
    let cut = &coded[..coded.len() - 1];
    let short = ok(&before, cut);
    assert_eq!(
        Site::saying(&short).await.failure().await,
        Cause::Incomplete
    );
}

#[tokio::test]
async fn a_body_without_a_valid_checksum_is_a_page_that_is_not_shared() {
    let coded = gzip(b"the whole page");
    let cut = coded[..coded.len() - 8].to_vec();
    let site = Site::saying(&ok("content-encoding: gzip\r\n", &cut)).await;
    let fetched = site.page().await;
    assert_eq!(&fetched.page.body[..], b"the whole page");
    assert_eq!(fetched.fault, Some(CodingError::Unverified("gzip")));
    assert!(fetched.request.is_none());
    assert_eq!(site.file().await.end, BodyEnd::Complete);
}

#[tokio::test]
async fn names_that_are_no_content_coding_are_passed_over() {
    for name in ["UTF-8", "aws-chunked", "text/html", "none", "compress"] {
        let octets = ok(&format!("content-encoding: {name}\r\n"), b"plain");
        let site = Site::saying(&octets).await;
        assert_eq!(&site.page().await.page.body[..], b"plain", "{name}");
        let file = site.file().await;
        assert_eq!(
            (&file.body[..], file.end),
            (&b"plain"[..], BodyEnd::Complete)
        );
    }
    let site = Site::saying(&ok("content-encoding: br\r\n", b"plain text, no brotli")).await;
    assert_eq!(site.failure().await, Cause::BadEncoding);
}

#[tokio::test]
async fn a_misdirected_request_is_sent_once_more_on_another_connection() {
    let site = Site::start(|_, number| {
        Act::Hold(match number {
            0 | 2 | 3 => b"HTTP/1.1 421 Misdirected\r\ncontent-length: 1\r\n\r\nx".to_vec(),
            _ => b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nhere".to_vec(),
        })
    })
    .await;
    assert_eq!(&site.page().await.page.body[..], b"here");
    assert_eq!(site.page().await.page.status, 421);
    assert_eq!(site.n_requests(), 4);
}

#[tokio::test]
async fn an_identity_transfer_coding_ends_with_its_length() {
    let headers = "HTTP/1.1 200 OK\r\ntransfer-encoding: identity\r\ncontent-length: 4\r\n\r\n";
    let octets = [headers.as_bytes(), b"body and more"].concat();
    let site = Site::start(move |_, _| Act::Hold(octets.clone())).await;
    assert_eq!(&site.page().await.page.body[..], b"body");
    let site = Site::saying(&[headers.as_bytes(), b"bo"].concat()).await;
    assert_eq!(site.failure().await, Cause::Incomplete);
}

#[tokio::test]
async fn several_content_types_are_one_list() {
    let two = "content-type: text/plain\r\ncontent-type: text/html; charset=utf-8\r\n";
    let site = Site::saying(&ok(two, b"<p>")).await;
    assert_eq!(
        site.page().await.page.content_type,
        "text/plain, text/html; charset=utf-8"
    );
}

#[tokio::test]
async fn an_answer_to_a_condition_that_was_not_sent_is_a_failure() {
    let site = Site::saying(&answer("304 Not Modified", "", b"")).await;
    assert_eq!(site.failure().await, Cause::ConnectionClosed);
}
