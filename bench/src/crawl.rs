//! `/crawl` of the toolchain's documentation: nginx, Trawl and curl on the same machine. With `--whole`, the whole tree to its end.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context;

use crate::corpus;
use crate::servers::{Nginx, Trawl};

/// Pages of the short crawls.
const PAGES: u64 = 3_000;
/// Where every crawl begins.
const SEED: &str = "book/index.html";
/// Hops that lead everywhere in the tree.
const DEPTH: u16 = 1_000;
/// Parts of a whole crawl whose rates are told apart.
const PARTS: usize = 10;
const MEBIBYTE: u64 = 1 << 20;

/// Prints pages a second, CPU time a page and peak memory for crawls without and with content; each on a fresh server.
pub(crate) fn run() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let nginx = Nginx::start(folder.path(), &corpus::root()?)?;
    if std::env::args().any(|argument| argument == "--whole") {
        return whole(&nginx);
    }
    println!(
        "{:<10} {:>7} {:>7} {:>9} {:>9} {:>9} {:>9}",
        "format", "pages", "failed", "seconds", "pages/s", "cpu ms/p", "peak MiB"
    );
    for format in ["empty", "markdown"] {
        let (trawl, _folder) = fresh()?;
        // Warm: compiled plugins, nginx's files in memory.
        crawl(&trawl, &nginx, format, PAGES / 10)?;
        let before = trawl.cpu_time()?;
        let crawled = crawl(&trawl, &nginx, format, PAGES)?;
        let n_pages = crawled.times.len();
        let cpu = (trawl.cpu_time()? - before).as_secs_f64() * 1e3 / n_pages.max(1) as f64;
        println!(
            "{format:<10} {n_pages:>7} {:>7} {:>9.2} {:>9.0} {cpu:>9.2} {:>9}",
            crawled.n_failed,
            crawled.total.as_secs_f64(),
            n_pages as f64 / crawled.total.as_secs_f64(),
            trawl.peak_mib()?
        );
    }
    Ok(())
}

/// The whole tree to its end: is it as fast at the end as at the start, and what does it leave behind?
fn whole(nginx: &Nginx) -> anyhow::Result<()> {
    let (trawl, _folder) = fresh()?;
    let before = trawl.stored_bytes()?;
    let crawled = crawl(&trawl, nginx, "empty", 0)?;
    println!(
        "{} pages, {} failed, in {:.1} s; peak memory {} MiB; data directory grew by {} MiB",
        crawled.times.len(),
        crawled.n_failed,
        crawled.total.as_secs_f64(),
        trawl.peak_mib()?,
        (trawl.stored_bytes()? - before) / MEBIBYTE
    );
    print!("pages/s by tenths:");
    let part = crawled.times.len().div_ceil(PARTS).max(1);
    let mut begun = Duration::ZERO;
    for times in crawled.times.chunks(part) {
        let ended = times[times.len() - 1];
        print!(" {:.0}", times.len() as f64 / (ended - begun).as_secs_f64());
        begun = ended;
    }
    println!();
    Ok(())
}

fn fresh() -> anyhow::Result<(Trawl, tempfile::TempDir)> {
    let folder = tempfile::tempdir()?;
    Ok((Trawl::start(folder.path())?, folder))
}

/// How a crawl went.
struct Crawled {
    /// When each page came, from the start of the request.
    times: Vec<Duration>,
    n_failed: usize,
    total: Duration,
}

/// One streamed crawl as a caller asks for it; `limit` 0 is no limit.
fn crawl(trawl: &Trawl, nginx: &Nginx, format: &str, limit: u64) -> anyhow::Result<Crawled> {
    let body = serde_json::json!({
        "url": format!("{}/{SEED}", nginx.base),
        "request": "http",
        "return_format": format,
        "limit": limit,
        "depth": DEPTH,
        "concurrency_limit": 10,
        "respect_robots": true,
        "cache": false,
    });
    let started = Instant::now();
    let mut curl = Command::new("curl")
        .args([
            "-sSN",
            "--fail-with-body",
            "-H",
            "Content-Type: application/jsonl",
        ])
        .args(["-H", &format!("Authorization: Bearer {}", trawl.key)])
        .args(["--data-binary", &body.to_string()])
        .arg(format!("{}/crawl", trawl.base))
        .stdout(Stdio::piped())
        .spawn()
        .context("`curl` does not run")?;
    let stream = curl.stdout.take().context("stdout is piped")?;
    let mut stream = BufReader::with_capacity(1 << 16, stream);
    let (mut line, mut times, mut n_failed) = (String::new(), Vec::new(), 0);
    while stream.read_line(&mut line)? > 0 {
        times.push(started.elapsed());
        n_failed += usize::from(!is_fine(&line));
        line.clear();
    }
    let total = started.elapsed();
    anyhow::ensure!(curl.wait()?.success(), "the crawl was refused");
    Ok(Crawled {
        times,
        n_failed,
        total,
    })
}

/// Whether an entry tells no error. Quotes inside content are escaped, so this text stands for the field.
fn is_fine(entry: &str) -> bool {
    entry.contains("\"error\":null")
}
