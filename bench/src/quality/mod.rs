//! How good the main body and the markdown of real pages are, and what they cost: `cargo xtask bench quality --data=DIR [--scorers=DIR
//! --markdown=DIR]`.
//!
//! `--data` is a checkout of the Web Content Extraction Benchmark (WCXB: `dev/html/*.html.gz`, `dev/ground-truth/*.json`). `--scorers` holds
//! `score_markdown.py`, which renders markdown back and compares; `--markdown` is a folder of HTML files for it. Everything runs through
//! the components, as a request would.

mod pages;
mod words;
mod worker;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::json;

use crate::table::{self, Row};
use crate::transformer::Transformer;
use pages::Page;
use words::Score;

/// Word F1 of the main body over all pages, and of every kind of page.
const F1_ALL: f64 = 0.88;
const F1_KIND: f64 = 0.70;
/// Milliseconds of a page with its parse: the middle, and what 95 of 100 keep below.
const MAIN_BODY_MS: f64 = 4.0;
const MAIN_BODY_P95_MS: f64 = 15.0;
/// Milliseconds of markdown without the parse.
const MARKDOWN_MS: f64 = 1.0;
/// No page may take longer.
const PAGE_MS_MAX: f64 = 50.0;

/// Prints the tables; without data it says what it needs.
pub(crate) fn run() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    if is_worker() {
        return worker::run(&Transformer::new(folder.path())?);
    }
    let Some(data) = argument("data") else {
        println!("not measured: name the pages with --data=DIR (see bench/README.md)");
        return Ok(());
    };
    let pages = pages::load(Path::new(&data))?;
    let transformer = Transformer::new(folder.path())?;
    main_body(&transformer, &pages)?;
    markdown_speed(&transformer, &pages)?;
    match (argument("scorers"), argument("markdown")) {
        (Some(scorers), Some(html)) => round_trip(&scorers, &html),
        _ => {
            println!("markdown's round trip: name --scorers=DIR and --markdown=DIR");
            Ok(())
        }
    }
}

/// Whether this process answers a scorer.
pub(crate) fn is_worker() -> bool {
    argument("worker").is_some()
}

/// The value of `--name=value` on the command line.
fn argument(name: &str) -> Option<String> {
    let start = format!("--{name}=");
    std::env::args().find_map(|argument| argument.strip_prefix(&start).map(str::to_owned))
}

/// Word F1 by kind of page, and the time of a page with its parse.
fn main_body(transformer: &Transformer, pages: &[Page]) -> anyhow::Result<()> {
    let plan = transformer.plan(json!({"return_format": "text", "readability": true}))?;
    let mut by_kind: BTreeMap<&str, Vec<Score>> = BTreeMap::new();
    let mut times = Vec::with_capacity(pages.len());
    let mut empty = Vec::new();
    for page in pages {
        let (text, cpu) = transformer.text(&page.url, &page.body, &plan)?;
        let score = Score::of(&page.main_content, &text);
        if !page.main_content.is_empty() && text.trim().is_empty() {
            empty.push(page.url.as_str());
        }
        by_kind.entry(&page.kind).or_default().push(score);
        by_kind.entry("all").or_default().push(score);
        times.push(cpu.parse + cpu.transform);
    }
    println!(
        "main body of {} pages: word F1, precision, recall",
        pages.len()
    );
    for (kind, scores) in &by_kind {
        let Score {
            precision,
            recall,
            f1,
        } = Score::mean(scores);
        let goal = if *kind == "all" { F1_ALL } else { F1_KIND };
        let verdict = if f1 < goal { ": MISSED" } else { "" };
        println!(
            "  {kind:<16} {:>4} pages {f1:>7.3} {precision:>7.3} {recall:>7.3}   at least {goal}{verdict}",
            scores.len()
        );
    }
    println!(
        "  pages with text that are answered by nothing: {} {}",
        empty.len(),
        empty.join(" ")
    );
    print_times(
        "main body with its parse",
        times,
        MAIN_BODY_MS,
        Some(MAIN_BODY_P95_MS),
    );
    Ok(())
}

fn markdown_speed(transformer: &Transformer, pages: &[Page]) -> anyhow::Result<()> {
    let plan = transformer.plan(json!({"return_format": "markdown"}))?;
    let mut times = Vec::with_capacity(pages.len());
    for page in pages {
        times.push(transformer.text(&page.url, &page.body, &plan)?.1.transform);
    }
    print_times("markdown without the parse", times, MARKDOWN_MS, None);
    Ok(())
}

fn print_times(name: &str, mut times: Vec<Duration>, median: f64, p95: Option<f64>) {
    times.sort_unstable();
    let at = |share: f64| {
        let index = ((times.len() - 1) as f64 * share).round() as usize;
        times[index].as_secs_f64() * 1e3
    };
    let row = |what: &str, value: f64, at_most: Option<f64>| Row {
        name: format!("{name}: {what}"),
        median: value,
        unit: "ms",
        at_most,
    };
    table::print(&[
        row("median", at(0.5), Some(median)),
        row("95 of 100", at(0.95), p95),
        row("slowest", at(1.0), Some(PAGE_MS_MAX)),
    ]);
}

/// Runs the scorer of round trips on this program as its worker.
fn round_trip(scorers: &str, html: &str) -> anyhow::Result<()> {
    let worker = std::env::current_exe()?;
    let worker = format!("{} quality --worker=markdown", worker.display());
    let script = Path::new(scorers).join("score_markdown.py");
    let status = Command::new("python3")
        .arg(script)
        .args(["--data", html, "--name", "trawl", "--worker", &worker])
        .status()
        .context("cannot run python3")?;
    ensure!(
        status.success(),
        "the scorer failed; it needs `pip install markdown-it-py linkify-it-py selectolax`"
    );
    Ok(())
}
