//! Sockets by the hundred, without a key.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use crate::field::{Field, raise_descriptors};
use crate::trouble::address;

/// More sockets than the server may open files.
const SOCKETS: usize = 1_100;

/// Checks that this process may open as many files as the attack needs.
pub(crate) fn allow_sockets() {
    assert!(
        raise_descriptors() > 2_000,
        "the attack needs 2,000 descriptors: raise `ulimit -Hn`"
    );
}

/// A connection from this loopback address.
async fn connect_from(ip: &str, to: std::net::SocketAddr) -> Option<TcpStream> {
    let socket = TcpSocket::new_v4().ok()?;
    socket.bind(format!("{ip}:0").parse().ok()?).ok()?;
    let connecting = tokio::time::timeout(Duration::from_secs(1), socket.connect(to));
    connecting.await.ok()?.ok()
}

async fn half_requests(from: &str, base: &str) {
    allow_sockets();
    let mut sockets = Vec::new();
    for _ in 0..SOCKETS {
        let Some(mut socket) = connect_from(from, address(base)).await else {
            continue;
        };
        let _sent = socket.write_all(b"GET /hea").await;
        sockets.push(socket);
    }
    assert!(
        sockets.len() > SOCKETS / 4,
        "only {} sockets",
        sockets.len()
    );
    tokio::time::sleep(Duration::from_secs(4)).await;
}

/// From another address than the innocent caller's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "measures the machine: cargo xtask siege"]
async fn half_request_lines_of_a_stranger() {
    let field = Field::idle().await;
    let attack = half_requests("127.0.0.2", &field.server.base);
    field
        .besiege("1,100 half request lines, no key", attack)
        .await;
}

/// Through the same reverse proxy as the innocent caller, so from the same address.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "measures the machine: cargo xtask siege"]
async fn half_request_lines_from_the_same_address() {
    let field = Field::idle().await;
    let attack = half_requests("127.0.0.1", &field.server.base);
    field
        .besiege(
            "1,100 half request lines from the innocent's address",
            attack,
        )
        .await;
}

/// Streams of HTTP/2 that are opened and reset as fast as the socket takes them (rapid reset).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "measures the machine: cargo xtask siege"]
async fn streams_that_are_reset_at_once() {
    let field = Field::new().await;
    let to = address(&field.server.base);
    field
        .besiege("100,000 streams that are reset at once", async {
            let mut attacks = tokio::task::JoinSet::new();
            for _ in 0..10 {
                attacks.spawn(async move {
                    let mut socket = connect_from("127.0.0.2", to).await.expect("a connection");
                    // RFC 9113: the preface, an empty SETTINGS frame.
                    let mut sent = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
                    sent.extend([0, 0, 0, 4, 0, 0, 0, 0, 0]);
                    for n in 0..10_000_u32 {
                        let id = (2 * n + 1).to_be_bytes();
                        // HEADERS with END_HEADERS and END_STREAM: GET http /, from the static
                        // table.
                        sent.extend([0, 0, 3, 1, 5]);
                        sent.extend(id);
                        sent.extend([0x82, 0x86, 0x84]);
                        // RST_STREAM with CANCEL.
                        sent.extend([0, 0, 4, 3, 0]);
                        sent.extend(id);
                        sent.extend([0, 0, 0, 8]);
                    }
                    // The server may close the connection before the end.
                    let _sent = socket.write_all(&sent).await;
                    let mut answer = [0; 4096];
                    let mut reads = 0;
                    while reads < 1_000 {
                        let read =
                            tokio::time::timeout(Duration::from_secs(1), socket.read(&mut answer));
                        match read.await {
                            Ok(Ok(n)) if n > 0 => reads += 1,
                            _ => break,
                        }
                    }
                });
            }
            attacks.join_all().await;
        })
        .await;
}
