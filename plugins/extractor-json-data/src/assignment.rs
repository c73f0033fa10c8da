//! Assignments in inline scripts: `window.X = {…}`, `var X = {…}`, `X = JSON.parse("…")`, and calls
//! that deliver data in chunks.
//!
//! The code is tokenized once. A value is parsed where it starts, and the scan continues after it.

use serde_json::Value;
use trawl_embedded::{Budget, after_token, is_word_byte};

use crate::call;

/// Names of the global object.
const GLOBALS: [&str; 6] = ["window", "self", "globalThis", "top", "this", "global"];

/// Maximum length of a variable name including its properties, in bytes.
const NAME_BYTES_MAX: usize = 200;

/// How often each byte of a script may be rescanned because a value turned out to be code.
const REPEATS_MAX: usize = 4;

/// Data found in a script.
#[derive(Debug, PartialEq)]
pub(crate) enum Event<'a> {
    /// An assignment to a global variable.
    Assigned(&'a str, Value),
    /// A call of a function with this name suffix; the text starts with its first argument.
    Called(&'a str, &'a str),
}

/// Suffixes of the functions whose calls are reported.
const CALLS: [&str; 4] = [
    "__next_f.push",
    "streamController.enqueue",
    "kit.start",
    "__sveltekit.start",
];

/// Reports the events of a script in order. Top-level variables of a module are local: only
/// properties of the global object count there.
pub(crate) fn scan<'a>(
    code: &'a str,
    is_module: bool,
    budget: &mut Budget,
    mut report: impl FnMut(Event<'a>, &mut Budget),
) {
    let mut scanner = Scanner {
        code,
        at: 0,
        depth: 0,
        is_module,
        n_left: code.len().saturating_mul(REPEATS_MAX),
    };
    while let Some(event) = scanner.next(budget) {
        report(event, budget);
    }
}

struct Scanner<'a> {
    code: &'a str,
    at: usize,
    /// Depth of open brackets.
    depth: usize,
    is_module: bool,
    /// Bytes that may still be rescanned.
    n_left: usize,
}

impl<'a> Scanner<'a> {
    fn next(&mut self, budget: &mut Budget) -> Option<Event<'a>> {
        let bytes = self.code.as_bytes();
        while let Some(&byte) = bytes.get(self.at) {
            match byte {
                b'{' | b'(' | b'[' => self.depth += 1,
                b'}' | b')' | b']' => self.depth = self.depth.saturating_sub(1),
                b'"' | b'\'' | b'`' | b'/' => {
                    self.at = after_token(self.code, self.at).unwrap_or(self.at + 1);
                    continue;
                }
                _ if is_word_byte(byte) => {
                    if let Some(event) = self.path(budget) {
                        return Some(event);
                    }
                    continue;
                }
                _ => {}
            }
            self.at += 1;
        }
        None
    }

    /// Reads a name with its properties and the operation on it.
    fn path(&mut self, budget: &mut Budget) -> Option<Event<'a>> {
        let start = self.at;
        self.at = call::after_path(self.code, start);
        let path = &self.code[start..self.at];
        let is_property = start > 0 && matches!(self.code.as_bytes()[start - 1], b'.' | b'?');
        if is_property || path.len() > NAME_BYTES_MAX {
            return None;
        }
        let global = global_name(path);
        let quoted = self.quoted_property(path);
        let rest = self.code[self.at..].trim_ascii_start();
        if let Some(argument) = rest.strip_prefix('(') {
            let is_reported = CALLS.iter().any(|call| path.ends_with(call));
            return is_reported.then_some(Event::Called(path, argument));
        }
        let name = quoted
            .or(global)
            .or_else(|| (self.depth == 0 && !self.is_module).then_some(path))?;
        let value = rest.strip_prefix('=')?;
        if value.starts_with(['=', '>']) || name.is_empty() {
            return None;
        }
        let value_at = self.code.len() - value.len();
        self.assigned(name, value_at, budget)
    }

    /// The name in `window["name"]`; advances past it.
    fn quoted_property(&mut self, path: &str) -> Option<&'a str> {
        let inside = self.code[self.at..].strip_prefix('[')?;
        let quote = inside.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        let limit = inside.len().min(NAME_BYTES_MAX);
        let length = inside.as_bytes()[1..limit.max(1)]
            .iter()
            .position(|&byte| byte == quote as u8)?;
        let name = &inside[1..=length];
        inside[length + 2..]
            .strip_prefix(']')
            .filter(|_| GLOBALS.contains(&path))?;
        self.at += length + "['']".len();
        Some(name)
    }

    fn assigned(
        &mut self,
        name: &'a str,
        value_at: usize,
        budget: &mut Budget,
    ) -> Option<Event<'a>> {
        if self.n_left == 0 {
            return None;
        }
        let found = call::value(&self.code[value_at..], budget);
        let end = value_at + found.end;
        match found.value {
            Some(value) => {
                self.at = end;
                Some(Event::Assigned(name, value))
            }
            None => {
                // The value is code: scan it as such, since it may contain assignments.
                self.n_left = self.n_left.saturating_sub(found.end);
                self.at = value_at;
                None
            }
        }
    }
}

