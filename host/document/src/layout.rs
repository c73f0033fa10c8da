//! Converts the linked tree to the document's arrays, in one pass.

use url::Url;

use super::arena::{Arena, NONE, Node};
use super::sink::Sink;
use super::{Document, kind};

/// An element whose end is not known yet.
struct Open {
    /// Its node in the arena.
    node: u32,
    /// Its index in the document.
    index: u32,
    /// Whether its end was already written, because the tree was too deep at this point.
    is_closed: bool,
}

/// Writes the tree into a document. Elements deeper than `depth_max` become siblings of their
/// ancestor at that depth, in the same order. The arena is left empty; its node list can be reused.
pub(super) fn lay_out(sink: &Sink, arena: &mut Arena, url: &Url, depth_max: usize) -> Document {
    let mut document = Document::default();
    reserve(&mut document, arena.nodes.len());
    write_nodes(&mut document, arena, depth_max);
    sink.names.write(&mut document);
    document.quirks = sink.is_quirky.get();
    document.attribute_names = std::mem::take(&mut arena.attribute_names);
    document.attribute_starts = std::mem::take(&mut arena.attribute_starts);
    document.attribute_lengths = std::mem::take(&mut arena.attribute_lengths);
    document.text = std::mem::take(&mut arena.text);
    document.url = url.as_str().to_owned();
    document.base = if sink.has_base.get() {
        document.find_base(url)
    } else {
        document.url.clone()
    };
    document
}

fn reserve(document: &mut Document, n_nodes: usize) {
    document.kinds.reserve_exact(n_nodes);
    document.parents.reserve_exact(n_nodes);
    document.ends.reserve_exact(n_nodes);
    document.names.reserve_exact(n_nodes);
    document.starts.reserve_exact(n_nodes);
    document.counts.reserve_exact(n_nodes);
}

fn write_nodes(document: &mut Document, arena: &mut Arena, depth_max: usize) {
    let mut open: Vec<Open> = Vec::with_capacity(64);
    let mut next = 0;
    loop {
        let node = arena.nodes[next as usize];
        if node.continues && join(document, arena, &node) {
            // Its text was joined to the text before it.
        } else {
            let parent = parent_of(document, &mut open, &node, depth_max);
            let index = document.kinds.len() as u32;
            write_node(document, &node, parent);
            if node.first != NONE {
                open.push(Open {
                    node: next,
                    index,
                    is_closed: false,
                });
                next = node.first;
                continue;
            }
        }
        next = node.next;
        while next == NONE {
            let Some(done) = open.pop() else { return };
            if !done.is_closed {
                document.ends[done.index as usize] = document.kinds.len() as u32;
            }
            next = arena.nodes[done.node as usize].next;
        }
    }
}

fn write_node(document: &mut Document, node: &Node, parent: u32) {
    document.kinds.push(node.kind);
    document.parents.push(parent);
    document.ends.push(document.kinds.len() as u32);
    document.names.push(node.name);
    document.starts.push(node.start);
    document.counts.push(node.count);
}

/// Index of the node's parent in the document. Where the tree is too deep, closes ancestors until
/// the node fits.
fn parent_of(document: &mut Document, open: &mut [Open], node: &Node, depth_max: usize) -> u32 {
    if open.len() <= depth_max {
        return open.last().map_or(0, |parent| parent.index);
    }
    let mut live = open
        .iter()
        .rposition(|ancestor| !ancestor.is_closed)
        .unwrap_or(0);
    while live >= depth_max && node.kind != kind::TEXT && node.kind != kind::COMMENT {
        open[live].is_closed = true;
        document.ends[open[live].index as usize] = document.kinds.len() as u32;
        live -= 1;
        while open[live].is_closed {
            live -= 1;
        }
    }
    open[live].index
}

/// Joins a text that continues the one before it. Returns false if the two are no longer adjacent.
fn join(document: &mut Document, arena: &mut Arena, node: &Node) -> bool {
    let Some(before) = document.kinds.len().checked_sub(1) else {
        return false;
    };
    if document.kinds[before] != kind::TEXT {
        return false;
    }
    let (start, count) = (document.starts[before], document.counts[before]);
    if (start + count) as usize != arena.text.len() {
        let held = start as usize..(start + count) as usize;
        document.starts[before] = arena.text.len() as u32;
        arena.text.extend_from_within(held);
    }
    let more = node.start as usize..(node.start + node.count) as usize;
    arena.text.extend_from_within(more);
    document.counts[before] += node.count;
    true
}
