//! What the decoders read of PDFs and Office files, compared with the programs that people would
//! use otherwise: `cargo xtask bench documents`.
//!
//! `cargo xtask documents` fetches documents and programs into `target/documents` before. Truth is
//! the HTML that a document was published in as well, or that it was made of. All programs read
//! each document in one run; scores are means over the documents that have something of a kind.

mod bounds;
mod corpus;
mod made;
mod readers;
mod scores;
mod structure;
mod words;

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::time::Duration;

use corpus::Document;
use readers::Peer;
use scores::{KINDS, Scores, Tally};

/// Goals of the scores, in the order of [`KINDS`]: of PDFs, and of Office files.
const PDF_GOALS: Scores = [Some(0.97), Some(0.90), Some(0.85), Some(0.95), Some(0.90)];
const OFFICE_GOALS: Scores = [Some(0.99), Some(0.97), Some(0.97), None, None];
/// Goal of the speed: pages of PDFs a second and core, and a part of that of `pdftotext`.
const PAGES_A_SECOND: f64 = 40.0;
const SPEED_OF_PDFTOTEXT: f64 = 0.5;
/// How many programs must have written the PDFs.
const PRODUCERS: usize = 10;

/// Command-line options of this benchmark.
#[derive(Debug, clap::Args)]
pub(crate) struct DocumentsOptions {
    /// Only the documents with this in their name
    #[arg(long, value_name = "PART", default_value = "")]
    document: String,
    /// Only every so many of them: some programs take minutes for one
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
    let mut peers = readers::all(&registry)?;
    if !pdfs.is_empty() {
        let results = compare(&mut peers, &pdfs, options)?;
        print("PDFs", &results, &PDF_GOALS);
        print_pdfs(&results, pdfs.len());
    }
    if !office.is_empty() {
        let results = compare(&mut peers, &office, options)?;
        print("Office files", &results, &OFFICE_GOALS);
    }
    let all = [pdfs, office].concat();
    bounds::memory(&all, folder.path())?;
    bounds::hostile(&registry)
}

/// What a program made of all documents that it reads.
#[derive(Default)]
struct Row {
    name: &'static str,
    tally: Tally,
    /// The scores of ours on the same documents: not every program reads all types.
    ours: Tally,
    n_documents: usize,
    n_failed: usize,
    time: Duration,
    n_pages: u32,
    producers: BTreeSet<String>,
}

/// Has every program read every document. The first row is ours.
fn compare(
    peers: &mut [Peer],
    documents: &[Document],
    options: &DocumentsOptions,
) -> anyhow::Result<Vec<Row>> {
    let mut rows: Vec<Row> = peers
        .iter()
        .map(|peer| Row {
            name: peer.name,
            ..Row::default()
        })
        .collect();
    for document in documents {
        let truth = document.truth()?;
        let mut of_ours = None;
        for (peer, row) in peers.iter_mut().zip(&mut rows) {
            if !peer.reads(document.ending()) {
                continue;
            }
            let read = peer.read(&document.file);
            let reading = match read {
                Ok(reading) => reading,
                Err(error) => {
                    println!("{} failed on {}: {error:#}", peer.name, document.name);
                    row.n_failed += 1;
                    readers::Reading::default()
                }
            };
            let found = scores::of(&truth, &reading.structure);
            let ours = *of_ours.get_or_insert(found);
            row.tally.add(&found);
            row.ours.add(&ours);
            row.n_documents += 1;
            row.time += reading.time;
            row.n_pages += reading.n_pages;
            row.producers.extend(program_of(&reading.producer));
            if options.each_document {
                println!("{:<60.60} {:<20} {}", document.name, row.name, line(&found));
            }
        }
    }
    rows.retain(|row| row.n_documents > 0);
    Ok(rows)
}

