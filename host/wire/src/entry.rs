//! The JSON entry of a page: written into a buffer, and read back from the page log of a crawl.

use std::borrow::Cow;

use serde::de::Deserializer;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use trawl_model::outcome::PageOutcome;
use trawl_model::{Content, Hop, Piece};
use trawl_plan::Pipeline;

use super::costs::Costs;

/// Bytes reserved for everything in an entry but its content.
const FRAME_BYTES: usize = 1024;

// Spec S2.
/// One page. Parts that were not requested are left out.
#[derive(serde::Serialize, serde::Deserialize, ToSchema)]
#[schema(as = PageEntry, example = json!({
    "url": "https://example.com/", "status": 200, "content": "# Example Domain", "error": null, "duration_elasped_ms": 84,
    "costs": {"ai_cost": 0.0, "compute_cost": 0.000000012, "file_cost": 0.0, "bytes_transferred_cost": 0.000001256,
        "transform_cost": 0.000000002, "total_cost": 0.00000127},
}))]
pub struct PageEntry<'a> {
    /// URL after redirects.
    #[serde(borrow)]
    #[schema(value_type = String)]
    url: Cow<'a, str>,
    /// HTTP status of the page, or a synthetic one for a page that could not be fetched.
    status: u16,
    /// A string; for `bytes` a list of integers; for several formats an object; with chunking a
    /// list of strings.
    #[serde(borrow)]
    #[schema(value_type = Value)]
    content: Part<'a>,
    /// Why the page failed; null when it did not.
    #[serde(borrow)]
    #[schema(value_type = Option<String>)]
    error: Option<Cow<'a, str>>,
    /// What went wrong, as a name that stays the same when the text of `error` changes; left out
    /// when the page did not fail.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, example = "robots")]
    cause: Option<Cow<'a, str>>,
    /// Milliseconds for the whole page.
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_elasped_ms: Option<u64>,
    /// Index of the page in the request, from 0; only in a batch.
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<u32>,
    /// The further indices at which the request names the same page, which is fetched once; only in
    /// a batch, and left out if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    duplicates: Option<Vec<u32>>,
    /// Hops from a seed; only in a crawl.
    #[serde(skip_serializing_if = "Option::is_none")]
    depth: Option<u16>,
    /// URL of a page that links to this one, by which it has its `depth`; only in a crawl, and not
    /// of seeds and URLs of sitemaps.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    referrer: Option<Cow<'a, str>>,
    /// The text of that link; only if the crawl has `anchors`.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    anchor: Option<Cow<'a, str>>,
    /// The redirects that led to `url`, in order: `status` (null if it is not known) and the URL
    /// `to` that each led to; only in a crawl or a batch, and left out if there were none.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<Object>>)]
    redirects: Option<Part<'a>>,
    /// Absolute URLs in page order.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<String>>)]
    links: Option<Part<'a>>,
    /// Title, description, keywords and more.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    metadata: Option<Part<'a>>,
    /// Response headers.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<BTreeMap<String, String>>)]
    headers: Option<Part<'a>>,
    /// Cookies that were set.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<BTreeMap<String, String>>)]
    cookies: Option<Part<'a>>,
    /// Structured data and framework state by source: `json_ld`, `microdata`, `open_graph`,
    /// `next_data`, ...
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    json_data: Option<Part<'a>>,
    /// Values by field of the selector map.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    css_extracted: Option<Part<'a>>,
    /// Results of extractors that were requested by name.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    extracted: Option<Part<'a>>,
    /// What `/pipeline/extract-contacts` found on the page.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    contacts: Option<Part<'a>>,
    /// The topics that `/pipeline/label` assigned to the page.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    labels: Option<Part<'a>>,
    /// What `/pipeline/extract-qa` found on the page; only in the pages of its crawl.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    qa: Option<Part<'a>>,
    /// What `/pipeline/filter-links` found on the page; only in the pages of its crawl.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    filter_links: Option<Part<'a>>,
    /// What the page costs.
    costs: Costs,
}

