//! A semaphore that is fair among owners: when all permits are in use, the next one goes to the
//! waiting owner who has the fewest.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// A number of permits, granted to the waiting owner who has the fewest, and of these to the one
/// who has waited longest.
#[derive(Debug)]
pub struct FairSemaphore {
    state: Mutex<State>,
    /// Permits that one owner may have at once.
    per_owner: usize,
}

#[derive(Debug)]
struct State {
    free: usize,
    n_arrivals: u64,
    /// Owners who have permits or wait for one.
    owners: HashMap<Arc<str>, Owner>,
}

#[derive(Debug, Default)]
struct Owner {
    in_use: usize,
    /// Calls that wait, with their number in the order of arrival.
    waiting: VecDeque<(u64, oneshot::Sender<FairPermit>)>,
}

/// A permit; released on drop.
#[derive(Debug)]
pub struct FairPermit {
    semaphore: Option<Arc<FairSemaphore>>,
    owner: Arc<str>,
}

impl FairSemaphore {
    /// A semaphore with this number of permits, of which one owner gets at most `per_owner`, and
    /// one at least.
    pub fn new(n_permits: usize, per_owner: usize) -> Arc<Self> {
        Arc::new(Self {
            per_owner: per_owner.max(1),
            state: Mutex::new(State {
                free: n_permits,
                n_arrivals: 0,
                owners: HashMap::new(),
            }),
        })
    }

    /// Waits for a permit for this owner. Cancel-safe.
    pub async fn acquire(self: &Arc<Self>, owner: &str) -> FairPermit {
        let (sender, waiting) = oneshot::channel();
        self.state().arrive(owner, sender);
        self.grant_waiting();
        // A sender is only dropped after it has sent its permit.
        waiting.await.unwrap_or_else(|_| FairPermit {
            semaphore: None,
            owner: "".into(),
        })
    }

    /// Number of permits that an owner has.
    pub fn in_use(&self, owner: &str) -> usize {
        self.state().owners.get(owner).map_or(0, |own| own.in_use)
    }

    /// Grants free permits to waiting owners.
    fn grant_waiting(self: &Arc<Self>) {
        loop {
            let mut state = self.state();
            let Some((owner, sender)) = state.next(self.per_owner) else {
                return;
            };
            drop(state);
            let permit = FairPermit {
                semaphore: Some(Arc::clone(self)),
                owner,
            };
            // A caller that was cancelled meanwhile returns its permit here, and the next one gets
            // it.
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
    fn arrive(&mut self, owner: &str, sender: oneshot::Sender<FairPermit>) {
        self.n_arrivals += 1;
        let number = self.n_arrivals;
        let Some(own) = self.owners.get_mut(owner) else {
            let waiting = VecDeque::from([(number, sender)]);
            let own = Owner { in_use: 0, waiting };
            self.owners.insert(owner.into(), own);
            return;
        };
        own.waiting.retain(|(_, sender)| !sender.is_closed());
        own.waiting.push_back((number, sender));
    }

    /// Takes a permit for the next waiting owner, if there is one, and returns the call that gets
    /// it.
    fn next(&mut self, per_owner: usize) -> Option<(Arc<str>, oneshot::Sender<FairPermit>)> {
        if self.free == 0 {
            return None;
        }
        self.owners.retain(|_, own| {
            while own
                .waiting
                .pop_front_if(|(_, sender)| sender.is_closed())
                .is_some()
            {}
            own.in_use > 0 || !own.waiting.is_empty()
        });
        let allowed = self
            .owners
            .iter_mut()
            .filter(|(_, own)| own.in_use < per_owner);
        let (_, owner, own) = allowed
            .filter_map(|(owner, own)| {
                let (number, _) = own.waiting.front()?;
                Some(((own.in_use, *number), owner, own))
            })
            .min_by_key(|(order, ..)| *order)?;
        let (_, sender) = own.waiting.pop_front()?;
        own.in_use += 1;
        self.free -= 1;
        Some((Arc::clone(owner), sender))
    }
}

impl FairPermit {
    fn release(&mut self) -> Option<Arc<FairSemaphore>> {
        let semaphore = self.semaphore.take()?;
        let mut state = semaphore.state();
        state.free += 1;
        if let Some(own) = state.owners.get_mut(&self.owner) {
            own.in_use -= 1;
            if own.in_use == 0 && own.waiting.is_empty() {
                state.owners.remove(&self.owner);
            }
        }
        drop(state);
        Some(semaphore)
    }
}

impl Drop for FairPermit {
    fn drop(&mut self) {
        if let Some(semaphore) = self.release() {
            semaphore.grant_waiting();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn the_owner_with_the_fewest_permits_is_next() {
        let semaphore = FairSemaphore::new(2, 2);
        let first = semaphore.acquire("greedy").await;
        let second = semaphore.acquire("greedy").await;
        let mut greedy = Box::pin(semaphore.acquire("greedy"));
        assert!((&mut greedy).now_or_never().is_none());
        let mut modest = Box::pin(semaphore.acquire("modest"));
        assert!((&mut modest).now_or_never().is_none());
        drop(first);
        assert!((&mut greedy).now_or_never().is_none());
        let modest = (&mut modest).now_or_never().expect("a permit");
        drop(second);
        let greedy = (&mut greedy).now_or_never().expect("a permit");
        drop((modest, greedy));
        let state = semaphore.state();
        assert_eq!((state.free, state.owners.len()), (2, 0));
    }

    #[tokio::test]
    async fn owners_with_as_many_permits_take_turns_in_the_order_of_arrival() {
        let semaphore = FairSemaphore::new(1, 1);
        let busy = semaphore.acquire("a").await;
        let mut waiting: Vec<_> = ["a", "a", "b", "c"]
            .map(|owner| Box::pin(semaphore.acquire(owner)))
            .into();
        for call in &mut waiting {
            assert!(call.now_or_never().is_none());
        }
        drop(busy);
        let mut granted = Vec::new();
        while !waiting.is_empty() {
            for at in (0..waiting.len()).rev() {
                if let Some(permit) = (&mut waiting[at]).now_or_never() {
                    granted.push(permit.owner.to_string());
                    drop(waiting.remove(at));
                    drop(permit);
                }
            }
        }
        assert_eq!(granted, ["a", "a", "b", "c"]);
    }

    #[tokio::test]
    async fn an_owner_leaves_permits_to_others() {
        let semaphore = FairSemaphore::new(3, 2);
        let first = semaphore.acquire("greedy").await;
        let _second = semaphore.acquire("greedy").await;
        let mut third = Box::pin(semaphore.acquire("greedy"));
        assert!((&mut third).now_or_never().is_none());
        assert_eq!(semaphore.in_use("greedy"), 2);
        let modest = semaphore.acquire("modest").now_or_never();
        assert!(modest.is_some(), "a permit was left");
        drop(first);
        assert!(third.now_or_never().is_some());
    }

    #[tokio::test]
    async fn a_cancelled_call_blocks_no_other() {
        let semaphore = FairSemaphore::new(1, 1);
        let permit = semaphore.acquire("a").await;
        let gone = tokio::time::timeout(Duration::from_millis(1), semaphore.acquire("b")).await;
        assert!(gone.is_err());
        let mut next = Box::pin(semaphore.acquire("c"));
        assert!((&mut next).now_or_never().is_none());
        drop(permit);
        let next = next.now_or_never();
        assert!(next.is_some(), "the permit was not granted");
        drop(next);
        let state = semaphore.state();
        assert_eq!((state.free, state.owners.len()), (1, 0));
    }
}
