//! Places of a request: where a vendor's request form has what.

use serde::Deserialize;
use serde_json::Value;

use super::{Asked, cookies_of, from_base64};

/// Headers of the call that are not forwarded to the target.
const OF_THE_CALL: [&str; 5] = [
    "host",
    "connection",
    "content-length",
    "transfer-encoding",
    "accept-encoding",
];

/// Where a request has a value. Without any of the first three it has none.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Place {
    /// A query parameter.
    query: Option<String>,
    /// A path in the JSON body: `a.b[0].c`, or `a[key=value].b` for an item of a list by one of
    /// its members. A text on the way is JSON itself.
    json: Option<String>,
    /// Whether this is the path of the URL.
    path: Option<String>,
    /// A path in the value, which is a text with JSON.
    inside: Option<String>,
    /// The value is a script; the first argument of this call in it.
    argument_of: Option<String>,
    /// How the value is written.
    form: Form,
    /// Whether it is this value.
    is: Option<Value>,
}

/// How a value is written.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Form {
    #[default]
    Plain,
    Base64,
    /// Base64 in the alphabet for URLs.
    Base64Url,
    /// A time in seconds instead of milliseconds.
    Seconds,
}

/// Where a request has names and values.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Pairs {
    /// A query parameter or a path in the JSON body, with a cookie line, an object, or a list of
    /// objects with `name` or `key` and `value`.
    query: Option<String>,
    json: Option<String>,
    /// The headers of the call with this prefix, without it.
    prefix: Option<String>,
    /// The query parameters `group[name]`.
    group: Option<String>,
    /// Those whose names have this prefix are none.
    except: Option<String>,
    /// They are none unless this holds.
    only_if: Option<Place>,
}

/// A request and its body as JSON.
#[derive(Clone, Copy)]
pub(super) struct Input<'a> {
    pub(super) asked: &'a Asked,
    pub(super) body: &'a Value,
}

/// Where a parameter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Query,
    Body,
}

impl Place {
    /// The value, if the request has one.
    fn value(&self, input: Input<'_>) -> Option<Value> {
        let value = match (&self.query, &self.json, &self.path) {
            (Some(name), _, _) => Value::from(input.asked.param(name)?),
            (_, Some(path), _) => at(input.body, path)?,
            (_, _, Some(path)) => Value::from(input.asked.path == *path),
            (None, None, None) => return None,
        };
        let value = match &self.inside {
            Some(path) => at(&value, path)?,
            None => value,
        };
        match &self.argument_of {
            Some(call) => argument(value.as_str()?, call),
            None => Some(value),
        }
    }

    /// The value as text.
    pub(super) fn text(&self, input: Input<'_>) -> Result<Option<String>, String> {
        let text = match self.value(input) {
            None => return Ok(None),
            Some(Value::String(text)) => text,
            Some(other) => return Err(format!("{other} is not a text")),
        };
        match self.form {
            Form::Plain | Form::Seconds => return Ok(Some(text)),
            Form::Base64Url if text.contains(['+', '/']) => {
                return Err(format!("{text} is not base64 for URLs"));
            }
            Form::Base64 | Form::Base64Url => {}
        }
        let decoded = from_base64(&text).and_then(|bytes| String::from_utf8(bytes).ok());
        decoded.map(Some).ok_or(format!("{text} is not base64"))
    }

    /// The value as a number of milliseconds.
    pub(super) fn milliseconds(&self, input: Input<'_>) -> Result<Option<u64>, String> {
        let number = match self.value(input) {
            None => return Ok(None),
            Some(Value::String(text)) => text.parse().ok(),
            Some(value) => value.as_f64(),
        };
        let number: f64 = number.ok_or("a time is not a number")?;
        let factor = if self.form == Form::Seconds {
            1_000.0
        } else {
            1.0
        };
        Ok(Some((number * factor).round() as u64))
    }

    /// Whether the request has the value, and it is the expected one.
    pub(super) fn holds(&self, input: Input<'_>) -> bool {
        let value = self.value(input);
        match &self.is {
            Some(expected) => value.as_ref() == Some(expected),
            None => value.is_some(),
        }
    }

    /// Whether the value is a list with this number.
    pub(super) fn lists(&self, input: Input<'_>, number: u16) -> bool {
        let list = self.value(input);
        let list = list.as_ref().and_then(Value::as_array);
        list.is_some_and(|list| list.contains(&Value::from(number)))
    }

    /// The name of the parameter there.
    pub(super) fn name(&self, source: Source) -> Option<&str> {
        match source {
            Source::Query => self.query.as_deref(),
            Source::Body => root(self.json.as_deref()?),
        }
    }
}

