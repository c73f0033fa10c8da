//! Through a pool of upstream proxies.

use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;

use tokio::io::AsyncWriteExt;

use trawl_model::Nanodollars;

use super::*;
use crate::egress::{EgressError, PoolConfig, Resolve, UpstreamProxy};

const TARGET: &str = "shop.example:443";

/// A channel whose route goes through this upstream proxy.
async fn through(upstream: &str) -> io::Result<ProxyChannel> {
    let egress = behind(upstream, Resolve::Proxy);
    let route = egress.route("isp", None);
    egress.open_proxy(route, ProxyLimits::default()).await
}

/// An egress whose pool `isp` is this upstream proxy.
fn behind(upstream: &str, resolve: Resolve) -> Arc<Egress> {
    let upstream = UpstreamProxy {
        url: upstream.parse().expect("a URL"),
        country: None,
        resolve,
    };
    let pool = PoolConfig {
        proxies: vec![upstream],
        price_per_gigabyte: Nanodollars(1),
    };
    let public = IpAddr::from([93, 184, 216, 34]);
    Egress::new(EgressConfig {
        pools: BTreeMap::from([("isp".to_owned(), pool)]),
        hosts: BTreeMap::from([("shop.example".to_owned(), vec![public])]),
        ..EgressConfig::default()
    })
    .expect("egress")
}

/// An upstream proxy for one connection: reads and writes by script, then echoes. Returns what it
/// read.
async fn scripted(
    script: &'static [(usize, &'static [u8])],
) -> (SocketAddr, AbortOnDropHandle<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("a bound listener");
    let task = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        let mut seen = Vec::new();
        for (length, response) in script {
            let mut piece = vec![0; *length];
            stream.read_exact(&mut piece).await.expect("a piece");
            seen.extend(piece);
            stream.write_all(response).await.expect("sent");
        }
        let mut word = [0; 4];
        stream.read_exact(&mut word).await.expect("a word");
        stream.write_all(&word).await.expect("sent");
        seen
    });
    (address, AbortOnDropHandle::new(task))
}

async fn check_ping(channel: &ProxyChannel) {
    let (mut stream, head) = connect(channel, TARGET).await;
    assert!(
        head.starts_with("HTTP/1.1 200"),
        "{head} {:?}",
        channel.refused()
    );
    stream.write_all(b"ping").await.expect("sent");
    let mut back = [0; 4];
    stream.read_exact(&mut back).await.expect("an echo");
    assert_eq!(&back, b"ping");
    assert_eq!((channel.sent_bytes(), channel.received_bytes()), (4, 4));
}

#[tokio::test]
async fn a_tunnel_goes_through_an_http_proxy_with_its_password() {
    // 'u:p=&' percent-encoded as the URL standard does.
    const HEAD: &[u8] = b"CONNECT shop.example:443 HTTP/1.1\r\nHost: shop.example:443\r\nProxy-Authorization: Basic dTpwPSY=\r\n\r\n";
    const OK: &[u8] = b"HTTP/1.1 200 Connection established\r\n\r\n";
    const SCRIPT: [(usize, &[u8]); 1] = [(HEAD.len(), OK)];
    let (proxy, seen) = scripted(&SCRIPT).await;
    let channel = through(&format!("http://u:p%3D&@{proxy}"))
        .await
        .expect("a channel");
    check_ping(&channel).await;
    assert_eq!(
        String::from_utf8_lossy(&seen.await.expect("no panic")),
        String::from_utf8_lossy(HEAD)
    );
}

