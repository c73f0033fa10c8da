//! Analysts: analyse a page by rules, and refine the result with a language model if there is one.
//!
//! An analyst is a type that implements [`Analyst`]. [`start`](Analyst::start) does what needs no
//! model and returns the result or a [`Question`]. The host asks the model and calls
//! [`resume`](Analyst::resume) with the [`Reply`] in a fresh instance; state is carried over in the
//! memo. The model's output is untrusted: verify it and drop everything that the page does not
//! support.
//!
//! ```
//! use serde_json::{Value, json};
//! use trawl_sdk::analyst::{Analyst, Question, Reply, Step, Subject, Task};
//! use trawl_sdk::{Failure, Info};
//!
//! struct Language;
//!
//! impl Language {
//!     /// The language that the page declares, which needs no model.
//!     fn declared(task: &Task<'_, ()>) -> Value {
//!         match &task.subject {
//!             Subject::Page { document, .. } => {
//!                 document.html().and_then(|html| html.attr("lang")).into()
//!             }
//!             Subject::Pages(findings) => {
//!                 findings.iter().map(|finding| finding.value["language"].clone()).collect()
//!             }
//!         }
//!     }
//! }
//!
//! impl Analyst for Language {
//!     type Options = ();
//!
//!     fn info() -> Info {
//!         Info::new("language", env!("CARGO_PKG_VERSION"), "The language of a page")
//!     }
//!
//!     fn start(task: &Task<'_, ()>) -> Result<Step, Failure> {
//!         let declared = Self::declared(task);
//!         match (&task.subject, &task.model) {
//!             (Subject::Page { document, .. }, Some(_)) if declared.is_null() => {
//!                 let question = Question::new(json!({"enum": ["en", "fr", "other"]}))
//!                     .system("Which language is this text in?")
//!                     .user(document.text());
//!                 Ok(question.ask(Vec::new()))
//!             }
//!             _ => Ok(Step::Done(json!({"language": declared}))),
//!         }
//!     }
//!
//!     fn resume(task: &Task<'_, ()>, _memo: &[u8], reply: Reply<'_>) -> Result<Step, Failure> {
//!         let note = reply.note();
//!         let language = match reply {
//!             Reply::Answer(answer) if answer != "other" => answer,
//!             _ => Self::declared(task),
//!         };
//!         Ok(Step::Done(json!({"language": language, "model": note})))
//!     }
//! }
//!
//! trawl_sdk::export!(analyst: Language);
//! ```

mod question;
mod task;
#[cfg(all(test, feature = "testkit"))]
mod tests;

use serde::de::DeserializeOwned;

use crate::{Failure, Info};
pub use question::{Question, Reply};
pub use task::{Finding, Model, Subject, Task};
#[doc(inline)]
pub use trawl_contract::analyst::{
    MEMO_BYTES_MAX, MESSAGES_MAX, Message, QUESTION_BYTES_MAX, QUESTIONS_MAX, Role,
    SCHEMA_BYTES_MAX,
};

/// Analyses a page, with or without a language model. The contract is `wit/analyst/1`.
pub trait Analyst {
    /// Options of one task, deserialised from JSON. The caller's request in natural language
    /// arrives as `prompt`, so an analyst without other options still needs a type with that key to
    /// support it.
    type Options: DeserializeOwned + Default;

    /// Describes the plugin. Must always return the same value.
    fn info() -> Info;

    /// Starts an analysis.
    ///
    /// # Errors
    /// Any [`Failure`]; it becomes the `error` of this page, or of the run when findings are
    /// joined.
    fn start(task: &Task<'_, Self::Options>) -> Result<Step, Failure>;

    /// Continues an analysis: `memo` is what the previous step passed on, `reply` is the answer to
    /// its question.
    ///
    /// # Errors
    /// See [`start`](Self::start). A useless reply is not a failure: return the answer that needs
    /// no model.
    fn resume(
        task: &Task<'_, Self::Options>,
        memo: &[u8],
        reply: Reply<'_>,
    ) -> Result<Step, Failure>;
}

/// The next step of an analysis.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Ask the model this question and call `resume` with its reply and this memo of at most
    /// [`MEMO_BYTES_MAX`] bytes. An error if the task has no model.
    Ask(Question, Vec<u8>),
    /// The final answer.
    Done(serde_json::Value),
}

impl Step {
    /// The final step of an analysis, with this answer.
    ///
    /// # Errors
    /// [`Failure::Failed`] if the answer does not serialise to JSON.
    pub fn done(answer: &impl serde::Serialize) -> Result<Self, Failure> {
        serde_json::to_value(answer)
            .map(Self::Done)
            .map_err(|error| {
                Failure::Failed(format!("the answer cannot be serialised to JSON: {error}"))
            })
    }
}

/// Reads a memo written by [`Question::ask_with`].
///
/// # Errors
/// [`Failure::Failed`] if the memo does not deserialise to this type.
pub fn recall<T: DeserializeOwned>(memo: &[u8]) -> Result<T, Failure> {
    serde_json::from_slice(memo)
        .map_err(|error| Failure::Failed(format!("the memo cannot be read: {error}")))
}
