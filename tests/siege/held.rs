//! Bytes that are to be held for as long as the attacker likes: bodies sent slowly to our own API,
//! slow readers of what is stored.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::field::{Field, PEAK_OF_HELD_KIB_MAX};
use crate::trouble::address;

/// How long a stored crawl may take to be there.
const PATIENCE: Duration = Duration::from_secs(120);

/// Begins a request; what follows the head is the caller's.
async fn begin(field: &Field, line: &str, more: &str) -> TcpStream {
    let mut socket = TcpStream::connect(address(&field.server.base))
        .await
        .unwrap();
    let head = format!(
        "{line} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\n{more}\r\n",
        field.attacker.key
    );
    socket.write_all(head.as_bytes()).await.unwrap();
    socket
}

/// Nearly all of a body at once, and then a byte now and then, so that it moves.
async fn drip(mut socket: TcpStream, n_bytes: usize) {
    let piece = vec![b' '; 1 << 16];
    let mut left = n_bytes;
    while left > 0 {
        let n = left.min(piece.len());
        if socket.write_all(&piece[..n]).await.is_err() {
            return;
        }
        left -= n;
    }
    while socket.write_all(b" ").await.is_ok() {
        tokio::time::sleep(Duration::from_secs(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "measures the machine: cargo xtask siege"]
async fn bodies_that_are_sent_slowly() {
    let field = Field::new().await.with_peak(PEAK_OF_HELD_KIB_MAX);
    field
        .besiege("40 bodies of 60 MB that stop at 59 MB", async {
            let mut uploads = JoinSet::new();
            for _ in 0..40 {
                let more = "Content-Type: application/json\r\nContent-Length: 60000000\r\n";
                let socket = begin(&field, "POST /transform", more).await;
                uploads.spawn(drip(socket, 59_000_000));
            }
            tokio::time::sleep(Duration::from_secs(12)).await;
            // Dropped: the connections end.
        })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "measures the machine: cargo xtask siege"]
async fn slow_readers_of_stored_pages() {
    let field = Field::with("[http]\nwrite_seconds = 10\n".to_owned()).await;
    let field = field.with_peak(PEAK_OF_HELD_KIB_MAX);
    let id = stored_crawl(&field, json!({"limit": 100})).await;
    field
        .besiege("48 slow readers of 100 stored pages of 2 MB", async {
            let mut sockets = Vec::new();
            for n in 0..48 {
                let accept = ["json", "jsonl"][n % 2];
                let more = format!("Accept: application/{accept}\r\n");
                let line = format!("GET /crawl/{id}/pages?limit=10000");
                sockets.push(begin(&field, &line, &more).await);
            }
            tokio::time::sleep(Duration::from_secs(9)).await;
        })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "measures the machine: cargo xtask siege"]
async fn readers_of_waiting_webhooks() {
    let field = Field::new().await.with_peak(PEAK_OF_HELD_KIB_MAX);
    let webhooks = json!({"destination": field.trouble.url(700, "/silent"), "on_find": true});
    stored_crawl(&field, json!({"limit": 60, "webhooks": webhooks})).await;
    field
        .besiege(
            "200 readers of the list of 60 events of a megabyte",
            async {
                let mut gets = JoinSet::new();
                for _ in 0..200 {
                    let attacker = field.attacker.clone();
                    gets.spawn(async move {
                        let (path, close) =
                            ("/data/webhooks?limit=1000", [("connection", "close")]);
                        let sent = attacker.send(Method::GET, path, &close, String::new());
                        if let Ok(Some(answer)) =
                            tokio::time::timeout(Duration::from_secs(10), sent).await
                        {
                            assert!([200, 429].contains(&answer.status), "{}", answer.status);
                        }
                    });
                }
                gets.join_all().await;
            },
        )
        .await;
}

/// Runs a background crawl of pages of two megabytes to its end; its id.
async fn stored_crawl(field: &Field, more: Value) -> String {
    let mut body = json!({
        "url": field.trouble.url(600, "/big"), "depth": 60, "return_format": "raw",
        "request": "http", "run_in_background": true, "cache": false, "respect_robots": false,
    });
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    let queued = field.attacker.post("/crawl", &[], &body).await.json();
    let id = queued["id"].as_str().unwrap().to_owned();
    let ended = field.attacker.crawl_ended(&id, PATIENCE).await;
    assert_eq!(ended["pages"], body["limit"], "{ended}");
    id
}
