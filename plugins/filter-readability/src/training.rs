//! Page data for training the model; not part of the plugin.

use trawl_sdk::Document;

use crate::blocks::{Mark, Page};
use crate::features::{Features, Row};

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
    })
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
