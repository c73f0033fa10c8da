//! The outputs of one page: masks, formats, extractors, chunks.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::{Map, Value};

use super::analysis::{self, Analysis, Begun};
use trawl_model::failure::status;
use trawl_model::{Content, Discovered, Fields, MediaKind, PageFailure, Piece};
use trawl_plan::output::{HIDDEN_TEXT, JSON_DATA, LINKS, METADATA, READABILITY, SELECTORS};
use trawl_plan::{Chunking, Format, FormatChoice, OutputPlan};
use trawl_plugins::{PageView, PluginError, Registry, Rendered};

/// What was made of a page. `failure` is set when a part could not be made; the other parts are still there.
#[derive(Clone, Debug, Default)]
pub struct Outputs {
    /// Content in the formats asked for; empty strings where a format failed.
    pub content: Content,
    /// What was read out of the page, as far as it was asked for.
    pub fields: Fields,
    /// Where the page leads, when the plan asks to discover it: nowhere when it is not HTML.
    pub discovered: Option<Discovered>,
    /// What the plan's analyst came to: its answer, or a question for a model.
    pub analysis: Option<Analysis>,
    /// The first thing that failed.
    pub failure: Option<PageFailure>,
}

impl Outputs {
    /// Nothing but a failure.
    pub fn failed(failure: PageFailure) -> Self {
        Self {
            failure: Some(failure),
            ..Self::default()
        }
    }

    /// The same, to be shared by many: strings of content as JSON has them.
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

    /// Bytes that they take in memory, about.
    pub(super) fn bytes(&self) -> u64 {
        let values = [
            &self.fields.links,
            &self.fields.json_data,
            &self.fields.css_extracted,
        ];
        let maps = [&self.fields.metadata, &self.fields.extracted];
        let discovered = self.discovered.as_ref().map_or(0, Discovered::bytes);
        let fields: usize = values.into_iter().flatten().map(value_bytes).sum();
        let maps: usize = maps.into_iter().flatten().map(map_bytes).sum();
        (content_bytes(&self.content) + fields + maps + discovered + size_of::<Self>()) as u64
    }

    /// Keeps a part that succeeded; remembers the first failure.
    fn keep<T>(&mut self, made: Result<T, PageFailure>) -> Option<T> {
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

/// Makes every output that `plan` names; the first step of an analysis stands apart, because it may want to keep the page.
pub(super) fn make(
    registry: &Registry,
    view: &PageView<'_>,
    kind: MediaKind,
    picture: Option<&Bytes>,
    plan: &OutputPlan,
) -> (Outputs, Option<Begun>) {
    let masks = match Masks::make(registry, view, kind, plan) {
        Ok(masks) => masks,
        Err(failure) => return (Outputs::failed(failure), None),
    };
    let mut outputs = Outputs::default();
    outputs.content = contents(
        registry,
        &masks.main(view),
        kind,
        picture,
        plan,
        &mut outputs,
    );
    read_fields(registry, view, &masks.kept(view), plan, &mut outputs);
    let begun = plan.analyst.as_ref().and_then(|choice| {
        let begun = analysis::begin(registry, choice, &masks.kept(view));
        outputs.keep(begun)
    });
    (outputs, begun)
}

/// What filters left of a page.
struct Masks {
    /// After the filters that the caller named; empty for everything.
    kept: Vec<u8>,
    /// After `readability` on top of them; `None` without it.
    main: Option<Vec<u8>>,
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
            kept: Vec::new(),
            main: None,
        };
        if kind != MediaKind::Html {
            return Ok(masks);
        }
        for (name, options) in &plan.filters {
            masks.kept = keep(registry, &masks.kept(view), name, options)?;
        }
        if plan.readability {
            masks.main = Some(keep(
                registry,
                &masks.kept(view),
                READABILITY,
                &Value::Null,
            )?);
        }
        Ok(masks)
    }

