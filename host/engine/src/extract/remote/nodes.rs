//! The nodes that extract pages for this one: those that have announced themselves in the last
//! seconds, and how many pages each has.

use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

/// How long a node is given pages after it has announced itself. It does so every second.
const ANNOUNCED_FOR: Duration = Duration::from_secs(3);
/// How long a node gets no page after several had no answer there.
const RESTS_FOR: Duration = Duration::from_secs(1);
/// How many in a row: one alone may be a page that takes long wherever it is made.
const FAILURES_MAX: usize = 3;
/// Pages that a node has at once, for each of its threads: one is made while the next one arrives.
const PAGES_PER_THREAD: usize = 2;
/// Most pages that one node has at once, whatever it says of itself.
const PAGES_MAX: usize = 1024;
/// Most nodes that are known at once: those of one database.
const NODES_MAX: usize = 256;

/// The nodes.
#[derive(Debug, Default)]
pub(super) struct Nodes {
    known: Mutex<Vec<Node>>,
    /// A node has room again, or is new.
    has_room: Notify,
}

#[derive(Debug)]
struct Node {
    address: Arc<str>,
    n_pages: usize,
    n_pages_max: usize,
    announced: Instant,
    /// Pages in a row that had no answer.
    n_failures: usize,
    rests_until: Option<Instant>,
}

/// Room for one page on a node, until it is dropped.
#[derive(Debug)]
pub(in crate::extract) struct Place {
    nodes: Arc<Nodes>,
    /// `IP:PORT` or `name:PORT`.
    pub(super) address: Arc<str>,
}

impl Nodes {
    /// Takes note of a node with so many threads.
    pub(super) fn announced(&self, address: &str, n_threads: usize) {
        let now = Instant::now();
        let n_pages_max = n_threads.saturating_mul(PAGES_PER_THREAD).min(PAGES_MAX);
        let mut known = self.known();
        let has_place = known.len() < NODES_MAX;
        match known.iter_mut().find(|node| *node.address == *address) {
            Some(node) => {
                node.announced = now;
                node.n_pages_max = n_pages_max;
            }
            None if has_place => {
                tracing::info!(address, n_threads, "a node extracts pages for this one");
                known.push(Node {
                    address: address.into(),
                    n_pages: 0,
                    n_pages_max,
                    announced: now,
                    n_failures: 0,
                    rests_until: None,
                });
            }
            None => {}
        }
        drop(known);
        self.has_room.notify_waiters();
    }

    /// Whether a node is known, also one that has been silent for a while.
    pub(super) fn is_any_known(&self) -> bool {
        !self.known().is_empty()
    }

    /// How many nodes are not silent.
    pub(super) fn n_announced(&self) -> usize {
        let now = Instant::now();
        let known = self.known();
        known.iter().filter(|node| !node.is_silent(now)).count()
    }

    /// Room on the node that has most of it, if one has any.
    pub(super) fn try_place(self: &Arc<Self>) -> Option<Place> {
        let now = Instant::now();
        let mut known = self.known();
        known.retain(|node| {
            let is_gone = node.n_pages == 0 && node.is_silent(now);
            if is_gone {
                tracing::info!(
                    address = &*node.address,
                    "a node extracts no pages any more"
                );
            }
            !is_gone
        });
        let with_room = known.iter_mut().filter(|node| node.has_room(now));
        let node = with_room.max_by_key(|node| node.n_pages_max - node.n_pages)?;
        node.n_pages += 1;
        Some(Place {
            nodes: Arc::clone(self),
            address: Arc::clone(&node.address),
        })
    }

    /// Waits for room on a node.
    pub(super) async fn place(self: &Arc<Self>) -> Place {
        loop {
            // Waits before the look, so that no room in between is missed.
            let mut has_room = pin!(self.has_room.notified());
            has_room.as_mut().enable();
            if let Some(place) = self.try_place() {
                return place;
            }
            has_room.await;
        }
    }

    fn known(&self) -> MutexGuard<'_, Vec<Node>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Node {
    fn is_silent(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.announced) > ANNOUNCED_FOR
    }

    fn has_room(&self, now: Instant) -> bool {
        self.n_pages < self.n_pages_max
            && !self.is_silent(now)
            && self.rests_until.is_none_or(|until| until <= now)
    }
}

impl Place {
    /// The node has answered.
    pub(super) fn succeeded(&self) {
        self.change(|node| node.n_failures = 0);
    }

    /// The node has not answered, or not well. It gets no page for a while if that is so for
    /// several in a row.
    pub(super) fn failed(&self) {
        self.change(|node| {
            node.n_failures += 1;
            if node.n_failures >= FAILURES_MAX {
                node.n_failures = 0;
                node.rests_until = Some(Instant::now() + RESTS_FOR);
            }
        });
    }

    fn change(&self, change: impl FnOnce(&mut Node)) {
        let mut known = self.nodes.known();
        let found = known.iter_mut().find(|node| node.address == self.address);
        if let Some(node) = found {
            change(node);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.change(|node| node.n_pages -= 1);
        self.nodes.has_room.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn pages_go_to_the_node_with_most_room() {
        let nodes = Arc::new(Nodes::default());
        assert!(nodes.try_place().is_none());
        nodes.announced("a", 1);
        nodes.announced("b", 2);
        assert_eq!(nodes.n_announced(), 2);
        let mut taken: Vec<Place> = (0..6).map_while(|_| nodes.try_place()).collect();
        let mut addresses: Vec<&str> = taken.iter().map(|place| &*place.address).collect();
        addresses.sort_unstable();
        assert_eq!(addresses, ["a", "a", "b", "b", "b", "b"]);
        assert!(nodes.try_place().is_none());
        // Who waits gets what is given back.
        let waiting = tokio::spawn({
            let nodes = Arc::clone(&nodes);
            async move { nodes.place().await }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        let last = taken.pop().map(|place| Arc::clone(&place.address));
        let next = waiting.await.expect("a place");
        assert_eq!(Some(&next.address), last.as_ref());
    }

    #[tokio::test]
    async fn a_node_that_failed_or_is_silent_gets_no_page() {
        let nodes = Arc::new(Nodes::default());
        nodes.announced("a", 1);
        let place = nodes.try_place().expect("room");
        for _ in 1..FAILURES_MAX {
            place.failed();
            assert!(nodes.try_place().is_some(), "it may be the page");
        }
        place.succeeded();
        for _ in 0..FAILURES_MAX {
            assert!(nodes.try_place().is_some());
            place.failed();
        }
        assert!(nodes.try_place().is_none());
        nodes.known()[0].rests_until = Some(Instant::now());
        drop(nodes.try_place().expect("it has rested"));
        let long_ago = Instant::now().checked_sub(2 * ANNOUNCED_FOR);
        nodes.known()[0].announced = long_ago.expect("a machine that was not started just now");
        assert!(nodes.try_place().is_none());
        assert_eq!(nodes.n_announced(), 0);
        assert_eq!(nodes.known().len(), 1, "a page is still there");
        drop(place);
        assert!(nodes.try_place().is_none());
        assert_eq!(nodes.known().len(), 0);
        nodes.announced("a", 1);
        assert!(nodes.try_place().is_some());
    }
}
