//! Rules without wildcards inside: nearly all rules of nearly all sites. However many there are, a
//! path is looked up in the time of a binary search.

use std::collections::HashMap;

use super::{Rule, Weight};

/// Rules that match one path, or the paths that begin with one text.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Plain {
    /// In the order of their texts, each text once.
    beginnings: Vec<Beginning>,
    /// Rules that end with `$`, by their path.
    whole: HashMap<String, Weight>,
}

/// A text that paths may begin with.
#[derive(Clone, Debug, PartialEq)]
struct Beginning {
    text: String,
    /// The longest other text that this one begins with.
    outer: Option<usize>,
    /// The strongest rule with this text, or with one that it begins with.
    strongest: Weight,
}

impl Plain {
    pub(super) fn new(rules: Vec<Rule>) -> Self {
        let mut whole: HashMap<String, Weight> = HashMap::new();
        let mut texts: Vec<(String, Weight)> = Vec::new();
        for rule in rules {
            let (weight, start) = (rule.weight(), rule.pattern.strip_suffix('*'));
            let is_whole = rule.is_whole && start.is_none();
            let text = start.unwrap_or(&rule.pattern).to_owned();
            if is_whole {
                let known = whole.entry(text).or_insert(weight);
                *known = weight.max(*known);
            } else {
                texts.push((text, weight));
            }
        }
        // Of one text, the strongest first.
        texts.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));
        texts.dedup_by(|next, kept| next.0 == kept.0);
        let mut beginnings: Vec<Beginning> = Vec::with_capacity(texts.len());
        for (text, weight) in texts {
            let mut outer = beginnings.len().checked_sub(1);
            while let Some(at) = outer
                && !text.starts_with(&beginnings[at].text)
            {
                outer = beginnings[at].outer;
            }
            let around = outer.map(|at| beginnings[at].strongest);
            beginnings.push(Beginning {
                text,
                outer,
                strongest: around.map_or(weight, |around| around.max(weight)),
            });
        }
        Self { beginnings, whole }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.beginnings.is_empty() && self.whole.is_empty()
    }

    /// Approximate bytes that they take in memory.
    pub(super) fn bytes(&self) -> usize {
        let of_beginning = |one: &Beginning| one.text.capacity() + size_of::<Beginning>();
        let of_whole = |path: &String| path.capacity() + size_of::<(String, Weight)>();
        self.beginnings.iter().map(of_beginning).sum::<usize>()
            + self.whole.keys().map(of_whole).sum::<usize>()
    }

    /// The strongest rule that matches a normalized path.
    pub(super) fn find(&self, path: &str) -> Option<Weight> {
        let whole = self.whole.get(path).copied();
        whole.max(self.longest(path).map(|one| one.strongest))
    }

    /// The longest text that a path begins with. It is the last one that sorts before the path, or
    /// one that this begins with.
    fn longest(&self, path: &str) -> Option<&Beginning> {
        let n_before = self
            .beginnings
            .partition_point(|one| one.text.as_str() <= path);
        let mut at = n_before.checked_sub(1)?;
        let last = self.beginnings[at].text.bytes();
        let n_common = last.zip(path.bytes()).take_while(|(a, b)| a == b).count();
        while self.beginnings[at].text.len() > n_common {
            at = self.beginnings[at].outer?;
        }
        self.beginnings.get(at)
    }
}
