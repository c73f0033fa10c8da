//! What is held, by what it is for: the report adds up, and the memory of the process follows it.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use trawl_tests::{FakeSite, ServerProcess, World};

/// Long enough for a slow machine.
const PATIENCE: Duration = Duration::from_secs(60);
const PAGES: usize = 24;
const PAGE_BYTES: usize = 2_000_000;
const READERS: usize = 10;
const UPLOADS: usize = 6;
/// What each upload declares, and what it sends of it.
const UPLOAD_BYTES: usize = 12_000_000;
const SENT_BYTES: usize = 8_000_000;
/// What the process may grow by in addition to what it holds: buffers of connections (half a
/// megabyte each way), copies while bytes are moved, SQLite and the allocator.
const ALLOWANCE_KIB: u64 = 96 * 1024;

/// A page whose text is long and not alike, with links to all of them.
fn page(n: usize) -> String {
    let links: String = (0..PAGES)
        .map(|m| format!("<a href=\"/long/{m}\">{m}</a> "))
        .collect();
    let mut text = String::with_capacity(PAGE_BYTES + 64);
    let mut m = n;
    while text.len() < PAGE_BYTES {
        m = m.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        text.push_str(&format!("{m} "));
    }
    format!("<p>{links}</p><p>{text}</p>")
}

async fn begin(server: &ServerProcess, head: &str) -> TcpStream {
    let address = server.base.trim_start_matches("http://");
    let mut socket = TcpStream::connect(address).await.unwrap();
    let head = format!(
        "{head}\r\nHost: x\r\nAuthorization: Bearer {}\r\n",
        server.key
    );
    socket.write_all(head.as_bytes()).await.unwrap();
    socket
}

/// A reader of all stored pages that reads no more than the head.
async fn slow_reader(server: &ServerProcess, id: &str) -> TcpStream {
    let line = format!("GET /crawl/{id}/pages?limit=10000 HTTP/1.1");
    let mut socket = begin(server, &line).await;
    socket.write_all(b"\r\n").await.unwrap();
    let mut status = [0; 12];
    socket.read_exact(&mut status).await.unwrap();
    assert_eq!(&status, b"HTTP/1.1 200");
    socket
}

/// A request whose body stops in the middle.
async fn slow_upload(server: &ServerProcess) -> TcpStream {
    let mut socket = begin(server, "POST /transform HTTP/1.1").await;
    let head = format!("Content-Type: application/json\r\nContent-Length: {UPLOAD_BYTES}\r\n\r\n");
    socket.write_all(head.as_bytes()).await.unwrap();
    socket.write_all(&vec![b' '; SENT_BYTES]).await.unwrap();
    socket
}

/// `memory` of a fresh report, whose kinds add up.
async fn memory(server: &ServerProcess) -> Value {
    // A report is reused for a second.
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    let memory = server.get("/health").await.json()["memory"].take();
    let held = memory["held"].as_object().unwrap();
    let sum: u64 = held.values().map(|bytes| bytes.as_u64().unwrap()).sum();
    assert_eq!(memory["bytes"], sum, "{memory}");
    memory
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_held_adds_up_and_is_what_the_process_grows_by() {
    let site = FakeSite::start().await;
    for n in 0..PAGES {
        site.put(&format!("/long/{n}"), "text/html", page(n));
    }
    let mut world = World::new();
    world.config = "memory_mib = 512\n[cache]\nmemory_mib = 8\noutputs_mib = 8\n".to_owned();
    let server = ServerProcess::start(world);
    let body = json!({
        "url": site.url("/long/0"), "return_format": "raw", "request": "http", "limit": PAGES,
        "run_in_background": true, "cache": false, "respect_robots": false,
    });
    let queued = server.post("/crawl", &[], &body).await.json();
    let id = queued["id"].as_str().unwrap().to_owned();
    let ended = server.crawl_ended(&id, PATIENCE).await;
    assert_eq!(ended["pages"], PAGES, "{ended}");
    // As many connections and reads as later, so that what they cost once is there.
    for _ in 0..2 {
        drop(slow_reader(&server, &id).await);
        drop(slow_upload(&server).await);
    }
    let begun = Instant::now();
    while memory(&server).await["bytes"].as_u64().unwrap() > 1 << 20 {
        assert!(begun.elapsed() < PATIENCE, "something is still held");
    }
    let before = server.resident_kib();

    let mut sockets = Vec::new();
    for _ in 0..READERS {
        sockets.push(slow_reader(&server, &id).await);
    }
    for _ in 0..UPLOADS {
        sockets.push(slow_upload(&server).await);
    }
    let begun = Instant::now();
    let memory = loop {
        let memory = memory(&server).await;
        let bodies = memory["held"]["request_bodies"].as_u64().unwrap();
        let stored = memory["held"]["stored"].as_u64().unwrap();
        // A reader holds an entry or two: one is being sent, one waits behind it.
        if bodies >= (UPLOADS * SENT_BYTES) as u64 && stored >= (READERS * PAGE_BYTES) as u64 {
            break memory;
        }
        assert!(begun.elapsed() < Duration::from_secs(8), "{memory}");
    };
    let held_kib = memory["bytes"].as_u64().unwrap() / 1024;
    let grown = server.resident_kib().saturating_sub(before);
    assert!(
        grown <= held_kib + ALLOWANCE_KIB,
        "grown by {grown} KiB, {held_kib} KiB are held: {memory}"
    );
    drop(sockets);
    let begun = Instant::now();
    while self::memory(&server).await["bytes"].as_u64().unwrap() > 1 << 20 {
        assert!(begun.elapsed() < PATIENCE, "something is still held");
    }
}
