//! Crawls by the hundred, readers that stop reading, webhooks that never answer.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use trawl_tests::Caller;

use crate::field::Field;
use crate::trouble::address;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "measures the machine: cargo xtask siege"]
async fn crawls_whose_seeds_never_answer() {
    let field = Field::idle().await;
    field
        .besiege("12 crawls of 100 seeds that never answer", async {
            let crawl = |crawl: usize| {
                let seeds: Vec<_> = (0..100)
                    .map(|n| field.trouble.url(crawl * 100 + n, "/silent"))
                    .collect();
                json!({"url": seeds.join(","), "request_timeout": 5})
            };
            field.post_all("/crawl", (0..12).map(crawl)).await;
        })
        .await;
    field.nothing_is_reserved().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "measures the machine: cargo xtask siege"]
async fn sitemaps_of_a_million_urls() {
    let field = Field::new().await;
    field
        .besiege("4 crawls of sitemaps with a million URLs", async {
            let crawl = |host| {
                json!({
                    "url": field.trouble.url(host, "/page"), "limit": 50_000, "request_timeout": 5,
                    "sitemap_only": true, "sitemap_path": "/sitemaps", "respect_robots": false,
                })
            };
            field.post_all("/crawl", (0..4).map(crawl)).await;
        })
        .await;
    field.nothing_is_reserved().await;
}

/// Streamed crawls whose reader reads nothing, with everything that such a crawl holds.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "measures the machine: cargo xtask siege"]
async fn readers_that_stop_reading() {
    let field = Field::with("[http]\nwrite_seconds = 5\n".to_owned()).await;
    field
        .besiege("24 streamed crawls without a reader", async {
            let mut sockets = Vec::new();
            for host in 0..24 {
                let body = json!({
                    "url": field.trouble.url(host, "/tree"), "limit": 400, "depth": 12,
                    "return_format": "raw",
                })
                .to_string();
                let head = format!(
                    "POST /crawl HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\nContent-Type: application/jsonl\r\nContent-Length: {}\r\n\r\n{body}",
                    field.attacker.key,
                    body.len()
                );
                let mut socket = TcpStream::connect(address(&field.server.base)).await.unwrap();
                socket.write_all(head.as_bytes()).await.unwrap();
                sockets.push(socket);
            }
            tokio::time::sleep(Duration::from_secs(9)).await;
            field.few_pages_are_in_flight().await;
            // The sockets stay open: the server must not wait for them.
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_secs(60)).await;
                drop(sockets);
            });
        })
        .await;
    field.nothing_is_reserved().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "measures the machine: cargo xtask siege"]
async fn webhooks_that_never_answer() {
    let field = Field::idle().await;
    field
        .besiege("40 crawls with webhooks that never answer", async {
            let crawl = |host| {
                json!({
                    "url": field.trouble.url(host, "/tree"), "limit": 30, "depth": 6,
                    "run_in_background": true,
                    "webhooks": {"destination": field.trouble.url(400 + host, "/silent"), "on_find": true},
                })
            };
            field.post_all("/crawl", (0..40).map(crawl)).await;
            tokio::time::sleep(Duration::from_secs(4)).await;
        })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "measures the machine: cargo xtask siege"]
async fn statements_and_tables_by_the_hundred() {
    let field = Field::new().await;
    field
        .besiege("400 statements and tables, 200 at once", async {
            // Connections of its own, which end with it.
            let attacker = Caller::new(address(&field.server.base), &field.attacker.key);
            let mut gets = JoinSet::new();
            // Fewer at once than one IP address may have: the innocent's is the same.
            let at_once = Arc::new(Semaphore::new(200));
            for n in 0..400 {
                let path = [
                    "/account/statement",
                    "/data/crawl_logs?limit=1000",
                    "/data/pages?limit=1000",
                    "/account",
                ][n % 4];
                let attacker = attacker.clone();
                let at_once = Arc::clone(&at_once);
                gets.spawn(async move {
                    let _turn = at_once.acquire().await;
                    let sent = attacker.send(http::Method::GET, path, &[], String::new());
                    let answer = tokio::time::timeout(Duration::from_secs(10), sent).await;
                    if let Ok(Some(answer)) = answer {
                        let is_attack = ![400, 401, 404].contains(&answer.status);
                        assert!(is_attack, "{path}: {}", answer.status);
                    }
                });
            }
            gets.join_all().await;
        })
        .await;
}
