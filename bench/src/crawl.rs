//! `/crawl` over the toolchain's documentation: nginx, Trawl and curl on the same machine.
//!
//! - By default: crawls of 3,000 pages, each on a fresh server.
//! - `--whole`: one crawl of the entire tree, with the rate of each tenth.
//! - `--repeat N`: N crawls of the entire tree on one server, with its memory after each.

use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use serde_json::Value;

use crate::corpus;
use crate::servers::{self, Nginx, Trawl};

/// Page limit of the short crawls.
const PAGES: u64 = 3_000;
/// A `limit` of 0 means no limit: the entire tree.
const NO_LIMIT: u64 = 0;
/// Path of the seed.
const SEED: &str = "book/index.html";
/// Deep enough to reach every page of the tree.
const DEPTH: u16 = 1_000;
/// Number of parts of a whole crawl with a rate of their own.
const PARTS: usize = 10;
/// Values of `return_format` that are measured.
const FORMATS: [&str; 2] = ["empty", "markdown"];
/// Time without requests before the last reading of `--repeat`.
const IDLE: Duration = Duration::from_secs(60);
const MEBIBYTE: u64 = 1 << 20;

/// Command-line options of this benchmark.
#[derive(Debug, clap::Args)]
pub(crate) struct CrawlOptions {
    /// Crawl the entire tree once and print the rate of each tenth
    #[arg(long)]
    whole: bool,
    /// Crawl the entire tree N times on one server and print its memory after each crawl
    #[arg(long, value_name = "N", conflicts_with = "whole")]
    repeat: Option<NonZeroU32>,
    /// `off` sends `"cache": false`, `on` leaves the server's default
    #[arg(long, value_enum, default_value_t = Cache::Off, requires = "repeat")]
    cache: Cache,
    /// `return_format` of the repeated crawls
    #[arg(long, value_parser = FORMATS, default_value = FORMATS[0], requires = "repeat")]
    format: String,
}

/// Whether crawls use the page cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Cache {
    On,
    Off,
}

/// Runs the crawls that the options select and prints their figures.
pub(crate) fn run(options: &CrawlOptions) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let nginx = Nginx::start(folder.path(), &corpus::root()?)?;
    if options.whole {
        return whole(&nginx);
    }
    match options.repeat {
        Some(n_crawls) => repeated(&nginx, n_crawls.get(), &options.format, options.cache),
        None => short(&nginx),
    }
}

/// Prints pages/s, CPU time per page and peak memory for each format.
fn short(nginx: &Nginx) -> anyhow::Result<()> {
    println!(
        "{:<10} {:>7} {:>7} {:>9} {:>9} {:>11} {:>9}",
        "format", "pages", "failed", "seconds", "pages/s", "CPU ms/page", "peak MiB"
    );
    for format in FORMATS {
        let (trawl, _folder) = fresh()?;
        let crawl_pages = |limit| crawl(&trawl, nginx, format, limit, Cache::Off);
        // Warm-up: compiles the plugins and loads nginx's files into memory.
        crawl_pages(PAGES / 10)?;
        let before = trawl.cpu_time()?;
        let crawled = crawl_pages(PAGES)?;
        let n_pages = crawled.times.len();
        let cpu = (trawl.cpu_time()? - before).as_secs_f64() * 1e3 / n_pages.max(1) as f64;
        println!(
            "{format:<10} {n_pages:>7} {:>7} {:>9.2} {:>9.0} {cpu:>11.2} {:>9}",
            crawled.n_failed,
            crawled.total.as_secs_f64(),
            crawled.per_second(),
            trawl.peak_mib()
        );
    }
    Ok(())
}

/// Crawls the entire tree once; prints its rate from start to end and what it adds to the disk.
fn whole(nginx: &Nginx) -> anyhow::Result<()> {
    let (trawl, _folder) = fresh()?;
    let before = trawl.stored_bytes()?;
    let crawled = crawl(&trawl, nginx, "empty", NO_LIMIT, Cache::Off)?;
    println!(
        "{} pages, {} failed, in {:.1} s; peak memory {} MiB; data directory grew by {} MiB",
        crawled.times.len(),
        crawled.n_failed,
        crawled.total.as_secs_f64(),
        trawl.peak_mib(),
        (trawl.stored_bytes()? - before) / MEBIBYTE
    );
    print!("pages/s by tenths:");
    let part = crawled.times.len().div_ceil(PARTS).max(1);
    let mut started = Duration::ZERO;
    for times in crawled.times.chunks(part) {
        let ended = times[times.len() - 1];
        print!(
            " {:.0}",
            times.len() as f64 / (ended - started).as_secs_f64()
        );
        started = ended;
    }
    println!();
    Ok(())
}

