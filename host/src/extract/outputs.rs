//! The outputs of one page: masks, formats, extractors, chunks.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::{Map, Value};

use crate::model::failure::status;
use crate::model::{Content, Discovered, MediaKind, PageFailure, Piece};
use crate::plan::{Chunking, Format, FormatChoice, OutputPlan};
use crate::plugins::{PageView, PluginError, Registry, Rendered};

/// What was made of a page. `failure` is set when a part could not be made; the other parts are still there.
#[derive(Clone, Debug, Default)]
pub struct Outputs {
    /// Content in the formats asked for; empty strings where a format failed.
    pub content: Content,
    /// Links, when asked for.
    pub links: Option<Value>,
    /// Where the page leads, when the plan asks to discover it: nowhere when it is not HTML.
    pub discovered: Option<Discovered>,
    /// Metadata, when asked for.
    pub metadata: Option<Map<String, Value>>,
    /// Results of extractors asked for by name.
    pub extracted: Option<Map<String, Value>>,
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

    /// Keeps a part that succeeded; remembers the first failure.
    fn keep<T>(&mut self, made: Result<T, PageFailure>) -> Option<T> {
        made.map_err(|failure| self.failure.get_or_insert(failure))
            .ok()
    }
}

/// Makes every output that `plan` names.
pub(super) fn make(
    registry: &Registry,
    view: &PageView<'_>,
    kind: MediaKind,
    picture: Option<&Bytes>,
    plan: &OutputPlan,
) -> Outputs {
    let mut outputs = Outputs::default();
    let kept = outputs
        .keep(kept_nodes(registry, view, kind, plan))
        .unwrap_or_default();
    if outputs.failure.is_some() {
        return outputs;
    }
    let view = PageView {
        kept: &kept,
        ..*view
    };
    let pieces: Vec<(String, Piece)> = plan
        .formats
        .iter()
        .map(|choice| {
            let made = match &choice.format {
                Format::Screenshot => painted(picture).map(|png| Piece::Text(STANDARD.encode(png))),
                Format::ScreenshotBytes => painted(picture).map(|png| Piece::Bytes(png.to_vec())),
                Format::Empty => piece(registry, Rendered::Text(String::new()), plan),
                Format::Plugin(name) => content(registry, &view, kind, name, choice)
                    .and_then(|rendered| piece(registry, rendered, plan)),
            };
            let piece = outputs.keep(made);
            (
                choice.name.clone(),
                piece.unwrap_or(Piece::Text(String::new())),
            )
        })
        .collect();
    outputs.content = match plan.single_format {
        true => Content::One(
            pieces
                .into_iter()
                .next()
                .map_or(Piece::Text(String::new()), |(_, piece)| piece),
        ),
        false => Content::ByFormat(pieces),
    };
    if plan.links {
        outputs.links = outputs.keep(extract(registry, &view, "links", &Value::Null));
    }
    if plan.metadata
        && let Some(Value::Object(metadata)) =
            outputs.keep(extract(registry, &view, "metadata", &Value::Null))
    {
        outputs.metadata = Some(metadata);
    }
    if !plan.extractors.is_empty() {
        let mut extracted = Map::new();
        for (name, options) in &plan.extractors {
            if let Some(value) = outputs.keep(extract(registry, &view, name, options)) {
                extracted.insert(name.clone(), value);
            }
        }
        outputs.extracted = Some(extracted);
    }
    outputs
}

/// Runs the filters in order; each sees what the ones before it left.
fn kept_nodes(
    registry: &Registry,
    view: &PageView<'_>,
    kind: MediaKind,
    plan: &OutputPlan,
) -> Result<Vec<u8>, PageFailure> {
    let mut kept = Vec::new();
    if kind != MediaKind::Html {
        return Ok(kept);
    }
    for (name, options) in &plan.filters {
        let filter = registry
            .filter(name)
            .ok_or_else(|| not_loaded("filter", name))?;
        kept = filter
            .keep(
                &PageView {
                    kept: &kept,
                    ..*view
                },
                &options_text(options),
            )
            .map_err(failure_of)?;
    }
    Ok(kept)
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

fn options_text(options: &Value) -> String {
    match options {
        Value::Null => "{}".to_owned(),
        options => options.to_string(),
    }
}

fn not_loaded(kind: &str, name: &str) -> PageFailure {
    PageFailure::new(
        status::UNKNOWN,
        format!("the {kind} `{name}` is not loaded; see GET /plugins"),
    )
}

fn failure_of(error: PluginError) -> PageFailure {
    PageFailure::new(status::UNKNOWN, error.to_string())
}
