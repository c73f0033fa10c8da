//! Slots: exact counting of the seats in use, without a lock.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Notify;

/// Bits per number of [`Count`]. Seats and crawls per account are limited far below.
const BITS: u32 = 21;
const MASK: u64 = (1 << BITS) - 1;

/// The slots of one account.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    // All counts in one word, so that they change together.
    word: AtomicU64,
    freed: Notify,
}

/// The slots of an account at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Requests that may be in flight.
    pub seats: u32,
    /// Requests in flight.
    pub active: u32,
    /// Crawls of the last process that wait for a slot. They have priority over new requests.
    pub(super) waiting: u32,
}

impl Count {
    fn of(word: u64) -> Self {
        let part = |n: u32| u32::try_from((word >> (n * BITS)) & MASK).unwrap_or(u32::MAX);
        Self {
            seats: part(0),
            active: part(1),
            waiting: part(2),
        }
    }

    fn word(self) -> u64 {
        let part = |n: u32, number: u32| (u64::from(number) & MASK) << (n * BITS);
        part(0, self.seats) | part(1, self.active) | part(2, self.waiting)
    }
}

/// A seat in use by one request. Dropping it frees the seat.
#[derive(Debug)]
pub struct Slot(Arc<Slots>);

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.change(|count| Count {
            active: count.active.saturating_sub(1),
            ..count
        });
    }
}

/// A crawl that waits for a slot.
struct WaitingCrawl<'a>(&'a Slots);

impl<'a> WaitingCrawl<'a> {
    fn begin(slots: &'a Slots) -> Self {
        slots.change(|count| Count {
            waiting: count.waiting + 1,
            ..count
        });
        Self(slots)
    }
}

impl Drop for WaitingCrawl<'_> {
    fn drop(&mut self) {
        self.0.change(|count| Count {
            waiting: count.waiting.saturating_sub(1),
            ..count
        });
    }
}

impl Slots {
    pub(super) fn count(&self) -> Count {
        Count::of(self.word.load(Ordering::SeqCst))
    }

    /// Sets the number of seats. Slots in use above it stay in use until they are dropped.
    pub(super) fn set_seats(&self, seats: u32) {
        self.change(|count| Count { seats, ..count });
    }

    /// Takes a slot without waiting, or returns the current counts.
    pub(super) fn take(self: &Arc<Self>) -> Result<Slot, Count> {
        self.change_if(|count| {
            // Waiting crawls have priority.
            let is_free = count.active + count.waiting < count.seats;
            is_free.then_some(Count {
                active: count.active + 1,
                ..count
            })
        })?;
        Ok(Slot(Arc::clone(self)))
    }

    /// Waits for a slot, for a crawl that had one before a restart.
    pub(super) async fn take_when_free(self: &Arc<Self>) -> Slot {
        if let Ok(slot) = self.take() {
            return slot;
        }
        let waiting = WaitingCrawl::begin(self);
        loop {
            // Created before the decision, so that no release in between is missed.
            let mut freed = std::pin::pin!(self.freed.notified());
            freed.as_mut().enable();
            let taken = self.change_if(|count| {
                (count.active < count.seats).then_some(Count {
                    active: count.active + 1,
                    waiting: count.waiting.saturating_sub(1),
                    ..count
                })
            });
            if taken.is_ok() {
                // The change above has decremented `waiting` already.
                std::mem::forget(waiting);
                return Slot(Arc::clone(self));
            }
            freed.await;
        }
    }

    /// Changes the counts atomically, and wakes waiting crawls.
    fn change(&self, change: impl Fn(Count) -> Count) {
        // The change is unconditional, so it always succeeds.
        let _changed = self.change_if(|count| Some(change(count)));
        self.freed.notify_waiters();
    }

    /// Changes the counts atomically, unless `change` returns `None`; the error is the current
    /// counts.
    fn change_if(&self, change: impl Fn(Count) -> Option<Count>) -> Result<Count, Count> {
        let changed = self
            .word
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |word| {
                change(Count::of(word)).map(Count::word)
            });
        changed.map(Count::of).map_err(Count::of)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;
    use std::time::Duration;

    use super::*;

    fn slots(seats: u32) -> Arc<Slots> {
        let slots = Arc::new(Slots::default());
        slots.set_seats(seats);
        slots
    }

    fn used(slots: &Slots) -> (u32, u32) {
        let count = slots.count();
        (count.seats, count.active)
    }

    #[test]
    fn a_slot_is_taken_and_freed() {
        let slots = slots(2);
        let first = slots.take().expect("free");
        let second = slots.take().expect("free");
        assert_eq!(used(&slots), (2, 2));
        let refusal = slots.take().expect_err("none is free");
        assert_eq!((refusal.seats, refusal.active), (2, 2));
        drop(first);
        let third = slots.take().expect("free again");
        drop((second, third));
        assert_eq!(used(&slots), (2, 0));
    }

    #[test]
    fn seats_change_while_in_use() {
        let slots = slots(3);
        let held: Vec<_> = (0..3).map(|_| slots.take().expect("free")).collect();
        slots.set_seats(1);
        assert_eq!(used(&slots), (1, 3));
        let mut held = held.into_iter();
        drop(held.next());
        drop(held.next());
        slots.take().expect_err("one of one is in use");
        drop(held.next());
        let one = slots.take().expect("free");
        slots.set_seats(2);
        let two = slots.take().expect("a new one");
        slots.take().expect_err("both in use");
        drop((one, two));
        slots.set_seats(0);
        slots.take().expect_err("there is none");
        assert_eq!(Count::of(slots.count().word()), slots.count());
    }

    #[tokio::test]
    async fn waiting_crawls_have_priority() {
        let slots = slots(1);
        let held = slots.take().expect("free");
        let other = Arc::clone(&slots);
        let waiting = tokio::spawn(async move { other.take_when_free().await });
        while slots.count().waiting == 0 {
            tokio::task::yield_now().await;
        }
        drop(held);
        slots.take().expect_err("reserved for the waiting crawl");
        let slot = waiting.await.expect("no panic");
        assert_eq!((used(&slots), slots.count().waiting), ((1, 1), 0));
        drop(slot);

        slots.set_seats(0);
        let other = Arc::clone(&slots);
        let given_up = tokio::time::timeout(Duration::from_millis(20), other.take_when_free());
        assert!(given_up.await.is_err());
        slots.set_seats(1);
        assert_eq!(slots.count().waiting, 0);
        slots.take().expect("no crawl waits any more");
    }

    #[test]
    fn concurrent_requests_never_exceed_the_seats() {
        const SEATS: u32 = 8;
        let slots = slots(SEATS);
        let (busy, most, granted) = (AtomicU32::new(0), AtomicU32::new(0), AtomicU32::new(0));
        std::thread::scope(|scope| {
            for _ in 0..16 {
                scope.spawn(|| {
                    for _ in 0..5_000 {
                        let Ok(slot) = slots.take() else {
                            std::thread::yield_now();
                            continue;
                        };
                        let now = busy.fetch_add(1, Ordering::SeqCst) + 1;
                        most.fetch_max(now, Ordering::SeqCst);
                        granted.fetch_add(1, Ordering::SeqCst);
                        busy.fetch_sub(1, Ordering::SeqCst);
                        drop(slot);
                    }
                });
            }
        });
        assert!(most.into_inner() <= SEATS);
        assert!(granted.into_inner() > 1_000);
        assert_eq!(used(&slots), (SEATS, 0));
    }
}
