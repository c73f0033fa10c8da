//! Parsing a page within limits.

use std::borrow::Cow;
use std::cell::RefCell;

use url::Url;

use super::arena::Arena;
use super::layout::lay_out;
use super::limits::{LimitCheck, ParseError, ParseLimits, SOURCE_BYTES_MAX};
use super::names::Spellings;
use super::nesting::Guard;
use super::page::Page;
use super::resolve::query_encoding;
use super::serialised::Serialised;
use super::sink::Sink;
use super::source::Source;
use super::xml::Dialect;
use super::{Document, shadow, xml};

/// Factor by which a page's text may exceed its source. It grows only by values that the tree
/// builder copies (formatting elements that it reopens).
const TEXT_GROWTH_MAX: usize = 4;
/// Nodes for which each thread keeps memory from one page to the next.
const REUSED_NODES_MAX: usize = 1 << 16;

/// Parses a page.
///
/// The time is linear in the length of its source, whatever that contains.
///
/// # Errors
/// [`ParseError`] when a limit is reached; malformed markup is never an error.
pub fn parse(page: &Page<'_>, limits: &ParseLimits) -> Result<Document, ParseError> {
    build_with(page, limits, |text, sink, spellings, check| {
        if xml::is_xml(page) {
            xml::build(text, &sink, Dialect::Xhtml, check)?;
            return Ok(sink);
        }
        let guard = Guard::new(sink, limits.depth);
        if page.is_serialised
            && let Some(serialised) = Serialised::of(text, limits.depth)
        {
            let prologue = serialised.prologue();
            Source::new(prologue, &guard, spellings, limits.attributes).run(check)?;
            let sink = guard.into_sink();
            serialised.build(&sink, spellings, limits.attributes, check)?;
            return Ok(sink);
        }
        Source::new(text, &guard, spellings, limits.attributes).run(check)?;
        Ok(guard.finish())
    })
}

/// Parses XML that is not a page, such as a feed: its elements are what they are named. `None` if
/// it is not well-formed.
///
/// # Errors
/// [`ParseError`] when a limit is reached.
pub fn parse_xml(page: &Page<'_>, limits: &ParseLimits) -> Result<Option<Document>, ParseError> {
    if !xml::is_well_formed(page.text) {
        return Ok(None);
    }
    let document = build_with(page, limits, |text, sink, _, check| {
        xml::build(text, &sink, Dialect::Data, check)?;
        Ok(sink)
    });
    document.map(Some)
}

/// Makes a document of the tree that `build` adds to the sink.
fn build_with(
    page: &Page<'_>,
    limits: &ParseLimits,
    build: impl FnOnce(&str, Sink, &mut Spellings, &mut LimitCheck<'_>) -> Result<Sink, ParseError>,
) -> Result<Document, ParseError> {
    if page.text.len() > SOURCE_BYTES_MAX {
        return Err(ParseError::TooMuchText {
            max: SOURCE_BYTES_MAX,
        });
    }
    let text = normalize(page.text);
    REUSED.with_borrow_mut(|reused| {
        let mut arena = std::mem::take(&mut reused.arena);
        arena.reset(text_max(&text));
        arena.text.reserve(text.len());
        let sink = Sink::new(arena, query_encoding(page.charset));
        let mut check = LimitCheck::new(limits);
        let sink = build(&text, sink, &mut reused.spellings, &mut check)?;
        let (mut document, arena) = finish(&sink, page.url, limits)?;
        reused.put_back(arena);
        page.media_type.clone_into(&mut document.media_type);
        Ok(document)
    })
}

fn finish(sink: &Sink, url: &Url, limits: &ParseLimits) -> Result<(Document, Arena), ParseError> {
    LimitCheck::new(limits).check(sink)?;
    let mut arena = sink.arena.take();
    shadow::flatten(&mut arena, &sink.names, &sink.shadows.borrow());
    let document = lay_out(sink, &mut arena, url, limits.depth);
    Ok((document, arena))
}

fn text_max(text: &str) -> usize {
    // A short page may repeat a few attributes many times without harm.
    const ALWAYS: usize = 1 << 20;
    text.len() * TEXT_GROWTH_MAX + ALWAYS
}

/// Normalizes line ends as the standard's preprocessing does, and drops a byte order mark.
fn normalize(text: &str) -> Cow<'_, str> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    match memchr::memchr(b'\r', text.as_bytes()) {
        None => Cow::Borrowed(text),
        Some(_) => Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n")),
    }
}

/// Memory that a thread reuses for its next page.
struct Reused {
    arena: Arena,
    spellings: Spellings,
}

thread_local! {
    static REUSED: RefCell<Reused> = RefCell::new(Reused {
        arena: Arena::default(),
        spellings: Spellings::new(),
    });
}

impl Reused {
    fn put_back(&mut self, arena: Arena) {
        if arena.nodes.capacity() <= REUSED_NODES_MAX {
            self.arena = arena;
        }
    }
}
