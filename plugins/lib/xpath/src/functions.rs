//! Core function library (XPath 1.0, chapter 4).

use std::collections::HashMap;

use super::XPathError;
use super::ast::{Expr, Function, Type};
use super::evaluate::{Evaluator, Focus};
use super::lexer::is_space;
use super::pool::{Buffer, Text};
use super::tree::Key;
use super::values;
use trawl_sdk::view::arrays::kind;

impl<'a> Evaluator<'a> {
    pub(super) fn call_boolean(
        &self,
        function: Function,
        arguments: &'a [Expr],
        focus: Focus,
    ) -> Result<bool, XPathError> {
        let text = |at: usize| self.string(&arguments[at], focus);
        match function {
            Function::Boolean => self.boolean(&arguments[0], focus),
            Function::Not => Ok(!self.boolean(&arguments[0], focus)?),
            Function::True => Ok(true),
            Function::Contains => Ok(text(0)?.contains(&*text(1)?)),
            Function::StartsWith => Ok(text(0)?.starts_with(&*text(1)?)),
            Function::Lang => Ok(self.is_in_language(focus.key, &text(0)?)),
            _ => Ok(false),
        }
    }

    pub(super) fn call_number(
        &self,
        function: Function,
        arguments: &'a [Expr],
        focus: Focus,
    ) -> Result<f64, XPathError> {
        let number = |at: usize| self.number(&arguments[at], focus);
        match function {
            Function::Position => Ok(focus.position as f64),
            Function::Last => Ok(focus.size as f64),
            Function::Count => Ok(self.nodes(&arguments[0], focus)?.len() as f64),
            Function::Sum => self.sum(&arguments[0], focus),
            Function::Number if arguments.is_empty() => {
                Ok(values::to_number(&self.tree.string_value(focus.key)?))
            }
            Function::Number => number(0),
            Function::Floor => Ok(number(0)?.floor()),
            Function::Ceiling => Ok(number(0)?.ceil()),
            Function::Round => Ok(values::round(number(0)?)),
            Function::StringLength => {
                Ok(self.own_or_argument(arguments, focus)?.chars().count() as f64)
            }
            _ => Ok(f64::NAN),
        }
    }

