//! JavaScript-rendered pages: Trawl compared with playwright-core on the same browser, memory per
//! tab, and the overhead and error rate of `smart`.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;
use serde_json::{Value, json};

use crate::scrape::{wrk, wrk_script};
use crate::servers::{Nginx, Trawl};
use crate::{corpus, table};

/// Pages per measurement.
const PAGES: usize = 32;
const CONCURRENCIES: [usize; 3] = [1, 4, 8];
const ROUNDS: usize = 3;
/// Duration of each wrk round.
const SECONDS: u32 = 8;
/// The rendered page, and a text that it contains once it is complete.
const PAGE: &str = "/react/";
const TEXT: &str = "20 lamps are on sale at Lantern Lane this week.";
/// Browsers in the order in which the server looks for them.
const BROWSERS: [&str; 2] = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"];

/// Prints cold start, throughput, memory per tab, and overhead and error rate of `smart`.
pub(crate) fn run() -> anyhow::Result<()> {
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target");
    let pages = target.join("apps").canonicalize();
    let pages = pages.context("the test pages are not built: cargo xtask apps")?;
    let browser = browser()?;
    let folder = tempfile::tempdir()?;
    let nginx = Nginx::start(folder.path(), &pages)?;
    let trawl = Trawl::start(folder.path())?;
    let url = format!("{}{PAGE}", nginx.base);
    // Warm-up without the browser.
    scrape(
        &trawl,
        &json!({"url": url, "request": "http", "return_format": "text"}),
    )?;
    let cold = Instant::now();
    render_once(&trawl, &url)?;
    println!(
        "first page with browser start: {} ms",
        cold.elapsed().as_millis()
    );
    compare_with_playwright(&trawl, &url, &browser, &target.join("apps-build/peer.mjs"))?;
    tab_memory(&trawl, &url)?;
    error_rates(&trawl, &nginx)?;
    drop((trawl, nginx));
    smart_cost()
}

/// The browser that the server finds.
///
/// # Errors
/// There is none.
pub(crate) fn browser() -> anyhow::Result<PathBuf> {
    let mut browsers = BROWSERS.map(PathBuf::from).into_iter();
    let browser = browsers.find(|path| path.is_file());
    browser.context("no browser: apt-get install chromium-headless-shell")
}

/// Prints pages/s and latencies of both, measured alternately: the rounds with the median rate.
fn compare_with_playwright(
    trawl: &Trawl,
    url: &str,
    browser: &Path,
    peer: &Path,
) -> anyhow::Result<()> {
    println!(
        "{:<24} {:>9} {:>9} {:>9} {:>10}",
        "React page, concurrency", "pages/s", "p50 ms", "p95 ms", "incomplete"
    );
    for concurrency in CONCURRENCIES {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            ours.push(trawl_run(trawl, url, concurrency)?);
            theirs.push(playwright_run(browser, peer, url, concurrency)?);
        }
        let (ours, theirs) = (median(ours), median(theirs));
        for (name, load) in [("Trawl", &ours), ("playwright-core", &theirs)] {
            println!(
                "{:<24} {:>9.2} {:>9.0} {:>9.0} {:>10}",
                format!("{name}, {concurrency}"),
                load.per_second,
                load.p50_ms,
                load.p95_ms,
                load.n_incomplete
            );
        }
        println!("ratio {:.2}", ours.per_second / theirs.per_second);
    }
    Ok(())
}

/// Result of one run.
struct Load {
    per_second: f64,
    p50_ms: f64,
    p95_ms: f64,
    n_incomplete: usize,
}

/// The run with the median rate.
fn median(mut rounds: Vec<Load>) -> Load {
    rounds.sort_by(|a, b| a.per_second.total_cmp(&b.per_second));
    rounds.swap_remove(rounds.len() / 2)
}

/// Renders [`PAGES`] pages with Trawl.
fn trawl_run(trawl: &Trawl, url: &str, concurrency: usize) -> anyhow::Result<Load> {
    let body = json!({"url": url, "request": "browser", "return_format": "text", "cache": false});
    let run = |pages: usize| -> anyhow::Result<(Vec<f64>, usize)> {
        let (left, n_incomplete) = (AtomicUsize::new(pages), AtomicUsize::new(0));
        let take = || {
            left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| {
                left.checked_sub(1)
            })
        };
        let work = || -> anyhow::Result<Vec<f64>> {
            let mut times = Vec::new();
            while take().is_ok() {
                let started = Instant::now();
                let entry = scrape(trawl, &body)?;
                times.push(started.elapsed().as_secs_f64() * 1e3);
                let content = entry["content"].as_str();
                let is_complete = content.is_some_and(|text| text.contains(TEXT));
                n_incomplete.fetch_add(usize::from(!is_complete), Ordering::SeqCst);
            }
            Ok(times)
        };
        let times = table::on_threads(concurrency, work)?.concat();
        Ok((times, n_incomplete.load(Ordering::SeqCst)))
    };
    // Warm-up: one page per concurrent worker, as in the playwright script.
    run(concurrency)?;
    let started = Instant::now();
    let (mut times, n_incomplete) = run(PAGES)?;
    let seconds = started.elapsed().as_secs_f64();
    times.sort_by(f64::total_cmp);
    Ok(Load {
        per_second: PAGES as f64 / seconds,
        p50_ms: times[times.len() / 2],
        p95_ms: times[times.len() * 95 / 100],
        n_incomplete,
    })
}

