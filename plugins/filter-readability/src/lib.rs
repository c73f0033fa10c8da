//! The `readability` filter: keeps the main content of a page.
//!
//! 1. [`cut`] segments the page into [`blocks`] of text in regions. [`boundaries`] says where they
//!    begin and end, and [`margins`] leaves out what is marked up as navigation, aside or footer.
//! 2. [`features`] describes each block, its surroundings and the page.
//! 3. [`model`], trained on pages with manually labelled main content, predicts the probability
//!    that a block belongs to it; articles may have a model of their own.
//! 4. [`companions`] lets code, captions and cells follow the text around them, [`mains`] tells
//!    what is inside of `main` from the rest, and [`sections`] lifts lists of links and headings.
//!    Of [`documentation`] all of the main part is text, but for its [`contents`].
//! 5. [`choose`] selects the blocks with the best expected F1; [`sections`] adds the headings of
//!    sections among many whose headings are selected, and [`title`] that of the page.
//! 6. [`mask`] keeps their nodes, and the images and tables among them.
//! 7. [`roles`] adds and takes out what stands around the text, if the options say so: headline,
//!    byline, comments.

mod blocks;
mod boundaries;
mod choose;
mod companions;
mod contents;
mod cut;
mod documentation;
mod facts;
mod fallback;
mod features;
mod forest;
mod lexicon;
mod mains;
mod margins;
mod mask;
mod model;
mod roles;
mod sections;
mod stats;
#[cfg(test)]
mod tests;
mod title;
#[doc(hidden)]
pub mod training;

use trawl_metadata::{KindGuess, Metadata, PageKind};
use trawl_sdk::{Document, Failure, Filter, Info, Mask};

use crate::blocks::Page;
use crate::features::{Features, Row};
use crate::forest::{Forest, ROWS};
use crate::roles::{Outline, Wanted};

pub use crate::roles::{Options, Role};

/// Keeps the main content of a page: the article, documentation, thread, product or listing.
pub struct Readability;

trawl_sdk::export!(filter: Readability);

impl Filter for Readability {
    type Options = Options;

    fn info() -> Info {
        Info::new(
            "readability",
            env!("CARGO_PKG_VERSION"),
            "Keeps the main content of a page; removes navigation, advertisements, footers and other boilerplate",
        )
        .options_schema(roles::SCHEMA)
    }

    fn keep(document: &Document, options: Options) -> Result<Mask, Failure> {
        let wanted = options.wanted();
        let mask = main_content(document, wanted.is_body);
        Ok(if wanted.has_roles() {
            with_roles(document, mask, wanted)
        } else {
            mask
        })
    }
}

/// The main content; with more care if only the text of an article is wanted.
fn main_content(document: &Document<'_>, is_body: bool) -> Mask {
    let Some(page) = Page::of(document) else {
        return fallback::of(document);
    };
    if page.blocks.is_empty() {
        return Mask::of(document);
    }
    let kind = KindGuess::of(document);
    let is_article = kind.is_some_and(|guess| guess.kind == PageKind::Article);
    let is_documentation = documentation::is_guessed(kind);
    let mut probabilities = probabilities(&page, forest_of(is_article));
    companions::lift(&page, &mut probabilities);
    mains::adjust(&page, &mut probabilities);
    sections::lift(&page, &mut probabilities);
    if is_documentation {
        documentation::adjust(&page, &mut probabilities);
    } else if is_article {
        contents::lower(&page, 0, &mut probabilities);
    }
    choose::discount_consent(&page, &mut probabilities);
    let caution = if is_body {
        choose::CAUTION_OF_BODY
    } else {
        choose::CAUTION
    };
    let choice = choose::choose(&page, &probabilities, caution);
    if choice.is_weak() {
        if let Some(is_chosen) = mains::choice(&page) {
            return mask::of(&page, &is_chosen);
        }
        let mask = fallback::of(document);
        if fallback::shows_text(document, &mask) {
            return mask;
        }
    }
    let mut is_chosen = choose::complete(&page, &probabilities, choice.is_chosen);
    sections::keep_headings(&page, &mut is_chosen);
    if is_article || is_documentation {
        title::keep(&page, &mut is_chosen);
    }
    mask::of(&page, &is_chosen)
}

/// The main content with the roles that are wanted and without the others. A page whose text is
/// nothing else keeps it: it never becomes empty.
fn with_roles<'a>(document: &'a Document<'a>, mask: Mask, wanted: Wanted) -> Mask {
    let outline = Outline::of(document);
    let found = roles::find(&outline, &Metadata::of(document));
    let changed = roles::apply(document, &mask, (&outline, &found), wanted);
    if fallback::shows_text(document, &changed) {
        changed
    } else {
        mask
    }
}

/// For each block the probability that it belongs to the main content.
fn probabilities(page: &Page<'_>, forest: &Forest) -> Vec<f32> {
    let features = Features::of(page);
    let mut rows = [const { Row::new() }; ROWS];
    let mut probabilities = Vec::with_capacity(page.blocks.len());
    for first in (0..page.blocks.len()).step_by(ROWS) {
        let n_rows = ROWS.min(page.blocks.len() - first);
        for (at, row) in rows.iter_mut().enumerate().take(n_rows) {
            features.write(first + at, row);
        }
        probabilities.extend_from_slice(&forest.probabilities(&rows)[..n_rows]);
    }
    probabilities
}

/// The model of a page: articles may have one of their own.
fn forest_of(is_article: bool) -> &'static Forest {
    if is_article {
        model::ARTICLES
    } else {
        &model::BLOCKS
    }
}
