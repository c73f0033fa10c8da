//! Page data for training the model; not part of the plugin.

use trawl_metadata::{KindGuess, Metadata, PageKind, kind_evidence};
use trawl_sdk::Document;

use crate::blocks::{Mark, Page};
use crate::features::{Features, Row};
use crate::roles::{self, Outline};

/// A page as a training sample.
pub struct Sample {
    /// The text of each block.
    pub texts: Vec<String>,
    /// The region of each block.
    pub regions: Vec<u32>,
    /// The parent of each region.
    pub parents: Vec<u32>,
    /// Features of the blocks, row by row.
    pub values: Vec<f32>,
    /// Number of features per row.
    pub width: usize,
    /// For each family of features its name and one past its last feature.
    pub families: Vec<(&'static str, usize)>,
    /// The name of the role of each block; empty for none.
    pub roles: Vec<&'static str>,
    /// Whether the page is one by the model of articles.
    pub is_article: bool,
}

/// What tells the kind of a page.
pub fn kind_counts(document: &Document<'_>) -> Vec<f32> {
    kind_evidence(document)
}

/// Reads a page; `None` if it is too large.
pub fn sample(document: &Document<'_>) -> Option<Sample> {
    let page = Page::of(document)?;
    let features = Features::of(&page);
    let (mut values, mut row) = (Vec::new(), Row::new());
    for at in 0..page.blocks.len() {
        features.write(at, &mut row);
        values.extend_from_slice(&row.values[..row.width]);
    }
    Some(Sample {
        texts: texts(&page),
        regions: page.blocks.iter().map(|block| block.region).collect(),
        parents: page.regions.iter().map(|region| region.parent).collect(),
        values,
        width: row.width,
        families: if page.blocks.is_empty() {
            Vec::new()
        } else {
            features.families()
        },
        roles: roles_of(&page),
        is_article: KindGuess::of(document).is_some_and(|guess| guess.kind == PageKind::Article),
    })
}

/// The role of the first text of each block.
fn roles_of(page: &Page<'_>) -> Vec<&'static str> {
    let outline = Outline::of(page.document);
    let found = roles::find(&outline, &Metadata::of(page.document));
    let mut roles: Vec<Option<&'static str>> = vec![None; page.blocks.len()];
    for (&mark, role) in page.marks.iter().zip(found) {
        if let Mark::Text(at) = mark {
            roles[at as usize].get_or_insert(role.map_or("", |role| role.name()));
        }
    }
    roles.into_iter().map(Option::unwrap_or_default).collect()
}

fn texts(page: &Page<'_>) -> Vec<String> {
    let mut texts = vec![String::new(); page.blocks.len()];
    let mut last = None;
    for (node, &mark) in page.document.descendants().zip(&page.marks) {
        match (mark, last) {
            (Mark::Text(at), _) => {
                last = Some(at as usize);
                texts[at as usize] += node.as_text().unwrap_or_default();
            }
            (Mark::Blank | Mark::Media(_), Some(last)) => texts[last].push(' '),
            _ => {}
        }
    }
    texts
}
