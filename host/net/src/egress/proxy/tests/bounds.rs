//! Limits: oversized headers, slow peers, byte limits, and closing.

use tokio::io::AsyncWriteExt;

use trawl_model::Cause;

use super::*;

fn impatient() -> ProxyLimits {
    ProxyLimits {
        idle_time_max: Duration::from_secs(1),
        ..ProxyLimits::default()
    }
}

/// Whether nothing listens at an address any more, after some seconds at most.
async fn is_closed(address: SocketAddr) -> bool {
    for _ in 0..500 {
        if TcpStream::connect(address).await.is_err() {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    false
}

#[tokio::test]
async fn oversized_headers_are_refused() {
    let site = Site::echo().await;
    let limits = ProxyLimits {
        header_bytes_max: 16 * 1024,
        ..ProxyLimits::default()
    };
    let channel = open(loopback(), limits).await;
    let line = format!("GET {}", site.url("/"));
    let long_url = format!("GET {}", site.url(&format!("/{}", "a".repeat(20_000))));
    for (line, headers) in [
        (&line, format!("X-Long: {}\r\n", "a".repeat(20_000))),
        (&line, "X-Many: a\r\n".repeat(300)),
        (&line, format!("X-Endless: {}", "a".repeat(1_000_000))),
        (&long_url, String::new()),
    ] {
        let mut stream = dial(&channel).await;
        let request = format!(
            "{line} HTTP/1.1\r\n{}{headers}\r\n",
            authorization(&channel)
        );
        let (mut from, mut to) = stream.split();
        let write = async {
            let _ = to.write_all(request.as_bytes()).await;
        };
        let (response, ()) = tokio::join!(read_all(&mut from), write);
        // A peer that is still sending may see the connection reset before it reads the response.
        let is_refused = ["HTTP/1.1 431", "HTTP/1.1 414"]
            .iter()
            .any(|start| response.starts_with(start));
        assert!(is_refused || response.is_empty(), "{response}");
    }
    assert_eq!(site.connections(), 0);
}

#[tokio::test]
async fn a_client_that_sends_its_headers_too_slowly_is_disconnected() {
    let channel = open(loopback(), impatient()).await;
    let mut stream = dial(&channel).await;
    let (mut from, mut to) = stream.split();
    let drip = async {
        for byte in b"GET http://127.0.0.1/ HTTP/1.1\r\nX: ".iter().cycle() {
            if to.write_all(&[*byte]).await.is_err() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::select! {
        () = drip => {}
        text = read_all(&mut from) => assert!(!text.starts_with("HTTP/1.1 2"), "{text}"),
    }
}

#[tokio::test]
async fn an_idle_tunnel_is_closed() {
    let (echo, _task) = plain_echo().await;
    let channel = open(loopback(), impatient()).await;
    let (mut stream, head) = connect(&channel, &echo.to_string()).await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    // While bytes are transferred it stays open, for longer than it may be idle.
    for _ in 0..8 {
        stream.write_all(b"x").await.expect("sent");
        assert_eq!(stream.read_u8().await.expect("sent back"), b'x');
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    assert_eq!(read_all(&mut stream).await, "");
    assert_eq!(channel.received_bytes(), 8);
}

#[tokio::test]
async fn a_site_that_never_responds_times_out() {
    let site = Site::start(|_| Vec::new()).await;
    let channel = open(loopback(), impatient()).await;
    let response = exchange(&channel, &format!("GET {}", site.url("/")), "").await;
    assert!(response.starts_with("HTTP/1.1 504"), "{response}");
    assert_eq!(channel.refused()[0].cause, Cause::ConnectionTimeout);
}

#[tokio::test]
async fn a_stalled_response_body_times_out() {
    let site = Site::start(|_| b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc".to_vec()).await;
    let channel = open(loopback(), impatient()).await;
    let response = exchange(&channel, &format!("GET {}", site.url("/")), "").await;
    assert!(response.ends_with("\r\n\r\nabc"), "{response}");
}

#[tokio::test]
async fn a_stalled_request_body_times_out() {
    let site = Site::start(|_| b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".to_vec()).await;
    let channel = open(loopback(), impatient()).await;
    let line = format!("POST {}", site.url("/"));
    let response = exchange(&channel, &line, "Content-Length: 10\r\n").await;
    assert!(!response.starts_with("HTTP/1.1 200"), "{response}");
}

#[tokio::test]
async fn an_endless_body_ends_at_the_channels_limit() {
    let site = Site::start(|_| b"HTTP/1.1 200 OK\r\n\r\n".to_vec()).await;
    let limits = ProxyLimits {
        total_bytes_max: 1_000_000,
        ..ProxyLimits::default()
    };
    let channel = open(loopback(), limits).await;
    let response = exchange(&channel, &format!("GET {}", site.url("/endless")), "").await;
    assert!(response.starts_with("HTTP/1.1 200"), "{}", response.len());
    assert!(response.len() < 1_200_000, "{}", response.len());
    assert!(
        !response.ends_with("0\r\n\r\n"),
        "it does not look complete"
    );
    let (_, head) = connect(&channel, &site.address.to_string()).await;
    assert!(head.starts_with("HTTP/1.1 403"), "{head}");
    let refused = channel.refused();
    assert_eq!(
        refused[0].reason,
        "the page has transferred more than 1000000 bytes, the most one page may"
    );
}

#[tokio::test]
async fn a_tunnel_ends_at_the_channels_limit() {
    let (echo, _task) = plain_echo().await;
    let limits = ProxyLimits {
        total_bytes_max: 100_000,
        ..ProxyLimits::default()
    };
    let channel = open(loopback(), limits).await;
    let (mut stream, _) = connect(&channel, &echo.to_string()).await;
    let (mut from, mut to) = stream.split();
    let flood = async { while to.write_all(&[b'x'; 4096]).await.is_ok() {} };
    let (back, ()) = tokio::join!(read_all(&mut from), flood);
    assert!(back.len() <= 100_000, "{}", back.len());
}

#[tokio::test]
async fn more_connections_than_allowed_wait_for_one_to_close() {
    let (echo, _task) = plain_echo().await;
    let limits = ProxyLimits {
        connections_max: 2,
        ..ProxyLimits::default()
    };
    let channel = open(loopback(), limits).await;
    let (first, _) = connect(&channel, &echo.to_string()).await;
    let (_second, _) = connect(&channel, &echo.to_string()).await;
    let target = echo.to_string();
    let mut third = std::pin::pin!(connect(&channel, &target));
    let early = tokio::time::timeout(Duration::from_millis(200), &mut third).await;
    assert!(early.is_err(), "the third waits");
    drop(first);
    let (_, head) = third.await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
}

#[tokio::test]
async fn closing_a_channel_closes_its_connections() {
    let (echo, _task) = plain_echo().await;
    for is_dropped in [false, true] {
        let channel = open(loopback(), ProxyLimits::default()).await;
        let address = channel.address();
        let (mut stream, head) = connect(&channel, &echo.to_string()).await;
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        let mut idle = dial(&channel).await;
        if is_dropped {
            drop(channel)
        } else {
            channel.close().await
        }
        assert_eq!(read_all(&mut stream).await, "");
        assert_eq!(read_all(&mut idle).await, "");
        assert!(is_closed(address).await);
    }
}

#[tokio::test]
async fn a_leaked_channel_closes_by_itself() {
    let (echo, _task) = plain_echo().await;
    let limits = ProxyLimits {
        total_time_max: Duration::from_secs(2),
        ..ProxyLimits::default()
    };
    let channel = open(loopback(), limits).await;
    let (mut stream, head) = connect(&channel, &echo.to_string()).await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    assert_eq!(read_all(&mut stream).await, "");
    assert!(is_closed(channel.address()).await);
}
