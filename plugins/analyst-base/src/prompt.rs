//! Questions about the text of a page, within the context window of a model.

use serde_json::{Value, json};
use trawl_rank::{DATA_NOTE, Room, data, holds, squeeze};
use trawl_sdk::analyst::{Model, Question};

/// Minimum quotation length in characters; shorter strings occur on any page.
const QUOTE_CHARS_MIN: usize = 8;

/// A question without the text that it is about.
pub struct Prompt {
    question: Question,
    request: String,
    /// Budget for the text.
    pub room: Room,
}

impl Prompt {
    /// Creates a question with these rules and this request. `schema` is that of the answer, which
    /// has at most `answer_tokens` tokens.
    pub fn new(
        model: Model,
        rules: &str,
        request: String,
        schema: Value,
        answer_tokens: u32,
    ) -> Self {
        let schema_text = schema.to_string();
        let taken = [rules, DATA_NOTE, &request, &schema_text, "data marks"];
        let room = Room::new(model.context_tokens, &taken);
        let question = Question::new(schema)
            .system(format!("{rules}\n{DATA_NOTE}"))
            .answer_tokens(model.answer_tokens.min(answer_tokens));
        Self {
            question,
            request,
            room,
        }
    }

    /// The question about this text, which is marked as data.
    pub fn about(self, text: &str) -> Question {
        self.question
            .user(format!("{}\n\n{}", self.request, data(text)))
    }
}

/// Schema of an object with one list of at most `count` objects, whose properties are all required:
/// `{"pairs": [{"question": …}]}`.
pub fn list_schema(name: &str, count: usize, properties: &Value) -> Value {
    let required: Vec<&String> = properties
        .as_object()
        .map(|properties| properties.keys().collect())
        .unwrap_or_default();
    json!({
        "type": "object",
        "properties": {name: {
            "type": "array",
            "maxItems": count,
            "items": {
                "type": "object",
                "properties": properties,
                "required": required,
                "additionalProperties": false,
            },
        }},
        "required": [name],
        "additionalProperties": false,
    })
}

/// Whether a quotation is long enough to mean something and occurs in the text, which must be
/// [`squeeze`]d.
pub fn is_quoted(text: &str, quotation: &str) -> bool {
    squeeze(quotation).chars().count() >= QUOTE_CHARS_MIN && holds(text, quotation)
}