    fn kept<'v>(&'v self, view: &PageView<'v>) -> PageView<'v> {
        PageView {
            kept: &self.kept,
            ..*view
        }
    }

    /// What formats render.
    fn main<'v>(&'v self, view: &PageView<'v>) -> PageView<'v> {
        PageView {
            kept: self.main.as_ref().unwrap_or(&self.kept),
            ..*view
        }
    }
}

fn keep(
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

/// The page in every format asked for.
fn contents(
    registry: &Registry,
    view: &PageView<'_>,
    kind: MediaKind,
    picture: Option<&Bytes>,
    plan: &OutputPlan,
    outputs: &mut Outputs,
) -> Content {
    let mut pieces = plan.formats.iter().map(|choice| {
        let made = match &choice.format {
            Format::Screenshot => painted(picture).map(|png| Piece::Text(STANDARD.encode(png))),
            Format::ScreenshotBytes => painted(picture).map(|png| Piece::Bytes(png.to_vec())),
            Format::Empty => piece(registry, Rendered::Text(String::new()), plan),
            Format::Plugin(name) => content(registry, view, kind, name, choice)
                .and_then(|rendered| piece(registry, rendered, plan)),
        };
        outputs.keep(made).unwrap_or(Piece::Text(String::new()))
    });
    match plan.single_format {
        true => pieces.next().map_or_else(Content::default, Content::One),
        false => {
            let names = plan.formats.iter().map(|choice| choice.name.clone());
            Content::ByFormat(names.zip(pieces).collect())
        }
    }
}

/// The fields asked for. Metadata and structured data are the whole page's, whatever filters left of it: they mostly stand
/// outside of its body.
fn read_fields(
    registry: &Registry,
    whole: &PageView<'_>,
    kept: &PageView<'_>,
    plan: &OutputPlan,
    outputs: &mut Outputs,
) {
    let nothing = &Value::Null;
    let mut read = |view: &PageView<'_>, name: &str, options: &Value| {
        outputs.keep(extract(registry, view, name, options))
    };
    let mut fields = Fields::default();
    if plan.links {
        let links = read(kept, LINKS, nothing);
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
        && let Some(hidden) = read(kept, HIDDEN_TEXT, nothing)
    {
        let metadata = fields.metadata.get_or_insert_default();
        metadata.insert(HIDDEN_TEXT.to_owned(), hidden);
    }
    if plan.json_data {
        fields.json_data = read(whole, JSON_DATA, nothing);
    }
    if let Some(options) = &plan.css_fields {
        fields.css_extracted = read(kept, SELECTORS, options);
    }
    if !plan.extractors.is_empty() {
        let named = plan.extractors.iter();
        let results =
            named.filter_map(|(name, options)| Some((name.clone(), read(kept, name, options)?)));
        fields.extracted = Some(results.collect());
    }
    outputs.fields = fields;
}

/// The picture that the browser made.
fn painted(picture: Option<&Bytes>) -> Result<&Bytes, PageFailure> {
    picture.ok_or_else(|| {
        PageFailure::new(
            status::BROWSER_FAILED,
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
        return Err(PageFailure::new(status::UNKNOWN, text));
    }
    format
        .render(view, &options_text(&choice.options))
        .map_err(failure_of)
}

/// Cuts and splits one format's content as the plan says.
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
    let spans = chunker
        .chunk(text, &options_text(&chunking.options))
        .map_err(failure_of)?;
    Ok(spans
        .into_iter()
        .map(|span| text[span].to_owned())
        .collect())
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

pub(super) fn options_text(options: &Value) -> String {
    match options {
        Value::Null => "{}".to_owned(),
        options => options.to_string(),
    }
}

pub(super) fn not_loaded(kind: &str, name: &str) -> PageFailure {
    PageFailure::new(
        status::UNKNOWN,
        format!("the {kind} `{name}` is not loaded; see GET /plugins"),
    )
}

pub(super) fn failure_of(error: PluginError) -> PageFailure {
    PageFailure::new(status::UNKNOWN, error.to_string())
}
