//! The outputs of one page: masks, formats, extractors, chunks.

use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::{Map, Value};

use trawl_document::HeadStatements;
use trawl_model::{Cause, Content, Discovered, Fields, MediaKind, PageFailure, Piece};
use trawl_plan::output::{HIDDEN_TEXT, JSON_DATA, LINKS, METADATA, PRUNE, READABILITY, SELECTORS};
use trawl_plan::{Chunking, Format, FormatChoice, OutputPlan};
use trawl_plugins::{PageView, Registry, Rendered};

use super::analysis::{self, Analysis, FirstStep};
use super::calls::{failure_of, not_loaded, options_text};

/// Key of `metadata` for parameters whose selector matched nothing.
const UNMATCHED: &str = "unmatched";
/// The selector outside of which nothing is left.
const ROOT_SELECTOR: &str = "root_selector";

/// The outputs of a page. `failure` is set if a part could not be made; the other parts are
/// present.
#[derive(Clone, Debug, Default)]
pub struct Outputs {
    /// Content in the requested formats; empty strings where a format failed.
    pub content: Content,
    /// What was requested and extracted from the page.
    pub fields: Fields,
    /// The page's links, if the plan discovers them; none if it is not HTML.
    pub discovered: Option<Discovered>,
    /// What the page's head says about its use, if the plan reads it.
    pub statements: Option<Box<HeadStatements>>,
    /// The state of the plan's analyst: its answer, or a question for a model.
    pub analysis: Option<Analysis>,
    /// The first thing that failed.
    pub failure: Option<PageFailure>,
}

impl Outputs {
    /// A failure without outputs.
    pub fn failed(failure: PageFailure) -> Self {
        Self {
            failure: Some(failure),
            ..Self::default()
        }
    }

    /// The same for sharing: strings of content already written as JSON.
    pub(super) fn written(self) -> Self {
        let content = match self.content {
            Content::One(piece) => Content::One(piece.written()),
            Content::ByFormat(pieces) => {
                let pieces = pieces.into_iter();
                Content::ByFormat(
                    pieces
                        .map(|(name, piece)| (name, piece.written()))
                        .collect(),
                )
            }
        };
        Self { content, ..self }
    }

    /// Approximate bytes in memory.
    pub(crate) fn bytes(&self) -> u64 {
        let values = [
            &self.fields.links,
            &self.fields.json_data,
            &self.fields.css_extracted,
        ];
        let maps = [&self.fields.metadata, &self.fields.extracted];
        let discovered = self.discovered.as_ref().map_or(0, Discovered::bytes);
        let said = self.statements.as_ref().map_or(0, |said| said.bytes());
        let fields: usize = values.into_iter().flatten().map(value_bytes).sum();
        let maps: usize = maps.into_iter().flatten().map(map_bytes).sum();
        (content_bytes(&self.content) + fields + maps + discovered + said + size_of::<Self>())
            as u64
    }

    /// The part if it was made; otherwise records the first failure.
    fn part<T>(&mut self, made: Result<T, PageFailure>) -> Option<T> {
        made.map_err(|failure| self.failure.get_or_insert(failure))
            .ok()
    }
}

fn content_bytes(content: &Content) -> usize {
    let piece_bytes = |piece: &Piece| match piece {
        Piece::Text(text) => text.capacity(),
        Piece::Written(written) => written.get().len(),
        Piece::Bytes(bytes) => bytes.capacity(),
        Piece::Chunks(chunks) => {
            let texts: usize = chunks.iter().map(String::capacity).sum();
            texts + chunks.capacity() * size_of::<String>()
        }
    };
    match content {
        Content::One(piece) => piece_bytes(piece),
        Content::ByFormat(pieces) => {
            let named = pieces.iter();
            named
                .map(|(name, piece)| {
                    name.capacity() + piece_bytes(piece) + size_of::<(String, Piece)>()
                })
                .sum()
        }
    }
}

fn map_bytes(map: &Map<String, Value>) -> usize {
    let entries = map.iter();
    entries
        .map(|(name, value)| name.capacity() + size_of::<String>() + value_bytes(value))
        .sum()
}

/// Values of extractors were read from JSON text, so their depth is bounded.
fn value_bytes(value: &Value) -> usize {
    let inner = match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.capacity(),
        Value::Array(values) => values.iter().map(value_bytes).sum(),
        Value::Object(map) => map_bytes(map),
    };
    inner + size_of::<Value>()
}

