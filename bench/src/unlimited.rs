//! The Unlimited plan under load: many connections, few seats, pages that take 20 ms to serve.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trawl_tests::{Caller, FakeSite, ServerProcess, World};

use crate::servers;

/// Requests to be served, not counting those refused for lack of a free seat.
const SERVED: usize = 20_000;
const SEATS: usize = 8;
const CONNECTIONS: usize = 64;
/// Response time of the site, in milliseconds.
const PAGE_MS: usize = 20;
/// Backoff of a client after a refusal: much shorter than `Retry-After`, so that there is always
/// demand.
const PAUSE: Duration = Duration::from_millis(20);
/// Interval at which the seats in use are sampled.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(5);
/// Goal: least mean share of seats in use, in percent.
const IN_USE_MIN: f64 = 95.0;

/// Prints served and refused requests, the site's peak concurrency and the share of seats in use.
pub(crate) fn run() -> anyhow::Result<()> {
    servers::runtime()?.block_on(measure())
}

async fn measure() -> anyhow::Result<()> {
    let site = FakeSite::start().await;
    let mut world = World::new();
    world.dollars = "160";
    let server = ServerProcess::start(world);
    server.account(&["seats", "caller", &SEATS.to_string()]);
    let body = json!({
        "url": site.url(&format!("/slow/{PAGE_MS}")),
        "request": "http",
        "return_format": "raw",
        "cache": false,
    });
    let body = Arc::new(body);
    let (served, refused) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let started = Instant::now();
    let callers: Vec<_> = (0..CONNECTIONS)
        .map(|_| {
            let counts = (Arc::clone(&served), Arc::clone(&refused));
            tokio::spawn(send_requests((*server).clone(), Arc::clone(&body), counts))
        })
        .collect();
    let (mut in_use, mut n_samples) = (0, 0_u64);
    while served.load(Ordering::Relaxed) < SERVED - CONNECTIONS {
        tokio::time::sleep(SAMPLE_INTERVAL).await;
        let account = server.get("/account").await.json();
        in_use += account["subscription"]["active"]
            .as_u64()
            .unwrap_or_default();
        n_samples += 1;
    }
    for caller in callers {
        caller.await??;
    }
    let seconds = started.elapsed().as_secs_f64();
    let share = in_use as f64 / (n_samples * SEATS as u64) as f64 * 100.0;
    let (served, refused) = (
        served.load(Ordering::Relaxed),
        refused.load(Ordering::Relaxed),
    );
    let fetching = served as f64 * PAGE_MS as f64 / 1e3 / seconds / SEATS as f64 * 100.0;
    println!(
        "{served} served in {seconds:.1} s ({:.0}/s), {refused} refused; \
         concurrent requests at the site {} (at most {SEATS}); \
         seats in use {share:.1} % (goal: at least {IN_USE_MIN}), fetching {fetching:.1} %; \
         peak memory {} MiB",
        served as f64 / seconds,
        site.slow_at_once(),
        server.peak_kib() / 1024,
    );
    anyhow::ensure!(
        site.slow_at_once() <= SEATS,
        "more requests in flight than seats"
    );
    let listed = server.account(&["list"]);
    anyhow::ensure!(listed[0]["balance"] == 0, "pages were charged: {listed}");
    Ok(())
}

/// Sends one request after another until enough are served.
async fn send_requests(
    caller: Caller,
    body: Arc<Value>,
    (served, refused): (Arc<AtomicUsize>, Arc<AtomicUsize>),
) -> anyhow::Result<()> {
    // All tasks share one HTTP client, which opens one connection per request in flight.
    while served.load(Ordering::Relaxed) < SERVED {
        let answer = caller.post("/unlimited/scrape", &[], &body).await;
        match answer.status {
            200 => {
                served.fetch_add(1, Ordering::Relaxed);
            }
            429 => {
                refused.fetch_add(1, Ordering::Relaxed);
                tokio::time::sleep(PAUSE).await;
            }
            other => anyhow::bail!("unexpected status {other}"),
        }
    }
    Ok(())
}
