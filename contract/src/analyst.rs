//! Questions of an analyst to the language model: their limits and messages. The contract is
//! `wit/analyst/1`.

/// Maximum size of a memo, in bytes.
pub const MEMO_BYTES_MAX: usize = 1 << 20;
/// Maximum number of questions per task.
pub const QUESTIONS_MAX: usize = 4;
/// Maximum number of messages per question.
pub const MESSAGES_MAX: usize = 64;
/// Maximum total size of a question's messages, in bytes.
pub const QUESTION_BYTES_MAX: usize = 1 << 20;
/// Maximum size of a question's schema, in bytes.
pub const SCHEMA_BYTES_MAX: usize = 64 << 10;

/// One message of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Role of the author.
    pub role: Role,
    /// Text of the message.
    pub text: String,
}

/// Role of a message's author.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Instructions of the analyst.
    System,
    /// The material: page text, or the caller's request.
    User,
}
