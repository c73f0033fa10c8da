//! `cargo xtask bench [NAME…]`: measures Trawl and prints one table per benchmark.
//!
//! Whatever is compared is measured in the same run, so that ratios hold on any machine.

#![expect(clippy::print_stdout, reason = "a benchmark's output is its table")]

mod accounts;
mod api;
mod bare;
mod cluster;
mod console;
mod contacts;
mod corpus;
mod crawl;
mod documents;
mod engine;
mod extremes;
mod guests;
mod ledger;
mod map;
mod parse;
mod peers;
mod pipelines;
mod providers;
mod quality;
mod ready;
mod render;
mod scrape;
mod servers;
mod table;
mod transformer;
mod unlimited;

use clap::Parser;
use clap::builder::PossibleValuesParser;
use mimalloc::MiMalloc;

use crate::crawl::CrawlOptions;
use crate::documents::DocumentsOptions;
use crate::quality::QualityOptions;
use crate::ready::ReadyOptions;

/// The server's allocator, so that in-process measurements match the server.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Measures Trawl and prints one table per benchmark
#[derive(Debug, Parser)]
#[command(name = "bench")]
struct Options {
    /// Benchmarks to run [default: all but `peers`]
    #[arg(value_name = "NAME", value_parser = PossibleValuesParser::new(BENCHES.map(|it| it.0)))]
    names: Vec<String>,
    #[command(flatten, next_help_heading = "Options of `crawl`")]
    crawl: CrawlOptions,
    #[command(flatten, next_help_heading = "Options of `ready`")]
    ready: ReadyOptions,
    #[command(flatten, next_help_heading = "Options of `quality`")]
    quality: QualityOptions,
    #[command(flatten, next_help_heading = "Options of `documents`")]
    documents: DocumentsOptions,
}

/// A benchmark: its name on the command line and its entry point.
type Bench = (&'static str, fn(&Options) -> anyhow::Result<()>);

const BENCHES: [Bench; 19] = [
    ("parse", |_| parse::run()),
    ("engine", |_| engine::run()),
    ("guests", |_| guests::run()),
    ("ledger", |_| ledger::run()),
    ("scrape", |_| scrape::run()),
    ("api", |_| api::run()),
    ("crawl", |options| crawl::run(&options.crawl)),
    ("cluster", |_| cluster::run()),
    ("map", |_| map::run()),
    ("render", |_| render::run()),
    ("ready", |options| ready::run(&options.ready)),
    ("console", |_| console::run()),
    ("providers", |_| providers::run()),
    ("unlimited", |_| unlimited::run()),
    ("pipelines", |_| pipelines::run()),
    ("quality", |options| quality::run(&options.quality)),
    ("documents", |options| documents::run(&options.documents)),
    ("extremes", |_| extremes::run()),
    ("peers", |_| peers::run()),
];

/// The benchmark that builds other programs, and so runs only when it is named.
const ONLY_BY_NAME: &str = "peers";

fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    if options.quality.is_worker() {
        // The scorer parses stdout, so nothing else may be printed.
        return quality::run(&options.quality);
    }
    for (name, run) in BENCHES {
        let is_default = options.names.is_empty() && name != ONLY_BY_NAME;
        if is_default || options.names.iter().any(|wanted| wanted == name) {
            println!("\n== {name}");
            run(&options)?;
        }
    }
    Ok(())
}
