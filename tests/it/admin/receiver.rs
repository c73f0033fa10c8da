//! A webhook receiver that records all requests.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// One request: headers by lower-case name, and the body.
#[derive(Clone, Debug)]
pub(super) struct Received {
    pub(super) headers: HashMap<String, String>,
    pub(super) body: Vec<u8>,
}

type Log = Arc<Mutex<Vec<Received>>>;

pub(super) struct Receiver {
    address: SocketAddr,
    log: Log,
}

impl Receiver {
    pub(super) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let log = Log::default();
        let shared = Arc::clone(&log);
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(receive(BufReader::new(socket), Arc::clone(&shared)));
            }
        });
        Self { address, log }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/hook", self.address)
    }

    pub(super) fn so_far(&self) -> Vec<Received> {
        self.log.lock().unwrap().clone()
    }

    /// The requests received, as soon as there are `count`.
    pub(super) async fn has(&self, count: usize) -> Vec<Received> {
        for _ in 0..1_000 {
            let received = self.so_far();
            if received.len() >= count {
                return received;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("only {:?} came", self.so_far());
    }
}

async fn receive(mut socket: BufReader<TcpStream>, log: Log) {
    loop {
        let mut headers = HashMap::new();
        loop {
            let mut line = String::new();
            match socket.read_line(&mut line).await {
                Ok(read) if read > 0 => {}
                _ => return,
            }
            match line.trim_end().split_once(": ") {
                Some((name, value)) => {
                    headers.insert(name.to_ascii_lowercase(), value.to_owned());
                }
                None if line.trim_end().is_empty() => break,
                None => {}
            }
        }
        let length = headers.get("content-length");
        let mut body = vec![0; length.map_or(0, |text| text.parse().unwrap())];
        if socket.read_exact(&mut body).await.is_err() {
            return;
        }
        log.lock().unwrap().push(Received { headers, body });
        let answer = b"HTTP/1.1 204 No Content\r\n\r\n";
        if socket.get_mut().write_all(answer).await.is_err() {
            return;
        }
    }
}
