//! Parameters in request headers, as `/fetch` takes them. Decision D236.

use serde_json::Number;
use serde_json::value::RawValue;

use trawl_parameters::{Parameter, Shape};

use super::body::WireError;
use super::error::RequestError;

/// The JSON of a parameter that was sent as the text of a header; `None` for a blank one, which
/// counts as not set (Decision D25).
///
/// Numbers, switches and texts are written as they are; a list also with commas between its items;
/// objects as JSON. A text that has none of the parameter's forms becomes a JSON string: the check
/// of the request object says what is wrong with it.
///
/// # Errors
/// What looks like a JSON object or list is not JSON.
pub fn header_value(row: &Parameter, text: &str) -> Result<Option<Box<RawValue>>, RequestError> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    let json = written(&row.shape, text).unwrap_or_else(|| string(text));
    let value = RawValue::from_string(json).map_err(|error| {
        let reason = if row.is_secret {
            "is not valid JSON".to_owned()
        } else {
            format!("is not valid JSON: {error}")
        };
        WireError::at(row.name, format!("header `{}` {reason}", row.header()))
    })?;
    Ok(Some(value))
}

/// The JSON of a text that has this shape.
fn written(shape: &Shape, text: &str) -> Option<String> {
    let as_json = |start: char| text.starts_with(start).then(|| text.to_owned());
    match shape {
        Shape::Switch => match text.to_ascii_lowercase().as_str() {
            "true" | "1" => Some("true".to_owned()),
            "false" | "0" => Some("false".to_owned()),
            _ => None,
        },
        Shape::Count(_) | Shape::Number(_) => {
            let is_number = serde_json::from_str::<Number>(text).is_ok();
            is_number.then(|| text.to_owned())
        }
        Shape::Text(_) | Shape::Name(_) | Shape::Scalar => Some(string(text)),
        Shape::List(_) if text.starts_with('[') => Some(text.to_owned()),
        Shape::List(item) => {
            let parts = text
                .split(',')
                .map(str::trim)
                .filter(|part| !part.is_empty());
            let parts: Option<Vec<_>> = parts.map(|part| written(item, part)).collect();
            parts.map(|parts| format!("[{}]", parts.join(",")))
        }
        Shape::Bytes | Shape::Steps => as_json('['),
        Shape::Object(_) | Shape::Map(..) | Shape::Options(_) => as_json('{'),
        Shape::Any(..) => {
            let is_json = serde_json::from_str::<&RawValue>(text).is_ok();
            Some(if is_json {
                text.to_owned()
            } else {
                string(text)
            })
        }
        Shape::Either(shapes) => either(shapes, text),
    }
}

/// The JSON of a text that has one of these shapes. A list needs its commas or brackets where one
/// item may be alone.
fn either(shapes: &[Shape], text: &str) -> Option<String> {
    let is_list = |shape: &&Shape| matches!(shape, Shape::List(_));
    let has_texts = |shape: &&Shape| matches!(shape, Shape::List(Shape::Text(_)));
    let looks_listed = text.starts_with('[');
    let list = shapes.iter().find(is_list);
    let list = list.filter(|list| looks_listed || text.contains(',') && has_texts(list));
    if let Some(list) = list {
        return written(list, text);
    }
    let is_text = |shape: &&Shape| matches!(shape, Shape::Text(_) | Shape::Name(_) | Shape::Scalar);
    let single = || shapes.iter().filter(|shape| !is_list(shape));
    let others = single().filter(|shape| !is_text(shape));
    let mut in_order = others.chain(single().filter(is_text));
    in_order.find_map(|shape| written(shape, text))
}

fn string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use trawl_parameters::find;

    use super::*;

    fn value(name: &str, text: &str) -> Result<Option<String>, String> {
        let row = find(name).expect("a parameter");
        let value = header_value(row, text).map_err(|error| error.to_string())?;
        Ok(value.map(|value| value.get().to_owned()))
    }

    #[test]
    fn texts_become_json_by_the_shape_of_their_parameter() {
        let check = |name: &str, text: &str, json: &str| {
            assert_eq!(
                value(name, text),
                Ok(Some(json.to_owned())),
                "{name}: {text}"
            );
        };
        check("metadata", "True", "true");
        check("metadata", "0", "false");
        check("metadata", "yes", "\"yes\"");
        check("max_size", " 100 ", "100");
        check("max_size", "1e3", "1e3");
        check("max_size", "+5", "\"+5\"");
        check("root_selector", "[data-x]", "\"[data-x]\"");
        check("user_agent", "12", "\"12\"");
        check("return_format", "markdown", "\"markdown\"");
        check("return_format", "markdown, text", "[\"markdown\",\"text\"]");
        check("return_format", "[\"text\"]", "[\"text\"]");
        check("cookies", "a=1; b=2,3", "\"a=1; b=2,3\"");
        check(
            "cookies",
            "[{\"name\":\"a\",\"value\":\"1\"}]",
            "[{\"name\":\"a\",\"value\":\"1\"}]",
        );
        check("cache", "false", "false");
        check("cache", "{\"max_age\":0}", "{\"max_age\":0}");
        check("wait_for", "500", "500");
        check("wait_for", "{\"delay\":1}", "{\"delay\":1}");
        check("wait_for", ".price", "\".price\"");
        check("request_timeout", "20", "20");
        check("chunking_alg", "words", "\"words\"");
        check(
            "chunking_alg",
            "{\"type\":\"words\"}",
            "{\"type\":\"words\"}",
        );
        check("headers", "{\"a\":\"b\"}", "{\"a\":\"b\"}");
        check("viewport", "390x844", "\"390x844\"");
        assert_eq!(value("metadata", " "), Ok(None));
    }

    #[test]
    fn broken_json_is_refused_and_secrets_are_not_quoted() {
        let error = value("viewport", "{\"width\": x}").expect_err("no JSON");
        assert!(
            error.contains("viewport: header `X-Viewport` is not valid JSON: "),
            "{error}"
        );
        let error = value("headers", "{\"authorization\": canary}").expect_err("no JSON");
        assert!(
            error.ends_with("headers: header `X-Headers` is not valid JSON"),
            "{error}"
        );
    }
}
