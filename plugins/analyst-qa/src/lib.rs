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

use trawl_sdk::analyst::{Analyst, Reply, Step, Subject, Task};
use trawl_sdk::{Failure, Info};

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

trawl_sdk::export!(analyst: Qa);

impl Options {
    /// The inquiry, if any.
    fn prompt(&self) -> Option<&str> {
        let prompt = self.prompt.as_deref().map(str::trim);
        prompt.filter(|prompt| !prompt.is_empty())
    }

    fn count(&self) -> usize {
        self.count.unwrap_or(COUNT_DEFAULT).clamp(1, COUNT_MAX)
    }
}

impl Analyst for Qa {
    type Options = Options;

    fn info() -> Info {
        Info::new(
            "qa",
            env!("CARGO_PKG_VERSION"),
            "Questions and answers on a page, and the passages that answer an inquiry",
        )
        .options_schema(OPTIONS_SCHEMA)
    }

    fn start(task: &Task<'_, Options>) -> Result<Step, Failure> {
        let document = match &task.subject {
            Subject::Page { document, .. } => *document,
            Subject::Pages(findings) => return Step::done(&join::join(findings, &task.options)),
        };
        let page = Page::read(document, &task.options);
        match task
            .model
            .and_then(|model| model::ask(&page, &task.options, model))
        {
            Some(question) => Ok(question.ask(Vec::new())),
            None => Step::done(&page.answer(task.options.count())),
        }
    }

    fn resume(task: &Task<'_, Options>, _: &[u8], reply: Reply<'_>) -> Result<Step, Failure> {
        let Subject::Page { document, .. } = &task.subject else {
            return Err(Failure::Failed(
                "a join asks no question, so there is no reply to resume with".to_owned(),
            ));
        };
        let mut page = Page::read(document, &task.options);
        let note = model::take(&mut page, &task.options, &reply);
        let mut answer = page.answer(task.options.count());
        answer.model = Some(note);
        Step::done(&answer)
    }
}
