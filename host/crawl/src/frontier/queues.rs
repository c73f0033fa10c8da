//! The URLs that wait, in the order of leasing: the preferred ones first, breadth-first among
//! equals, and in the order of discovery within a depth, without those that `budget` holds back.
//!
//! The keys of `budget` are prefixes of paths, so they form a tree: above a key is the longest
//! other key that it begins with. A URL waits at the longest key that its path begins with, and the
//! keys above are exactly the others that apply to it. A key whose pages are used up hides the
//! first URL of its branch from the key above; a page that is given back shows it again. So nothing
//! is moved when a key is used up or released, and a step costs the keys that apply to one URL, at
//! most [`BUDGETS_NESTED_MAX`](trawl_plan::crawl::BUDGETS_NESTED_MAX), however many URLs wait.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use trawl_plan::crawl::Budget;

use super::caps::WHOLE_CRAWL;
use super::scope::path_of;

/// The branch of all URLs.
const ROOT: usize = 0;

/// Which URLs are leased before others; the least ones are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    /// Entries of `prefer` that it misses; 0 if there are none.
    pub(super) missed: u8,
    pub(super) depth: u16,
}

/// A queued URL; the order is that of leasing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Queued {
    pub(super) rank: Rank,
    /// Counts up with each URL that is queued.
    sequence: u64,
    /// Number of the URL.
    pub(super) n: u32,
}

/// The queues of one crawl.
#[derive(Debug)]
pub(super) struct Queues {
    /// In the order of their prefixes. The first is that of all URLs.
    branches: Vec<Branch>,
    n_queued: u64,
    /// The path that was looked up last, in lower case.
    path: String,
    /// Branches that were looked at, for tests.
    #[cfg(test)]
    pub(super) n_steps: u64,
}

/// The URLs under one key of `budget`.
#[derive(Debug)]
struct Branch {
    prefix: String,
    /// The branch above.
    parent: usize,
    /// Most pages.
    pages: u64,
    /// Pages that were leased and not skipped.
    n_taken: u64,
    /// URLs that no key below applies to, by rank. No queue is empty. A URL that changed its
    /// status stays here and is ignored when it comes up.
    own: BTreeMap<Rank, VecDeque<(u64, u32)>>,
    /// First URLs of the branches directly below, with these branches.
    below: BTreeSet<(Queued, usize)>,
    /// The first URL that the branch above may lease.
    first: Option<Queued>,
}

impl Branch {
    fn new(prefix: &str, parent: usize, pages: u64) -> Self {
        Self {
            prefix: prefix.to_owned(),
            parent,
            pages,
            n_taken: 0,
            own: BTreeMap::new(),
            below: BTreeSet::new(),
            first: None,
        }
    }

    fn is_used_up(&self) -> bool {
        self.n_taken >= self.pages
    }

    fn own_first(&self) -> Option<Queued> {
        let (&rank, queue) = self.own.first_key_value()?;
        let &(sequence, n) = queue.front()?;
        Some(Queued { rank, sequence, n })
    }

    /// What `first` should be.
    fn next(&self) -> Option<Queued> {
        if self.is_used_up() {
            return None;
        }
        let below = self.below.first().map(|(queued, _)| *queued);
        match (self.own_first(), below) {
            (Some(own), Some(below)) => Some(own.min(below)),
            (own, below) => own.or(below),
        }
    }
}

impl Queues {
    /// Empty queues under these budgets, each prefix once.
    pub(super) fn new(budgets: &[Budget]) -> Self {
        let mut sorted: Vec<&Budget> = budgets.iter().collect();
        sorted.retain(|budget| budget.prefix != WHOLE_CRAWL);
        sorted.sort_by(|a, b| a.prefix.cmp(&b.prefix));
        let mut branches = vec![Branch::new("", ROOT, u64::MAX)];
        for budget in sorted {
            let mut parent = branches.len() - 1;
            while !budget.prefix.starts_with(&branches[parent].prefix) {
                parent = branches[parent].parent;
            }
            branches.push(Branch::new(&budget.prefix, parent, budget.pages));
        }
        Self {
            branches,
            n_queued: 0,
            path: String::new(),
            #[cfg(test)]
            n_steps: 0,
        }
    }

