//! A test fixture: an HTTP site on loopback that serves a list of responses for each path, and
//! repeats the last one.
//! It is always compiled, because unit tests of this crate and of the engine use it; the server
//! never does.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use url::Url;

use super::{FetchConfig, Fetcher};
use crate::egress::{AllowList, Egress, EgressConfig};

/// One response of the site.
#[derive(Clone)]
pub enum Answer {
    /// A complete response: status, header lines (each with its line end), body.
    Whole(u16, String, Vec<u8>),
    /// Resets the connection.
    Reset,
    /// Sends nothing for this long, then closes the connection.
    Silence(Duration),
    /// Sends these bytes unchanged, then closes the connection.
    Raw(String),
    /// A body that comes byte by byte, with this pause before each.
    Dripping(Vec<u8>, Duration),
    /// A body whose first bytes come at once and then one after each pause, for as long as the
    /// client waits.
    Ebbing(Vec<u8>, Duration),
    /// Header lines and a body that stalls before its last byte, for as long as the client waits.
    Stalled(String, Vec<u8>),
}

/// A site on loopback.
pub struct LoopbackSite {
    /// The socket address it listens on.
    pub address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

/// A complete response with a text body.
pub fn page(status: u16, headers: &str, body: &str) -> Answer {
    Answer::Whole(status, headers.to_owned(), body.as_bytes().to_vec())
}

impl LoopbackSite {
    /// Starts a site with these responses by path; any other path is a 404.
    pub async fn start(paths: &[(&str, Vec<Answer>)]) -> Self {
        let paths = paths
            .iter()
            .map(|(path, answers)| ((*path).to_owned(), answers.clone()));
        let paths: HashMap<String, Vec<Answer>> = paths.collect();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("a bound listener");
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (paths, log) = (Arc::new(paths), Arc::clone(&asked));
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(serve(socket, Arc::clone(&paths), Arc::clone(&log)));
            }
        });
        Self { address, asked }
    }

    /// The URL of a path.
    ///
    /// # Panics
    /// When the path is not valid in a URL.
    pub fn url(&self, path: &str) -> Url {
        Url::parse(&format!("http://{}{path}", self.address)).expect("a URL")
    }

    /// The requested paths, in order.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("no panic").clone()
    }
}

/// Builds a fetcher that may reach loopback.
pub fn fetcher() -> Fetcher {
    fetcher_with(FetchConfig::default())
}

/// Builds a fetcher with these settings that may reach loopback.
pub fn fetcher_with(config: FetchConfig) -> Fetcher {
    let loopback = "127.0.0.0/8".parse().expect("a range");
    let egress = Egress::new(EgressConfig {
        allow_private: AllowList::new(vec![loopback]),
        ..EgressConfig::default()
    });
    Fetcher::new(egress.expect("egress"), config)
}

async fn serve(
    mut socket: TcpStream,
    paths: Arc<HashMap<String, Vec<Answer>>>,
    log: Arc<Mutex<Vec<String>>>,
) {
    let Some(path) = requested_path(&mut socket).await else {
        return;
    };
    let n_before = {
        let mut log = log.lock().expect("no panic");
        log.push(path.clone());
        log.iter().filter(|asked| **asked == path).count() - 1
    };
    let not_found = page(404, "", "");
    let answers = paths.get(&path);
    let answer = answers.map_or(&not_found, |answers| {
        &answers[n_before.min(answers.len() - 1)]
    });
    if send(&mut socket, answer).await.is_break() {
        return;
    }
    // The rest of the request is drained, or closing would reset the connection before the client
    // reads the response.
    let _ = socket.shutdown().await;
    drain(&mut socket, Duration::from_secs(5)).await;
}

/// The path of a request. Only the first line is read, so that closing the socket with the rest
/// unread resets the connection.
async fn requested_path(socket: &mut TcpStream) -> Option<String> {
    let mut request = vec![0; 8192];
    let mut len = 0;
    while !request[..len].contains(&b'\n') && len < 16 * 1024 {
        match socket.read(&mut request[len..len + 64]).await {
            Ok(read) if read > 0 => len += read,
            _ => return None,
        }
    }
    let line = String::from_utf8_lossy(&request[..len]).into_owned();
    Some(line.split(' ').nth(1).unwrap_or_default().to_owned())
}

/// Reads until the client closes the connection, for at most this long.
async fn drain(socket: &mut TcpStream, time_max: Duration) {
    let mut bytes = vec![0; 8192];
    let rest = async { while matches!(socket.read(&mut bytes).await, Ok(read) if read > 0) {} };
    let _ = tokio::time::timeout(time_max, rest).await;
}

/// Sends a response. Breaks where the connection is to be closed as it is.
async fn send(socket: &mut TcpStream, answer: &Answer) -> ControlFlow<()> {
    match answer {
        Answer::Reset => return ControlFlow::Break(()),
        Answer::Silence(time) => tokio::time::sleep(*time).await,
        Answer::Raw(text) => {
            let _ = socket.write_all(text.as_bytes()).await;
        }
        Answer::Dripping(body, pause) => {
            let length = body.len();
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n");
            let _ = socket.write_all(head.as_bytes()).await;
            for byte in body.chunks(1) {
                tokio::time::sleep(*pause).await;
                let _ = socket.write_all(byte).await;
            }
        }
        Answer::Ebbing(body, pause) => {
            let _ = socket.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await;
            let _ = socket.write_all(body).await;
            for _ in 0..10_000 {
                tokio::time::sleep(*pause).await;
                if socket.write_all(b"x").await.is_err() {
                    return ControlFlow::Break(());
                }
            }
        }
        Answer::Stalled(headers, body) => {
            let length = body.len() + 1;
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n{headers}\r\n");
            let _ = socket.write_all(head.as_bytes()).await;
            let _ = socket.write_all(body).await;
            drain(socket, Duration::from_secs(60)).await;
            return ControlFlow::Break(());
        }
        Answer::Whole(status, headers, body) => {
            let head = format!(
                "HTTP/1.1 {status} X\r\ncontent-length: {}\r\nconnection: close\r\n{headers}\r\n",
                body.len()
            );
            let _ = socket.write_all(head.as_bytes()).await;
            let _ = socket.write_all(body).await;
        }
    }
    ControlFlow::Continue(())
}
