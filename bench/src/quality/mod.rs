//! Extraction quality on real pages, and its CPU time:
//! `cargo xtask bench quality --data=DIR [--learned=FILE] [--scorers=DIR --markdown=DIR]
//! [--documentation=DIR]`.
//!
//! `--data` is a checkout of the Web Content Extraction Benchmark (WCXB), which has
//! `dev/html/*.html.gz` and `dev/ground-truth/*.json`; if it has `news`, the bodies of its articles
//! are measured, too. `--learned` names the pages that the model has learned from: they say nothing
//! about others and are left out. `--scorers` is a folder with `score_markdown.py`, which converts
//! markdown back to HTML and compares; `--markdown` is a folder of HTML files for it. All
//! extraction runs in the components, as in a request.

mod changes;
mod documentation;
mod news;
mod pages;
mod words;
mod worker;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::json;

use crate::table::{self, Row};
use crate::transformer::Transformer;
use pages::Page;
use words::Score;

/// Goals for the word F1 of the main body: over all pages, and for each kind of page.
const F1_ALL: f64 = 0.885;
const F1_KIND: f64 = 0.80;
/// Goals for the main body including the parse, in milliseconds: median and 95th percentile.
const MAIN_BODY_MS: f64 = 3.0;
const MAIN_BODY_P95_MS: f64 = 10.0;
/// Goal for the median of markdown without the parse, in milliseconds.
const MARKDOWN_MS: f64 = 1.0;
/// Goal for the slowest page, in milliseconds.
const PAGE_MS_MAX: f64 = 50.0;

/// Command-line options of this benchmark.
#[derive(Debug, clap::Args)]
pub(crate) struct QualityOptions {
    /// Checkout of the Web Content Extraction Benchmark
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// File with the names of pages that the model has learned from, one a line: they are left out
    #[arg(long, value_name = "FILE", requires = "data")]
    learned: Option<PathBuf>,
    /// Folder with `score_markdown.py`
    #[arg(long, value_name = "DIR", requires = "markdown")]
    scorers: Option<PathBuf>,
    /// Folder of HTML files for the markdown round trip
    #[arg(long, value_name = "DIR", requires = "scorers")]
    markdown: Option<PathBuf>,
    /// Folder with a folder of HTML pages for each generator of documentation
    #[arg(long, value_name = "DIR")]
    documentation: Option<PathBuf>,
    /// Run as the scorer's worker process for this format
    #[arg(long, value_name = "FORMAT", hide = true)]
    worker: Option<String>,
}

impl QualityOptions {
    /// Whether this process is a scorer's worker.
    pub(crate) fn is_worker(&self) -> bool {
        self.worker.is_some()
    }
}

/// Prints the tables; without `--data`, how to obtain them.
pub(crate) fn run(options: &QualityOptions) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    if options.is_worker() {
        return worker::run(&Transformer::new(folder.path())?);
    }
    let transformer = Transformer::new(folder.path())?;
    if let Some(documentation) = &options.documentation {
        documentation::run(&transformer, documentation)?;
    }
    let Some(data) = &options.data else {
        println!("skipped: needs --data=DIR (see bench/README.md)");
        return Ok(());
    };
    let pages = pages::load(data, options.learned.as_deref())?;
    main_body(&transformer, &pages)?;
    news::run(&transformer, data)?;
    changes::run(&transformer, &pages)?;
    markdown_speed(&transformer, &pages)?;
    match (&options.scorers, &options.markdown) {
        (Some(scorers), Some(html)) => round_trip(scorers, html),
        _ => {
            println!("markdown round trip skipped: needs --scorers=DIR and --markdown=DIR");
            Ok(())
        }
    }
}

/// Prints word F1 by kind of page, and the CPU time per page including the parse.
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
        let verdict = if f1 < goal { ", MISSED" } else { "" };
        println!(
            "  {kind:<16} {:>4} pages {f1:>7.3} {precision:>7.3} {recall:>7.3}   \
             goal: F1 at least {goal}{verdict}",
            scores.len()
        );
    }
    println!(
        "  empty output for a page with content: {} {}",
        empty.len(),
        empty.join(" ")
    );
    print_times(
        "main body including the parse",
        times,
        MAIN_BODY_MS,
        Some(MAIN_BODY_P95_MS),
    );
    Ok(())
}

/// Prints the CPU time of markdown per page, without the parse.
fn markdown_speed(transformer: &Transformer, pages: &[Page]) -> anyhow::Result<()> {
    let plan = transformer.plan(json!({"return_format": "markdown"}))?;
    let mut times = Vec::with_capacity(pages.len());
    for page in pages {
        times.push(transformer.text(&page.url, &page.body, &plan)?.1.transform);
    }
    print_times("markdown without the parse", times, MARKDOWN_MS, None);
    Ok(())
}

/// Prints median, 95th percentile and maximum with their goals.
fn print_times(name: &str, mut times: Vec<Duration>, median: f64, p95: Option<f64>) {
    times.sort_unstable();
    let at = |share: f64| {
        let index = ((times.len() - 1) as f64 * share).round() as usize;
        times[index]
    };
    let row = |what: &str, time: Duration, at_most: Option<f64>| {
        Row::ms(format!("{name}: {what}"), time, at_most)
    };
    table::print(&[
        row("median", at(0.5), Some(median)),
        row("95th percentile", at(0.95), p95),
        row("slowest", at(1.0), Some(PAGE_MS_MAX)),
    ]);
}

/// Runs the round-trip scorer with this executable as its worker.
fn round_trip(scorers: &Path, html: &Path) -> anyhow::Result<()> {
    let worker = std::env::current_exe()?;
    let worker = format!("{} quality --worker=markdown", worker.display());
    let script = scorers.join("score_markdown.py");
    let status = Command::new("python3")
        .arg(script)
        .arg("--data")
        .arg(html)
        .args(["--name", "trawl", "--worker", &worker])
        .status()
        .context("cannot run python3")?;
    ensure!(
        status.success(),
        "the scorer failed; it needs `pip install markdown-it-py linkify-it-py selectolax`"
    );
    Ok(())
}
