//! What the proxy carries.

use reqwest::{Client, Proxy};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;

#[expect(
    clippy::disallowed_methods,
    reason = "stands for the browser, on the other side of the proxy"
)]
fn browser(channel: &ProxyChannel) -> Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let (user, password) = channel.credentials();
    let proxy = Proxy::all(format!("http://{}", channel.address())).expect("a URL");
    Client::builder()
        .proxy(proxy.basic_auth(user, password))
        .tls_certs_only(std::iter::empty())
        .build()
        .expect("a client")
}

fn page(head: &str) -> Vec<u8> {
    if head.contains("/chunked") {
        return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n7\r\n, world\r\n0\r\n\r\n"
            .to_vec();
    }
    if head.starts_with("HEAD") {
        return b"HTTP/1.1 200 OK\r\nContent-Length: 1234\r\n\r\n".to_vec();
    }
    if head.contains("/repeated") {
        return b"HTTP/1.1 404 Not Found\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nConnection: X-Hop\r\nX-Hop: 1\r\nContent-Length: 0\r\n\r\n".to_vec();
    }
    b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nsome text".to_vec()
}

#[tokio::test]
async fn plain_pages_are_carried_and_their_bodies_are_counted() {
    let site = Site::start(page).await;
    let channel = open(loopback(), ProxyLimits::default()).await;
    let browser = browser(&channel);
    for (path, text) in [("/page", "some text"), ("/chunked", "hello, world")] {
        let got = browser
            .get(site.url(path))
            .send()
            .await
            .expect("a response");
        assert_eq!(got.status(), 200, "{path}");
        assert_eq!(got.text().await.expect("a body"), text);
    }
    assert_eq!(channel.received_bytes(), 9 + 12);
    assert_eq!(channel.sent_bytes(), 0);
    let got = browser.post(site.url("/form")).body("name=value").send();
    assert_eq!(got.await.expect("a response").status(), 200);
    assert_eq!(channel.sent_bytes(), 10);
    let form = site.heads().pop().expect("three requests").to_lowercase();
    assert!(form.contains("content-length: 10"), "{form}");
    let head = browser.head(site.url("/page")).send().await;
    let head = head.expect("a response");
    assert_eq!(head.headers()["content-length"], "1234");
    assert_eq!(site.connections(), 1, "connections are pooled and reused");
    assert!(channel.refused().is_empty());
}

#[tokio::test]
async fn several_requests_share_one_connection_of_the_browser() {
    let site = Site::start(page).await;
    let channel = open(loopback(), ProxyLimits::default()).await;
    let mut stream = dial(&channel).await;
    for _ in 0..3 {
        let request = format!(
            "GET {} HTTP/1.1\r\n{}\r\n",
            site.url("/page"),
            authorization(&channel)
        );
        stream.write_all(request.as_bytes()).await.expect("sent");
        let head = read_head(&mut stream).await;
        assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
        let mut body = [0; 9];
        stream.read_exact(&mut body).await.expect("a body");
        assert_eq!(&body, b"some text");
    }
}

#[tokio::test]
async fn hop_by_hop_headers_are_removed_and_repeats_stay() {
    let site = Site::start(page).await;
    let channel = open(loopback(), ProxyLimits::default()).await;
    let headers = "Connection: X-Mine, keep-alive\r\nX-Mine: 1\r\nProxy-Connection: keep-alive\r\nTE: trailers\r\nUpgrade: h2c\r\nX-Yours: a\r\nX-Yours: b\r\n";
    let line = format!("GET {}", site.url("/repeated?q=a%20b"));
    let response = exchange(&channel, &line, headers).await.to_lowercase();
    assert!(response.starts_with("http/1.1 404"), "{response}");
    assert!(
        response.contains("set-cookie: a=1\r\nset-cookie: b=2\r\n"),
        "{response}"
    );
    assert!(!response.contains("x-hop"), "{response}");
    let seen = site.heads().remove(0).to_lowercase();
    assert!(
        seen.starts_with("get /repeated?q=a%20b http/1.1\r\n"),
        "{seen}"
    );
    assert!(
        seen.contains(&format!("host: {}\r\n", site.address)),
        "{seen}"
    );
    assert!(seen.contains("x-yours: a\r\nx-yours: b\r\n"), "{seen}");
    for absent in ["proxy-", "x-mine", "trailers", "h2c", "host: x\r\n"] {
        assert!(!seen.contains(absent), "{absent}: {seen}");
    }
}

#[tokio::test]
async fn a_tunnel_carries_every_byte_both_ways_and_counts_it() {
    let (echo, _task) = plain_echo().await;
    let egress = Egress::new(loopback()).expect("egress");
    let channel = open_at(&egress, ProxyLimits::default()).await;
    let (mut stream, head) = connect(&channel, &echo.to_string()).await;
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    let sent: Vec<u8> = (0..300_000_u32).map(|number| number as u8).collect();
    let (mut from, mut to) = stream.split();
    let mut back = vec![0; sent.len()];
    let (wrote, read) = tokio::join!(to.write_all(&sent), from.read_exact(&mut back));
    wrote.expect("sent");
    read.expect("sent back");
    assert_eq!(sent, back);
    assert_eq!(channel.sent_bytes(), 300_000);
    assert_eq!(channel.received_bytes(), 300_000);
    assert_eq!(egress.received_bytes(), 300_000);
    // Half closed, it still delivers the rest: here, only the end.
    to.shutdown().await.expect("closed");
    assert_eq!(read_all(&mut from).await, "");
}

