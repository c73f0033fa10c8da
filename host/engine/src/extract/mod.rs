//! One fetched page through the plugins: decode, find links, parse once, filter, format, extract,
//! chunk.
//!
//! Everything here is synchronous work on the CPU. [`Workers`] runs it on one thread per core, so
//! that a well-behaved plugin never runs out of time because it waited for a core.

mod analysis;
mod calls;
mod cpu;
mod output_cache;
mod outputs;
mod pool;
mod workers;

use std::borrow::Cow;
use std::time::{Duration, Instant};

use bytes::Bytes;
use url::Url;

use trawl_document::{Document, ParseError, ParseLimits};
use trawl_model::{Cause, Discovered, MediaKind, PageFailure};
use trawl_plan::OutputPlan;
use trawl_plugins::{PageView, Registry};

use analysis::FirstStep;

pub use analysis::{Analysis, PendingQuestion};
pub use output_cache::OutputCacheWrite;
pub use outputs::Outputs;
pub use workers::{Extraction, Workers};

/// The input of the plugins: a body and its metadata.
#[derive(Clone, Debug)]
pub struct Input {
    /// URL after redirects.
    pub url: Url,
    /// Body, content-encoding removed, character set untouched.
    pub body: Bytes,
    /// The `Content-Type` header as received; may be empty.
    pub content_type: String,
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
    let started = cpu::thread_time();
    let source = Source::new(input);
    let discovered = plan.discover.then(|| source.discover(&input.url, plan));
    let parsed = source.parse(input, plan, deadline);
    let parse = cpu::thread_time().saturating_sub(started);
    let made = match parsed {
        Ok(document) => make(registry, input, plan, document, source),
        Err(failure) => Outputs::failed(failure),
    };
    let outputs = Outputs { discovered, ..made };
    let transform = cpu::thread_time().saturating_sub(started + parse);
    (outputs, CpuTime { parse, transform })
}

/// Makes every output of a parsed page. The document lives on if an analyst waits for a model.
fn make(
    registry: &Registry,
    input: &Input,
    plan: &OutputPlan,
    document: Document,
    source: Source<'_>,
) -> Outputs {
    let view = source.view(input, &document);
    let screenshot = input.screenshot.as_ref();
    let (mut outputs, begun) = outputs::make(registry, &view, source.kind, screenshot, plan);
    outputs.analysis = begun.map(|begun| match begun {
        FirstStep::Done(answer) => Analysis::Done(answer),
        FirstStep::Ask(opening) => opening.own_page(document, source, input),
    });
    outputs
}

/// A decoded page.
struct Source<'a> {
    text: Cow<'a, str>,
    charset: &'static str,
    media_type: String,
    kind: MediaKind,
}

impl<'a> Source<'a> {
    fn new(input: &'a Input) -> Self {
        let (media_type, kind) = trawl_document::sniff(&input.content_type, &input.body);
        let (text, charset) = match kind {
            MediaKind::Binary => ("".into(), ""),
            MediaKind::Html | MediaKind::Text => {
                let decoded = trawl_document::decode(&input.body, &input.content_type);
                (decoded.text, decoded.charset)
            }
        };
        Self {
            text,
            charset,
            media_type,
            kind,
        }
    }

    /// The page's links. Found in the source, so that they do not depend on the other outputs.
    fn discover(&self, url: &Url, plan: &OutputPlan) -> Discovered {
        let found = match self.kind {
            MediaKind::Html => trawl_document::scan(&self.text, url),
            MediaKind::Text | MediaKind::Binary => Discovered::default(),
        };
        match &plan.link_rewrite {
            Some(rule) => rule.rewrite(&found),
            None => found,
        }
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
                let limits = ParseLimits {
                    deadline: Some(deadline),
                    ..ParseLimits::default()
                };
                trawl_document::parse(&self.text, url, media_type, &limits).map_err(failure_of)
            }
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

fn failure_of(error: ParseError) -> PageFailure {
    let cause = match error {
        ParseError::Deadline => Cause::Timeout,
        ParseError::TooManyNodes { .. } | ParseError::TooMuchText { .. } => Cause::DocumentLimit,
    };
    PageFailure::new(cause, error.to_string())
}