/// The name of a global variable from a property path: `X.y` for `window.X.y`.
fn global_name(path: &str) -> Option<&str> {
    let (root, name) = path.split_once('.')?;
    GLOBALS.contains(&root).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::{Event, scan};
    use serde_json::{Value, json};
    use trawl_embedded::Budget;

    #[track_caller]
    fn check(code: &str, expected: &[(&str, Value)]) {
        let mut found = Vec::new();
        scan(code, false, &mut Budget::default(), |event, _| {
            if let Event::Assigned(name, value) = event {
                found.push((name, value));
            }
        });
        assert_eq!(found, expected, "{code}");
    }

    #[test]
    fn assignments_to_global_variables_are_found_however_they_are_written() {
        check("window.A = {a: 1};", &[("A", json!({"a": 1}))]);
        check("window['A b']={a:1}", &[("A b", json!({"a": 1}))]);
        check(
            "var A = {a: 1}, B = [1, 2];let C=[{}]",
            &[
                ("A", json!({"a": 1})),
                ("B", json!([1, 2])),
                ("C", json!([{}])),
            ],
        );
        check(
            "A={a:1}\nconst B = [2]",
            &[("A", json!({"a": 1})), ("B", json!([2]))],
        );
        check("window.A.b = {c: 1}", &[("A.b", json!({"c": 1}))]);
        check(
            "(function(){ if (x) { self.A = window.A || {a: 1} } })()",
            &[("A", json!({"a": 1}))],
        );
        check(
            "window.A = Object.freeze({a: 1})",
            &[("A", json!({"a": 1}))],
        );
    }

    #[test]
    fn parsed_texts_are_values() {
        let expected = [("A", json!({"a": "b"}))];
        check(r#"window.A = JSON.parse("{\"a\":\"b\"}")"#, &expected);
        check(r#"var A=JSON.parse('{"a":"\x62"}');"#, &expected);
        check(
            r#"A = JSON.parse(decodeURIComponent("%7B%22a%22%3A%22b%22%7D"))"#,
            &expected,
        );
        check(r#"A = JSON.parse(atob("eyJhIjoiYiJ9"))"#, &expected);
        check(r#"window.A = "{\"a\":\"b\"}";"#, &expected);
        check("A = JSON.parse(`{\"a\":\"b\"}`)", &expected);
    }

    #[test]
    fn code_is_not_data() {
        for code in [
            "window.A = {};",
            "window.A = 1; window.B = 'text'; C = null",
            "if (A == {a: 1}) {}; A => {a: 1}",
            "function f() { var local = {a: 1}; other = [1] }",
            "window.A = function () { return {a: 1} }",
            "window.A = {init: function () {}, show: function () {}, b: c}",
            "'window.A = {a: 1}'; // window.B = {b: 1}",
            "f().window.B = {b: 1}",
        ] {
            check(code, &[]);
        }
    }

    #[test]
    fn data_after_unusual_tokens_is_found() {
        check(
            "x = /['\"{]/; y = `'${z}`; /* ' */ window.A = {a: '}'}",
            &[("A", json!({"a": "}"}))],
        );
        check(
            "window.f = function () { window.A = {a: 1} }",
            &[("A", json!({"a": 1}))],
        );
    }
}
