//! The document in XPath's data model: nodes and attributes in document order, without the contents
//! of templates.

use std::cell::{OnceCell, RefCell};

use super::XPathError;
use super::ast::{Axis, Test};
use super::axes::Marks;
use super::pool::{Pool, Text};
use trawl_sdk::view::arrays::{Arrays, kind, namespace};
use trawl_sdk::view::{Document, Node, Steps};

/// A node, or an attribute of an element. Sorts in document order, with attributes after their
/// element and before its children.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Key {
    pub(super) node: u32,
    /// 0 for the node itself, otherwise the attribute's index in the document plus one.
    attribute: u32,
}

impl Key {
    pub(super) fn node(node: u32) -> Self {
        Self { node, attribute: 0 }
    }

    /// Key of an element's attribute, by its index in the document.
    pub(super) fn attribute_of(node: u32, index: u32) -> Self {
        Self {
            node,
            attribute: index + 1,
        }
    }

    /// The attribute's index in the document; `None` for a node.
    pub(super) fn attribute(self) -> Option<u32> {
        self.attribute.checked_sub(1)
    }
}

/// Bytes of text that count as one step.
pub(super) const BYTES_PER_STEP: usize = 32;

/// Namespaced attributes; the HTML parser creates them only on foreign elements.
const FOREIGN_ATTRIBUTES: [(&str, &str); 11] = [
    ("xlink:actuate", XLINK),
    ("xlink:arcrole", XLINK),
    ("xlink:href", XLINK),
    ("xlink:role", XLINK),
    ("xlink:show", XLINK),
    ("xlink:title", XLINK),
    ("xlink:type", XLINK),
    ("xml:lang", "http://www.w3.org/XML/1998/namespace"),
    ("xml:space", "http://www.w3.org/XML/1998/namespace"),
    ("xmlns", XMLNS),
    ("xmlns:xlink", XMLNS),
];

const XLINK: &str = "http://www.w3.org/1999/xlink";
const XMLNS: &str = "http://www.w3.org/2000/xmlns/";

/// Name-table entries that a name test matches: HTML names, ignoring case, and names of XML data.
#[derive(Default)]
struct Named {
    entries: OnceCell<Box<[bool]>>,
}

/// A tree in a document: the page, or the contents of a template.
pub(super) struct Tree<'a> {
    pub(super) document: &'a Document<'a>,
    pub(super) arrays: Arrays<'a>,
    /// The node that `/` refers to.
    pub(super) root: u32,
    pub(super) pool: &'a Pool,
    steps: &'a Steps,
    names: &'a [Box<str>],
    named: Box<[Named]>,
    /// Contents of the templates in this tree, as ranges of nodes in order.
    pub(super) templates: OnceCell<Box<[(u32, u32)]>>,
    pub(super) marks: RefCell<Marks>,
}

impl<'a> Tree<'a> {
    /// The tree that contains `node`.
    pub(super) fn around(
        node: Node<'a>,
        names: &'a [Box<str>],
        steps: &'a Steps,
        pool: &'a Pool,
    ) -> Self {
        let document = node.document();
        let arrays = document.arrays();
        let mut root = node.index();
        while root != 0 && arrays.kinds[root as usize] != kind::TEMPLATE_CONTENTS {
            root = arrays.parent(root);
        }
        Self {
            document,
            arrays,
            root,
            pool,
            steps,
            names,
            named: names.iter().map(|_| Named::default()).collect(),
            templates: OnceCell::new(),
            marks: RefCell::default(),
        }
    }

    /// Takes `n` steps from the budget.
    ///
    /// # Errors
    /// If the steps are used up.
    pub(super) fn spend(&self, n: usize) -> Result<(), XPathError> {
        if self.steps.spend(n as u64) {
            Ok(())
        } else {
            Err(XPathError::too_many_steps())
        }
    }

    pub(super) fn kind(&self, node: u32) -> u8 {
        self.arrays.kinds[node as usize]
    }

    pub(super) fn end(&self, node: u32) -> u32 {
        self.arrays.ends[node as usize]
    }

    pub(super) fn parent(&self, key: Key) -> Option<Key> {
        if key.attribute().is_some() {
            return Some(Key::node(key.node));
        }
        (key.node != self.root).then(|| Key::node(self.arrays.parent(key.node)))
    }

    pub(super) fn attribute_range(&self, node: u32) -> std::ops::Range<u32> {
        if self.kind(node) != kind::ELEMENT {
            return 0..0;
        }
        let start = self.arrays.starts[node as usize];
        start..start + self.arrays.counts[node as usize]
    }

    pub(super) fn passes(&self, axis: Axis, test: &Test, key: Key) -> Result<bool, XPathError> {
        if let Some(attribute) = key.attribute() {
            return match test {
                Test::Any => Ok(true),
                _ if axis != Axis::Attribute => Ok(false),
                Test::AnyName => Ok(self.attribute_namespace(key.node, attribute) != XMLNS),
                Test::Name(name) => self.is_attribute_named(key.node, attribute, *name),
                _ => Ok(false),
            };
        }
        let kind = self.kind(key.node);
        Ok(match test {
            Test::Any => true,
            Test::Text => kind == kind::TEXT,
            Test::Comment => kind == kind::COMMENT,
            Test::AnyName => kind == kind::ELEMENT,
            Test::Name(name) => {
                kind == kind::ELEMENT
                    && self.entries(*name)?[self.arrays.names[key.node as usize] as usize]
            }
            Test::ProcessingInstruction(target) => {
                kind == kind::PROCESSING_INSTRUCTION
                    && target
                        .as_deref()
                        .is_none_or(|target| target == self.instruction(key.node).0)
            }
        })
    }