/// Renders [`PAGES`] pages with the playwright-core script.
fn playwright_run(
    browser: &Path,
    peer: &Path,
    url: &str,
    concurrency: usize,
) -> anyhow::Result<Load> {
    let (concurrency, n_pages) = (concurrency.to_string(), PAGES.to_string());
    let no_sandbox = r#"["--no-sandbox"]"#;
    let result = node(
        peer,
        browser,
        &[url, &concurrency, &n_pages, no_sandbox, TEXT],
    )?;
    let number = |name: &str| {
        result[name]
            .as_f64()
            .with_context(|| format!("the playwright script printed no `{name}`"))
    };
    Ok(Load {
        per_second: number("pages")? / number("seconds")?,
        p50_ms: number("p50_ms")?,
        p95_ms: number("p95_ms")?,
        n_incomplete: number("without_text")? as usize,
    })
}

/// What a playwright-core script prints about this browser.
pub(crate) fn node(script: &Path, browser: &Path, arguments: &[&str]) -> anyhow::Result<Value> {
    let output = Command::new("node")
        .arg(script)
        .arg(browser)
        .args(arguments)
        .output()
        .context("cannot run `node`: apt-get install nodejs npm; cargo xtask apps")?;
    serde_json::from_slice(&output.stdout).with_context(|| {
        let stderr = String::from_utf8_lossy(&output.stderr);
        format!("the playwright script failed: {stderr}")
    })
}

/// Prints the browser's private memory with one page open, and per further page with eight open.
fn tab_memory(trawl: &Trawl, url: &str) -> anyhow::Result<()> {
    let body = json!({
        "url": url,
        "request": "browser",
        "return_format": "empty",
        "cache": false,
        "wait_for": 5_000,
    });
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
        "browser memory: {} MiB with one page, {} MiB per further page",
        totals[0],
        (totals[1] - totals[0]) / 7
    );
    Ok(())
}

/// Prints how often `smart` renders a static page, and how often it fails to render a page that
/// needs JavaScript.
fn error_rates(trawl: &Trawl, apps: &Nginx) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let nginx = Nginx::start(folder.path(), &corpus::root()?)?;
    let rendered = |url: String| -> anyhow::Result<bool> {
        let body = json!({"url": url, "return_format": "empty", "cache": false});
        Ok(scrape(trawl, &body)?["metadata"]["rendered_by"] == "browser")
    };
    let static_pages = corpus::pages()?;
    let mut n_needless = 0;
    for page in &static_pages {
        n_needless += usize::from(rendered(format!("{}/{}", nginx.base, page.display()))?);
    }
    let list = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/apps/expected.json");
    let list: Vec<Value> = serde_json::from_slice(&std::fs::read(list)?)?;
    let mut n_missed = 0;
    for page in &list {
        let path = page["path"].as_str().context("a test page has no `path`")?;
        n_missed += usize::from(!rendered(format!("{}{path}", apps.base))?);
    }
    println!(
        "smart: rendered {n_needless} of {} static pages, \
         did not render {n_missed} of {} JavaScript pages",
        static_pages.len(),
        list.len()
    );
    Ok(())
}

/// Prints the time that `smart` adds to `http` on static pages, measured alternately.
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
        "smart on static pages: {:+.1} % time compared with http (goal: at most +3 %)",
        (median - 1.0) * 100.0
    );
    Ok(())
}

/// Renders the page once and checks that it is complete.
fn render_once(trawl: &Trawl, url: &str) -> anyhow::Result<()> {
    let entry = scrape(
        trawl,
        &json!({"url": url, "request": "browser", "return_format": "text"}),
    )?;
    let text = entry["content"].as_str().unwrap_or_default();
    anyhow::ensure!(text.contains(TEXT), "the page is incomplete: {entry}");
    Ok(())
}

/// Requests one page from `/scrape` over a new connection and returns its entry.
pub(crate) fn scrape(trawl: &Trawl, body: &Value) -> anyhow::Result<Value> {
    let body = body.to_string();
    let host = trawl.base.trim_start_matches("http://");
    let mut stream = TcpStream::connect(host)?;
    write!(
        stream,
        "POST /scrape HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\
         Accept-Encoding: identity\r\nConnection: close\r\n\r\n{body}",
        trawl.key,
        body.len()
    )?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let text = String::from_utf8_lossy(&answer);
    // The entry is one chunk: cutting at its braces drops headers, chunk sizes and array brackets.
    let (from, to) = (
        text.find('{').context("the response has no entry")?,
        text.rfind('}').context("the response has no entry")?,
    );
    serde_json::from_str(&text[from..=to]).with_context(|| format!("invalid response: {text}"))
}
