//! Pages made by JavaScript: Trawl beside playwright-core on the same browser, what `smart` costs and how often it errs, and
//! what a tab takes.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;
use serde_json::{Value, json};

use crate::corpus;
use crate::scrape::{wrk, wrk_script};
use crate::servers::{Nginx, Trawl};

/// Pages of each measurement.
const PAGES: usize = 32;
const CONCURRENCIES: [usize; 3] = [1, 4, 8];
const ROUNDS: usize = 3;
/// Seconds of load by wrk in each round.
const SECONDS: u32 = 8;
/// The page that is rendered, and what stands on it when it is whole.
const PAGE: &str = "/react/";
const TEXT: &str = "20 lamps are on sale at Lantern Lane this week.";
/// Browsers in the order in which the server looks for them.
const BROWSERS: [&str; 2] = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"];

pub(crate) fn run() -> anyhow::Result<()> {
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target");
    let pages = target.join("apps").canonicalize();
    let pages = pages.context("the pages are not built: cargo xtask apps")?;
    let browsers = BROWSERS.map(PathBuf::from).into_iter();
    let browser = browsers.into_iter().find(|path| path.is_file());
    let browser = browser.context("no browser: apt-get install chromium-headless-shell")?;
    let folder = tempfile::tempdir()?;
    let nginx = Nginx::start(folder.path(), &pages)?;
    let trawl = Trawl::start(folder.path())?;
    let url = format!("{}{PAGE}", nginx.base);
    // Plugins are compiled before the clock starts.
    scrape(
        &trawl,
        &json!({"url": url, "request": "http", "return_format": "text"}),
    )?;
    let cold = Instant::now();
    whole(&trawl, &url)?;
    println!(
        "from cold start to the first page {} ms",
        cold.elapsed().as_millis()
    );
    beside_peer(&trawl, &url, &browser, &target.join("apps-build/peer.mjs"))?;
    tab_memory(&trawl, &url)?;
    error_rates(&trawl, &nginx)?;
    drop((trawl, nginx));
    smart_cost()
}

/// Pages a second and latencies of both, in turn, medians of the rounds by pages a second.
fn beside_peer(trawl: &Trawl, url: &str, browser: &Path, peer: &Path) -> anyhow::Result<()> {
    println!(
        "{:<24} {:>9} {:>9} {:>9} {:>9}",
        "page by React", "pages/s", "p50 ms", "p95 ms", "not whole"
    );
    for concurrency in CONCURRENCIES {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            ours.push(many(trawl, url, concurrency)?);
            theirs.push(peer_run(browser, peer, url, concurrency)?);
        }
        let (ours, theirs) = (median(ours), median(theirs));
        for (name, load) in [("Trawl", &ours), ("playwright-core", &theirs)] {
            println!(
                "{:<24} {:>9.2} {:>9.0} {:>9.0} {:>9}",
                format!("{name}, {concurrency} at once"),
                load.per_second,
                load.p50_ms,
                load.p95_ms,
                load.not_whole
            );
        }
        println!("ratio {:.2}", ours.per_second / theirs.per_second);
    }
    Ok(())
}

/// What was measured of a number of pages.
struct Load {
    per_second: f64,
    p50_ms: f64,
    p95_ms: f64,
    not_whole: usize,
}

fn median(mut rounds: Vec<Load>) -> Load {
    rounds.sort_by(|a, b| a.per_second.total_cmp(&b.per_second));
    rounds.swap_remove(rounds.len() / 2)
}

fn many(trawl: &Trawl, url: &str, concurrency: usize) -> anyhow::Result<Load> {
    let body = json!({"url": url, "request": "browser", "return_format": "text", "cache": false});
    let run = |pages: usize| -> anyhow::Result<(Vec<f64>, usize)> {
        let (left, not_whole) = (AtomicUsize::new(pages), AtomicUsize::new(0));
        let take = || {
            left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| {
                left.checked_sub(1)
            })
        };
        std::thread::scope(|scope| {
            let work = || -> anyhow::Result<Vec<f64>> {
                let mut times = Vec::new();
                while take().is_ok() {
                    let begun = Instant::now();
                    let entry = scrape(trawl, &body)?;
                    times.push(begun.elapsed().as_secs_f64() * 1e3);
                    let is_whole = entry["content"]
                        .as_str()
                        .is_some_and(|text| text.contains(TEXT));
                    not_whole.fetch_add(usize::from(!is_whole), Ordering::SeqCst);
                }
                Ok(times)
            };
            let workers: Vec<_> = (0..concurrency).map(|_| scope.spawn(work)).collect();
            let mut times = Vec::new();
            for worker in workers {
                times.extend(worker.join().expect("a worker does not panic")?);
            }
            Ok((times, not_whole.load(Ordering::SeqCst)))
        })
    };
    // As many pages as run at once are loaded before the clock starts, as the peer does.
    run(concurrency)?;
    let begun = Instant::now();
    let (mut times, not_whole) = run(PAGES)?;
    let seconds = begun.elapsed().as_secs_f64();
    times.sort_by(f64::total_cmp);
    Ok(Load {
        per_second: PAGES as f64 / seconds,
        p50_ms: times[times.len() / 2],
        p95_ms: times[times.len() * 95 / 100],
        not_whole,
    })
}