/// A page that outputs are made of.
pub(super) struct Page<'a> {
    pub(super) view: &'a PageView<'a>,
    pub(super) kind: MediaKind,
    /// What `raw` shows of a decoded document, and what that is.
    pub(super) raw: Option<(&'a PageView<'a>, MediaKind)>,
    /// The document itself, if it is XML, for fields.
    pub(super) xml: Option<&'a PageView<'a>>,
    /// A PNG screenshot, if a browser took one.
    pub(super) screenshot: Option<&'a Bytes>,
}

/// Makes every output that `plan` names; the first step of an analysis is separate, because it may
/// need to own the page.
pub(super) fn make(
    registry: &Registry,
    page: &Page<'_>,
    plan: &OutputPlan,
) -> (Outputs, Option<FirstStep>) {
    let view = page.view;
    let masks = match Masks::make(registry, view, page.kind, plan) {
        Ok(masks) => masks,
        Err(failure) => return (Outputs::failed(failure), None),
    };
    let mut outputs = Outputs::default();
    outputs.content = contents(registry, page, &masks.main(view), plan, &mut outputs);
    read_fields(registry, page, &masks.filtered(view), plan, &mut outputs);
    if masks.is_root_missing {
        let metadata = outputs.fields.metadata.get_or_insert_default();
        metadata.insert(UNMATCHED.to_owned(), vec![ROOT_SELECTOR].into());
    }
    let begun = plan.analyst.as_ref().and_then(|choice| {
        let begun = analysis::begin(registry, choice, &masks.filtered(view));
        outputs.part(begun)
    });
    (outputs, begun)
}

/// What filters left of a page.
struct Masks {
    /// After the filters that the caller named; empty for everything.
    filtered: Vec<u8>,
    /// After `readability` on top of them; `None` without it.
    main: Option<Vec<u8>>,
    /// Whether nothing matched `root_selector`.
    is_root_missing: bool,
}

impl Masks {
    /// Runs the filters in order; each sees what the ones before it left.
    fn make(
        registry: &Registry,
        view: &PageView<'_>,
        kind: MediaKind,
        plan: &OutputPlan,
    ) -> Result<Self, PageFailure> {
        let mut masks = Self {
            filtered: Vec::new(),
            main: None,
            is_root_missing: false,
        };
        if kind != MediaKind::Html {
            return Ok(masks);
        }
        for (name, options) in &plan.filters {
            masks.filtered = run_filter(registry, &masks.filtered(view), name, options)?;
            masks.is_root_missing |= name == PRUNE
                && !options[ROOT_SELECTOR].is_null()
                && !keeps_document(&masks.filtered);
        }
        if let Some(options) = &plan.readability {
            let filtered = masks.filtered(view);
            masks.main = Some(run_filter(registry, &filtered, READABILITY, options)?);
        }
        Ok(masks)
    }

    fn filtered<'v>(&'v self, view: &PageView<'v>) -> PageView<'v> {
        PageView {
            kept: &self.filtered,
            ..*view
        }
    }

    /// What formats render.
    fn main<'v>(&'v self, view: &PageView<'v>) -> PageView<'v> {
        PageView {
            kept: self.main.as_ref().unwrap_or(&self.filtered),
            ..*view
        }
    }
}

/// Whether the document node is left: the root of whatever is.
fn keeps_document(mask: &[u8]) -> bool {
    mask.first().is_none_or(|first| first & 1 != 0)
}

fn run_filter(
    registry: &Registry,
    view: &PageView<'_>,
    name: &str,
    options: &Value,
) -> Result<Vec<u8>, PageFailure> {
    let filter = registry
        .filter(name)
        .ok_or_else(|| not_loaded("filter", name))?;
    filter
        .keep(view, &options_text(options))
        .map_err(failure_of)
}

