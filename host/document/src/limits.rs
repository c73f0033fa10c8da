//! The limits of parsing one page, and what enforces them.

use std::time::Instant;

use thiserror::Error;

use super::sink::Sink;

/// Levels of nesting: as many as in Chromium, where `body` holds 511 elements in each other. The
/// work of the tree builder and the stack of every recursive reader grow with it.
pub const DEPTH_MAX: usize = 513;
/// Attributes of one tag. Real tags have a dozen; each is compared with all before it.
pub const ATTRIBUTES_MAX: usize = 256;
/// Nodes in one page. The largest documents that people read (whole standards on one page) have
/// about a million; this many need 150 MB during parsing.
pub const NODES_MAX: usize = 2_000_000;
/// Longest source in bytes: offsets are 32 bits wide, and text may grow.
pub(super) const SOURCE_BYTES_MAX: usize = (u32::MAX / 8) as usize;
/// Tokens between two checks of the limits.
const TICKS: u32 = 32;
/// Limits of parsing one page.
#[derive(Clone, Copy, Debug)]
pub struct ParseLimits {
    /// Levels of nesting; deeper elements become siblings.
    pub depth: usize,
    /// Attributes of one tag; further ones are dropped.
    pub attributes: usize,
    /// Nodes of the page; more are an error.
    pub nodes: usize,
    /// When parsing must be finished; `None` for no deadline.
    pub deadline: Option<Instant>,
}

impl Default for ParseLimits {
    fn default() -> Self {
        Self {
            depth: DEPTH_MAX,
            attributes: ATTRIBUTES_MAX,
            nodes: NODES_MAX,
            deadline: None,
        }
    }
}

/// Why a page was not parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ParseError {
    /// The page has more nodes than allowed.
    #[error("the page has more than `{max}` nodes, the limit")]
    TooManyNodes {
        /// Nodes allowed.
        max: usize,
    },
    /// The source is too long, or its markup multiplies its text.
    #[error("the page's text needs more than `{max}` bytes, the limit")]
    TooMuchText {
        /// Bytes allowed.
        max: usize,
    },
    /// The deadline passed.
    #[error("the page could not be parsed before its deadline")]
    Deadline,
}

/// Enforces the limits while a page is parsed.
pub(super) struct LimitCheck<'a> {
    limits: &'a ParseLimits,
    ticks: u32,
}

impl<'a> LimitCheck<'a> {
    pub(super) fn new(limits: &'a ParseLimits) -> Self {
        Self { limits, ticks: 0 }
    }

    /// Counts a token, and checks the limits every [`TICKS`] tokens.
    pub(super) fn tick(&mut self, sink: &Sink) -> Result<(), ParseError> {
        self.ticks += 1;
        if self.ticks.is_multiple_of(TICKS) {
            self.check(sink)
        } else {
            Ok(())
        }
    }

    /// Checks the limits now.
    pub(super) fn check(&self, sink: &Sink) -> Result<(), ParseError> {
        let arena = sink.arena.borrow();
        let max = self.limits.nodes;
        if arena.nodes.len() > max {
            return Err(ParseError::TooManyNodes { max });
        }
        if arena.is_full {
            return Err(ParseError::TooMuchText {
                max: arena.text_max,
            });
        }
        match self.limits.deadline {
            Some(deadline) if Instant::now() >= deadline => Err(ParseError::Deadline),
            _ => Ok(()),
        }
    }
}
