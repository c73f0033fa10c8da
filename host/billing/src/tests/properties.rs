//! Invariants: balances are sums of entries, nothing is charged twice, no account is overdrawn.

use std::sync::Arc;

use proptest::prelude::*;

use trawl_model::{Charge, Nanodollars, money::PER_CENT};
use trawl_store::EntryKind;

use super::world::{World, world};
use crate::{BillingError, FundsError, Reservation, StatementPage};

fn bytes(amount: i64) -> Charge {
    Charge {
        bytes_transferred: Nanodollars(amount),
        ..Charge::default()
    }
}

fn kinds(statement: &StatementPage) -> Vec<&'static str> {
    let entries = statement.entries.iter();
    entries.map(|posted| posted.entry.kind.name()).collect()
}

#[tokio::test]
async fn a_post_charges_the_page_and_releases_the_rest() {
    let world = world(Nanodollars(PER_CENT)).await;
    let reservation = world.reserve(500).expect("money is there");
    assert_eq!(reservation.ceiling(), Nanodollars(500));
    assert_eq!(
        world.billing.balance(&world.account),
        Nanodollars(PER_CENT - 500)
    );
    reservation.post(&bytes(120)).await.expect("posted");
    assert_eq!(
        world.billing.balance(&world.account),
        Nanodollars(PER_CENT - 120)
    );
    let statement = world.statement().await;
    assert_eq!(kinds(&statement), ["top_up", "reserve", "post"]);
    let post = &statement.entries[2].entry;
    assert_eq!(
        (post.amount, post.held),
        (Nanodollars(-120), Nanodollars(-500))
    );
    assert_eq!(post.charge, bytes(120));
    assert_eq!((&*post.run, &*post.url), ("run_1", "https://example.com/"));
    world.check_sums().await;
}

#[tokio::test]
async fn failed_and_abandoned_pages_are_voided_in_the_statement() {
    let world = world(Nanodollars(PER_CENT)).await;
    world
        .reserve(500)
        .expect("money")
        .void("timed out after 5 s");
    drop(world.reserve(500).expect("money"));
    assert_eq!(world.billing.balance(&world.account), Nanodollars(PER_CENT));
    let statement = world.statement().await;
    let voids = statement.entries.iter().map(|posted| &posted.entry);
    let voids: Vec<_> = voids
        .filter(|entry| entry.kind == EntryKind::Void)
        .map(|entry| (entry.reason.as_str(), entry.amount))
        .collect();
    assert_eq!(
        voids,
        [
            ("timed out after 5 s", Nanodollars::ZERO),
            ("abandoned", Nanodollars::ZERO)
        ]
    );
    world.check_sums().await;
}

#[tokio::test]
async fn a_page_that_exceeds_its_ceiling_is_not_charged() {
    let world = world(Nanodollars(PER_CENT)).await;
    let reservation = world.reserve(100).expect("money");
    let refusal = reservation.post(&bytes(101)).await.expect_err("too much");
    assert!(matches!(refusal, BillingError::OutgrewCeiling { .. }));
    assert_eq!(world.billing.balance(&world.account), Nanodollars(PER_CENT));
    assert_eq!(
        kinds(&world.statement().await),
        ["top_up", "reserve", "void"]
    );
    world.check_sums().await;
}

