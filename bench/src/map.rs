//! The map of a site as large as the Rust documentation, of which sitemaps list every page.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trawl_tests::{FakeSite, ServerProcess, World};

use crate::servers;

/// Pages of the site.
const PAGES: usize = 48_000;
/// Pages of a sitemap.
const PAGES_OF_SITEMAP: usize = 8_000;
/// Requests, of which the median counts.
const REQUESTS: usize = 5;
/// Goal.
const TIME_MAX: Duration = Duration::from_secs(3);

/// Prints how long all URLs take, with and without a query that orders them.
pub(crate) fn run() -> anyhow::Result<()> {
    servers::runtime()?.block_on(measure())
}

async fn measure() -> anyhow::Result<()> {
    let site = FakeSite::start().await;
    put_sitemaps(&site)?;
    let start = site.put("/start", "text/html", "<p>Start</p>");
    let server = ServerProcess::start(World::new());
    let plain = json!({"url": start, "request": "http"});
    let ordered = json!({"url": start, "request": "http", "query": "module7 item4207"});
    for (name, body) in [("all URLs", plain), ("ordered by a query", ordered)] {
        let median = median_time(&server, &body).await?;
        println!(
            "{name}: {:.2} s for {PAGES} pages (goal: at most {} s); peak memory {} MiB",
            median.as_secs_f64(),
            TIME_MAX.as_secs(),
            server.peak_kib() / 1024,
        );
        anyhow::ensure!(median <= TIME_MAX, "the goal is missed");
    }
    Ok(())
}

/// An index of sitemaps that list all pages, each with a date.
fn put_sitemaps(site: &FakeSite) -> anyhow::Result<()> {
    let mut index = "<sitemapindex>".to_owned();
    for first in (0..PAGES).step_by(PAGES_OF_SITEMAP) {
        let mut listed = "<urlset>".to_owned();
        for n in first..(first + PAGES_OF_SITEMAP).min(PAGES) {
            let page = site.url(&format!("/std/module{}/struct.Item{n}.html", n % 100));
            let date = "<lastmod>2026-01-01</lastmod>";
            write!(listed, "<url><loc>{page}</loc>{date}</url>")?;
        }
        listed += "</urlset>";
        let url = site.put(&format!("/sitemap-{first}.xml"), "application/xml", listed);
        write!(index, "<sitemap><loc>{url}</loc></sitemap>")?;
    }
    index += "</sitemapindex>";
    site.put("/sitemap.xml", "application/xml", index);
    Ok(())
}

/// The median of the times until the last byte.
async fn median_time(server: &ServerProcess, body: &Value) -> anyhow::Result<Duration> {
    let mut times = Vec::new();
    for _ in 0..REQUESTS {
        let began = Instant::now();
        let answer = server.post("/map", &[], body).await;
        times.push(began.elapsed());
        let lines: Vec<Value> = serde_json::from_slice(&answer.body)?;
        // The start page, and the end.
        anyhow::ensure!(lines.len() == PAGES + 2, "{} lines", lines.len());
    }
    times.sort_unstable();
    Ok(times[REQUESTS / 2])
}
