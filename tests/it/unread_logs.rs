//! A server and commands whose log cannot be written or read: they work all the same.

use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::json;
use trawl_tests::process::program;
use trawl_tests::{FakeSite, LogTo, ServerProcess, World};

const SOON: Duration = Duration::from_secs(30);
/// Compiled plugins of all tests.
const COMPILED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/tmp");

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_outlives_its_log() {
    let site = FakeSite::start().await;
    for log_to in [LogTo::FullDisk, LogTo::ClosedPipe] {
        let mut world = World::new();
        (world.log, world.log_to) = ("debug", log_to);
        let mut server = ServerProcess::start(world);
        let body = json!({"url": site.url("/page"), "request": "http", "cache": false});
        for _ in 0..20 {
            server.fine(body.clone()).await;
        }
        server.terminate();
        assert!(server.ended(SOON).await, "{log_to:?}: it ends as it should");
        assert_eq!(server.account(&["verify"])["disagreements"], json!([]));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_does_its_work_without_standard_error() {
    let site = FakeSite::start().await;
    site.put("/a", "text/html", "<p><a href='/b'>b</a>");
    site.put("/b", "text/html", "<p>b");
    for (n, log_to) in [LogTo::FullDisk, LogTo::ClosedPipe].into_iter().enumerate() {
        let world = World::new();
        let file = world.path(&format!("pages{n}.jsonl"));
        let command = Command::new(program())
            .args(["crawl", &site.url("/a"), "--request", "http", "--output"])
            .arg(&file)
            .args(["--allow-private", "127.0.0.1", "--plugins"])
            .arg(world.plugins())
            .env("RUST_LOG", "debug")
            .env("XDG_STATE_HOME", world.path("state"))
            .env("XDG_CACHE_HOME", COMPILED)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log_to.open(&world.path("log")))
            .status();
        let status = command.expect("a process");
        assert!(status.success(), "{log_to:?}: {status}");
        let written = std::fs::read_to_string(file).unwrap();
        assert_eq!(written.lines().count(), 2);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_signal_of_log_rotation_stops_nothing() {
    let site = FakeSite::start().await;
    let mut server = ServerProcess::start(World::new());
    let body = json!({"url": site.url("/slow/1500"), "request": "http", "cache": false});
    let caller = server.clone();
    let page = tokio::spawn(async move { caller.fine(body).await });
    while site.requests().is_empty() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    for _ in 0..3 {
        server.signal("-HUP");
    }
    page.await.expect("served to its end");
    assert_eq!(server.get("/health").await.status, 200);
    server.terminate();
    assert!(server.ended(SOON).await);
}
