//! Documents that are not HTML: decoded by a plugin, then a page like any other.

use std::borrow::Cow;

use serde_json::{Map, Value};
use url::Url;

use trawl_model::{Cause, MediaKind, PageFailure};
use trawl_plan::OutputPlan;
use trawl_plugins::{Decoded, Fault, File, Inner, PageRange, PluginError, PluginKind, Registry};

use super::{Input, PageText};

/// Media type of a decoded document: its HTML is parsed like a page.
const HTML: &str = "text/html";
/// Most characters of the name of an inner document that a warning repeats.
const NAME_CHARS_SHOWN: usize = 80;
/// Key of `metadata` for what a decoder left out.
const WARNINGS: &str = "decode_warnings";

/// What became of a document that a decoder was asked for.
#[derive(Debug, Default)]
pub(super) struct Decoding {
    /// What the document says about itself, and which decoder read it; empty if none did.
    metadata: Map<String, Value>,
    /// What is missing or uncertain. Decision D252.
    warnings: Vec<String>,
    /// Why a document that is not text was not decoded.
    pub(super) failure: Option<PageFailure>,
    /// The document as it was before it was decoded; `None` if it was not.
    pub(super) original: Option<Original>,
}

/// What `raw` shows of a decoded document.
#[derive(Debug)]
pub(super) struct Original {
    pub(super) media_type: String,
    pub(super) kind: MediaKind,
}

impl PageText<'_> {
    /// Has the document decoded if the plan needs that and there is a decoder for it. HTML never
    /// gets here. Decision D250.
    pub(super) fn decode(&mut self, registry: &Registry, url: &Url, plan: &OutputPlan) {
        if self.kind == MediaKind::Html || !plan.needs_decoded() {
            return;
        }
        let asked = Asked {
            registry,
            url,
            plan,
        };
        match asked.outer(self) {
            Some(Ok((name, decoded))) => self.become_decoded(name, decoded),
            // Text is still text: the answer is the same as without the decoder.
            Some(Err(error)) if self.kind == MediaKind::Text => {
                self.decoding.warnings.push(error.to_string());
            }
            Some(Err(error)) => self.decoding.failure = Some(failure_of(error)),
            None => {}
        }
    }

    fn become_decoded(&mut self, decoder: String, decoded: Decoded) {
        let mut metadata = decoded.metadata;
        if let Some(count) = decoded.page_count {
            metadata.insert("page_count".to_owned(), count.into());
        }
        metadata.insert("decoded_by".to_owned(), decoder.into());
        let original = Original {
            media_type: std::mem::replace(&mut self.media_type, HTML.to_owned()),
            kind: std::mem::replace(&mut self.kind, MediaKind::Html),
        };
        self.text = Cow::Owned(decoded.html);
        self.charset = "utf-8";
        self.decoding = Decoding {
            metadata,
            warnings: decoded.warnings,
            failure: None,
            original: Some(original),
        };
    }
}

/// What the decoders of a page are asked for.
struct Asked<'a> {
    registry: &'a Registry,
    url: &'a Url,
    plan: &'a OutputPlan,
}

/// A document as its decoders get it.
struct Body<'a> {
    bytes: &'a [u8],
    content_type: &'a str,
    media_type: &'a str,
    /// The document as text, if it is known already.
    text: Option<&'a str>,
}

impl Asked<'_> {
    /// The page's document, or the one in it that the options request. Decision D540.
    fn outer(&self, page: &PageText<'_>) -> Option<Result<(String, Decoded), PluginError>> {
        let body = Body {
            bytes: page.body,
            content_type: page.content_type,
            media_type: &page.media_type,
            // The type of a binary body says nothing; its first bytes do.
            text: (page.kind != MediaKind::Binary).then_some(&*page.text),
        };
        let pages: Vec<PageRange> = self.plan.pages.iter().map(range).collect();
        let (name, mut decoded) = match self.ask(&body, &pages, None)? {
            Ok(found) => found,
            Err(error) => return Some(Err(error)),
        };
        let has_options = self.plan.decoder_options.contains_key(&name);
        let inner = decoded.inner.take().filter(|_| has_options);
        Some(match inner {
            Some(inner) => self.inner(name, decoded, &inner),
            None => Ok((name, decoded)),
        })
    }

    /// The document within a document, in its place. One that no decoder reads stays as it is.
    fn inner(
        &self,
        name: String,
        mut outer: Decoded,
        inner: &Inner,
    ) -> Result<(String, Decoded), PluginError> {
        let (media_type, kind) = trawl_document::sniff(&inner.content_type, &inner.body);
        if kind == MediaKind::Html {
            let decoded = trawl_document::decode(&inner.body, &inner.content_type);
            outer.html = decoded.text.into_owned();
            return Ok((name, outer));
        }
        let text = match kind {
            MediaKind::Binary => None,
            _ => Some(trawl_document::decode(&inner.body, &inner.content_type).text),
        };
        let body = Body {
            bytes: &inner.body,
            content_type: &inner.content_type,
            media_type: &media_type,
            text: text.as_deref(),
        };
        match self.ask(&body, &[], Some(&name)) {
            Some(Ok((inner_name, mut decoded))) => {
                outer.metadata.append(&mut decoded.metadata);
                outer.warnings.append(&mut decoded.warnings);
                decoded.metadata = outer.metadata;
                decoded.warnings = outer.warnings;
                Ok((inner_name, decoded))
            }
            Some(Err(error)) => Err(error),
            None => {
                match text {
                    // The decoder around knows only UTF-8, and has no more than its name.
                    Some(Cow::Owned(text)) => outer.html = code(&text),
                    Some(Cow::Borrowed(_)) => {}
                    None => {
                        let shown: String = inner.name.chars().take(NAME_CHARS_SHOWN).collect();
                        outer.warnings.push(format!("no decoder reads `{shown}`"));
                    }
                }
                Ok((name, outer))
            }
        }
    }

    /// Asks the decoders for a document in turn, until one of them reads it. `outer` is the decoder
    /// that it comes from: its options were for the document around.
    fn ask(
        &self,
        body: &Body<'_>,
        pages: &[PageRange],
        outer: Option<&str>,
    ) -> Option<Result<(String, Decoded), PluginError>> {
        let mut lazy = None;
        let mut asked: Vec<&str> = Vec::new();
        // A type may be wrong or unknown: then the first bytes of what is no text decide.
        let by_bytes = body.text.is_none();
        let by_bytes = by_bytes.then(|| self.registry.decoders("", body.bytes));
        let decoders = self.registry.decoders(body.media_type, body.bytes);
        for decoder in decoders.chain(by_bytes.into_iter().flatten()) {
            let info = decoder.info();
            if asked.contains(&info.name.as_str()) {
                continue;
            }
            asked.push(&info.name);
            let text = match body.text {
                Some(text) => text,
                None if info.needs.source => {
                    let decode = || trawl_document::decode(body.bytes, body.content_type).text;
                    &**lazy.get_or_insert_with(decode)
                }
                None => "",
            };
            let file = File {
                text,
                body: body.bytes,
                media_type: match body.media_type {
                    "" => "application/octet-stream",
                    media_type => media_type,
                },
                content_type: body.content_type,
                url: self.url.as_str(),
                pages,
            };
            let options = self.plan.decoder_options.get(&info.name);
            let options = options.filter(|_| outer != Some(info.name.as_str()));
            let options = options.map_or_else(|| "{}".to_owned(), Value::to_string);
            match decoder.decode(&file, &options) {
                Err(error) if matches!(error.fault, Fault::Unsupported(_)) => {}
                Err(error) => return Some(Err(error)),
                Ok(decoded) => return Some(Ok((info.name.clone(), decoded))),
            }
        }
        None
    }
}

