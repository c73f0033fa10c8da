//! The tree under construction: a flat list of linked nodes, because the HTML algorithm moves nodes
//! after their insertion.

use std::borrow::Cow;

use super::kind;

/// No node.
pub(super) const NONE: u32 = u32::MAX;

/// A node under construction. `start` and `count` have the same meaning as in [`super::Document`].
#[derive(Clone, Copy)]
pub(super) struct Node {
    pub(super) parent: u32,
    pub(super) first: u32,
    pub(super) last: u32,
    pub(super) prev: u32,
    pub(super) next: u32,
    pub(super) name: u32,
    pub(super) start: u32,
    pub(super) count: u32,
    pub(super) kind: u8,
    /// A text that continues the text right before it; the layout joins them. Texts are merged
    /// where they are inserted, not when a node between them is removed.
    pub(super) continues: bool,
    /// A MathML `annotation-xml` whose encoding makes it an HTML integration point.
    pub(super) holds_html: bool,
    /// Whether a shadow tree is attached to it.
    pub(super) is_host: bool,
    /// Distance from the document node when it was inserted.
    pub(super) depth: u32,
}

/// All nodes, attributes and text of one page.
#[derive(Default)]
pub(super) struct Arena {
    pub(super) nodes: Vec<Node>,
    pub(super) attribute_names: Vec<u32>,
    pub(super) attribute_starts: Vec<u32>,
    pub(super) attribute_lengths: Vec<u32>,
    pub(super) text: String,
    /// Maximum length of `text` in bytes.
    pub(super) text_max: usize,
    /// Set when text was refused because `text_max` was reached.
    pub(super) is_full: bool,
}

impl Arena {
    /// Clears the arena and adds the document node.
    pub(super) fn reset(&mut self, text_max: usize) {
        self.nodes.clear();
        self.attribute_names.clear();
        self.attribute_starts.clear();
        self.attribute_lengths.clear();
        self.text.clear();
        self.text_max = text_max;
        self.is_full = false;
        self.add(kind::DOCUMENT, 0, 0, 0);
    }

    pub(super) fn add(&mut self, kind: u8, name: u32, start: u32, count: u32) -> u32 {
        let index = self.nodes.len() as u32;
        self.nodes.push(Node {
            parent: NONE,
            first: NONE,
            last: NONE,
            prev: NONE,
            next: NONE,
            name,
            start,
            count,
            kind,
            continues: false,
            holds_html: false,
            is_host: false,
            depth: 0,
        });
        index
    }

    /// Adds text to the arena and returns its start and length; both are 0 when the arena is full.
    pub(super) fn put(&mut self, text: &str) -> (u32, u32) {
        if self.text.len() + text.len() > self.text_max {
            self.is_full = true;
            return (0, 0);
        }
        let start = self.text.len() as u32;
        self.text.push_str(text);
        (start, text.len() as u32)
    }

    pub(super) fn put_attribute(&mut self, name: u32, value: &str) {
        let (start, length) = self.put(value);
        self.attribute_names.push(name);
        self.attribute_starts.push(start);
        self.attribute_lengths.push(length);
    }

    /// Adds attributes that an element does not have yet. The existing ones move to the end of the
    /// lists, so that all stay one range.
    pub(super) fn put_missing<'v>(
        &mut self,
        element: u32,
        attributes: impl Iterator<Item = (u32, Cow<'v, str>)>,
    ) {
        let Node { start, count, .. } = self.nodes[element as usize];
        let old = start as usize..(start + count) as usize;
        let moved = self.attribute_names.len() as u32;
        self.attribute_names.extend_from_within(old.clone());
        self.attribute_starts.extend_from_within(old.clone());
        self.attribute_lengths.extend_from_within(old);
        for (name, value) in attributes {
            if !self.attribute_names[moved as usize..].contains(&name) {
                self.put_attribute(name, &value);
            }
        }
        let node = &mut self.nodes[element as usize];
        node.start = moved;
        node.count = self.attribute_names.len() as u32 - moved;
    }

    pub(super) fn append(&mut self, parent: u32, child: u32) {
        let last = self.nodes[parent as usize].last;
        let depth = self.nodes[parent as usize].depth + 1;
        let node = &mut self.nodes[child as usize];
        node.parent = parent;
        node.prev = last;
        node.next = NONE;
        node.depth = depth;
        self.nodes[parent as usize].last = child;
        if last == NONE {
            self.nodes[parent as usize].first = child;
        } else {
            self.nodes[last as usize].next = child;
        }
    }

    pub(super) fn insert_before(&mut self, sibling: u32, child: u32) {
        let Node {
            parent,
            prev,
            depth,
            ..
        } = self.nodes[sibling as usize];
        let node = &mut self.nodes[child as usize];
        node.parent = parent;
        node.prev = prev;
        node.next = sibling;
        node.depth = depth;
        self.nodes[sibling as usize].prev = child;
        if prev == NONE {
            self.nodes[parent as usize].first = child;
        } else {
            self.nodes[prev as usize].next = child;
        }
    }

    pub(super) fn detach(&mut self, child: u32) {
        let Node {
            parent, prev, next, ..
        } = self.nodes[child as usize];
        if parent == NONE {
            return;
        }
        match prev {
            NONE => self.nodes[parent as usize].first = next,
            _ => self.nodes[prev as usize].next = next,
        }
        match next {
            NONE => self.nodes[parent as usize].last = prev,
            _ => self.nodes[next as usize].prev = prev,
        }
        let node = &mut self.nodes[child as usize];
        (node.parent, node.prev, node.next) = (NONE, NONE, NONE);
    }

    /// Moves all children of `from` to the end of `to`. Linear in the number of children, whose
    /// parent changes.
    pub(super) fn move_children(&mut self, from: u32, to: u32) {
        let mut child = self.nodes[from as usize].first;
        self.nodes[from as usize].first = NONE;
        self.nodes[from as usize].last = NONE;
        while child != NONE {
            let next = self.nodes[child as usize].next;
            self.append(to, child);
            child = next;
        }
    }

    /// Adds text at the end of `parent`'s children, or right before `sibling`. Returns the text
    /// node.
    pub(super) fn put_text(&mut self, parent: u32, sibling: u32, text: &str) -> u32 {
        let neighbour = match sibling {
            NONE => self.nodes[parent as usize].last,
            _ => self.nodes[sibling as usize].prev,
        };
        let joins = neighbour != NONE && self.nodes[neighbour as usize].kind == kind::TEXT;
        if joins && self.ends_text(neighbour) {
            self.extend(neighbour, text);
            return neighbour;
        }
        let (start, count) = self.put(text);
        let node = self.add(kind::TEXT, 0, start, count);
        self.nodes[node as usize].continues = joins;
        match sibling {
            NONE => self.append(parent, node),
            _ => self.insert_before(sibling, node),
        }
        node
    }

    /// Extends a text node whose text ends the arena.
    pub(super) fn extend(&mut self, node: u32, text: &str) {
        let (_, count) = self.put(text);
        self.nodes[node as usize].count += count;
    }

    fn ends_text(&self, node: u32) -> bool {
        let Node { start, count, .. } = self.nodes[node as usize];
        (start + count) as usize == self.text.len()
    }
}