/// The page in every requested format.
fn contents(
    registry: &Registry,
    page: &Page<'_>,
    view: &PageView<'_>,
    plan: &OutputPlan,
    outputs: &mut Outputs,
) -> Content {
    let screenshot = page.screenshot;
    let mut pieces = plan.formats.iter().map(|choice| {
        let made = match &choice.format {
            Format::Screenshot => {
                screenshot_of(screenshot).map(|png| Piece::Text(STANDARD.encode(png)))
            }
            Format::ScreenshotBytes => {
                screenshot_of(screenshot).map(|png| Piece::Bytes(png.to_vec()))
            }
            Format::Empty => piece(registry, Rendered::Text(String::new()), plan),
            Format::Plugin(name) => {
                let (view, kind) = match page.raw {
                    Some(raw) if choice.is_raw() => raw,
                    _ => (view, page.kind),
                };
                content(registry, view, kind, name, choice)
                    .and_then(|rendered| piece(registry, rendered, plan))
            }
        };
        outputs.part(made).unwrap_or(Piece::Text(String::new()))
    });
    if plan.single_format {
        pieces.next().map_or_else(Content::default, Content::One)
    } else {
        let names = plan.formats.iter().map(|choice| choice.name.clone());
        Content::ByFormat(names.zip(pieces).collect())
    }
}

/// The requested fields. Metadata and structured data cover the whole page, whatever filters left
/// of it: they are mostly outside its body.
fn read_fields(
    registry: &Registry,
    page: &Page<'_>,
    filtered: &PageView<'_>,
    plan: &OutputPlan,
    outputs: &mut Outputs,
) {
    let (whole, nothing) = (page.view, &Value::Null);
    let mut read = |view: &PageView<'_>, name: &str, options: &Value| {
        outputs.part(extract(registry, view, name, options))
    };
    let mut fields = Fields::default();
    if plan.links {
        let links = read(filtered, LINKS, nothing);
        fields.links = links.map(|links| match &plan.link_rewrite {
            Some(rule) => rule.rewrite_list(links),
            None => links,
        });
    }
    if plan.metadata
        && let Some(Value::Object(metadata)) = read(whole, METADATA, nothing)
    {
        fields.metadata = Some(metadata);
    }
    if plan.hidden_text
        && let Some(hidden) = read(filtered, HIDDEN_TEXT, nothing)
    {
        let metadata = fields.metadata.get_or_insert_default();
        metadata.insert(HIDDEN_TEXT.to_owned(), hidden);
    }
    if plan.json_data {
        fields.json_data = read(whole, JSON_DATA, nothing);
    }
    if let Some(options) = &plan.css_fields {
        fields.css_extracted = read(filtered, SELECTORS, options);
        if let Some(xml) = page.xml {
            let of_xml = read(xml, SELECTORS, options);
            fields.css_extracted = completed(of_xml, fields.css_extracted.take());
        }
    }
    if !plan.extractors.is_empty() {
        let named = plan.extractors.iter();
        let results = named
            .filter_map(|(name, options)| Some((name.clone(), read(filtered, name, options)?)));
        fields.extracted = Some(results.collect());
    }
    outputs.fields = fields;
}

/// The fields of a document that is XML, and of its decoder's page those without a value there.
/// Decision D335.
fn completed(of_xml: Option<Value>, of_page: Option<Value>) -> Option<Value> {
    let (Some(Value::Object(mut fields)), Some(Value::Object(others))) = (of_xml, of_page) else {
        return None;
    };
    for (name, value) in others {
        let field = fields.entry(name).or_insert(Value::Null);
        if field.is_null() {
            *field = value;
        }
    }
    Some(Value::Object(fields))
}

/// The screenshot that the browser took.
fn screenshot_of(screenshot: Option<&Bytes>) -> Result<&Bytes, PageFailure> {
    screenshot.ok_or_else(|| {
        PageFailure::new(
            Cause::NoBrowser,
            "a screenshot needs a browser; ask for `request: \"browser\"`, and see GET /health whether there is one",
        )
    })
}

fn content(
    registry: &Registry,
    view: &PageView<'_>,
    kind: MediaKind,
    name: &str,
    choice: &FormatChoice,
) -> Result<Rendered, PageFailure> {
    let format = registry
        .format(name)
        .ok_or_else(|| not_loaded("format", name))?;
    if kind == MediaKind::Binary && !format.info().needs.body {
        let text = format!(
            "format `{}` cannot render `{}`; ask for `bytes`",
            choice.name,
            if view.document.media_type.is_empty() {
                "an unknown media type"
            } else {
                &view.document.media_type
            }
        );
        return Err(PageFailure::new(Cause::UnsupportedMedia, text));
    }
    format
        .render(view, &options_text(&choice.options))
        .map_err(failure_of)
}

