//! Questions of analysts to a model: their limits, and validation of the answers.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use trawl_contract::analyst::Message;
use trawl_model::ModelSize;

use crate::info::compile_schema;

/// Largest total of a question's messages, in bytes: more than the largest models take.
const QUESTION_BYTES_MAX: usize = trawl_contract::analyst::QUESTION_BYTES_MAX;
/// Largest schema of a question, in bytes: it is sent with the messages, and answers are validated
/// against it.
const SCHEMA_BYTES_MAX: usize = trawl_contract::analyst::SCHEMA_BYTES_MAX;
/// Most messages of a question.
const MESSAGES_MAX: usize = trawl_contract::analyst::MESSAGES_MAX;

/// A question as the analyst returned it, unchecked.
#[derive(Clone, Debug)]
pub(crate) struct RawQuestion {
    pub(crate) messages: Vec<Message>,
    pub(crate) schema: String,
    pub(crate) answer_tokens: u32,
}

/// A question of an analyst, valid by the contract.
#[derive(Clone)]
pub struct Question {
    /// The messages in order; never empty.
    pub messages: Vec<Message>,
    /// JSON Schema (draft 2020-12) of the answer.
    pub schema: Value,
    /// Token limit of the answer, at most the model's.
    pub answer_tokens: u32,
    validator: Arc<jsonschema::Validator>,
}

impl Question {
    /// Checks a question for a model of this size.
    ///
    /// # Errors
    /// A message: which rule of the contract it violates.
    pub(crate) fn check_raw(question: RawQuestion, model: ModelSize) -> Result<Self, String> {
        let n_messages = question.messages.len();
        if !(1..=MESSAGES_MAX).contains(&n_messages) {
            return Err(format!(
                "a question of {n_messages} messages, allowed 1 to {MESSAGES_MAX}"
            ));
        }
        let texts = question.messages.iter();
        let bytes: usize = texts.map(|message| message.text.len()).sum();
        if bytes > QUESTION_BYTES_MAX {
            return Err(format!(
                "a question of {bytes} bytes, allowed {QUESTION_BYTES_MAX}"
            ));
        }
        if question.schema.len() > SCHEMA_BYTES_MAX {
            return Err(format!(
                "a question with a schema of {} bytes, allowed {SCHEMA_BYTES_MAX}",
                question.schema.len()
            ));
        }
        let schema: Value = serde_json::from_str(&question.schema)
            .map_err(|error| format!("a question whose schema is not JSON: {error}"))?;
        if let Some(keyword) = forbidden(&schema) {
            return Err(format!(
                "a question whose schema has `{keyword}`, which no model has to know"
            ));
        }
        let (schema, validator) = compile_schema(&question.schema)
            .map_err(|reason| format!("a question whose schema is not usable: {reason}"))?;
        Ok(Self {
            messages: question.messages,
            schema,
            answer_tokens: match question.answer_tokens {
                0 => model.answer_tokens,
                tokens => tokens.min(model.answer_tokens),
            },
            validator: Arc::new(validator),
        })
    }

    /// A question for tests of other crates.
    pub fn sample(text: &str, schema: &Value, answer_tokens: u32) -> Self {
        let message = Message {
            role: trawl_contract::analyst::Role::User,
            text: text.to_owned(),
        };
        let question = RawQuestion {
            messages: vec![message],
            schema: schema.to_string(),
            answer_tokens,
        };
        let model = ModelSize {
            context_tokens: u32::MAX,
            answer_tokens: u32::MAX,
        };
        Self::check_raw(question, model).expect("a valid question")
    }

    /// Validates a model's answer against the question's schema. Only a valid answer may be passed
    /// to [`AnalystPlugin::resume`](super::analyst::AnalystPlugin::resume).
    ///
    /// # Errors
    /// A message with the JSON Pointer into the answer and what is wrong there.
    pub fn check(&self, answer: &Value) -> Result<(), String> {
        self.validator
            .validate(answer)
            .map_err(|error| match error.instance_path().to_string() {
                place if place.is_empty() => error.to_string(),
                place => format!("`{place}`: {error}"),
            })
    }
}

impl fmt::Debug for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Question")
            .field("messages", &self.messages.len())
            .field("schema", &self.schema)
            .field("answer_tokens", &self.answer_tokens)
            .finish_non_exhaustive()
    }
}

