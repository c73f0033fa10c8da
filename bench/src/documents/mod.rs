//! What the decoders read of PDFs and Office files, compared with the programs that people would
//! use otherwise: `cargo xtask bench documents`.
//!
//! `cargo xtask documents` fetches documents and programs into `target/documents` before. Truth is
//! the HTML that a document was published in as well, or that it was made of. All programs read
//! each document in one run; scores are means over the documents that have something of a kind.
//! Each call of a program has a limit ([`limits`]). What it does not read in time counts as 0, and
//! the means over what every program read in time are printed beside.

mod bounds;
mod compare;
mod corpus;
mod limits;
mod made;
mod readers;
mod scores;
mod speed;
mod structure;
mod words;

use std::num::NonZeroUsize;

use corpus::Document;
use scores::Scores;

/// Goals of the scores, in the order of [`scores::KINDS`]: of PDFs, and of Office files.
const PDF_GOALS: Scores = [Some(0.97), Some(0.90), Some(0.85), Some(0.95), Some(0.90)];
const OFFICE_GOALS: Scores = [Some(0.99), Some(0.97), Some(0.97), None, None];

/// Command-line options of this benchmark.
#[derive(Debug, clap::Args)]
pub(crate) struct DocumentsOptions {
    /// Only the documents with this in their name
    #[arg(long, value_name = "PART", default_value = "")]
    document: String,
    /// Only every so many of them: all take about an hour
    #[arg(long, value_name = "N", default_value = "1")]
    every: NonZeroUsize,
    /// Print the scores of each document
    #[arg(long)]
    each_document: bool,
}

/// Prints the tables; without documents, how to get them.
pub(crate) fn run(options: &DocumentsOptions) -> anyhow::Result<()> {
    if !corpus::is_ready() {
        println!("skipped: needs `cargo xtask documents` (see bench/README.md)");
        return Ok(());
    }
    let mut documents = corpus::published()?;
    documents.extend(made::all()?);
    documents.retain(|document| document.name.contains(&options.document));
    let documents = documents.into_iter().step_by(options.every.get());
    let (pdfs, office): (Vec<Document>, Vec<Document>) =
        documents.partition(|document| document.ending() == "pdf");
    let folder = tempfile::tempdir()?;
    let registry = crate::corpus::registry(folder.path())?;
    if !pdfs.is_empty() {
        let rows = compare::rows(&registry, &pdfs, options.each_document)?;
        compare::print("PDFs", &rows, &PDF_GOALS);
        compare::print_producers(&rows);
        speed::measure(&registry, &pdfs)?;
    }
    if !office.is_empty() {
        let rows = compare::rows(&registry, &office, options.each_document)?;
        compare::print("Office files", &rows, &OFFICE_GOALS);
    }
    let all = [pdfs, office].concat();
    bounds::memory(&all, folder.path())?;
    bounds::hostile(&registry)
}