/// A value in an entry: a part of the outcome when the entry is written, its JSON text when it is
/// read.
enum Part<'a> {
    Value(&'a Value),
    Object(&'a Map<String, Value>),
    Pairs(&'a [(String, String)]),
    Content(&'a Content),
    Redirects(&'a [Hop]),
    Json(&'a RawValue),
}

/// The part of a page's metadata that names parameters without effect.
#[derive(serde::Deserialize)]
struct IgnoredOnly {
    #[serde(default)]
    ignored: Vec<String>,
}

/// Appends the entry of a page.
pub fn write_entry(outcome: &PageOutcome, buffer: &mut Vec<u8>) {
    buffer.reserve(content_bytes(&outcome.content) + FRAME_BYTES);
    let start = buffer.len();
    if let Err(error) = serde_json::to_writer(&mut *buffer, &PageEntry::of(outcome)) {
        // Only a map key that is not a string could cause this, and JSON values have none.
        tracing::error!(error = %error, "could not write the entry of a page");
        buffer.truncate(start);
        buffer.extend_from_slice(b"{}");
    }
}

impl<'a> PageEntry<'a> {
    fn of(outcome: &'a PageOutcome) -> Self {
        let (fields, error) = (&outcome.fields, outcome.error.as_ref());
        let (place, batch) = (outcome.place.as_ref(), outcome.batch.as_ref());
        let found_by = |pipeline: Pipeline| {
            let finding = fields.finding.as_ref();
            finding
                .filter(|finding| pipeline.analyst() == Some(finding.analyst.as_str()))
                .map(|finding| Part::Value(&finding.value))
        };
        Self {
            url: Cow::Borrowed(&outcome.url),
            status: outcome.status,
            content: Part::Content(&outcome.content),
            error: error.map(|failure| Cow::Borrowed(failure.message.as_str())),
            cause: error.map(|failure| Cow::Borrowed(failure.cause.name())),
            duration_elasped_ms: outcome
                .elapsed
                .map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX)),
            index: batch.map(|batch| batch.index),
            duplicates: batch
                .filter(|batch| !batch.duplicates.is_empty())
                .map(|batch| batch.duplicates.clone()),
            depth: place.map(|place| place.depth),
            referrer: place
                .and_then(|place| place.referrer.as_deref())
                .map(Cow::Borrowed),
            anchor: place
                .and_then(|place| place.anchor.as_deref())
                .map(Cow::Borrowed),
            redirects: ((place.is_some() || batch.is_some()) && !outcome.redirects.is_empty())
                .then_some(Part::Redirects(&outcome.redirects)),
            links: fields.links.as_ref().map(Part::Value),
            metadata: fields.metadata.as_ref().map(Part::Object),
            headers: outcome.headers.as_deref().map(Part::Pairs),
            cookies: outcome.cookies.as_deref().map(Part::Pairs),
            json_data: fields.json_data.as_ref().map(Part::Value),
            css_extracted: fields.css_extracted.as_ref().map(Part::Value),
            extracted: fields.extracted.as_ref().map(Part::Object),
            contacts: found_by(Pipeline::ExtractContacts),
            labels: found_by(Pipeline::Label),
            qa: found_by(Pipeline::ExtractQa),
            filter_links: found_by(Pipeline::FilterLinks),
            costs: Costs::new(&outcome.charge, outcome.vendor.as_ref()),
        }
    }

    /// Reads an entry that [`write_entry`] wrote.
    ///
    /// # Errors
    /// It is not the JSON of an entry.
    pub fn read(json: &'a [u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(json)
    }

    /// URL after redirects.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// HTTP status, or a synthetic one.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Why the page failed.
    pub fn error(&self) -> Option<&str> {
        self.error.as_deref()
    }

    /// What went wrong, as a name.
    pub fn cause(&self) -> Option<&str> {
        self.cause.as_deref()
    }

    /// `metadata.ignored` of an entry that was read: the parameters that had no effect on the page.
    pub fn ignored(&self) -> Vec<String> {
        let Some(Part::Json(metadata)) = &self.metadata else {
            return Vec::new();
        };
        let read = serde_json::from_str::<IgnoredOnly>(metadata.get());
        read.map(|metadata| metadata.ignored).unwrap_or_default()
    }

    /// The JSON of the analyst's finding in an entry that was read.
    pub fn finding(&self) -> Option<&'a RawValue> {
        let parts = [&self.contacts, &self.labels, &self.qa, &self.filter_links];
        parts.into_iter().flatten().find_map(|part| match part {
            Part::Json(json) => Some(*json),
            _ => None,
        })
    }
}

impl Serialize for Part<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Value(value) => value.serialize(serializer),
            Self::Object(object) => object.serialize(serializer),
            Self::Pairs(pairs) => {
                let mut map = serializer.serialize_map(Some(pairs.len()))?;
                for (name, value) in *pairs {
                    map.serialize_entry(name, value)?;
                }
                map.end()
            }
            Self::Content(content) => ContentForm(content).serialize(serializer),
            Self::Redirects(hops) => {
                let hops = hops.iter();
                serializer.collect_seq(hops.map(|hop| json!({"status": hop.status, "to": hop.to})))
            }
            Self::Json(json) => json.serialize(serializer),
        }
    }
}

