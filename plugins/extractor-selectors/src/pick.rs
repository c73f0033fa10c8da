//! Evaluates selectors and returns the matches as texts.

use std::collections::HashSet;

use trawl_sdk::{Document, Failure, Kind, Node, Steps, Tag};
use trawl_xpath::{Item, Value};

use crate::selector::{FieldSelector, Query};
use crate::urls;

/// Maximum size of all texts together, in bytes.
pub const TEXT_BYTES_MAX: usize = 8 << 20;

/// Bytes of text per step.
const BYTES_PER_STEP: usize = 32;

/// Reads the fields of a page.
pub(crate) struct Picker<'a> {
    document: &'a Document<'a>,
    steps: &'a Steps,
    n_bytes: usize,
}

/// The texts of a field.
pub(crate) struct Texts<'a> {
    pub(crate) found: Vec<String>,
    n_max: usize,
    /// Elements (of attributes, their elements) and texts that earlier selectors took.
    taken: HashSet<Node<'a>>,
}

impl Texts<'_> {
    /// No texts yet, at most `n_max`.
    pub(crate) fn of(n_max: usize) -> Self {
        Self {
            found: Vec::new(),
            n_max,
            taken: HashSet::new(),
        }
    }

    fn are_full(&self) -> bool {
        self.found.len() >= self.n_max
    }
}

impl<'a> Picker<'a> {
    pub(crate) fn new(document: &'a Document<'a>, steps: &'a Steps) -> Self {
        Self {
            document,
            steps,
            n_bytes: 0,
        }
    }

    /// Adds the texts that a field's selectors match, one selector after the other. An element that
    /// an earlier selector took is left out; equal texts of different elements stay, so that the
    /// lists of several fields belong together.
    ///
    /// # Errors
    /// The selectors exceed the step limit or the text limit.
    pub(crate) fn pick(
        &mut self,
        field: &str,
        selectors: &[FieldSelector],
        texts: &mut Texts<'a>,
    ) -> Result<(), Failure> {
        for selector in selectors {
            self.pick_one(selector, texts)
                .map_err(|reason| Failure::Failed(format!("field `{field}`: {reason}")))?;
        }
        Ok(())
    }

    fn pick_one(&mut self, selector: &FieldSelector, texts: &mut Texts<'a>) -> Result<(), String> {
        let root = self.document.root();
        let attribute = selector.attribute.as_deref();
        match &selector.query {
            Query::Css(css) => {
                let elements = root
                    .select_within(css, self.steps)
                    .map_err(|error| error.to_string())?;
                self.take(
                    texts,
                    elements
                        .into_iter()
                        .map(|element| Item::Node(element.node())),
                    attribute,
                )
            }
            Query::XPath(xpath) => {
                let value = xpath
                    .evaluate_within(root, self.steps)
                    .map_err(|error| error.to_string())?;
                match value {
                    Value::Nodes(items) => self.take(texts, items.into_iter(), attribute),
                    // The result of `number` or `string` on an empty node set is not a match.
                    Value::Number(number) if number.is_nan() => Ok(()),
                    Value::String(text) if text.trim_ascii().is_empty() => Ok(()),
                    value => self.add(texts, value.to_text()),
                }
            }
        }
    }

    fn take(
        &mut self,
        texts: &mut Texts<'a>,
        items: impl Iterator<Item = Item<'a>>,
        attribute: Option<&str>,
    ) -> Result<(), String> {
        let mut taken = Vec::new();
        for item in items {
            if texts.are_full() {
                return Ok(());
            }
            let node = match item {
                Item::Node(node) => node,
                Item::Attribute(attribute) => attribute.element.node(),
            };
            if texts.taken.contains(&node) {
                continue;
            }
            let text = match attribute {
                Some(name) => attribute_of(item, name),
                None => self.text_of(item)?,
            };
            if let Some(text) = text {
                self.add(texts, text)?;
                taken.push(node);
            }
        }
        texts.taken.extend(taken);
        Ok(())
    }

    fn add(&mut self, texts: &mut Texts<'a>, text: String) -> Result<(), String> {
        if texts.are_full() {
            return Ok(());
        }
        self.n_bytes += text.len();
        texts.found.push(text);
        if self.n_bytes > TEXT_BYTES_MAX {
            Err(format!(
                "the selectors match more than {TEXT_BYTES_MAX} bytes of text"
            ))
        } else {
            Ok(())
        }
    }

    /// `None` if there is no value: white space between elements, a `meta` without `content`.
    fn text_of(&self, item: Item<'a>) -> Result<Option<String>, String> {
        let node = match item {
            Item::Attribute(own) => {
                return Ok(Some(urls::value(own.element, own.name, own.value)));
            }
            Item::Node(node) => node,
        };
        match node.kind() {
            Kind::Element(element) if element.tag() == Tag::Meta => {
                let content = element.attr("content");
                Ok(content.map(|content| fold(&urls::value(element, "content", content))))
            }
            Kind::Element(_) | Kind::Document => self.text_inside(node).map(Some),
            Kind::Text(text) | Kind::Comment(text) => {
                Ok(Some(fold(text)).filter(|text| !text.is_empty()))
            }
            _ => Ok(None),
        }
    }

    fn text_inside(&self, node: Node<'a>) -> Result<String, String> {
        let text = node.line_text_while(|next| {
            let text = next.as_text().unwrap_or_default();
            self.steps.spend(1 + (text.len() / BYTES_PER_STEP) as u64)
        });
        text.ok_or_else(|| {
            "reading the text of its matches takes too many steps on this page".to_owned()
        })
    }
}

fn attribute_of(item: Item<'_>, name: &str) -> Option<String> {
    let Item::Node(node) = item else {
        return None;
    };
    let element = node.as_element()?;
    let value = element
        .attr(name)
        .or_else(|| element.attr(&name.to_ascii_lowercase()))?;
    Some(urls::value(element, name, value))
}

/// Collapses white space of the source.
fn fold(text: &str) -> String {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    words.join(" ")
}
