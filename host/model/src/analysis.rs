//! What is known of a language model before it is used.

use serde::Serialize;

/// The limits of a model, in its own tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ModelSize {
    /// Tokens that a question may have, its schema included.
    pub context_tokens: u32,
    /// Most tokens of an answer.
    pub answer_tokens: u32,
}