/// A keyword that a question's schema may not have. References allow infinite schemas and patterns
/// arbitrarily large automata: both are attacks a plugin could make, and not every model service
/// supports them.
fn forbidden(schema: &Value) -> Option<&'static str> {
    match schema {
        Value::Object(keys) => keys.iter().find_map(|(key, value)| {
            let own = match (key.as_str(), value) {
                ("$ref", Value::String(_)) => Some("$ref"),
                ("$dynamicRef", Value::String(_)) => Some("$dynamicRef"),
                ("$recursiveRef", Value::String(_)) => Some("$recursiveRef"),
                ("pattern", Value::String(_)) => Some("pattern"),
                ("patternProperties", Value::Object(_)) => Some("patternProperties"),
                _ => None,
            };
            own.or_else(|| forbidden(value))
        }),
        Value::Array(values) => values.iter().find_map(forbidden),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use trawl_contract::analyst::Role;

    use super::*;

    const MODEL: ModelSize = ModelSize {
        context_tokens: 1_000,
        answer_tokens: 100,
    };

    fn message(text: String) -> Message {
        Message {
            role: Role::User,
            text,
        }
    }

    fn question(schema: &Value, answer_tokens: u32) -> RawQuestion {
        RawQuestion {
            messages: vec![message("who?".to_owned())],
            schema: schema.to_string(),
            answer_tokens,
        }
    }

    #[track_caller]
    fn refused(question: RawQuestion, says: &str) {
        let reason = Question::check_raw(question, MODEL).expect_err(says);
        assert!(reason.contains(says), "{reason}");
    }

    #[test]
    fn an_invalid_answer_is_refused_with_its_place() {
        let schema =
            json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
        let question = Question::check_raw(question(&schema, 0), MODEL).expect("it is good");
        assert_eq!(question.check(&json!({"n": 1})), Ok(()));
        let wrong = question.check(&json!({"n": "x"})).expect_err("a string");
        assert!(wrong.starts_with("`/n`: "), "{wrong}");
        let wrong = question.check(&json!({})).expect_err("nothing");
        assert!(wrong.contains("required"), "{wrong}");
    }

    #[test]
    fn answers_have_at_most_the_models_tokens() {
        for (requested, given) in [(0, 100), (7, 7), (100, 100), (u32::MAX, 100)] {
            let question = Question::check_raw(question(&json!(true), requested), MODEL);
            assert_eq!(question.expect("it is good").answer_tokens, given);
        }
    }

    #[test]
    fn questions_over_the_limits_are_refused() {
        let long = "x".repeat(QUESTION_BYTES_MAX / 2 + 1);
        let messages = |texts: Vec<String>| RawQuestion {
            messages: texts.into_iter().map(message).collect(),
            ..question(&json!({}), 0)
        };
        refused(messages(Vec::new()), "0 messages");
        refused(
            messages(vec![String::new(); MESSAGES_MAX + 1]),
            "65 messages",
        );
        refused(messages(vec![long.clone(), long]), "1048578 bytes");
        let large = json!({"description": "x".repeat(SCHEMA_BYTES_MAX)});
        refused(question(&large, 0), "a schema of");
    }

    #[test]
    fn schemas_of_unbounded_cost_are_refused() {
        let not_json = RawQuestion {
            schema: "{".to_owned(),
            ..question(&json!({}), 0)
        };
        refused(not_json, "not JSON");
        refused(question(&json!("x"), 0), "not usable");
        refused(question(&json!({"type": "no such type"}), 0), "not usable");
        refused(question(&json!({"$ref": "#"}), 0), "`$ref`");
        let deep = json!({"items": {"anyOf": [{"$dynamicRef": "#a"}]}});
        refused(question(&deep, 0), "`$dynamicRef`");
        let programs =
            json!({"properties": {"a": {"type": "string", "pattern": "((a{99}){99}){99}"}}});
        refused(question(&programs, 0), "`pattern`");
        refused(
            question(&json!({"patternProperties": {"a": {}}}), 0),
            "`patternProperties`",
        );
    }

    #[test]
    fn properties_may_have_the_names_of_keywords() {
        let schema =
            json!({"properties": {"pattern": {"type": "string"}, "$ref": {"type": "string"}}});
        let question = Question::check_raw(question(&schema, 0), MODEL).expect("it is good");
        assert_eq!(
            question.check(&json!({"pattern": "x", "$ref": "y"})),
            Ok(())
        );
        assert!(question.check(&json!({"pattern": 1})).is_err());
    }
}
