//! Bombs, slow ones, and the end.

use tokio::io::AsyncWriteExt;

use super::*;

fn quick() -> ProxyLimits {
    ProxyLimits {
        idle_time_max: Duration::from_millis(200),
        ..ProxyLimits::default()
    }
}

#[tokio::test]
async fn bombs_of_headers_are_refused() {
    let site = Site::echo().await;
    let limits = ProxyLimits {
        header_bytes_max: 16 * 1024,
        ..ProxyLimits::default()
    };
    let channel = open(loopback(), limits).await;
    let line = format!("GET {}", site.url("/"));
    let long_address = format!("GET {}", site.url(&format!("/{}", "a".repeat(20_000))));
    for (line, headers) in [
        (&line, format!("X-Long: {}\r\n", "a".repeat(20_000))),
        (&line, "X-Many: a\r\n".repeat(300)),
        (&line, format!("X-Endless: {}", "a".repeat(1_000_000))),
        (&long_address, String::new()),
    ] {
        let mut stream = dial(&channel).await;
        let request = format!("{line} HTTP/1.1\r\n{}{headers}\r\n", pass(&channel));
        let (mut from, mut to) = stream.split();
        let write = async {
            let _ = to.write_all(request.as_bytes()).await;
        };
        let (answer, ()) = tokio::join!(read_all(&mut from), write);
        // A peer that is still sending may see the connection reset before it reads the answer.
        let is_refused = ["HTTP/1.1 431", "HTTP/1.1 414"]
            .iter()
            .any(|start| answer.starts_with(start));
        assert!(is_refused || answer.is_empty(), "{answer}");
    }
    assert_eq!(site.connections(), 0);
}

#[tokio::test]
async fn a_client_that_drips_its_headers_is_cut_off() {
    let channel = open(loopback(), quick()).await;
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
async fn a_tunnel_in_which_nothing_moves_is_closed() {
    let (echo, _task) = plain_echo().await;
    let channel = open(loopback(), quick()).await;
    let (mut stream, head) = connect(&channel, &echo.to_string()).await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    // As long as something moves it stays, for longer than it may be idle.
    for _ in 0..8 {
        stream.write_all(b"x").await.expect("sent");
        assert_eq!(stream.read_u8().await.expect("sent back"), b'x');
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(read_all(&mut stream).await, "");
    assert_eq!(channel.received_bytes(), 8);
}

#[tokio::test]
async fn a_site_that_never_answers_is_given_up() {
    let site = Site::start(|_| Vec::new()).await;
    let channel = open(loopback(), quick()).await;
    let answer = exchange(&channel, &format!("GET {}", site.url("/")), "").await;
    assert!(answer.starts_with("HTTP/1.1 504"), "{answer}");
    assert_eq!(channel.refused()[0].status, 524);
}

#[tokio::test]
async fn a_body_that_stops_moving_is_given_up() {
    let site = Site::start(|_| b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc".to_vec()).await;
    let channel = open(loopback(), quick()).await;
    let answer = exchange(&channel, &format!("GET {}", site.url("/")), "").await;
    assert!(answer.ends_with("\r\n\r\nabc"), "{answer}");
}

#[tokio::test]
async fn a_request_body_that_stops_moving_is_given_up() {
    let site = Site::start(|_| b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".to_vec()).await;
    let channel = open(loopback(), quick()).await;
    let line = format!("POST {}", site.url("/"));
    let answer = exchange(&channel, &line, "Content-Length: 10\r\n").await;
    assert!(!answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[tokio::test]
async fn an_endless_body_ends_at_the_channels_bound() {
    let site = Site::start(|_| b"HTTP/1.1 200 OK\r\n\r\n".to_vec()).await;
    let limits = ProxyLimits {
        total_bytes_max: 1_000_000,
        ..ProxyLimits::default()
    };
    let channel = open(loopback(), limits).await;
    let answer = exchange(&channel, &format!("GET {}", site.url("/endless")), "").await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{}", answer.len());
    assert!(answer.len() < 1_200_000, "{}", answer.len());
    assert!(!answer.ends_with("0\r\n\r\n"), "it does not look complete");
    let (_, head) = connect(&channel, &site.address.to_string()).await;
    assert!(head.starts_with("HTTP/1.1 403"), "{head}");
    let told = channel.refused();
    assert_eq!(told[0].reason, "the page has moved more than 1000000 bytes");
}

#[tokio::test]
async fn a_tunnel_ends_at_the_channels_bound() {
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
async fn closing_ends_everything_that_goes_through() {
    let (echo, _task) = plain_echo().await;
    for is_dropped in [false, true] {
        let channel = open(loopback(), ProxyLimits::default()).await;
        let address = channel.address();
        let (mut stream, head) = connect(&channel, &echo.to_string()).await;
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        let mut idle = dial(&channel).await;
        match is_dropped {
            true => drop(channel),
            false => channel.close().await,
        }
        assert_eq!(read_all(&mut stream).await, "");
        assert_eq!(read_all(&mut idle).await, "");
        assert!(TcpStream::connect(address).await.is_err());
    }
}

#[tokio::test]
async fn a_forgotten_channel_ends_by_itself() {
    let (echo, _task) = plain_echo().await;
    let limits = ProxyLimits {
        total_time_max: Duration::from_millis(300),
        ..ProxyLimits::default()
    };
    let channel = open(loopback(), limits).await;
    let (mut stream, head) = connect(&channel, &echo.to_string()).await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    assert_eq!(read_all(&mut stream).await, "");
    assert!(TcpStream::connect(channel.address()).await.is_err());
}
