use std::collections::BTreeMap;

use proptest::prelude::*;

use super::state::{Accounting, Grant, Partition};
use super::*;

const MIB: u64 = 1024 * 1024;
const STEP: usize = STEP_BYTES as usize;

/// Takes bytes that must be granted at once.
async fn take(memory: &PageMemory, bytes: u64) -> MemoryLease {
    let mut lease = memory.lease();
    let granted = tokio::time::timeout(Duration::ZERO, lease.grow_to(bytes as usize)).await;
    granted.expect("no wait").expect("memory");
    lease
}

/// Whether taking bytes has to wait now.
async fn waits(lease: &mut MemoryLease, bytes: u64) -> bool {
    let granted = tokio::time::timeout(Duration::ZERO, lease.grow_to(bytes as usize)).await;
    granted.is_err()
}

#[test]
fn the_parts_make_up_the_budget() {
    for capacity in [64 * MIB, 1024 * MIB, 6 * 1024 * MIB, 1 << 45] {
        let partition = Partition::of(capacity, PAGE_BYTES_MAX);
        let reserve = partition.privileged_bytes * partition.privileged_max as u64;
        assert!(
            partition.floors + partition.shared + reserve <= capacity,
            "{partition:?}"
        );
        assert!(
            partition.privileged_max > 0 && partition.privileged_bytes >= 16 * MIB,
            "{partition:?}"
        );
        assert!(
            partition.floor >= STEP_BYTES && partition.floor <= 4 * MIB,
            "{partition:?}"
        );
    }
    // An ordinary budget has room for privileged pages of the largest size.
    assert_eq!(
        Partition::of(1024 * MIB, PAGE_BYTES_MAX).privileged_bytes,
        PAGE_BYTES_MAX
    );
}

#[tokio::test]
async fn a_lease_grows_in_steps_and_gives_back_what_it_took() {
    let budget = MemoryBudget::new(64 * MIB);
    let page = budget.share("a").page();
    let mut lease = page.lease();
    lease.grow_to(1).await.expect("memory");
    assert_eq!(budget.in_use().used, STEP_BYTES);
    lease.grow_to(STEP).await.expect("memory");
    lease.record_at_least(STEP);
    assert_eq!(lease.bytes(), STEP_BYTES);
    lease.grow_to(STEP + 1).await.expect("memory");
    assert_eq!(budget.in_use().used, 2 * STEP_BYTES);
    lease.shrink_to(10);
    assert_eq!(budget.in_use().used, STEP_BYTES);
    lease.record(10 * STEP);
    assert_eq!(budget.in_use().used, 10 * STEP_BYTES);
    lease.record_at_least(2 * STEP);
    assert_eq!(lease.bytes(), 10 * STEP_BYTES, "nothing is given back");
    let bytes = lease.attach(vec![1, 2, 3]);
    let part = bytes.slice(1..);
    drop(bytes);
    assert_eq!(
        (&part[..], budget.in_use().used),
        (&[2, 3][..], 10 * STEP_BYTES)
    );
    drop(part);
    assert_eq!(budget.in_use().used, 0);
}

#[tokio::test]
async fn an_account_at_its_share_waits_and_others_do_not() {
    let budget = MemoryBudget::new(64 * MIB);
    let greedy = budget.share("greedy");
    // Half of what is shared, its floor, and the reserve of its privileged page.
    let mut held = Vec::new();
    for _ in 0..64 {
        let mut lease = greedy.page().lease();
        if waits(&mut lease, MIB).await {
            break;
        }
        held.push(lease);
    }
    assert!(held.len() < 40, "{} MiB of 64", held.len());
    // A small page of another account is served at once, and a page of some size too.
    for name in ["small", "another", "third"] {
        let share = budget.share(name);
        drop(take(&share.page(), STEP_BYTES).await);
        drop(take(&share.page(), 4 * MIB).await);
    }
    let newcomers: Vec<_> = (0..32).map(|n| budget.share(&n.to_string())).collect();
    let mut small = Vec::new();
    for newcomer in &newcomers {
        small.push(take(&newcomer.page(), 2 * STEP_BYTES).await);
    }
}

