//! The analyst `qa`: questions with their answers, each answer as it stands in the page.

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

/// Finds questions and their answers: what pages mark as such (FAQ markup, accordions, definition lists, headings that ask), and the
/// passages that answer an inquiry best (BM25). A model, where there is one, words questions to quotations.
pub struct Qa;

/// Most pairs that can be asked for.
pub const COUNT_MAX: usize = 100;
/// Pairs given when nobody says how many.
const COUNT_DEFAULT: usize = 10;

/// Options of one task.
#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// What is asked, or the topic that questions are to be about.
    prompt: Option<String>,
    /// Most pairs, 1 to [`COUNT_MAX`].
    count: Option<usize>,
}

const OPTIONS_SCHEMA: &str = r#"{
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "prompt": {"type": ["string", "null"], "description": "What is asked, or the topic that the questions are to be about; without it, what the page itself asks."},
        "count": {"type": ["integer", "null"], "minimum": 1, "maximum": 100, "default": 10, "description": "Most pairs of question and answer."}
    },
    "additionalProperties": false
}"#;

trawl_sdk::export!(analyst: Qa);

impl Options {
    /// The inquiry; `None` when there is none.
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
            "Questions and answers that stand in a page, and the passages that answer an inquiry",
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
                "pages are joined without a question".to_owned(),
            ));
        };
        let mut page = Page::read(document, &task.options);
        let note = model::take(&mut page, &task.options, &reply);
        let mut answer = page.answer(task.options.count());
        answer.model = Some(note);
        Step::done(&answer)
    }
}
