//! One fetched page through the guests: decode, parse once, filter, format, extract, chunk.
//!
//! Everything here is synchronous work on the CPU. [`Workers`] puts it on blocking threads, no more at once than cores, so that a
//! well-behaved guest never runs out of time because it waited for a core.

mod cpu;
mod outputs;
mod workers;

use std::time::{Duration, Instant};

use bytes::Bytes;

pub use outputs::Outputs;
pub use workers::Workers;

use crate::document::{self, Document, ParseError, ParseLimits};
use crate::model::failure::status;
use crate::model::{Discovered, MediaKind, PageFailure};
use crate::plan::OutputPlan;
use crate::plugins::{PageView, Registry};

/// What is handed to the guests: a body and what is known about it.
#[derive(Clone, Debug)]
pub struct Input {
    /// Address after redirects.
    pub url: url::Url,
    /// Body, content-encoding removed, character set untouched.
    pub body: Bytes,
    /// The `Content-Type` header as received; may be empty.
    pub content_type: String,
}

/// CPU time one page took here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTime {
    /// Decoding and parsing.
    pub parse: Duration,
    /// Filters, extractors, formats and chunkers.
    pub transform: Duration,
}

/// Runs one page through the guests that `plan` names.
///
/// The outputs stand beside an optional failure: what could be made is kept even when one part failed.
pub fn run(
    registry: &Registry,
    input: &Input,
    plan: &OutputPlan,
    deadline: Instant,
) -> (Outputs, CpuTime) {
    let started = cpu::thread_time();
    let parsed = Parsed::new(input, plan, deadline);
    let parse = cpu::thread_time().saturating_sub(started);
    let mut outputs = match &parsed {
        Ok(parsed) => outputs::make(registry, &parsed.view(input), parsed.kind, plan),
        Err(failure) => Outputs::failed(failure.clone()),
    };
    let transform = cpu::thread_time().saturating_sub(started + parse);
    if let Ok(parsed) = parsed {
        outputs.discovered = parsed.links;
    }
    (outputs, CpuTime { parse, transform })
}

/// A page decoded and parsed.
struct Parsed<'a> {
    text: std::borrow::Cow<'a, str>,
    charset: &'static str,
    document: Document,
    kind: MediaKind,
    links: Option<Box<Discovered>>,
}

impl<'a> Parsed<'a> {
    fn new(input: &'a Input, plan: &OutputPlan, deadline: Instant) -> Result<Self, PageFailure> {
        let (media_type, kind) = document::sniff(&input.content_type, &input.body);
        if kind == MediaKind::Binary {
            let document = document::empty(&input.url, &media_type);
            return Ok(Self {
                text: "".into(),
                charset: "",
                document,
                kind,
                links: None,
            });
        }
        let decoded = document::decode(&input.body, &input.content_type);
        let is_scanned = plan.discover && kind == MediaKind::Html;
        let links = is_scanned.then(|| Box::new(document::scan(&decoded.text, &input.url)));
        let document = match kind {
            _ if !plan.needs_document() => document::empty(&input.url, &media_type),
            MediaKind::Html => {
                let limits = ParseLimits {
                    deadline: Some(deadline),
                    ..ParseLimits::default()
                };
                document::parse(&decoded.text, &input.url, &media_type, &limits)
                    .map_err(failure_of)?
            }
            MediaKind::Text | MediaKind::Binary => {
                document::plain(&decoded.text, &input.url, &media_type)
            }
        };
        Ok(Self {
            text: decoded.text,
            charset: decoded.charset,
            document,
            kind,
            links,
        })
    }

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

fn failure_of(error: ParseError) -> PageFailure {
    let status = match error {
        ParseError::Deadline => status::TIMED_OUT,
        _ => status::UNKNOWN,
    };
    PageFailure::new(status, error.to_string())
}
