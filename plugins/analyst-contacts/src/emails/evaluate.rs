//! Evaluates the string expressions of JavaScript: literals, concatenations, variables and the few
//! calls that obfuscate e-mail addresses (`fromCharCode`, `atob`, `split('').reverse().join('')`,
//! `replace`). Everything else is skipped; nothing is executed.

use std::collections::HashMap;

use super::tokens::{Token, tokens};
use super::values::{self, Budget, TEXT_BYTES_MAX, Value, joined};

/// Maximum nesting of expressions.
const DEPTH_MAX: usize = 24;

/// The result of a script.
#[derive(Debug, Default)]
pub(super) struct Made {
    /// Strings that were concatenated or written to the page.
    pub(super) texts: Vec<String>,
    /// Calls of unknown functions with one string argument: name and argument.
    pub(super) calls: Vec<(String, String)>,
}

/// A value, and whether it was computed rather than a literal.
struct Outcome {
    value: Value,
    is_made: bool,
}

/// Evaluates a script within the budget.
pub(super) fn run(script: &str, budget: &mut Budget) -> Made {
    let mut reader = Reader {
        tokens: tokens(script),
        at: 0,
        variables: HashMap::new(),
        made: Made::default(),
        written: String::new(),
        budget,
    };
    reader.statements();
    let written = std::mem::take(&mut reader.written);
    if !written.is_empty() {
        reader.made.texts.push(written);
    }
    reader.made
}

struct Reader<'a> {
    tokens: Vec<Token>,
    at: usize,
    variables: HashMap<String, Value>,
    made: Made,
    /// The output of consecutive `document.write` calls.
    written: String,
    budget: &'a mut Budget,
}

impl Reader<'_> {
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

    /// Reads an assignment, a call or a bare string; `false` when nothing was read.
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
        let value = match self.variables.remove(name).filter(|_| is_joined) {
            Some(old) => match joined(old, &value, self.budget) {
                Some(value) => value,
                None => return true,
            },
            None => value,
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
            && self.budget.take(text.len()).is_some()
        {
            self.made.texts.push(text.clone());
        }
    }

    /// Reads values joined by `+`.
    fn expression(&mut self, depth: usize) -> Option<Outcome> {
        if depth > DEPTH_MAX || self.budget.is_used_up() {
            return None;
        }
        let mut left = self.postfix(depth)?;
        while self.is_sign(0, '+') && !self.is_sign(1, '+') && !self.is_sign(1, '=') {
            let back = self.at;
            self.at += 1;
            match self.postfix(depth) {
                Some(right) => {
                    left = Outcome {
                        value: joined(left.value, &right.value, self.budget)?,
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

    /// Reads a value with the calls and indexes after it.
    fn postfix(&mut self, depth: usize) -> Option<Outcome> {
        let mut result = self.primary(depth)?;
        loop {
            if self.is_sign(0, '[') {
                let back = self.at;
                self.at += 1;
                let index = self.expression(depth + 1);
                match (index.map(|index| index.value), &result.value) {
                    (Some(Value::Number(index)), Value::List(list))
                        if self.is_sign(0, ']') && (index as usize) < list.values.len() =>
                    {
                        result = Outcome {
                            value: list.values[index as usize].copied(self.budget)?,
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
                literal(Value::list(list)?)
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
                .and_then(|values| values::function(&name, &values, self.budget));
            if value.is_none() {
                self.at = back;
            }
            return value.map(|value| Outcome {
                value,
                is_made: true,
            });
        }
        let value = self.variables.get(&name)?.copied(self.budget)?;
        self.at += 1;
        Some(Outcome {
            value,
            is_made: false,
        })
    }

    /// Reads values up to and including the closing bracket.
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
        values::method(name, of, &arguments, self.budget)
    }

    /// Reads `replace` with a string, or with a function that applies ROT13.
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
            return values::replaced(text, &pattern, &new, self.budget);
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
        if !is_rotation {
            return None;
        }
        values::rotated(text, self.budget)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endlessly_growing_scripts_stop() {
        for (first, line, last) in [
            ("a=['x'];", "a=[a,a];", "b=''+a;"),
            ("a=['x'];b=[a,a];", "b=[b,b];", "c=b.join('');"),
            ("a='xxxxxxxx';", "a=a.concat(a);", ""),
            ("a='xxxxxxxx';", "a=[a,a].join('');", ""),
            ("a='xxxxxxxx';", "a=a.replace('x','xx');", ""),
            ("a='xxxxxxxx';", "a=a.replace('','xx');", ""),
            ("a='xxxxxxxx';", "a=a.split('').reverse().join('--');", ""),
            ("a='xxxxxxxx';", "a+=a;", ""),
        ] {
            let script = format!("{first}{}{last}", line.repeat(5_000));
            let mut budget = Budget::default();
            let made = run(&script, &mut budget);
            let n_bytes: usize = made.texts.iter().map(String::len).sum();
            assert!(n_bytes <= 8_000_000, "{line} {n_bytes}");
        }
    }

    #[test]
    fn an_exhausted_budget_yields_nothing() {
        let script = "a=['in','fo'];b=a[0]+a[1]+'@acme.de';";
        let mut budget = Budget::default();
        assert_eq!(run(script, &mut budget).texts, ["info@acme.de"]);
        assert_eq!(budget.take(usize::MAX), None);
        assert!(run(script, &mut budget).texts.is_empty());
    }
}