impl Pairs {
    /// The names and values.
    pub(super) fn read(&self, input: Input<'_>) -> Vec<(String, String)> {
        let is_off = |place: &Place| !place.holds(input);
        if self.only_if.as_ref().is_some_and(is_off) {
            return Vec::new();
        }
        let value = match (&self.query, &self.json) {
            (Some(name), _) => input.asked.param(name).map(Value::from),
            (_, Some(path)) => at(input.body, path),
            (None, None) => None,
        };
        let mut pairs = pairs_of(&value.unwrap_or_default());
        if let Some(prefix) = &self.prefix {
            pairs.extend(input.asked.headers.iter().filter_map(|(name, value)| {
                let is_passed = !OF_THE_CALL.contains(&name.as_str());
                let name = name.strip_prefix(prefix.as_str()).filter(|_| is_passed)?;
                Some((name.to_owned(), value.clone()))
            }));
        }
        if let Some(group) = &self.group {
            pairs.extend(input.asked.query.iter().filter_map(|(name, value)| {
                Some((member(name, group)?.to_owned(), value.clone()))
            }));
        }
        let is_kept = |name: &str| {
            let except = self.except.as_ref();
            except.is_none_or(|prefix| !name.starts_with(prefix.as_str()))
        };
        pairs.retain(|(name, _)| is_kept(name));
        pairs
    }

    /// Whether a parameter has them, or decides whether there are any.
    pub(super) fn knows(&self, source: Source, parameter: &str) -> bool {
        let condition = self.only_if.as_ref();
        if condition.and_then(|place| place.name(source)) == Some(parameter) {
            return true;
        }
        let group = self.group.as_ref();
        match source {
            Source::Query => {
                self.query.as_deref() == Some(parameter)
                    || group.is_some_and(|group| member(parameter, group).is_some())
            }
            Source::Body => self.json.as_deref().and_then(root) == Some(parameter),
        }
    }
}

/// The member of the body at which a path begins.
fn root(path: &str) -> Option<&str> {
    path.split(['.', '[']).next()
}

/// The member of a bracketed parameter: `x` of `headers[x]` in the group `headers`.
fn member<'a>(name: &'a str, group: &str) -> Option<&'a str> {
    name.strip_prefix(group)?
        .strip_prefix('[')?
        .strip_suffix(']')
}

/// The value at a path.
fn at(value: &Value, path: &str) -> Option<Value> {
    path.split('.').try_fold(value.clone(), |value, step| {
        let value = match value {
            Value::String(text) => serde_json::from_str(&text).ok()?,
            value => value,
        };
        let (name, item) = step.split_once('[').unwrap_or((step, ""));
        let member = if name.is_empty() {
            &value
        } else {
            value.get(name)?
        };
        let item = item.trim_end_matches(']');
        match item.split_once('=') {
            _ if item.is_empty() => Some(member.clone()),
            Some((key, wanted)) => {
                let mut items = member.as_array()?.iter();
                items.find(|item| item[key] == wanted).cloned()
            }
            None => member.get(item.parse::<usize>().ok()?).cloned(),
        }
    })
}

/// The text or number that is the first argument of the first such call with one in a script.
fn argument(script: &str, call: &str) -> Option<Value> {
    script.match_indices(call).find_map(|(at, _)| {
        let rest = script.get(at + call.len()..)?;
        let mut literals = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        if let Some(Ok(literal)) = literals.next() {
            return Some(literal);
        }
        let digits = rest.split(|letter: char| !letter.is_ascii_digit()).next()?;
        digits.parse::<u64>().ok().map(Value::from)
    })
}

fn pairs_of(value: &Value) -> Vec<(String, String)> {
    let pair = |name: &str, value: &Value| Some((name.to_owned(), value.as_str()?.to_owned()));
    match value {
        Value::String(line) => cookies_of(line),
        Value::Object(members) => {
            let members = members.iter();
            members
                .filter_map(|(name, value)| pair(name, value))
                .collect()
        }
        Value::Array(items) => {
            let items = items.iter();
            let pairs = items.filter_map(|item| {
                let name = item["name"].as_str().or(item["key"].as_str())?;
                pair(name, &item["value"])
            });
            pairs.collect()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_path_leads_through_lists_and_texts() {
        let body = json!({
            "a": {"b": [{"key": "x", "value": 1}, {"key": "y", "value": {"z": true}}]},
            "text": r#"[{"Execute": "go()"}]"#,
        });
        assert_eq!(at(&body, "a.b[key=y].value.z"), Some(json!(true)));
        assert_eq!(at(&body, "a.b[0].value"), Some(json!(1)));
        assert_eq!(at(&body, "text.[0].Execute"), Some(json!("go()")));
        for missing in ["b", "a.c", "a.b[2]", "a.b[key=z]", "a[key=x]", "text.x"] {
            assert_eq!(at(&body, missing), None, "{missing}");
        }
    }

    #[test]
    fn an_argument_is_a_literal() {
        let script = r##"p.evaluate(f); await p.waitForSelector("#x \"y\"", {}); await p.waitForTimeout(1500);"##;
        let selector = argument(script, "waitForSelector(");
        assert_eq!(selector, Some(json!("#x \"y\"")));
        assert_eq!(argument(script, "waitForTimeout("), Some(json!(1500)));
        assert_eq!(argument(script, "evaluate("), None);
    }
}
