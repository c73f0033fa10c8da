//! Evaluates axes.

use super::XPathError;
use super::ast::{Axis, Test};
use super::pool::Keys;
use super::tree::{BYTES_PER_STEP, Key, Tree};
use trawl_sdk::view::arrays::kind;

/// Nodes visited during one collection.
#[derive(Default)]
pub(super) struct Marks {
    seen: Vec<u32>,
    /// Number of the current collection; nodes marked with it have been visited.
    round: u32,
}

impl<'a> Tree<'a> {
    /// The next visible node in `from..end`, without descending into it; skips the contents of
    /// templates.
    fn next_in(&self, mut from: u32, end: u32) -> Result<Option<u32>, XPathError> {
        loop {
            let next = self.arrays.first_kept(from, end);
            self.spend(1 + (next.unwrap_or(end).max(from) - from) as usize / BYTES_PER_STEP)?;
            match next {
                Some(node) if self.kind(node) == kind::TEMPLATE_CONTENTS => from = self.end(node),
                next => return Ok(next),
            }
        }
    }

    /// Walks an axis in its own direction and passes each node that passes the test to `visit`,
    /// until `visit` returns `true`. Returns whether it did.
    pub(super) fn walk(
        &self,
        axis: Axis,
        test: &Test,
        from: Key,
        visit: &mut impl FnMut(Key) -> Result<bool, XPathError>,
    ) -> Result<bool, XPathError> {
        let mut offer = |key: Key| Ok(self.passes(axis, test, key)? && visit(key)?);
        let is_attribute = from.attribute().is_some();
        match axis {
            Axis::SelfNode => {
                self.spend(1)?;
                offer(from)
            }
            Axis::Parent => match self.parent(from) {
                Some(parent) => offer(parent),
                None => Ok(false),
            },
            Axis::Ancestor | Axis::AncestorOrSelf => {
                let first = match axis {
                    Axis::Ancestor => self.parent(from),
                    _ => Some(from),
                };
                self.ancestors(first, &mut offer)
            }
            Axis::DescendantOrSelf if offer(from)? => Ok(true),
            Axis::Following => {
                self.range(self.following_start(from), self.end(self.root), &mut offer)
            }
            Axis::Preceding => self.preceding(from.node, &mut offer),
            Axis::Namespace => Ok(false),
            _ if is_attribute => Ok(false),
            Axis::Descendant | Axis::DescendantOrSelf => {
                self.range(from.node + 1, self.end(from.node), &mut offer)
            }
            Axis::Child => self.siblings(from.node + 1, self.end(from.node), &mut offer),
            Axis::FollowingSibling => match self.parent(from) {
                Some(parent) => {
                    self.siblings(self.end(from.node), self.end(parent.node), &mut offer)
                }
                None => Ok(false),
            },
            Axis::PrecedingSibling => self.preceding_siblings(from.node, &mut offer),
            Axis::Attribute => self.attributes(from.node, &mut offer),
        }
    }

    /// The first node of the `following` axis; for an attribute, this includes the content of its
    /// element.
    pub(super) fn following_start(&self, from: Key) -> u32 {
        match from.attribute() {
            Some(_) => from.node + 1,
            None => self.end(from.node),
        }
    }

    fn ancestors(
        &self,
        first: Option<Key>,
        offer: &mut impl FnMut(Key) -> Result<bool, XPathError>,
    ) -> Result<bool, XPathError> {
        let mut next = first;
        while let Some(key) = next {
            self.spend(1)?;
            if offer(key)? {
                return Ok(true);
            }
            next = self.parent(key);
        }
        Ok(false)
    }

    /// All nodes in `start..end`.
    pub(super) fn range(
        &self,
        start: u32,
        end: u32,
        offer: &mut impl FnMut(Key) -> Result<bool, XPathError>,
    ) -> Result<bool, XPathError> {
        let mut from = start;
        while let Some(node) = self.next_in(from, end)? {
            if offer(Key::node(node))? {
                return Ok(true);
            }
            from = node + 1;
        }
        Ok(false)
    }

    /// The top-level nodes in `start..end`, without their descendants.
    fn siblings(
        &self,
        start: u32,
        end: u32,
        offer: &mut impl FnMut(Key) -> Result<bool, XPathError>,
    ) -> Result<bool, XPathError> {
        let mut from = start;
        while let Some(node) = self.next_in(from, end)? {
            if offer(Key::node(node))? {
                return Ok(true);
            }
            from = self.end(node);
        }
        Ok(false)
    }

    fn preceding_siblings(
        &self,
        node: u32,
        offer: &mut impl FnMut(Key) -> Result<bool, XPathError>,
    ) -> Result<bool, XPathError> {
        let mut from = node;
        while from != self.root
            && let Some(previous) = self.document.previous_sibling(from)
        {
            self.spend(1)?;
            if self.kind(previous) != kind::TEMPLATE_CONTENTS && offer(Key::node(previous))? {
                return Ok(true);
            }
            from = previous;
        }
        Ok(false)
    }

