//! Decoders: turn documents that are not HTML into HTML.

use serde_json::{Map, Value};

use crate::call::plugin::{Core, Measured};
use crate::error::{Fault, PluginError};
use crate::info::PluginInfo;

/// Media types that say nothing about a document, so that its first bytes decide. Decision D249.
pub(crate) const UNTYPED: [&str; 6] = [
    "",
    "application/octet-stream",
    "binary/octet-stream",
    "application/download",
    "application/x-download",
    "application/force-download",
];
/// Largest metadata, in bytes of JSON: it is repeated in the entry of a page.
const METADATA_BYTES_MAX: usize = 256 * 1024;
/// Most warnings of a document; further ones are dropped.
const WARNINGS_MAX: usize = 32;
/// Longest warning, in bytes; the rest is cut off.
const WARNING_BYTES_MAX: usize = 500;

/// Pages of a document, counted from 1; both ends are included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct PageRange {
    /// The first page.
    pub first: u32,
    /// The last page.
    pub last: u32,
}

/// A document to decode.
#[derive(Clone, Copy, Debug)]
pub struct File<'a> {
    /// The document as text, for decoders that need the source.
    pub text: &'a str,
    /// Body as received, content-encoding removed.
    pub body: &'a [u8],
    /// Media type, lower case, without parameters.
    pub media_type: &'a str,
    /// The `Content-Type` header as received.
    pub content_type: &'a str,
    /// URL of the document.
    pub url: &'a str,
    /// The pages to decode, in ascending order, without overlap; empty for all.
    pub pages: &'a [PageRange],
}

/// A document within a document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inner {
    /// Its name or path in the document.
    pub name: String,
    /// What it is, as in a `Content-Type` header; empty if only its first bytes say so.
    pub content_type: String,
    /// Its bytes.
    pub body: Vec<u8>,
}

/// A decoded document.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decoded {
    /// The document as HTML.
    pub html: String,
    /// What the document says about itself; no values with keys of their own.
    pub metadata: Map<String, Value>,
    /// Number of pages of the whole document.
    pub page_count: Option<u32>,
    /// What is missing or uncertain in the HTML, one sentence each.
    pub warnings: Vec<String>,
    /// The document within that the options request.
    pub inner: Option<Inner>,
}

/// What a decoder returned, unchecked.
#[derive(Clone, Debug)]
pub(crate) struct RawDecoded {
    pub(crate) html: String,
    /// JSON.
    pub(crate) metadata: String,
    pub(crate) page_count: Option<u32>,
    pub(crate) warnings: Vec<String>,
    pub(crate) inner: Option<Inner>,
}

/// A decoder behind one version of the contract.
pub(crate) trait Decode: Send + Sync {
    fn decode(&self, file: &File<'_>, options: &str) -> Measured<RawDecoded>;
}

/// A loaded decoder.
pub struct DecoderPlugin {
    pub(crate) core: Core,
    pub(crate) backend: Box<dyn Decode>,
    /// First bytes of documents whose media type says nothing.
    pub(crate) signatures: Vec<Vec<u8>>,
}

impl DecoderPlugin {
    /// Decodes a document. `options` is a JSON object that passed [`Self::check_options`].
    ///
    /// # Errors
    /// [`PluginError`] when the decoder fails, misbehaves or exceeds a limit.
    /// [`Fault::Unsupported`] means that the document is not of a type that it reads.
    pub fn decode(&self, file: &File<'_>, options: &str) -> Result<Decoded, PluginError> {
        let texts = [file.media_type, file.content_type, file.url, options];
        let needs = self.core.info.needs;
        let bytes = if needs.source { file.text.len() } else { 0 }
            + if needs.body { file.body.len() } else { 0 }
            + texts.into_iter().map(str::len).sum::<usize>()
            + size_of_val(file.pages);
        self.core.run(
            bytes as u64,
            || self.backend.decode(file, options),
            |raw| {
                let warnings: usize = raw.warnings.iter().map(String::len).sum();
                let inner = raw.inner.as_ref().map_or(0, |inner| {
                    inner.name.len() + inner.content_type.len() + inner.body.len()
                });
                self.core
                    .check_output(raw.html.len() + raw.metadata.len() + warnings + inner)?;
                checked(raw)
            },
        )
    }

