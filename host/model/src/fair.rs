//! A semaphore that is fair among owners: when all permits are in use, the next one goes to the
//! waiting owner who has the fewest.

use std::borrow::Borrow;
use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// How many of the permits that are left an owner may have for each one that stays free, see
/// [`FairSemaphore::sharing`].
const HELD_PER_FREE: usize = 7;

/// A number of permits, granted to the waiting owner who has the fewest, and of these to the one
/// who has waited longest. `K` names an owner.
#[derive(Debug)]
pub struct FairSemaphore<K: Clone + Eq + Hash = Arc<str>> {
    state: Mutex<Permits<K>>,
    n_permits: usize,
    share: Share,
}

/// What one owner may have at once.
#[derive(Clone, Copy, Debug)]
enum Share {
    /// So many permits.
    Fixed(usize),
    /// More, the more are free.
    OfFree,
}

#[derive(Debug)]
struct Permits<K: Clone + Eq + Hash> {
    free: usize,
    n_arrivals: u64,
    /// Owners who have permits or wait for one.
    owners: HashMap<K, Owner<K>>,
}

#[derive(Debug)]
struct Owner<K: Clone + Eq + Hash> {
    in_use: usize,
    /// Calls that wait, with their number in the order of arrival.
    waiting: VecDeque<(u64, oneshot::Sender<FairPermit<K>>)>,
}

/// A permit; released on drop.
#[derive(Debug)]
pub struct FairPermit<K: Clone + Eq + Hash = Arc<str>> {
    semaphore: Option<Arc<FairSemaphore<K>>>,
    owner: K,
}

/// How many permits are in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PermitUse {
    /// All permits.
    pub n_permits: usize,
    /// Those in use.
    pub n_used: usize,
    /// Calls that wait.
    pub n_waiting: usize,
}

impl FairSemaphore {
    /// A semaphore with this number of permits, of which one owner gets at most `per_owner`, and
    /// one at least.
    pub fn new(n_permits: usize, per_owner: usize) -> Arc<Self> {
        Self::with(n_permits, Share::Fixed(per_owner.max(1)))
    }
}

impl<K: Clone + Eq + Hash> FairSemaphore<K> {
    /// A semaphore that always has permits left for the next owner: one who has some already gets
    /// another only while at most seven are held by that owner for each one that stays free. So an
    /// owner alone gets seven eighths of many permits, and all but one of a few; two get less than
    /// half each; and the last permit is for an owner who has none. The rule is the dynamic
    /// threshold of Choudhury and Hahne, "Dynamic Queue Length Thresholds for Shared-Memory Packet
    /// Switches", 1998.
    pub fn sharing(n_permits: usize) -> Arc<Self> {
        Self::with(n_permits, Share::OfFree)
    }

    fn with(n_permits: usize, share: Share) -> Arc<Self> {
        Arc::new(Self {
            share,
            n_permits,
            state: Mutex::new(Permits {
                free: n_permits,
                n_arrivals: 0,
                owners: HashMap::new(),
            }),
        })
    }

    /// Waits for a permit for this owner. Cancel-safe.
    pub async fn acquire(self: &Arc<Self>, owner: impl Into<K>) -> FairPermit<K> {
        let owner = owner.into();
        if self.state().take_at_once(&owner, self.share) {
            return FairPermit {
                semaphore: Some(Arc::clone(self)),
                owner,
            };
        }
        let (sender, waiting) = oneshot::channel();
        self.state().arrive(owner.clone(), sender);
        self.grant_waiting();
        // A sender is only dropped after it has sent its permit.
        waiting.await.unwrap_or_else(|_| FairPermit {
            semaphore: None,
            owner,
        })
    }

    /// Number of permits that an owner has.
    pub fn in_use<Q: Eq + Hash + ?Sized>(&self, owner: &Q) -> usize
    where
        K: Borrow<Q>,
    {
        self.state().owners.get(owner).map_or(0, |own| own.in_use)
    }

    /// How many permits are in use, and how many calls wait for one.
    pub fn usage(&self) -> PermitUse {
        let state = self.state();
        let waiting = state.owners.values().flat_map(|own| &own.waiting);
        PermitUse {
            n_permits: self.n_permits,
            n_used: self.n_permits - state.free,
            n_waiting: waiting.filter(|(_, sender)| !sender.is_closed()).count(),
        }
    }

    /// Number of all permits.
    pub fn n_permits(&self) -> usize {
        self.n_permits
    }

    /// Number of free permits.
    pub fn n_free(&self) -> usize {
        self.state().free
    }

