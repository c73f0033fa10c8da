//! The JSON of chat completions: the part that every server supports. Source: the OpenAI API
//! reference, "Create chat completion".

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use trawl_contract::analyst::{Message, Role};
use trawl_plugins::Question;

/// Name of the schema in the request; servers require one.
const SCHEMA_NAME: &str = "answer";

/// How the schema of the answer is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// By `response_format`.
    Schema,
    /// In the system message, for a server that refuses that.
    Words,
}

/// One message of a request.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Line {
    role: &'static str,
    content: String,
}

impl Line {
    pub(super) fn of(message: &Message) -> Self {
        let role = match message.role {
            Role::System => "system",
            Role::User => "user",
        };
        Self {
            role,
            content: message.text.clone(),
        }
    }

    pub(super) fn user(content: String) -> Self {
        Self {
            role: "user",
            content,
        }
    }

    pub(super) fn assistant(content: &str) -> Self {
        Self {
            role: "assistant",
            content: content.to_owned(),
        }
    }
}

/// The body of a request.
pub(super) fn request(model: &str, lines: &[Line], question: &Question, format: Format) -> Vec<u8> {
    let mut lines = Cow::Borrowed(lines);
    if format == Format::Words {
        let words = format!(
            "Answer with nothing but JSON that fits this JSON Schema: {}",
            question.schema
        );
        // Some servers take one system message only, and only as the first.
        match lines.to_mut().first_mut() {
            Some(first) if first.role == "system" => {
                first.content.push_str("\n\n");
                first.content.push_str(&words);
            }
            _ => lines.to_mut().insert(
                0,
                Line {
                    role: "system",
                    content: words,
                },
            ),
        }
    }
    let mut body = json!({
        "model": model,
        "messages": lines,
        "temperature": 0,
        "max_tokens": question.answer_tokens,
        "stream": false,
    });
    if format == Format::Schema {
        body["response_format"] = json!({
            "type": "json_schema",
            "json_schema": {"name": SCHEMA_NAME, "strict": true, "schema": question.schema},
        });
    }
    body.to_string().into_bytes()
}

/// A server's reply.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Reply {
    /// The model's text; `None` if there is none.
    pub(super) content: Option<String>,
    /// What the server counted.
    pub(super) question_tokens: Option<u64>,
    pub(super) answer_tokens: Option<u64>,
}

/// Reads a reply; `None` if it is not a completion.
pub(super) fn reply(body: &[u8]) -> Option<Reply> {
    #[derive(Deserialize)]
    struct Completion {
        choices: Vec<Choice>,
        #[serde(default)]
        usage: Value,
    }
    #[derive(Deserialize)]
    struct Choice {
        message: Said,
    }
    #[derive(Deserialize)]
    struct Said {
        #[serde(default)]
        content: Value,
    }
    let completion: Completion = serde_json::from_slice(body).ok()?;
    let said = completion.choices.into_iter().next()?.message.content;
    let content = match said {
        Value::String(text) => Some(text),
        // Parts, as newer servers write them.
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part["text"].as_str());
            Some(texts.collect())
        }
        _ => None,
    };
    Some(Reply {
        content: content.filter(|content| !content.trim().is_empty()),
        question_tokens: completion.usage["prompt_tokens"].as_u64(),
        answer_tokens: completion.usage["completion_tokens"].as_u64(),
    })
}

/// The JSON in a model's text: the whole text, the content of a fence, or from the first bracket to
/// the last.
pub(super) fn json_in(content: &str) -> Option<Value> {
    let content = content.trim();
    if let Ok(value) = serde_json::from_str(content) {
        return Some(value);
    }
    if let Some(fenced) = fenced(content)
        && let Ok(value) = serde_json::from_str(fenced)
    {
        return Some(value);
    }
    let start = content.find(['{', '['])?;
    let end = content.rfind(['}', ']'])?;
    serde_json::from_str(content.get(start..=end)?).ok()
}

fn fenced(content: &str) -> Option<&str> {
    let (_, rest) = content.split_once("```")?;
    let (_, inside) = rest.split_once('\n')?;
    let (inside, _) = inside.split_once("```")?;
    Some(inside.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_found_in_what_models_say() {
        let wanted = Some(json!({"a": [1]}));
        for text in [
            "{\"a\": [1]}",
            " \n{\"a\":[1]}\n",
            "```json\n{\"a\": [1]}\n```",
            "Here it is:\n```\n{\"a\": [1]}\n```\nAnything else?",
            "Sure! {\"a\": [1]} is my answer.",
            "<think>hm</think>{\"a\":[1]}",
        ] {
            assert_eq!(json_in(text), wanted, "{text}");
        }
        for text in [
            "",
            "no",
            "{",
            "}{",
            "```json\n{\n```",
            "{\"a\":1} {\"b\":2}",
        ] {
            assert_eq!(json_in(text), None, "{text}");
        }
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        assert_eq!(json_in(&deep), None);
    }

    #[test]
    fn replies_are_read_as_far_as_they_are_understood() {
        let body = json!({
            "choices": [{"message": {"role": "assistant", "content": "{}"}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9},
        });
        let read = reply(body.to_string().as_bytes()).expect("a completion");
        assert_eq!(read.content.as_deref(), Some("{}"));
        assert_eq!(
            (read.question_tokens, read.answer_tokens),
            (Some(7), Some(2))
        );
        let parts = json!({"choices": [{"message": {"content": [{"type": "text", "text": "{"}, {"type": "text", "text": "}"}]}}]});
        let read = reply(parts.to_string().as_bytes()).expect("a completion");
        assert_eq!(read.content.as_deref(), Some("{}"));
        assert_eq!(read.question_tokens, None);
        for empty in [json!(null), json!(" "), json!(3)] {
            let body = json!({"choices": [{"message": {"content": empty}}], "usage": {"prompt_tokens": -5}});
            let read = reply(body.to_string().as_bytes()).expect("a completion");
            assert_eq!(read, Reply::default());
        }
        for wrong in [
            "",
            "{}",
            "[]",
            "<html>",
            "{\"choices\":[]}",
            "{\"choices\":{}}",
        ] {
            assert_eq!(reply(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
