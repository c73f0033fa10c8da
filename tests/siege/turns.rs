//! One account that takes all it can get of what accounts share: a host, connections to sites,
//! pages in flight.

use std::time::Duration;

use serde_json::json;

use crate::connections::allow_sockets;
use crate::field::Field;

/// Crawls of URLs that never answer, on the host of the innocent account's page.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "measures the machine: cargo xtask siege"]
async fn a_host_that_two_accounts_ask() {
    let field = Field::idle().await;
    field
        .besiege(
            "16 crawls of 10 URLs that never answer, on the innocent's host",
            async {
                let crawl = |crawl: usize| {
                    let seeds: Vec<_> = (0..10)
                        .map(|n| {
                            let path = format!("/silent/{crawl}/{n}");
                            field.trouble.url_of_innocent_host(&path)
                        })
                        .collect();
                    json!({
                        "url": seeds.join(","), "limit": 10, "run_in_background": true,
                        "request": "http", "respect_robots": false, "request_timeout": 10,
                    })
                };
                field.post_all("/crawl", (0..16).map(crawl)).await;
                tokio::time::sleep(Duration::from_secs(6)).await;
            },
        )
        .await;
    field.nothing_is_reserved().await;
}

/// Pages of a host that asks for a pause, on the host of the innocent account's page.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "measures the machine: cargo xtask siege"]
async fn a_host_that_one_account_makes_ask_for_a_pause() {
    let field = Field::idle().await;
    field
        .besiege(
            "pages that answer 429 with a long Retry-After, on the innocent's host",
            async {
                let page = |n: usize| {
                    let url = field.trouble.url_of_innocent_host(&format!("/pause/{n}"));
                    json!({"url": url, "request": "http", "request_timeout": 5})
                };
                field.post_all("/scrape", (0..20).map(page)).await;
                tokio::time::sleep(Duration::from_secs(2)).await;
            },
        )
        .await;
    field.nothing_is_reserved().await;
}

/// More connections to sites than the server has file descriptors.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "measures the machine: cargo xtask siege"]
async fn hosts_that_accept_and_say_nothing() {
    allow_sockets();
    let field = Field::idle().await;
    field
        .besiege(
            "120 requests of 10 pages on hosts that say nothing",
            async {
                let request = |request: usize| {
                    let pages: Vec<_> = (0..10)
                        .map(|n| field.trouble.url(request * 10 + n, "/silent"))
                        .collect();
                    json!({
                        "url": pages.join(","), "request": "http", "respect_robots": false,
                        "request_timeout": 8,
                    })
                };
                field.post_all("/scrape", (0..120).map(request)).await;
                tokio::time::sleep(Duration::from_secs(2)).await;
            },
        )
        .await;
    field.nothing_is_reserved().await;
    let log = field.server.world.path("log");
    let log = std::fs::read_to_string(log).expect("the server's log");
    for trouble in [
        "did not accept",
        "unable to open database",
        "Too many open files",
    ] {
        let line = log.lines().find(|line| line.contains(trouble));
        assert!(line.is_none(), "{line:?}");
    }
}
