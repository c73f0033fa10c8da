//! The flight data of the Next.js app router: rows of the React Server Components stream, delivered
//! as string chunks.

use serde_json::{Map, Value};
use trawl_embedded::Budget;

/// Maximum length of a row id and of a text length, in bytes.
const NUMBER_BYTES_MAX: usize = 8;

/// The string in the argument of a `__next_f.push` call such as `[1,"…"]`; `None` if it carries
/// none.
pub(crate) fn chunk(argument: &str, budget: &mut Budget) -> Option<String> {
    let rest = argument
        .trim_ascii_start()
        .strip_prefix('[')?
        .trim_ascii_start();
    let rest = rest
        .strip_prefix('1')?
        .trim_ascii_start()
        .strip_prefix(',')?;
    match trawl_embedded::prefix(rest, budget)?.value {
        Value::String(chunk) => Some(chunk),
        _ => None,
    }
}

/// The rows of the joined chunks that carry JSON or text, by id.
pub(crate) fn rows(stream: &str, budget: &mut Budget) -> Map<String, Value> {
    let mut rows = Map::new();
    let mut rest = stream;
    while !rest.is_empty() {
        let (row, after) = match text_row(rest) {
            Some((id, text, after)) => (Some((id, Value::from(text))), after),
            None => {
                let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
                (json_row(line, budget), after)
            }
        };
        if let Some((id, value)) = row {
            rows.insert(id.to_owned(), value);
        }
        rest = after;
    }
    rows
}

/// `2a:T10,…`: an arbitrary text of this length in bytes (hexadecimal).
fn text_row(rows: &str) -> Option<(&str, &str, &str)> {
    let (id, rest) = split_id(rows)?;
    let rest = rest.strip_prefix('T')?;
    let (length, rest) = split_near(rest, b',')?;
    let length = usize::from_str_radix(length, 16).ok()?;
    let (text, after) = rest.split_at_checked(length)?;
    Some((id, text, after))
}

/// `2a:{…}`. Rows with a letter before the value (modules, hints, errors) are internal to the
/// framework.
fn json_row<'a>(line: &'a str, budget: &mut Budget) -> Option<(&'a str, Value)> {
    let (id, json) = split_id(line)?;
    if !json.starts_with(['{', '[', '"']) {
        return None;
    }
    let value = trawl_embedded::read_within(json, budget)
        .into_iter()
        .next()?;
    Some((id, value))
}

fn split_id(row: &str) -> Option<(&str, &str)> {
    let (id, rest) = split_near(row, b':')?;
    let is_id = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then_some((id, rest))
}

/// Splits at a delimiter within the first few bytes.
fn split_near(text: &str, mark: u8) -> Option<(&str, &str)> {
    let head = &text.as_bytes()[..text.len().min(NUMBER_BYTES_MAX + 1)];
    let at = head.iter().position(|&byte| byte == mark)?;
    Some((&text[..at], &text[at + 1..]))
}

#[cfg(test)]
mod tests {
    use super::{chunk, rows};
    use serde_json::{Value, json};
    use trawl_embedded::Budget;

    #[test]
    fn chunks_are_the_strings_of_data_pushes() {
        let chunk = |argument| chunk(argument, &mut Budget::default());
        assert_eq!(chunk(r#"[1,"0:\"a\"\n"])"#).as_deref(), Some("0:\"a\"\n"));
        assert_eq!(chunk("[0])"), None);
        assert_eq!(chunk("[3,\"x\"])"), None);
    }

    #[test]
    fn rows_of_json_and_text_are_keyed_by_id() {
        let stream = "0:{\"a\":\"$L1\"}\n1:I[\"x\"]\n:HL[\"/a.css\"]\n2:T9,{\"é\n3:[]3:[\"$\",\"div\"]\nb:\"s\"\nrest";
        let expected = json!({"0": {"a": "$L1"}, "2": "{\"é\n3:[]", "3": ["$", "div"], "b": "s"});
        assert_eq!(
            Value::Object(rows(stream, &mut Budget::default())),
            expected
        );
    }
}
