//! Providers: what an adapter costs a page, and many pages in flight through slow services.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;
use trawl_plugins::{Plugins, PluginsConfig, ProviderPlugin};
use trawl_sdk::provider::{Reply, Step, Task};
use trawl_tests::vendors::{Asked, GOOD_KEY, Vendor, all};
use trawl_tests::{ServerProcess, VendorServer, World};

use crate::table::{self, Row};

/// Calls before measuring, and calls measured.
const WARM_UP: u32 = 300;
const CALLS: usize = 3_000;
/// Body of the page.
const BODY_BYTES: usize = 100_000;
/// What start and resume may cost with a raw body, in microseconds.
const ADAPTER_AT_MOST: f64 = 120.0;
/// Pages in flight, how long a service takes for one, and between which moments pages are counted.
const IN_FLIGHT: usize = 200;
const SERVICE_TIME: Duration = Duration::from_secs(1);
const WINDOW: (Duration, Duration) = (Duration::from_secs(4), Duration::from_secs(16));

/// Prints the cost of the adapters that get a raw body and of one that gets JSON, then pages a second.
pub(crate) fn run() -> anyhow::Result<()> {
    let world = World::new();
    let plugins = Plugins::start(PluginsConfig {
        manifest: world.plugins(),
        cache_dir: world.data().join("compiled").canonicalize()?,
    })?;
    let registry = plugins.snapshot();
    let mut rows = Vec::new();
    for plugin in registry.providers() {
        let name = plugin.info().name.clone();
        let Some((start, resume, bytes)) = adapter(plugin)? else {
            continue;
        };
        let is_raw = [
            "provider_2",
            "provider_3",
            "provider_5",
            "provider_6",
            "provider_7",
        ]
        .contains(&name.as_str());
        let form = if is_raw { " raw" } else { " of JSON" };
        rows.push(Row {
            name: format!(
                "{name}: start {start:.0} µs + resume with {} KB{form}",
                bytes / 1_000
            ),
            median: start + resume,
            unit: "µs",
            at_most: is_raw.then_some(ADAPTER_AT_MOST),
        });
    }
    table::print(&rows);
    in_flight()
}

/// Median microseconds of both calls, and bytes of the reply; `None` for an adapter that needs more than one exchange.
fn adapter(plugin: &Arc<ProviderPlugin>) -> anyhow::Result<Option<(f64, f64, usize)>> {
    let name = &plugin.info().name;
    let task = Task {
        settings: if name == "provider_7" {
            r#"{"zone":"web_unlocker1"}"#.to_owned()
        } else {
            "{}".to_owned()
        },
        ..Task::new("http://shop.example/page", "http://vendor.test")
    };
    let Step::Send(exchange) = plugin.start(&task)? else {
        anyhow::bail!("`{name}` sends nothing")
    };
    let vendors = all();
    let vendor = vendors
        .iter()
        .find(|vendor| vendor.name() == name)
        .context("a vendor")?;
    let reply = reply(vendor.as_ref(), &exchange.request)?;
    let resumed = plugin.resume(&task, &exchange.memo, &reply)?;
    if !matches!(resumed, Step::Done(_)) {
        return Ok(None);
    }
    let start = median(|| drop(plugin.start(&task)));
    let resume = median(|| drop(plugin.resume(&task, &exchange.memo, &reply)));
    Ok(Some((start, resume, reply.body.len())))
}

