//! XPath 1.0 on a page, as browsers evaluate it.
//!
//! ```
//! # use trawl_sdk::testkit;
//! use trawl_xpath::{Value, XPath, query};
//!
//! let page = testkit::page("<ul><li>1<li>2</ul><a href=x>more</a>");
//! let document = page.document();
//! let items = XPath::parse("count(//li)")?;
//! assert_eq!(items.evaluate(document.root())?, Value::Number(2.0));
//! assert_eq!(query(&document, "string(//a/@href)")?, Value::String("x".to_owned()));
//! # Ok::<(), trawl_xpath::XPathError>(())
//! ```
//!
//! Supports all of XPath 1.0 except variables and namespace prefixes, which are rejected. The
//! reference is `document.evaluate` of Chromium on an HTML page: names of HTML elements and
//! their attributes ignore case; names without a prefix never match SVG or MathML elements (`*`
//! and `*[name()='svg']` do), but elements of XML data in any namespace; `lang()` considers only
//! `xml:lang`; `namespace::` is always empty; `id()` finds the first element with an id; and the
//! doctype is a node. Differences from Chromium:
//!
//! - `string(12345678.5)` has all digits and never an exponent, as the standard says; Chromium
//!   writes six digits (`1.23457e+7`).
//! - Strings are counted in characters, not UTF-16 units: `string-length('😀')` is 1.
//! - `number()` ignores only XML's four white space characters; Chromium also ignores others.
//! - In a predicate on an attribute, `/` is the document (`//@id[//h1]`); in Chromium it is the
//!   attribute, which has no descendants.
//! - The text of the doctype is the empty string; in Chromium it equals no string.
//! - The attributes of an element are in source order; in Chromium their order sometimes
//!   differs.
//! - An expression of another type where a node-set is required is rejected by the parser;
//!   Chromium rejects it only when it evaluates that part. An unknown variable is rejected too;
//!   in Chromium it is an empty string.
//! - Length and nesting of expressions and the steps of an evaluation are limited.
//! - `<?name …?>` is a comment; Chromium makes it a processing instruction (except `<?xml
//!   …?>`).
#![cfg_attr(test, allow(clippy::unwrap_used, reason = "tests may panic"))]

mod ast;
mod axes;
mod evaluate;
mod functions;
mod lexer;
mod parser;
mod pool;
#[cfg(test)]
mod tests;
mod tree;
mod values;

use std::fmt;

use ast::{Expr, Type};
use evaluate::{Evaluator, Focus};
use pool::Pool;
use trawl_sdk::view::{Document, Element, Kind, Node, Steps};
use tree::{Key, Tree};

/// A parsed expression. To use an expression repeatedly, parse it once.
#[derive(Clone, Debug)]
pub struct XPath {
    expr: Expr,
    names: Vec<Box<str>>,
    n_roots: usize,
}

/// Result of an expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    /// Nodes and attributes without duplicates, in document order.
    Nodes(Vec<Item<'a>>),
    /// A string.
    String(String),
    /// A number, possibly `NaN` or infinite.
    Number(f64),
    /// A boolean.
    Boolean(bool),
}

/// A node in a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item<'a> {
    /// A node of the page.
    Node(Node<'a>),
    /// An attribute.
    Attribute(Attribute<'a>),
}

/// An attribute of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attribute<'a> {
    /// The element it belongs to.
    pub element: Element<'a>,
    /// Its name, in SVG with its prefix (`xlink:href`).
    pub name: &'a str,
    /// Its value.
    pub value: &'a str,
}

/// Why an expression does not parse, or why its evaluation was stopped: lower case, without the
/// expression itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct XPathError {
    reason: String,
    position: Option<usize>,
}

impl XPath {
    /// Parses an expression.
    ///
    /// # Errors
    /// If the text is not an XPath 1.0 expression, uses variables or namespace prefixes, or is too
    /// long or nested too deeply; the error says what is wrong and where.
    pub fn parse(text: &str) -> Result<Self, XPathError> {
        let parser::Parsed {
            expr,
            names,
            n_roots,
        } = parser::parse(text)?;
        Ok(Self {
            expr,
            names,
            n_roots,
        })
    }