#[test]
fn floors_that_are_used_up_overflow_into_the_shared_part() {
    let partition = Partition::of(1024 * MIB, PAGE_BYTES_MAX);
    let mut state: Accounting<()> = Accounting::new(partition);
    let slots: Vec<usize> = (0..200).map(|_| state.open()).collect();
    let floor = Grant {
        regular: partition.floor,
        drawn: 0,
    };
    assert!(200 * partition.floor > partition.floors, "more than fit");
    for (page, slot) in (0..).zip(&slots) {
        assert_eq!(state.ask(*slot, page, partition.floor), Ok(floor), "{page}");
    }
    assert_eq!(state.used(), 200 * partition.floor);
    // What is given back of the floors is there for the next.
    for (page, slot) in (0..).zip(&slots[..100]) {
        state.release(*slot, page, floor);
    }
    for (page, slot) in (200..).zip(&slots[..100]) {
        assert_eq!(state.ask(*slot, page, partition.floor), Ok(floor), "{page}");
        state.release(*slot, page, floor);
    }
    for (page, slot) in (100..).zip(&slots[100..]) {
        state.release(*slot, page, floor);
    }
    assert_eq!(state.used(), 0);
}

#[tokio::test]
async fn what_an_account_gives_back_its_oldest_page_gets() {
    let budget = MemoryBudget::new(64 * MIB);
    let share = budget.share("a");
    let (first, second, third) = (share.page(), share.page(), share.page());
    let held = take(&first, 20 * MIB).await;
    let drawn = take(&first, 10 * MIB).await;
    let (mut young, mut old) = (third.lease(), second.lease());
    let mut young = Box::pin(young.grow_to(10 << 20));
    assert!(futures_poll(&mut young).await.is_none());
    let mut old = Box::pin(old.grow_to(10 << 20));
    assert!(futures_poll(&mut old).await.is_none());
    assert_eq!(budget.in_use().n_waiting, 2);
    drop(drawn);
    assert!(
        futures_poll(&mut old).await.is_some(),
        "the older page is next"
    );
    assert!(futures_poll(&mut young).await.is_none());
    drop(held);
    assert!(futures_poll(&mut young).await.is_some());
}

#[tokio::test]
async fn a_privileged_page_is_demoted_when_it_is_finished() {
    let budget = MemoryBudget::new(64 * MIB);
    let (slow, other) = (budget.share("slow"), budget.share("other"));
    let (finished, page) = (slow.page(), other.page());
    let _held = take(&finished, 20 * MIB).await;
    let drawn = take(&finished, 10 * MIB).await;
    let _of_other = take(&page, 10 * MIB).await;
    let mut more = page.lease();
    assert!(waits(&mut more, 10 * MIB).await, "one page is privileged");
    // Its outcome has not been read yet.
    drop(finished);
    let more = take(&page, 10 * MIB).await;
    assert_eq!(budget.in_use().used, 50 * MIB);
    drop(more);
    let next = slow.page();
    let mut lease = next.lease();
    assert!(
        waits(&mut lease, 10 * MIB).await,
        "one privileged page at a time"
    );
    drop(drawn);
    let _lease = take(&next, 10 * MIB).await;
    assert_eq!(budget.in_use().used, 40 * MIB);
}

#[tokio::test]
async fn a_finished_page_stays_privileged_while_there_is_no_room_for_what_it_drew() {
    let budget = MemoryBudget::new(64 * MIB);
    let (slow, other) = (budget.share("slow"), budget.share("other"));
    let (finished, page) = (slow.page(), other.page());
    let _held = take(&finished, 20 * MIB).await;
    let _drawn = take(&finished, 16 * MIB).await;
    let mut recorded = page.lease();
    recorded.record(15 << 20);
    drop(finished);
    let mut lease = page.lease();
    assert!(waits(&mut lease, 10 * MIB).await, "it stays privileged");
    recorded.shrink_to(2 << 20);
    let _lease = take(&page, 10 * MIB).await;
    assert_eq!(budget.in_use().used, 48 * MIB);
}

