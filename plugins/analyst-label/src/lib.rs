//! The `label` analyst: what a page is about, as labels with reasons.

mod choose;
mod custom;
mod evidence;
mod join;
mod model;
mod taxonomy;
#[cfg(test)]
mod tests;

use analyst_base::{PageAnalyst, prompt_of};
use serde::Serialize;
use serde_json::Value;
use trawl_sdk::analyst::{Finding, Model, Question, Step};
use trawl_sdk::{Document, Failure, Info};

use choose::Assignment;
use evidence::Evidence;
use taxonomy::Kind;

/// Assigns topics and an industry from a built-in taxonomy, or custom labels of the caller. The
/// evidence is the page's own metadata (schema.org types, sections, breadcrumbs, keywords) and its
/// words; a model, if available, selects among the same labels.
pub struct Label;

/// Maximum number of labels in an answer.
pub const COUNT_MAX: usize = 50;
/// Default number of labels.
const COUNT_DEFAULT: usize = 5;

/// Options of a task.
#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Custom labels.
    labels: Option<Vec<String>>,
    /// The caller's prompt; it may list custom labels.
    prompt: Option<String>,
    /// Maximum number of labels, 1 to [`COUNT_MAX`].
    count: Option<usize>,
}

const OPTIONS_SCHEMA: &str = r#"{
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "labels": {"type": ["array", "null"], "items": {"type": "string"}, "maxItems": 200, "description": "Labels to choose from; by default the built-in topics and industries."},
        "prompt": {"type": ["string", "null"], "description": "What to label by; a list separated by commas or line breaks names the labels to choose from."},
        "count": {"type": ["integer", "null"], "minimum": 1, "maximum": 50, "default": 5, "description": "Maximum number of labels."}
    },
    "additionalProperties": false
}"#;

trawl_sdk::export!(analyst: analyst_base::OnePage<Label>);

/// The answer for one page.
#[derive(Debug, Serialize)]
struct Answer {
    labels: Vec<Assignment>,
    #[serde(skip_serializing_if = "Option::is_none")]
    industry: Option<Assignment>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<Value>,
}

impl Options {
    fn count(&self) -> usize {
        self.count.unwrap_or(COUNT_DEFAULT).clamp(1, COUNT_MAX)
    }

    fn prompt(&self) -> Option<&str> {
        prompt_of(self.prompt.as_deref())
    }
}

/// The evidence on a page and the labels assigned by the rules.
pub struct Page {
    evidence: Evidence,
    title: String,
    /// The labels to choose from.
    offered: Vec<String>,
    labels: Vec<Assignment>,
    industry: Option<Assignment>,
}

impl Page {
    fn read(document: &Document<'_>, options: &Options) -> Self {
        let evidence = Evidence::of(document);
        let supports = choose::supports(&evidence);
        let custom = custom::named(
            options.labels.as_deref().unwrap_or_default(),
            options.prompt(),
        );
        let title = document.title().unwrap_or_default();
        if !custom.is_empty() {
            return Self {
                labels: custom::assign(&evidence, &supports, &custom),
                industry: None,
                offered: custom,
                evidence,
                title,
            };
        }
        let topics = taxonomy::labels()
            .iter()
            .filter(|label| label.kind == Kind::Topic);
        Self {
            offered: topics.map(|label| label.name.to_owned()).collect(),
            labels: choose::assign(&evidence, &supports, Kind::Topic),
            industry: choose::assign(&evidence, &supports, Kind::Industry)
                .into_iter()
                .next(),
            evidence,
            title,
        }
    }
}

impl PageAnalyst for Label {
    type Options = Options;
    type Page = Page;
    type Answer = model::Selection;

    fn info() -> Info {
        Info::new(
            "label",
            env!("CARGO_PKG_VERSION"),
            "Topics, industry or custom labels of a page, each with a confidence and a reason",
        )
        .options_schema(OPTIONS_SCHEMA)
    }

    fn read(document: &Document<'_>, options: &Options) -> Page {
        Page::read(document, options)
    }

    fn ask(page: &Page, options: &Options, model: Model) -> Option<Question> {
        model::ask(page, options, model)
    }

    fn merge(page: &mut Page, _: &Options, _: Model, selection: model::Selection) {
        model::merge(page, selection);
    }

    fn answer(page: Page, options: &Options, model: Option<Value>) -> Result<Step, Failure> {
        let mut labels = page.labels;
        labels.truncate(options.count());
        Step::done(&Answer {
            labels,
            industry: page.industry,
            model,
        })
    }

    fn join(findings: &[Finding], options: &Options) -> Result<Step, Failure> {
        Step::done(&join::join(findings, options.count()))
    }
}