/// The vendor's own reply with the page's body made as large as a usual page.
fn reply(
    vendor: &dyn Vendor,
    request: &trawl_sdk::provider::Request,
) -> anyhow::Result<Reply<'static>> {
    let url = url::Url::parse(&request.url)?;
    let mut asked = Asked {
        method: request.method.clone(),
        path: url.path().to_owned(),
        query: url.query_pairs().into_owned().collect(),
        headers: request
            .headers
            .iter()
            .map(|(name, value)| (name.to_lowercase(), value.clone()))
            .collect(),
        body: request.body.clone(),
        origin: "http://vendor.test".to_owned(),
    };
    for credential in &request.credentials {
        use trawl_sdk::provider::Credential;
        match credential {
            Credential::Query(parameter, _) => {
                asked.query.push((parameter.clone(), GOOD_KEY.to_owned()))
            }
            Credential::Header(header, _) => asked
                .headers
                .push((header.to_lowercase(), GOOD_KEY.to_owned())),
            Credential::Bearer(_) => asked
                .headers
                .push(("authorization".to_owned(), format!("Bearer {GOOD_KEY}"))),
            Credential::Basic(_, password) => {
                let pair = match password {
                    Some(_) => format!("user-{GOOD_KEY}:{GOOD_KEY}"),
                    None => format!("{GOOD_KEY}:"),
                };
                let pair = trawl_tests::vendors::to_base64(pair.as_bytes());
                asked
                    .headers
                    .push(("authorization".to_owned(), format!("Basic {pair}")));
            }
        }
    }
    let answered = vendor.answer(&asked);
    let text = String::from_utf8_lossy(&answered.body).into_owned();
    let body = match text.trim_start().starts_with('{') {
        // Where the vendor put the page into JSON as text. One in base64 stays as small as the fake has it.
        true => text
            .replace(
                "<h1>Fish</h1>",
                &format!("<h1>Fish</h1>{}", "<p>cod</p>".repeat(BODY_BYTES / 10)),
            )
            .into_bytes(),
        false => "<p>cod</p>".repeat(BODY_BYTES / 10).into_bytes(),
    };
    Ok(Reply {
        status: answered.status,
        headers: answered
            .headers
            .iter()
            .map(|(name, value)| (name.to_lowercase(), value.clone()))
            .collect(),
        body: Cow::Owned(body),
        elapsed_ms: 900,
    })
}

fn median(mut call: impl FnMut()) -> f64 {
    for _ in 0..WARM_UP {
        call();
    }
    let mut times: Vec<Duration> = (0..CALLS)
        .map(|_| {
            let begun = Instant::now();
            call();
            begun.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1e6
}

/// Pages a second with many in flight through services that take a second each, and the memory it takes.
fn in_flight() -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let vendors = VendorServer::start().await;
        vendors.slow_down(SERVICE_TIME);
        let mut world = World::new();
        world.use_vendors(vendors.address, &[]);
        let server = Arc::new(ServerProcess::start(world));
        let numbers: Arc<AtomicUsize> = Arc::default();
        let body = |n: usize| {
            serde_json::json!({
                "url": format!("http://127.0.0.1:9/page?{n}"), "request": "http", "return_format": "raw",
                "router": {"mode": "first", "provider": "provider_2", "token": GOOD_KEY},
            })
        };
        server.page(body(0)).await;
        let before = server.peak_kib();
        let begun = Instant::now();
        let mut tasks = Vec::new();
        for worker in 0..IN_FLIGHT {
            let (server, numbers) = (Arc::clone(&server), Arc::clone(&numbers));
            tasks.push(tokio::spawn(async move {
                // Callers do not come in step.
                tokio::time::sleep(SERVICE_TIME * worker as u32 / IN_FLIGHT as u32).await;
                let (mut counted, mut failed) = (0, 0);
                while begun.elapsed() < WINDOW.1 {
                    let n = numbers.fetch_add(1, Ordering::Relaxed);
                    let entry = server.page(body(n)).await;
                    failed += usize::from(entry["costs"]["vendor"]["provider"] != "provider_2");
                    let at = begun.elapsed();
                    counted += usize::from(at >= WINDOW.0 && at < WINDOW.1);
                }
                (counted, failed)
            }));
        }
        tokio::time::sleep(WINDOW.0).await;
        let early = server.peak_kib();
        let (mut counted, mut failed) = (0, 0);
        for task in tasks {
            let (of_worker, failures) = task.await?;
            counted += of_worker;
            failed += failures;
        }
        let per_second = counted as f64 / (WINDOW.1 - WINDOW.0).as_secs_f64();
        println!(
            "{IN_FLIGHT} in flight through services of {} s: {per_second:.0} pages/s (at least 190), failed {failed}, peak memory {} MiB before, {} MiB after {} s, {} MiB at the end",
            SERVICE_TIME.as_secs(),
            before / 1024,
            early / 1024,
            WINDOW.0.as_secs(),
            server.peak_kib() / 1024,
        );
        Ok(())
    })
}
