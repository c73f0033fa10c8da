//! One fetched page through the plugins: decode the characters and, if it is not HTML, the
//! document; find links, parse once, filter, format, extract, chunk.
//!
//! Everything here is synchronous work on the CPU. [`Workers`] runs it on one thread per core, so
//! that a well-behaved plugin never runs out of time because it waited for a core. To read the
//! links of a short page for a crawl takes less time than to wake a thread, so no thread is woken.

mod analysis;
mod calls;
mod cpu;
mod decoding;
pub mod for_node;
mod job;
mod output_cache;
mod outputs;
mod pool;
pub mod remote;
#[cfg(test)]
mod testing;
mod used_plugins;
mod workers;

use std::borrow::Cow;
use std::time::{Duration, Instant};

use bytes::Bytes;
use url::Url;

use trawl_document::{Document, HeadStatements, ParseError, ParseLimits};
use trawl_model::{Cause, Discovered, MediaKind, PageFailure, timing};
use trawl_plan::{Format, OutputPlan};
use trawl_plugins::{PageView, Registry};

use analysis::FirstStep;
use decoding::Decoding;

pub use analysis::{Analysis, PendingQuestion};
pub use job::Extraction;
pub use output_cache::OutputCacheWrite;
pub use outputs::Outputs;
pub use workers::Workers;

/// The input of the plugins: a body and its metadata.
#[derive(Clone, Debug)]
pub struct Input {
    /// URL after redirects.
    pub url: Url,
    /// Body, content-encoding removed, character set untouched.
    pub body: Bytes,
    /// The `Content-Type` header as received; may be empty.
    pub content_type: String,
    /// Whether our own browser wrote the body from the tree of the page.
    pub is_serialised: bool,
    /// A PNG screenshot of the page, if a browser took one.
    pub screenshot: Option<Bytes>,
}

/// CPU time one page took here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTime {
    /// Decoding, finding links and parsing.
    pub parse: Duration,
    /// Filters, extractors, formats and chunkers.
    pub transform: Duration,
}

impl CpuTime {
    /// As much of it as can have passed in this time on one thread: what another node says of its
    /// CPU time is billed.
    fn at_most(self, elapsed: Duration) -> Self {
        let parse = self.parse.min(elapsed);
        let transform = self.transform.min(elapsed - parse);
        Self { parse, transform }
    }
}

/// Whether a format of the plan is a screenshot, which is bound to the page that a browser shows.
fn shows_screenshot(plan: &OutputPlan) -> bool {
    let mut formats = plan.formats.iter().map(|choice| &choice.format);
    formats.any(|format| matches!(format, Format::Screenshot | Format::ScreenshotBytes))
}

/// Runs one page through the plugins that `plan` names.
///
/// The outputs come with an optional failure: what could be made is returned even if one part
/// failed.
pub fn run(
    registry: &Registry,
    input: &Input,
    plan: &OutputPlan,
    deadline: Instant,
) -> (Outputs, CpuTime) {
    let (started, began) = (cpu::thread_time(), Instant::now());
    let mut source = PageText::new(input);
    let statements = source.statements(&input.url, plan);
    source.decode(registry, &input.url, plan);
    let discovered = plan.discover.then(|| source.discover(&input.url, plan));
    let document = source.parse(input, plan, deadline);
    let parsed = document.and_then(|it| Ok((it, source.xml(input, plan, deadline)?)));
    let parse = cpu::thread_time().saturating_sub(started);
    timing::note("parse", began);
    let made = match parsed {
        Ok(documents) => make(registry, input, plan, documents, source),
        Err(failure) => Outputs::failed(failure),
    };
    let outputs = Outputs {
        discovered,
        statements,
        ..made
    };
    let transform = cpu::thread_time().saturating_sub(started + parse);
    (outputs, CpuTime { parse, transform })
}

/// Makes every output of a parsed page, which comes with its own tree if it is XML. The document
/// lives on if an analyst waits for a model.
fn make(
    registry: &Registry,
    input: &Input,
    plan: &OutputPlan,
    (document, xml): (Document, Option<OriginalPage<'_>>),
    mut source: PageText<'_>,
) -> Outputs {
    let mut decoding = std::mem::take(&mut source.decoding);
    let xml = xml.as_ref().map(|page| page.view(input));
    let view = source.view(input, &document);
    let screenshot = input.screenshot.as_ref();
    let original = decoding.original.as_ref().filter(|_| plan.has_raw());
    let original = original.map(|original| source.original(input, original));
    let raw = original.as_ref().map(|page| (page.view(input), page.kind));
    let page = outputs::Page {
        view: &view,
        kind: source.kind,
        raw: raw.as_ref().map(|(view, kind)| (view, *kind)),
        xml: xml.as_ref(),
        screenshot,
    };
    let (mut outputs, begun) = outputs::make(registry, &page, plan);
    decoding.add_metadata(plan, &mut outputs.fields.metadata);
    if let Some(failure) = decoding.failure {
        outputs.failure = Some(failure);
    }
    outputs.analysis = begun.map(|begun| match begun {
        FirstStep::Done(answer) => Analysis::Done(answer),
        FirstStep::Ask(opening) => opening.own_page(document, source, input),
    });
    outputs
}

/// A page as text.
struct PageText<'a> {
    body: &'a [u8],
    content_type: &'a str,
    text: Cow<'a, str>,
    charset: &'static str,
    media_type: String,
    kind: MediaKind,
    is_serialised: bool,
    decoding: Decoding,
}

