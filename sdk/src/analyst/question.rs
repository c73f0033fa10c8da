//! Questions to a language model, and its replies.

use serde::Serialize;
use serde_json::{Value, json};
use trawl_contract::analyst::{Message, Role};

use super::Step;
use crate::Failure;

/// A question to the model.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// The messages in order: between 1 and [`MESSAGES_MAX`](super::MESSAGES_MAX), of at most
    /// [`QUESTION_BYTES_MAX`](super::QUESTION_BYTES_MAX) in total.
    pub messages: Vec<Message>,
    /// JSON Schema (draft 2020-12) of the answer, at most
    /// [`SCHEMA_BYTES_MAX`](super::SCHEMA_BYTES_MAX) as text, without `$ref`, `pattern` and
    /// `patternProperties`.
    pub schema: Value,
    /// Maximum number of tokens in the answer; 0 means the model's own limit.
    pub answer_tokens: u32,
}

/// Reply to a question.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply<'a> {
    /// A value that matches the question's schema. Untrusted.
    Answer(Value),
    /// No answer; holds the reason. No further question will be answered.
    Unavailable(&'a str),
}

impl Question {
    /// A question without messages whose answer must match this JSON Schema.
    pub fn new(schema: Value) -> Self {
        Self {
            messages: Vec::new(),
            schema,
            answer_tokens: 0,
        }
    }

    /// Adds a system message.
    #[must_use]
    pub fn system(self, text: impl Into<String>) -> Self {
        self.message(Role::System, text.into())
    }

    /// Adds a user message.
    #[must_use]
    pub fn user(self, text: impl Into<String>) -> Self {
        self.message(Role::User, text.into())
    }

    /// Limits the number of tokens in the answer.
    #[must_use]
    pub fn answer_tokens(self, answer_tokens: u32) -> Self {
        Self {
            answer_tokens,
            ..self
        }
    }

    /// Total size of the messages in bytes.
    pub fn bytes(&self) -> usize {
        self.messages.iter().map(|message| message.text.len()).sum()
    }

    /// The step that asks this question and passes a memo on to [`resume`](super::Analyst::resume).
    pub fn ask(self, memo: impl Into<Vec<u8>>) -> Step {
        Step::Ask(self, memo.into())
    }

    /// The step that asks this question and passes on a serialised value, to be read with
    /// [`recall`](super::recall).
    ///
    /// # Errors
    /// [`Failure::Failed`] if the value does not serialise to JSON.
    pub fn ask_with(self, memo: &impl Serialize) -> Result<Step, Failure> {
        serde_json::to_vec(memo)
            .map(|memo| self.ask(memo))
            .map_err(|error| {
                Failure::Failed(format!("the memo cannot be serialised to JSON: {error}"))
            })
    }

    fn message(mut self, role: Role, text: String) -> Self {
        self.messages.push(Message { role, text });
        self
    }
}

impl Reply<'_> {
    /// Value of the `model` field of an answer: `{"used":true}`, or
    /// `{"used":false,"reason":"…"}`.
    pub fn note(&self) -> Value {
        match self {
            Self::Answer(_) => json!({"used": true}),
            Self::Unavailable(reason) => json!({"used": false, "reason": reason}),
        }
    }
}
