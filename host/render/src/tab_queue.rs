//! Whose turn it is when all tabs are taken: an account with many pages waiting gets no more of them than one with a few.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// A number of places, given in turn to the owner who has the fewest.
pub(super) struct Turns {
    state: Mutex<State>,
}

struct State {
    free: usize,
    /// Places that each owner has; owners with none are not here.
    taken: HashMap<String, usize>,
    /// Those who wait, in the order they came.
    waiting: VecDeque<(String, oneshot::Sender<Turn>)>,
}

/// A place; given back by drop.
pub(super) struct Turn {
    turns: Option<Arc<Turns>>,
    owner: String,
}

impl Turns {
    /// So many places.
    pub(super) fn new(places: usize) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(State {
                free: places,
                taken: HashMap::new(),
                waiting: VecDeque::new(),
            }),
        })
    }

    /// Waits for a place for this owner. A future that is dropped waits no longer.
    pub(super) async fn take(self: &Arc<Self>, owner: &str) -> Turn {
        let (sender, waiting) = oneshot::channel();
        self.state().waiting.push_back((owner.to_owned(), sender));
        self.hand_over();
        // Nobody drops a sender but by handing over its place.
        waiting.await.unwrap_or_else(|_| Turn {
            turns: None,
            owner: String::new(),
        })
    }

    fn given(self: &Arc<Self>, state: &mut State, owner: String) -> Turn {
        state.free -= 1;
        *state.taken.entry(owner.clone()).or_default() += 1;
        Turn {
            turns: Some(Arc::clone(self)),
            owner,
        }
    }

    /// Hands free places to those who wait.
    fn hand_over(self: &Arc<Self>) {
        loop {
            let (sender, turn) = {
                let mut state = self.state();
                state.waiting.retain(|(_, sender)| !sender.is_closed());
                if state.free == 0 {
                    return;
                }
                let Some(next) = state.next() else { return };
                let Some((owner, sender)) = state.waiting.remove(next) else {
                    return;
                };
                (sender, self.given(&mut state, owner))
            };
            // One who left in between gives the place back here, and the next is asked.
            if let Err(mut turn) = sender.send(turn) {
                turn.give_back();
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The first of those who wait for whom the fewest places are taken.
    fn next(&self) -> Option<usize> {
        let taken = |owner: &String| self.taken.get(owner).copied().unwrap_or(0);
        let waiting = self.waiting.iter().enumerate();
        waiting
            .min_by_key(|(_, (owner, _))| taken(owner))
            .map(|(at, _)| at)
    }
}

impl Turn {
    fn give_back(&mut self) -> Option<Arc<Turns>> {
        let turns = self.turns.take()?;
        let mut state = turns.state();
        state.free += 1;
        if let Some(taken) = state.taken.get_mut(&self.owner) {
            *taken -= 1;
            if *taken == 0 {
                state.taken.remove(&self.owner);
            }
        }
        drop(state);
        Some(turns)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(turns) = self.give_back() {
            turns.hand_over();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn who_has_fewer_places_is_next_whoever_came_first() {
        let turns = Turns::new(2);
        let first = turns.take("greedy").await;
        let second = turns.take("greedy").await;
        let mut greedy = Box::pin(turns.take("greedy"));
        assert!((&mut greedy).now_or_never().is_none());
        let mut modest = Box::pin(turns.take("modest"));
        assert!((&mut modest).now_or_never().is_none());
        drop(first);
        assert!((&mut greedy).now_or_never().is_none());
        let modest = (&mut modest).now_or_never().expect("its turn");
        drop(second);
        let greedy = (&mut greedy).now_or_never().expect("its turn");
        drop((modest, greedy));
        let state = turns.state();
        assert_eq!((state.free, state.taken.len()), (2, 0));
    }

    #[tokio::test]
    async fn who_leaves_keeps_nobody_waiting() {
        let turns = Turns::new(1);
        let place = turns.take("a").await;
        let gone = tokio::time::timeout(Duration::from_millis(1), turns.take("b")).await;
        assert!(gone.is_err());
        let mut next = Box::pin(turns.take("c"));
        assert!((&mut next).now_or_never().is_none());
        drop(place);
        let next = next.now_or_never();
        assert!(next.is_some(), "the place went to nobody");
        drop(next);
        assert_eq!(turns.state().free, 1);
    }
}