#[tokio::test]
async fn socks_gets_the_name_or_the_checked_ip_address_depending_on_its_scheme() {
    const DONE: &[u8] = &[5, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    let (proxy, seen) = scripted(&[(3, &[5, 0]), (4 + 1 + 12 + 2, DONE)]).await;
    let channel = through(&format!("socks5h://{proxy}"))
        .await
        .expect("a channel");
    check_ping(&channel).await;
    let seen = seen.await.expect("no panic");
    assert!(
        seen.windows(12).any(|piece| piece == b"shop.example"),
        "{seen:?}"
    );

    let (proxy, seen) = scripted(&[(3, &[5, 0]), (4 + 4 + 2, DONE)]).await;
    let channel = through(&format!("socks5://{proxy}"))
        .await
        .expect("a channel");
    check_ping(&channel).await;
    let seen = seen.await.expect("no panic");
    assert!(seen.ends_with(&[1, 93, 184, 216, 34, 1, 187]), "{seen:?}");
}

#[tokio::test]
async fn plain_pages_go_through_the_pool_too() {
    let proxy = Site::start(|_| b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi".to_vec()).await;
    let upstream = format!("http://u:p@{}", proxy.address);
    let channel = through(&upstream).await.expect("a channel");
    let response = exchange(&channel, "GET http://shop.example/a?b", "").await;
    assert!(response.ends_with("\r\n\r\nhi"), "{response}");
    let head = proxy.heads().remove(0);
    assert!(
        head.starts_with("GET http://shop.example/a?b HTTP/1.1\r\n"),
        "{head}"
    );
    assert!(
        head.contains("proxy-authorization: Basic dTpw\r\n"),
        "{head}"
    );
    assert!(!head.contains(authorization(&channel).trim_end()), "{head}");
}

#[tokio::test]
async fn a_private_target_is_refused_before_the_proxy_is_contacted() {
    let proxy = Site::echo().await;
    let upstream = format!("http://{}", proxy.address);
    let channel = through(&upstream).await.expect("a channel");
    for target in ["169.254.169.254:80", "localhost:443", "[::1]:443"] {
        let (_, head) = connect(&channel, target).await;
        assert!(head.starts_with("HTTP/1.1 403"), "{target}: {head}");
    }
    assert_eq!(proxy.connections(), 0);
}

#[tokio::test]
async fn a_refusing_proxy_is_reported_without_its_ip_address() {
    let proxy = Site::start(|_| b"HTTP/1.1 403 Forbidden\r\n\r\n".to_vec()).await;
    let upstream = format!("http://{}", proxy.address);
    let channel = through(&upstream).await.expect("a channel");
    let (_, head) = connect(&channel, TARGET).await;
    assert!(head.starts_with("HTTP/1.1 502"), "{head}");
    let refused = &channel.refused()[0];
    assert_eq!(
        refused.reason,
        "the upstream proxy did not connect to the site"
    );
}

#[tokio::test]
async fn a_proxy_behind_tls_is_refused_when_the_channel_is_opened() {
    let opened = through("https://proxy.example").await;
    assert_eq!(
        opened.expect_err("refused").kind(),
        io::ErrorKind::Unsupported
    );
}

#[tokio::test]
async fn a_proxy_may_be_told_the_checked_ip_address_of_a_tunnel() {
    const HEAD: &[u8] = b"CONNECT 93.184.216.34:443 HTTP/1.1\r\nHost: 93.184.216.34:443\r\n\r\n";
    const OK: &[u8] = b"HTTP/1.1 200 Connection established\r\n\r\n";
    const DONE: &[u8] = &[5, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    let open = async |scheme: &str, proxy: SocketAddr| {
        let egress = behind(&format!("{scheme}://{proxy}"), Resolve::Local);
        let route = egress.route("isp", None);
        let opened = egress.open_proxy(route, ProxyLimits::default()).await;
        opened.expect("a channel")
    };
    const SCRIPT: [(usize, &[u8]); 1] = [(HEAD.len(), OK)];
    let (proxy, seen) = scripted(&SCRIPT).await;
    check_ping(&open("http", proxy).await).await;
    assert_eq!(seen.await.expect("no panic"), HEAD);
    let (proxy, seen) = scripted(&[(3, &[5, 0]), (4 + 4 + 2, DONE)]).await;
    check_ping(&open("socks5h", proxy).await).await;
    let seen = seen.await.expect("no panic");
    assert!(seen.ends_with(&[1, 93, 184, 216, 34, 1, 187]), "{seen:?}");
}

fn get(url: &str) -> reqwest::Request {
    reqwest::Request::new(http::Method::GET, url.parse().expect("a URL"))
}

#[tokio::test]
async fn pages_behind_a_proxy_that_is_told_ip_addresses_go_through_tunnels() {
    let proxy = Site::start(|head| {
        if head.starts_with("CONNECT") {
            b"HTTP/1.1 200 OK\r\n\r\n".to_vec()
        } else {
            b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi".to_vec()
        }
    })
    .await;
    let egress = behind(&format!("http://u:p@{}", proxy.address), Resolve::Local);
    let route = egress.route("isp", None);
    for _ in 0..2 {
        let reply = egress.send(get("http://shop.example/a?b"), &route).await;
        let mut reply = reply.expect("a page");
        assert_eq!(reply.status(), 200);
        assert_eq!(
            reply.chunk().await.expect("a body").as_deref(),
            Some(&b"hi"[..])
        );
        assert_eq!(reply.chunk().await.expect("its end"), None);
    }
    let heads = proxy.heads();
    assert!(
        heads[0].starts_with("CONNECT 93.184.216.34:80 HTTP/1.1\r\n")
            && heads[0].contains("Proxy-Authorization: Basic dTpw\r\n"),
        "{heads:?}"
    );
    assert!(
        heads[1].starts_with("GET /a?b HTTP/1.1\r\n")
            && heads[1].contains("host: shop.example\r\n"),
        "{heads:?}"
    );
    assert!(
        !heads[1].to_lowercase().contains("proxy-authorization"),
        "{heads:?}"
    );
    let private = egress.send(get("http://localhost/"), &route).await;
    assert!(matches!(private, Err(EgressError::NotPublic(_))));
    assert_eq!(
        proxy.connections(),
        1,
        "the second page used the same tunnel"
    );
}

#[tokio::test]
async fn tls_behind_a_proxy_that_is_told_ip_addresses_has_the_name() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let proxy = listener.local_addr().expect("a bound listener");
    let seen = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        let head = read_head(&mut stream).await;
        let open = b"HTTP/1.1 200 OK\r\n\r\n";
        stream.write_all(open).await.expect("sent");
        // The record's length is in its header. RFC 8446 section 5.1.
        let mut header = [0; 5];
        stream.read_exact(&mut header).await.expect("a record");
        let length = u16::from_be_bytes([header[3], header[4]]);
        let mut hello = vec![0; usize::from(length)];
        stream.read_exact(&mut hello).await.expect("a handshake");
        (head, hello)
    });
    let egress = behind(&format!("http://{proxy}"), Resolve::Local);
    let route = egress.route("isp", None);
    let failed = egress.send(get("https://shop.example/"), &route).await;
    assert!(failed.is_err(), "the peer hangs up in the handshake");
    let (head, hello) = seen.await.expect("no panic");
    assert!(head.starts_with("CONNECT 93.184.216.34:443 "), "{head}");
    assert!(hello.windows(12).any(|piece| piece == b"shop.example"));
}