/// Prints a row for each program, the goals, and what ours misses.
fn print(title: &str, rows: &[Row], goals: &Scores) {
    let Some(ours) = rows.first() else { return };
    println!("\n{} {title}: F1", ours.n_documents);
    println!(
        "{:<20} {} {:>10} {:>7}",
        "",
        KINDS.map(|kind| format!("{kind:>9}")).concat(),
        "documents",
        "failed"
    );
    for row in rows {
        println!(
            "{:<20} {} {:>10} {:>7}",
            row.name,
            line(&row.tally.means()),
            row.n_documents,
            row.n_failed
        );
    }
    println!("{:<20} {}", "goal", line(goals));
    let means = ours.tally.means();
    for ((kind, mean), goal) in KINDS.iter().zip(means).zip(goals) {
        if let (Some(mean), Some(goal)) = (mean, goal)
            && mean < *goal
        {
            println!("{kind}: {mean:.3} is below the goal of {goal:.2}, MISSED");
        }
    }
    for peer in rows.iter().skip(1) {
        let pairs = peer.tally.means().into_iter().zip(peer.ours.means());
        for (kind, (theirs, mine)) in KINDS.iter().zip(pairs) {
            if let (Some(theirs), Some(mine)) = (theirs, mine)
                && theirs > mine
            {
                println!(
                    "{kind}: {} has {theirs:.3}, {mine:.3} on the same documents is below, MISSED",
                    peer.name
                );
            }
        }
    }
}

/// Prints who wrote the PDFs, and pages a second.
fn print_pdfs(rows: &[Row], n_documents: usize) {
    let Some(ours) = rows.first() else { return };
    let n_producers = ours.producers.len();
    let verdict = if n_producers < PRODUCERS {
        ", MISSED"
    } else {
        ""
    };
    let producers: Vec<&str> = ours.producers.iter().map(String::as_str).collect();
    println!(
        "{n_documents} PDFs with {} pages by {n_producers} programs (goal: {PRODUCERS}{verdict}): {}",
        ours.n_pages,
        producers.join(", ")
    );
    let speed = |row: &Row| f64::from(ours.n_pages) / row.time.as_secs_f64().max(f64::EPSILON);
    for row in rows {
        println!("{:<20} {:>9.1} pages/s", row.name, speed(row));
    }
    let (own, of_pdftotext) = (speed(ours), rows.get(1).map_or(0.0, speed));
    let goal = PAGES_A_SECOND.max(SPEED_OF_PDFTOTEXT * of_pdftotext);
    let verdict = if own < goal { ", MISSED" } else { "" };
    println!("speed: {own:.1} pages/s and core (goal: at least {goal:.1}{verdict})");
}

/// Scores side by side.
fn line(scores: &Scores) -> String {
    let cells = scores.map(|score| match score {
        Some(score) => format!("{score:>9.3}"),
        None => format!("{:>9}", "–"),
    });
    cells.concat()
}

/// The name of the program that wrote a PDF, without its version.
fn program_of(producer: &str) -> Option<String> {
    let is_version = |word: &str| word.contains(|c: char| c.is_ascii_digit()) || word == "Version";
    let words = producer.split([' ', '-']);
    let name: Vec<&str> = words.take_while(|word| !is_version(word)).collect();
    let name = name.join(" ");
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::{line, program_of};

    #[test]
    fn programs_are_known_by_their_names() {
        for (producer, expected) in [
            ("pdfTeX-1.40.24", Some("pdfTeX")),
            ("GPL Ghostscript 10.00.0", Some("GPL Ghostscript")),
            ("Apache FOP Version 2.5", Some("Apache FOP")),
            ("", None),
        ] {
            assert_eq!(program_of(producer).as_deref(), expected, "{producer}");
        }
    }

    #[test]
    fn what_is_not_there_is_a_dash() {
        assert_eq!(
            line(&[Some(0.5), None, None, None, Some(1.0)]),
            "    0.500        –        –        –    1.000"
        );
    }
}
