//! A receiver of webhooks on loopback that records all requests.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::net::TcpStream;

use crate::http_server::{self, Listening};

/// One request.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// Headers by lower-case name.
    pub headers: HashMap<String, String>,
    /// The body.
    pub body: Vec<u8>,
}

type Log = Arc<Mutex<Vec<Delivery>>>;

/// The receiver.
pub struct Receiver {
    log: Log,
    listening: Listening,
}

impl Receiver {
    /// Starts one on a free port of 127.0.0.1.
    ///
    /// # Panics
    /// When no port is free.
    pub async fn start() -> Self {
        let log = Log::default();
        let listening = Listening::sharing(&log, receive).await;
        Self { log, listening }
    }

    /// The URL that it receives at.
    pub fn url(&self) -> String {
        format!("http://{}/hook", self.listening.address)
    }

    /// The requests so far.
    pub fn so_far(&self) -> Vec<Delivery> {
        let log = self.log.lock();
        log.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The requests received, as soon as there are `count`.
    ///
    /// # Panics
    /// When they do not come within 20 seconds.
    pub async fn has(&self, count: usize) -> Vec<Delivery> {
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

impl Delivery {
    /// Name and content of the event.
    ///
    /// # Panics
    /// When it has no signature, no name, or no JSON.
    pub fn event(&self) -> (String, Value) {
        let signature = &self.headers["x-trawl-signature"];
        assert!(signature.starts_with("t="), "{signature}");
        let content = serde_json::from_slice(&self.body).expect("JSON");
        (self.headers["x-trawl-event"].clone(), content)
    }
}

async fn receive(mut stream: TcpStream, log: Log) -> Option<()> {
    loop {
        let received = http_server::read(&mut stream).await?;
        let delivery = Delivery {
            headers: received.headers().into_iter().collect(),
            body: received.body,
        };
        log.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(delivery);
        http_server::write(&mut stream, 200, &[], b"").await?;
    }
}
