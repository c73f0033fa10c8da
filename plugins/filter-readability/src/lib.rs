//! The filter `readability`: keeps a page's main body.
//!
//! 1. [`cut`] makes the page [`blocks`] of text in regions.
//! 2. [`features`] tells of each block what it is like, what surrounds it and what the page is.
//! 3. [`model`], learned from pages whose main body people marked, says how likely it belongs to the main body.
//! 4. [`companions`] lets code, captions and cells follow the text around them.
//! 5. [`choose`] takes the blocks that make the best of these probabilities.
//! 6. [`mask`] keeps their nodes, and the pictures and tables among them.

mod blocks;
mod choose;
mod companions;
mod cut;
mod facts;
mod features;
mod floor;
mod forest;
mod lexicon;
mod mask;
mod model;
mod stats;
#[cfg(test)]
mod tests;
#[doc(hidden)]
pub mod training;

use trawl_sdk::{Document, Failure, Filter, Info, Mask};

use crate::blocks::Page;
use crate::features::{Features, Row};
use crate::forest::ROWS;

/// Keeps the main body of a page: the article, the documentation, the thread, the product, the list.
pub struct Readability;

trawl_sdk::export!(filter: Readability);

impl Filter for Readability {
    type Options = ();

    fn info() -> Info {
        Info::new(
            "readability",
            env!("CARGO_PKG_VERSION"),
            "Keeps the main body of a page; drops navigation, advertisements, footers and what else stands around it",
        )
    }

    fn keep(document: &Document, _: ()) -> Result<Mask, Failure> {
        let Some(page) = Page::of(document) else {
            return Ok(floor::of(document));
        };
        if page.blocks.is_empty() {
            return Ok(Mask::of(document));
        }
        let mut probabilities = probabilities(&page);
        companions::lift(&page, &mut probabilities);
        choose::doubt_consent(&page, &mut probabilities);
        let choice = choose::choose(&page, &probabilities);
        if choice.is_weak() {
            let floor = floor::of(document);
            if floor::shows_text(document, &floor) {
                return Ok(floor);
            }
        }
        Ok(mask::of(&page, &choice.is_chosen))
    }
}

/// For each block how likely it belongs to the main body.
fn probabilities(page: &Page<'_>) -> Vec<f32> {
    let features = Features::of(page);
    let mut rows = [const { Row::new() }; ROWS];
    let mut probabilities = Vec::with_capacity(page.blocks.len());
    for first in (0..page.blocks.len()).step_by(ROWS) {
        let n_rows = ROWS.min(page.blocks.len() - first);
        for (at, row) in rows.iter_mut().enumerate().take(n_rows) {
            features.write(first + at, row);
        }
        probabilities.extend_from_slice(&model::BLOCKS.probabilities(&rows)[..n_rows]);
    }
    probabilities
}
