//! Failures with their statuses, and that no limit can be exceeded.

use std::time::{Duration, Instant};

use tokio::net::TcpListener;
use trawl_net::fetch::FetchConfig;
use trawl_tests::FakeSite;
use trawl_tests::site::PAGE;

use super::{Run, loopback, plan};

#[tokio::test]
async fn decompression_bombs_stop_at_the_limit() {
    let small = FetchConfig {
        body_bytes_max: 4 << 20,
        ..FetchConfig::default()
    };
    let (site, run) = (FakeSite::start().await, Run::with_caps(loopback(), small));
    for coding in ["gzip", "br", "zstd", "zstd,gzip"] {
        let (status, message) = run
            .failure(&site.url(&format!("/bomb/{coding}")), &plan())
            .await;
        assert_eq!(status, 522, "{message}");
        assert!(message.contains("larger than"), "{message}");
    }
    let fetched = run
        .fetch(&site.url("/page"), &plan())
        .await
        .expect("a page");
    assert_eq!(fetched.page.body, PAGE);
}

#[tokio::test]
async fn an_endless_body_is_cut_off() {
    let (site, run) = (FakeSite::start().await, Run::new(loopback()));
    let (status, message) = run.failure(&site.url("/endless"), &plan()).await;
    assert_eq!(status, 522, "{message}");
    assert!(message.contains("larger than 33554432 bytes"), "{message}");
}

#[tokio::test]
async fn the_timeout_covers_the_whole_page() {
    let (site, run) = (FakeSite::start().await, Run::new(loopback()));
    let mut plan = plan();
    plan.timeout = Duration::from_millis(300);
    for path in ["/drip", "/silent", "/to?/drip"] {
        let start = Instant::now();
        let (status, message) = run.failure(&site.url(path), &plan).await;
        assert_eq!(status, 524, "{path}: {message}");
        assert!(start.elapsed() < Duration::from_secs(5), "{path}");
    }
}

#[tokio::test]
async fn a_truncated_body_is_a_failure() {
    let (site, run) = (FakeSite::start().await, Run::new(loopback()));
    for (path, expected) in [
        ("/truncated", 522),
        ("/truncated-chunks", 522),
        ("/reset", 523),
        ("/garbage", 522),
        ("/headers", 522),
        ("/mislabelled/br", 522),
    ] {
        let (status, message) = run.failure(&site.url(path), &plan()).await;
        assert_eq!(status, expected, "{path}: {message}");
        assert!(!message.contains("127.0.0.1"), "{path}: {message}");
    }
}

#[tokio::test]
async fn connection_errors_have_a_reason() {
    let site = FakeSite::start().await;
    let run = Run::new(loopback());
    let closed = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = closed.local_addr().expect("a bound listener");
    drop(closed);
    let (status, message) = run.failure(&format!("http://{address}/"), &plan()).await;
    assert_eq!(
        (status, message.as_str()),
        (521, "the connection was refused")
    );
    let (status, message) = run
        .failure(&site.url("/page").replace("http:", "https:"), &plan())
        .await;
    assert_eq!(status, 526, "{message}");
}

#[tokio::test]
async fn an_idle_connection_that_the_site_closed_is_replaced() {
    let (site, run) = (FakeSite::start().await, Run::new(loopback()));
    run.fetch(&site.url("/stale"), &plan())
        .await
        .expect("a page");
    let fetched = run
        .fetch(&site.url("/page"), &plan())
        .await
        .expect("a page");
    assert_eq!(fetched.page.body, PAGE);
    assert_eq!(site.connections(), 2);
}
