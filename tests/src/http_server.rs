//! What the fake servers have in common: a listener that ends with them, and HTTP/1.1 for those
//! that read whole requests.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// Upper bound on the bytes of a request.
const REQUEST_BYTES_MAX: usize = 16 << 20;

/// Pause after a connection that could not be accepted.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);

/// A listener on a free port, until it is dropped.
pub struct Listening {
    /// The address it listens on.
    pub address: SocketAddr,
    task: JoinHandle<()>,
}

impl Listening {
    /// Serves each connection to an IP address of this machine in a task of its own.
    ///
    /// # Panics
    /// When the IP address is not local, or no port is free.
    pub async fn start<F>(ip: &str, serve: impl Fn(TcpStream) -> F + Send + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind((ip, 0)).await.expect("a free port");
        let address = listener.local_addr().expect("a bound listener");
        let task = tokio::spawn(async move {
            loop {
                match listener.accept().await {
                    Ok((stream, _)) => drop(tokio::spawn(serve(stream))),
                    // Out of descriptors: some will be closed.
                    Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
                }
            }
        });
        Self { address, task }
    }

    /// Serves each connection to 127.0.0.1 with what all of them share. `None` closes one.
    ///
    /// # Panics
    /// When no port is free.
    pub async fn sharing<S, F>(
        state: &Arc<S>,
        serve: impl Fn(TcpStream, Arc<S>) -> F + Send + 'static,
    ) -> Self
    where
        S: Send + Sync + 'static,
        F: Future<Output = Option<()>> + Send + 'static,
    {
        let state = Arc::clone(state);
        let serve = move |stream: TcpStream| {
            let serving = serve(stream, Arc::clone(&state));
            async move {
                let _closed = serving.await;
            }
        };
        Self::start("127.0.0.1", serve).await
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A request.
pub struct Received {
    /// Request line and headers.
    pub head: String,
    /// Body.
    pub body: Vec<u8>,
}

impl Received {
    /// Method and target.
    pub fn first_line(&self) -> Option<(&str, &str)> {
        let mut words = self.head.split([' ', '\r']);
        Some((words.next()?, words.next()?))
    }

    /// The headers in order, names in lower case.
    pub fn headers(&self) -> Vec<(String, String)> {
        headers(&self.head)
    }
}

fn headers(head: &str) -> Vec<(String, String)> {
    let lines = head.lines().skip(1).filter_map(|line| line.split_once(':'));
    lines
        .map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()))
        .collect()
}

/// The next request of a connection; `None` at its end, or when it is too large.
pub async fn read(stream: &mut TcpStream) -> Option<Received> {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        if bytes.len() > REQUEST_BYTES_MAX || stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let mut body = bytes.split_off(head_end + 4);
    let head = String::from_utf8_lossy(&bytes).into_owned();
    let headers = headers(&head);
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length: usize = length.map_or(Ok(0), |(_, value)| value.parse()).ok()?;
    while body.len() < length {
        if length > REQUEST_BYTES_MAX || stream.read_buf(&mut body).await.ok()? == 0 {
            return None;
        }
    }
    Some(Received { head, body })
}

/// Sends a whole response; `None` when the connection is broken.
pub async fn write(
    stream: &mut TcpStream,
    status: u16,
    headers: &[(String, String)],
    body: &[u8],
) -> Option<()> {
    let mut head = format!("HTTP/1.1 {status} Answer\r\n");
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    head += &format!("content-length: {}\r\n\r\n", body.len());
    // In one piece: a second one would wait for the acknowledgement of the first.
    let whole = [head.as_bytes(), body].concat();
    stream.write_all(&whole).await.ok()
}
