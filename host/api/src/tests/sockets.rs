//! What a client sees on the wire: when chunks arrive, and that it can read refusals.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::server::TestServer;

const SLOW: &str = r#"{"url":"http://slow.test,a.com"}"#;

/// A POST to `/scrape` with these headers and body, sent over a socket of its own.
async fn post(server: &TestServer, headers: &str, body: &str) -> TcpStream {
    let mut socket = TcpStream::connect(server.listen().await)
        .await
        .expect("a connection");
    let (key, length) = (&server.key, body.len());
    let head = format!(
        "POST /scrape HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: {key}\r\nContent-Length: {length}\r\n{headers}\r\n"
    );
    socket.write_all(head.as_bytes()).await.expect("sent");
    socket.write_all(body.as_bytes()).await.expect("sent");
    socket
}

async fn read_until(socket: &mut TcpStream, text: &str) -> String {
    let mut seen = Vec::new();
    loop {
        let mut chunk = [0; 4096];
        let n_bytes = socket.read(&mut chunk).await.expect("read");
        seen.extend_from_slice(&chunk[..n_bytes]);
        let so_far = String::from_utf8_lossy(&seen);
        if n_bytes == 0 || so_far.contains(text) {
            return so_far.into_owned();
        }
    }
}

async fn read_all(socket: &mut TcpStream) -> String {
    let mut text = String::new();
    socket.read_to_string(&mut text).await.expect("read");
    text
}

#[tokio::test]
async fn a_line_is_sent_when_its_page_is_finished() {
    let server = TestServer::new().await;
    let headers = "Content-Type: application/json\r\nAccept: application/jsonl\r\n";
    let mut socket = post(&server, headers, SLOW).await;
    let first = read_until(&mut socket, "}\n").await;
    assert!(
        first.contains("https://a.com/") && !first.contains("slow.test"),
        "{first}"
    );
    server.service.release.notify_one();
    let rest = read_all(&mut socket).await;
    assert!(
        rest.contains("slow.test") && rest.ends_with("}\n\r\n0\r\n\r\n"),
        "{rest:?}"
    );
}

#[tokio::test]
async fn an_array_opens_at_once() {
    let server = TestServer::new().await;
    let mut socket = post(&server, "Content-Type: application/json\r\n", SLOW).await;
    let first = read_until(&mut socket, "[").await;
    assert!(
        first.starts_with("HTTP/1.1 200") && !first.contains("{\"url\""),
        "{first}"
    );
    server.service.release.notify_one();
    let rest = read_all(&mut socket).await;
    assert!(
        rest.contains("slow.test") && rest.contains("https://a.com/"),
        "{rest}"
    );
}

#[tokio::test]
async fn a_client_that_sends_too_much_can_read_the_error() {
    let server = TestServer::new().await;
    let body = " ".repeat(12_000_000);
    let mut socket = post(&server, "Content-Type: application/json\r\n", &body).await;
    let response = read_all(&mut socket).await;
    assert!(
        response.starts_with("HTTP/1.1 413")
            && response.ends_with("limit is 10000000 bytes: split it\"}"),
        "{response}"
    );
}
