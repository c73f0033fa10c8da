//! Bodies that are large, endless or empty.

use std::time::Duration;

use serde_json::json;

use crate::field::Field;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "measures the machine: cargo xtask siege"]
async fn bodies_that_stall_just_below_the_size_limit() {
    let field = Field::new().await;
    field
        .besiege("160 bodies that stall at 63 MiB", async {
            let requests = (0..16_usize).map(|scrape| {
                let page = |page| json!({"url": field.trouble.url(scrape * 10 + page, "/stall"), "request": "http", "request_timeout": 20});
                json!((0..10_usize).map(page).collect::<Vec<_>>())
            });
            field.post_all("/scrape", requests).await;
        })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "measures the machine: cargo xtask siege"]
async fn empty_blocks_that_decode_to_nothing() {
    let field = Field::new().await;
    field
        .besiege("half a gigabyte of empty blocks, 24 times", async {
            let page = |host| json!({"url": field.trouble.url(host, "/empty"), "request": "http", "request_timeout": 5});
            field.post_all("/scrape", (0..24).map(page)).await;
        })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "measures the machine: cargo xtask siege"]
async fn large_pages_without_end() {
    let field = Field::new().await;
    field
        .besiege("large pages, twelve at a time", async {
            for _ in 0..4 {
                let page = |host| json!({"url": field.trouble.url(host, "/large"), "request": "http", "return_format": ["markdown", "raw", "text"], "cache": false});
                field.post_all("/scrape", (0..12).map(page)).await;
            }
        })
        .await;
}

/// Request bodies that begin and never continue, with a key.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "measures the machine: cargo xtask siege"]
async fn requests_whose_body_never_comes() {
    use tokio::io::AsyncWriteExt;
    let field = Field::idle().await;
    let address = crate::trouble::address(&field.server.base);
    field
        .besiege("200 requests whose body never comes", async {
            let mut sockets = Vec::new();
            for _ in 0..200 {
                let mut socket = tokio::net::TcpStream::connect(address).await.unwrap();
                let head = format!(
                    "POST /scrape HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n{{",
                    field.attacker.key
                );
                let _sent = socket.write_all(head.as_bytes()).await;
                sockets.push(socket);
            }
            tokio::time::sleep(Duration::from_secs(4)).await;
            let is_waiting = |socket: &&tokio::net::TcpStream| socket.try_read(&mut [0]).is_err();
            let n_waiting = sockets.iter().filter(is_waiting).count();
            assert!(n_waiting > 100, "only {n_waiting} requests wait for their body");
        })
        .await;
}
