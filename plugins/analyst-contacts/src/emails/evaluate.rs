//! Reads JavaScript for the texts it makes: literals, joined literals, variables that hold them, and the few calls that hide an address
//! (`fromCharCode`, `atob`, `split('').reverse().join('')`, `replace`). Everything else is skipped; nothing is run.

use std::collections::HashMap;

use super::decode;
use super::tokens::{Token, tokens};

/// How deep expressions may lie in each other.
const DEPTH_MAX: usize = 24;
/// Longest text that is made, in bytes.
const TEXT_BYTES_MAX: usize = 20_000;

/// What a script makes.
#[derive(Debug, Default)]
pub(super) struct Made {
    /// Texts that were put together, or that are put into the page.
    pub(super) texts: Vec<String>,
    /// Calls of unknown functions with one text: name and text.
    pub(super) calls: Vec<(String, String)>,
}

#[derive(Clone, Debug)]
enum Value {
    Text(String),
    List(Vec<Value>),
    Number(f64),
}

/// A value, and whether it is more than a literal.
struct Outcome {
    value: Value,
    is_made: bool,
}

/// Reads a script.
pub(super) fn run(script: &str) -> Made {
    let mut reader = Reader {
        tokens: tokens(script),
        at: 0,
        variables: HashMap::new(),
        made: Made::default(),
        written: String::new(),
    };
    reader.statements();
    let written = std::mem::take(&mut reader.written);
    if !written.is_empty() {
        reader.made.texts.push(written);
    }
    reader.made
}

struct Reader {
    tokens: Vec<Token>,
    at: usize,
    variables: HashMap<String, Value>,
    made: Made,
    /// What `document.write` wrote, one call after another.
    written: String,
}

impl Reader {
    fn statements(&mut self) {
        while self.at < self.tokens.len() {
            let start = self.at;
            if !self.statement() {
                self.at = start + 1;
            }
        }
    }

    fn peek(&self, ahead: usize) -> Option<&Token> {
        self.tokens.get(self.at + ahead)
    }

    fn is_sign(&self, ahead: usize, sign: char) -> bool {
        self.peek(ahead) == Some(&Token::Sign(sign))
    }

    /// An assignment, a call, or a text alone; `false` when nothing was read.
    fn statement(&mut self) -> bool {
        if let Some(Token::Name(name)) = self.peek(0).cloned() {
            let is_property = self.at > 0 && self.tokens[self.at - 1] == Token::Sign('.');
            let is_joined = self.is_sign(1, '+') && self.is_sign(2, '=');
            if self.is_sign(1, '=') && !self.is_sign(2, '=') || is_joined {
                return self.assignment(&name, is_joined, is_property);
            }
            if self.is_sign(1, '(') {
                return self.call(&name);
            }
        }
        match self.expression(0) {
            Some(result) => {
                if result.is_made {
                    self.emit(&result.value);
                }
                true
            }
            None => false,
        }
    }

    fn assignment(&mut self, name: &str, is_joined: bool, is_property: bool) -> bool {
        self.at += if is_joined { 3 } else { 2 };
        let Some(Outcome { value, is_made }) = self.expression(0) else {
            return true;
        };
        let is_shown = is_property
            && matches!(
                name,
                "innerHTML" | "textContent" | "innerText" | "href" | "outerHTML" | "location"
            );
        if is_made || is_shown {
            self.emit(&value);
        }
        if is_property {
            return true;
        }
        let value = match (is_joined, self.variables.get(name)) {
            (true, Some(old)) => joined(old, &value),
            _ => value,
        };
        if is_joined {
            self.emit(&value);
        }
        self.variables.insert(name.to_owned(), value);
        true
    }

    fn call(&mut self, name: &str) -> bool {
        let start = self.at;
        if let Some(result) = self.expression(0) {
            self.emit(&result.value);
            return true;
        }
        self.at = start + 2;
        let is_write = matches!(name, "write" | "writeln");
        let is_shown = is_write
            || matches!(
                name,
                "html"
                    | "append"
                    | "text"
                    | "insertAdjacentHTML"
                    | "attr"
                    | "setAttribute"
                    | "after"
                    | "before"
                    | "open"
            );
        let Some(result) = self.expression(0) else {
            return true;
        };
        let Value::Text(text) = &result.value else {
            return true;
        };
        if is_write {
            if self.written.len() + text.len() < TEXT_BYTES_MAX {
                self.written.push_str(text);
            }
        } else if self.is_sign(0, ')') && !is_shown {
            self.made.calls.push((name.to_owned(), text.clone()));
        }
        if result.is_made || is_shown && !is_write {
            self.emit(&result.value);
        }
        true
    }

