//! Trawl beside other programs on the same machine, in one run: crawls beside the crate `spider`
//! with and without markdown, and `/scrape` beside `crw-server`.
//!
//! The peers are built on demand into `target/peers`, outside of the workspace, from the registry.
//! The site has 3,000 pages of the toolchain's documentation and one index of links to them. All
//! links of its pages lead to the index, so that every program fetches the same pages.

use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use anyhow::{Context, ensure};
use serde_json::json;

use crate::corpus;
use crate::scrape::{FailureCheck, Load, write_wrk_script, wrk};
use crate::servers::{Nginx, Trawl, free_port, wait_for};

/// Pages of the site without its index.
const PAGES: usize = 3_000;
/// Runs of each program; the median counts.
const ROUNDS: usize = 3;
/// Time of a load, in seconds.
const SECONDS: u32 = 10;
/// Version of the server that is compared.
const CRW_SERVER: &str = "0.39.1";
/// Goals for the ratio to the peer: crawls without a format and with markdown, and scrapes.
const CRAWL_RATIO: f64 = 3.0;
const MARKDOWN_RATIO: f64 = 1.8;
const SCRAPE_RATIO: f64 = 8.0;
/// Goal for the memory of the server that scrapes, in MiB.
const SCRAPE_MIB: u64 = 100;

/// Builds the peers and prints the tables.
pub(crate) fn run() -> anyhow::Result<()> {
    let spider = built_spider()?;
    let folder = tempfile::tempdir()?;
    let site = folder.path().join("site");
    write_site(&site)?;
    let nginx = Nginx::start(folder.path(), &site)?;
    println!(
        "{:<10} {:>14} {:>15} {:>7}",
        "crawl", "Trawl pages/s", "spider pages/s", "ratio"
    );
    for (format, goal) in [("empty", CRAWL_RATIO), ("markdown", MARKDOWN_RATIO)] {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            ours.push(crawled_by_trawl(&nginx.base, format)?);
            theirs.push(crawled_by_spider(&spider, &nginx.base, format)?);
        }
        let (ours, theirs) = (median(ours), median(theirs));
        let ratio = ours / theirs;
        println!(
            "{format:<10} {ours:>14.0} {theirs:>15.0} {ratio:>7.2}   goal: at least {goal}{}",
            missed(ratio < goal)
        );
    }
    match built_crw_server() {
        Ok(program) => scrapes(&program, &nginx.base, folder.path()),
        Err(error) => {
            println!("scrapes skipped: {error:#}");
            Ok(())
        }
    }
}

fn missed(is_missed: bool) -> &'static str {
    if is_missed { ", MISSED" } else { "" }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Where the peers are built.
fn target() -> PathBuf {
    corpus::checkout().join("target/peers")
}

fn succeeds(command: &mut Command) -> anyhow::Result<()> {
    let status = command.status().context("cannot run `cargo`")?;
    ensure!(status.success(), "a peer cannot be built");
    Ok(())
}

/// The program in `bench/peers/spider`.
fn built_spider() -> anyhow::Result<PathBuf> {
    let manifest = corpus::checkout().join("bench/peers/spider/Cargo.toml");
    succeeds(
        Command::new("cargo")
            .args(["build", "--release", "--manifest-path"])
            .arg(manifest)
            .arg("--target-dir")
            .arg(target()),
    )?;
    Ok(target().join("release/peer-spider"))
}

/// `crw-server` as its authors publish it.
fn built_crw_server() -> anyhow::Result<PathBuf> {
    let program = target().join("bin/crw-server");
    if !program.exists() {
        succeeds(
            Command::new("cargo")
                .args(["install", "crw-server", "--locked", "--version", CRW_SERVER])
                .arg("--root")
                .arg(target())
                .arg("--target-dir")
                .arg(target()),
        )?;
    }
    Ok(program)
}

/// Writes the pages and their index.
fn write_site(site: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(site)?;
    let texts = corpus::texts()?;
    ensure!(!texts.is_empty(), "the documentation has no pages");
    let pages = texts.iter().map(|text| to_index(text)).collect::<Vec<_>>();
    let mut index = String::from("<!DOCTYPE html><title>Index</title><ul>");
    for number in 0..PAGES {
        let name = format!("page-{number}.html");
        std::fs::write(site.join(&name), &pages[number % pages.len()])?;
        index += &format!("<li><a href=\"/{name}\">Page {number}</a>");
    }
    Ok(std::fs::write(site.join("index.html"), index)?)
}

/// A page whose links lead to places of the index.
fn to_index(page: &str) -> String {
    const LINK: &str = "href=";
    let mut parts = page.split(LINK);
    let mut changed = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (quote, rest) = part.split_at(usize::from(part.starts_with(['"', '\''])));
        changed.extend([LINK, quote, "/index.html#", rest]);
    }
    changed
}

/// Pages per second of a crawl by a fresh server.
fn crawled_by_trawl(base: &str, format: &str) -> anyhow::Result<f64> {
    let folder = tempfile::tempdir()?;
    let trawl = Trawl::start(folder.path())?;
    let body = json!({
        "url": format!("{base}/index.html"), "request": "http", "return_format": format,
        "limit": 0, "depth": 2, "respect_robots": true, "cache": false,
    });
    let mut n_pages = 0;
    let took = trawl.crawl(&body, |entry| {
        n_pages += usize::from(!entry.trim().is_empty());
    })?;
    check_pages("Trawl", n_pages)?;
    Ok(n_pages as f64 / took.as_secs_f64())
}

