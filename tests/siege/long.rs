//! All attacks at once, for as long as the environment says.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::field::{Field, post};
use crate::figures::Figures;

/// Minutes of [`everything_at_once`]; set by `cargo xtask siege --long`.
const MINUTES: &str = "TRAWL_SIEGE_MINUTES";

#[expect(
    clippy::disallowed_methods,
    reason = "the length of a test by hand comes from its caller"
)]
fn duration() -> Duration {
    let minutes = std::env::var(MINUTES).ok();
    let minutes = minutes.and_then(|minutes| minutes.parse::<f64>().ok());
    Duration::from_secs_f64(60.0 * minutes.unwrap_or(1.0))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes an hour: cargo xtask siege --long"]
async fn everything_at_once() {
    let field = Field::new().await;
    let until = Instant::now() + duration();
    field
        .besiege("everything at once", async {
            let mut figures = Figures::begin(&field);
            tokio::select! {
                () = rounds(&field, until) => {}
                () = figures.note_periods() => {}
            }
        })
        .await;
    field.nothing_is_reserved().await;
}

/// Attacks again and again until this time.
async fn rounds(field: &Field, until: Instant) {
    let mut round = 0;
    while Instant::now() < until {
        round += 1;
        let mut posts = JoinSet::new();
        for (path, body) in attacks(field, round) {
            let attacker = field.attacker.clone();
            posts.spawn(async move { post(&attacker, path, &body).await });
        }
        posts.join_all().await;
    }
}

/// The requests of a round. Their hosts change from round to round.
fn attacks(field: &Field, round: usize) -> [(&'static str, Value); 7] {
    let trouble = &field.trouble;
    let stalled =
        |n| json!({"url": trouble.url(n, "/stall"), "request": "http", "request_timeout": 20});
    let stalled: Vec<Value> = (0..10).map(stalled).collect();
    let silent: Vec<String> = (0..100).map(|n| trouble.url(n, "/silent")).collect();
    [
        (
            "/crawl",
            json!({"url": trouble.url(round, "/links"), "limit": 20_000, "respect_robots": true, "request_timeout": 5}),
        ),
        (
            "/crawl",
            json!({"url": trouble.url(round + 1, "/links"), "blacklist": vec![r"\w{12}"; 10_000]}),
        ),
        ("/scrape", json!(stalled)),
        (
            "/scrape",
            json!({"url": trouble.url(3, "/empty"), "request": "http", "request_timeout": 5}),
        ),
        (
            "/scrape",
            json!({"url": trouble.url(4, "/large"), "request": "http", "cache": false, "return_format": ["markdown", "text"]}),
        ),
        (
            "/crawl",
            json!({"url": silent.join(","), "request_timeout": 5}),
        ),
        (
            "/crawl",
            json!({"url": trouble.url(5, "/tree"), "limit": 200, "depth": 8}),
        ),
    ]
}
