//! Analysts: what a page says, found out by rules first and refined by a language model where there is one.
//!
//! An analyst is a type that implements [`Analyst`]. [`start`](Analyst::start) does what needs no model, and is done, or puts a
//! [`Question`]. The host asks the model and calls [`resume`](Analyst::resume) with the [`Reply`], in a fresh instance that knows what
//! the memo tells. What a model says is untrusted: check it, and drop what does not stand in the page.
//!
//! ```
//! use serde_json::{Value, json};
//! use trawl_sdk::analyst::{Analyst, Question, Reply, Step, Subject, Task};
//! use trawl_sdk::{Failure, Info};
//!
//! struct Language;
//!
//! impl Language {
//!     /// The language that the page claims, which needs no model.
//!     fn claimed(task: &Task<'_, ()>) -> Value {
//!         match &task.subject {
//!             Subject::Page { document, .. } => document.html().and_then(|html| html.attr("lang")).into(),
//!             Subject::Pages(findings) => findings.iter().map(|finding| finding.value["language"].clone()).collect(),
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
//!         let claimed = Self::claimed(task);
//!         match (&task.subject, &task.model) {
//!             (Subject::Page { document, .. }, Some(_)) if claimed.is_null() => {
//!                 let question = Question::new(json!({"enum": ["en", "fr", "other"]}))
//!                     .system("Which language is this text in?")
//!                     .user(document.text());
//!                 Ok(question.ask(Vec::new()))
//!             }
//!             _ => Ok(Step::Done(json!({"language": claimed}))),
//!         }
//!     }
//!
//!     fn resume(task: &Task<'_, ()>, _memo: &[u8], reply: Reply<'_>) -> Result<Step, Failure> {
//!         let note = reply.note();
//!         let language = match reply {
//!             Reply::Answer(answer) if answer != "other" => answer,
//!             _ => Self::claimed(task),
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
pub use question::{
    MESSAGES_MAX, Message, QUESTION_BYTES_MAX, QUESTIONS_MAX, Question, Reply, Role,
    SCHEMA_BYTES_MAX,
};
pub use task::{Finding, Model, Subject, Task};

/// Most bytes of a memo.
pub const MEMO_BYTES_MAX: usize = 1 << 20;

/// Finds out what a page says. The contract is `wit/analyst/1`.
pub trait Analyst {
    /// Options of one task; made from JSON. The caller's words come as `prompt`, so a plugin that reads no options still needs a type that
    /// takes that key when it is to be asked in words.
    type Options: DeserializeOwned + Default;

    /// Says what the plugin is. Always the same answer.
    fn info() -> Info;

    /// Begins an analysis.
    ///
    /// # Errors
    /// Any [`Failure`]; it becomes the `error` of this page, or of the run when its pages are to be joined.
    fn start(task: &Task<'_, Self::Options>) -> Result<Step, Failure>;

    /// Goes on with it: `memo` is what the step before left for this call, `reply` answers its question.
    ///
    /// # Errors
    /// As [`start`](Self::start). A reply that is of no use is no failure: the answer is then what needs no model.
    fn resume(
        task: &Task<'_, Self::Options>,
        memo: &[u8],
        reply: Reply<'_>,
    ) -> Result<Step, Failure>;
}

/// What is next in an analysis.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Ask this and call `resume` with the reply and these bytes, [`MEMO_BYTES_MAX`] at most. An error when the task has no model.
    Ask(Question, Vec<u8>),
    /// The answer.
    Done(serde_json::Value),
}

impl Step {
    /// The step that ends an analysis with this answer.
    ///
    /// # Errors
    /// [`Failure::Failed`]: it does not serialise to JSON.
    pub fn done(answer: &impl serde::Serialize) -> Result<Self, Failure> {
        serde_json::to_value(answer)
            .map(Self::Done)
            .map_err(|error| Failure::Failed(format!("the answer is no JSON: {error}")))
    }
}

/// Reads a memo that [`Question::ask_with`] wrote.
///
/// # Errors
/// [`Failure::Failed`]: it is something else.
pub fn recall<T: DeserializeOwned>(memo: &[u8]) -> Result<T, Failure> {
    serde_json::from_slice(memo)
        .map_err(|error| Failure::Failed(format!("the memo is not what was left: {error}")))
}