    /// Grants free permits to waiting owners.
    fn grant_waiting(self: &Arc<Self>) {
        loop {
            let mut state = self.state();
            let Some((owner, sender)) = state.next(self.share) else {
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

    fn state(&self) -> MutexGuard<'_, Permits<K>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Share {
    /// Whether an owner who has `in_use` permits may have one of the `free` ones, of which there is
    /// at least one.
    const fn allows(self, in_use: usize, free: usize) -> bool {
        match self {
            Self::Fixed(per_owner) => in_use < per_owner,
            Self::OfFree => in_use == 0 || in_use < HELD_PER_FREE.saturating_mul(free - 1),
        }
    }
}

impl<K: Clone + Eq + Hash> Permits<K> {
    /// Takes a permit for this owner, if no call waits and the owner may have one: it would be the
    /// next to get it.
    fn take_at_once(&mut self, owner: &K, share: Share) -> bool {
        if self.free == 0 || self.owners.values().any(|own| !own.waiting.is_empty()) {
            return false;
        }
        let in_use = self.owners.get(owner).map_or(0, |own| own.in_use);
        if !share.allows(in_use, self.free) {
            return false;
        }
        self.owner(owner.clone()).in_use += 1;
        self.free -= 1;
        true
    }

    fn owner(&mut self, owner: K) -> &mut Owner<K> {
        self.owners.entry(owner).or_insert_with(|| Owner {
            in_use: 0,
            waiting: VecDeque::new(),
        })
    }

    fn arrive(&mut self, owner: K, sender: oneshot::Sender<FairPermit<K>>) {
        self.n_arrivals += 1;
        let number = self.n_arrivals;
        let own = self.owner(owner);
        own.waiting.retain(|(_, sender)| !sender.is_closed());
        own.waiting.push_back((number, sender));
    }

    /// Takes a permit for the next waiting owner, if there is one, and returns the call that gets
    /// it.
    fn next(&mut self, share: Share) -> Option<(K, oneshot::Sender<FairPermit<K>>)> {
        let free = self.free;
        if free == 0 {
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
            .filter(|(_, own)| share.allows(own.in_use, free));
        let (_, owner, own) = allowed
            .filter_map(|(owner, own)| {
                let (number, _) = own.waiting.front()?;
                Some(((own.in_use, *number), owner, own))
            })
            .min_by_key(|(order, ..)| *order)?;
        let (_, sender) = own.waiting.pop_front()?;
        own.in_use += 1;
        self.free -= 1;
        Some((owner.clone(), sender))
    }
}

impl<K: Clone + Eq + Hash> FairPermit<K> {
    fn release(&mut self) -> Option<Arc<FairSemaphore<K>>> {
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

impl<K: Clone + Eq + Hash> Drop for FairPermit<K> {
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

    use tokio::task::unconstrained;

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
    async fn a_call_passes_none_that_waits() {
        let semaphore = FairSemaphore::new(2, 1);
        let first = semaphore.acquire("a").await;
        let mut second = Box::pin(semaphore.acquire("a"));
        assert!((&mut second).now_or_never().is_none());
        // A permit is free, and the call that waits may not have it.
        let other = semaphore.acquire("b").now_or_never().expect("a permit");
        let mut third = Box::pin(semaphore.acquire("a"));
        assert!((&mut third).now_or_never().is_none());
        drop(first);
        let mut fourth = Box::pin(semaphore.acquire("a"));
        assert!((&mut fourth).now_or_never().is_none());
        let second = second.now_or_never().expect("it was first");
        drop((second, other));
        let third = third.now_or_never().expect("it is next");
        drop(third);
        assert!(fourth.now_or_never().is_some());
        let state = semaphore.state();
        assert_eq!((state.free, state.owners.len()), (2, 0));
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

    /// As many permits as an owner gets at once.
    fn taken(semaphore: &Arc<FairSemaphore>, owner: &str) -> Vec<FairPermit> {
        let permits = std::iter::from_fn(|| semaphore.acquire(owner).now_or_never());
        permits.collect()
    }

    #[tokio::test]
    async fn an_owner_alone_leaves_an_eighth_and_the_next_owners_find_some() {
        let semaphore: Arc<FairSemaphore> = FairSemaphore::sharing(64);
        let greedy = taken(&semaphore, "greedy");
        assert_eq!(greedy.len(), 56);
        let second = taken(&semaphore, "second");
        assert_eq!(second.len(), 7);
        let third = taken(&semaphore, "third");
        assert_eq!(third.len(), 1, "the last one is for an owner that has none");
        assert_eq!(taken(&semaphore, "fourth").len(), 0);
        let usage = semaphore.usage();
        assert_eq!((usage.n_used, usage.n_waiting), (64, 0));
        drop((greedy, second, third));
        assert_eq!(semaphore.n_free(), 64);
    }

    #[tokio::test]
    async fn two_owners_who_want_all_permits_have_less_than_half_each_in_the_end() {
        let semaphore: Arc<FairSemaphore> = FairSemaphore::sharing(64);
        let mut held = [taken(&semaphore, "greedy"), Vec::new()];
        let wanting = |owner: &'static str| {
            let calls = (0..200).map(|_| Box::pin(semaphore.acquire(owner)));
            calls.collect::<Vec<_>>()
        };
        // Without the runtime's own budget of polls.
        let mut waiting = [wanting("greedy"), wanting("other")];
        for turn in 0..200 {
            for (held, waiting) in held.iter_mut().zip(&mut waiting) {
                waiting.retain_mut(|call| match unconstrained(call).now_or_never() {
                    Some(permit) => {
                        held.push(permit);
                        false
                    }
                    None => true,
                });
            }
            drop(held[turn % 2].pop());
        }
        let held = [held[0].len(), held[1].len()];
        assert!(
            held.iter().all(|held| (28..=32).contains(held)),
            "{held:?} of 64"
        );
    }

    #[tokio::test]
    async fn of_a_few_permits_one_is_left() {
        for (n_permits, held) in [(1, 1), (2, 1), (3, 2), (8, 7), (16, 14)] {
            let semaphore: Arc<FairSemaphore> = FairSemaphore::sharing(n_permits);
            assert_eq!(taken(&semaphore, "a").len(), held, "{n_permits} permits");
        }
    }
}
