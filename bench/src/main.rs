//! Measures what the README and the tests promise; one table, medians.

mod engine;

use std::io::Write;

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
    let mut out = std::io::stdout().lock();
    for row in engine::rows()? {
        let promise = row
            .at_most
            .map_or(String::new(), |most| format!("at most {most}"));
        writeln!(
            out,
            "{:<60} {:>10.2} {:<5} {promise}",
            row.name, row.median, row.unit
        )?;
    }
    Ok(())
}
