//! The listener on loopback, with raw sockets as peers.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{ConnectInfo, Request};
use axum::http::StatusCode;
use axum::routing::{get, post};
use futures_util::stream;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::access_log::tests::Memory;
use super::{AccessLog, LineFormat, ListenerLimits, serve};

/// Upper bound of everything that happens at once or after a time-out of a few seconds, on a busy
/// machine.
const SOON: Duration = Duration::from_secs(30);
const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const HALF: &[u8] = b"GET / HT";

struct Served {
    address: SocketAddr,
    drained: CancellationToken,
    task: JoinHandle<()>,
    /// Streams that are being sent.
    streams: Arc<AtomicUsize>,
    /// Requests for `/wait` that are in progress.
    waiting: Arc<AtomicUsize>,
    /// Lets one request for `/wait` finish.
    release: Arc<Notify>,
}

/// Counts a stream or a request as long as it lives.
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(count))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A response that counts as a stream until its memory is free.
struct Owned {
    bytes: Vec<u8>,
    _counted: Counted,
}

impl AsRef<[u8]> for Owned {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Limits with long times.
pub(super) fn limits() -> ListenerLimits {
    let long = Duration::from_secs(60);
    ListenerLimits {
        connections: 100,
        connections_per_peer: 100,
        keyless_per_peer: 1_000,
        trusted_proxies: Vec::new(),
        head_time: long,
        idle_time: long,
        body_time: long,
        write_time: long,
        requests_per_connection: 1_000,
        streams_per_connection: 100,
    }
}

const SECOND: Duration = Duration::from_secs(1);

impl Served {
    async fn start(limits: ListenerLimits) -> Self {
        Self::start_logged(limits, AccessLog::default()).await
    }

    async fn start_logged(limits: ListenerLimits, log: AccessLog) -> Self {
        let socket = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = socket.local_addr().expect("an address");
        let drained = CancellationToken::new();
        let streams: Arc<AtomicUsize> = Arc::default();
        let waiting: Arc<AtomicUsize> = Arc::default();
        let release: Arc<Notify> = Arc::default();
        let (counter, released) = (Arc::clone(&streams), Arc::clone(&release));
        let endless = move || {
            let counted = Counted::new(&counter);
            let chunks = stream::unfold(counted, async |counted| {
                let chunk = Bytes::from_static(&[b'x'; 16 << 10]);
                Some((Ok::<_, std::convert::Infallible>(chunk), counted))
            });
            async { Body::from_stream(chunks) }
        };
        let counter = Arc::clone(&streams);
        let owned = move || {
            let owned = Owned {
                bytes: vec![b'z'; 1 << 20],
                _counted: Counted::new(&counter),
            };
            async { Body::from(Bytes::from_owner(owned)) }
        };
        let counter = Arc::clone(&waiting);
        let wait = async move || {
            let _counted = Counted::new(&counter);
            released.notified().await;
        };
        let router = Router::new()
            .route("/", get(async || "fine"))
            .route("/large", get(async || vec![b'y'; 1 << 20]))
            .route("/stream", get(endless))
            .route("/owned", get(owned))
            .route("/wait", get(wait))
            .route("/body", post(read_body))
            .route(
                "/peer",
                get(async |peer: ConnectInfo<SocketAddr>| peer.0.to_string()),
            );
        let task = tokio::spawn(serve(socket, router, limits, log, drained.clone()));
        Self {
            address,
            drained,
            task,
            streams,
            waiting,
            release,
        }
    }

    /// A connection from this loopback address.
    async fn connect_from(&self, ip: &str) -> TcpStream {
        let socket = TcpSocket::new_v4().expect("a socket");
        let from = format!("{ip}:0").parse().expect("an address");
        socket.bind(from).expect("a free port");
        socket.connect(self.address).await.expect("a connection")
    }

    /// A connection that has sent these bytes.
    async fn send(&self, bytes: &[u8]) -> TcpStream {
        let mut socket = self.connect_from("127.0.0.1").await;
        socket.write_all(bytes).await.expect("sent");
        socket
    }

    async fn is_fine(&self) -> bool {
        let mut socket = self.send(GET).await;
        receive(&mut socket, "fine")
            .await
            .starts_with("HTTP/1.1 200")
    }