#[tokio::test]
async fn a_cancelled_wait_leaves_the_queue_to_those_behind() {
    let budget = MemoryBudget::new(64 * MIB);
    let share = budget.share("a");
    let _held = take(&share.page(), 20 * MIB).await;
    let (first, second) = (share.page(), share.page());
    let (mut big, mut small) = (first.lease(), second.lease());
    let mut big = Box::pin(big.grow_to(50 << 20));
    assert!(futures_poll(&mut big).await.is_none());
    let mut small = Box::pin(small.grow_to(STEP));
    assert!(
        futures_poll(&mut small).await.is_none(),
        "no page overtakes"
    );
    drop(big);
    assert!(futures_poll(&mut small).await.is_some());
    assert_eq!(budget.in_use().n_waiting, 0);
}

#[tokio::test]
async fn a_wait_ends_with_a_reason() {
    let wait_max = Duration::from_millis(50);
    let budget = MemoryBudget::with_wait_max(64 * MIB, wait_max);
    let share = budget.share("a");
    let _held = take(&share.page(), 20 * MIB).await;
    let mut lease = share.page().lease();
    let error = lease.grow_to(40 << 20).await.expect_err("no memory");
    assert_eq!(error, MemoryError::Waited(wait_max));
    assert_eq!(error.failure().cause, Cause::Memory);
    assert!(error.to_string().contains("0.05 s for memory"), "{error}");
    assert_eq!((lease.bytes(), budget.in_use().n_waiting), (0, 0));
}

#[tokio::test]
async fn an_account_that_holds_nothing_is_forgotten() {
    let budget = MemoryBudget::new(64 * MIB);
    let share = budget.share("a");
    let bytes = take(&share.page(), MIB).await.attach(vec![0]);
    drop(share);
    assert_eq!(budget.accounts.lock().expect("no panic").len(), 1);
    drop(bytes);
    assert!(budget.accounts.lock().expect("no panic").is_empty());
    // Its slot serves the next account.
    assert_eq!(budget.share("b").0.slot, 0);
}

/// What is held by kind adds up to what is in use, whichever part of the budget it came from and
/// whichever page waited for it.
#[tokio::test]
async fn kinds_add_up_to_what_is_in_use() {
    let budget = MemoryBudget::new(64 * MIB);
    let check = |expected: &[(MemoryKind, u64)]| {
        let now = budget.in_use();
        let sum: u64 = now.held().map(|(_, bytes)| bytes).sum();
        assert_eq!(sum, now.used);
        for (kind, mib) in expected {
            assert!(now.held().any(|held| held == (*kind, mib * MIB)), "{now:?}");
        }
    };
    let share = budget.share("a");
    let (first, second) = (share.page(), share.page());
    let held = take(&first, 20 * MIB).await;
    let mut drawn = first.lease_for(MemoryKind::Outputs);
    drawn.grow_to(10 << 20).await.expect("the oldest page");
    check(&[(MemoryKind::PageBodies, 20), (MemoryKind::Outputs, 10)]);
    let mut waiting = second.lease_for(MemoryKind::RequestBodies);
    {
        let mut waiting = Box::pin(waiting.grow_to(12 << 20));
        assert!(futures_poll(&mut waiting).await.is_none());
        check(&[(MemoryKind::RequestBodies, 0)]);
        drop(held);
        assert!(futures_poll(&mut waiting).await.is_some());
    }
    check(&[(MemoryKind::PageBodies, 0), (MemoryKind::RequestBodies, 12)]);
    let mut recorded = second.lease_for(MemoryKind::Webhooks);
    recorded.record(3 << 20);
    drawn.shrink_to(4 << 20);
    check(&[(MemoryKind::Webhooks, 3), (MemoryKind::Outputs, 4)]);
    // A cancelled wait whose bytes were granted meanwhile gives them back.
    let mut late = share.page().lease_for(MemoryKind::Stored);
    let mut late_wait = Box::pin(late.grow_to(15 << 20));
    assert!(futures_poll(&mut late_wait).await.is_none());
    drop((waiting, recorded, drawn));
    drop(late_wait);
    check(&[(MemoryKind::Stored, 0)]);
    drop(late);
    assert_eq!(budget.in_use().used, 0);
}