    /// For each name-table entry whether the name with this index can match it.
    #[inline]
    fn entries(&self, name: usize) -> Result<&[bool], XPathError> {
        let Named { entries } = &self.named[name];
        if let Some(entries) = entries.get() {
            return Ok(entries);
        }
        let n_entries = self.arrays.name_ends.len();
        self.spend(n_entries)?;
        Ok(entries.get_or_init(|| {
            let wanted = &*self.names[name];
            let is_meant = |entry: u32| {
                let own = self.arrays.name(entry);
                match self.arrays.name_spaces[entry as usize] {
                    namespace::HTML => own.eq_ignore_ascii_case(wanted),
                    namespace::OTHER => own == wanted,
                    _ => false,
                }
            };
            (0..n_entries as u32).map(is_meant).collect()
        }))
    }

    fn is_attribute_named(
        &self,
        node: u32,
        attribute: u32,
        name: usize,
    ) -> Result<bool, XPathError> {
        let entry = self.arrays.attribute_names[attribute as usize];
        if !self.entries(name)?[entry as usize] {
            return Ok(false);
        }
        // Only HTML ignores case; `xmlns` on other elements is a namespace declaration, which is
        // not an attribute in XPath.
        let own = self.arrays.name(entry);
        Ok(self.is_html(node) || (*own == *self.names[name] && own != "xmlns"))
    }

    fn is_html(&self, node: u32) -> bool {
        self.name_space(node) == namespace::HTML
    }

    /// Whether an element is XML data: its prefix is part of its name.
    pub(super) fn is_data(&self, node: u32) -> bool {
        self.name_space(node) == namespace::OTHER
    }

    fn name_space(&self, node: u32) -> u8 {
        self.arrays.name_spaces[self.arrays.names[node as usize] as usize]
    }

    /// Name of an element, as it is written.
    pub(super) fn element_name(&self, node: u32) -> &'a str {
        self.arrays.name(self.arrays.names[node as usize])
    }

    pub(super) fn attribute_name(&self, attribute: u32) -> &'a str {
        self.arrays
            .name(self.arrays.attribute_names[attribute as usize])
    }

    pub(super) fn attribute_value(&self, attribute: u32) -> &'a str {
        let attribute = attribute as usize;
        let (start, length) = (
            self.arrays.attribute_starts[attribute],
            self.arrays.attribute_lengths[attribute],
        );
        self.arrays.text_of(start, length)
    }

    /// Namespace of an attribute; usually empty.
    pub(super) fn attribute_namespace(&self, node: u32, attribute: u32) -> &'static str {
        if self.is_html(node) {
            return "";
        }
        let own = self.attribute_name(attribute);
        FOREIGN_ATTRIBUTES
            .iter()
            .find(|(name, _)| *name == own)
            .map_or("", |(_, namespace)| namespace)
    }

    /// Value of `xml:lang`, which in HTML only foreign elements have.
    pub(super) fn xml_lang(&self, node: u32) -> Option<&'a str> {
        let mut attributes = self.attribute_range(node);
        let attribute =
            attributes.find(|&at| !self.is_html(node) && self.attribute_name(at) == "xml:lang")?;
        Some(self.attribute_value(attribute))
    }

    /// Namespace of an element.
    pub(super) fn namespace(&self, node: u32) -> &'static str {
        match self.arrays.name_spaces[self.arrays.names[node as usize] as usize] {
            0 => "http://www.w3.org/1999/xhtml",
            1 => "http://www.w3.org/2000/svg",
            2 => "http://www.w3.org/1998/Math/MathML",
            _ => "",
        }
    }

    /// Value of the `id` attribute.
    pub(super) fn id(&self, node: u32) -> Option<&'a str> {
        let mut attributes = self.attribute_range(node);
        let attribute = attributes.find(|&at| self.attribute_name(at) == "id")?;
        Some(self.attribute_value(attribute))
    }

    /// Target and data of a processing instruction.
    pub(super) fn instruction(&self, node: u32) -> (&'a str, &'a str) {
        let text = self.own_text(node);
        text.split_once(' ').unwrap_or((text, ""))
    }

    fn own_text(&self, node: u32) -> &'a str {
        let node = node as usize;
        self.arrays
            .text_of(self.arrays.starts[node], self.arrays.counts[node])
    }

    /// String-value as defined by XPath.
    pub(super) fn string_value(&self, key: Key) -> Result<Text<'a>, XPathError> {
        let text = match (key.attribute(), self.kind(key.node)) {
            (Some(attribute), _) => self.attribute_value(attribute).into(),
            (None, kind::TEXT | kind::COMMENT) => self.own_text(key.node).into(),
            (None, kind::PROCESSING_INSTRUCTION) => self.instruction(key.node).1.into(),
            (None, kind::DOCTYPE) => "".into(),
            (None, _) => self.text_inside(key.node)?,
        };
        self.spend(text.len() / BYTES_PER_STEP)?;
        Ok(text)
    }

    fn text_inside(&self, node: u32) -> Result<Text<'a>, XPathError> {
        let (mut first, mut joined) = ("", None);
        self.range(node + 1, self.end(node), &mut |key| {
            if self.kind(key.node) != kind::TEXT {
                return Ok(false);
            }
            let own = self.own_text(key.node);
            if first.is_empty() {
                first = own;
                return Ok(false);
            }
            let joined = joined.get_or_insert_with(|| {
                let mut joined = self.pool.text();
                joined.push_str(first);
                joined
            });
            joined.push_str(own);
            Ok(false)
        })?;
        Ok(joined.map_or(Text::Borrowed(first), Text::Owned))
    }
}
