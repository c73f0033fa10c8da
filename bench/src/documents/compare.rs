//! The scores of all programs side by side.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use trawl_plugins::Registry;

use super::corpus::Document;
use super::readers::{self, Peer, Reading};
use super::scores::{self, KINDS, N_KINDS, Scores, Tally, line};
use crate::table;

/// How many documents are read at a time, each by one program after the other: one for each core.
/// Limits are of CPU time, so that this decides nothing.
const AT_ONCE: usize = 2;
/// How many programs must have written the PDFs.
const PRODUCERS: usize = 10;

/// What a program made of all documents that it reads.
#[derive(Default)]
pub(super) struct Row {
    name: &'static str,
    /// Over all documents.
    all: Pair,
    /// Over what every program had time for.
    in_time: Pair,
    n_documents: usize,
    n_failed: usize,
    /// Documents of which it did not read all in time, and those of them of which it lacks the
    /// tables alone.
    n_late: usize,
    n_late_tables: usize,
    n_pages: u32,
    producers: BTreeSet<String>,
}

/// The scores of a program, and those of ours on the same documents: not every program reads all
/// types.
#[derive(Default)]
struct Pair {
    theirs: Tally,
    ours: Tally,
}

/// What a program found in a document.
struct Found {
    scores: Scores,
    late: [bool; N_KINDS],
    error: Option<String>,
    n_pages: u32,
    producer: String,
}

/// What all programs found in a document, in their order: `None` of those that do not read its
/// type.
type Findings = Vec<Option<Found>>;

/// Has every program read every document. The first row is ours.
pub(super) fn rows(
    registry: &Arc<Registry>,
    documents: &[Document],
    is_each_printed: bool,
) -> anyhow::Result<Vec<Row>> {
    let names = readers::all(registry)?.into_iter().map(|peer| peer.name);
    let mut rows: Vec<Row> = names.map(Row::new).collect();
    let findings = find_all(registry, documents)?;
    for (document, findings) in documents.iter().zip(&findings) {
        add(&mut rows, findings);
        for (row, found) in rows.iter().zip(findings) {
            let Some(found) = found else { continue };
            if let Some(error) = &found.error {
                println!("{} failed on {}: {error}", row.name, document.name);
            }
            if is_each_printed {
                println!(
                    "{:<60.60} {:<20} {}",
                    document.name,
                    row.name,
                    line(&found.scores)
                );
            }
        }
    }
    rows.retain(|row| row.n_documents > 0);
    Ok(rows)
}

/// What all programs find in all documents, some of which are read at a time. A line on standard
/// error for each that is done makes an interrupted run worth something.
fn find_all(registry: &Arc<Registry>, documents: &[Document]) -> anyhow::Result<Vec<Findings>> {
    let (next, n_done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = || -> anyhow::Result<Vec<(usize, Findings)>> {
        let peers = readers::all(registry)?;
        let mut done = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(document) = documents.get(index) else {
                return Ok(done);
            };
            let findings = find(&peers, document)?;
            eprintln!(
                "{}/{} {}: {}",
                n_done.fetch_add(1, Ordering::Relaxed) + 1,
                documents.len(),
                document.name,
                summary(&peers, &findings)
            );
            done.push((index, findings));
        }
    };
    let mut all = table::on_threads(AT_ONCE, work)?
        .into_iter()
        .flatten()
        .collect::<Vec<_>>();
    all.sort_by_key(|(index, _)| *index);
    Ok(all.into_iter().map(|(_, findings)| findings).collect())
}

fn find(peers: &[Peer], document: &Document) -> anyhow::Result<Findings> {
    let truth = document.truth()?;
    let found = |reading: Reading| Found {
        scores: scores::of(&truth, &reading.structure),
        late: reading.late,
        error: reading.error,
        n_pages: reading.n_pages,
        producer: reading.producer,
    };
    let readers = peers.iter().map(|peer| {
        let reads = peer.reads(document.ending());
        reads.then(|| found(peer.read(&document.file)))
    });
    Ok(readers.collect())
}

/// The scores of all programs on one line, in the order of [`KINDS`].
fn summary(peers: &[Peer], findings: &[Option<Found>]) -> String {
    let parts = peers.iter().zip(findings).filter_map(|(peer, found)| {
        let found = found.as_ref()?;
        let scores = found.scores.iter().zip(found.late);
        let scores: Vec<String> = scores
            .map(|(score, is_late)| match score {
                Some(_) if is_late => "late".to_owned(),
                Some(score) => format!("{score:.2}"),
                None => "–".to_owned(),
            })
            .collect();
        let failed = if found.error.is_some() { " failed" } else { "" };
        Some(format!("{} {}{failed}", peer.name, scores.join(" ")))
    });
    parts.collect::<Vec<_>>().join(", ")
}

/// Adds a document to the rows.
fn add(rows: &mut [Row], findings: &[Option<Found>]) {
    let Some(Some(ours)) = findings.first() else {
        return;
    };
    let mut late = [false; N_KINDS];
    for found in findings.iter().flatten() {
        for (late, of_program) in late.iter_mut().zip(found.late) {
            *late |= of_program;
        }
    }
    for (row, found) in rows.iter_mut().zip(findings) {
        if let Some(found) = found {
            row.add(found, ours, late);
        }
    }
}

impl Row {
    fn new(name: &'static str) -> Self {
        Self {
            name,
            ..Self::default()
        }
    }