#[tokio::test]
async fn held_bytes_are_covered_by_their_lease() {
    let budget = MemoryBudget::new(64 * MIB);
    let page = budget.share("a").page();
    let held = page.lease_for(MemoryKind::Stored).hold(vec![7; 3 * STEP]);
    assert_eq!(
        (held.len(), budget.in_use().used),
        (3 * STEP, 3 * STEP_BYTES)
    );
    let held = held.replace(vec![8; STEP / 2]);
    assert_eq!((held[0], budget.in_use().used), (8, STEP_BYTES));
    let bytes = held.into_bytes();
    let part = bytes.slice(..1);
    drop(bytes);
    assert_eq!(budget.in_use().used, STEP_BYTES);
    drop(part);
    assert_eq!(budget.in_use().used, 0);
}

#[tokio::test]
async fn a_buffer_grows_as_far_as_there_is_memory() {
    let budget = MemoryBudget::with_wait_max(64 * MIB, Duration::from_millis(10));
    let share = budget.share("a");
    let (page, piece) = (share.page(), vec![1; 1 << 20]);
    let mut buffer = HeldBuffer::new(&page, MemoryKind::RequestBodies, 60 << 20);
    let mut n_appended = 0;
    while buffer.extend(&piece).await.is_ok() {
        n_appended += piece.len();
        assert_eq!(buffer.len(), n_appended);
        assert!(budget.in_use().used >= n_appended as u64);
    }
    assert!((20 << 20..40 << 20).contains(&n_appended), "{n_appended}");
    assert_eq!(buffer.finish().len(), n_appended);
    assert_eq!(budget.in_use().used, 0);
    let mut small = HeldBuffer::new(&page, MemoryKind::RequestBodies, 10);
    assert_eq!(small.extend(&piece).await, Ok(10), "as many as may be");
    assert_eq!((small.room(), budget.in_use().used), (0, STEP_BYTES));
}

#[tokio::test]
async fn finished_buffers_are_moved_only_if_much_of_their_room_is_empty() {
    let page = MemoryBudget::unlimited().share("a").page();
    let finished = async |n_bytes: usize, room: usize| {
        let mut buffer = HeldBuffer::new(&page, MemoryKind::PageBodies, 1 << 20);
        buffer.reserve(room).await.expect("memory");
        buffer.extend(&vec![1; n_bytes]).await.expect("memory");
        let (bytes, _lease) = buffer.finish().into_parts();
        assert_eq!(bytes.len(), n_bytes);
        bytes.try_into_mut().expect("no clones").capacity()
    };
    assert_eq!(finished(120_000, 120_000).await, 131_072, "whole steps");
    assert_eq!(finished(20_000, 120_000).await, 20_000);
    assert_eq!(finished(10, 100).await, 10);
}

#[tokio::test]
async fn long_buffers_have_few_sizes() {
    let page = MemoryBudget::unlimited().share("a").page();
    let capacity = async |n_bytes: usize, bytes_max: usize| {
        let mut buffer = HeldBuffer::new(&page, MemoryKind::PageBodies, bytes_max);
        buffer.reserve(n_bytes).await.expect("memory");
        buffer.room()
    };
    let max = 1 << 20;
    assert_eq!(capacity(1_000, max).await, 1_000);
    assert_eq!(capacity(16 * 1024, max).await, 16 * 1024);
    assert_eq!(capacity(16 * 1024 + 1, max).await, 32 * 1024);
    assert_eq!(capacity(100_000, 100_001).await, 100_001);
}

/// Polls once.
async fn futures_poll<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
    std::future::poll_fn(|context| {
        let future = std::pin::Pin::new(&mut *future);
        std::task::Poll::Ready(match future.poll(context) {
            std::task::Poll::Ready(output) => Some(output),
            std::task::Poll::Pending => None,
        })
    })
    .await
}

/// A page of the simulation: it grows to its size step by step, is finished, and some time later
/// gives everything back.
#[derive(Clone, Debug)]
struct SimPage {
    account: usize,
    size: u64,
    step: u64,
    held: Grant,
    is_waiting: bool,
    /// Whether it has all that it needs.
    is_finished: bool,
    is_done: bool,
}

