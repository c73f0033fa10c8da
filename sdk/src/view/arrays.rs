//! The parallel arrays of `wit/document/1`, borrowed. Used by the glue and by hosts; authors use
//! [`Document`](super::Document).

/// A page in the contract's layout: every field corresponds to the field of that name in the record
/// `document` of `wit/document/1`, and must follow its rules. The view borrows the arrays and
/// copies nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Arrays<'a> {
    /// URL of the page after redirects.
    pub url: &'a str,
    /// Base URL of the page.
    pub base: &'a str,
    /// Media type, lower case, without parameters.
    pub media_type: &'a str,
    /// Whether the page is in quirks mode.
    pub quirks: bool,
    /// Kind of each node.
    pub kinds: &'a [u8],
    /// Parent of each node.
    pub parents: &'a [u32],
    /// One past the end of each node's subtree.
    pub ends: &'a [u32],
    /// Name-table entry of each element and doctype.
    pub names: &'a [u32],
    /// First attribute of an element, first byte of a text node.
    pub starts: &'a [u32],
    /// Number of attributes of an element, length in bytes of a text node.
    pub counts: &'a [u32],
    /// Name-table entry of each attribute.
    pub attribute_names: &'a [u32],
    /// First byte of each attribute's value.
    pub attribute_starts: &'a [u32],
    /// Length of each attribute's value in bytes.
    pub attribute_lengths: &'a [u32],
    /// All names, concatenated.
    pub name_text: &'a str,
    /// End offset of each name.
    pub name_ends: &'a [u32],
    /// Namespace of each name.
    pub name_spaces: &'a [u8],
    /// Content of text nodes, comments and attribute values.
    pub text: &'a str,
    /// Bit mask of the nodes that remain after filtering; empty means all.
    pub kept: &'a [u8],
}

/// Node kinds, numbered as in the contract.
pub mod kind {
    /// The document itself.
    pub const DOCUMENT: u8 = 0;
    /// A doctype.
    pub const DOCTYPE: u8 = 1;
    /// An element.
    pub const ELEMENT: u8 = 2;
    /// A text node.
    pub const TEXT: u8 = 3;
    /// A comment.
    pub const COMMENT: u8 = 4;
    /// The contents of a `<template>`.
    pub const TEMPLATE_CONTENTS: u8 = 5;
    /// A processing instruction.
    pub const PROCESSING_INSTRUCTION: u8 = 6;
}

impl<'a> Arrays<'a> {
    /// Whether a node is left after filtering.
    #[inline]
    pub fn is_kept(&self, node: u32) -> bool {
        node == 0 || self.kept.is_empty() || self.kept[node as usize / 8] & (1 << (node % 8)) != 0
    }

    /// The name with this index in the name table.
    #[inline]
    pub fn name(&self, entry: u32) -> &'a str {
        let entry = entry as usize;
        let start = match entry {
            0 => 0,
            _ => self.name_ends[entry - 1] as usize,
        };
        &self.name_text[start..self.name_ends[entry] as usize]
    }

    /// The part of `text` from `start`, in bytes.
    #[inline]
    pub fn text_of(&self, start: u32, length: u32) -> &'a str {
        &self.text[start as usize..(start + length) as usize]
    }

    /// The nearest ancestor of `node` that has not been removed; ultimately the document.
    pub fn parent(&self, node: u32) -> u32 {
        let mut parent = self.parents[node as usize];
        while !self.is_kept(parent) {
            parent = self.parents[parent as usize];
        }
        parent
    }

    /// The first remaining node in `from..end`, without descending into remaining nodes.
    #[inline]
    pub fn first_kept(&self, from: u32, end: u32) -> Option<u32> {
        if self.kept.is_empty() {
            return (from < end).then_some(from);
        }
        (from..end).find(|&node| self.is_kept(node))
    }

    /// For each remaining node the index of its previous sibling, 0 for none. One pass over the
    /// page.
    pub(super) fn previous_siblings(&self) -> Box<[u32]> {
        let n_nodes = self.kinds.len();
        let mut previous = vec![0; n_nodes];
        let mut last_child = vec![0; n_nodes];
        for node in (1..n_nodes as u32).filter(|&node| self.is_kept(node)) {
            let parent = self.parent(node) as usize;
            previous[node as usize] = last_child[parent];
            last_child[parent] = node;
        }
        previous.into_boxed_slice()
    }
}
