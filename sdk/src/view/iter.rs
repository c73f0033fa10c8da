//! Iterators over the page.

use selectors::matching::SelectorCaches;

use super::arrays::kind;
use super::{Element, Node, Selector, SelectorError, Steps};

/// Iterator over the children of a node.
#[derive(Clone, Debug)]
pub struct Children<'a> {
    parent: Node<'a>,
    next: u32,
}

impl<'a> Children<'a> {
    pub(super) fn new(parent: Node<'a>) -> Self {
        Self {
            parent,
            next: parent.index + 1,
        }
    }
}

impl<'a> Iterator for Children<'a> {
    type Item = Node<'a>;

    fn next(&mut self) -> Option<Node<'a>> {
        let document = self.parent.document;
        let child = document.arrays.first_kept(self.next, self.parent.end())?;
        let child = Node::new(document, child);
        self.next = child.end();
        Some(child)
    }
}

/// Iterator over the child elements of a node.
#[derive(Clone, Debug)]
pub struct ChildElements<'a>(Children<'a>);

impl<'a> ChildElements<'a> {
    pub(super) fn new(parent: Node<'a>) -> Self {
        Self(Children::new(parent))
    }
}

impl<'a> Iterator for ChildElements<'a> {
    type Item = Element<'a>;

    fn next(&mut self) -> Option<Element<'a>> {
        self.0.find_map(Node::as_element)
    }
}

/// Iterator over the descendants of a node, in document order.
#[derive(Clone, Debug)]
pub struct Descendants<'a> {
    root: Node<'a>,
    next: u32,
    end: u32,
}

impl<'a> Descendants<'a> {
    pub(super) fn new(root: Node<'a>) -> Self {
        Self {
            root,
            next: root.index + 1,
            end: root.end(),
        }
    }

    /// Skips the descendants of `node`, the node returned last.
    pub fn skip_inside(&mut self, node: Node<'a>) {
        self.next = self.next.max(node.end());
    }

    /// The elements among these nodes, without the contents of `<template>` elements.
    pub fn live_elements(mut self) -> impl Iterator<Item = Element<'a>> {
        std::iter::from_fn(move || {
            while let Some(node) = self.next() {
                match node.raw_kind() {
                    kind::ELEMENT => return node.as_element(),
                    kind::TEMPLATE_CONTENTS => self.skip_inside(node),
                    _ => {}
                }
            }
            None
        })
    }
}

impl<'a> Iterator for Descendants<'a> {
    type Item = Node<'a>;

    fn next(&mut self) -> Option<Node<'a>> {
        let document = self.root.document;
        let node = document.arrays.first_kept(self.next, self.end)?;
        self.next = node + 1;
        Some(Node::new(document, node))
    }
}

/// A step of a [`Walk`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// The start of a node.
    Enter(Node<'a>),
    /// The end of an element, of a template's contents or of the document. Other nodes have no end.
    Leave(Node<'a>),
}

/// Depth-first walk over a node and its descendants that reports where nodes start and end.
#[derive(Clone, Debug)]
pub struct Walk<'a> {
    root: Node<'a>,
    /// Innermost open node; `None` before the first and after the last step.
    open: Option<Node<'a>>,
    next: u32,
}

impl<'a> Walk<'a> {
    pub(super) fn new(root: Node<'a>) -> Self {
        Self {
            root,
            open: None,
            next: root.index,
        }
    }

    /// Skips the content of the element just entered; its end is still reported.
    pub fn skip_children(&mut self) {
        if let Some(open) = self.open {
            self.next = self.next.max(open.end());
        }
    }

    /// Skips the content and the end of the element just entered.
    pub fn skip_tree(&mut self) {
        if let Some(open) = self.open {
            self.close(open);
        }
    }

    fn close(&mut self, node: Node<'a>) {
        self.next = node.end();
        self.open = if node == self.root {
            None
        } else {
            node.parent()
        };
    }

    #[inline]
    fn enter(&mut self, index: u32) -> Step<'a> {
        let node = Node::new(self.root.document, index);
        self.next = index + 1;
        if matches!(
            node.raw_kind(),
            kind::ELEMENT | kind::DOCUMENT | kind::TEMPLATE_CONTENTS
        ) {
            self.open = Some(node);
        }
        Step::Enter(node)
    }
}

impl<'a> Iterator for Walk<'a> {
    type Item = Step<'a>;

    #[inline]
    fn next(&mut self) -> Option<Step<'a>> {
        let Some(open) = self.open else {
            return (self.next == self.root.index).then(|| self.enter(self.root.index));
        };
        match self.root.document.arrays.first_kept(self.next, open.end()) {
            Some(index) => Some(self.enter(index)),
            None => {
                self.close(open);
                Some(Step::Leave(open))
            }
        }
    }
}

/// Iterator over the elements that match a selector, in document order.
pub struct Select<'a> {
    inside: Descendants<'a>,
    selector: Selector,
    caches: SelectorCaches,
    /// For each name-table entry whether an element of that name can match; empty if any can.
    candidates: Vec<bool>,
}

impl<'a> Select<'a> {
    pub(super) fn new(root: Node<'a>, selector: Selector) -> Self {
        Self {
            candidates: selector.candidates(root.document),
            inside: root.descendants(),
            selector,
            caches: SelectorCaches::default(),
        }
    }

    /// Collects the matching elements within a step budget.
    pub(super) fn within(mut self, steps: &Steps) -> Result<Vec<Element<'a>>, SelectorError> {
        let mut found = Vec::new();
        while let Some(element) = self.find_next(steps) {
            found.push(element);
        }
        if steps.are_spent() {
            return Err(SelectorError::too_many_steps());
        }
        Ok(found)
    }

    /// The next matching element; `None` also if the steps are used up.
    fn find_next(&mut self, steps: &Steps) -> Option<Element<'a>> {
        let scope = self.inside.root.as_element();
        while let Some(node) = self.inside.next() {
            if !steps.spend(1) {
                return None;
            }
            if node.raw_kind() == kind::TEMPLATE_CONTENTS {
                self.inside.skip_inside(node);
            }
            let Some(element) = node.as_element() else {
                continue;
            };
            if !self.may_match(element) {
                continue;
            }
            let caches = &mut self.caches;
            if self.selector.matches_in(element, scope, caches, steps) {
                return Some(element).filter(|_| !steps.are_spent());
            }
        }
        None
    }

    fn may_match(&self, element: Element<'a>) -> bool {
        self.candidates.is_empty() || self.candidates[element.name_entry() as usize]
    }
}

impl<'a> Iterator for Select<'a> {
    type Item = Element<'a>;

    fn next(&mut self) -> Option<Element<'a>> {
        self.find_next(&Steps::new(u64::MAX))
    }
}