    /// Adds a document. Late is what some program had no time for.
    fn add(&mut self, found: &Found, ours: &Found, late: [bool; N_KINDS]) {
        self.all.theirs.add(&found.scores);
        self.all.ours.add(&ours.scores);
        self.in_time.theirs.add(&without(&found.scores, late));
        self.in_time.ours.add(&without(&ours.scores, late));
        self.n_documents += 1;
        self.n_failed += usize::from(found.error.is_some());
        let is_only_tables = found.late == KINDS.map(|kind| kind == "tables");
        self.n_late += usize::from(found.late.contains(&true));
        self.n_late_tables += usize::from(is_only_tables);
        self.n_pages += found.n_pages;
        self.producers.extend(program_of(&found.producer));
    }
}

/// Scores of what was read in time.
fn without(scores: &Scores, late: [bool; N_KINDS]) -> Scores {
    let mut kept = *scores;
    for (score, is_late) in kept.iter_mut().zip(late) {
        if is_late {
            *score = None;
        }
    }
    kept
}

/// Prints a row for each program, the goals, and what ours misses.
pub(super) fn print(title: &str, rows: &[Row], goals: &Scores) {
    let Some(ours) = rows.first() else { return };
    println!(
        "\n{} {title}: F1, where what is late or failed counts as 0",
        ours.n_documents
    );
    println!(
        "{:<20} {} {:>10} {:>7} {:>5} {:>12}",
        "",
        KINDS.map(|kind| format!("{kind:>9}")).concat(),
        "documents",
        "failed",
        "late",
        "tables alone"
    );
    for row in rows {
        println!(
            "{:<20} {} {:>10} {:>7} {:>5} {:>12}",
            row.name,
            line(&row.all.theirs.means()),
            row.n_documents,
            row.n_failed,
            row.n_late,
            row.n_late_tables
        );
    }
    println!("{:<20} {}", "goal", line(goals));
    if rows.iter().any(|row| row.n_late > 0) {
        println!("the same over what every program read in time");
        for row in rows {
            println!("{:<20} {}", row.name, line(&row.in_time.theirs.means()));
        }
        let counts = ours.in_time.ours.counts();
        println!(
            "{:<20} {}",
            "documents",
            counts.map(|count| format!("{count:>9}")).concat()
        );
    }
    print_missed(rows, goals);
}

/// Prints the goals that ours misses, and the programs that are better.
fn print_missed(rows: &[Row], goals: &Scores) {
    let means = rows.first().map(|ours| ours.all.theirs.means());
    for ((kind, mean), goal) in KINDS.iter().zip(means.unwrap_or_default()).zip(goals) {
        if let (Some(mean), Some(goal)) = (mean, goal)
            && mean < *goal
        {
            println!("{kind}: {mean:.3} is below the goal of {goal:.2}, MISSED");
        }
    }
    for peer in rows.iter().skip(1) {
        for (pair, which) in [(&peer.all, ""), (&peer.in_time, " that all read in time")] {
            let pairs = pair.theirs.means().into_iter().zip(pair.ours.means());
            for (kind, (theirs, ours)) in KINDS.iter().zip(pairs) {
                if let (Some(theirs), Some(ours)) = (theirs, ours)
                    && theirs > ours
                {
                    println!(
                        "{kind}: {} has {theirs:.3}, {ours:.3} on the same documents{which} is \
                         below, MISSED",
                        peer.name
                    );
                }
            }
        }
    }
}

/// Prints who wrote the PDFs.
pub(super) fn print_producers(rows: &[Row]) {
    let Some(ours) = rows.first() else { return };
    let n_producers = ours.producers.len();
    let verdict = if n_producers < PRODUCERS {
        ", MISSED"
    } else {
        ""
    };
    let producers: Vec<&str> = ours.producers.iter().map(String::as_str).collect();
    println!(
        "{} PDFs with {} pages by {n_producers} programs (goal: {PRODUCERS}{verdict}): {}",
        ours.n_documents,
        ours.n_pages,
        producers.join(", ")
    );
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
    use super::{Found, N_KINDS, Row, Scores, add, program_of};

    fn found(scores: Scores, late: [bool; N_KINDS]) -> Option<Found> {
        Some(Found {
            scores,
            late,
            error: None,
            n_pages: 1,
            producer: "pdfTeX-1.40.24".to_owned(),
        })
    }

    #[test]
    fn what_is_late_counts_as_nothing_and_is_left_out_beside() {
        let mut rows = [Row::new("ours"), Row::new("slow"), Row::new("other type")];
        let late = [false, false, true, false, false];
        let half = [Some(0.5), None, Some(0.5), None, None];
        let none = [Some(0.9), None, Some(0.0), None, None];
        add(
            &mut rows,
            &[found(half, [false; N_KINDS]), found(none, late), None],
        );
        add(
            &mut rows,
            &[
                found(half, [false; N_KINDS]),
                found(half, [false; N_KINDS]),
                None,
            ],
        );
        let [ours, slow, other] = rows;
        assert_eq!(
            (slow.n_documents, slow.n_late, slow.n_late_tables),
            (2, 1, 1)
        );
        assert_eq!((ours.n_late, other.n_documents), (0, 0));
        assert_eq!(slow.all.theirs.means()[2], Some(0.25));
        assert_eq!(slow.in_time.theirs.means()[2], Some(0.5));
        assert_eq!(ours.in_time.ours.counts(), [2, 0, 1, 0, 0]);
        assert_eq!(ours.all.ours.means(), half);
    }

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
}
