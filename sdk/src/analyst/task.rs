//! What is wanted of an analyst.

use serde_json::Value;

use crate::{Document, Source};

/// What is wanted, with the options as the author's type.
#[derive(Clone, Debug)]
pub struct Task<'a, O> {
    /// What is to be analysed.
    pub subject: Subject<'a>,
    /// Options of this task.
    pub options: O,
    /// The model, if there is one. Without, the answer is what needs none.
    pub model: Option<Model>,
}

/// What is to be analysed.
#[derive(Clone, Debug)]
pub enum Subject<'a> {
    /// One page.
    Page {
        /// Its tree, with what filters left of it.
        document: &'a Document<'a>,
        /// What goes with the tree.
        source: Source<'a>,
    },
    /// What this analyst made of a run's pages, to be joined into one answer.
    Pages(Vec<Finding>),
}

/// What this analyst made of one page of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Address of the page, absolute.
    pub url: String,
    /// The answer of that page.
    pub value: Value,
}

/// A language model that answers questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Model {
    /// Tokens that a question may have, its schema included.
    pub context_tokens: u32,
    /// Most tokens of an answer.
    pub answer_tokens: u32,
}

/// Bytes of UTF-8 that a token stands for at least, in nearly all text: four in English, three in scripts of one token a character.
const TOKEN_BYTES: usize = 3;

impl Model {
    /// How many bytes of text surely fit into a question: an estimate, for cutting a page.
    pub fn context_bytes(&self) -> usize {
        (self.context_tokens as usize).saturating_mul(TOKEN_BYTES)
    }
}
