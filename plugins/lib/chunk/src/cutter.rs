//! Cuts a text into spans of a given number of units.

use std::collections::VecDeque;
use std::iter::Peekable;

use trawl_sdk::Span;

use super::Refine;
use super::blocks::{Blocks, heading_at_end};
use super::links::link_around;

/// Cuts a text into spans. Holds only the units of the current piece and of the block in which it
/// ends.
pub(super) struct Cutter<'t, U> {
    text: &'t str,
    units: U,
    blocks: Peekable<Blocks<'t>>,
    /// Target number of units in a piece.
    size: usize,
    /// Maximum number of units in a piece, if that keeps a block whole.
    most: usize,
    refine: Refine,
    /// Start of the current piece.
    start: usize,
    /// Offsets of its units, and of some after it.
    starts: VecDeque<u32>,
}

impl<'t, U: Iterator<Item = usize>> Cutter<'t, U> {
    pub(super) fn new(text: &'t str, units: U, size: usize, most: usize, refine: Refine) -> Self {
        Self {
            text,
            units,
            blocks: Blocks::of(text).peekable(),
            size,
            most,
            refine,
            start: 0,
            starts: VecDeque::new(),
        }
    }

    /// The spans; concatenated they are the text.
    pub(super) fn spans(mut self) -> Vec<Span> {
        let len = self.text.len();
        let mut spans = Vec::new();
        // Every unit has at least one byte.
        while self.size < len && self.fill(self.size.saturating_add(1), len) {
            let cut = self.cut();
            spans.push(Span::from(self.start..cut));
            self.start = cut;
            self.starts.drain(..self.units_before(cut));
        }
        if self.start < len {
            spans.push(Span::from(self.start..len));
        }
        spans
    }

    /// Reads units until there are `n_units` of them or one starts at or after `end`. Returns
    /// whether there are `n_units`.
    fn fill(&mut self, n_units: usize, end: usize) -> bool {
        let missing = n_units.saturating_sub(self.starts.len());
        let mut last = self.starts.back().map_or(0, |&last| last as usize);
        for _ in 0..missing {
            if last >= end {
                return false;
            }
            let Some(start) = self.units.next() else {
                return false;
            };
            self.starts.push_back(start as u32);
            last = start;
        }
        true
    }

    /// Number of units that start before `at`.
    fn units_before(&self, at: usize) -> usize {
        self.starts.partition_point(|&start| (start as usize) < at)
    }

    /// End of the current piece, which has more units than its target.
    fn cut(&mut self) -> usize {
        let full = self.starts[self.size] as usize;
        while self.blocks.next_if(|block| block.end <= full).is_some() {}
        let block = self.blocks.peek().filter(|block| block.start < full);
        let cut = match block.cloned() {
            None => {
                let cut = self.refined(full);
                self.outside_link(cut)
            }
            Some(block) => match self.beside(block.start, block.end) {
                Some(edge) => edge,
                // A line that looks like a heading inside code is not one.
                None => return self.inside(block.start, full),
            },
        };
        self.before_heading(cut)
    }

    /// The edge of a block to which a cut inside it moves; `None` if the block is too long to stay
    /// whole.
    fn beside(&mut self, start: usize, end: usize) -> Option<usize> {
        self.fill(self.size.saturating_add(self.most).saturating_add(1), end);
        let (before, after) = (self.units_before(start), self.units_before(end));
        let begins_next = before > 0 && after - before <= self.most;
        let is_end_nearer = after - self.size <= self.size - before;
        if after <= self.most && (is_end_nearer || !begins_next) {
            return Some(self.past_blank(end, after));
        }
        begins_next.then_some(start)
    }

    /// `end`, or the start of the unit `next` if only white space lies between them.
    fn past_blank(&self, end: usize, next: usize) -> usize {
        let next = self.starts.get(next).map_or(end, |&start| start as usize);
        let is_blank = self.text[end..next].trim_ascii_start().is_empty();
        if is_blank { next } else { end }
    }

    /// A line end inside a long block, in the second half of the piece.
    fn inside(&self, block_start: usize, full: usize) -> usize {
        let half = self.starts[self.size / 2] as usize;
        let from = half.max(block_start).max(self.start + 1);
        let line = self.text.get(from - 1..full).and_then(|it| it.rfind('\n'));
        match line {
            Some(line) => from + line,
            None => self.refined(full),
        }
    }

    fn refined(&self, full: usize) -> usize {
        let earliest = self.starts[self.size - self.size / 4] as usize;
        let wanted = (self.refine)(self.text, earliest, full);
        wanted.map_or(full, |cut| {
            let begins = self.starts.binary_search(&(cut as u32)).is_ok();
            if begins && cut > self.start && cut < full {
                cut
            } else {
                full
            }
        })
    }

    /// `cut`, or the start of the link that it would split, if at least half of the piece remains,
    /// otherwise its end, if the piece is not too long then.
    fn outside_link(&mut self, cut: usize) -> usize {
        let Some(link) = link_around(self.text, cut) else {
            return cut;
        };
        if self.units_before(link.start) >= self.size.div_ceil(2) {
            return link.start;
        }
        self.fill(self.most.saturating_add(1), link.end);
        let after = self.units_before(link.end);
        if after <= self.most {
            self.past_blank(link.end, after)
        } else {
            cut
        }
    }

    /// `cut`, or the start of a heading that would otherwise end the piece.
    fn before_heading(&self, cut: usize) -> usize {
        let heading = heading_at_end(&self.text[self.start..cut]).map(|at| self.start + at);
        let half = self.size.div_ceil(2);
        heading
            .filter(|&heading| self.units_before(heading) >= half)
            .unwrap_or(cut)
    }
}