/// Pages of several accounts, and the order in which they act.
fn pages() -> impl Strategy<Value = Vec<SimPage>> {
    let page =
        (0_usize..6, 1_u64..=16 * MIB, 1_u64..=4).prop_map(|(account, size, step)| SimPage {
            account,
            size: size.next_multiple_of(STEP_BYTES),
            step: step * MIB,
            held: Grant::default(),
            is_waiting: false,
            is_finished: false,
            is_done: false,
        });
    proptest::collection::vec(page, 1..120)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// However pages of greedy accounts interleave: all of them end, the capacity is never
    /// exceeded, and a small account never waits.
    #[test]
    fn every_page_ends_and_the_innocent_never_waits(
        mut pages in pages(),
        order in proptest::collection::vec(any::<prop::sample::Index>(), 1..400),
    ) {
        let capacity = 64 * MIB;
        let partition = Partition::of(capacity, PAGE_BYTES_MAX);
        let mut state: Accounting<usize> = Accounting::new(partition);
        let slots: Vec<usize> = (0..6).map(|_| state.open()).collect();
        let innocent = state.open();
        let mut wants = BTreeMap::new();
        let mut rounds = 0;
        while pages.iter().any(|page| !page.is_done) {
            // Any page that can act does: none can be blocked for ever.
            let able: Vec<usize> = (0..pages.len())
                .filter(|n| !pages[*n].is_done && !pages[*n].is_waiting)
                .collect();
            prop_assert!(!able.is_empty(), "a deadlock: {:?}", state);
            let n = *order[rounds % order.len()].get(&able);
            rounds += 1;
            prop_assert!(rounds < 100_000);
            let (held, slot) = (pages[n].held.regular + pages[n].held.drawn, slots[pages[n].account]);
            if held == pages[n].size {
                if pages[n].is_finished {
                    state.release(slot, n as u64, pages[n].held);
                    pages[n].is_done = true;
                } else {
                    // Others act before its reader does.
                    state.finish(n as u64);
                    pages[n].is_finished = true;
                }
                while let Some((waiter, grant)) = state.next() {
                    prop_assert_eq!(wants.remove(&waiter), Some(grant.regular + grant.drawn));
                    let page = &mut pages[waiter];
                    page.held.regular += grant.regular;
                    page.held.drawn += grant.drawn;
                    page.is_waiting = false;
                }
            } else {
                let more = pages[n].step.min(pages[n].size - held);
                match state.ask(slot, n as u64, more) {
                    Ok(grant) => {
                        pages[n].held.regular += grant.regular;
                        pages[n].held.drawn += grant.drawn;
                    }
                    Err(key) => {
                        state.wait(slot, key, more, n);
                        wants.insert(n, more);
                        pages[n].is_waiting = true;
                    }
                }
            }
            prop_assert!(state.used() <= capacity, "{} bytes of {capacity}", state.used());
            let small = state.ask(innocent, u64::MAX, STEP_BYTES);
            prop_assert!(small.is_ok(), "the innocent account waits: {:?}", state);
            state.release(innocent, u64::MAX, small.unwrap_or_default());
        }
        prop_assert_eq!((state.used(), state.n_waiting()), (0, 0));
    }
}

#[tokio::test]
async fn a_lease_without_its_claim_leaves_the_reserve_to_others() {
    // One privileged page at a time, and 160 MiB that are shared.
    let budget = MemoryBudget::new(256 * MIB);
    let [one, other] = ["a", "b"].map(|name| budget.share(name));
    let mut held = one.page().lease();
    held.record(80 * MIB as usize);
    // Its claim has ended before it takes anything: a reader may hold it for long.
    let mut read = one.page().lease();
    assert!(!waits(&mut read, 30 * MIB).await);
    let page = other.page();
    let mut of_other = page.lease();
    of_other.record(60 * MIB as usize);
    assert!(!waits(&mut of_other, 80 * MIB).await, "the place is free");
    // The same where the lease had to wait.
    drop((read, of_other));
    let mut first = page.lease();
    first.record(60 * MIB as usize);
    assert!(!waits(&mut first, 80 * MIB).await);
    let mut late = one.page().lease();
    let mut waiting = Box::pin(late.grow_to(30 * MIB as usize));
    let early = tokio::time::timeout(Duration::ZERO, waiting.as_mut()).await;
    assert!(early.is_err(), "the other account has the place");
    drop((first, page));
    waiting.await.expect("memory");
    let page = other.page();
    let mut again = page.lease();
    again.record(60 * MIB as usize);
    assert!(!waits(&mut again, 80 * MIB).await, "the place is free");
}
