//! Non-public IP addresses in every spelling, as a seed and as the target of a redirect.

use serde_json::json;
use trawl_tests::{FakeSite, TestApp, World};

/// Spellings of 127.0.0.1, and similar addresses.
const LOOPBACK: [&str; 24] = [
    "127.0.0.1",
    "localhost",
    "LOCALHOST",
    "localhost.",
    "a.localhost",
    "127.0.0.1.",
    "user:password@127.0.0.1",
    "2130706433",
    "0x7f000001",
    "0x7F.1",
    "0177.0.0.1",
    "017700000001",
    "127.1",
    "127.0.1",
    "%31%32%37.0.0.1",
    "127。0。0。1",
    "１２７.０.０.１",
    "0.0.0.0",
    "0",
    "[::1]",
    "[::]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::127.0.0.1]",
];
/// Ranges that are not public.
const PRIVATE: [&str; 22] = [
    "10.0.0.1",
    "172.16.0.1",
    "192.168.1.1",
    "100.64.0.1",
    "169.254.169.254",
    "169.254.0.1",
    "192.0.0.1",
    "192.0.2.1",
    "198.18.0.1",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "[fd00::1]",
    "[fd00:ec2::254]",
    "[fe80::1]",
    "[ff02::1]",
    "[64:ff9b::7f00:1]",
    "[64:ff9b:1::7f00:1]",
    "[2002:7f00:1::]",
    "[2001::1]",
    "[2001:db8::1]",
    "[::ffff:10.0.0.1]",
];

async fn app(allow_private: &'static [&'static str]) -> TestApp {
    let mut world = World::new();
    world.allow_private = allow_private;
    TestApp::of(world).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn private_addresses_are_refused_in_every_spelling() {
    let (app, site) = (app(&[]).await, FakeSite::start().await);
    let port = site.address.port();
    for host in LOOPBACK.iter().chain(&PRIVATE) {
        let url = format!("http://{host}:{port}/page");
        let entry = app.page(json!({"url": url, "request_timeout": 5})).await;
        let status = entry["status"].as_u64().unwrap();
        // A name that does not resolve is not refused: it does not exist.
        let is_name = host.contains("localhost");
        assert!(status == 526 || is_name && status == 525, "{url}: {entry}");
        assert!(
            entry["error"].is_string() && entry["content"] == "",
            "{url}"
        );
    }
    assert_eq!(site.connections(), 0);
    app.assert_settled().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redirect_to_a_private_address_is_refused() {
    let app = app(&["127.0.0.2/32"]).await;
    let (open, closed) = (
        FakeSite::start_at("127.0.0.2").await,
        FakeSite::start().await,
    );
    let port = closed.address.port();
    app.fine(json!({"url": open.url("/page")})).await;
    for host in LOOPBACK.iter().chain(&PRIVATE) {
        if !host.is_ascii() {
            continue;
        }
        let url = open.url(&format!("/to?http://{host}:{port}/page"));
        let entry = app.page(json!({"url": url, "request_timeout": 5})).await;
        assert!(
            entry["error"].is_string() && entry["content"] == "",
            "{url}: {entry}"
        );
        let status = entry["status"].as_u64().unwrap();
        assert!(
            status == 526 || status == 525 && host.contains("localhost"),
            "{url}: {entry}"
        );
    }
    for target in [
        "file:///etc/passwd",
        "ftp://127.0.0.2/",
        "gopher://127.0.0.2/",
        "data:text/html,x",
        "javascript:1",
    ] {
        let (status, reason) = app
            .failure(json!({"url": open.url(&format!("/to?{target}"))}))
            .await;
        assert_eq!(status, 526, "{target}: {reason}");
    }
    assert_eq!(closed.connections(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_servers_own_listener_is_always_refused() {
    let app = app(&["0.0.0.0/0", "::/0"]).await;
    let site = FakeSite::start().await;
    app.fine(json!({"url": site.url("/page")})).await;
    let port = app.address.port();
    for host in [
        "127.0.0.1",
        "0x7f.1",
        "0.0.0.0",
        "[::ffff:127.0.0.1]",
        "2130706433",
    ] {
        let own = format!("http://{host}:{port}/health");
        for url in [own.clone(), site.url(&format!("/to?{own}"))] {
            let (status, reason) = app.failure(json!({"url": url})).await;
            assert_eq!(status, 526, "{url}: {reason}");
        }
    }
}
