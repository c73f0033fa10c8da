//! The JSON entry of a page, written straight into a buffer.

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::Costs;
use trawl_engine::page::PageOutcome;
use trawl_model::{Content, Piece};
use trawl_plan::Pipeline;

/// Room for everything in an entry but its content.
const FRAME_BYTES: usize = 1024;

/// One page. Parts that were not asked for are left out. Spec S2.
#[derive(serde::Serialize, ToSchema)]
#[schema(as = PageEntry, example = json!({
    "url": "https://example.com/", "status": 200, "content": "# Example Domain", "error": null, "duration_elasped_ms": 84,
    "costs": {"ai_cost": 0.0, "compute_cost": 0.000000012, "file_cost": 0.0, "bytes_transferred_cost": 0.000001256,
        "transform_cost": 0.000000002, "total_cost": 0.00000127},
}))]
pub struct Entry<'a> {
    /// Address after redirects.
    url: &'a str,
    /// HTTP status of the page, or a synthetic one for a page that could not be fetched.
    status: u16,
    /// A string; for `bytes` a list of integers; for several formats an object; with chunking a list of strings.
    #[schema(value_type = Value)]
    content: ContentForm<'a>,
    /// Why the page failed; null when it did not.
    error: Option<&'a str>,
    /// Milliseconds for the whole page.
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_elasped_ms: Option<u64>,
    /// Absolute addresses in page order.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<String>>)]
    links: Option<&'a Value>,
    /// Title, description, keywords and more.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    metadata: Option<&'a Map<String, Value>>,
    /// Response headers.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    headers: Option<Pairs<'a>>,
    /// Cookies that were set.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    cookies: Option<Pairs<'a>>,
    /// Structured data and framework state by source: `json_ld`, `microdata`, `open_graph`, `next_data`, ...
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    json_data: Option<&'a Value>,
    /// Values by field of the selector map.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    css_extracted: Option<&'a Value>,
    /// Results of extractors asked for by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    extracted: Option<&'a Map<String, Value>>,
    /// What `/pipeline/extract-contacts` found on the page.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    contacts: Option<&'a Value>,
    /// What `/pipeline/label` found the page to be about.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    labels: Option<&'a Value>,
    /// What `/pipeline/extract-qa` found on the page; only in the pages of its crawl.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    qa: Option<&'a Value>,
    /// What `/pipeline/filter-links` found on the page; only in the pages of its crawl.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    filter_links: Option<&'a Value>,
    /// What the page costs.
    costs: Costs,
}

/// Appends a page's entry.
pub(crate) fn write(outcome: &PageOutcome, buffer: &mut Vec<u8>) {
    buffer.reserve(content_bytes(&outcome.content) + FRAME_BYTES);
    let start = buffer.len();
    if let Err(error) = serde_json::to_writer(&mut *buffer, &Entry::of(outcome)) {
        // A map key that is no string would be a bug in an extractor's value; JSON has none.
        tracing::error!(error = %error, "a page's entry could not be written");
        buffer.truncate(start);
        buffer.extend_from_slice(b"{}");
    }
}

impl<'a> Entry<'a> {
    fn of(outcome: &'a PageOutcome) -> Self {
        let fields = &outcome.fields;
        let found_by = |pipeline: Pipeline| {
            let finding = fields.finding.as_ref();
            finding
                .filter(|finding| pipeline.analyst() == Some(finding.analyst.as_str()))
                .map(|finding| &finding.value)
        };
        Self {
            url: &outcome.url,
            status: outcome.status,
            content: ContentForm(&outcome.content),
            error: outcome.error.as_deref(),
            duration_elasped_ms: outcome
                .elapsed
                .map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX)),
            links: fields.links.as_ref(),
            metadata: fields.metadata.as_ref(),
            headers: outcome.headers.as_deref().map(Pairs),
            cookies: outcome.cookies.as_deref().map(Pairs),
            json_data: fields.json_data.as_ref(),
            css_extracted: fields.css_extracted.as_ref(),
            extracted: fields.extracted.as_ref(),
            contacts: found_by(Pipeline::ExtractContacts),
            labels: found_by(Pipeline::Label),
            qa: found_by(Pipeline::ExtractQa),
            filter_links: found_by(Pipeline::FilterLinks),
            costs: Costs::new(&outcome.charge, outcome.vendor.as_ref()),
        }
    }
}

fn content_bytes(content: &Content) -> usize {
    let piece_bytes = |piece: &Piece| match piece {
        Piece::Text(text) => text.len() + text.len() / 8,
        Piece::Written(written) => written.get().len(),
        Piece::Bytes(bytes) => bytes.len() * 4,
        Piece::Chunks(chunks) => chunks.iter().map(|chunk| chunk.len() + 8).sum(),
    };
    match content {
        Content::One(piece) => piece_bytes(piece),
        Content::ByFormat(pieces) => pieces.iter().map(|(_, piece)| piece_bytes(piece)).sum(),
    }
}

