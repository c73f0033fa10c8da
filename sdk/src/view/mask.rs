//! Selection of nodes: the result of a filter.

use super::{Document, Node};

/// A selection of nodes. It starts with the nodes that earlier filters left; a filter can only
/// remove more.
///
/// If a single node is removed, its children take its place; [`drop_tree`](Self::drop_tree) removes
/// them too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mask {
    bits: Vec<u8>,
    n_nodes: u32,
}

impl Mask {
    /// Selects all nodes that are still in the document.
    pub fn of(document: &Document<'_>) -> Self {
        let n_nodes = document.arrays.kinds.len();
        let mut bits = document.arrays.kept.to_vec();
        if bits.is_empty() {
            bits = vec![0xff; n_nodes.div_ceil(8)];
        }
        Self {
            bits,
            n_nodes: n_nodes as u32,
        }
    }

    /// Removes one node; its children take its place.
    pub fn drop_node(&mut self, node: Node<'_>) {
        self.drop_range(node.index, node.index + 1);
    }

    /// Removes a node and its descendants.
    pub fn drop_tree(&mut self, node: Node<'_>) {
        self.drop_range(node.index, node.end());
    }

    /// Removes everything except these nodes, their descendants and their ancestor elements (so
    /// that the page keeps `<html>` and `<body>`). Without any node, removes everything.
    pub fn keep_only<'a>(&mut self, nodes: impl IntoIterator<Item = Node<'a>>) {
        let mut wanted = vec![0; self.bits.len()];
        for node in nodes {
            set_range(&mut wanted, node.index, node.end());
            let mut inner = node;
            while let Some(parent) = inner.parent() {
                set_range(&mut wanted, parent.index, parent.index + 1);
                inner = parent;
            }
        }
        for (bits, wanted) in self.bits.iter_mut().zip(wanted) {
            *bits &= wanted;
        }
    }

    /// Whether a node is selected.
    pub fn keeps(&self, node: Node<'_>) -> bool {
        self.bits[node.index as usize / 8] & (1 << (node.index % 8)) != 0
    }

    /// Number of selected nodes.
    pub fn n_kept(&self) -> usize {
        let spare = self.bits.len() as u32 * 8 - self.n_nodes;
        let spare_bits = self
            .bits
            .last()
            .map_or(0, |last| last.leading_ones().min(spare));
        let ones: u32 = self.bits.iter().map(|byte| byte.count_ones()).sum();
        (ones - spare_bits) as usize
    }

    /// The selection as a bit mask in the contract's layout.
    #[doc(hidden)]
    pub fn into_bits(self) -> Vec<u8> {
        self.bits
    }

    fn drop_range(&mut self, start: u32, end: u32) {
        for_bytes(&mut self.bits, start, end, |byte, bits| *byte &= !bits);
    }
}

fn set_range(bits: &mut [u8], start: u32, end: u32) {
    for_bytes(bits, start, end, |byte, bits| *byte |= bits);
}

/// Calls `change` for every byte that contains bits of `start..end`, with a mask of those bits.
fn for_bytes(bytes: &mut [u8], start: u32, end: u32, change: impl Fn(&mut u8, u8)) {
    let mut at = start;
    while at < end {
        let stop = (at / 8 * 8 + 8).min(end);
        let width = stop - at;
        let bits = (((1_u16 << width) - 1) << (at % 8)) as u8;
        change(&mut bytes[at as usize / 8], bits);
        at = stop;
    }
}
