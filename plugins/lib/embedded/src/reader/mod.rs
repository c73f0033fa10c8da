//! The lenient parser: a single pass without recursion.

mod scalars;

use serde_json::{Map, Value};

use super::budget::{Budget, key_bytes, scalar_bytes};
use super::code::{after_block, after_group, after_line, after_token, is_word_byte};
use super::literal::{Ending, number, quoted};

/// Maximum nesting depth; deeper values become null. JSON parsers, including the host's, stop at
/// 128.
pub const DEPTH_MAX: usize = 100;

/// Values of identifiers, sorted by name.
pub type Names<'n> = [(&'n str, Value)];

/// A value at the start of a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Prefix {
    /// The value.
    pub value: Value,
    /// End of the value, as a byte offset.
    pub end: usize,
    /// Number of literals and containers in it, including itself.
    pub n_values: usize,
    /// How many of those are null or incomplete because they were code: a function, an identifier,
    /// an expression.
    pub n_opaque: usize,
}

/// Parses the JavaScript value (object, array, string, …) at the start of a text, after white
/// space and comments. What code computes becomes null: identifiers, calls, templates with
/// substitutions, and a value that an expression goes on from (`'x' + y`, `[1].length`), inside it
/// and as a whole. A hole of an array is null. Ignores what follows the value. `None` if
/// no value starts there or it does not fit the budget.
pub fn prefix(text: &str, budget: &mut Budget) -> Option<Prefix> {
    prefix_with(text, &[], budget)
}

/// Like [`prefix`], with values for identifiers.
pub fn prefix_with(text: &str, names: &Names<'_>, budget: &mut Budget) -> Option<Prefix> {
    let mut reader = Reader::new(text, Syntax::Code, names, budget);
    let value = reader.value()?;
    Some(Prefix {
        value,
        end: reader.at,
        n_values: reader.n_values,
        n_opaque: reader.n_opaque,
    })
}

/// Syntax that a text is parsed as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Syntax {
    /// Possibly malformed JSON.
    Json,
    /// Well-formed JavaScript: a quote always ends its string, and anything but a literal is code.
    Code,
}

/// A container that is still open.
enum Open {
    Array(Vec<Value>),
    Object(Map<String, Value>, Option<String>),
}

