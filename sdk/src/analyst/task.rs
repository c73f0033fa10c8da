//! Input of an analyst.

use serde_json::Value;

use crate::{Document, Source};

/// Input of an analyst, with the options in the author's type.
#[derive(Clone, Debug)]
pub struct Task<'a, O> {
    /// What to analyse.
    pub subject: Subject<'a>,
    /// Options of this task.
    pub options: O,
    /// The model, if one is available. Without a model, answer by rules alone.
    pub model: Option<Model>,
}

/// What to analyse.
#[derive(Clone, Debug)]
pub enum Subject<'a> {
    /// One page.
    Page {
        /// Its tree, after filtering.
        document: &'a Document<'a>,
        /// Its source.
        source: Source<'a>,
    },
    /// Findings of this analyst on the pages of a run, to be joined into one answer.
    Pages(Vec<Finding>),
}

/// This analyst's answer for one page of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Absolute URL of the page.
    pub url: String,
    /// The answer for that page.
    pub value: Value,
}

/// A language model that answers questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Model {
    /// Maximum number of tokens in a question, schema included.
    pub context_tokens: u32,
    /// Maximum number of tokens in an answer.
    pub answer_tokens: u32,
}

/// Lower bound of UTF-8 bytes per token for nearly all text: English has about four, scripts with
/// one token per character have three.
const TOKEN_BYTES: usize = 3;

impl Model {
    /// Number of bytes of text that safely fit into a question: an estimate for truncating a page.
    pub fn context_bytes(&self) -> usize {
        (self.context_tokens as usize).saturating_mul(TOKEN_BYTES)
    }
}
