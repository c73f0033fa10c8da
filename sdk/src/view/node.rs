//! One node of the page.

use std::fmt;

use super::arrays::kind;
use super::{
    ChildElements, Children, Descendants, Document, Element, Select, Selector, SelectorError,
    Steps, Walk,
};

/// A node of a page: a small value to pass around freely.
#[derive(Clone, Copy)]
pub struct Node<'a> {
    pub(super) document: &'a Document<'a>,
    pub(crate) index: u32,
}

/// What a node is, with what it carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind<'a> {
    /// The document itself.
    Document,
    /// A doctype, with its name: `html`.
    Doctype(&'a str),
    /// An element.
    Element(Element<'a>),
    /// Text, character references already decoded, white space as in the source.
    Text(&'a str),
    /// A comment, without its marks.
    Comment(&'a str),
    /// The contents of a `<template>`: the one child of that element, not part of the page as shown.
    TemplateContents,
    /// A processing instruction.
    ProcessingInstruction(&'a str),
}

impl<'a> Node<'a> {
    pub(crate) fn new(document: &'a Document<'a>, index: u32) -> Self {
        Self { document, index }
    }

    #[inline]
    pub(super) fn raw_kind(self) -> u8 {
        self.document.arrays.kinds[self.index as usize]
    }

    #[inline]
    pub(super) fn end(self) -> u32 {
        self.document.arrays.ends[self.index as usize]
    }

    /// Nodes of the page from this one to the last inside it, dropped ones too.
    pub(super) fn n_nodes(self) -> u32 {
        self.end() - self.index
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

    /// What the node is.
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

    /// The node as an element, when it is one.
    #[inline]
    pub fn as_element(self) -> Option<Element<'a>> {
        (self.raw_kind() == kind::ELEMENT).then(|| Element::new(self))
    }

    /// The text of a text node; `None` for every other node.
    #[inline]
    pub fn as_text(self) -> Option<&'a str> {
        (self.raw_kind() == kind::TEXT).then(|| self.raw_text())
    }

    /// The text of a comment; `None` for every other node.
    pub fn as_comment(self) -> Option<&'a str> {
        (self.raw_kind() == kind::COMMENT).then(|| self.raw_text())
    }

    /// The node that contains this one; `None` for the document.
    pub fn parent(self) -> Option<Node<'a>> {
        (self.index != 0).then(|| Self::new(self.document, self.document.arrays.parent(self.index)))
    }

    /// The element that contains this node, when its parent is one.
    pub fn parent_element(self) -> Option<Element<'a>> {
        self.parent()?.as_element()
    }

    /// The elements that contain this node, innermost first.
    pub fn ancestors(self) -> impl Iterator<Item = Element<'a>> {
        std::iter::successors(self.parent_element(), |element| element.parent_element())
    }

    /// The node's children in order.
    pub fn children(self) -> Children<'a> {
        Children::new(self)
    }

    /// The node's children that are elements, in order.
    pub fn child_elements(self) -> ChildElements<'a> {
        ChildElements::new(self)
    }

    /// The first child.
    pub fn first_child(self) -> Option<Node<'a>> {
        self.children().next()
    }

    /// All nodes inside this one in document order, without itself.
    pub fn descendants(self) -> Descendants<'a> {
        Descendants::new(self)
    }

    /// Goes through this node and everything in it, telling where nodes begin and end: the way to write a renderer
    /// without recursion.
    pub fn walk(self) -> Walk<'a> {
        Walk::new(self)
    }

    /// The node that follows this one under the same parent.
    pub fn next_sibling(self) -> Option<Node<'a>> {
        let parent_end = self.parent()?.end();
        let next = self.document.arrays.first_kept(self.end(), parent_end)?;
        Some(Self::new(self.document, next))
    }

    /// The node that stands before this one under the same parent.
    pub fn previous_sibling(self) -> Option<Node<'a>> {
        let previous = self.document.previous_sibling(self.index)?;
        Some(Self::new(self.document, previous))
    }

    /// The element that follows this node under the same parent.
    pub fn next_element(self) -> Option<Element<'a>> {
        std::iter::successors(self.next_sibling(), |node| node.next_sibling())
            .find_map(Node::as_element)
    }

    /// The element that stands before this node under the same parent.
    pub fn previous_element(self) -> Option<Element<'a>> {
        std::iter::successors(self.previous_sibling(), |node| node.previous_sibling())
            .find_map(Node::as_element)
    }

    /// All elements inside this node that match a CSS selector, in document order. `:scope` is this node when it is an element.
    ///
    /// # Errors
    /// The selector does not parse.
    pub fn select(self, css: &str) -> Result<Select<'a>, SelectorError> {
        Ok(self.select_with(&Selector::parse(css)?))
    }

    /// All elements inside this node that match a parsed selector, in document order.
    pub fn select_with(self, selector: &Selector) -> Select<'a> {
        Select::new(self, selector.clone())
    }

    /// All elements inside this node that match a parsed selector, in document order, found within a budget of steps that other
    /// searches may share.
    ///
    /// # Errors
    /// The steps are used up.
    pub fn select_within(
        self,
        selector: &Selector,
        steps: &Steps,
    ) -> Result<Vec<Element<'a>>, SelectorError> {
        Select::new(self, selector.clone()).within(steps)
    }

    /// The text inside this node, joined as it stands: for a text node its own text, for others that of all text nodes in them,
    /// scripts and styles included, contents of a `<template>` not (the `textContent` of the DOM).
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

impl fmt::Debug for Node<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind() {
            Kind::Element(element) => element.fmt(f),
            kind => write!(f, "{kind:?}"),
        }
    }
}