/// Pages per second of a crawl by the other crate.
fn crawled_by_spider(program: &Path, base: &str, format: &str) -> anyhow::Result<f64> {
    let output = Command::new(program)
        .arg(format!("{base}/index.html"))
        .arg(format)
        .output()?;
    ensure!(output.status.success(), "the crawl of spider failed");
    let printed = String::from_utf8(output.stdout)?;
    let numbers: Vec<f64> = printed
        .split_whitespace()
        .map(str::parse)
        .collect::<Result<_, _>>()?;
    let [n_pages, n_bytes, seconds] = numbers[..] else {
        anyhow::bail!("spider printed `{printed}`");
    };
    check_pages("spider", n_pages as usize)?;
    ensure!(
        format == "empty" || n_bytes > 0.0,
        "spider made no markdown"
    );
    Ok(n_pages / seconds)
}

/// Programs are compared on the same pages only; one more or less may be the index itself.
fn check_pages(program: &str, n_pages: usize) -> anyhow::Result<()> {
    ensure!(
        n_pages.abs_diff(PAGES + 1) <= 1,
        "{program} crawled {n_pages} pages of {}",
        PAGES + 1
    );
    Ok(())
}

/// The other server, ended when this value is dropped.
struct CrwServer {
    process: Child,
    base: String,
}

impl Drop for CrwServer {
    fn drop(&mut self) {
        // Fails only if the process has exited already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl CrwServer {
    fn start(program: &Path, folder: &Path) -> anyhow::Result<Self> {
        let port = free_port()?;
        let process = Command::new(program)
            .current_dir(folder)
            .env("CRW_SERVER__HOST", "127.0.0.1")
            .env("CRW_SERVER__PORT", port.to_string())
            .env("CRW_SERVER__RATE_LIMIT_RPS", "0")
            .env("CRW_CRAWLER__REQUESTS_PER_SECOND", "1000000")
            .env("CRW_RENDERER__MODE", "none")
            // The site is on this machine.
            .env("CRW_ALLOW_LOOPBACK_FOR_TESTS", "1")
            .env("RUST_LOG", "error")
            .spawn()?;
        let server = Self {
            process,
            base: format!("http://127.0.0.1:{port}/v1"),
        };
        wait_for(port)?;
        Ok(server)
    }

    /// Peak resident memory.
    fn peak_mib(&self) -> anyhow::Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id()))?;
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = peak.and_then(|peak| peak.split_whitespace().next());
        Ok(kib.context("`/proc` has no peak")?.parse::<u64>()? / 1024)
    }
}

/// Prints the rates of both servers for the same pages as markdown.
fn scrapes(program: &Path, site: &str, folder: &Path) -> anyhow::Result<()> {
    let trawl = Trawl::start(folder)?;
    let ours = folder.join("trawl.lua");
    let url = |number: usize| format!("{site}/page-{number}.html");
    let bodies = (0..PAGES).map(|number| {
        let url = url(number);
        json!({"url": url, "return_format": "markdown", "request": "http", "cache": false})
            .to_string()
    });
    write_wrk_script(&ours, &trawl.key, bodies, FailureCheck::Statuses)?;
    let theirs = folder.join("crw.lua");
    let bodies =
        (0..PAGES).map(|number| json!({"url": url(number), "formats": ["markdown"]}).to_string());
    write_wrk_script(&theirs, "none", bodies, FailureCheck::Statuses)?;
    wrk(&ours, &trawl.base, 3)?;
    let (mut of_trawl, mut of_crw) = (Vec::new(), Vec::new());
    let crw = CrwServer::start(program, folder)?;
    wrk(&theirs, &crw.base, 3)?;
    for _ in 0..ROUNDS {
        of_trawl.push(wrk(&ours, &trawl.base, SECONDS)?);
        of_crw.push(wrk(&theirs, &crw.base, SECONDS)?);
    }
    println!(
        "{:<12} {:>10} {:>9} {:>8} {:>9}",
        "scrape", "requests/s", "p99 ms", "failed", "peak MiB"
    );
    print_loads("Trawl", &of_trawl, trawl.peak_mib());
    print_loads("crw-server", &of_crw, crw.peak_mib()?);
    let ratio = rate(&of_trawl) / rate(&of_crw);
    println!(
        "ratio {ratio:.2}, goal: at least {SCRAPE_RATIO}{}; goal for the memory: at most {SCRAPE_MIB} MiB{}",
        missed(ratio < SCRAPE_RATIO),
        missed(trawl.peak_mib() > SCRAPE_MIB)
    );
    Ok(())
}

fn rate(loads: &[Load]) -> f64 {
    median(loads.iter().map(|load| load.per_second).collect())
}

fn print_loads(name: &str, loads: &[Load], peak_mib: u64) {
    let p99 = median(loads.iter().map(|load| load.p99_ms).collect());
    let failed: u64 = loads.iter().map(|load| load.failed).sum();
    println!(
        "{name:<12} {:>10.0} {p99:>9.1} {failed:>8} {peak_mib:>9}",
        rate(loads)
    );
}

#[cfg(test)]
mod tests {
    use super::{PAGES, check_pages, median, to_index};

    #[test]
    fn links_of_pages_lead_to_the_index() {
        let page = to_index("<a class=\"x\" href=\"../a.html\">A</a><a href=\"#b\">B</a>");
        let expected = "<a class=\"x\" href=\"/index.html#../a.html\">A</a>\
                        <a href=\"/index.html##b\">B</a>";
        assert_eq!(page, expected);
    }

    #[test]
    fn only_crawls_of_the_same_pages_are_compared() {
        assert!(check_pages("a", PAGES + 1).is_ok());
        assert!(check_pages("a", PAGES - 10).is_err());
        assert!((median(vec![3.0, 1.0, 2.0]) - 2.0).abs() < f64::EPSILON);
    }
}
