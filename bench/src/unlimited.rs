//! The Unlimited plan under load: many connections, few seats, pages that take 20 ms.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trawl_tests::{Caller, FakeSite, ServerProcess, World};

/// Requests that are served; those that find no free seat come on top.
const SERVED: usize = 20_000;
const SEATS: usize = 8;
const CONNECTIONS: usize = 64;
/// Time of a page at its site, in milliseconds.
const PAGE_MS: usize = 20;
/// What a caller waits after a refusal: much less than `Retry-After` asks for, so that there is always demand.
const PAUSE: Duration = Duration::from_millis(20);
/// Time between two looks at the seats in use.
const LOOK: Duration = Duration::from_millis(5);
/// Share of the seats in use, at least, in percent.
const IN_USE_MIN: f64 = 95.0;

/// Prints served and refused requests a second, the most at once at the site, and how many of the seats were in use.
pub(crate) fn run() -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(measured())
}

async fn measured() -> anyhow::Result<()> {
    let site = FakeSite::start().await;
    let mut world = World::new();
    world.dollars = "160";
    let server = ServerProcess::start(world);
    server.account(&["seats", "caller", &SEATS.to_string()]);
    let body = json!({
        "url": site.url(&format!("/slow/{PAGE_MS}")), "request": "http", "return_format": "raw", "cache": false,
    });
    let body = Arc::new(body);
    let (served, refused) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let began = Instant::now();
    let callers: Vec<_> = (0..CONNECTIONS)
        .map(|_| {
            let counts = (Arc::clone(&served), Arc::clone(&refused));
            tokio::spawn(ask_on((*server).clone(), Arc::clone(&body), counts))
        })
        .collect();
    let (mut in_use, mut looks) = (0, 0_u64);
    while served.load(Ordering::Relaxed) < SERVED - CONNECTIONS {
        tokio::time::sleep(LOOK).await;
        let account = server.get("/account").await.json();
        in_use += account["subscription"]["active"]
            .as_u64()
            .unwrap_or_default();
        looks += 1;
    }
    for caller in callers {
        caller.await??;
    }
    let seconds = began.elapsed().as_secs_f64();
    let share = in_use as f64 / (looks * SEATS as u64) as f64 * 100.0;
    let (served, refused) = (
        served.load(Ordering::Relaxed),
        refused.load(Ordering::Relaxed),
    );
    let at_pages = served as f64 * PAGE_MS as f64 / 1e3 / seconds / SEATS as f64 * 100.0;
    println!(
        "{served} served in {seconds:.1} s ({:.0}/s), {refused} refused; at once at the site {} (at most {SEATS}); \
         seats in use {share:.1} % (at least {IN_USE_MIN}), waiting for a page {at_pages:.1} %; peak memory {} MiB",
        served as f64 / seconds,
        site.slow_at_once(),
        server.peak_kib() / 1024,
    );
    anyhow::ensure!(site.slow_at_once() <= SEATS, "more in flight than seats");
    let listed = server.account(&["list"]);
    anyhow::ensure!(listed[0]["balance"] == 0, "pages cost something: {listed}");
    Ok(())
}

/// Asks until enough are served, on one connection.
async fn ask_on(
    caller: Caller,
    body: Arc<Value>,
    (served, refused): (Arc<AtomicUsize>, Arc<AtomicUsize>),
) -> anyhow::Result<()> {
    // Callers share a client, which keeps a connection for each request in flight.
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
            other => anyhow::bail!("answered {other}"),
        }
    }
    Ok(())
}
