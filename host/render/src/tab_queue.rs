//! Distributes the tabs fairly: when all are in use, the next one goes to the owner with the
//! fewest. No owner gets all of them.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// A number of tabs, granted to the waiting owner who has the fewest.
pub(super) struct TabQueue {
    state: Mutex<State>,
    /// Tabs that one owner may have at once.
    per_owner: usize,
}

struct State {
    free: usize,
    /// Tabs that each owner has; owners with none are absent.
    in_use: HashMap<String, usize>,
    /// Waiting owners, in order of arrival.
    waiting: VecDeque<(String, oneshot::Sender<TabPermit>)>,
}

/// The right to one tab; released on drop.
pub(super) struct TabPermit {
    queue: Option<Arc<TabQueue>>,
    owner: String,
}

impl TabQueue {
    /// A queue for this number of tabs, of which one owner gets at most `per_owner`.
    pub(super) fn new(n_tabs: usize, per_owner: usize) -> Arc<Self> {
        Arc::new(Self {
            per_owner: per_owner.max(1),
            state: Mutex::new(State {
                free: n_tabs,
                in_use: HashMap::new(),
                waiting: VecDeque::new(),
            }),
        })
    }

    /// Waits for a tab for this owner. Cancel-safe.
    pub(super) async fn acquire(self: &Arc<Self>, owner: &str) -> TabPermit {
        let (sender, waiting) = oneshot::channel();
        self.state().waiting.push_back((owner.to_owned(), sender));
        self.grant_waiting();
        // A sender is only dropped after it has sent its permit.
        waiting.await.unwrap_or_else(|_| TabPermit {
            queue: None,
            owner: String::new(),
        })
    }

    /// Number of tabs that an owner has.
    pub(super) fn in_use(&self, owner: &str) -> usize {
        self.state().in_use(owner)
    }

    fn grant(self: &Arc<Self>, state: &mut State, owner: String) -> TabPermit {
        state.free -= 1;
        *state.in_use.entry(owner.clone()).or_default() += 1;
        TabPermit {
            queue: Some(Arc::clone(self)),
            owner,
        }
    }

    /// Grants free tabs to waiting owners.
    fn grant_waiting(self: &Arc<Self>) {
        loop {
            let (sender, permit) = {
                let mut state = self.state();
                state.waiting.retain(|(_, sender)| !sender.is_closed());
                if state.free == 0 {
                    return;
                }
                let Some(next) = state.next(self.per_owner) else {
                    return;
                };
                let Some((owner, sender)) = state.waiting.remove(next) else {
                    return;
                };
                (sender, self.grant(&mut state, owner))
            };
            // A caller that was cancelled meanwhile returns its tab here, and the next one gets it.
            if let Err(mut permit) = sender.send(permit) {
                permit.release();
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn in_use(&self, owner: &str) -> usize {
        self.in_use.get(owner).copied().unwrap_or(0)
    }

    /// The first waiting entry whose owner has the fewest tabs, and fewer than it may have.
    fn next(&self, per_owner: usize) -> Option<usize> {
        let waiting = self.waiting.iter().enumerate();
        let waiting = waiting.map(|(at, (owner, _))| (at, self.in_use(owner)));
        waiting
            .filter(|(_, in_use)| *in_use < per_owner)
            .min_by_key(|(_, in_use)| *in_use)
            .map(|(at, _)| at)
    }
}

impl TabPermit {
    fn release(&mut self) -> Option<Arc<TabQueue>> {
        let queue = self.queue.take()?;
        let mut state = queue.state();
        state.free += 1;
        if let Some(n_tabs) = state.in_use.get_mut(&self.owner) {
            *n_tabs -= 1;
            if *n_tabs == 0 {
                state.in_use.remove(&self.owner);
            }
        }
        drop(state);
        Some(queue)
    }
}

impl Drop for TabPermit {
    fn drop(&mut self) {
        if let Some(queue) = self.release() {
            queue.grant_waiting();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn the_owner_with_the_fewest_tabs_is_next() {
        let queue = TabQueue::new(2, 2);
        let first = queue.acquire("greedy").await;
        let second = queue.acquire("greedy").await;
        let mut greedy = Box::pin(queue.acquire("greedy"));
        assert!((&mut greedy).now_or_never().is_none());
        let mut modest = Box::pin(queue.acquire("modest"));
        assert!((&mut modest).now_or_never().is_none());
        drop(first);
        assert!((&mut greedy).now_or_never().is_none());
        let modest = (&mut modest).now_or_never().expect("a tab");
        drop(second);
        let greedy = (&mut greedy).now_or_never().expect("a tab");
        drop((modest, greedy));
        let state = queue.state();
        assert_eq!((state.free, state.in_use.len()), (2, 0));
    }

    #[tokio::test]
    async fn an_owner_leaves_tabs_to_others() {
        let queue = TabQueue::new(3, 2);
        let first = queue.acquire("greedy").await;
        let _second = queue.acquire("greedy").await;
        let mut third = Box::pin(queue.acquire("greedy"));
        assert!((&mut third).now_or_never().is_none());
        assert_eq!(queue.in_use("greedy"), 2);
        let modest = queue.acquire("modest").now_or_never();
        assert!(modest.is_some(), "a tab was left");
        drop(first);
        assert!(third.now_or_never().is_some());
    }

    #[tokio::test]
    async fn a_cancelled_call_blocks_no_other() {
        let queue = TabQueue::new(1, 1);
        let tab = queue.acquire("a").await;
        let gone = tokio::time::timeout(Duration::from_millis(1), queue.acquire("b")).await;
        assert!(gone.is_err());
        let mut next = Box::pin(queue.acquire("c"));
        assert!((&mut next).now_or_never().is_none());
        drop(tab);
        let next = next.now_or_never();
        assert!(next.is_some(), "the tab was not granted");
        drop(next);
        assert_eq!(queue.state().free, 1);
    }
}