/// A decoded document as it would be without its decoder: what the format `raw` shows, and for XML
/// its own tree.
struct OriginalPage<'a> {
    document: Document,
    text: Cow<'a, str>,
    charset: &'static str,
    kind: MediaKind,
}

impl OriginalPage<'_> {
    fn view<'v>(&'v self, input: &'v Input) -> PageView<'v> {
        PageView {
            document: &self.document,
            kept: &[],
            text: &self.text,
            body: &input.body,
            content_type: &input.content_type,
            charset: self.charset,
        }
    }
}

impl<'a> PageText<'a> {
    fn new(input: &'a Input) -> Self {
        let (media_type, kind) = trawl_document::sniff(&input.content_type, &input.body);
        let (text, charset) = text_of(kind, input);
        Self {
            body: &input.body,
            content_type: &input.content_type,
            text,
            charset,
            media_type,
            kind,
            is_serialised: input.is_serialised && kind == MediaKind::Html,
            decoding: Decoding::default(),
        }
    }

    /// The document before it was decoded.
    fn original(&self, input: &'a Input, original: &decoding::Original) -> OriginalPage<'a> {
        let (text, charset) = text_of(original.kind, input);
        let document = match original.kind {
            MediaKind::Binary => trawl_document::empty(&input.url, &original.media_type),
            MediaKind::Html | MediaKind::Text => {
                trawl_document::plain(&text, &input.url, &original.media_type)
            }
        };
        OriginalPage {
            document,
            text,
            charset,
            kind: original.kind,
        }
    }

    /// The tree of a document that is XML and no page, for fields; `None` if it is not well-formed.
    /// Filters know the decoder's page only, so with one of them fields are of that page.
    fn xml(
        &self,
        input: &'a Input,
        plan: &OutputPlan,
        deadline: Instant,
    ) -> Result<Option<OriginalPage<'a>>, PageFailure> {
        let (media_type, kind) = match &self.decoding.original {
            Some(original) => (&original.media_type, original.kind),
            None => (&self.media_type, self.kind),
        };
        let is_wanted = plan.css_fields.is_some() && plan.filters.is_empty();
        if !is_wanted || kind == MediaKind::Html || !trawl_document::is_xml_type(media_type) {
            return Ok(None);
        }
        let (text, charset) = text_of(MediaKind::Text, input);
        let page = trawl_document::Page {
            text: &text,
            url: &input.url,
            media_type,
            charset,
            is_serialised: false,
        };
        let document = trawl_document::parse_xml(&page, &limits(deadline)).map_err(failure_of)?;
        Ok(document.map(|document| OriginalPage {
            document,
            text,
            charset,
            kind,
        }))
    }

    /// The page's links. Found in the source, so that they do not depend on the other outputs.
    fn discover(&self, url: &Url, plan: &OutputPlan) -> Discovered {
        let found = match self.kind {
            MediaKind::Html if plan.anchors => trawl_document::scan_with_anchors(&self.page(url)),
            MediaKind::Html => trawl_document::scan(&self.page(url)),
            MediaKind::Text | MediaKind::Binary => Discovered::default(),
        };
        match &plan.link_rewrite {
            Some(rule) => rule.rewrite(&found),
            None => found,
        }
    }

    /// What the head of an HTML page says about its use, if the plan reads it.
    fn statements(&self, url: &Url, plan: &OutputPlan) -> Option<Box<HeadStatements>> {
        let is_read = plan.rights && self.kind == MediaKind::Html;
        is_read.then(|| Box::new(trawl_document::head_statements(&self.page(url))))
    }

    fn parse(
        &self,
        input: &Input,
        plan: &OutputPlan,
        deadline: Instant,
    ) -> Result<Document, PageFailure> {
        let (url, media_type) = (&input.url, &self.media_type);
        match self.kind {
            _ if !plan.needs_document() => Ok(trawl_document::empty(url, media_type)),
            MediaKind::Binary => Ok(trawl_document::empty(url, media_type)),
            MediaKind::Text => Ok(trawl_document::plain(&self.text, url, media_type)),
            MediaKind::Html => {
                trawl_document::parse(&self.page(url), &limits(deadline)).map_err(failure_of)
            }
        }
    }

    /// The input of the parser.
    fn page<'v>(&'v self, url: &'v Url) -> trawl_document::Page<'v> {
        trawl_document::Page {
            text: &self.text,
            url,
            media_type: &self.media_type,
            charset: self.charset,
            is_serialised: self.is_serialised,
        }
    }

    fn view<'v>(&'v self, input: &'v Input, document: &'v Document) -> PageView<'v> {
        PageView {
            document,
            kept: &[],
            text: &self.text,
            body: &input.body,
            content_type: &input.content_type,
            charset: self.charset,
        }
    }
}

fn limits(deadline: Instant) -> ParseLimits {
    ParseLimits {
        deadline: Some(deadline),
        ..ParseLimits::default()
    }
}

/// The text of a body and its character set; empty if it is not text.
fn text_of(kind: MediaKind, input: &Input) -> (Cow<'_, str>, &'static str) {
    match kind {
        MediaKind::Binary => ("".into(), ""),
        MediaKind::Html | MediaKind::Text => {
            let decoded = trawl_document::decode(&input.body, &input.content_type);
            (decoded.text, decoded.charset)
        }
    }
}

fn failure_of(error: ParseError) -> PageFailure {
    let cause = match error {
        ParseError::Deadline => Cause::Timeout,
        ParseError::TooManyNodes { .. } | ParseError::TooMuchText { .. } => Cause::DocumentLimit,
    };
    PageFailure::new(cause, error.to_string())
}
