//! Parsing a page within limits.

use std::borrow::Cow;
use std::cell::RefCell;
use std::time::Instant;

use thiserror::Error;
use url::Url;

use super::Document;
use super::arena::Arena;
use super::layout::lay_out;
use super::names::Spellings;
use super::nesting::Guard;
use super::sink::Sink;
use super::source::Source;

/// Levels of nesting: what browsers allow. The tree builder's work, and the stack of every recursive reader, grow with it.
pub const DEPTH_MAX: usize = 512;
/// Attributes kept on one tag. Real tags have a dozen; each is compared with all before it.
pub const ATTRIBUTES_MAX: usize = 256;
/// Nodes in one page. The largest documents people read (whole standards on one page) have about a million;
/// this many need 150 MB while parsing.
pub const NODES_MAX: usize = 2_000_000;
/// Times its source a page's text may grow. Only values copied by the parser (formatting elements opened anew) grow it at all.
const TEXT_GROWTH_MAX: usize = 4;
/// Longest source in bytes: offsets are 32 bits wide and text may grow.
pub(super) const SOURCE_BYTES_MAX: usize = (u32::MAX / 8) as usize;
/// Tokens between two looks at the clock and at the limits.
const TICKS: u32 = 32;
/// Nodes for which memory is kept from one page to the next, on each thread.
const KEPT_NODES_MAX: usize = 1 << 16;

/// How much a page may ask for.
#[derive(Clone, Copy, Debug)]
pub struct ParseLimits {
    /// Levels of nesting; deeper elements become siblings.
    pub depth: usize,
    /// Attributes of one tag; further ones are dropped.
    pub attributes: usize,
    /// Nodes of the page; more are an error.
    pub nodes: usize,
    /// When parsing must have ended; `None` for no end.
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
    #[error("the page has more than `{max}` nodes, the most that are parsed")]
    TooManyNodes {
        /// Nodes allowed.
        max: usize,
    },
    /// The source is too long, or its markup multiplies its text.
    #[error("the page's text needs more than `{max}` bytes, the most that are parsed")]
    TooMuchText {
        /// Bytes allowed.
        max: usize,
    },
    /// Time was up.
    #[error("the page could not be parsed in the time left for it")]
    Deadline,
}

/// Parses HTML. `media_type` is lower case and without parameters.
///
/// The time is linear in the length of `text`, whatever it holds.
///
/// # Errors
/// [`ParseError`] when a limit is reached; markup alone never is an error.
pub fn parse(
    text: &str,
    url: &Url,
    media_type: &str,
    limits: &ParseLimits,
) -> Result<Document, ParseError> {
    if text.len() > SOURCE_BYTES_MAX {
        return Err(ParseError::TooMuchText {
            max: SOURCE_BYTES_MAX,
        });
    }
    let text = normalise(text);
    WORKSHOP.with_borrow_mut(|workshop| {
        let mut arena = std::mem::take(&mut workshop.arena);
        arena.reset(text_max(&text));
        arena.text.reserve(text.len());
        let guard = Guard::new(arena, limits.depth);
        let parsed = Source::new(&text, &guard, &mut workshop.spellings, limits.attributes)
            .run(&mut Meter::new(limits))
            .and_then(|()| finish(guard, url, limits));
        let (mut document, arena) = parsed?;
        workshop.keep(arena);
        media_type.clone_into(&mut document.media_type);
        Ok(document)
    })
}

fn finish(guard: Guard, url: &Url, limits: &ParseLimits) -> Result<(Document, Arena), ParseError> {
    let sink = guard.finish();
    Meter::new(limits).check(&sink)?;
    let mut arena = sink.arena.take();
    let document = lay_out(&sink, &mut arena, url, limits.depth);
    Ok((document, arena))
}

fn text_max(text: &str) -> usize {
    // A short page may repeat a few attributes many times without harm.
    const ALWAYS: usize = 1 << 20;
    text.len() * TEXT_GROWTH_MAX + ALWAYS
}

/// Line ends as the standard's preprocessing leaves them; a byte order mark is dropped.
pub(super) fn normalise(text: &str) -> Cow<'_, str> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    match memchr::memchr(b'\r', text.as_bytes()) {
        None => Cow::Borrowed(text),
        Some(_) => Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n")),
    }
}

/// Watches the limits while a page is parsed.
pub(super) struct Meter<'a> {
    limits: &'a ParseLimits,
    ticks: u32,
}

impl<'a> Meter<'a> {
    fn new(limits: &'a ParseLimits) -> Self {
        Self { limits, ticks: 0 }
    }

    /// Counts a token; every so often looks at the limits.
    pub(super) fn tick(&mut self, sink: &Sink) -> Result<(), ParseError> {
        self.ticks += 1;
        if self.ticks.is_multiple_of(TICKS) { self.check(sink) } else { Ok(()) }
    }

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

/// Memory that a thread uses again for its next page.
struct Workshop {
    arena: Arena,
    spellings: Spellings,
}

thread_local! {
    static WORKSHOP: RefCell<Workshop> = RefCell::new(Workshop {
        arena: Arena::default(),
        spellings: Spellings::new(),
    });
}

impl Workshop {
    fn keep(&mut self, arena: Arena) {
        if arena.nodes.capacity() <= KEPT_NODES_MAX {
            self.arena = arena;
        }
    }
}
