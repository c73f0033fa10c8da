//! `cargo xtask bench [NAME] [--whole]`: how fast Trawl is, as ratios measured side by side in one run.

#![expect(clippy::print_stdout, reason = "a benchmark's output is its table")]

mod accounts;
mod api;
mod contacts;
mod corpus;
mod crawl;
mod engine;
mod extremes;
mod guests;
mod ledger;
mod parse;
mod pipelines;
mod providers;
mod quality;
mod render;
mod scrape;
mod servers;
mod table;
mod transformer;
mod unlimited;

use mimalloc::MiMalloc;

/// The server's allocator, so that what is measured here is what it does there.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// A benchmark by its name on the command line.
type Bench = (&'static str, fn() -> anyhow::Result<()>);

const BENCHES: [Bench; 13] = [
    ("parse", parse::run),
    ("engine", engine::run),
    ("guests", guests::run),
    ("ledger", ledger::run),
    ("scrape", scrape::run),
    ("api", api::run),
    ("crawl", crawl::run),
    ("render", render::run),
    ("providers", providers::run),
    ("unlimited", unlimited::run),
    ("pipelines", pipelines::run),
    ("quality", quality::run),
    ("extremes", extremes::run),
];

fn main() -> anyhow::Result<()> {
    // What begins with dashes is for a benchmark itself.
    let wanted: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with("--"))
        .collect();
    if let Some(unknown) = wanted
        .iter()
        .find(|name| BENCHES.iter().all(|(known, _)| known != name))
    {
        let names: Vec<_> = BENCHES.iter().map(|(name, _)| *name).collect();
        anyhow::bail!(
            "there is no benchmark `{unknown}`; there are {}",
            names.join(", ")
        );
    }
    if quality::is_worker() {
        // A program reads what it prints.
        return quality::run();
    }
    for (name, run) in BENCHES {
        if wanted.is_empty() || wanted.iter().any(|wanted| wanted == name) {
            println!("\n== {name}");
            run()?;
        }
    }
    Ok(())
}
