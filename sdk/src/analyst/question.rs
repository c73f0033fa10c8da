//! Questions to a language model, and what came of them.

use serde::Serialize;
use serde_json::{Value, json};

use super::Step;
use crate::Failure;

/// Most questions of one task.
pub const QUESTIONS_MAX: usize = 4;
/// Most messages of one question.
pub const MESSAGES_MAX: usize = 64;
/// Most bytes of a question's messages in all.
pub const QUESTION_BYTES_MAX: usize = 1 << 20;
/// Most bytes of a question's schema.
pub const SCHEMA_BYTES_MAX: usize = 64 << 10;

/// A question to the model.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// What it is asked, in order; one message at least, [`MESSAGES_MAX`] and [`QUESTION_BYTES_MAX`] at most.
    pub messages: Vec<Message>,
    /// JSON Schema (draft 2020-12) of the answer, [`SCHEMA_BYTES_MAX`] as text; without `$ref`, `pattern` and `patternProperties`.
    pub schema: Value,
    /// Most tokens of the answer; 0 is as many as the model gives.
    pub answer_tokens: u32,
}

/// A part of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Whose words these are.
    pub role: Role,
    /// The words.
    pub text: String,
}

/// Whose words a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The analyst's instructions.
    System,
    /// What the instructions are about: text of pages, words of the caller.
    User,
}

/// What came of a question.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply<'a> {
    /// A value that fits the question's schema. Untrusted.
    Answer(Value),
    /// There is none; says why. No further question will be answered.
    Unavailable(&'a str),
}

impl Question {
    /// A question whose answer fits this JSON Schema, without a message.
    pub fn new(schema: Value) -> Self {
        Self {
            messages: Vec::new(),
            schema,
            answer_tokens: 0,
        }
    }

    /// Adds instructions.
    #[must_use]
    pub fn system(self, text: impl Into<String>) -> Self {
        self.message(Role::System, text.into())
    }

    /// Adds what the instructions are about.
    #[must_use]
    pub fn user(self, text: impl Into<String>) -> Self {
        self.message(Role::User, text.into())
    }

    /// Sets the most tokens of the answer.
    #[must_use]
    pub fn answer_tokens(self, answer_tokens: u32) -> Self {
        Self {
            answer_tokens,
            ..self
        }
    }

    /// Bytes of its messages in all.
    pub fn bytes(&self) -> usize {
        self.messages.iter().map(|message| message.text.len()).sum()
    }

    /// The step that asks this and leaves a memo for the reply.
    pub fn ask(self, memo: impl Into<Vec<u8>>) -> Step {
        Step::Ask(self, memo.into())
    }

    /// The step that asks this and leaves a value for the reply, to be read with [`recall`](super::recall).
    ///
    /// # Errors
    /// [`Failure::Failed`]: the value does not serialise to JSON.
    pub fn ask_with(self, memo: &impl Serialize) -> Result<Step, Failure> {
        serde_json::to_vec(memo)
            .map(|memo| self.ask(memo))
            .map_err(|error| Failure::Failed(format!("the memo is no JSON: {error}")))
    }

    fn message(mut self, role: Role, text: String) -> Self {
        self.messages.push(Message { role, text });
        self
    }
}

impl Reply<'_> {
    /// What an answer says of the model under `model`: `{"used":true}`, or `{"used":false,"reason":"…"}`.
    pub fn note(&self) -> Value {
        match self {
            Self::Answer(_) => json!({"used": true}),
            Self::Unavailable(reason) => json!({"used": false, "reason": reason}),
        }
    }
}
