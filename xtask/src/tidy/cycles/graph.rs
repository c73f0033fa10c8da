//! Circles of a graph of modules.

use std::collections::{BTreeMap, BTreeSet};

/// Path of a module below the crate's root, `["frontier", "caps"]`; the root is empty.
pub(super) type Module = Vec<String>;

/// Which modules each module uses.
pub(super) type Graph = BTreeMap<Module, BTreeSet<Module>>;

/// Groups of modules that reach each other, each in order.
pub(super) fn circles(graph: &Graph) -> Vec<Vec<Module>> {
    let reach: BTreeMap<&Module, BTreeSet<&Module>> = graph
        .keys()
        .map(|module| (module, reachable(graph, module)))
        .collect();
    let mut seen: BTreeSet<&Module> = BTreeSet::new();
    let mut found = Vec::new();
    for module in graph.keys() {
        if seen.contains(module) || !reach[module].contains(module) {
            continue;
        }
        let circle: Vec<&Module> = reach[module]
            .iter()
            .copied()
            .filter(|other| reach.get(other).is_some_and(|back| back.contains(module)))
            .collect();
        seen.extend(&circle);
        found.push(circle.into_iter().cloned().collect());
    }
    found
}

fn reachable<'a>(graph: &'a Graph, from: &Module) -> BTreeSet<&'a Module> {
    let mut reached = BTreeSet::new();
    let mut waiting: Vec<&Module> = graph[from].iter().collect();
    while let Some(module) = waiting.pop() {
        if reached.insert(module) {
            waiting.extend(graph.get(module).into_iter().flatten());
        }
    }
    reached
}
