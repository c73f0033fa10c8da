//! What two nodes say to each other about a page, as bytes: JSON, and in a request the body behind
//! it. A number that JSON would change by its last bit is not sent. Both are the same program, so
//! nothing of it is kept between versions.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use url::Url;

use trawl_document::HeadStatements;
use trawl_model::{Cause, Content, Discovered, Fields, PageFailure, Piece};
use trawl_plan::OutputPlan;

use crate::extract::{CpuTime, Input, Outputs};

/// Length of the number before the JSON of a request: its length, big-endian.
const LENGTH_BYTES: usize = size_of::<u32>();

/// A page to extract, without its body.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::extract) struct Asked {
    /// Whose page it is: the fair share of a node's threads is by owner.
    pub(in crate::extract) owner: String,
    pub(in crate::extract) url: String,
    pub(in crate::extract) content_type: String,
    pub(in crate::extract) is_serialised: bool,
    pub(in crate::extract) plan: OutputPlan,
    /// A hash of the plugins that the plan calls, as the node has them that asks.
    pub(in crate::extract) plugins: [u8; blake3::OUT_LEN],
    /// How long the node may take.
    pub(in crate::extract) time_max: Duration,
}

impl Asked {
    /// The request, with the body of the page; `None` if it cannot be sent.
    pub(in crate::extract) fn write(&self, body: &[u8]) -> Option<Vec<u8>> {
        let asked = serde_json::to_value(self).ok()?;
        if !is_exact(&asked) {
            return None;
        }
        let mut written = vec![0; LENGTH_BYTES];
        serde_json::to_writer(&mut written, &asked).ok()?;
        let length = u32::try_from(written.len() - LENGTH_BYTES).ok()?;
        written[..LENGTH_BYTES].copy_from_slice(&length.to_be_bytes());
        written.extend_from_slice(body);
        Some(written)
    }

    /// A request, and the page's body.
    pub(in crate::extract) fn read(written: &Bytes) -> Option<(Self, Bytes)> {
        let (length, _) = written.split_first_chunk::<LENGTH_BYTES>()?;
        let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
        let end = LENGTH_BYTES.checked_add(length)?;
        let asked = serde_json::from_slice(written.get(LENGTH_BYTES..end)?).ok()?;
        Some((asked, written.slice(end..)))
    }

    /// The input of the plugins; `None` if the URL is none.
    pub(in crate::extract) fn input(&self, body: Bytes) -> Option<Input> {
        Some(Input {
            url: Url::parse(&self.url).ok()?,
            body,
            content_type: self.content_type.clone(),
            is_serialised: self.is_serialised,
            screenshot: None,
        })
    }
}

/// The outputs of a page, and what they took.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::extract) struct Made {
    is_single: bool,
    content: Vec<(String, WrittenPiece)>,
    links: Option<Value>,
    metadata: Option<Map<String, Value>>,
    json_data: Option<Value>,
    css_extracted: Option<Value>,
    extracted: Option<Map<String, Value>>,
    discovered: Option<Links>,
    statements: Option<Statements>,
    /// Its cause and its text.
    failure: Option<(String, String)>,
    parse: Duration,
    transform: Duration,
}

/// A [`Piece`]. Texts are JSON already, and stay so until a caller gets them.
#[derive(Debug, Serialize, Deserialize)]
enum WrittenPiece {
    Text(Box<RawValue>),
    /// Base64.
    Bytes(String),
    Chunks(Vec<String>),
}

#[derive(Debug, Serialize, Deserialize)]
struct Links {
    /// URL, `nofollow`, and the text if it is read.
    links: Vec<(String, bool, Option<String>)>,
    n_dropped: u32,
    robots_tags: Vec<String>,
    canonical: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Statements {
    meta: Vec<(String, String)>,
    licenses: Vec<String>,
}

impl Made {
    /// `None` if a part of it is bound to this process.
    pub(in crate::extract) fn of((outputs, cpu): (Outputs, CpuTime)) -> Option<Self> {
        let Outputs {
            content,
            fields,
            discovered,
            statements,
            analysis: None,
            failure,
        } = outputs
        else {
            return None;
        };
        let (is_single, pieces) = match content {
            Content::One(piece) => (true, vec![(String::new(), piece)]),
            Content::ByFormat(pieces) => (false, pieces),
        };
        let values = [&fields.links, &fields.json_data, &fields.css_extracted];
        let maps = [&fields.metadata, &fields.extracted];
        let are_exact = values.into_iter().flatten().all(is_exact)
            && maps
                .into_iter()
                .flatten()
                .all(|map| map.values().all(is_exact));
        if !are_exact {
            return None;
        }
        let pieces = pieces.into_iter();
        let content: Option<Vec<_>> = pieces
            .map(|(name, piece)| Some((name, WrittenPiece::of(piece)?)))
            .collect();
        Some(Self {
            is_single,
            content: content?,
            links: fields.links,
            metadata: fields.metadata,
            json_data: fields.json_data,
            css_extracted: fields.css_extracted,
            extracted: fields.extracted,
            discovered: discovered.as_ref().map(Links::of),
            statements: statements.map(|statements| Statements {
                meta: statements.meta,
                licenses: statements.licenses,
            }),
            failure: failure.map(|failure| (failure.cause.name().to_owned(), failure.message)),
            parse: cpu.parse,
            transform: cpu.transform,
        })
    }