    /// Adds a URL behind the others of its rank.
    pub(super) fn push(&mut self, n: u32, rank: Rank, url: &str) {
        let at = self.branch_of(url);
        let sequence = self.n_queued;
        self.n_queued += 1;
        let queue = self.branches[at].own.entry(rank).or_default();
        queue.push_back((sequence, n));
        if queue.len() == 1 {
            self.show(at);
        }
    }

    /// The first URL that no budget holds back.
    pub(super) fn first(&self) -> Option<Queued> {
        self.branches[ROOT].first
    }

    /// Removes what [`first`](Self::first) returns.
    pub(super) fn pop_first(&mut self) {
        let Some(first) = self.first() else { return };
        let mut at = ROOT;
        while self.branches[at].own_first() != Some(first) {
            self.count_step();
            let Some((_, below)) = self.branches[at].below.first() else {
                return;
            };
            at = *below;
        }
        if let Some(mut queue) = self.branches[at].own.first_entry() {
            queue.get_mut().pop_front();
            if queue.get().is_empty() {
                queue.remove();
            }
        }
        self.show(at);
    }

    /// Counts a page for each key that applies to its URL.
    pub(super) fn take(&mut self, url: &str) {
        self.change(url, |n_taken| n_taken + 1);
    }

    /// Takes a page out of these counts again.
    pub(super) fn give_back(&mut self, url: &str) {
        self.change(url, |n_taken| n_taken - 1);
    }

    /// Empties the queues. Returns the URLs, and whether a budget holds them back.
    pub(super) fn drain(&mut self) -> Vec<(u32, bool)> {
        let mut urls = Vec::new();
        let mut is_held: Vec<bool> = Vec::with_capacity(self.branches.len());
        for branch in &mut self.branches {
            // The branch above sorts before.
            let is_above_held = is_held.get(branch.parent).is_some_and(|held| *held);
            let held = branch.is_used_up() || is_above_held;
            is_held.push(held);
            let queues = std::mem::take(&mut branch.own).into_values();
            urls.extend(queues.flatten().map(|(_, n)| (n, held)));
            branch.below.clear();
            branch.first = None;
        }
        urls
    }

    fn change(&mut self, url: &str, change: impl Fn(u64) -> u64) {
        let mut at = self.branch_of(url);
        while at != ROOT {
            self.count_step();
            let branch = &mut self.branches[at];
            let was_used_up = branch.is_used_up();
            branch.n_taken = change(branch.n_taken);
            let parent = branch.parent;
            if branch.is_used_up() != was_used_up {
                self.show(at);
            }
            at = parent;
        }
    }

    /// Shows the branches above which URL of this branch is the first.
    fn show(&mut self, mut at: usize) {
        loop {
            self.count_step();
            let branch = &mut self.branches[at];
            let next = branch.next();
            let before = std::mem::replace(&mut branch.first, next);
            if next == before || at == ROOT {
                return;
            }
            let parent = branch.parent;
            let below = &mut self.branches[parent].below;
            if let Some(before) = before {
                below.remove(&(before, at));
            }
            if let Some(next) = next {
                below.insert((next, at));
            }
            at = parent;
        }
    }

    /// The branch of the longest key that applies to a URL. Decision D39.
    ///
    /// It is the last key that sorts before the path, or one above it: whatever sorts between the
    /// path and a prefix of it begins with that prefix.
    fn branch_of(&mut self, url: &str) -> usize {
        if self.branches.len() == 1 {
            return ROOT;
        }
        self.path.clear();
        self.path.push_str(path_of(url));
        self.path.make_ascii_lowercase();
        let path = self.path.as_str();
        let n_before = self
            .branches
            .partition_point(|branch| branch.prefix.as_str() <= path);
        let mut at = n_before - 1;
        let prefix = self.branches[at].prefix.bytes();
        let n_common = prefix.zip(path.bytes()).take_while(|(a, b)| a == b).count();
        while self.branches[at].prefix.len() > n_common {
            at = self.branches[at].parent;
            self.count_step();
        }
        at
    }

    /// Tests count these, because times differ between machines.
    fn count_step(&mut self) {
        #[cfg(test)]
        {
            self.n_steps += 1;
        }
    }
}
