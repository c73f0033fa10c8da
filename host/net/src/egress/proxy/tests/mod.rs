//! The channel over real sockets on loopback.

mod bounds;
mod carrying;
mod cookies;
mod refusing;
mod upstream;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::task::AbortOnDropHandle;

use super::{ProxyChannel, ProxyLimits};
use crate::egress::{AllowList, Egress, EgressConfig, Route};

/// Longest time a test waits for anything.
const PATIENCE: Duration = Duration::from_secs(20);

/// A configuration that allows sites on loopback.
fn loopback() -> EgressConfig {
    EgressConfig {
        allow_private: AllowList::parse(["127.0.0.1/32"]).expect("a range"),
        ..EgressConfig::default()
    }
}

async fn open(config: EgressConfig, limits: ProxyLimits) -> ProxyChannel {
    let egress = Egress::new(config).expect("egress");
    open_at(&egress, limits).await
}

async fn open_at(egress: &Arc<Egress>, limits: ProxyLimits) -> ProxyChannel {
    let opened = egress.open_proxy(Route::default(), limits).await;
    opened.expect("a channel")
}

/// The header line that authenticates a request.
fn authorization(channel: &ProxyChannel) -> String {
    let (user, password) = channel.credentials();
    let pair = STANDARD.encode(format!("{user}:{password}"));
    format!("Proxy-Authorization: Basic {pair}\r\n")
}

/// A connection to the channel.
async fn dial(channel: &ProxyChannel) -> TcpStream {
    let stream = TcpStream::connect(channel.address()).await;
    stream.expect("a channel that listens")
}

/// A connection to the channel that has requested a tunnel, and the head of the response.
async fn connect(channel: &ProxyChannel, target: &str) -> (TcpStream, String) {
    let mut stream = dial(channel).await;
    let request = format!(
        "CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n{}\r\n",
        authorization(channel)
    );
    stream.write_all(request.as_bytes()).await.expect("sent");
    let head = read_head(&mut stream).await;
    (stream, head)
}

/// The whole response to one request, whose connection is closed after it.
async fn exchange(channel: &ProxyChannel, request_line: &str, headers: &str) -> String {
    let mut stream = dial(channel).await;
    let request = format!(
        "{request_line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{}{headers}\r\n",
        authorization(channel)
    );
    stream.write_all(request.as_bytes()).await.expect("sent");
    read_all(&mut stream).await
}

async fn read_head(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut head = Vec::new();
    let reading = async {
        while !head.ends_with(b"\r\n\r\n") {
            match stream.read_u8().await {
                Ok(byte) => head.push(byte),
                Err(_) => break,
            }
        }
    };
    let read = tokio::time::timeout(PATIENCE, reading).await;
    read.expect("a head in time");
    String::from_utf8(head).expect("ASCII")
}

/// Reads until the other side closes or fails.
async fn read_all(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut text = Vec::new();
    let reading = stream.read_to_end(&mut text);
    let read = tokio::time::timeout(PATIENCE, reading).await;
    let _ = read.expect("an end in time");
    String::from_utf8_lossy(&text).into_owned()
}

/// What a site responds to a request's head; no bytes means that it stays silent.
type Responder = fn(&str) -> Vec<u8>;

/// A site on loopback.
struct Site {
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
    heads: Arc<Mutex<Vec<String>>>,
    _task: AbortOnDropHandle<()>,
}

impl Site {
    /// Responds to each request of a connection; after `101` it echoes.
    async fn start(response: Responder) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("a bound listener");
        let connections = Arc::new(AtomicUsize::new(0));
        let heads = Arc::new(Mutex::new(Vec::new()));
        let (counted, recorded) = (Arc::clone(&connections), Arc::clone(&heads));
        let task = tokio::spawn(async move {
            let mut visits = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::SeqCst);
                visits.spawn(visit(stream, response, Arc::clone(&recorded)));
            }
        });
        Self {
            address,
            connections,
            heads,
            _task: AbortOnDropHandle::new(task),
        }
    }

    /// Echoes every byte after an upgrade.
    async fn echo() -> Self {
        Self::start(|_| b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: x\r\n\r\n".to_vec()).await
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    fn heads(&self) -> Vec<String> {
        self.heads.lock().expect("no panic").clone()
    }
}

async fn visit(mut stream: TcpStream, response: Responder, heads: Arc<Mutex<Vec<String>>>) {
    loop {
        let head = read_head(&mut stream).await;
        if head.is_empty() {
            return;
        }
        let lower = head.to_ascii_lowercase();
        if let Some((_, after)) = lower.split_once("content-length: ") {
            let length = after.lines().next().and_then(|length| length.parse().ok());
            let mut body = vec![0; length.unwrap_or(0)];
            if stream.read_exact(&mut body).await.is_err() {
                return;
            }
        }
        heads.lock().expect("no panic").push(head.clone());
        let bytes = response(&head);
        if stream.write_all(&bytes).await.is_err() {
            return;
        }
        if bytes.starts_with(b"HTTP/1.1 101") {
            let (mut from, mut to) = stream.split();
            let _ = tokio::io::copy(&mut from, &mut to).await;
            return;
        }
        if head.contains("/endless") {
            while stream.write_all(&[b'x'; 4096]).await.is_ok() {}
            return;
        }
        if head.contains("/cut") {
            return;
        }
    }
}

/// Echoes every byte, without HTTP.
async fn plain_echo() -> (SocketAddr, AbortOnDropHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("a bound listener");
    let task = tokio::spawn(async move {
        let mut visits = tokio::task::JoinSet::new();
        while let Ok((mut stream, _)) = listener.accept().await {
            visits.spawn(async move {
                let (mut from, mut to) = stream.split();
                let _ = tokio::io::copy(&mut from, &mut to).await;
            });
        }
    });
    (address, AbortOnDropHandle::new(task))
}