/// Parser state.
pub(super) struct Reader<'a> {
    text: &'a str,
    at: usize,
    syntax: Syntax,
    names: &'a Names<'a>,
    budget: &'a mut Budget,
    is_over_budget: bool,
    open: Vec<Open>,
    /// Whether the last token was a value, so that in code only a comma or a closing bracket may
    /// follow.
    is_after_value: bool,
    n_values: usize,
    n_opaque: usize,
    /// Whether the last string or key had no closing quote.
    is_unclosed: bool,
    /// End of the last number or word.
    scalar_end: usize,
    cut_depth: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(
        text: &'a str,
        syntax: Syntax,
        names: &'a Names<'a>,
        budget: &'a mut Budget,
    ) -> Self {
        Self {
            text,
            at: 0,
            syntax,
            names,
            budget,
            is_over_budget: false,
            open: Vec::new(),
            is_after_value: false,
            n_values: 0,
            n_opaque: 0,
            is_unclosed: false,
            scalar_end: usize::MAX,
            cut_depth: 0,
        }
    }

    /// Number of containers that were open where the text was cut off, in the middle of a value or
    /// before one; 0 if it was not. Missing brackets at the end alone do not count.
    pub(super) fn cut_depth(&self) -> usize {
        self.cut_depth
    }

    /// Parses the next object or array, skipping anything before it. `None` if there is none or it
    /// does not fit the budget.
    pub(super) fn next_container(&mut self) -> Option<Value> {
        loop {
            self.skip_blanks();
            match self.peek()? {
                b'{' | b'[' => return self.value(),
                b'"' | b'\'' => self.at = after_token(self.text, self.at)?,
                _ => self.at += 1,
            }
        }
    }

    /// Parses one value at the current position.
    fn value(&mut self) -> Option<Value> {
        self.skip_blanks();
        self.peek()?;
        let mut root = self.begin();
        while root.is_none() && !self.is_over_budget {
            root = self.step();
        }
        self.open.clear();
        if self.syntax == Syntax::Code && root.as_ref().is_some_and(|root| self.goes_on(root)) {
            self.n_opaque += 1;
            root = Some(Value::Null);
        }
        root.filter(|_| !self.is_over_budget)
    }

    /// Whether the expression that this outermost value begins goes on after it.
    fn goes_on(&mut self, value: &Value) -> bool {
        let end = self.at;
        self.skip_blanks();
        let is_same_line = !self.text[end..self.at].contains('\n');
        let rest = self.rest().as_bytes();
        self.at = end;
        match rest {
            [b'+', b'+', ..] | [b'-', b'-', ..] => is_same_line,
            [b'<', b'/', ..] => false,
            [b'|', b'|', ..] | [b'?', b'?', ..] => !is_truthy(value),
            [b'(' | b'[' | b'`', ..] => is_same_line,
            [first, ..] => b".?+-*/%&|^<>=".contains(first),
            [] => false,
        }
    }

    /// The value inside a container if it is all of its expression; otherwise null, and the rest
    /// of the expression is skipped.
    fn settled(&mut self, value: Value) -> Value {
        if self.syntax != Syntax::Code {
            return value;
        }
        self.skip_blanks();
        if matches!(self.peek(), None | Some(b',' | b'}' | b']' | b')')) {
            return value;
        }
        let is_alternative = self.rest().starts_with("||") || self.rest().starts_with("??");
        self.skip_expression();
        if is_alternative && is_truthy(&value) {
            return value;
        }
        self.n_opaque += 1;
        Value::Null
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Parses the next token inside a container; returns the outermost value when it is complete.
    fn step(&mut self) -> Option<Value> {
        self.skip_blanks();
        let Some(byte) = self.peek() else {
            let is_cut =
                !self.is_after_value || self.is_unclosed || self.scalar_end == self.text.len();
            self.cut_depth = if is_cut { self.open.len() } else { 0 };
            return self.close_all();
        };
        match byte {
            b',' | b':' => {
                self.at += 1;
                let is_hole = !self.is_after_value && self.syntax == Syntax::Code;
                if is_hole && byte == b',' && matches!(self.open.last(), Some(Open::Array(_))) {
                    self.n_values += 1;
                    self.put(Value::Null);
                }
                self.is_after_value = false;
                if byte == b','
                    && let Some(Open::Object(_, key)) = self.open.last_mut()
                {
                    *key = None;
                }
                None
            }
            b'}' | b']' => self.close(byte),
            _ if self.is_after_value && self.syntax == Syntax::Code => {
                self.n_opaque += 1;
                self.skip_expression();
                None
            }
            _ if matches!(self.open.last(), Some(Open::Object(_, None))) => {
                self.read_key(byte);
                None
            }
            _ => {
                let value = self.begin()?;
                let value = self.settled(value);
                self.put(value)
            }
        }
    }

    /// Skips white space, comments and legacy wrappers such as CDATA.
    fn skip_blanks(&mut self) {
        while let Some(byte) = self.peek() {
            let rest = self.rest();
            self.at = match byte {
                _ if byte.is_ascii_whitespace() || byte == 0 => self.at + 1,
                b'/' if rest.starts_with("/*") => after_block(self.text, self.at + 2),
                b'/' if rest.starts_with("//") => {
                    let is_wrapper = rest[2..].trim_ascii_start().starts_with("<![CDATA[");
                    if is_wrapper {
                        self.at + 2
                    } else {
                        after_line(self.text.as_bytes(), self.at)
                    }
                }
                b'<' if rest.starts_with("<![CDATA[") => self.at + "<![CDATA[".len(),
                b'<' if rest.starts_with("<!--") => self.at + "<!--".len(),
                b'-' if rest.starts_with("-->") => self.at + "-->".len(),
                b']' if self.open.is_empty() && rest.starts_with("]]>") => self.at + "]]>".len(),
                0xef if rest.starts_with('\u{feff}') => self.at + '\u{feff}'.len_utf8(),
                0xc2 if rest.starts_with('\u{a0}') => self.at + '\u{a0}'.len_utf8(),
                0xe2 if rest.starts_with(['\u{2028}', '\u{2029}']) => self.at + 3,
                _ => return,
            };
        }
    }

    fn read_key(&mut self, byte: u8) {
        let start = self.at;
        let key = match byte {
            b'"' | b'\'' | b'`' => {
                let (key, end) = quoted(self.text, start, Ending::First);
                self.at = end.unwrap_or(self.text.len());
                self.is_unclosed = end.is_none();
                key
            }
            _ if is_word_byte(byte) || byte == b'-' => {
                self.at = self.after_word(|byte| is_word_byte(byte) || byte == b'-');
                self.text[start..self.at].to_owned()
            }
            // A computed key or a method: skip it, its value is useless without a key.
            _ => return self.skip_expression(),
        };
        self.skip_blanks();
        let is_key = match self.peek() {
            Some(b':') => true,
            Some(b'(') if self.syntax == Syntax::Code => return self.skip_expression(),
            None => false,
            Some(_) => byte == b'"' && self.syntax == Syntax::Json,
        };
        if is_key && let Some(Open::Object(_, place)) = self.open.last_mut() {
            *place = Some(key);
        }
    }

    fn after_word(&self, is_part: impl Fn(u8) -> bool) -> usize {
        let rest = &self.text.as_bytes()[self.at..];
        let length = rest.iter().position(|&byte| !is_part(byte));
        self.at + length.unwrap_or(rest.len())
    }

    /// Starts the value at the current position: returns it if it is complete, `None` if a
    /// container was opened.
    fn begin(&mut self) -> Option<Value> {
        self.n_values += 1;
        let Some(byte) = self.peek() else {
            return Some(Value::Null);
        };
        let start = self.at;
        let value = match byte {
            b'{' | b'[' if self.open.len() >= DEPTH_MAX => {
                self.skip_group();
                Value::Null
            }
            b'{' | b'[' => {
                self.at += 1;
                self.open.push(match byte {
                    b'{' => Open::Object(Map::new(), None),
                    _ => Open::Array(Vec::new()),
                });
                self.is_after_value = false;
                return None;
            }
            b'`' if self.syntax == Syntax::Code => self.template(),
            b'"' | b'\'' | b'`' => self.string(),
            b'0'..=b'9' | b'-' | b'+' | b'.' => {
                self.at = self.after_number();
                if self.syntax == Syntax::Json && !self.is_at_end_of_value() {
                    self.unquoted(start)
                } else {
                    number(&self.text[start..self.at])
                }
            }
            b'!' => self.negation(),
            _ if is_word_byte(byte) => self.word(),
            _ => self.opaque(),
        };
        if !value.is_string() || !matches!(byte, b'"' | b'\'') {
            self.scalar_end = self.at;
        }
        Some(value)
    }

    /// Whether what follows may follow a value.
    fn is_at_end_of_value(&self) -> bool {
        let next = self.rest().trim_ascii_start().bytes().next();
        next.is_none_or(|byte| {
            matches!(
                byte,
                b',' | b'}' | b']' | b'"' | b'/' | b';' | b'<' | b'{' | b'['
            )
        })
    }

    fn after_number(&self) -> usize {
        let bytes = self.text.as_bytes();
        let mut end = self.at + 1;
        while let Some(&byte) = bytes.get(end) {
            let is_sign = matches!(byte, b'+' | b'-') && matches!(bytes[end - 1], b'e' | b'E');
            if !(byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_') || is_sign) {
                break;
            }
            end += 1;
        }
        end
    }

    fn opaque(&mut self) -> Value {
        self.n_opaque += 1;
        self.skip_expression();
        Value::Null
    }

    /// Adds a complete value to the innermost open container; returns it if none is open.
    fn put(&mut self, value: Value) -> Option<Value> {
        self.is_after_value = true;
        let length = value.as_str().map_or(0, str::len);
        let bytes = match self.open.last_mut() {
            None => return Some(value),
            Some(Open::Array(values)) => {
                values.push(value);
                scalar_bytes(length)
            }
            Some(Open::Object(map, key)) => {
                let key = key.take()?;
                let bytes = key_bytes(map.len(), key.len()) + length;
                map.insert(key, value);
                bytes
            }
        };
        self.charge(bytes);
        None
    }

    fn charge(&mut self, bytes: usize) {
        self.is_over_budget |= !self.budget.take(bytes);
    }

    /// Closes the innermost container of this kind and those inside it; does nothing if there is
    /// none.
    fn close(&mut self, byte: u8) -> Option<Value> {
        self.at += 1;
        let is_kind = |open: &Open| matches!(open, Open::Object(..)) == (byte == b'}');
        let place = self.open.iter().rposition(is_kind)?;
        self.close_down_to(place)
    }

    fn close_all(&mut self) -> Option<Value> {
        self.close_down_to(0)
    }

    fn close_down_to(&mut self, place: usize) -> Option<Value> {
        let mut root = None;
        while self.open.len() > place {
            let value = match self.open.pop()? {
                Open::Array(values) => Value::Array(values),
                Open::Object(map, _) => Value::Object(map),
            };
            let value = if self.open.is_empty() {
                value
            } else {
                self.settled(value)
            };
            root = self.put(value);
        }
        root
    }

    /// Skips the bracketed group that starts here.
    fn skip_group(&mut self) {
        self.at = after_group(self.text, self.at);
    }

    /// Skips to the comma or bracket that ends the current expression.
    fn skip_expression(&mut self) {
        while let Some(byte) = self.peek() {
            match byte {
                b',' | b'}' | b']' | b')' => break,
                b'{' | b'[' | b'(' => self.skip_group(),
                _ => self.skip_token(),
            }
        }
        if self.peek() == Some(b')') {
            self.at += 1;
        }
    }

    fn skip_token(&mut self) {
        self.at = after_token(self.text, self.at).unwrap_or(self.at + 1);
    }
}

/// Whether JavaScript takes the value for true, so that the other side of `||` does not count.
fn is_truthy(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(is_true) => *is_true,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(_) | Value::Object(_) => true,
    }
}

/// Depth of a value and its memory in bytes. The depth limit bounds the recursion.
fn measure(value: &Value) -> (usize, usize) {
    let (mut depth, mut bytes) = (0, 0);
    let mut add = |inner: &Value, own: usize| {
        let (inner_depth, inner_bytes) = measure(inner);
        depth = depth.max(inner_depth);
        bytes += inner_bytes + own;
    };
    match value {
        Value::Array(values) => values.iter().for_each(|value| add(value, 0)),
        Value::Object(map) => {
            let keys = map.iter().enumerate();
            keys.for_each(|(n, (key, value))| add(value, key_bytes(n, key.len())));
        }
        scalar => return (0, scalar_bytes(scalar.as_str().map_or(0, str::len))),
    }
    (depth + 1, bytes + scalar_bytes(0))
}
