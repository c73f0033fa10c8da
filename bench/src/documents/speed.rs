//! How fast the programs read PDFs.

use std::sync::Arc;
use std::time::Duration;

use trawl_plugins::Registry;

use super::corpus::Document;
use super::readers::{self, Peer};

/// Goal of the speed: pages of PDFs a second and core, and a part of that of `pdftotext`.
const PAGES_A_SECOND: f64 = 40.0;
const SPEED_OF_PDFTOTEXT: f64 = 0.5;
/// One document of so many is timed: speed varies less between documents than scores do.
const ONE_OF: usize = 8;

/// What a program read of the sample in time.
#[derive(Default)]
struct Speed {
    n_documents: usize,
    n_pages: u32,
    time: Duration,
}

impl Speed {
    fn pages_a_second(&self) -> f64 {
        f64::from(self.n_pages) / self.time.as_secs_f64().max(f64::EPSILON)
    }
}

/// Has the programs read a sample one after the other, with nothing beside them and without a
/// search for tables that has a call of its own, and prints the pages a second of each.
pub(super) fn measure(registry: &Arc<Registry>, pdfs: &[Document]) -> anyhow::Result<()> {
    let mut peers = readers::all(registry)?;
    peers.retain(|peer| peer.reads("pdf"));
    let mut speeds: Vec<Speed> = peers.iter().map(|_| Speed::default()).collect();
    let sample: Vec<&Document> = pdfs.iter().step_by(ONE_OF).collect();
    for document in &sample {
        add(&peers, document, &mut speeds);
    }
    println!("speed on {} of the PDFs, each read alone", sample.len());
    for (peer, speed) in peers.iter().zip(&speeds) {
        println!(
            "{:<20} {:>9.1} pages/s, {} documents in time",
            peer.name,
            speed.pages_a_second(),
            speed.n_documents
        );
    }
    let of = |index: usize| speeds.get(index).map_or(0.0, Speed::pages_a_second);
    let (own, of_pdftotext) = (of(0), of(1));
    let goal = PAGES_A_SECOND.max(SPEED_OF_PDFTOTEXT * of_pdftotext);
    let verdict = if own < goal { ", MISSED" } else { "" };
    println!("speed: {own:.1} pages/s and core (goal: at least {goal:.1}{verdict})");
    Ok(())
}

/// Adds a document to the speeds of the programs that read it in time. Ours, the first, says how
/// many pages it has.
fn add(peers: &[Peer], document: &Document, speeds: &mut [Speed]) {
    let mut n_pages = 0;
    for (peer, speed) in peers.iter().zip(speeds) {
        let Ok(reading) = peer.read_first(&document.file) else {
            continue;
        };
        n_pages = n_pages.max(reading.n_pages);
        if n_pages == 0 {
            return;
        }
        speed.n_documents += 1;
        speed.n_pages += n_pages;
        speed.time += reading.time;
    }
}
