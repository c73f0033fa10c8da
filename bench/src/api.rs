//! `/scrape` of cached pages from 1,000 connections, or as many as the server accepts, with and
//! without cached plugin outputs, beside a handler that does nothing but send the same answer.

use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use trawl_tests::World;

use crate::bare::Bare;
use crate::scrape::{FailureCheck, write_wrk_script, wrk_at};
use crate::servers::{self, Nginx, Trawl};
use crate::{accounts, corpus};

const CONNECTIONS_MAX: u32 = 1_000;
const SECONDS: u32 = 6;
const ROUNDS: usize = 3;
/// Warm-up in which the page is fetched, written to the cache and read from it.
const WARM_SECONDS: u32 = 2;
/// Goal for the rate of cached answers, relative to a bare handler's.
const SHARE_OF_BARE: f64 = 0.33;

/// One measurement: format and size of the page, and the goal.
struct Case {
    name: &'static str,
    bytes: usize,
    format: &'static str,
    /// Additional lines of the server's configuration.
    config: &'static str,
    /// Least rate relative to the bare handler's; none where a plugin runs for each request.
    goal: Option<f64>,
}

/// Turns off the cache of plugin outputs.
const OUTPUTS_OFF: &str = "[cache]\noutputs_mib = 0\n";

const CASES: [Case; 3] = [
    Case {
        name: "raw, 12 KB",
        bytes: 12_000,
        format: "raw",
        config: "",
        goal: Some(SHARE_OF_BARE),
    },
    Case {
        name: "markdown, 47 KB, output not cached",
        bytes: 47_000,
        format: "markdown",
        config: OUTPUTS_OFF,
        goal: None,
    },
    Case {
        name: "markdown, 47 KB, output cached",
        bytes: 47_000,
        format: "markdown",
        config: "",
        goal: Some(SHARE_OF_BARE),
    },
];

/// Prints requests/s, those of a bare handler, latencies, CPU time per request and peak memory of
/// each case, from the round with the median rate; then runs the benchmark of concurrent accounts.
pub(crate) fn run() -> anyhow::Result<()> {
    let connections = servers::connections(CONNECTIONS_MAX);
    println!("{connections} connections");
    println!(
        "{:<34} {:>9} {:>9} {:>6} {:>8} {:>8} {:>8} {:>9} {:>9}",
        "", "pages/s", "bare/s", "ratio", "p50 ms", "p99 ms", "failed", "CPU µs", "peak MiB"
    );
    for case in CASES {
        measure(&case, connections)?;
    }
    println!("load average (1 min): {}", load()?);
    accounts::run()
}

fn measure(case: &Case, connections: u32) -> anyhow::Result<()> {
    // Not in the system's temporary directory: it is often in memory, where a flush costs nothing.
    let folder = tempfile::tempdir_in("target")?;
    let path = folder.path().canonicalize()?;
    let site = path.join("site");
    std::fs::create_dir(&site)?;
    std::fs::write(site.join("page.html"), page(case.bytes)?)?;
    let nginx = Nginx::start(&path, &site)?;
    let trawl = Trawl::of(World::new_in(&path), case.config)?;
    let (base, format) = (&nginx.base, case.format);
    let body = format!(r#"{{"url":"{base}/page.html","return_format":"{format}"}}"#);
    let bare = Bare::start(trawl.answer_to("/scrape", &body)?)?;
    let script = path.join("case.lua");
    write_wrk_script(
        &script,
        &trawl.key,
        std::iter::once(body),
        FailureCheck::Statuses,
    )?;
    wrk_at(&script, &trawl.base, WARM_SECONDS, connections)?;
    let failed_before = trawl.failed_pages()?;
    let (mut rounds, mut of_bare) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let before = trawl.cpu_time()?;
        let load = wrk_at(&script, &trawl.base, SECONDS, connections)?;
        let cpu = trawl.cpu_time()?.saturating_sub(before);
        rounds.push((load, cpu));
        of_bare.push(wrk_at(&script, &bare.base, SECONDS, connections)?.per_second);
    }
    rounds.sort_by(|a, b| a.0.per_second.total_cmp(&b.0.per_second));
    of_bare.sort_by(f64::total_cmp);
    let ((load, cpu), of_bare) = (&rounds[ROUNDS / 2], of_bare[ROUNDS / 2]);
    let n_requests = load.per_second * f64::from(SECONDS);
    let ratio = load.per_second / of_bare;
    println!(
        "{:<34} {:>9.0} {of_bare:>9.0} {ratio:>6.2} {:>8.1} {:>8.1} {:>8} {:>9.0} {:>9}{}",
        case.name,
        load.per_second,
        load.p50_ms,
        load.p99_ms,
        load.failed + trawl.failed_pages()? - failed_before,
        Duration::as_secs_f64(cpu) * 1e6 / n_requests,
        trawl.peak_mib(),
        case.verdict(ratio),
    );
    Ok(())
}

impl Case {
    /// The goal for the ratio, and whether it is missed.
    fn verdict(&self, ratio: f64) -> String {
        match self.goal {
            Some(goal) if ratio < goal => format!("   goal: ratio at least {goal}, MISSED"),
            Some(goal) => format!("   goal: ratio at least {goal}"),
            None => String::new(),
        }
    }
}

/// The first `bytes` of a long book chapter with text, code and a few links.
fn page(bytes: usize) -> anyhow::Result<String> {
    const CHAPTER: &str = "book/ch03-05-control-flow.html";
    let path = corpus::root()?.join(CHAPTER);
    let text = std::fs::read_to_string(&path)
        .with_context(|| format!("cannot read `{}`", Path::display(&path)))?;
    let mut page = text.repeat(bytes / text.len() + 1);
    page.truncate(page.floor_char_boundary(bytes));
    Ok(page)
}

/// Load average of the last minute; above about 3, something else runs on the machine.
fn load() -> anyhow::Result<String> {
    let loads = std::fs::read_to_string("/proc/loadavg")?;
    let first = loads.split(' ').next();
    Ok(first.unwrap_or_default().to_owned())
}
