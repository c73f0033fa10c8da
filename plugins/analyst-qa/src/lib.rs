//! The `qa` analyst: questions and answers, each answer quoted verbatim from the page.

mod disclosure;
mod headings;
mod join;
mod markup;
mod model;
mod page;
mod pair;
mod question;
mod rank;
#[cfg(test)]
mod tests;

use analyst_base::{PageAnalyst, prompt_of};
use serde_json::Value;
use trawl_sdk::analyst::{Finding, Model, Question, Step};
use trawl_sdk::{Document, Failure, Info};

use page::Page;

/// Finds questions and answers: those marked up on the page (FAQ markup, accordions, definition
/// lists, headings that are questions), and the passages that best answer an inquiry (BM25). A
/// model, if available, writes questions for quoted passages.
pub struct Qa;

/// Maximum number of pairs in an answer.
pub const COUNT_MAX: usize = 100;
/// Default number of pairs.
const COUNT_DEFAULT: usize = 10;

/// Options of a task.
#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// The question, or the topic of the questions.
    prompt: Option<String>,
    /// Maximum number of pairs, 1 to [`COUNT_MAX`].
    count: Option<usize>,
}

const OPTIONS_SCHEMA: &str = r#"{
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "prompt": {"type": ["string", "null"], "description": "A question, or the topic of the questions; by default the page's own questions."},
        "count": {"type": ["integer", "null"], "minimum": 1, "maximum": 100, "default": 10, "description": "Maximum number of question and answer pairs."}
    },
    "additionalProperties": false
}"#;

trawl_sdk::export!(analyst: analyst_base::OnePage<Qa>);

impl Options {
    /// The inquiry, if any.
    fn prompt(&self) -> Option<&str> {
        prompt_of(self.prompt.as_deref())
    }

    fn count(&self) -> usize {
        self.count.unwrap_or(COUNT_DEFAULT).clamp(1, COUNT_MAX)
    }
}

impl PageAnalyst for Qa {
    type Options = Options;
    type Page = Page;
    type Answer = model::WrittenPairs;

    fn info() -> Info {
        Info::new(
            "qa",
            env!("CARGO_PKG_VERSION"),
            "Questions and answers on a page, and the passages that answer an inquiry",
        )
        .options_schema(OPTIONS_SCHEMA)
    }

    fn read(document: &Document<'_>, options: &Options) -> Page {
        Page::read(document, options)
    }

    fn ask(page: &Page, options: &Options, model: Model) -> Option<Question> {
        model::ask(page, options, model)
    }

    fn merge(page: &mut Page, options: &Options, _: Model, written: model::WrittenPairs) {
        model::merge(page, options, &written);
    }

    fn answer(page: Page, options: &Options, model: Option<Value>) -> Result<Step, Failure> {
        Step::done(&page.answer(options.count(), model))
    }

    fn join(findings: &[Finding], options: &Options) -> Result<Step, Failure> {
        Step::done(&join::join(findings, options))
    }
}