/// Cuts and splits one format's content by the plan.
fn piece(registry: &Registry, rendered: Rendered, plan: &OutputPlan) -> Result<Piece, PageFailure> {
    match rendered {
        Rendered::Bytes(mut bytes) => {
            bytes.truncate(plan.max_size.unwrap_or(usize::MAX));
            Ok(Piece::Bytes(bytes))
        }
        Rendered::Text(mut text) => {
            if let Some(max) = plan.max_size {
                text.truncate(text.floor_char_boundary(max));
            }
            match &plan.chunking {
                Some(chunking) => chunks(registry, &text, chunking).map(Piece::Chunks),
                None => Ok(Piece::Text(text)),
            }
        }
    }
}

fn chunks(
    registry: &Registry,
    text: &str,
    chunking: &Chunking,
) -> Result<Vec<String>, PageFailure> {
    let chunker = registry
        .chunker(&chunking.chunker)
        .ok_or_else(|| not_loaded("chunker", &chunking.chunker))?;
    let split = |options: &Value| {
        let spans = chunker.chunk(text, &options_text(options));
        spans.map_err(failure_of)
    };
    let mut spans = split(&chunking.options)?;
    if let Some(overlap) = &chunking.overlap {
        let pieces = split(&overlap.options)?;
        let starts: Vec<usize> = pieces.into_iter().map(|piece| piece.start).collect();
        let n_pieces = usize::try_from(overlap.pieces).unwrap_or(usize::MAX);
        repeat_ends(&mut spans, &starts, n_pieces);
    }
    Ok(spans
        .into_iter()
        .map(|span| text[span].to_owned())
        .collect())
}

/// Has every span but the first begin with the end of the one before: so many of the pieces that
/// start at `starts`, in order, and no more than that span.
fn repeat_ends(spans: &mut [Range<usize>], starts: &[usize], n_pieces: usize) {
    // From the end, so that the span before is still as it was.
    for at in (1..spans.len()).rev() {
        let (start, earliest) = (spans[at].start, spans[at - 1].start);
        let n_before = starts.partition_point(|piece| *piece < start);
        let first = n_before.saturating_sub(n_pieces);
        if let Some(piece) = starts[first..n_before].first() {
            spans[at].start = earliest.max(*piece);
        }
    }
}

fn extract(
    registry: &Registry,
    view: &PageView<'_>,
    name: &str,
    options: &Value,
) -> Result<Value, PageFailure> {
    let extractor = registry
        .extractor(name)
        .ok_or_else(|| not_loaded("extractor", name))?;
    extractor
        .extract(view, &options_text(options))
        .map_err(failure_of)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_mask_of_nothing_has_no_document() {
        assert!(keeps_document(&[]), "the whole page");
        assert!(keeps_document(&[0b0000_0001]));
        assert!(!keeps_document(&[0, 0]));
    }

    #[test]
    fn a_chunk_begins_with_the_last_pieces_of_the_one_before() {
        let check = |starts: &[usize], n_pieces: usize, expected: &[Range<usize>]| {
            let mut spans = [0..10, 10..20, 20..25];
            repeat_ends(&mut spans, starts, n_pieces);
            assert_eq!(spans, expected, "{starts:?} {n_pieces}");
        };
        let starts = [0, 3, 6, 9, 12, 15, 18, 21, 24];
        check(&starts, 1, &[0..10, 9..20, 18..25]);
        check(&starts, 2, &[0..10, 6..20, 15..25]);
        check(&[0, 4, 10, 14, 20], 2, &[0..10, 0..20, 10..25]);
        // Never more than the chunk before, and nothing where no piece starts.
        check(&starts, 9, &[0..10, 0..20, 10..25]);
        check(&[], 2, &[0..10, 10..20, 20..25]);
    }

    #[test]
    fn fields_that_xml_lacks_are_of_the_decoded_page() {
        let of_xml = json!({"title": "A", "when": null, "n": ["1"]});
        let of_page = json!({"title": "B", "when": "2008", "n": ["2"], "bold": ["x"]});
        let expected = json!({"title": "A", "when": "2008", "n": ["1"], "bold": ["x"]});
        assert_eq!(
            completed(Some(of_xml), Some(of_page.clone())),
            Some(expected)
        );
        assert_eq!(completed(None, Some(of_page)), None, "one of them failed");
    }
}
