//! `cargo xtask bench [NAME]`: how fast Trawl is, as ratios measured side by side in one run.

#![expect(clippy::print_stdout, reason = "a benchmark's output is its table")]

mod corpus;
mod engine;
mod guests;
mod ledger;
mod scrape;
mod table;

use mimalloc::MiMalloc;

/// The server's allocator, so that what is measured is what it does.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// One line of the table.
pub(crate) struct Row {
    /// What was measured.
    pub(crate) name: String,
    /// The median.
    pub(crate) median: f64,
    /// Its unit.
    pub(crate) unit: &'static str,
    /// The most it may be; `None` when nothing is promised.
    pub(crate) at_most: Option<f64>,
}

fn main() -> anyhow::Result<()> {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    if let Some(unknown) = wanted.iter().find(|name| BENCHES.iter().all(|(known, _)| known != name)) {
        let names: Vec<_> = BENCHES.iter().map(|(name, _)| *name).collect();
        anyhow::bail!("there is no benchmark `{unknown}`; there are {}", names.join(", "));
    }
    for (name, run) in BENCHES {
        if wanted.is_empty() || wanted.iter().any(|wanted| wanted == name) {
            println!("\n== {name}");
            run()?;
        }
    }
    Ok(())
}