    /// A new connection may have made room for another before its request was read.
    async fn is_fine_in_a_few_tries(&self) -> bool {
        for _ in 0..10 {
            if self.is_fine().await {
                return true;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        false
    }

    /// Waits until this number of streams is being sent.
    async fn until_streams(&self, count: usize) {
        until(&self.streams, count).await;
    }

    /// Waits until this number of requests for `/wait` is in progress.
    async fn until_waiting(&self, count: usize) {
        until(&self.waiting, count).await;
    }
}

/// Waits until a counter has this value.
async fn until(counter: &AtomicUsize, count: usize) {
    let reached = async {
        while counter.load(Ordering::SeqCst) != count {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let reached = tokio::time::timeout(SOON, reached).await;
    assert!(reached.is_ok(), "{counter:?}, not {count}");
}

async fn read_body(request: Request) -> StatusCode {
    match axum::body::to_bytes(request.into_body(), 10_000_000).await {
        Ok(_) => StatusCode::OK,
        Err(_) => StatusCode::REQUEST_TIMEOUT,
    }
}

/// Reads until `text` or the end of the connection.
async fn receive(socket: &mut TcpStream, text: &str) -> String {
    let mut seen = Vec::new();
    let read = async {
        let mut chunk = [0; 4096];
        while let Ok(n @ 1..) = socket.read(&mut chunk).await {
            seen.extend_from_slice(&chunk[..n]);
            if !text.is_empty() && String::from_utf8_lossy(&seen).contains(text) {
                break;
            }
        }
    };
    let read = tokio::time::timeout(SOON, read).await;
    let seen = String::from_utf8_lossy(&seen).into_owned();
    assert!(read.is_ok(), "the connection is still open: {seen}");
    seen
}

/// Reads to the end of the connection.
async fn receive_all(socket: &mut TcpStream) -> String {
    receive(socket, "").await
}

#[tokio::test]
async fn requests_have_their_peer() {
    let served = Served::start(limits()).await;
    let mut socket = served
        .send(b"GET /peer HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        .await;
    let own = socket.local_addr().expect("an address").to_string();
    assert!(receive_all(&mut socket).await.ends_with(&own));
}

#[tokio::test]
async fn a_peer_has_few_requests_without_a_key_in_progress() {
    const WAIT: &[u8] = b"GET /wait HTTP/1.1\r\nHost: a\r\n\r\n";
    let limits = || ListenerLimits {
        keyless_per_peer: 2,
        ..limits()
    };
    let served = Served::start(limits()).await;
    let (_first, second) = (served.send(WAIT).await, served.send(WAIT).await);
    served.until_waiting(2).await;
    let mut refused = served.send(GET).await;
    let answer = receive(&mut refused, "fewer\"}").await;
    assert!(answer.starts_with("HTTP/1.1 429 "), "{answer}");
    assert!(answer.contains("\r\nretry-after: 1\r\n"), "{answer}");
    // Not one with a key, whatever key it is, and not one of another peer.
    let keyed = b"GET / HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer tr_one\r\n\r\n";
    receive(&mut served.send(keyed).await, "fine").await;
    let mut other = served.connect_from("127.0.0.2").await;
    other.write_all(GET).await.expect("sent");
    receive(&mut other, "fine").await;
    // One that hangs up is not counted any more, and neither is one that was answered.
    drop(second);
    served.until_waiting(1).await;
    assert!(served.is_fine().await && served.is_fine().await);
    // Behind a proxy all clients have its IP address.
    let proxy = "127.0.0.0/8".parse().expect("a network");
    let served = Served::start(ListenerLimits {
        trusted_proxies: vec![proxy],
        ..limits()
    })
    .await;
    let _waiting = [served.send(WAIT).await, served.send(WAIT).await];
    served.until_waiting(2).await;
    assert!(served.is_fine().await);
}

#[tokio::test]
async fn a_slow_head_is_a_408() {
    let served = Served::start(ListenerLimits {
        head_time: SECOND,
        ..limits()
    })
    .await;
    let (mut half, mut silent) = (served.send(HALF).await, served.send(b"").await);
    let answer = receive_all(&mut half).await;
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    assert!(answer.ends_with("headers of the request\"}"), "{answer}");
    assert_eq!(receive_all(&mut silent).await, "");
    // Also after a complete request, from the first byte of the next one.
    let mut second = served.send(&[GET, HALF].concat()).await;
    receive(&mut second, "fine").await;
    second.write_all(b"T").await.expect("sent");
    let answer = receive_all(&mut second).await;
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
}

#[tokio::test]
async fn requests_and_refusals_are_logged() {
    let memory = Memory::default();
    let log = AccessLog::to(memory.clone(), LineFormat::Common, Vec::new());
    let limits = ListenerLimits {
        head_time: SECOND,
        ..limits()
    };
    let mut served = Served::start_logged(limits, log).await;
    let mut good = served.send(GET).await;
    receive(&mut good, "fine").await;
    let mut broken = served.send(b"nonsense\r\n\r\n").await;
    receive_all(&mut broken).await;
    let mut slow = served.send(HALF).await;
    receive_all(&mut slow).await;
    // The end waits for every connection, also for one that lingers after its refusal.
    served.drained.cancel();
    (&mut served.task).await.expect("no panic");
    let lines = memory.lines();
    assert_eq!(lines.len(), 3, "{lines:?}");
    for end in ["\"GET / HTTP/1.1\" 200 4", "\"-\" 400 ", "\"-\" 408 "] {
        assert!(lines.iter().any(|line| line.contains(end)), "{lines:?}");
    }
    drop(broken);
}

#[tokio::test]
async fn an_idle_connection_is_closed() {
    let served = Served::start(ListenerLimits {
        idle_time: SECOND,
        ..limits()
    })
    .await;
    let mut socket = served.send(GET).await;
    assert!(receive(&mut socket, "fine").await.ends_with("fine"));
    assert_eq!(receive_all(&mut socket).await, "");
}

#[tokio::test]
async fn half_sent_requests_make_room_for_others() {
    for attacker in ["127.0.0.2", "127.0.0.1"] {
        let served = Served::start(ListenerLimits {
            connections: 10,
            connections_per_peer: 8,
            ..limits()
        })
        .await;
        let mut established = served.send(GET).await;
        receive(&mut established, "fine").await;
        let mut attack = Vec::new();
        for _ in 0..50 {
            let mut socket = served.connect_from(attacker).await;
            socket.write_all(HALF).await.expect("sent");
            attack.push(socket);
        }
        assert!(served.is_fine_in_a_few_tries().await, "{attacker}");
        // An idle connection of the same peer makes room before those that are new.
        if attacker != "127.0.0.1" {
            established.write_all(GET).await.expect("still open");
            let answer = receive(&mut established, "fine").await;
            assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        }
        let answer = receive_all(&mut attack[0]).await;
        let is_refused = answer.is_empty() || answer.starts_with("HTTP/1.1 503");
        assert!(is_refused, "{answer}");
    }
}

#[tokio::test]
async fn a_peer_without_room_does_not_make_others_wait() {
    let served = Served::start(ListenerLimits {
        connections_per_peer: 2,
        ..limits()
    })
    .await;
    // Were each accepted only once there is room for it, these would take 20 seconds.
    let mut attack = Vec::new();
    for _ in 0..400 {
        attack.push(served.connect_from("127.0.0.2").await);
    }
    let begun = Instant::now();
    assert!(served.is_fine().await);
    assert!(begun.elapsed() < 10 * SECOND, "{:?}", begun.elapsed());
}

#[tokio::test]
async fn draining_does_not_wait_for_connections_without_room() {
    let served = Served::start(ListenerLimits {
        connections_per_peer: 1,
        ..limits()
    })
    .await;
    let mut sockets = Vec::new();
    for _ in 0..8 {
        sockets.push(served.send(b"").await);
    }
    served.drained.cancel();
    let ended = tokio::time::timeout(SOON, served.task).await;
    assert!(ended.is_ok_and(|ended| ended.is_ok()));
}

#[tokio::test]
async fn connections_at_work_stay() {
    let wait = b"GET /wait HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    for (connections, per_peer, reason) in [
        (2, 9, "connection limit of 2 reached; try again"),
        (9, 2, "connection limit of 2 reached for your IP address"),
    ] {
        let served = Served::start(ListenerLimits {
            connections,
            connections_per_peer: per_peer,
            ..limits()
        })
        .await;
        let mut working = [served.send(wait).await, served.send(wait).await];
        served.until_waiting(2).await;
        let mut third = served.send(GET).await;
        let answer = receive_all(&mut third).await;
        assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
        assert!(answer.contains("retry-after: 1\r\n"), "{answer}");
        assert!(answer.contains(reason), "{answer}");
        if connections == 9 {
            let mut other = served.connect_from("127.0.0.3").await;
            other.write_all(GET).await.expect("sent");
            assert!(receive(&mut other, "fine").await.ends_with("fine"));
        }
        for _ in &working {
            served.release.notify_one();
        }
        for socket in &mut working {
            let answer = receive_all(socket).await;
            assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        }
        assert!(served.is_fine().await);
    }
}

#[tokio::test]
async fn a_trusted_proxy_has_no_limit_of_its_own() {
    let served = Served::start(ListenerLimits {
        connections_per_peer: 1,
        trusted_proxies: vec!["127.0.0.1/32".parse().expect("a network")],
        ..limits()
    })
    .await;
    let mut sockets = [served.send(b"").await, served.send(b"").await];
    for socket in &mut sockets {
        socket.write_all(GET).await.expect("sent");
        assert!(receive(socket, "fine").await.ends_with("fine"));
    }
}

#[tokio::test]
async fn a_body_must_make_progress() {
    let served = Served::start(ListenerLimits {
        body_time: 3 * SECOND,
        ..limits()
    })
    .await;
    let head = b"POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n";
    let mut stalled = served.send(&[&head[..], b"abc"].concat()).await;
    let mut slow = served.send(head).await;
    // Longer than the limit in all, with pauses far below it.
    for byte in b"abcdefghi".chunks(1) {
        slow.write_all(byte).await.expect("sent");
        tokio::time::sleep(Duration::from_millis(600)).await;
    }
    let answer = receive(&mut slow, "\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let answer = receive_all(&mut stalled).await;
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    assert!(answer.contains("connection: close"), "{answer}");
}

#[tokio::test]
async fn a_response_that_nobody_reads_ends() {
    let served = Served::start(ListenerLimits {
        write_time: 3 * SECOND,
        ..limits()
    })
    .await;
    let request = b"GET /stream HTTP/1.1\r\nHost: a\r\n\r\n";
    let mut reader = served.send(request).await;
    let _stalled = served.send(request).await;
    served.until_streams(2).await;
    let reading = async {
        let mut chunk = [0; 64 << 10];
        while let Ok(n @ 1..) = reader.read(&mut chunk).await {
            tokio::time::sleep(Duration::from_micros(n as u64 / 1_000)).await;
        }
    };
    tokio::select! {
        () = reading => panic!("the reader's response has ended"),
        () = served.until_streams(1) => {}
    }
    drop(reader);
    served.until_streams(0).await;
}

/// Every read is progress, but so little that the response would be held for days.
#[tokio::test]
async fn a_response_that_is_read_a_few_bytes_at_a_time_ends() {
    let served = Served::start(ListenerLimits {
        write_time: 3 * SECOND,
        ..limits()
    })
    .await;
    let socket = TcpSocket::new_v4().expect("a socket");
    // The smallest that the system allows, which tells the server of room every other second.
    socket.set_recv_buffer_size(1).expect("a size");
    let mut reader = socket.connect(served.address).await.expect("connected");
    let request = b"GET /stream HTTP/1.1\r\nHost: a\r\n\r\n";
    reader.write_all(request).await.expect("sent");
    served.until_streams(1).await;
    let mut n_bytes = 0;
    let reading = async {
        let mut chunk = [0; 64];
        while let Ok(n @ 1..) = reader.read(&mut chunk).await {
            n_bytes += n;
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    let ended = async {
        tokio::select! {
            () = reading => {}
            () = served.until_streams(0) => {}
        }
    };
    let ended = tokio::time::timeout(20 * SECOND, ended).await;
    assert!(ended.is_ok(), "after {n_bytes} bytes");
}

#[tokio::test]
async fn broken_requests_are_explained() {
    let served = Served::start(limits()).await;
    let large = format!("GET / HTTP/1.1\r\nA: {}\r\n\r\n", "a".repeat(1 << 20));
    let many = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(200));
    let long = format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(65_530));
    for (request, status, reason) in [
        ("nonsense\r\n\r\n", "400 ", "not valid HTTP/1.1"),
        ("GET / HTTP/1.1\r\na b\r\n\r\n", "400 ", "not valid"),
        (&large, "431 ", "before its body"),
        (&many, "431 ", "more than 100 headers"),
        (&long, "431 ", "65536 bytes before its body"),
    ] {
        let mut socket = served.send(request.as_bytes()).await;
        let answer = receive_all(&mut socket).await;
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status}")),
            "{answer}"
        );
        let (_, body) = answer.split_once("\r\n\r\n").expect("a body");
        assert!(
            body.starts_with("{\"error\":\"") && body.contains(reason),
            "{answer}"
        );
    }
}

#[tokio::test]
async fn a_connection_ends_after_its_last_request() {
    let served = Served::start(ListenerLimits {
        requests_per_connection: 2,
        ..limits()
    })
    .await;
    let mut socket = served.send(GET).await;
    let first = receive(&mut socket, "fine").await;
    assert!(!first.contains("connection: close"), "{first}");
    socket.write_all(GET).await.expect("sent");
    let second = receive_all(&mut socket).await;
    assert!(
        second.starts_with("HTTP/1.1 200") && second.ends_with("fine"),
        "{second}"
    );
}

#[tokio::test]
async fn draining_waits_for_requests_and_closes_idle_connections() {
    let served = Served::start(limits()).await;
    let mut idle = served.send(GET).await;
    receive(&mut idle, "fine").await;
    let mut working = served.send(b"GET /wait HTTP/1.1\r\nHost: a\r\n\r\n").await;
    served.until_waiting(1).await;
    served.drained.cancel();
    assert_eq!(receive_all(&mut idle).await, "");
    assert!(!served.task.is_finished());
    served.release.notify_one();
    let answer = receive_all(&mut working).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let ended = tokio::time::timeout(SOON, served.task).await;
    assert!(ended.is_ok_and(|ended| ended.is_ok()));
}

mod http2 {
    use super::*;

    const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    const DATA: u8 = 0;
    const HEADERS: u8 = 1;
    const RST_STREAM: u8 = 3;
    const SETTINGS: u8 = 4;
    const GOAWAY: u8 = 7;
    const CONTINUATION: u8 = 9;
    const END_STREAM_AND_HEADERS: u8 = 5;

    fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
        let length = u32::try_from(payload.len()).expect("a short frame");
        let mut frame = length.to_be_bytes()[1..].to_vec();
        frame.extend([kind, flags]);
        frame.extend(stream.to_be_bytes());
        frame.extend(payload);
        frame
    }

    /// A GET as an HPACK block: indexed method and scheme, literal path and authority.
    fn head(path: &str) -> Vec<u8> {
        let length = u8::try_from(path.len()).expect("a short path");
        let mut block = vec![0x82, 0x86, 0x04, length];
        block.extend(path.as_bytes());
        block.extend([0x41, 1, b'a']);
        block
    }

    fn request(stream: u32, path: &str) -> Vec<u8> {
        frame(HEADERS, END_STREAM_AND_HEADERS, stream, &head(path))
    }

    /// Reads frames until one `is_last`, or to the end of the connection.
    async fn frames(
        socket: &mut TcpStream,
        mut is_last: impl FnMut(u8, &[u8]) -> bool,
    ) -> Vec<(u8, usize)> {
        let mut seen = Vec::new();
        let read = async {
            let mut head = [0; 9];
            while socket.read_exact(&mut head).await.is_ok() {
                let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
                let mut payload = vec![0; length];
                if socket.read_exact(&mut payload).await.is_err() {
                    break;
                }
                seen.push((head[3], length));
                if is_last(head[3], &payload) {
                    break;
                }
            }
        };
        let read = tokio::time::timeout(SOON, read).await;
        assert!(read.is_ok(), "the connection is still open: {seen:?}");
        seen
    }

    /// Sends `flood` again and again, and returns after how many bytes the server ended the
    /// connection.
    async fn flood(served: &Served, start: &[u8], flood: &[u8]) -> usize {
        let socket = served
            .send(&[PREFACE, &frame(SETTINGS, 0, 0, &[]), start].concat())
            .await;
        let (mut reader, mut writer) = socket.into_split();
        let answers = tokio::spawn(async move {
            let mut answers = Vec::new();
            let _end = reader.read_to_end(&mut answers).await;
        });
        let mut n_bytes = 0;
        let sending = async {
            while writer.write_all(flood).await.is_ok() {
                n_bytes += flood.len();
            }
        };
        let ended = tokio::time::timeout(SOON, sending).await;
        assert!(ended.is_ok(), "the server took {n_bytes} bytes");
        answers.abort();
        n_bytes
    }

    #[tokio::test]
    async fn large_responses_are_whole() {
        let served = Served::start(limits()).await;
        let window = frame(8, 0, 0, &(1_u32 << 30).to_be_bytes());
        // SETTINGS_INITIAL_WINDOW_SIZE
        let settings = frame(SETTINGS, 0, 0, &[0, 4, 0x40, 0, 0, 0]);
        let asked = [PREFACE, &settings, &window, &request(1, "/large")].concat();
        let mut socket = served.send(&asked).await;
        let mut n_bytes = 0;
        let seen = frames(&mut socket, |kind, payload| {
            n_bytes += if kind == DATA { payload.len() } else { 0 };
            n_bytes == 1 << 20
        })
        .await;
        assert_eq!(n_bytes, 1 << 20, "{seen:?}");
    }

    #[tokio::test]
    async fn a_stream_without_a_window_ends() {
        let served = Served::start(ListenerLimits {
            write_time: SECOND,
            ..limits()
        })
        .await;
        // SETTINGS_INITIAL_WINDOW_SIZE = 0: the socket can be written, the stream cannot.
        let settings = frame(SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 0]);
        let asked = [PREFACE, &settings, &request(1, "/stream")].concat();
        let mut socket = served.send(&asked).await;
        served.until_streams(1).await;
        served.until_streams(0).await;
        frames(&mut socket, |_, _| false).await;
    }

    #[tokio::test]
    async fn a_stalled_stream_leaves_the_others() {
        let served = Served::start(ListenerLimits {
            write_time: SECOND,
            ..limits()
        })
        .await;
        let settings = frame(SETTINGS, 0, 0, &[]);
        let waiting = request(3, "/wait");
        let asked = [PREFACE, &settings, &request(1, "/stream"), &waiting].concat();
        let mut socket = served.send(&asked).await;
        served.until_streams(1).await;
        served.until_streams(0).await;
        served.release.notify_one();
        let mut n_heads = 0;
        frames(&mut socket, |kind, _| {
            n_heads += usize::from(kind == HEADERS);
            n_heads == 2
        })
        .await;
        assert_eq!(n_heads, 2, "both responses have begun");
    }

    #[tokio::test]
    async fn a_stalled_response_gives_its_memory_back() {
        let served = Served::start(ListenerLimits {
            write_time: 3 * SECOND,
            ..limits()
        })
        .await;
        let settings = frame(SETTINGS, 0, 0, &[]);
        let waiting = request(3, "/wait");
        let asked = [PREFACE, &settings, &request(1, "/owned"), &waiting].concat();
        let _socket = served.send(&asked).await;
        served.until_waiting(1).await;
        served.until_streams(1).await;
        served.until_streams(0).await;
        assert_eq!(served.waiting.load(Ordering::SeqCst), 1, "it has ended");
    }

    #[tokio::test]
    async fn floods_end_the_connection() {
        let served = Served::start(limits()).await;
        let settings = frame(SETTINGS, 0, 0, &[]).repeat(1_000);
        let n_bytes = flood(&served, &[], &settings).await;
        assert!(n_bytes < 40_000_000, "{n_bytes} bytes of SETTINGS");
        let start = frame(HEADERS, 0, 1, &head("/"));
        let continued = frame(CONTINUATION, 0, 1, &[0x40, 1, b'x', 1, b'y']).repeat(100);
        let n_bytes = flood(&served, &start, &continued).await;
        assert!(n_bytes < 10_000_000, "{n_bytes} bytes of CONTINUATION");
        assert!(served.is_fine().await);
    }

    #[tokio::test]
    async fn rapid_resets_end_the_connection() {
        let served = Served::start(limits()).await;
        let mut attack = [PREFACE, &frame(SETTINGS, 0, 0, &[])].concat();
        for n in 0..2_000 {
            let stream = 2 * n + 1;
            attack.extend(request(stream, "/wait"));
            attack.extend(frame(RST_STREAM, 0, stream, &8_u32.to_be_bytes()));
        }
        let mut socket = served.connect_from("127.0.0.1").await;
        // The server may end the connection in the middle.
        let _sent = socket.write_all(&attack).await;
        let seen = frames(&mut socket, |kind, _| kind == GOAWAY).await;
        assert!(seen.iter().any(|(kind, _)| *kind == GOAWAY), "{seen:?}");
        assert!(served.is_fine().await);
    }

    #[tokio::test]
    async fn the_preface_must_come_in_time() {
        let served = Served::start(ListenerLimits {
            head_time: SECOND,
            idle_time: SECOND,
            ..limits()
        })
        .await;
        let mut half = served.send(&PREFACE[..10]).await;
        receive_all(&mut half).await;
        let mut without_request = served
            .send(&[PREFACE, &frame(SETTINGS, 0, 0, &[])].concat())
            .await;
        receive_all(&mut without_request).await;
    }
}