/// Content in its wire form.
pub struct ContentForm<'a>(pub &'a Content);

impl Serialize for ContentForm<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Content::One(piece) => PieceForm(piece).serialize(serializer),
            Content::ByFormat(pieces) => {
                serializer.collect_map(pieces.iter().map(|(name, piece)| (name, PieceForm(piece))))
            }
        }
    }
}

struct PieceForm<'a>(&'a Piece);

impl Serialize for PieceForm<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Piece::Text(text) => serializer.serialize_str(text),
            Piece::Written(written) => written.serialize(serializer),
            Piece::Bytes(bytes) => serializer.serialize_bytes(bytes),
            Piece::Chunks(chunks) => serializer.collect_seq(chunks),
        }
    }
}

/// Names and values as an object.
struct Pairs<'a>(&'a [(String, String)]);

impl Serialize for Pairs<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;
    use trawl_model::{AnalystFinding, Charge, Fields, Nanodollars};

    fn entry(outcome: &PageOutcome) -> Value {
        let mut buffer = Vec::new();
        write(outcome, &mut buffer);
        serde_json::from_slice(&buffer).expect("JSON")
    }

    #[test]
    fn a_bare_page_has_the_five_parts() {
        let outcome = PageOutcome {
            url: "https://a.com/".to_owned(),
            status: 200,
            content: Content::One(Piece::Text("a \"b\"\n\u{1}".to_owned())),
            charge: Charge {
                bytes_transferred: Nanodollars(47_000),
                ..Charge::default()
            },
            ..PageOutcome::default()
        };
        assert_eq!(
            entry(&outcome),
            json!({
                "url": "https://a.com/", "status": 200, "content": "a \"b\"\n\u{1}", "error": null,
                "costs": {"ai_cost": 0.0, "compute_cost": 0.0, "file_cost": 0.0, "bytes_transferred_cost": 0.000047,
                    "transform_cost": 0.0, "total_cost": 0.000047},
            })
        );
    }

    #[test]
    fn content_that_was_kept_is_the_content_that_was_made() {
        let texts = ["", "a \"b\"\n\u{1}\u{7f}\u{2028} \\ / ü 🦀"];
        for text in texts {
            let piece = Piece::Text(text.to_owned());
            let of = |piece: &Piece| {
                [
                    Content::One(piece.clone()),
                    Content::ByFormat(vec![("raw".to_owned(), piece.clone())]),
                ]
            };
            let both = [of(&piece), of(&piece.clone().written())].map(|contents| {
                contents.map(|content| {
                    let mut written = Vec::new();
                    let outcome = PageOutcome {
                        content,
                        ..PageOutcome::default()
                    };
                    write(&outcome, &mut written);
                    written
                })
            });
            assert_eq!(both[0], both[1]);
        }
    }

    #[test]
    fn parts_that_were_asked_for_are_there() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let outcome = PageOutcome {
            content: Content::ByFormat(vec![
                ("raw".to_owned(), Piece::Text("x".to_owned())),
                ("bytes".to_owned(), Piece::Bytes(vec![0, 255])),
                (
                    "text".to_owned(),
                    Piece::Chunks(vec!["a".to_owned(), "b".to_owned()]),
                ),
            ]),
            error: Some("timed out".to_owned()),
            elapsed: Some(Duration::from_micros(1_999)),
            fields: Fields {
                links: Some(json!(["https://a.com/"])),
                metadata: Some(Map::from_iter([("title".to_owned(), json!("t"))])),
                json_data: Some(json!({"json_ld": []})),
                css_extracted: Some(json!({"name": null})),
                extracted: Some(Map::new()),
                finding: Some(AnalystFinding {
                    analyst: "label".to_owned(),
                    value: json!({"labels": []}),
                }),
            },
            headers: Some(vec![pair("server", "x")]),
            cookies: Some(vec![]),
            ..PageOutcome::default()
        };
        let json = entry(&outcome);
        assert_eq!(
            json["content"],
            json!({"raw": "x", "bytes": [0, 255], "text": ["a", "b"]})
        );
        assert_eq!(json["error"], "timed out");
        assert_eq!(json["duration_elasped_ms"], 1);
        assert_eq!(json["links"], json!(["https://a.com/"]));
        assert_eq!(json["metadata"], json!({"title": "t"}));
        assert_eq!(json["labels"], json!({"labels": []}));
        assert_eq!(json["contacts"], Value::Null);
        assert_eq!(json["headers"], json!({"server": "x"}));
        assert_eq!(
            (&json["cookies"], &json["extracted"]),
            (&json!({}), &json!({}))
        );
    }
}