    /// Whether it reads documents of this media type, or that begin like this where the type says
    /// nothing.
    pub(crate) fn reads(&self, media_type: &str, body: &[u8]) -> bool {
        if UNTYPED.contains(&media_type) {
            let mut signatures = self.signatures.iter();
            return signatures.any(|signature| body.starts_with(signature));
        }
        let types = &self.core.info.media_types;
        types.iter().any(|own| own == media_type)
    }

    /// Its description and limits.
    pub fn info(&self) -> &PluginInfo {
        &self.core.info
    }

    /// Validates options against the plugin's schema, then with a trial call on an empty document
    /// unless they are empty. Call it on a thread that may block.
    ///
    /// # Errors
    /// A message with what is wrong, and where.
    pub fn check_options(&self, options: &Value) -> Result<(), String> {
        self.core.check_options(options)?;
        if options.as_object().is_some_and(Map::is_empty) {
            return Ok(());
        }
        let types = &self.core.info.media_types;
        let empty = File {
            text: "",
            body: &[],
            media_type: types.first().map_or("application/octet-stream", |it| it),
            content_type: "",
            url: "about:blank",
            pages: &[],
        };
        match self.decode(&empty, &options.to_string()) {
            Err(PluginError {
                fault: Fault::InvalidOptions(reason),
                ..
            }) => Err(reason),
            Ok(_) | Err(_) => Ok(()),
        }
    }
}

fn checked(raw: RawDecoded) -> Result<Decoded, Fault> {
    if raw.metadata.len() > METADATA_BYTES_MAX {
        return Err(Fault::Lied(format!(
            "{} bytes of metadata, allowed {METADATA_BYTES_MAX}",
            raw.metadata.len()
        )));
    }
    let metadata: Map<String, Value> = serde_json::from_str(&raw.metadata)
        .map_err(|error| Fault::Lied(format!("metadata that is not a JSON object: {error}")))?;
    if let Some((name, _)) = metadata.iter().find(|(_, value)| !is_flat(value)) {
        let shown: String = name.chars().take(80).collect();
        return Err(Fault::Lied(format!(
            "metadata in which `{shown}` is not a plain value or a list of them"
        )));
    }
    let mut warnings = raw.warnings;
    warnings.truncate(WARNINGS_MAX);
    for warning in &mut warnings {
        warning.truncate(warning.floor_char_boundary(WARNING_BYTES_MAX));
    }
    Ok(Decoded {
        html: raw.html,
        metadata,
        page_count: raw.page_count,
        warnings,
        inner: raw.inner,
    })
}

fn is_flat(value: &Value) -> bool {
    match value {
        Value::Object(_) => false,
        Value::Array(values) => !values
            .iter()
            .any(|value| matches!(value, Value::Array(_) | Value::Object(_))),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn raw(metadata: &str) -> RawDecoded {
        RawDecoded {
            html: "<p>x".to_owned(),
            metadata: metadata.to_owned(),
            page_count: Some(3),
            warnings: vec!["ü".repeat(400); 40],
            inner: None,
        }
    }

    #[test]
    fn metadata_is_flat_and_warnings_are_bounded() {
        let decoded = checked(raw(r#"{"title": "a", "authors": ["b", "c"], "n": 1}"#));
        let decoded = decoded.expect("good metadata");
        assert_eq!(
            Value::Object(decoded.metadata),
            json!({"title": "a", "authors": ["b", "c"], "n": 1})
        );
        assert_eq!(decoded.page_count, Some(3));
        assert_eq!(decoded.warnings, vec!["ü".repeat(250); 32]);
    }

    #[test]
    fn metadata_of_another_shape_is_refused() {
        for (metadata, expected) in [
            ("", "not a JSON object"),
            ("[]", "not a JSON object"),
            (r#"{"a": {}}"#, "`a`"),
            (r#"{"b": [[1]]}"#, "`b`"),
            (&format!("{{\"a\": \"{}\"}}", "x".repeat(300_000)), "bytes"),
        ] {
            match checked(raw(metadata)) {
                Err(Fault::Lied(reason)) => assert!(reason.contains(expected), "{reason}"),
                other => panic!("accepted: {other:?}"),
            }
        }
    }
}