    pub(in crate::extract) fn write(&self) -> Option<Vec<u8>> {
        serde_json::to_vec(self).ok()
    }

    pub(in crate::extract) fn read(written: &[u8]) -> Option<Self> {
        serde_json::from_slice(written).ok()
    }

    /// The outputs and what they took; `None` if they are none of this program's.
    pub(in crate::extract) fn outputs(self) -> Option<(Outputs, CpuTime)> {
        let pieces = self.content.into_iter();
        let pieces: Option<Vec<_>> = pieces
            .map(|(name, piece)| Some((name, piece.piece()?)))
            .collect();
        let mut pieces = pieces?;
        let content = if self.is_single {
            Content::One(pieces.pop()?.1)
        } else {
            Content::ByFormat(pieces)
        };
        let failure = match self.failure {
            Some((cause, text)) => Some(PageFailure::new(Cause::named(&cause)?, text)),
            None => None,
        };
        let outputs = Outputs {
            content,
            fields: Fields {
                links: self.links,
                metadata: self.metadata,
                json_data: self.json_data,
                css_extracted: self.css_extracted,
                extracted: self.extracted,
                finding: None,
            },
            discovered: self.discovered.map(Links::discovered),
            statements: self.statements.map(|statements| {
                Box::new(HeadStatements {
                    meta: statements.meta,
                    licenses: statements.licenses,
                })
            }),
            analysis: None,
            failure,
        };
        let cpu = CpuTime {
            parse: self.parse,
            transform: self.transform,
        };
        Some((outputs, cpu))
    }
}

/// Whether every number of a value is the same once it was written as JSON and read again.
fn is_exact(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::String(_) => true,
        Value::Number(number) if number.is_f64() => {
            let read = serde_json::from_str(&number.to_string());
            read.is_ok_and(|read: Value| read == *value)
        }
        Value::Number(_) => true,
        Value::Array(values) => values.iter().all(is_exact),
        Value::Object(map) => map.values().all(is_exact),
    }
}

impl WrittenPiece {
    fn of(piece: Piece) -> Option<Self> {
        Some(match piece.written() {
            Piece::Written(written) => Self::Text((*written).to_owned()),
            Piece::Bytes(bytes) => Self::Bytes(STANDARD.encode(bytes)),
            Piece::Chunks(chunks) => Self::Chunks(chunks),
            Piece::Text(_) => return None,
        })
    }

    fn piece(self) -> Option<Piece> {
        Some(match self {
            Self::Text(written) => Piece::Written(written.into()),
            Self::Bytes(text) => Piece::Bytes(STANDARD.decode(text).ok()?),
            Self::Chunks(chunks) => Piece::Chunks(chunks),
        })
    }
}

impl Links {
    fn of(found: &Discovered) -> Self {
        let links = found.iter().enumerate().map(|(number, (url, nofollow))| {
            let text = found.anchor(number).map(str::to_owned);
            (url.to_owned(), nofollow, text)
        });
        Self {
            links: links.collect(),
            n_dropped: found.n_dropped,
            robots_tags: found.robots_tags.clone(),
            canonical: found.canonical.clone(),
        }
    }