#[tokio::test]
async fn bytes_sent_along_with_connect_are_not_lost() {
    let (echo, _task) = plain_echo().await;
    let channel = open(loopback(), ProxyLimits::default()).await;
    let mut stream = dial(&channel).await;
    let request = format!(
        "CONNECT {echo} HTTP/1.1\r\n{}\r\nearly",
        authorization(&channel)
    );
    stream.write_all(request.as_bytes()).await.expect("sent");
    read_head(&mut stream).await;
    let mut back = [0; 5];
    stream.read_exact(&mut back).await.expect("sent back");
    assert_eq!(&back, b"early");
    assert_eq!((channel.sent_bytes(), channel.received_bytes()), (5, 5));
}

#[tokio::test]
async fn a_web_socket_over_plain_http_becomes_a_tunnel() {
    let site = Site::echo().await;
    let channel = open(loopback(), ProxyLimits::default()).await;
    let mut stream = dial(&channel).await;
    let request = format!(
        "GET {} HTTP/1.1\r\nHost: {}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: k\r\nSec-WebSocket-Version: 13\r\n{}\r\n",
        site.url("/socket"),
        site.address,
        authorization(&channel)
    );
    stream.write_all(request.as_bytes()).await.expect("sent");
    let head = read_head(&mut stream).await.to_lowercase();
    assert!(head.starts_with("http/1.1 101"), "{head}");
    for line in [
        "connection: upgrade\r\n",
        "upgrade: websocket\r\n",
        "sec-websocket-accept: x\r\n",
    ] {
        assert!(head.contains(line), "{line}: {head}");
    }
    let seen = site.heads().remove(0).to_lowercase();
    for line in [
        "connection: upgrade\r\n",
        "upgrade: websocket\r\n",
        "sec-websocket-key: k\r\n",
    ] {
        assert!(seen.contains(line), "{line}: {seen}");
    }
    let frame = [0x81, 0x85, 1, 2, 3, 4, 0, 0xff, 0x0d, 0x0a];
    stream.write_all(&frame).await.expect("sent");
    let mut back = [0; 10];
    stream.read_exact(&mut back).await.expect("sent back");
    assert_eq!(back, frame);
    assert_eq!((channel.sent_bytes(), channel.received_bytes()), (10, 10));
}

#[tokio::test]
async fn a_truncated_body_aborts_the_connection() {
    let site =
        Site::start(|_| b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf".to_vec()).await;
    let channel = open(loopback(), ProxyLimits::default()).await;
    let got = browser(&channel).get(site.url("/cut")).send().await;
    assert!(got.expect("a head").bytes().await.is_err());
    assert_eq!(channel.received_bytes(), 4);
}

#[tokio::test]
async fn the_sample_site_is_served_without_network() {
    let channel = open(EgressConfig::default(), ProxyLimits::default()).await;
    let response = exchange(&channel, "GET http://sample.trawl.test/", "").await;
    assert!(response.starts_with("HTTP/1.1 200 OK"), "{response}");
    assert!(response.contains("<!DOCTYPE html>"), "{response}");
    assert!(channel.received_bytes() > 0);
    let (_, head) = connect(&channel, "sample.trawl.test:443").await;
    assert!(head.starts_with("HTTP/1.1 403"), "{head}");
    assert_eq!(channel.refused()[0].destination, "sample.trawl.test:443");
}

/// A page that offers to authenticate the connection to those who did not.
fn page_of_an_intranet(head: &str) -> Vec<u8> {
    if head.to_ascii_lowercase().contains("\nauthorization: ") {
        return page(head);
    }
    b"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: NTLM\r\nContent-Length: 0\r\n\r\n".to_vec()
}

#[tokio::test]
async fn a_connection_that_may_be_authenticated_is_used_once() {
    let site = Site::start(page_of_an_intranet).await;
    let egress = Egress::new(loopback()).expect("egress");
    let (one, other) = (
        open_at(&egress, ProxyLimits::default()).await,
        open_at(&egress, ProxyLimits::default()).await,
    );
    let line = format!("GET {}", site.url("/"));
    for (channel, header, status, connections) in [
        (&one, "Authorization: Negotiate YII=\r\n", "200", 1),
        // No other page gets it, nor the next request of the same page.
        (&other, "", "401", 2),
        // Nor one on which authentication was offered.
        (&one, "Authorization: Basic YTpi\r\n", "200", 3),
        // Others are used again, but not by a request that authenticates its own.
        (&other, "Authorization: Basic YTpi\r\n", "200", 3),
        (&one, "Authorization: ntlm TlRM\r\n", "200", 4),
        (&other, "Authorization: Basic YTpi\r\n", "200", 4),
    ] {
        let response = exchange(channel, &line, header).await;
        let expected = format!("HTTP/1.1 {status} ");
        assert!(response.starts_with(&expected), "{header}{response}");
        assert_eq!(site.connections(), connections, "{header}");
    }
}
