//! The `filter_links` analyst: which links of a page are worth following for a query.

mod anchors;
mod content_type;
mod criteria;
mod join;
mod link;
mod model;
mod ranking;
mod segments;
#[cfg(test)]
mod tests;
mod url;
mod vocabulary;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use trawl_sdk::analyst::{Analyst, Reply, Step, Subject, Task, recall};
use trawl_sdk::{Failure, Info};

use content_type::ContentType;
use criteria::Criteria;
use ranking::RankedLink;

/// Ranks the links of a page: by the words of a query (BM25 over anchor text, label, URL, heading
/// and surrounding text), by the type of page they lead to, and by constraints such as `only PDF`
/// or `not news`. A model, if available, selects among them.
pub struct FilterLinks;

/// Maximum number of links in an answer.
pub const COUNT_MAX: usize = 1_000;
/// Default number of links.
const COUNT_DEFAULT: usize = 50;

/// Options of a task.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// The query in natural language.
    prompt: Option<String>,
    /// Accepted content types.
    content_type: Option<Types>,
    /// Maximum number of links, 1 to [`COUNT_MAX`].
    count: Option<usize>,
    /// Minimum score of a relevant link, 0 to 1.
    threshold: Option<f32>,
}

/// One or several content types.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum Types {
    One(String),
    Several(Vec<String>),
}

const OPTIONS_SCHEMA: &str = r#"{
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "prompt": {"type": ["string", "null"], "description": "What to look for: a topic, page types, `only PDF`, `not news`."},
        "content_type": {"type": ["string", "array", "null"], "items": {"type": "string"}, "description": "Accepted content types: article, product, contact, about, documentation, listing, legal, login, media, download, other."},
        "count": {"type": ["integer", "null"], "minimum": 1, "maximum": 1000, "default": 50, "description": "Maximum number of links."},
        "threshold": {"type": ["number", "null"], "minimum": 0, "maximum": 1, "description": "Minimum score of a relevant link; by default relative to the best link."}
    },
    "additionalProperties": false
}"#;

trawl_sdk::export!(analyst: FilterLinks);

/// The checked options of a task.
struct Request {
    criteria: Criteria,
    /// Types named by the option; they override those of the prompt.
    named: Vec<ContentType>,
    threshold: Option<f32>,
}

impl Request {
    fn of(options: &Options) -> Result<Self, Failure> {
        let names = match &options.content_type {
            None => &[][..],
            Some(Types::One(name)) => std::slice::from_ref(name),
            Some(Types::Several(names)) => names,
        };
        let named = names
            .iter()
            .filter(|name| !name.trim().is_empty())
            .map(|name| {
                ContentType::of_name(name).ok_or_else(|| {
                    let known: Vec<&str> =
                        content_type::ALL.iter().map(|(name, _)| *name).collect();
                    let reason = format!(
                        "`{name}` is not a content type; use one of {}",
                        known.join(", ")
                    );
                    Failure::invalid_option("content_type", reason)
                })
            });
        Ok(Self {
            criteria: Criteria::of(options.prompt.as_deref().unwrap_or_default()),
            named: named.collect::<Result<_, _>>()?,
            threshold: options.threshold.map(|threshold| threshold.clamp(0.0, 1.0)),
        })
    }

    /// Accepted types; empty accepts any type.
    fn types(&self) -> impl Iterator<Item = ContentType> {
        let types = if self.named.is_empty() {
            &self.criteria.types
        } else {
            &self.named
        };
        types.iter().copied()
    }

    /// The request as presented to a model.
    fn as_text(&self, options: &Options) -> Option<String> {
        let prompt = options.prompt.as_deref().unwrap_or_default().trim();
        if self.criteria.is_empty() && self.named.is_empty() && prompt.is_empty() {
            return None;
        }
        let types: Vec<&str> = self.named.iter().map(|own| own.name()).collect();
        Some(if types.is_empty() {
            prompt.to_owned()
        } else {
            format!("{prompt} (page types: {})", types.join(", "))
        })
    }
}

/// The answer for one page.
#[derive(Debug, Serialize)]
struct Answer {
    links: Vec<RankedLink>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<Value>,
}

impl Options {
    fn count(&self) -> usize {
        self.count.unwrap_or(COUNT_DEFAULT).clamp(1, COUNT_MAX)
    }
}

impl Analyst for FilterLinks {
    type Options = Options;

    fn info() -> Info {
        Info::new(
            "filter_links",
            env!("CARGO_PKG_VERSION"),
            "Links of a page that are worth following, with scores, content types and reasons",
        )
        .options_schema(OPTIONS_SCHEMA)
    }

    fn start(task: &Task<'_, Options>) -> Result<Step, Failure> {
        let (options, count) = (&task.options, task.options.count());
        let request = Request::of(options)?;
        let document = match &task.subject {
            Subject::Page { document, .. } => *document,
            Subject::Pages(findings) => return Step::done(&join::join(findings, count)),
        };
        let links = ranking::rank(document, &request);
        // Without a query a model has no advantage over the rules.
        let question = request.as_text(options).zip(task.model);
        match question.and_then(|(text, model)| model::ask(&links, &text, count, model)) {
            Some((question, n_offered)) => question.ask_with(&n_offered),
            None => Step::done(&answer(links, count, None)),
        }
    }

    fn resume(task: &Task<'_, Options>, memo: &[u8], reply: Reply<'_>) -> Result<Step, Failure> {
        let Subject::Page { document, .. } = &task.subject else {
            return Err(Failure::Failed(
                "a join asks no question, so there is no reply to resume with".to_owned(),
            ));
        };
        let request = Request::of(&task.options)?;
        let mut links = ranking::rank(document, &request);
        let note = model::merge(&mut links, recall(memo)?, request.threshold, &reply);
        Step::done(&answer(links, task.options.count(), Some(note)))
    }
}

fn answer(mut links: Vec<RankedLink>, count: usize, model: Option<Value>) -> Answer {
    links.truncate(count);
    Answer { links, model }
}