    /// Evaluates the expression with `node` as the context node. `/` is the document, or the
    /// contents of the `<template>` that the node is in.
    ///
    /// # Errors
    /// If the evaluation takes more than [`Steps::MAX`] steps.
    pub fn evaluate<'a>(&self, node: Node<'a>) -> Result<Value<'a>, XPathError> {
        self.evaluate_within(node, &Steps::default())
    }

    /// Like [`evaluate`](Self::evaluate), within a step budget that other evaluations may share.
    ///
    /// # Errors
    /// If the steps are used up.
    pub fn evaluate_within<'a>(
        &self,
        node: Node<'a>,
        steps: &Steps,
    ) -> Result<Value<'a>, XPathError> {
        let pool = Pool::default();
        let tree = Tree::around(node, &self.names, steps, &pool);
        let evaluator = Evaluator::new(tree, self.n_roots);
        let (expr, focus) = (&self.expr, Focus::only(Key::node(node.index())));
        Ok(match expr.type_of() {
            Type::Nodes => {
                let keys = evaluator.nodes(expr, focus)?;
                Value::Nodes(keys.iter().map(|&key| item(node.document(), key)).collect())
            }
            Type::String => Value::String(evaluator.string(expr, focus)?.to_owned()),
            Type::Number => Value::Number(evaluator.number(expr, focus)?),
            Type::Boolean => Value::Boolean(evaluator.boolean(expr, focus)?),
        })
    }
}

fn item<'a>(document: &'a Document<'a>, key: Key) -> Item<'a> {
    let node = Node::new(document, key.node);
    let arrays = document.arrays();
    match (
        key.attribute().map(|attribute| attribute as usize),
        node.as_element(),
    ) {
        (Some(attribute), Some(element)) => Item::Attribute(Attribute {
            element,
            name: arrays.name(arrays.attribute_names[attribute]),
            value: arrays.text_of(
                arrays.attribute_starts[attribute],
                arrays.attribute_lengths[attribute],
            ),
        }),
        _ => Item::Node(node),
    }
}

impl std::str::FromStr for XPath {
    type Err = XPathError;

    fn from_str(text: &str) -> Result<Self, XPathError> {
        Self::parse(text)
    }
}

/// Evaluates an expression on a whole document.
///
/// # Errors
/// If the expression does not parse or takes too many steps. To use an expression repeatedly, parse
/// it once with [`XPath::parse`].
pub fn query<'d>(document: &'d Document<'_>, text: &str) -> Result<Value<'d>, XPathError> {
    XPath::parse(text)?.evaluate(document.root())
}

impl Value<'_> {
    /// Converts the value like XPath's `string()`: for nodes, the text of the first.
    pub fn to_text(&self) -> String {
        match self {
            Self::Nodes(items) => items.first().map(|item| item.to_text()).unwrap_or_default(),
            Self::String(text) => text.clone(),
            Self::Number(number) => {
                let mut text = String::new();
                values::write_number(&mut text, *number);
                text
            }
            Self::Boolean(boolean) => boolean.to_string(),
        }
    }
}

impl Item<'_> {
    /// String-value as defined by XPath: the value of an attribute, the text of a text node or a
    /// comment, or all text inside an element.
    pub fn to_text(&self) -> String {
        match self {
            Self::Attribute(attribute) => attribute.value.to_owned(),
            Self::Node(node) => match node.kind() {
                Kind::Comment(text) => text.to_owned(),
                Kind::ProcessingInstruction(text) => {
                    text.split_once(' ').unwrap_or_default().1.to_owned()
                }
                _ => node.text(),
            },
        }
    }
}

impl XPathError {
    fn new(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            position: None,
        }
    }

    fn at(text: &str, offset: usize, reason: impl Into<String>) -> Self {
        let position = Some(text[..offset].chars().count() + 1);
        Self {
            reason: reason.into(),
            position,
        }
    }

    fn too_many_steps() -> Self {
        Self::new("evaluation took too many steps on this page")
    }

    /// Position of the error in characters, counted from 1, if known.
    pub fn position(&self) -> Option<usize> {
        self.position
    }
}

impl fmt::Display for XPathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)?;
        match self.position {
            Some(position) => write!(f, " at character {position}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for XPathError {}

/// Whether XPath 1.0 has a function of this name, for example `count`.
pub fn is_function(name: &str) -> bool {
    ast::FUNCTIONS.iter().any(|row| row.0 == name)
}
