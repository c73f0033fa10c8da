//! One element of the page.

use std::fmt;
use std::ops::Deref;

use super::names::Key;
use super::{Document, Node, Selector, SelectorError, Tag};

/// An element: a [`Node`] with a name and attributes. Dereferences to its node.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Element<'a>(Node<'a>);

/// Namespace of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Namespace {
    /// HTML.
    Html,
    /// SVG.
    Svg,
    /// MathML.
    MathMl,
    /// Any other.
    Other,
}

impl<'a> Element<'a> {
    pub(super) fn new(node: Node<'a>) -> Self {
        Self(node)
    }

    /// The element as a node.
    pub fn node(self) -> Node<'a> {
        self.0
    }

    #[inline]
    pub(super) fn name_entry(self) -> u32 {
        self.0.document.arrays.names[self.0.index as usize]
    }

    /// Local name of the element: lower case for HTML, in the standard's spelling for SVG
    /// (`foreignObject`).
    #[inline]
    pub fn name(self) -> &'a str {
        self.0.document.arrays.name(self.name_entry())
    }

    /// Tag of the element, to `match` on; [`Tag::Other`] for SVG, MathML and unknown elements.
    #[inline]
    pub fn tag(self) -> Tag {
        self.0.document.names.tags[self.name_entry() as usize]
    }

    /// Namespace of the element.
    pub fn namespace(self) -> Namespace {
        match self.0.document.arrays.name_spaces[self.name_entry() as usize] {
            0 => Namespace::Html,
            1 => Namespace::Svg,
            2 => Namespace::MathMl,
            _ => Namespace::Other,
        }
    }

    /// Value of an attribute; `None` if the element does not have it. Names are lower case in HTML;
    /// SVG attributes may have a prefix (`xlink:href`).
    #[inline]
    pub fn attr(self, name: &str) -> Option<&'a str> {
        let (document, key) = (self.0.document, Key::of(name));
        let arrays = &document.arrays;
        let start = arrays.starts[self.0.index as usize] as usize;
        let n_attributes = arrays.counts[self.0.index as usize] as usize;
        let names = arrays.attribute_names.get(start..start + n_attributes)?;
        let at = names.iter().position(|&entry| {
            document.names.keys[entry as usize] == key
                && (!key.is_long() || arrays.name(entry) == name)
        })?;
        let (value, length) = (
            arrays.attribute_starts[start + at],
            arrays.attribute_lengths[start + at],
        );
        Some(arrays.text_of(value, length))
    }

    /// Whether the element has an attribute that can hide it.
    pub(super) fn may_be_hidden(self) -> bool {
        let attributes = self.attrs();
        let document = attributes.document;
        (attributes.next..attributes.end).any(|at| {
            document.names.can_hide[document.arrays.attribute_names[at as usize] as usize]
        })
    }

    /// Whether the element has this attribute, whatever its value.
    pub fn has_attr(self, name: &str) -> bool {
        self.attr(name).is_some()
    }

    /// The URL that the element links to, as written: the `href` of an `a` or `area`, and in SVG
    /// the `href` or `xlink:href` of an `a`.
    pub fn link(self) -> Option<&'a str> {
        match self.tag() {
            Tag::A | Tag::Area => self.attr("href"),
            Tag::Other if self.namespace() == Namespace::Svg && self.name() == "a" => {
                self.attr("href").or_else(|| self.attr("xlink:href"))
            }
            _ => None,
        }
    }

    /// Attributes of the element, name and value, in source order.
    #[inline]
    pub fn attrs(self) -> Attributes<'a> {
        let arrays = &self.0.document.arrays;
        let start = arrays.starts[self.0.index as usize];
        Attributes {
            document: self.0.document,
            next: start,
            end: start + arrays.counts[self.0.index as usize],
        }
    }

    /// Value of the `id` attribute.
    pub fn id(self) -> Option<&'a str> {
        self.attr("id")
    }

    /// Names in the `class` attribute.
    pub fn classes(self) -> impl Iterator<Item = &'a str> {
        self.attr("class")
            .unwrap_or_default()
            .split_ascii_whitespace()
    }

    /// Whether the element has this class (case-sensitive).
    pub fn has_class(self, class: &str) -> bool {
        self.classes().any(|own| own == class)
    }

    /// Whether the element matches a CSS selector.
    ///
    /// # Errors
    /// If the selector does not parse.
    pub fn matches(self, css: &str) -> Result<bool, SelectorError> {
        Ok(self.matches_with(&Selector::parse(css)?))
    }

    /// Whether the element matches a parsed selector.
    pub fn matches_with(self, selector: &Selector) -> bool {
        selector.matches(self)
    }

    /// The nearest element that matches a CSS selector: this element or an ancestor.
    ///
    /// # Errors
    /// If the selector does not parse.
    pub fn closest(self, css: &str) -> Result<Option<Element<'a>>, SelectorError> {
        let selector = Selector::parse(css)?;
        Ok(std::iter::once(self)
            .chain(self.ancestors())
            .find(|element| element.matches_with(&selector)))
    }
}

impl<'a> Deref for Element<'a> {
    type Target = Node<'a>;

    fn deref(&self) -> &Node<'a> {
        &self.0
    }
}

impl<'a> From<Element<'a>> for Node<'a> {
    fn from(element: Element<'a>) -> Self {
        element.0
    }
}

impl fmt::Debug for Element<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{}", self.name())?;
        for (name, value) in self.attrs() {
            write!(f, " {name}={value:?}")?;
        }
        write!(f, ">")
    }
}

/// Attributes of an element, name and value, in source order.
#[derive(Clone, Debug)]
pub struct Attributes<'a> {
    document: &'a Document<'a>,
    next: u32,
    end: u32,
}

impl Attributes<'_> {
    /// Whether the next attribute is in a namespace; `None` if there is no more.
    pub(super) fn next_has_namespace(&self) -> Option<bool> {
        let arrays = &self.document.arrays;
        (self.next < self.end).then(|| {
            let entry = arrays.attribute_names[self.next as usize];
            arrays.name_spaces[entry as usize] != 0
        })
    }
}

impl<'a> Iterator for Attributes<'a> {
    type Item = (&'a str, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        if self.next == self.end {
            return None;
        }
        let (arrays, attribute) = (&self.document.arrays, self.next as usize);
        self.next += 1;
        Some((
            arrays.name(arrays.attribute_names[attribute]),
            arrays.text_of(
                arrays.attribute_starts[attribute],
                arrays.attribute_lengths[attribute],
            ),
        ))
    }
}