    fn discovered(self) -> Discovered {
        let mut found = Discovered::default();
        for (url, nofollow, text) in self.links {
            found.push(&url, nofollow);
            if let Some(text) = text {
                found.set_anchor(text);
            }
        }
        found.n_dropped = self.n_dropped;
        found.robots_tags = self.robots_tags;
        found.canonical = self.canonical;
        found
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use trawl_plan::{Format, FormatChoice};

    use super::*;

    fn outputs() -> Outputs {
        let mut discovered = Discovered::default();
        discovered.push("http://a.example/x", false);
        discovered.push("http://a.example/y", true);
        discovered.set_anchor("Why".to_owned());
        discovered.n_dropped = 3;
        discovered.robots_tags.push("nofollow".to_owned());
        discovered.canonical = Some("http://a.example/".to_owned());
        Outputs {
            content: Content::ByFormat(vec![
                ("text".to_owned(), Piece::Text("a \"b\" 🦀".to_owned())),
                ("bytes".to_owned(), Piece::Bytes(vec![0, 255])),
                ("chunks".to_owned(), Piece::Chunks(vec!["c".to_owned()])),
            ]),
            fields: Fields {
                links: Some(json!(["http://a.example/x"])),
                metadata: json!({"title": "T"}).as_object().cloned(),
                json_data: Some(json!({"json_ld": []})),
                css_extracted: Some(json!({"a": null})),
                extracted: json!({"mine": 1.5}).as_object().cloned(),
                finding: None,
            },
            discovered: Some(discovered),
            statements: Some(Box::new(HeadStatements {
                meta: vec![("tdm-reservation".to_owned(), "1".to_owned())],
                licenses: vec!["/licence".to_owned()],
            })),
            analysis: None,
            failure: Some(PageFailure::new(Cause::PluginFailed, "a reason")),
        }
    }

    /// Everything of outputs as one text, texts of content as JSON.
    fn shown(outputs: Outputs) -> String {
        format!("{:?}", outputs.written())
    }

    #[test]
    fn outputs_arrive_as_they_were_made() {
        let cpu = CpuTime {
            parse: Duration::from_nanos(1_234_567),
            transform: Duration::from_nanos(89),
        };
        let single = Outputs {
            content: Content::One(Piece::Text("alone".to_owned())),
            ..Outputs::default()
        };
        for outputs in [outputs(), single, Outputs::default()] {
            let made = Made::of((outputs.clone(), cpu)).expect("nothing of this process");
            let read = Made::read(&made.write().expect("written")).expect("read");
            let (arrived, took) = read.outputs().expect("outputs");
            assert_eq!(shown(arrived), shown(outputs));
            assert_eq!(took, cpu);
        }
        assert!(Made::read(b"{}").is_none());
    }

    #[test]
    fn numbers_are_the_same_on_both_sides() {
        for exact in [json!(1.5), json!([0.1, 7, -3]), json!({"a": 1e300})] {
            assert!(is_exact(&exact), "{exact}");
        }
        for n in 1..10_000_u32 {
            let number = 1.0 / f64::from(n);
            let read: f64 = serde_json::from_str(&number.to_string()).expect("a number");
            let is_same = read.to_bits() == number.to_bits();
            assert_eq!(is_exact(&json!([number])), is_same, "{number}");
        }
    }

    #[test]
    fn a_number_that_would_arrive_as_another_is_not_sent() {
        let number = json!(1.0 / 11.0);
        assert!(
            !is_exact(&number),
            "the parser has learned it: look for another one"
        );
        let fields = Fields {
            css_extracted: Some(json!({"tide": [number]})),
            ..Fields::default()
        };
        let outputs = Outputs {
            fields,
            ..Outputs::default()
        };
        assert!(Made::of((outputs, CpuTime::default())).is_none());
        let mut asked = asked();
        asked.plan.readability = Some(json!({"share": number}));
        assert!(asked.write(b"").is_none());
    }

    fn asked() -> Asked {
        let plan = OutputPlan {
            readability: Some(json!({"only": "body"})),
            discover: true,
            max_size: Some(7),
            ..OutputPlan::of(FormatChoice {
                name: "markdown".to_owned(),
                format: Format::Plugin("markdown".to_owned()),
                options: json!({}),
            })
        };
        Asked {
            owner: "o".to_owned(),
            url: "http://a.example/x".to_owned(),
            content_type: "text/html".to_owned(),
            is_serialised: true,
            plan,
            plugins: [7; blake3::OUT_LEN],
            time_max: Duration::from_millis(1500),
        }
    }

    #[test]
    fn requests_arrive_as_they_were_written() {
        let asked = asked();
        let written = Bytes::from(asked.write(b"<p>\xff").expect("written"));
        let (read, body) = Asked::read(&written).expect("read");
        assert_eq!(body, &b"<p>\xff"[..]);
        assert_eq!(format!("{read:?}"), format!("{asked:?}"));
        for broken in [&b""[..], &[0, 0, 0], &[0, 0, 0, 9, b'{'], &[255; 8]] {
            assert!(Asked::read(&Bytes::copy_from_slice(broken)).is_none());
        }
    }
}