fn peer_run(browser: &Path, peer: &Path, url: &str, concurrency: usize) -> anyhow::Result<Load> {
    let output = Command::new("node")
        .arg(peer)
        .arg(browser)
        .args([
            url,
            &concurrency.to_string(),
            &PAGES.to_string(),
            r#"["--no-sandbox"]"#,
            TEXT,
        ])
        .output()
        .context("`node` does not run: apt-get install nodejs npm")?;
    let told: Value = serde_json::from_slice(&output.stdout)
        .with_context(|| format!("the peer said: {}", String::from_utf8_lossy(&output.stderr)))?;
    let number = |name: &str| {
        told[name]
            .as_f64()
            .with_context(|| format!("the peer tells no `{name}`"))
    };
    Ok(Load {
        per_second: number("pages")? / number("seconds")?,
        p50_ms: number("p50_ms")?,
        p95_ms: number("p95_ms")?,
        not_whole: number("without_text")? as usize,
    })
}

/// Private memory of the browser with eight pages open, above that with one, for each.
fn tab_memory(trawl: &Trawl, url: &str) -> anyhow::Result<()> {
    let body = json!({"url": url, "request": "browser", "return_format": "empty", "cache": false, "wait_for": 5_000});
    let mut totals = Vec::new();
    for tabs in [1, 8] {
        let total = std::thread::scope(|scope| {
            for _ in 0..tabs {
                scope.spawn(|| scrape(trawl, &body));
            }
            std::thread::sleep(Duration::from_millis(4_500));
            trawl.browser_mib()
        })?;
        totals.push(total);
    }
    println!(
        "browser with one page {} MiB, each further page {} MiB",
        totals[0],
        (totals[1] - totals[0]) / 7
    );
    Ok(())
}

/// How often `smart` decides wrongly: pages that carry their text, and pages that do not.
fn error_rates(trawl: &Trawl, apps: &Nginx) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let nginx = Nginx::start(folder.path(), &corpus::root()?)?;
    let rendered = |url: String| -> anyhow::Result<bool> {
        let body = json!({"url": url, "return_format": "empty", "cache": false});
        Ok(scrape(trawl, &body)?["metadata"]["rendered_by"] == "browser")
    };
    let static_pages = corpus::pages()?;
    let mut for_nothing = 0;
    for page in &static_pages {
        for_nothing += usize::from(rendered(format!("{}/{}", nginx.base, page.display()))?);
    }
    let list = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/apps/expected.json");
    let list: Vec<Value> = serde_json::from_slice(&std::fs::read(list)?)?;
    let mut missed = 0;
    for page in &list {
        let path = page["path"].as_str().context("a path")?;
        missed += usize::from(!rendered(format!("{}{path}", apps.base))?);
    }
    println!(
        "smart: {for_nothing} of {} pages with their text were rendered, {missed} of {} without it were not",
        static_pages.len(),
        list.len()
    );
    Ok(())
}

/// Static pages as markdown by `smart` beside `http`, in turn.
fn smart_cost() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let nginx = Nginx::start(folder.path(), &corpus::root()?)?;
    let trawl = Trawl::start(folder.path())?;
    let http = wrk_script(folder.path(), &trawl.key, &nginx.base, "http")?;
    let smart = wrk_script(folder.path(), &trawl.key, &nginx.base, "smart")?;
    wrk(&http, &trawl.base, 3)?;
    let mut ratios = Vec::new();
    for _ in 0..ROUNDS {
        let plain = wrk(&http, &trawl.base, SECONDS)?.per_second;
        let chosen = wrk(&smart, &trawl.base, SECONDS)?.per_second;
        ratios.push(plain / chosen);
    }
    ratios.sort_by(f64::total_cmp);
    let median = ratios[ratios.len() / 2];
    println!(
        "smart on static pages takes {:+.1} % of http's time more, promised at most 3 %",
        (median - 1.0) * 100.0
    );
    Ok(())
}

fn whole(trawl: &Trawl, url: &str) -> anyhow::Result<()> {
    let entry = scrape(
        trawl,
        &json!({"url": url, "request": "browser", "return_format": "text"}),
    )?;
    let text = entry["content"].as_str().unwrap_or_default();
    anyhow::ensure!(text.contains(TEXT), "the page is not whole: {entry}");
    Ok(())
}

/// The one entry of a `/scrape`, over a connection of its own.
fn scrape(trawl: &Trawl, body: &Value) -> anyhow::Result<Value> {
    let body = body.to_string();
    let address = trawl.base.trim_start_matches("http://");
    let mut stream = TcpStream::connect(address)?;
    write!(
        stream,
        "POST /scrape HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\nAccept-Encoding: identity\r\nConnection: close\r\n\r\n{body}",
        trawl.key,
        body.len()
    )?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let text = String::from_utf8_lossy(&answer);
    // Chunks of a short answer stand between its braces and their sizes.
    let (from, to) = (
        text.find('{').context("an entry")?,
        text.rfind('}').context("an entry")?,
    );
    serde_json::from_str(&text[from..=to]).with_context(|| format!("the answer was: {text}"))
}
