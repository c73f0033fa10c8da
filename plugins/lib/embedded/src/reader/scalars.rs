//! Strings, templates, numbers and words.

use serde_json::Value;

use super::super::code::is_word_byte;
use super::super::literal::{Ending, number, quoted};
use super::{DEPTH_MAX, Open, Reader, Syntax, measure};

impl Reader<'_> {
    /// Parses a string, or several strings joined by `+`.
    pub(super) fn string(&mut self) -> Value {
        let mut value = String::new();
        loop {
            let ending = match (self.syntax, self.open.last()) {
                (Syntax::Code, _) | (_, None) => Ending::First,
                (_, Some(Open::Object(..))) => Ending::InObject,
                (_, Some(Open::Array(_))) => Ending::InArray,
            };
            let (part, end) = quoted(self.text, self.at, ending);
            value.push_str(&part);
            self.at = end.unwrap_or(self.text.len());
            self.is_unclosed = end.is_none();
            match self.after_plus() {
                Some(next) if self.syntax == Syntax::Code => self.at = next,
                _ => return Value::String(value),
            }
        }
    }

    /// Parses a template; one with substitutions is code.
    pub(super) fn template(&mut self) -> Value {
        let bytes = self.text.as_bytes();
        let mut end = self.at + 1;
        let mut has_code = false;
        while let Some(&byte) = bytes.get(end) {
            match byte {
                b'\\' => end += 2,
                b'`' => break,
                b'$' if bytes.get(end + 1) == Some(&b'{') => {
                    has_code = true;
                    let start = std::mem::replace(&mut self.at, end + 1);
                    self.skip_group();
                    end = std::mem::replace(&mut self.at, start).max(end + 2);
                }
                _ => end += 1,
            }
        }
        if !has_code {
            return self.string();
        }
        self.at = (end + 1).min(self.text.len());
        self.opaque()
    }

    /// Position of the string that is appended with `+` here, if any.
    fn after_plus(&self) -> Option<usize> {
        let next = self.rest().trim_ascii_start().strip_prefix('+')?;
        let next = next.trim_ascii_start();
        next.starts_with(['"', '\''])
            .then(|| self.text.len() - next.len())
    }

    /// Parses `!0` and `!1`, which minifiers write for `true` and `false`.
    pub(super) fn negation(&mut self) -> Value {
        let value = match self.text.as_bytes().get(self.at + 1) {
            Some(b'0') => Value::Bool(true),
            Some(b'1') => Value::Bool(false),
            _ => return self.opaque(),
        };
        self.at += 2;
        value
    }

    /// Parses a keyword, an identifier with a known value, or code.
    pub(super) fn word(&mut self) -> Value {
        let start = self.at;
        let end = self.after_word(is_word_byte);
        let word = &self.text[start..end];
        self.at = end;
        match word {
            "true" | "True" => Value::Bool(true),
            "false" | "False" => Value::Bool(false),
            "null" | "None" | "undefined" | "NaN" | "Infinity" => Value::Null,
            "void" => {
                self.skip_expression();
                Value::Null
            }
            "new" if self.syntax == Syntax::Code => self.constructor_call(),
            _ => match self.names.binary_search_by_key(&word, |(name, _)| name) {
                Ok(found) => self.named(found),
                Err(_) if self.syntax == Syntax::Json => self.unquoted(start),
                Err(_) => self.opaque(),
            },
        }
    }

    /// Value of an identifier, if it fits the budget and the depth.
    fn named(&mut self, place: usize) -> Value {
        let names = self.names;
        let value = &names[place].1;
        let (depth, bytes) = measure(value);
        self.charge(bytes);
        if self.is_over_budget || self.open.len() + depth > DEPTH_MAX {
            Value::Null
        } else {
            value.clone()
        }
    }

    /// Parses a constructor call: `new Date("…")` becomes its argument. Any argument
    /// other than a string or a timestamp is opaque.
    fn constructor_call(&mut self) -> Value {
        self.skip_blanks();
        self.at = self.after_word(is_word_byte);
        let argument = self.rest().strip_prefix('(').map(str::trim_ascii_start);
        let Some(argument) = argument.filter(|text| text.starts_with(['"', '\'', '1'])) else {
            return self.opaque();
        };
        let start = self.text.len() - argument.len();
        let end = self.at;
        self.at = start;
        let value = match argument.as_bytes()[0] {
            b'1' => number(&self.text[start..self.after_number()]),
            _ => self.string(),
        };
        self.at = end;
        self.skip_group();
        value
    }

    /// Parses an unquoted value in JSON: text up to the next comma, closing bracket or line end.
    pub(super) fn unquoted(&mut self, start: usize) -> Value {
        self.at = self.after_word(|byte| !matches!(byte, b',' | b'}' | b']' | b'\n' | b':' | b'"'));
        self.n_opaque += 1;
        Value::String(self.text[start..self.at].trim_ascii_end().to_owned())
    }
}