impl<'de: 'a, 'a> serde::Deserialize<'de> for Part<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <&RawValue>::deserialize(deserializer).map(Self::Json)
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

/// The JSON form of content.
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use trawl_model::outcome::{BatchPlace, CrawlPlace};
    use trawl_model::{AnalystFinding, Cause, Charge, Fields, Nanodollars, PageFailure};

    fn entry(outcome: &PageOutcome) -> Value {
        let mut buffer = Vec::new();
        write_entry(outcome, &mut buffer);
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
    fn cached_content_equals_fresh_content() {
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
                    write_entry(&outcome, &mut written);
                    written
                })
            });
            assert_eq!(both[0], both[1]);
        }
    }

    #[test]
    fn requested_parts_are_present() {
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
            error: Some(PageFailure::new(Cause::Timeout, "timed out")),
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
        assert_eq!(json["cause"], "timeout");
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

    #[test]
    fn a_page_of_a_crawl_says_how_it_was_found() {
        let hop = |status, to: &str| Hop {
            status,
            to: to.to_owned(),
        };
        let mut outcome = PageOutcome {
            url: "https://a.com/c".to_owned(),
            redirects: vec![
                hop(Some(301), "https://a.com/b"),
                hop(None, "https://a.com/c"),
            ],
            ..PageOutcome::default()
        };
        let json = entry(&outcome);
        for field in ["depth", "referrer", "anchor", "redirects"] {
            assert_eq!(json.get(field), None, "{field}");
        }
        outcome.place = Some(CrawlPlace {
            depth: 2,
            referrer: Some("https://a.com/".to_owned()),
            anchor: Some("a link".to_owned()),
        });
        let json = entry(&outcome);
        assert_eq!(
            (&json["depth"], &json["referrer"]),
            (&json!(2), &json!("https://a.com/"))
        );
        assert_eq!(json["anchor"], "a link");
        assert_eq!(
            json["redirects"],
            json!([{"status": 301, "to": "https://a.com/b"}, {"status": null, "to": "https://a.com/c"}])
        );
        let mut written = Vec::new();
        write_entry(&outcome, &mut written);
        let read = PageEntry::read(&written).expect("an entry");
        assert_eq!(serde_json::to_vec(&read).expect("JSON"), written);
    }

    #[test]
    fn a_page_of_a_batch_says_where_its_request_names_it() {
        let mut outcome = PageOutcome {
            batch: Some(BatchPlace {
                index: 7,
                duplicates: vec![9, 12],
            }),
            redirects: vec![Hop {
                status: Some(302),
                to: "https://a.com/b".to_owned(),
            }],
            ..PageOutcome::default()
        };
        let json = entry(&outcome);
        assert_eq!(
            (&json["index"], &json["duplicates"]),
            (&json!(7), &json!([9, 12]))
        );
        assert_eq!(
            (json.get("depth"), json["redirects"].is_array()),
            (None, true)
        );
        let mut written = Vec::new();
        write_entry(&outcome, &mut written);
        let read = PageEntry::read(&written).expect("an entry");
        assert_eq!(serde_json::to_vec(&read).expect("JSON"), written);
        if let Some(place) = &mut outcome.batch {
            place.duplicates.clear();
        }
        assert_eq!(entry(&outcome).get("duplicates"), None);
    }

    #[test]
    fn a_written_entry_is_read_back() {
        let outcome = PageOutcome {
            url: "https://a.com/?\u{1}".to_owned(),
            status: 203,
            fields: Fields {
                finding: Some(AnalystFinding {
                    analyst: "label".to_owned(),
                    value: json!({"labels": []}),
                }),
                ..Fields::default()
            },
            ..PageOutcome::default()
        };
        let mut written = Vec::new();
        write_entry(&outcome, &mut written);
        let entry = PageEntry::read(&written).expect("an entry");
        assert_eq!((entry.url(), entry.status()), ("https://a.com/?\u{1}", 203));
        assert_eq!((entry.error(), entry.cause()), (None, None));
        assert!(entry.ignored().is_empty());
        assert_eq!(entry.finding().map(RawValue::get), Some("{\"labels\":[]}"));
        let again = serde_json::to_vec(&entry).expect("JSON");
        assert_eq!(again, written);
    }
}
