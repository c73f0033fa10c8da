//! Evaluates selectors and returns the matches as texts.

use trawl_sdk::xpath::{Item, Value};
use trawl_sdk::{Document, Element, Failure, Kind, Node, Steps, Tag};

use crate::TEXT_BYTES_MAX;
use crate::selector::{FieldSelector, Query};

/// Bytes of text per step.
const BYTES_PER_STEP: usize = 32;

/// Attributes that hold URLs; they are made absolute.
const URL_ATTRIBUTES: [&str; 6] = [
    "action",
    "formaction",
    "href",
    "poster",
    "src",
    "xlink:href",
];

/// Reads the fields of a page.
pub(crate) struct Picker<'a> {
    document: &'a Document<'a>,
    steps: &'a Steps,
    n_bytes: usize,
}

/// The texts of a field.
struct Texts {
    found: Vec<String>,
    n_max: usize,
}

impl Texts {
    fn are_full(&self) -> bool {
        self.found.len() >= self.n_max
    }

    /// Adds a text unless it equals the one before it.
    fn add(&mut self, text: String) -> usize {
        if self.found.last() == Some(&text) {
            return 0;
        }
        let n_bytes = text.len();
        self.found.push(text);
        n_bytes
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

    /// The texts that a field's selectors match, one selector after the other, at most `n_max`.
    ///
    /// # Errors
    /// The selectors exceed the step limit or the text limit.
    pub(crate) fn pick(
        &mut self,
        field: &str,
        selectors: &[FieldSelector],
        n_max: usize,
    ) -> Result<Vec<String>, Failure> {
        let mut texts = Texts {
            found: Vec::new(),
            n_max,
        };
        for selector in selectors {
            self.pick_one(selector, &mut texts)
                .map_err(|reason| Failure::Failed(format!("field `{field}`: {reason}")))?;
        }
        Ok(texts.found)
    }

    fn pick_one(&mut self, selector: &FieldSelector, texts: &mut Texts) -> Result<(), String> {
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
                    Value::String(text) if text.is_empty() => Ok(()),
                    value => self.add(texts, fold(&value.to_text())),
                }
            }
        }
    }

    fn take(
        &mut self,
        texts: &mut Texts,
        items: impl Iterator<Item = Item<'a>>,
        attribute: Option<&str>,
    ) -> Result<(), String> {
        for item in items {
            if texts.are_full() {
                return Ok(());
            }
            let text = match attribute {
                Some(name) => self.attribute_of(item, name),
                None => self.text_of(item)?,
            };
            if let Some(text) = text {
                self.add(texts, text)?;
            }
        }
        Ok(())
    }

    fn add(&mut self, texts: &mut Texts, text: String) -> Result<(), String> {
        if texts.are_full() {
            return Ok(());
        }
        self.n_bytes += texts.add(text);
        if self.n_bytes > TEXT_BYTES_MAX {
            Err(format!(
                "the selectors match more than {TEXT_BYTES_MAX} bytes of text"
            ))
        } else {
            Ok(())
        }
    }

    fn attribute_of(&self, item: Item<'a>, name: &str) -> Option<String> {
        let Item::Node(node) = item else {
            return None;
        };
        let element = node.as_element()?;
        let value = element
            .attr(name)
            .or_else(|| element.attr(&name.to_ascii_lowercase()))?;
        Some(self.attribute(name, value))
    }

    fn attribute(&self, name: &str, value: &str) -> String {
        let is_address = URL_ATTRIBUTES
            .iter()
            .any(|address| name.eq_ignore_ascii_case(address));
        let absolute = is_address.then(|| self.document.resolve(value)).flatten();
        absolute.unwrap_or_else(|| value.trim().to_owned())
    }

    /// `None` if there is no value: white space between elements, a `meta` without `content`.
    fn text_of(&self, item: Item<'a>) -> Result<Option<String>, String> {
        let node = match item {
            Item::Attribute(attribute) => {
                return Ok(Some(self.attribute(attribute.name, attribute.value)));
            }
            Item::Node(node) => node,
        };
        match node.kind() {
            Kind::Element(element) if element.tag() == Tag::Meta => {
                let content = element.attr("content");
                Ok(content.map(fold))
            }
            Kind::Element(_) | Kind::Document => self.text_inside(node).map(Some),
            Kind::Text(text) | Kind::Comment(text) => {
                Ok(Some(fold(text)).filter(|text| !text.is_empty()))
            }
            _ => Ok(None),
        }
    }

    /// The descendant text nodes, joined with a space, with collapsed white space. The content of
    /// scripts, styles and templates is skipped unless the node is one.
    fn text_inside(&self, node: Node<'a>) -> Result<String, String> {
        let mut words = String::new();
        let mut inside = node.descendants();
        while let Some(next) = inside.next() {
            let text = next.as_text().unwrap_or_default();
            if !self.steps.spend(1 + (text.len() / BYTES_PER_STEP) as u64) {
                return Err(
                    "reading the text of its matches takes too many steps on this page".to_owned(),
                );
            }
            match next.kind() {
                Kind::Text(text) => add_words(&mut words, text),
                Kind::TemplateContents => inside.skip_inside(next),
                Kind::Element(element) if is_code(element) => inside.skip_inside(next),
                _ => {}
            }
        }
        Ok(words)
    }
}

fn is_code(element: Element<'_>) -> bool {
    matches!(element.tag(), Tag::Script | Tag::Style)
}

/// Collapses white space.
fn fold(text: &str) -> String {
    let mut words = String::new();
    add_words(&mut words, text);
    words
}

fn add_words(words: &mut String, text: &str) {
    for word in text.split_whitespace() {
        if !words.is_empty() {
            words.push(' ');
        }
        words.push_str(word);
    }
}
