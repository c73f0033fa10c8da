//! One node of the page.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use super::arrays::kind;
use super::{
    ChildElements, Children, Descendants, Document, Element, Select, Selector, SelectorError,
    Steps, Walk,
};

/// A node of a page; a small `Copy` value.
#[derive(Clone, Copy)]
pub struct Node<'a> {
    pub(super) document: &'a Document<'a>,
    pub(super) index: u32,
}

/// Kind of a node, with its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind<'a> {
    /// The document itself.
    Document,
    /// A doctype, with its name: `html`.
    Doctype(&'a str),
    /// An element.
    Element(Element<'a>),
    /// Text with character references decoded and white space as in the source.
    Text(&'a str),
    /// A comment, without its delimiters.
    Comment(&'a str),
    /// The contents of a `<template>`: the only child of that element, never rendered.
    TemplateContents,
    /// A processing instruction.
    ProcessingInstruction(&'a str),
}

impl<'a> Node<'a> {
    /// The node with this index in the contract's arrays, for libraries that read them.
    #[doc(hidden)]
    pub fn new(document: &'a Document<'a>, index: u32) -> Self {
        Self { document, index }
    }

    /// Index of the node in the contract's arrays, for libraries that read them.
    #[doc(hidden)]
    pub fn index(self) -> u32 {
        self.index
    }

    #[inline]
    pub(super) fn raw_kind(self) -> u8 {
        self.document.arrays.kinds[self.index as usize]
    }

    #[inline]
    pub(super) fn end(self) -> u32 {
        self.document.arrays.ends[self.index as usize]
    }

    #[inline]
    fn raw_text(self) -> &'a str {
        let (arrays, index) = (&self.document.arrays, self.index as usize);
        arrays.text_of(arrays.starts[index], arrays.counts[index])
    }

    /// The page this node belongs to.
    pub fn document(self) -> &'a Document<'a> {
        self.document
    }

    /// Kind and content of the node.
    #[inline]
    pub fn kind(self) -> Kind<'a> {
        match self.raw_kind() {
            kind::ELEMENT => Kind::Element(Element::new(self)),
            kind::TEXT => Kind::Text(self.raw_text()),
            kind::COMMENT => Kind::Comment(self.raw_text()),
            kind::DOCUMENT => Kind::Document,
            kind::DOCTYPE => {
                let arrays = &self.document.arrays;
                Kind::Doctype(arrays.name(arrays.names[self.index as usize]))
            }
            kind::TEMPLATE_CONTENTS => Kind::TemplateContents,
            _ => Kind::ProcessingInstruction(self.raw_text()),
        }
    }

    /// This node as an element, if it is one.
    #[inline]
    pub fn as_element(self) -> Option<Element<'a>> {
        (self.raw_kind() == kind::ELEMENT).then(|| Element::new(self))
    }

    /// Text of a text node; `None` for other nodes.
    #[inline]
    pub fn as_text(self) -> Option<&'a str> {
        (self.raw_kind() == kind::TEXT).then(|| self.raw_text())
    }

    /// Parent of this node; `None` for the document.
    pub fn parent(self) -> Option<Node<'a>> {
        (self.index != 0).then(|| Self::new(self.document, self.document.arrays.parent(self.index)))
    }

    /// Parent of this node, if it is an element.
    pub fn parent_element(self) -> Option<Element<'a>> {
        self.parent()?.as_element()
    }

    /// Ancestor elements of this node, innermost first.
    pub fn ancestors(self) -> impl Iterator<Item = Element<'a>> {
        std::iter::successors(self.parent_element(), |element| element.parent_element())
    }

    /// Children of this node, in order.
    pub fn children(self) -> Children<'a> {
        Children::new(self)
    }

    /// Child elements of this node, in order.
    pub fn child_elements(self) -> ChildElements<'a> {
        ChildElements::new(self)
    }

    /// All descendants of this node in document order, without the node itself.
    pub fn descendants(self) -> Descendants<'a> {
        Descendants::new(self)
    }

    /// Walks this node and its descendants, reporting where nodes start and end; lets a renderer do
    /// without recursion.
    pub fn walk(self) -> Walk<'a> {
        Walk::new(self)
    }

    /// The next sibling.
    pub fn next_sibling(self) -> Option<Node<'a>> {
        let parent_end = self.parent()?.end();
        let next = self.document.arrays.first_kept(self.end(), parent_end)?;
        Some(Self::new(self.document, next))
    }

    /// The previous sibling.
    pub fn previous_sibling(self) -> Option<Node<'a>> {
        let previous = self.document.previous_sibling(self.index)?;
        Some(Self::new(self.document, previous))
    }

    /// The next sibling that is an element.
    pub fn next_element(self) -> Option<Element<'a>> {
        std::iter::successors(self.next_sibling(), |node| node.next_sibling())
            .find_map(Node::as_element)
    }

    /// The previous sibling that is an element.
    pub fn previous_element(self) -> Option<Element<'a>> {
        std::iter::successors(self.previous_sibling(), |node| node.previous_sibling())
            .find_map(Node::as_element)
    }

    /// All elements inside this node that match a CSS selector, in document order. `:scope` is this
    /// node if it is an element.
    ///
    /// # Errors
    /// If the selector does not parse.
    pub fn select(self, css: &str) -> Result<Select<'a>, SelectorError> {
        Ok(self.select_with(&Selector::parse(css)?))
    }

    /// All elements inside this node that match a parsed selector, in document order.
    pub fn select_with(self, selector: &Selector) -> Select<'a> {
        Select::new(self, selector.clone())
    }

    /// Like [`select_with`](Self::select_with), within a step budget that other searches may share.
    ///
    /// # Errors
    /// If the steps are used up.
    pub fn select_within(
        self,
        selector: &Selector,
        steps: &Steps,
    ) -> Result<Vec<Element<'a>>, SelectorError> {
        Select::new(self, selector.clone()).within(steps)
    }

    /// Concatenated text of all text nodes inside this node, including scripts and styles but not
    /// the contents of `<template>` elements (the DOM's `textContent`). For a text node, its own
    /// text.
    pub fn text(self) -> String {
        let mut text = String::new();
        if let Some(own) = self.as_text() {
            text.push_str(own);
        }
        let mut inside = self.descendants();
        while let Some(node) = inside.next() {
            match node.raw_kind() {
                kind::TEXT => text.push_str(node.raw_text()),
                kind::TEMPLATE_CONTENTS => inside.skip_inside(node),
                _ => {}
            }
        }
        text
    }
}

impl PartialEq for Node<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.index == other.index
            && std::ptr::eq(self.document.arrays.kinds, other.document.arrays.kinds)
    }
}

impl Eq for Node<'_> {}

/// Nodes of one page are ordered as they stand in it.
impl Ord for Node<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.index.cmp(&other.index)
    }
}

impl PartialOrd for Node<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Hash for Node<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.index.hash(state);
    }
}

impl fmt::Debug for Node<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind() {
            Kind::Element(element) => element.fmt(f),
            kind => write!(f, "{kind:?}"),
        }
    }
}