/// Crawls the entire tree `n_crawls` times on one server, one after another. Prints the server's
/// memory and threads after each crawl, and once more after [`IDLE`]. RSS that grows from crawl to
/// crawl is a leak or an unbounded cache.
fn repeated(nginx: &Nginx, n_crawls: u32, format: &str, cache: Cache) -> anyhow::Result<()> {
    let (trawl, _folder) = fresh()?;
    let on_off = if cache == Cache::On { "on" } else { "off" };
    println!("{n_crawls} crawls of the entire tree, format {format}, cache {on_off}");
    println!(
        "{:>5} {:>7} {:>7} {:>9} {:>9} {:>9} {:>9} {:>8}",
        "crawl", "pages", "failed", "seconds", "pages/s", "peak MiB", "RSS MiB", "threads"
    );
    let mib = |kib: u64| kib as f64 / 1024.0;
    for number in 1..=n_crawls {
        let crawled = crawl(&trawl, nginx, format, NO_LIMIT, cache)?;
        println!(
            "{number:>5} {:>7} {:>7} {:>9.2} {:>9.0} {:>9.1} {:>9.1} {:>8}",
            crawled.times.len(),
            crawled.n_failed,
            crawled.total.as_secs_f64(),
            crawled.per_second(),
            mib(trawl.peak_kib()),
            mib(trawl.resident_kib()),
            trawl.n_threads()
        );
    }
    std::thread::sleep(IDLE);
    println!(
        "{} s after the last crawl: RSS {:.1} MiB, {} threads",
        IDLE.as_secs(),
        mib(trawl.resident_kib()),
        trawl.n_threads()
    );
    Ok(())
}

/// A server with an empty data directory, which lives as long as the returned folder.
fn fresh() -> anyhow::Result<(Trawl, tempfile::TempDir)> {
    let folder = tempfile::tempdir()?;
    Ok((Trawl::start(folder.path())?, folder))
}

/// Result of one crawl.
pub(crate) struct Crawled {
    /// Arrival of each page, measured from the start of the request.
    pub(crate) times: Vec<Duration>,
    pub(crate) n_failed: usize,
    total: Duration,
}

impl Crawled {
    /// Mean rate of the crawl in pages/s.
    pub(crate) fn per_second(&self) -> f64 {
        self.times.len() as f64 / self.total.as_secs_f64()
    }
}

/// Runs one streamed crawl as an API client does.
fn crawl(
    trawl: &Trawl,
    nginx: &Nginx,
    format: &str,
    limit: u64,
    cache: Cache,
) -> anyhow::Result<Crawled> {
    stream(&trawl.base, &trawl.key, &body(nginx, format, limit, cache))
}

/// A request for a crawl of the tree.
pub(crate) fn body(nginx: &Nginx, format: &str, limit: u64, cache: Cache) -> Value {
    let mut body = serde_json::json!({
        "url": format!("{}/{SEED}", nginx.base),
        "request": "http",
        "return_format": format,
        "limit": limit,
        "depth": DEPTH,
        "concurrency_limit": 10,
        "respect_robots": true,
    });
    if cache == Cache::Off {
        body["cache"] = false.into();
    }
    body
}

/// Runs a streamed crawl on the server with this base URL.
pub(crate) fn stream(base: &str, key: &str, body: &Value) -> anyhow::Result<Crawled> {
    let started = Instant::now();
    let (mut times, mut n_failed) = (Vec::new(), 0);
    let total = servers::crawl(base, key, body, |entry| {
        times.push(started.elapsed());
        n_failed += usize::from(!is_ok(entry));
    })?;
    Ok(Crawled {
        times,
        n_failed,
        total,
    })
}

/// Whether an entry has no error. Quotes inside `content` are escaped, so only the field matches.
fn is_ok(entry: &str) -> bool {
    entry.contains("\"error\":null")
}