    fn emit(&mut self, value: &Value) {
        if let Value::Text(text) = value
            && !text.is_empty()
        {
            self.made.texts.push(text.clone());
        }
    }

    /// Values joined by `+`.
    fn expression(&mut self, depth: usize) -> Option<Outcome> {
        if depth > DEPTH_MAX {
            return None;
        }
        let mut left = self.postfix(depth)?;
        while self.is_sign(0, '+') && !self.is_sign(1, '+') && !self.is_sign(1, '=') {
            let back = self.at;
            self.at += 1;
            match self.postfix(depth) {
                Some(right) => {
                    left = Outcome {
                        value: joined(&left.value, &right.value),
                        is_made: true,
                    };
                }
                None => {
                    self.at = back + 1;
                    break;
                }
            }
        }
        Some(left)
    }

    /// A value with the calls and indexes behind it.
    fn postfix(&mut self, depth: usize) -> Option<Outcome> {
        let mut result = self.primary(depth)?;
        loop {
            if self.is_sign(0, '[') {
                let back = self.at;
                self.at += 1;
                let index = self.expression(depth + 1);
                match (index.map(|index| index.value), &result.value) {
                    (Some(Value::Number(index)), Value::List(list))
                        if self.is_sign(0, ']') && (index as usize) < list.len() =>
                    {
                        result = Outcome {
                            value: list[index as usize].clone(),
                            is_made: result.is_made,
                        };
                        self.at += 1;
                        continue;
                    }
                    _ => {
                        self.at = back;
                        return Some(result);
                    }
                }
            }
            let (Some(Token::Name(name)), true, true) = (
                self.peek(1).cloned(),
                self.is_sign(0, '.'),
                self.is_sign(2, '('),
            ) else {
                return Some(result);
            };
            let back = self.at;
            self.at += 3;
            match self.method(&name, &result.value, depth) {
                Some(value) => {
                    result = Outcome {
                        value,
                        is_made: true,
                    };
                }
                None => {
                    self.at = back;
                    return Some(result);
                }
            }
        }
    }

    fn primary(&mut self, depth: usize) -> Option<Outcome> {
        let literal = |value| {
            Some(Outcome {
                value,
                is_made: false,
            })
        };
        match self.peek(0)?.clone() {
            Token::Text(text) => {
                self.at += 1;
                literal(Value::Text(text))
            }
            Token::Number(number) => {
                self.at += 1;
                literal(Value::Number(number))
            }
            Token::Sign('(') => {
                let back = self.at;
                self.at += 1;
                let inner = self.expression(depth + 1);
                if inner.is_some() && self.is_sign(0, ')') {
                    self.at += 1;
                    return inner;
                }
                self.at = back;
                None
            }
            Token::Sign('[') => {
                self.at += 1;
                let list = self.arguments(']', depth)?;
                literal(Value::List(list))
            }
            Token::Name(name) => self.named(&name, depth),
            _ => None,
        }
    }

    fn named(&mut self, name: &str, depth: usize) -> Option<Outcome> {
        let name = match name {
            "String" | "window" | "self" if self.is_sign(1, '.') => match self.peek(2)?.clone() {
                Token::Name(inner) => {
                    self.at += 2;
                    inner
                }
                _ => return None,
            },
            name => name.to_owned(),
        };
        // `String.fromCharCode.apply(null, codes)`
        let is_applied = self.is_sign(1, '.')
            && self.peek(2) == Some(&Token::Name("apply".to_owned()))
            && self.is_sign(3, '(')
            && self.is_sign(5, ',');
        if self.is_sign(1, '(') || is_applied {
            let back = self.at;
            self.at += if is_applied { 6 } else { 2 };
            // `...codes`
            while self.is_sign(0, '.') {
                self.at += 1;
            }
            let value = self
                .arguments(')', depth)
                .and_then(|values| function(&name, &values));
            if value.is_none() {
                self.at = back;
            }
            return value.map(|value| Outcome {
                value,
                is_made: true,
            });
        }
        let value = self.variables.get(&name)?.clone();
        self.at += 1;
        Some(Outcome {
            value,
            is_made: false,
        })
    }

