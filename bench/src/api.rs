//! `/scrape` of pages that are in the page cache, from a thousand connections, with and without their outputs.

use std::path::Path;
use std::time::Duration;

use anyhow::Context;

use crate::scrape::{Answers, write_wrk_script, wrk_at};
use crate::servers::{Nginx, Trawl};
use crate::{accounts, corpus};

const CONNECTIONS: u32 = 1_000;
const SECONDS: u32 = 6;
const ROUNDS: usize = 3;
/// Time to fetch the page, and for the server to write it into its cache and to read it again.
const WARM_SECONDS: u32 = 2;

/// What is asked for, how many bytes of it, and what is to be reached.
struct Case {
    name: &'static str,
    bytes: usize,
    format: &'static str,
    /// Lines of the server's configuration.
    config: &'static str,
    goal: f64,
}

const OUTPUTS_OFF: &str = "[cache]\noutputs_mib = 0\n";

const CASES: [Case; 3] = [
    Case {
        name: "raw, 12 KB",
        bytes: 12_000,
        format: "raw",
        config: "",
        goal: 12_000.0,
    },
    Case {
        name: "markdown, 47 KB, made anew",
        bytes: 47_000,
        format: "markdown",
        config: OUTPUTS_OFF,
        goal: 1_800.0,
    },
    Case {
        name: "markdown, 47 KB, made before",
        bytes: 47_000,
        format: "markdown",
        config: "",
        goal: 8_000.0,
    },
];

/// Prints requests a second, latencies, the server's CPU a request and its peak memory: the round with the median rate of each
/// case. Then ten thousand accounts that spend at once.
pub(crate) fn run() -> anyhow::Result<()> {
    println!(
        "{:<30} {:>9} {:>8} {:>8} {:>8} {:>9} {:>9} {:>9}",
        "", "pages/s", "goal", "p50 ms", "p99 ms", "failed", "CPU µs", "peak MiB"
    );
    for case in CASES {
        measure(&case)?;
    }
    println!("load of the machine: {}", load()?);
    accounts::run()
}

fn measure(case: &Case) -> anyhow::Result<()> {
    // Beside the program, not in a temporary directory: those are often in memory, where nothing is ever flushed.
    let folder = tempfile::tempdir_in("target")?;
    let path = folder.path().canonicalize()?;
    let site = path.join("site");
    std::fs::create_dir(&site)?;
    std::fs::write(site.join("page.html"), page(case.bytes)?)?;
    let nginx = Nginx::start(&path, &site)?;
    let trawl = Trawl::start_with(&path, case.config)?;
    let (base, format) = (&nginx.base, case.format);
    let body = format!(r#"{{"url":"{base}/page.html","return_format":"{format}"}}"#);
    let script = path.join("case.lua");
    write_wrk_script(&script, &trawl.key, std::iter::once(body), Answers::Counted)?;
    // Whoever comes before the page is there fetches it too: not so many at first.
    wrk_at(&script, &trawl.base, 1, 2)?;
    wrk_at(&script, &trawl.base, WARM_SECONDS, CONNECTIONS)?;
    let failed_before = trawl.failed_pages()?;
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let before = trawl.cpu_time()?;
        let load = wrk_at(&script, &trawl.base, SECONDS, CONNECTIONS)?;
        let cpu = trawl.cpu_time()?.saturating_sub(before);
        rounds.push((load, cpu));
    }
    rounds.sort_by(|a, b| a.0.per_second.total_cmp(&b.0.per_second));
    let (load, cpu) = &rounds[ROUNDS / 2];
    let n_requests = load.per_second * f64::from(SECONDS);
    println!(
        "{:<30} {:>9.0} {:>8} {:>8.1} {:>8.1} {:>9} {:>9.0} {:>9}",
        case.name,
        load.per_second,
        case.goal,
        load.p50_ms,
        load.p99_ms,
        load.failed + trawl.failed_pages()? - failed_before,
        Duration::as_secs_f64(cpu) * 1e6 / n_requests,
        trawl.peak_mib()?,
    );
    Ok(())
}

/// The first bytes of a long chapter of a book: text, code, a few links.
fn page(bytes: usize) -> anyhow::Result<String> {
    const CHAPTER: &str = "book/ch03-05-control-flow.html";
    let path = corpus::root()?.join(CHAPTER);
    let text = std::fs::read_to_string(&path)
        .with_context(|| format!("`{}` cannot be read", Path::display(&path)))?;
    let mut page = text.repeat(bytes / text.len() + 1);
    page.truncate(page.floor_char_boundary(bytes));
    Ok(page)
}

/// The load average of one minute: more than about three tells that something else runs.
fn load() -> anyhow::Result<String> {
    let loads = std::fs::read_to_string("/proc/loadavg")?;
    let first = loads.split(' ').next();
    Ok(first.unwrap_or_default().to_owned())
}
