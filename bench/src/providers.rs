//! Providers: adapter time per page, and throughput with many pages in flight at slow services.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;
use trawl_plugins::ProviderPlugin;
use trawl_sdk::provider::{Reply, Step, Task};
use trawl_tests::conformance::{ORIGIN, asked};
use trawl_tests::vendors::{Asked, GOOD_KEY, Vendor, all};
use trawl_tests::{ServerProcess, VendorServer, World};

use crate::table::{self, Row};
use crate::{corpus, servers};

/// Warm-up calls, and measured calls.
const WARM_UP: usize = 300;
const CALLS: usize = 3_000;
/// Providers whose reply is the page itself.
const RAW: [&str; 5] = [
    "provider_2",
    "provider_3",
    "provider_5",
    "provider_6",
    "provider_7",
];
/// Size of the page's body.
const BODY_BYTES: usize = 100_000;
/// Goal for `start` plus `resume` with a raw body, in microseconds.
const ADAPTER_AT_MOST: f64 = 120.0;
/// Pages in flight, response time of the service, and start and end of the counting window.
const IN_FLIGHT: usize = 200;
const SERVICE_TIME: Duration = Duration::from_secs(1);
const WINDOW: (Duration, Duration) = (Duration::from_secs(4), Duration::from_secs(16));

/// Prints the time of each adapter that needs one exchange, then the throughput.
pub(crate) fn run() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let registry = corpus::registry(folder.path())?;
    let mut rows = Vec::new();
    for plugin in registry.providers() {
        let name = plugin.info().name.clone();
        let Some((start, resume, bytes)) = adapter(plugin)? else {
            continue;
        };
        let is_raw = RAW.contains(&name.as_str());
        let form = if is_raw { "raw body" } else { "JSON" };
        let size = bytes / 1_000;
        rows.push(Row::us(
            format!("{name}: start {start:.0} µs + resume, {size} KB {form}"),
            start + resume,
            is_raw.then_some(ADAPTER_AT_MOST),
        ));
    }
    table::print(&rows);
    in_flight()
}

/// Median of each call in microseconds, and the size of the reply; `None` for an adapter that needs
/// more than one exchange.
fn adapter(plugin: &Arc<ProviderPlugin>) -> anyhow::Result<Option<(f64, f64, usize)>> {
    let name = &plugin.info().name;
    let task = Task {
        settings: if name == "provider_7" {
            r#"{"zone":"web_unlocker1"}"#.to_owned()
        } else {
            "{}".to_owned()
        },
        ..Task::new("http://shop.example/page", ORIGIN)
    };
    let Step::Send(exchange) = plugin.start(&task)? else {
        anyhow::bail!("`{name}` sends no request")
    };
    let vendors = all();
    let vendor = vendors
        .iter()
        .find(|vendor| vendor.name() == name)
        .context("the adapter has no fake vendor")?;
    let reply = reply(
        vendor,
        &asked(plugin.description(), &exchange.request, GOOD_KEY),
    );
    let resumed = plugin.resume(&task, &exchange.memo, &reply)?;
    if !matches!(resumed, Step::Done(_)) {
        return Ok(None);
    }
    let start = median(|| drop(plugin.start(&task)));
    let resume = median(|| drop(plugin.resume(&task, &exchange.memo, &reply)));
    Ok(Some((start, resume, reply.body.len())))
}

/// The fake vendor's reply, with the body enlarged to [`BODY_BYTES`].
fn reply(vendor: &Vendor, asked: &Asked) -> Reply<'static> {
    let answered = vendor.answer(asked);
    let text = String::from_utf8_lossy(&answered.body).into_owned();
    let filler = "<p>cod</p>".repeat(BODY_BYTES / 10);
    let body = if text.trim_start().starts_with('{') {
        // The page is a JSON string. A page in base64 does not match and keeps its size.
        text.replace("<h1>Fish</h1>", &format!("<h1>Fish</h1>{filler}"))
    } else {
        filler
    };
    let headers = answered.headers.into_iter();
    Reply {
        status: answered.status,
        headers: headers
            .map(|(name, value)| (name.to_lowercase(), value))
            .collect(),
        body: Cow::Owned(body.into_bytes()),
        elapsed_ms: 900,
    }
}

/// Median time of a call in microseconds.
fn median(call: impl FnMut()) -> f64 {
    table::us(table::median(table::timed(WARM_UP, CALLS, call)))
}

/// Prints pages/s and peak memory with [`IN_FLIGHT`] pages at services that take a second each.
fn in_flight() -> anyhow::Result<()> {
    let runtime = servers::runtime()?;
    runtime.block_on(async {
        let vendors = VendorServer::start().await;
        vendors.slow_down(SERVICE_TIME);
        let mut world = World::new();
        world.use_vendors(vendors.address, &[]);
        let server = Arc::new(ServerProcess::start(world));
        let next_page: Arc<AtomicUsize> = Arc::default();
        let body = |n: usize| {
            serde_json::json!({
                "url": format!("http://127.0.0.1:9/page?{n}"),
                "request": "http",
                "return_format": "raw",
                "router": {"mode": "first", "provider": "provider_2", "token": GOOD_KEY},
            })
        };
        server.page(body(0)).await;
        let before = server.peak_kib();
        let started = Instant::now();
        let mut tasks = Vec::new();
        for worker in 0..IN_FLIGHT {
            let (server, next_page) = (Arc::clone(&server), Arc::clone(&next_page));
            tasks.push(tokio::spawn(async move {
                // Staggered, so that requests do not arrive in bursts.
                tokio::time::sleep(SERVICE_TIME * worker as u32 / IN_FLIGHT as u32).await;
                let (mut counted, mut failed) = (0, 0);
                while started.elapsed() < WINDOW.1 {
                    let n = next_page.fetch_add(1, Ordering::Relaxed);
                    let entry = server.page(body(n)).await;
                    failed += usize::from(entry["costs"]["vendor"]["provider"] != "provider_2");
                    let at = started.elapsed();
                    counted += usize::from(at >= WINDOW.0 && at < WINDOW.1);
                }
                (counted, failed)
            }));
        }
        tokio::time::sleep(WINDOW.0).await;
        let early = server.peak_kib();
        let (mut counted, mut failed) = (0, 0);
        for task in tasks {
            let (counted_by_task, failed_by_task) = task.await?;
            counted += counted_by_task;
            failed += failed_by_task;
        }
        let per_second = counted as f64 / (WINDOW.1 - WINDOW.0).as_secs_f64();
        println!(
            "{IN_FLIGHT} in flight, services that take {} s: {per_second:.0} pages/s \
             (goal: at least 190), {failed} failed; peak memory {} MiB before, \
             {} MiB after {} s, {} MiB at the end",
            SERVICE_TIME.as_secs(),
            before / 1024,
            early / 1024,
            WINDOW.0.as_secs(),
            server.peak_kib() / 1024,
        );
        Ok(())
    })
}