#[tokio::test]
async fn the_remaining_balance_is_reserved_and_then_nothing() {
    let world = world(Nanodollars(100)).await;
    let first = world.reserve(i64::MAX).expect("100 are left");
    assert_eq!(first.ceiling(), Nanodollars(100));
    assert_eq!(world.reserve(1).err(), Some(FundsError::AllHeld));
    assert_eq!(
        world.reserve(0).expect("no money is needed").ceiling(),
        Nanodollars::ZERO
    );
    first.post(&bytes(100)).await.expect("posted");
    assert_eq!(world.reserve(1).err(), Some(FundsError::Empty));
    let free = world.reserve(0).expect("a flat-rate page needs no money");
    free.post(&Charge::default()).await.expect("posted");
    world.check_sums().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixty_four_tasks_cannot_overdraw_one_cent() {
    let world = Arc::new(world(Nanodollars(PER_CENT)).await);
    let tasks: Vec<_> = (0..64)
        .map(|task| {
            let world = Arc::clone(&world);
            tokio::spawn(async move { spend(&world, task).await })
        })
        .collect();
    let mut billed = 0;
    for task in tasks {
        billed += task.await.expect("the task ends");
    }
    let left = world.billing.funds(&world.account);
    assert_eq!(left.held, Nanodollars::ZERO);
    assert_eq!(
        left.balance.0,
        PER_CENT - billed,
        "the charges add up to the bill"
    );
    assert!(left.balance.0 < 400_000, "the cent is nearly used up");
    world.check_sums().await;
}

/// Buys pages until the balance is used up, and returns what was charged.
async fn spend(world: &World, task: i64) -> i64 {
    let mut billed = 0;
    for page in 0..200 {
        tokio::task::yield_now().await;
        let Ok(reservation) = world.reserve(100_000) else {
            continue;
        };
        let charge = (task * 7_919 + page * 104_729) % 110_000;
        if page % 5 == 0 {
            reservation.void("failed");
        } else if reservation.post(&bytes(charge)).await.is_ok() {
            billed += charge;
        }
        let funds = world.billing.funds(&world.account);
        assert!(funds.held >= Nanodollars::ZERO && funds.available() >= Nanodollars::ZERO);
    }
    billed
}

#[tokio::test]
async fn everything_survives_a_restart() {
    let world = world(Nanodollars(PER_CENT)).await;
    let key = world
        .billing
        .create_key(&world.account, "", None)
        .await
        .expect("key");
    world
        .reserve(500)
        .expect("money")
        .post(&bytes(77))
        .await
        .expect("posted");
    let unsettled = world.reserve(500).expect("money");
    world.billing.flush().await.expect("flushed");
    // As if the process were killed here, before the reservation is settled.
    std::mem::forget(unsettled);
    let world = world.restarted().await;
    let funds = world.billing.funds(&world.account);
    assert_eq!(
        (funds.balance, funds.held),
        (Nanodollars(PER_CENT - 77), Nanodollars::ZERO)
    );
    let statement = world.statement().await;
    let last = &statement.entries.last().expect("entries").entry;
    assert_eq!(
        (last.kind, last.reason.as_str()),
        (EntryKind::Void, "server stopped")
    );
    let account = world
        .billing
        .authenticate(key.expose())
        .expect("still valid");
    assert_eq!(account.id, world.account);
    world.check_sums().await;
}

#[tokio::test]
async fn nothing_hangs_after_close() {
    let world = world(Nanodollars(PER_CENT)).await;
    let reservation = world.reserve(500).expect("money");
    world.billing.close().await;
    let refusal = reservation
        .post(&bytes(1))
        .await
        .expect_err("the ledger is closed");
    assert!(matches!(refusal, BillingError::Unavailable));
    assert_eq!(world.reserve(1).err(), Some(FundsError::Busy));
    assert!(world.billing.flush().await.is_err());
}

#[tokio::test]
async fn a_dropped_post_is_charged_once_or_not_at_all() {
    let world = world(Nanodollars(PER_CENT)).await;
    drop(world.reserve(500).expect("money").post(&bytes(10)));
    let charge = bytes(10);
    let mut post = Box::pin(world.reserve(500).expect("money").post(&charge));
    let polled = futures_util::poll!(&mut post);
    assert!(polled.is_pending());
    drop(post);
    let statement = world.statement().await;
    assert_eq!(
        kinds(&statement),
        ["top_up", "reserve", "void", "reserve", "post"]
    );
    world.check_sums().await;
}

/// One operation on an account.
#[derive(Clone, Debug)]
enum Step {
    Reserve(i64),
    Post(usize, i64),
    Void(usize),
    Drop(usize),
    TopUp(i64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..5_000_i64).prop_map(Step::Reserve),
        3 => (any::<usize>(), 0..5_500_i64).prop_map(|(n, charge)| Step::Post(n, charge)),
        1 => any::<usize>().prop_map(Step::Void),
        1 => any::<usize>().prop_map(Step::Drop),
        1 => (1..2_000_i64).prop_map(Step::TopUp),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn the_balance_is_the_sum_of_the_entries_at_any_moment(steps in prop::collection::vec(step(), 1..40)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        runtime.block_on(play(steps));
    }
}

async fn play(steps: Vec<Step>) {
    let world = world(Nanodollars(10_000)).await;
    let (mut paid_in, mut billed) = (10_000, 0);
    let mut reservations: Vec<Reservation> = Vec::new();
    for step in steps {
        let mut pick = |n: usize| {
            let n_open = reservations.len();
            (n_open > 0).then(|| reservations.swap_remove(n % n_open))
        };
        match step {
            Step::Reserve(ceiling) => reservations.extend(world.reserve(ceiling).ok()),
            Step::Post(n, charge) => {
                if let Some(reservation) = pick(n) {
                    let fits = charge <= reservation.ceiling().0;
                    assert_eq!(reservation.post(&bytes(charge)).await.is_ok(), fits);
                    billed += if fits { charge } else { 0 };
                }
            }
            Step::Void(n) => pick(n)
                .into_iter()
                .for_each(|reservation| reservation.void("failed")),
            Step::Drop(n) => drop(pick(n)),
            Step::TopUp(amount) => {
                let paid = world
                    .billing
                    .top_up(&world.account, Nanodollars(amount), None);
                paid.await.expect("paid in");
                paid_in += amount;
            }
        }
        let funds = world.billing.funds(&world.account);
        let held: i64 = reservations
            .iter()
            .map(|reservation| reservation.ceiling().0)
            .sum();
        assert_eq!((funds.balance.0, funds.held.0), (paid_in - billed, held));
        assert!(funds.available() >= Nanodollars::ZERO);
        world.check_sums().await;
    }
}