    pub(super) fn call_string(
        &self,
        function: Function,
        arguments: &'a [Expr],
        focus: Focus,
    ) -> Result<Text<'a>, XPathError> {
        let text = |at: usize| self.string(&arguments[at], focus);
        match function {
            Function::String => self.own_or_argument(arguments, focus),
            Function::NormalizeSpace => self.fold(self.own_or_argument(arguments, focus)?),
            Function::Name | Function::LocalName | Function::NamespaceUri => {
                let key = match arguments {
                    [] => Some(focus.key),
                    [argument] if argument.type_of() == Type::Nodes => {
                        self.first(argument, focus)?
                    }
                    _ => None,
                };
                Ok(key.map_or("", |key| self.name_of(function, key)).into())
            }
            Function::Concat => {
                let mut all = self.tree.pool.text();
                for at in 0..arguments.len() {
                    all.push_str(&text(at)?);
                }
                Ok(all.into())
            }
            Function::SubstringBefore => {
                let (text, mark) = (text(0)?, text(1)?);
                let end = text.find(&*mark).unwrap_or(0);
                Ok(slice(text, 0, end))
            }
            Function::SubstringAfter => {
                let (text, mark) = (text(0)?, text(1)?);
                let start = text.find(&*mark).map_or(text.len(), |at| at + mark.len());
                let end = text.len();
                Ok(slice(text, start, end))
            }
            Function::Substring => {
                let text = text(0)?;
                let start = self.number(&arguments[1], focus)?;
                let length = match arguments.get(2) {
                    Some(length) => Some(self.number(length, focus)?),
                    None => None,
                };
                let (start, end) = values::substring(&text, start, length);
                Ok(slice(text, start, end))
            }
            Function::Translate => {
                let mut translated = self.tree.pool.text();
                translate(&mut translated, &text(0)?, &text(1)?, &text(2)?);
                Ok(translated.into())
            }
            _ => Ok("".into()),
        }
    }

    /// Text of the only argument, or of the context node without one.
    fn own_or_argument(&self, arguments: &'a [Expr], focus: Focus) -> Result<Text<'a>, XPathError> {
        match arguments {
            [] => self.tree.string_value(focus.key),
            _ => self.string(&arguments[0], focus),
        }
    }

    /// Collapses white space and trims both ends, as `normalize-space` does.
    fn fold(&self, text: Text<'a>) -> Result<Text<'a>, XPathError> {
        let is_folded = !text.starts_with(is_space)
            && !text.ends_with(is_space)
            && !text.as_bytes().windows(2).any(|pair| pair == b"  ")
            && !text.contains(['\t', '\n', '\r']);
        if is_folded {
            return Ok(text);
        }
        let mut folded = self.tree.pool.text();
        for word in text.split(is_space).filter(|word| !word.is_empty()) {
            if !folded.is_empty() {
                folded.push(' ');
            }
            folded.push_str(word);
        }
        Ok(folded.into())
    }

    fn sum(&self, argument: &'a Expr, focus: Focus) -> Result<f64, XPathError> {
        let mut sum = 0.0;
        for &key in self.nodes(argument, focus)?.iter() {
            self.tree.spend(1)?;
            sum += values::to_number(&self.tree.string_value(key)?);
        }
        Ok(sum)
    }

    fn name_of(&self, function: Function, key: Key) -> &'a str {
        if let Some(attribute) = key.attribute() {
            let name = self.tree.attribute_name(attribute);
            let namespace = self.tree.attribute_namespace(key.node, attribute);
            return match function {
                Function::NamespaceUri => namespace,
                Function::LocalName if !namespace.is_empty() => {
                    name.split_once(':').map_or(name, |(_, local)| local)
                }
                _ => name,
            };
        }
        match (self.tree.kind(key.node), function) {
            (kind::ELEMENT, Function::NamespaceUri) => self.tree.namespace(key.node),
            (kind::ELEMENT, _) => {
                let name = self.tree.element_name(key.node);
                match name.split_once(':') {
                    Some((_, local))
                        if function == Function::LocalName && self.tree.is_data(key.node) =>
                    {
                        local
                    }
                    _ => name,
                }
            }
            (kind::PROCESSING_INSTRUCTION, Function::Name | Function::LocalName) => {
                self.tree.instruction(key.node).0
            }
            _ => "",
        }
    }

    /// Compares the nearest `xml:lang`, as browsers do; HTML's own `lang` is ignored.
    fn is_in_language(&self, key: Key, language: &str) -> bool {
        let elements =
            std::iter::successors(Some(Key::node(key.node)), |&key| self.tree.parent(key));
        let own = match key.attribute() {
            // In browsers an attribute has no parent here.
            Some(_) => None,
            None => { elements }.find_map(|key| self.tree.xml_lang(key.node)),
        };
        own.is_some_and(|own| {
            let is_variant = |end: usize| own.as_bytes().get(end).is_none_or(|&next| next == b'-');
            own.get(..language.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(language))
                && is_variant(language.len())
        })
    }
}

fn slice(text: Text<'_>, start: usize, end: usize) -> Text<'_> {
    match text {
        Text::Borrowed(text) => text[start..end].into(),
        Text::Owned(mut text) => {
            text.truncate(end);
            text.drain(..start);
            text.into()
        }
    }
}

/// Up to this number of characters a linear search is used.
const FEW_CHARACTERS: usize = 64;

fn translate(out: &mut Buffer<'_>, text: &str, from: &str, to: &str) {
    if from.len() <= FEW_CHARACTERS {
        let place = |character| match from.chars().position(|own| own == character) {
            Some(place) => to.chars().nth(place),
            None => Some(character),
        };
        return out.extend(text.chars().filter_map(place));
    }
    let mut places = HashMap::with_capacity(from.len());
    let mut to = to.chars();
    for character in from.chars() {
        let place = to.next();
        places.entry(character).or_insert(place);
    }
    let place = |character| places.get(&character).copied().unwrap_or(Some(character));
    out.extend(text.chars().filter_map(place));
}
