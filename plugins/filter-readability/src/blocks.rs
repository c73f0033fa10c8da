//! A page as blocks of text in regions.

use std::ops::Range;

use trawl_sdk::{Document, Tag};

use crate::facts::Facts;
use crate::lexicon::{FNV_START, Hint, N_HINTS, N_TOPICS};
use crate::stats::{Stats, share};

/// An element that interrupts the flow of text: CSS blocks, table cells, buttons, custom elements.
#[derive(Clone, Debug)]
pub(crate) struct Region {
    /// The parent region; the root is its own parent.
    pub(crate) parent: u32,
    pub(crate) tag: Tag,
    pub(crate) depth: u16,
    /// Distance to the nearest ancestor with each hint, itself included; [`FAR`] if there is none.
    pub(crate) near: [u8; N_HINTS],
    /// Hash of tag and first class, of this element and up to three ancestors.
    pub(crate) signature: u32,
    /// Hash of tag and first class.
    pub(crate) own: u32,
    /// Index among its sibling regions.
    pub(crate) index: u32,
    /// Number of child regions.
    pub(crate) n_children: u32,
    /// Number of sibling regions with the same tag and class.
    pub(crate) n_alike: u32,
    /// All text inside.
    pub(crate) stats: Stats,
    /// Blocks inside: the first, and one past the last.
    pub(crate) blocks: (u32, u32),
    pub(crate) n_media: u32,
    pub(crate) n_controls: u32,
    pub(crate) n_headings: u32,
    /// Number of elements that are never kept: scripts, styles, menus of forms, what is hidden.
    pub(crate) n_unseen: u32,
}

/// A run of text between two region boundaries.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    /// The containing region.
    pub(crate) region: u32,
    pub(crate) stats: Stats,
    pub(crate) topics: [u8; N_TOPICS],
    /// Hints of inline elements.
    pub(crate) hints: u64,
    pub(crate) hash: u32,
    pub(crate) title_words: u16,
    pub(crate) first: char,
    pub(crate) last: char,
    pub(crate) strong_units: f32,
    pub(crate) code_units: f32,
    /// Number of images and line breaks between its texts.
    pub(crate) n_media: u16,
    pub(crate) n_breaks: u16,
}

/// Role of a node in the selection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// Text of a block.
    Text(u32),
    /// An element with visible content but no text, in a region.
    Media(u32),
    /// Any other element, in a region.
    Element(u32),
    /// An element whose content is hidden until a script runs (`<noscript>` too), in a region.
    Cover(u32),
    /// Follows its parent: blank text, comments, parts of media.
    Blank,
    /// Never visible, and form options.
    Unseen,
    /// Head and data, which are always kept.
    Data,
}

/// A page segmented into blocks.
pub(crate) struct Page<'a> {
    pub(crate) document: &'a Document<'a>,
    pub(crate) regions: Vec<Region>,
    pub(crate) blocks: Vec<Block>,
    /// The role of each node in document order, without the document itself.
    pub(crate) marks: Vec<Mark>,
    /// The parent of each node by index; `u32::MAX` for the document.
    pub(crate) parents: Vec<u32>,
    /// Hashes of the title's words, in order.
    pub(crate) title: Vec<u32>,
    pub(crate) facts: Facts,
}

/// Distance from which on a hint counts as absent.
pub(crate) const FAR: u8 = 30;

impl<'a> Page<'a> {
    /// Computes what depends on the whole page.
    pub(crate) fn sum_up(&mut self) {
        for (at, block) in self.blocks.iter().enumerate() {
            let region = &mut self.regions[block.region as usize];
            region.stats.add(&block.stats);
            if region.blocks.1 == 0 {
                region.blocks.0 = at as u32;
            }
            region.blocks.1 = at as u32 + 1;
        }
        for at in (1..self.regions.len()).rev() {
            let (outer, inner) = self.regions.split_at_mut(at);
            let (region, parent) = (&inner[0], &mut outer[inner[0].parent as usize]);
            parent.stats.add(&region.stats);
            parent.n_media += region.n_media;
            parent.n_controls += region.n_controls;
            parent.n_headings += region.n_headings;
            parent.n_unseen += region.n_unseen;
            if region.blocks.1 > 0 {
                let (first, end) = region.blocks;
                let is_first = parent.blocks.1 == 0;
                parent.blocks.0 = if is_first {
                    first
                } else {
                    parent.blocks.0.min(first)
                };
                parent.blocks.1 = parent.blocks.1.max(end);
            }
        }
        self.count_alike();
    }

    fn count_alike(&mut self) {
        let mut order: Vec<(u32, u32, u32)> = (1..self.regions.len())
            .map(|at| (self.regions[at].parent, self.regions[at].own, at as u32))
            .collect();
        order.sort_unstable();
        for group in order.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            for &(.., at) in group {
                self.regions[at as usize].n_alike = group.len() as u32;
            }
        }
    }

    /// The parent of node `at`; `None` if it is the document.
    pub(crate) fn parent(&self, at: usize) -> Option<usize> {
        let parent = self.parents[at];
        (parent != u32::MAX).then_some(parent as usize)
    }

    /// The headings with text, in document order.
    pub(crate) fn headings(&self) -> impl DoubleEndedIterator<Item = &Region> {
        let is_heading = |region: &&Region| region.tag.heading_level().is_some();
        let regions = self.regions.iter().filter(is_heading);
        regions.filter(|region| !region.range().is_empty())
    }

    /// A region and its ancestors, innermost first.
    pub(crate) fn around(&self, region: u32) -> impl Iterator<Item = u32> {
        std::iter::successors(Some(region), |&at| {
            (at != 0).then(|| self.regions[at as usize].parent)
        })
    }
}

impl Region {
    /// Whether the element itself has a hint, and not only one around it.
    pub(crate) fn has(&self, hint: Hint) -> bool {
        self.near[hint as usize] == 0
    }

    /// The blocks inside.
    pub(crate) fn range(&self) -> Range<usize> {
        self.blocks.0 as usize..self.blocks.1 as usize
    }

    /// The document as a region.
    pub(crate) fn root() -> Self {
        Self {
            parent: 0,
            tag: Tag::Html,
            depth: 0,
            near: [FAR; N_HINTS],
            signature: FNV_START,
            own: FNV_START,
            index: 0,
            n_children: 0,
            n_alike: 1,
            stats: Stats::default(),
            blocks: (0, 0),
            n_media: 0,
            n_controls: 0,
            n_headings: 0,
            n_unseen: 0,
        }
    }
}

impl Block {
    /// An empty block.
    pub(crate) fn new(region: u32) -> Self {
        Self {
            region,
            stats: Stats::default(),
            topics: [0; N_TOPICS],
            hints: 0,
            hash: 0,
            title_words: 0,
            first: ' ',
            last: ' ',
            strong_units: 0.0,
            code_units: 0.0,
            n_media: 0,
            n_breaks: 0,
        }
    }

    /// Whether the block reads like prose: long enough, few links, common words and punctuation.
    pub(crate) fn is_prose(&self) -> bool {
        let stats = &self.stats;
        stats.units >= 10.0
            && stats.link_share() < 0.4
            && share(stats.common, stats.units) > 0.12
            && (stats.sentences > 0.0 || stats.units > 20.0)
    }
}