/// Text as a page of code.
fn code(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    format!("<!DOCTYPE html><body><pre><code>{text}</code></pre></body>")
}

fn range(range: &trawl_plan::PageRange) -> PageRange {
    PageRange {
        first: range.first,
        last: range.last,
    }
}

impl Decoding {
    /// Adds the document's metadata to what the extractor has read from its HTML: fields that the
    /// HTML lacks are taken from the decoder.
    pub(super) fn add_metadata(
        &mut self,
        plan: &OutputPlan,
        page: &mut Option<Map<String, Value>>,
    ) {
        if plan.metadata
            && let Some(page) = page
        {
            if let Some(original) = &self.original {
                let name = resource_type(&original.media_type);
                page.insert("resource_type".to_owned(), name.into());
            }
            for (name, value) in std::mem::take(&mut self.metadata) {
                let known = page.entry(name).or_insert(Value::Null);
                if known.is_null() || known.as_str().is_some_and(str::is_empty) {
                    *known = value;
                }
            }
        }
        if !self.warnings.is_empty() {
            let page = page.get_or_insert_default();
            let warnings = std::mem::take(&mut self.warnings);
            page.insert(WARNINGS.to_owned(), warnings.into());
        }
    }
}

/// `metadata.resource_type` of a document, as the extractor names it without a decoder.
fn resource_type(media_type: &str) -> &str {
    let (kind, subtype) = media_type.split_once('/').unwrap_or_default();
    match (kind, subtype) {
        (_, "json") => "json",
        (_, "xml") => "xml",
        (_, "pdf") => "pdf",
        _ if subtype.ends_with("+json") => "json",
        ("application" | "text", _) if subtype.ends_with("+xml") => "xml",
        ("text", _) => "text",
        _ => media_type,
    }
}

/// The failure of a page whose decoder failed. Decision D251.
fn failure_of(error: PluginError) -> PageFailure {
    let cause = match &error.fault {
        Fault::Damaged(_) | Fault::Encrypted(_) | Fault::Unsupported(_) => Cause::UnsupportedMedia,
        Fault::Limit(_)
        | Fault::OutOfTime { .. }
        | Fault::OutOfMemory { .. }
        | Fault::OutputTooLarge { .. }
        | Fault::InputTooLarge { .. } => Cause::DocumentLimit,
        Fault::Trap { .. } | Fault::InvalidOptions(_) | Fault::Failed(_) | Fault::Lied(_) => {
            Cause::PluginFailed
        }
    };
    PageFailure::new(cause, error.to_string())
}

/// Names of the decoders that outputs of this page may depend on.
pub(super) fn names(registry: &Registry, input: &Input, plan: &OutputPlan) -> Vec<String> {
    if !plan.needs_decoded() {
        return Vec::new();
    }
    match trawl_document::sniff(&input.content_type, &input.body) {
        (_, MediaKind::Html) => Vec::new(),
        // With options, a document within may be decoded, by any of them.
        _ if !plan.decoder_options.is_empty() => {
            let names = registry.names(PluginKind::Decoder);
            names.into_iter().map(str::to_owned).collect()
        }
        (media_type, kind) => {
            let by_bytes = (kind == MediaKind::Binary).then(|| registry.decoders("", &input.body));
            let decoders = registry.decoders(&media_type, &input.body);
            let decoders = decoders.chain(by_bytes.into_iter().flatten());
            decoders.map(|it| it.info().name.clone()).collect()
        }
    }
}
