//! What the first-party analysts share: an analysis by rules that a language model may improve with
//! one question a page, the question within the context window, and the result of the rules if the
//! model fails; and how they read structured data.
//!
//! A library, not a plugin.

mod prompt;
mod structured;
#[cfg(test)]
mod tests;
mod text;

use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use trawl_sdk::analyst::{Analyst, Finding, Model, Question, Reply, Step, Subject, Task};
use trawl_sdk::{Document, Failure, Info};

pub use prompt::{Prompt, is_quoted, list_schema};
pub use structured::{Item, structured_data};
pub use text::{digits, lists, percent_decoded, prompt_of, rounded};

/// An analyst that asks at most one question about a page; [`OnePage`] is the plugin made of it.
pub trait PageAnalyst {
    /// Options of a task.
    type Options: DeserializeOwned + Default;
    /// What the rules find on a page.
    type Page;
    /// The answer of a model.
    type Answer: DeserializeOwned;

    /// Describes the plugin.
    fn info() -> Info;

    /// Checks what the schema of the options cannot express.
    ///
    /// # Errors
    /// [`Failure::InvalidOptions`] names the option.
    fn check(_: &Self::Options) -> Result<(), Failure> {
        Ok(())
    }

    /// Analyses a page by rules alone. Equal pages give equal results.
    fn read(document: &Document<'_>, options: &Self::Options) -> Self::Page;

    /// The question about a page; `None` if there is nothing to ask, or no room to ask it.
    fn ask(page: &Self::Page, options: &Self::Options, model: Model) -> Option<Question>;

    /// Adds those parts of a model's answer to a page that the page supports.
    fn merge(page: &mut Self::Page, options: &Self::Options, model: Model, answer: Self::Answer);

    /// The answer for a page; `model` is the note about the model, if one was asked.
    ///
    /// # Errors
    /// The answer cannot be serialised.
    fn answer(
        page: Self::Page,
        options: &Self::Options,
        model: Option<Value>,
    ) -> Result<Step, Failure>;

    /// The answer for all pages of a run.
    ///
    /// # Errors
    /// The answer cannot be serialised.
    fn join(findings: &[Finding], options: &Self::Options) -> Result<Step, Failure>;
}

/// The analyst that a plugin exports for a [`PageAnalyst`].
pub struct OnePage<A>(PhantomData<A>);

impl<A: PageAnalyst> Analyst for OnePage<A> {
    type Options = A::Options;

    fn info() -> Info {
        A::info()
    }

    /// The question to the model, or the answer of the rules.
    fn start(task: &Task<'_, A::Options>) -> Result<Step, Failure> {
        A::check(&task.options)?;
        let document = match &task.subject {
            Subject::Page { document, .. } => *document,
            Subject::Pages(findings) => return A::join(findings, &task.options),
        };
        let page = A::read(document, &task.options);
        let question = task
            .model
            .and_then(|model| A::ask(&page, &task.options, model));
        match question {
            // The page is read again in `resume`, so nothing is passed on.
            Some(question) => Ok(question.ask(Vec::new())),
            None => A::answer(page, &task.options, None),
        }
    }

    /// The answer with the model's reply. Without a usable one the result of the rules remains,
    /// with the reason.
    fn resume(task: &Task<'_, A::Options>, _: &[u8], reply: Reply<'_>) -> Result<Step, Failure> {
        let Subject::Page { document, .. } = &task.subject else {
            return Err(Failure::Failed(
                "a join asks no question, so there is no reply to resume with".to_owned(),
            ));
        };
        let mut page = A::read(document, &task.options);
        let note = match (&reply, task.model) {
            (Reply::Answer(answer), Some(model)) => match <A::Answer>::deserialize(answer) {
                Ok(answer) => {
                    A::merge(&mut page, &task.options, model, answer);
                    reply.note()
                }
                Err(_) => not_used("the model's answer does not match the schema"),
            },
            (Reply::Answer(_), None) => not_used("the task has no model"),
            (Reply::Unavailable(_), _) => reply.note(),
        };
        A::answer(page, &task.options, Some(note))
    }
}

fn not_used(reason: &str) -> Value {
    json!({"used": false, "reason": reason})
}

/// The note about the model for a run: used if any page used it, otherwise the first reason why
/// not.
pub fn model_note<'v>(notes: impl Iterator<Item = &'v Value>) -> Option<Value> {
    let notes: Vec<&Value> = notes.collect();
    let used = notes.iter().find(|note| note["used"] == true);
    used.or(notes.first()).map(|note| (*note).clone())
}
