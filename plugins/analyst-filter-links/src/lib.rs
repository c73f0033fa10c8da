//! The `filter_links` analyst: which links of a page are worth following for a query.

mod content_type;
mod criteria;
mod join;
mod link;
mod model;
mod names;
mod ranking;
#[cfg(test)]
mod tests;
mod url;
mod vocabulary;

use analyst_base::{PageAnalyst, prompt_of};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use trawl_sdk::analyst::{Finding, Model, Question, Step};
use trawl_sdk::{Document, Failure, Info};

use criteria::Criteria;
use names::ContentType;
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

trawl_sdk::export!(analyst: analyst_base::OnePage<FilterLinks>);

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
                    let known: Vec<&str> = names::ALL.iter().map(|(name, _)| *name).collect();
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
        let prompt = prompt_of(options.prompt.as_deref()).unwrap_or_default();
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

impl PageAnalyst for FilterLinks {
    type Options = Options;
    type Page = Vec<RankedLink>;
    type Answer = model::Selection;

    fn info() -> Info {
        Info::new(
            "filter_links",
            env!("CARGO_PKG_VERSION"),
            "Links of a page that are worth following, with scores, content types and reasons",
        )
        .options_schema(OPTIONS_SCHEMA)
    }

    fn check(options: &Options) -> Result<(), Failure> {
        Request::of(options).map(drop)
    }

    fn read(document: &Document<'_>, options: &Options) -> Vec<RankedLink> {
        // The options are checked before a page is read.
        let request = Request::of(options);
        request.map_or_else(|_| Vec::new(), |request| ranking::rank(document, &request))
    }

    fn ask(links: &Vec<RankedLink>, options: &Options, model: Model) -> Option<Question> {
        question(links, options, model).map(|(question, _)| question)
    }

    fn merge(
        links: &mut Vec<RankedLink>,
        options: &Options,
        model: Model,
        selection: model::Selection,
    ) {
        if let (Ok(request), Some((_, n_offered))) =
            (Request::of(options), question(links, options, model))
        {
            model::merge(links, n_offered, request.threshold, &selection);
        }
    }

    fn answer(
        mut links: Vec<RankedLink>,
        options: &Options,
        model: Option<Value>,
    ) -> Result<Step, Failure> {
        links.truncate(options.count());
        Step::done(&Answer { links, model })
    }

    fn join(findings: &[Finding], options: &Options) -> Result<Step, Failure> {
        Step::done(&join::join(findings, options.count()))
    }
}

/// The question to a model and the number of links that it offers. Without a query a model has no
/// advantage over the rules.
fn question(links: &[RankedLink], options: &Options, model: Model) -> Option<(Question, usize)> {
    let request = Request::of(options).ok()?.as_text(options)?;
    model::ask(links, &request, options.count(), model)
}