    /// The `preceding` axis: nodes before this one except its ancestors, nearest first.
    fn preceding(
        &self,
        node: u32,
        offer: &mut impl FnMut(Key) -> Result<bool, XPathError>,
    ) -> Result<bool, XPathError> {
        let templates = self.templates();
        let mut before = node;
        while before > self.root + 1 {
            before -= 1;
            self.spend(1)?;
            let at = templates.partition_point(|&(start, _)| start <= before);
            if let Some(&(start, _)) = at
                .checked_sub(1)
                .map(|at| &templates[at])
                .filter(|(_, end)| before < *end)
            {
                before = start;
                continue;
            }
            let is_shown = self.arrays.is_kept(before) && self.end(before) <= node;
            if is_shown && offer(Key::node(before))? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn templates(&self) -> &[(u32, u32)] {
        self.templates.get_or_init(|| {
            let mut templates: Vec<(u32, u32)> = Vec::new();
            for node in self.root + 1..self.end(self.root) {
                let is_inside = templates.last().is_some_and(|&(_, end)| node < end);
                if self.kind(node) == kind::TEMPLATE_CONTENTS
                    && !is_inside
                    && self.arrays.is_kept(node)
                {
                    templates.push((node, self.end(node)));
                }
            }
            templates.into_boxed_slice()
        })
    }

    fn attributes(
        &self,
        node: u32,
        offer: &mut impl FnMut(Key) -> Result<bool, XPathError>,
    ) -> Result<bool, XPathError> {
        for attribute in self.attribute_range(node) {
            self.spend(1)?;
            let key = Key::attribute_of(node, attribute);
            if offer(key)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the nodes on an axis of any of the context nodes, without duplicates and in document
    /// order. `contexts` must be in document order.
    pub(super) fn collect(
        &self,
        axis: Axis,
        test: &Test,
        contexts: &[Key],
    ) -> Result<Keys<'a>, XPathError> {
        let mut found = self.pool.keys();
        let mut add = |key: Key| {
            found.push(key);
            Ok(false)
        };
        match (axis, contexts) {
            (_, []) => {}
            (_, &[only]) => {
                self.walk(axis, test, only, &mut add)?;
            }
            (Axis::Following, _) => {
                // The nodes following any context node are those following the one that ends first.
                let start = contexts
                    .iter()
                    .map(|&context| self.following_start(context))
                    .min();
                self.range(start.unwrap_or_default(), self.end(self.root), &mut |key| {
                    Ok(self.passes(axis, test, key)? && add(key)?)
                })?;
            }
            (Axis::Preceding, [.., last]) => {
                self.walk(axis, test, *last, &mut add)?;
            }
            (Axis::Descendant | Axis::DescendantOrSelf, _) => {
                let mut covered = 0;
                for &context in contexts {
                    let is_covered = context.node < covered && context.attribute().is_none();
                    if !is_covered {
                        self.walk(axis, test, context, &mut add)?;
                    }
                    if context.attribute().is_none() {
                        covered = covered.max(self.end(context.node));
                    }
                }
            }
            (
                Axis::Ancestor
                | Axis::AncestorOrSelf
                | Axis::FollowingSibling
                | Axis::PrecedingSibling,
                _,
            ) => {
                self.collect_marked(axis, test, contexts, &mut add)?;
            }
            _ => {
                for &context in contexts {
                    self.walk(axis, test, context, &mut add)?;
                }
            }
        }
        self.spend(found.len())?;
        sort_and_dedup(&mut found);
        Ok(found)
    }

    /// For axes on which everything beyond a visited node has been visited too.
    fn collect_marked(
        &self,
        axis: Axis,
        test: &Test,
        contexts: &[Key],
        add: &mut impl FnMut(Key) -> Result<bool, XPathError>,
    ) -> Result<(), XPathError> {
        let mut marks = self.marks.borrow_mut();
        let Marks { seen, round } = &mut *marks;
        seen.resize(self.arrays.kinds.len(), 0);
        *round += 1;
        for &context in contexts {
            self.walk(axis, &Test::Any, context, &mut |key| {
                let mark = &mut seen[key.node as usize];
                if *mark == *round && key.attribute().is_none() {
                    return Ok(true);
                }
                if key.attribute().is_none() {
                    *mark = *round;
                }
                if self.passes(axis, test, key)? {
                    add(key)?;
                }
                Ok(false)
            })?;
        }
        Ok(())
    }
}

/// Sorts the nodes in document order and removes duplicates.
pub(super) fn sort_and_dedup(keys: &mut Vec<Key>) {
    if !keys.is_sorted_by(|one, other| one < other) {
        keys.sort_unstable();
        keys.dedup();
    }
}
