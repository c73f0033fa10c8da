//! `/scrape` under load: nginx, Trawl and wrk on the same machine; then plugin reloads under that
//! load.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::Context;

use crate::corpus;
use crate::servers::{Nginx, Trawl};

const CONNECTIONS: u32 = 64;
const SECONDS: u32 = 10;
const ROUNDS: usize = 3;
const RELOADS: u32 = 5;

/// Prints pages/s, latencies, failures and peak memory, then the reload time under the same load.
pub(crate) fn run() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let nginx = Nginx::start(folder.path(), &corpus::root()?)?;
    let trawl = Trawl::start(folder.path())?;
    let script = wrk_script(folder.path(), &trawl.key, &nginx.base, "http")?;
    wrk(&script, &trawl.base, 3)?;
    println!(
        "{:<8} {:>9} {:>9} {:>9} {:>9}",
        "round", "pages/s", "p50 ms", "p99 ms", "failed"
    );
    for round in 1..=ROUNDS {
        let load = wrk(&script, &trawl.base, SECONDS)?;
        println!(
            "{round:<8} {:>9.0} {:>9.1} {:>9.1} {:>9}",
            load.per_second, load.p50_ms, load.p99_ms, load.failed
        );
    }
    println!("peak memory {} MiB", trawl.peak_mib());
    reload(&script, &trawl)
}

/// Repeatedly changes a plugin's limits in `plugins.toml` under load and waits for the new
/// generation.
fn reload(script: &Path, trawl: &Trawl) -> anyhow::Result<()> {
    let plugins = trawl.world.plugins();
    let manifest = std::fs::read_to_string(&plugins)?;
    std::thread::scope(|scope| {
        let load = scope.spawn(|| wrk(script, &trawl.base, SECONDS));
        std::thread::sleep(Duration::from_secs(2));
        let mut times = Vec::new();
        for round in 0..RELOADS {
            let before = trawl.generation()?;
            std::fs::write(&plugins, with_other_limit(&manifest, round)?)?;
            let changed = Instant::now();
            while trawl.generation()? == before {
                anyhow::ensure!(
                    changed.elapsed() < Duration::from_secs(10),
                    "no new generation within 10 s"
                );
                std::thread::sleep(Duration::from_millis(2));
            }
            times.push(changed.elapsed().as_millis());
            std::thread::sleep(Duration::from_millis(500));
        }
        times.sort_unstable();
        let load = load.join().expect("the load thread does not panic")?;
        println!(
            "reload under load: median {} ms, worst {} ms, failed requests {}",
            times[times.len() / 2],
            times[times.len() - 1],
            load.failed
        );
        Ok(())
    })
}

/// The manifest with a time limit for markdown that is unique to the round: only an actual change
/// creates a new generation.
fn with_other_limit(manifest: &str, round: u32) -> anyhow::Result<String> {
    const ENTRY: &str = "name = \"markdown\"\n";
    anyhow::ensure!(
        manifest.contains(ENTRY),
        "`plugins.toml` has no plugin `markdown`"
    );
    let limits = format!("{ENTRY}limits = {{ time_ms = {} }}\n", 5_000 + round);
    Ok(manifest.replacen(ENTRY, &limits, 1))
}

/// Result of a wrk run.
pub(crate) struct Load {
    pub(crate) per_second: f64,
    pub(crate) p50_ms: f64,
    pub(crate) p99_ms: f64,
    pub(crate) failed: u64,
}

/// Runs wrk with [`CONNECTIONS`] connections.
pub(crate) fn wrk(script: &Path, base: &str, seconds: u32) -> anyhow::Result<Load> {
    wrk_at(script, base, seconds, CONNECTIONS)
}

/// Runs wrk and parses the line that the script's `done` prints.
pub(crate) fn wrk_at(
    script: &Path,
    base: &str,
    seconds: u32,
    connections: u32,
) -> anyhow::Result<Load> {
    let output = Command::new("wrk")
        .args([
            "-t2",
            &format!("-c{connections}"),
            &format!("-d{seconds}s"),
            "--timeout",
            "10s",
            "-s",
        ])
        .arg(script)
        .arg(format!("{base}/scrape"))
        .output()
        .context("cannot run `wrk`: apt-get install wrk nginx-light")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("RESULT "))
        .with_context(|| format!("wrk printed no result:\n{text}"))?;
    let numbers: Vec<f64> = line.split(' ').map(str::parse).collect::<Result<_, _>>()?;
    let [per_second, p50_ms, p99_ms, failed] = numbers[..] else {
        anyhow::bail!("wrk printed `{line}`")
    };
    Ok(Load {
        per_second,
        p50_ms,
        p99_ms,
        failed: failed as u64,
    })
}

/// Writes a script that requests the pages of the corpus in turn. A failed page counts as a failed
/// request.
pub(crate) fn wrk_script(
    folder: &Path,
    key: &str,
    nginx: &str,
    request: &str,
) -> anyhow::Result<PathBuf> {
    let pages = corpus::pages()?;
    let bodies = pages.iter().map(|page| {
        format!(
            r#"{{"url":"{nginx}/{}","return_format":"markdown","request":"{request}","cache":false}}"#,
            page.display()
        )
    });
    let path = folder.join(format!("{request}.lua"));
    write_wrk_script(&path, key, bodies, FailureCheck::Bodies)?;
    Ok(path)
}

/// How wrk counts failures.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum FailureCheck {
    /// Searches each body for failed pages, which takes about as long as the request.
    Bodies,
    /// Checks the status only; failed pages are in the server's metrics.
    Statuses,
}

/// Writes a script that sends the given bodies in turn.
pub(crate) fn write_wrk_script(
    path: &Path,
    key: &str,
    bodies: impl Iterator<Item = String>,
    check: FailureCheck,
) -> anyhow::Result<()> {
    let (response, statuses) = match check {
        FailureCheck::Bodies => ("response = read", ""),
        FailureCheck::Statuses => ("", " + summary.errors.status"),
    };
    let mut script = String::from("local bodies = {\n");
    for body in bodies {
        writeln!(script, "  '{body}',")?;
    }
    write!(
        script,
        r#"}}
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
wrk.headers["Authorization"] = "Bearer {key}"
local turn = 0
local threads = {{}}
local requests = {{}}
function setup(thread) table.insert(threads, thread) end
function init()
  failed = 0
  for number, body in ipairs(bodies) do requests[number] = wrk.format(nil, nil, nil, body) end
end
function request()
  turn = turn + 1
  return requests[(turn - 1) % #requests + 1]
end
function read(status, headers, body)
  if status ~= 200 or not string.find(body, '"error":null', 1, true) then failed = failed + 1 end
end
{response}
function done(summary, latency)
  local failed = summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout{statuses}
  for _, thread in ipairs(threads) do failed = failed + thread:get("failed") end
  print(string.format("RESULT %.1f %.2f %.2f %d", summary.requests / summary.duration * 1e6, latency:percentile(50) / 1000, latency:percentile(99) / 1000, failed))
end
"#
    )?;
    std::fs::write(path, script)?;
    Ok(())
}
