//! The parallel arrays of `wit/document/1`, borrowed. Used by the glue and by hosts; authors use
//! [`Document`](super::Document).

#[doc(inline)]
pub use trawl_contract::document::{Arrays, kind, namespace};

/// For each remaining node the index of its previous sibling, 0 for none. One pass over the page.
pub(super) fn previous_siblings(arrays: &Arrays<'_>) -> Box<[u32]> {
    let n_nodes = arrays.kinds.len();
    let mut previous = vec![0; n_nodes];
    let mut last_child = vec![0; n_nodes];
    for node in (1..n_nodes as u32).filter(|&node| arrays.is_kept(node)) {
        let parent = arrays.parent(node) as usize;
        previous[node as usize] = last_child[parent];
        last_child[parent] = node;
    }
    previous.into_boxed_slice()
}
