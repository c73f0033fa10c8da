//! Callers who hang up in the middle, and requests that cost more to plan or to keep than to send.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::field::{Field, post};
use crate::trouble::address;

/// Most resident memory of the server with many queued crawls.
const QUEUED_KIB_MAX: u64 = 600 * 1024;
/// How long the server may take to start with them.
const START_MAX: Duration = Duration::from_secs(15);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "measures the machine: cargo xtask siege"]
async fn sitemaps_of_every_seed() {
    let field = Field::new().await;
    // As much as fits into four kilobytes.
    let seeds: Vec<String> = (0..100).map(|n| format!("http://127.1/{n}/")).collect();
    let sitemaps: Vec<String> = (0..493).map(|n| format!("{n:x}")).collect();
    let body = json!({
        "url": seeds.join(","), "sitemaps": sitemaps, "limit": 1, "crawl_timeout": 1,
    });
    field
        .besiege("4 connections with sitemaps for each seed", async {
            let until = Instant::now() + Duration::from_secs(4);
            let mut connections = JoinSet::new();
            for _ in 0..4 {
                let (attacker, body) = (field.attacker.clone(), body.clone());
                connections.spawn(async move {
                    while Instant::now() < until {
                        assert_eq!(post(&attacker, "/crawl", &body).await, Some(400));
                    }
                });
            }
            connections.join_all().await;
        })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "measures the machine: cargo xtask siege"]
async fn queued_crawls_and_a_restart() {
    let mut field = Field::new().await;
    let text = text_of_urls();
    let body = json!({
        "text": text, "run_in_background": true, "respect_robots": false, "request": "http",
        "request_timeout": 5,
    });
    let mut peak = 0;
    field
        .besiege("24 crawls of 9 MB, most of them queued", async {
            let ids = queue(&field, &body).await;
            peak = field.server.peak_kib();
            let is_full = (10..24).contains(&ids.len());
            assert!(is_full, "{} crawls are queued", ids.len());
            cancel(&field, &ids).await;
        })
        .await;
    assert!(peak <= QUEUED_KIB_MAX, "{} MiB", peak / 1024);

    field.another_turn().await;
    let ids = queue(&field, &body).await;
    field.server.kill();
    let started = Instant::now();
    field.server.start_again();
    let lasted = started.elapsed();
    field.attacker.base.clone_from(&field.server.base);
    assert_eq!(used(&field).await, ids.len() as u64, "all of them continue");
    tokio::time::sleep(Duration::from_secs(5)).await;
    let peak = field.server.peak_kib();
    eprintln!(
        "siege: a start with {} queued crawls: {:.1} s, peak {} MiB",
        ids.len(),
        lasted.as_secs_f64(),
        peak / 1024,
    );
    assert!(lasted < START_MAX, "{lasted:?}");
    assert!(peak <= QUEUED_KIB_MAX, "{} MiB", peak / 1024);
    cancel(&field, &ids).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "measures the machine: cargo xtask siege"]
async fn callers_who_hang_up() {
    let field = Field::new().await;
    let body = json!({
        "url": field.trouble.url(0, "/page"), "limit": 1, "run_in_background": true,
        "respect_robots": false, "request": "http", "request_timeout": 5,
    });
    field
        .besiege("400 crawls whose callers hang up", async {
            let server = address(&field.server.base);
            let request = raw_request(&field.attacker.key, &body.to_string());
            let mut calls = JoinSet::new();
            for n in 0..400_u64 {
                let after = Duration::from_micros(300 + n * 57 / 4);
                calls.spawn(reset_after(server, request.clone(), after));
                if n % 40 == 39 {
                    while calls.join_next().await.is_some() {}
                }
            }
        })
        .await;
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let (unfinished, used) = (unfinished(&field).await, used(&field).await);
        if (unfinished, used) == (0, 0) {
            break;
        }
        assert!(
            Instant::now() < deadline,
            "{unfinished} unfinished rows, {used} crawls in use"
        );
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    field.nothing_is_reserved().await;
}

/// A text of nine megabytes with 99,000 URLs of loopback addresses without a server.
fn text_of_urls() -> String {
    let url = |n: usize| format!("http://127.0.0.1:9/{n}/{}\n", "x".repeat(70));
    (0..99_000).map(url).collect()
}

/// Sends more crawls than may be queued and returns the ids of those that are. The others are
/// refused for the bytes of their requests.
async fn queue(field: &Field, body: &Value) -> Vec<String> {
    let mut ids = Vec::new();
    for _ in 0..24 {
        let sent = field.attacker.post("/pipeline/crawl-text", &[], body);
        let answer = sent.await;
        match answer.status {
            200 => ids.push(answer.json()["id"].as_str().expect("an id").to_owned()),
            status => {
                assert_eq!(status, 429, "{}", answer.error());
                assert!(answer.error().starts_with("queued_crawl_bytes: "));
            }
        }
    }
    ids
}

/// Cancels background crawls of the attacker.
async fn cancel(field: &Field, ids: &[String]) {
    for id in ids {
        let path = format!("/crawl/{id}");
        let sent = field
            .attacker
            .send(http::Method::DELETE, &path, &[], String::new());
        assert_eq!(sent.await.map(|answer| answer.status), Some(200));
    }
}

/// Rows of crawls that have not ended.
async fn unfinished(field: &Field) -> u64 {
    let rows = field.attacker.get("/data/crawl_state?limit=1000").await;
    let rows = rows.json()["data"].as_array().expect("rows").clone();
    rows.iter().filter(|row| row["state"] != "ended").count() as u64
}

/// Background crawls that count towards the limit.
async fn used(field: &Field) -> u64 {
    let account = field.attacker.get("/account").await.json();
    account["limits"]["background_crawls"]["used"]
        .as_u64()
        .expect("a number")
}

fn raw_request(key: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    let head = format!(
        "POST /crawl HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    );
    (head + body).into_bytes()
}

/// Sends a request and resets the connection, unless the answer was there first.
async fn reset_after(server: SocketAddr, request: Vec<u8>, after: Duration) {
    let mut stream = TcpStream::connect(server).await.expect("a connection");
    stream.set_zero_linger().expect("a socket option");
    stream.write_all(&request).await.expect("sent");
    let _answer = tokio::time::timeout(after, stream.read(&mut [0; 64])).await;
}