    /// Values up to a closing sign, which is read too.
    fn arguments(&mut self, closing: char, depth: usize) -> Option<Vec<Value>> {
        let mut values = Vec::new();
        loop {
            if self.is_sign(0, closing) {
                self.at += 1;
                return Some(values);
            }
            values.push(self.expression(depth + 1)?.value);
            if self.is_sign(0, ',') {
                self.at += 1;
            } else if !self.is_sign(0, closing) {
                return None;
            }
        }
    }

    fn method(&mut self, name: &str, of: &Value, depth: usize) -> Option<Value> {
        if name == "replace" || name == "replaceAll" {
            return self.replace(of, depth);
        }
        let arguments = self.arguments(')', depth)?;
        let first = match arguments.first() {
            Some(Value::Text(text)) => Some(text.as_str()),
            _ => None,
        };
        Some(match (name, of) {
            ("split", Value::Text(text)) => Value::List(match first? {
                "" => text.chars().map(|c| Value::Text(c.to_string())).collect(),
                separator => text
                    .split(separator)
                    .map(|part| Value::Text(part.to_owned()))
                    .collect(),
            }),
            ("reverse", Value::List(list)) => Value::List(list.iter().rev().cloned().collect()),
            ("join", Value::List(list)) => {
                let parts: Vec<String> = list.iter().map(written).collect();
                Value::Text(parts.join(first.unwrap_or(",")))
            }
            ("concat", Value::Text(text)) => {
                let rest: String = arguments.iter().map(written).collect();
                Value::Text(format!("{text}{rest}"))
            }
            ("toString" | "trim" | "toLowerCase" | "valueOf", Value::Text(text)) => {
                Value::Text(text.clone())
            }
            _ => return None,
        })
    }

    /// `replace` with a text, or with a function that moves letters by 13.
    fn replace(&mut self, of: &Value, depth: usize) -> Option<Value> {
        let Value::Text(text) = of else {
            return None;
        };
        let pattern = match self.peek(0)?.clone() {
            Token::Pattern(body) => body.replace('\\', ""),
            Token::Text(text) => text,
            _ => return None,
        };
        self.at += 1;
        if !self.is_sign(0, ',') {
            return None;
        }
        self.at += 1;
        let start = self.at;
        if let Some(Outcome {
            value: Value::Text(new),
            ..
        }) = self.expression(depth + 1)
            && self.is_sign(0, ')')
        {
            self.at += 1;
            return Some(Value::Text(text.replace(&pattern, &new)));
        }
        self.at = start;
        let mut depth = 1;
        let mut is_rotation = false;
        while depth > 0 {
            match self.peek(0)? {
                Token::Sign('(') => depth += 1,
                Token::Sign(')') => depth -= 1,
                Token::Number(number) => is_rotation |= *number == 13.0,
                _ => {}
            }
            self.at += 1;
        }
        is_rotation.then(|| Value::Text(decode::rot13(text)))
    }
}

fn function(name: &str, values: &[Value]) -> Option<Value> {
    if name == "fromCharCode" || name == "fromCodePoint" {
        let values = match values {
            [Value::List(list)] => list.as_slice(),
            values => values,
        };
        let characters = values.iter().map(|value| match value {
            Value::Number(code) => char::from_u32(*code as u32),
            Value::Text(code) => char::from_u32(code.parse().ok()?),
            Value::List(_) => None,
        });
        return characters.collect::<Option<String>>().map(Value::Text);
    }
    let [Value::Text(text)] = values else {
        return None;
    };
    Some(Value::Text(match name {
        "atob" => decode::base64(text)?,
        "unescape" | "decodeURIComponent" | "decodeURI" => crate::page::percent_decoded(text),
        _ if name.to_ascii_lowercase().contains("rot13") => decode::rot13(text),
        _ => return None,
    }))
}

fn written(value: &Value) -> String {
    match value {
        Value::Text(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::List(list) => list.iter().map(written).collect::<Vec<_>>().join(","),
    }
}

fn joined(left: &Value, right: &Value) -> Value {
    if let (Value::Number(left), Value::Number(right)) = (left, right) {
        return Value::Number(left + right);
    }
    let mut text = written(left);
    let right = written(right);
    if text.len() + right.len() < TEXT_BYTES_MAX {
        text.push_str(&right);
    }
    Value::Text(text)
}
