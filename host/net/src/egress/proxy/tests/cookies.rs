//! The caller's cookies, which the proxy keeps from other ports of their host.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use url::Url;

use super::*;

const HEAD: &str = "GET /socket HTTP/1.1\r\nHost: a\r\nCookie: s=1; sid=secret\r\n\r\n";

const REFUSAL: &str =
    "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=a\r\nContent-Length: 0\r\n\r\n";

/// A channel that keeps a cookie of a page at this port.
async fn keeping(port: u16) -> ProxyChannel {
    let channel = open(loopback(), ProxyLimits::default()).await;
    let home = Url::parse(&format!("http://127.0.0.1:{port}/")).expect("a URL");
    let cookies = channel.kept_cookies();
    cookies.keep(&home, vec!["sid=secret".to_owned()]);
    channel
}

/// A ClientHello with this list of protocols, as a record.
fn hello(protocols: &[&str]) -> Vec<u8> {
    let counted = |width: usize, content: Vec<u8>| {
        let length = content.len().to_be_bytes();
        [&length[length.len() - width..], content.as_slice()].concat()
    };
    let names = protocols.iter().map(|name| counted(1, (*name).into()));
    let names = counted(2, names.collect::<Vec<_>>().concat());
    // A key share as large as today's, and the protocols.
    let large = [vec![0, 51], counted(2, vec![7; 1_200])].concat();
    let extensions = [large, vec![0, 16], counted(2, names)].concat();
    let session = counted(1, vec![5; 32]);
    let suites = counted(2, vec![19, 1]);
    let methods = counted(1, vec![0]);
    let rest = [session, suites, methods, counted(2, extensions)].concat();
    let message = counted(3, [vec![3; 34], rest].concat());
    let record = counted(2, [vec![1], message].concat());
    [vec![22, 3, 1], record].concat()
}

#[tokio::test]
async fn a_socket_to_another_port_has_the_cookies_of_the_site_alone() {
    let site = Site::echo().await;
    let (own, other) = (site.address.port(), 1);
    for (home, sent) in [
        (other, "Cookie: s=1\r\n"),
        (own, "Cookie: s=1; sid=secret\r\n"),
    ] {
        let channel = keeping(home).await;
        let (mut stream, _) = connect(&channel, &site.address.to_string()).await;
        stream.write_all(HEAD.as_bytes()).await.expect("sent");
        let answer = read_head(&mut stream).await;
        assert!(answer.starts_with("HTTP/1.1 101"), "{answer}");
        let head = site.heads().pop().expect("a handshake");
        assert!(head.contains(sent), "{head}");
        stream.write_all(b"later: sid=secret").await.expect("sent");
        let mut echoed = [0; 17];
        stream.read_exact(&mut echoed).await.expect("an echo");
        assert_eq!(&echoed, b"later: sid=secret");
    }
}

#[tokio::test]
async fn a_socket_that_another_port_does_not_open_is_not_tried_again() {
    let site = Site::start(|_| REFUSAL.into()).await;
    let channel = keeping(1).await;
    let (mut stream, _) = connect(&channel, &site.address.to_string()).await;
    stream.write_all(HEAD.as_bytes()).await.expect("sent");
    assert_eq!(read_all(&mut stream).await, "");
    let heads = site.heads();
    assert_eq!(heads.len(), 1, "{heads:?}");
    assert!(!heads[0].contains("secret"), "{heads:?}");
}

#[tokio::test]
async fn a_socket_over_tls_to_another_port_is_not_opened() {
    let (address, _echo) = plain_echo().await;
    let channel = keeping(1).await;
    let request = hello(&["h2", "http/1.1"]);
    let (mut stream, _) = connect(&channel, &address.to_string()).await;
    stream.write_all(&request).await.expect("sent");
    let mut echoed = vec![0; request.len()];
    stream.read_exact(&mut echoed).await.expect("an echo");
    assert_eq!(echoed, request);
    let socket = hello(&["http/1.1"]);
    let (mut stream, _) = connect(&channel, &address.to_string()).await;
    stream.write_all(&socket).await.expect("sent");
    assert_eq!(read_all(&mut stream).await, "");
    // The browser has the cookies no more.
    channel.kept_cookies().release();
    let (mut stream, _) = connect(&channel, &address.to_string()).await;
    stream.write_all(&socket).await.expect("sent");
    let mut echoed = vec![0; socket.len()];
    stream.read_exact(&mut echoed).await.expect("an echo");
    assert_eq!(echoed, socket);
}

#[tokio::test]
async fn a_tunnel_without_a_beginning_is_closed() {
    let (address, _echo) = plain_echo().await;
    let channel = keeping(1).await;
    let (mut stream, _) = connect(&channel, &address.to_string()).await;
    let endless = vec![b'x'; 1024 * 1024];
    let _closed = stream.write_all(&endless).await;
    assert_eq!(read_all(&mut stream).await, "");
}
