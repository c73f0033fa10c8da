//! Subscriptions from purchase to lapse, with a fake clock.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::task::TaskTracker;

use trawl_model::clock::{Clock, Timestamp};
use trawl_model::{Charge, Nanodollars, Terms};
use trawl_store::sqlite::SqliteStore;
use trawl_store::{AccountId, EntryKind, LedgerEntry, Store};

use super::{SEATS_MAX, SubscriptionError};
use crate::tests::world::locked;
use crate::{Billing, BillingError, Window};

const DAY: Duration = Duration::from_secs(86_400);

struct World {
    billing: Billing,
    store: Arc<dyn Store>,
    account: AccountId,
    clock: Clock,
    directory: tempfile::TempDir,
}

async fn open(directory: &std::path::Path, clock: &Clock) -> (Billing, Arc<dyn Store>) {
    let data = locked(directory).await;
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(data).await.expect("a store"));
    let billing = Billing::start(store.clone(), clock.clone(), &TaskTracker::new()).await;
    (billing.expect("billing starts"), store)
}

/// An account with so many dollars on the 31st of January.
async fn world(dollars_left: i64) -> World {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let clock = Clock::fake(at("2026-01-31T12:00:00Z"));
    let (billing, store) = open(directory.path(), &clock).await;
    let created = billing.create_account("alice", dollars(dollars_left)).await;
    let (account, _key) = created.expect("a new account");
    World {
        billing,
        store,
        account: account.id.clone(),
        clock,
        directory,
    }
}

fn dollars(whole: i64) -> Nanodollars {
    Nanodollars(whole * 1_000_000_000)
}

fn at(text: &str) -> Timestamp {
    Timestamp::parse(text).expect("a time")
}

impl World {
    /// Stops the process and starts another one.
    async fn restarted(self) -> Self {
        self.billing.close().await;
        self.store.close().await;
        drop((self.billing, self.store));
        let (billing, store) = open(self.directory.path(), &self.clock).await;
        Self {
            billing,
            store,
            account: self.account,
            clock: self.clock,
            directory: self.directory,
        }
    }

    fn go_to(&self, text: &str) {
        let millis = at(text).0 - self.clock.now().0;
        self.clock
            .advance(Duration::from_millis(millis.try_into().expect("later")));
    }

    async fn set(&self, seats: u32) -> Result<Nanodollars, BillingError> {
        let set = self.billing.set_seats(&self.account, seats).await;
        set.map(|(_, charged)| charged)
    }

    async fn top_up(&self, whole: i64) {
        let paid = self.billing.top_up(&self.account, dollars(whole), None);
        paid.await.expect("paid in");
    }

    /// State, seats, seats from the next renewal on, end of the period.
    fn row(&self) -> (&'static str, u32, u32, String) {
        let row = self
            .billing
            .subscription(&self.account)
            .expect("a subscription");
        (
            row.state.name(),
            row.seats,
            row.next_seats,
            row.to.to_string(),
        )
    }

    /// What the Unlimited routes answer.
    async fn access(&self) -> &'static str {
        match self.billing.unlimited(&self.account).await {
            Ok(()) => "yes",
            Err(SubscriptionError::Required) => "required",
            Err(SubscriptionError::Inactive) => "inactive",
            Err(SubscriptionError::Failed(error)) => panic!("{error}"),
        }
    }

    async fn charges(&self) -> Vec<LedgerEntry> {
        let window = Window {
            from: Timestamp::MIN,
            to: Timestamp::MAX,
            after: 0,
            limit: 1_000,
        };
        let page = self.billing.statement(&self.account, window).await;
        let entries = page.expect("a statement").entries.into_iter();
        let entries = entries.map(|posted| posted.entry);
        entries
            .filter(|entry| entry.kind == EntryKind::Seats)
            .collect()
    }

    /// The balance; checks that memory, store and ledger agree.
    async fn balance(&self) -> Nanodollars {
        let audit = self.billing.verify().await.expect("an audit");
        assert_eq!(audit.disagreements, []);
        let funds = self.billing.funds(&self.account);
        assert_eq!(funds.held, Nanodollars::ZERO);
        let records = self.store.accounts().await.expect("accounts");
        assert_eq!(records[0].balance, funds.balance);
        let rows = self.store.subscriptions().await.expect("rows");
        assert_eq!(rows, self.billing.seats.rows());
        funds.balance
    }
}

#[tokio::test]
async fn a_month_is_charged_immediately_and_renewed_from_the_balance() {
    let world = world(490).await;
    assert_eq!(world.access().await, "required");
    assert_eq!(world.set(8).await.expect("bought"), dollars(160));
    assert_eq!(world.access().await, "yes");
    assert_eq!(
        world.row(),
        ("active", 8, 8, "2026-02-28T12:00:00.000Z".to_owned())
    );
    assert_eq!(world.set(8).await.expect("no change"), dollars(0));
    world.go_to("2026-02-28T11:59:59Z");
    world.billing.renew_due().await;
    assert_eq!(world.charges().await.len(), 1);
    world.go_to("2026-02-28T12:00:00Z");
    world.billing.renew_due().await;
    world.billing.renew_due().await;
    // The day of the purchase, not the end of the short month.
    assert_eq!(world.row().3, "2026-03-31T12:00:00.000Z");
    world.go_to("2026-04-01T00:00:00Z");
    assert_eq!(world.access().await, "yes");
    assert_eq!(world.row().3, "2026-04-30T12:00:00.000Z");
    let charges = world.charges().await;
    assert_eq!(charges.len(), 3);
    assert_eq!(
        charges[1].reason,
        "8 seats from 2026-02-28T12:00:00.000Z to 2026-03-31T12:00:00.000Z"
    );
    assert_eq!(world.balance().await, dollars(490 - 3 * 160));
}

#[tokio::test]
async fn a_lapsed_subscription_is_renewed_after_a_top_up() {
    let world = world(45).await;
    let refusal = world.set(3).await.expect_err("$60");
    assert!(
        refusal.to_string().contains("the seats cost $60"),
        "{refusal}"
    );
    assert_eq!(world.access().await, "required");
    world.set(2).await.expect("bought");
    world.go_to("2026-02-28T12:00:00Z");
    assert_eq!(world.access().await, "inactive");
    assert_eq!(world.row().0, "lapsed");
    assert_eq!(world.billing.slots(&world.account).seats, 0);
    world
        .billing
        .take_slot(&world.account)
        .expect_err("no seats");
    world.top_up(34).await;
    assert_eq!(world.access().await, "inactive", "$39 do not cover $40");
    world.go_to("2026-03-05T00:00:00Z");
    world.top_up(1).await;
    assert_eq!(world.access().await, "yes");
    // The days in between are not charged.
    assert_eq!(
        world.row(),
        ("active", 2, 2, "2026-04-05T00:00:00.000Z".to_owned())
    );
    assert_eq!(world.balance().await, dollars(0));

    // After a lapse, fewer seats start immediately.
    world.go_to("2026-04-05T00:00:00Z");
    world.billing.renew_due().await;
    assert_eq!(world.row().0, "lapsed");
    world.top_up(25).await;
    assert_eq!(world.set(1).await.expect("bought"), dollars(20));
    assert_eq!(world.row().1, 1);
    assert_eq!(world.balance().await, dollars(5));
}

#[tokio::test]
async fn more_seats_are_prorated_and_fewer_wait_for_the_renewal() {
    let world = world(490).await;
    world.set(2).await.expect("bought");
    let _busy = world.billing.take_slot(&world.account).expect("free");
    world.go_to("2026-02-14T12:00:00Z");
    // 14 of 28 days; the same number again costs nothing.
    assert_eq!(world.set(4).await.expect("more"), dollars(20));
    assert_eq!(world.set(4).await.expect("no change"), dollars(0));
    assert_eq!(world.billing.slots(&world.account).seats, 4);
    assert_eq!(world.set(1).await.expect("later"), dollars(0));
    assert_eq!(
        world.row(),
        ("active", 4, 1, "2026-02-28T12:00:00.000Z".to_owned())
    );
    world.go_to("2026-02-28T12:00:00Z");
    assert_eq!(world.access().await, "yes");
    let slots = world.billing.slots(&world.account);
    assert_eq!((slots.seats, slots.active), (1, 1));
    assert_eq!(world.balance().await, dollars(490 - 40 - 20 - 20));

    world.set(0).await.expect("not renewed");
    assert_eq!(world.access().await, "yes");
    world.go_to("2026-03-31T12:00:00Z");
    assert_eq!(world.access().await, "required");
    assert_eq!(world.billing.subscription(&world.account), None);
    assert!(matches!(
        world.set(0).await,
        Err(BillingError::NoSubscription { .. })
    ));
    assert!(matches!(
        world.set(SEATS_MAX + 1).await,
        Err(BillingError::BadSeats { .. })
    ));
    assert_eq!(world.set(1).await.expect("bought again"), dollars(20));
    assert_eq!(world.row().3, "2026-04-30T12:00:00.000Z");
}

#[tokio::test]
async fn an_operator_suspends_and_resumes() {
    let world = world(100).await;
    let none = world.billing.suspend_seats(&world.account).await;
    assert_eq!(
        none.expect_err("nothing to suspend").to_string(),
        "`alice` has no seats: `trawl account seats` buys them"
    );
    world.set(1).await.expect("bought");
    let suspended = world.billing.suspend_seats(&world.account).await;
    suspended.expect("suspended");
    assert_eq!(
        (world.access().await, world.row().0),
        ("inactive", "suspended")
    );
    let resumed = world.billing.resume_seats(&world.account).await;
    assert_eq!(resumed.expect("resumed"), dollars(0));
    assert_eq!((world.access().await, world.row().0), ("yes", "active"));
    assert_eq!(world.balance().await, dollars(80));

    world
        .billing
        .suspend_seats(&world.account)
        .await
        .expect("suspended");
    world.go_to("2026-06-01T00:00:00Z");
    world.billing.renew_due().await;
    assert_eq!(
        (world.access().await, world.balance().await),
        ("inactive", dollars(80))
    );
    assert_eq!(world.set(3).await.expect("for later"), dollars(0));
    let resumed = world.billing.resume_seats(&world.account).await;
    assert_eq!(resumed.expect("resumed"), dollars(60));
    assert_eq!(
        world.row(),
        ("active", 3, 3, "2026-07-01T00:00:00.000Z".to_owned())
    );
    assert_eq!(world.balance().await, dollars(20));
}

#[tokio::test]
async fn months_without_a_server_are_not_charged() {
    let world = world(100).await;
    world.set(1).await.expect("bought");
    world.go_to("2026-05-10T00:00:00Z");
    let world = world.restarted().await;
    world.billing.renew_due().await;
    assert_eq!(world.row().3, "2026-06-10T00:00:00.000Z");
    assert_eq!(world.balance().await, dollars(60));
}

#[tokio::test]
async fn a_subscription_outlives_the_process_and_is_charged_once() {
    let mut world = world(490).await;
    world.set(5).await.expect("bought");
    for month in 1..=3 {
        world.clock.advance(31 * DAY);
        // Several requests find it due at the same time.
        let tasks: Vec<_> = (0..8)
            .map(|_| {
                let (billing, account) = (world.billing.clone(), world.account.clone());
                tokio::spawn(async move { billing.unlimited(&account).await.is_ok() })
            })
            .collect();
        for task in tasks {
            assert!(task.await.expect("no panic"));
        }
        assert_eq!(world.charges().await.len(), 1 + month);
        world = world.restarted().await;
        assert_eq!(world.access().await, "yes");
        assert_eq!(world.charges().await.len(), 1 + month);
    }
    assert_eq!(world.balance().await, dollars(490 - 400));
}

#[tokio::test]
async fn money_reserved_for_pages_is_not_spent_on_seats() {
    let world = world(25).await;
    let reservation = world
        .billing
        .reserve(&world.account, dollars(10), "u", "r")
        .expect("money is there");
    assert!(matches!(
        world.set(1).await,
        Err(BillingError::NotCovered { .. })
    ));
    reservation.void("failed");
    world.set(1).await.expect("bought");
    assert_eq!(world.balance().await, dollars(5));
}

#[tokio::test]
async fn an_empty_account_gets_pages_under_the_unlimited_plan() {
    let world = world(20).await;
    world.set(1).await.expect("bought");
    let (billing, account) = (&world.billing, &world.account);
    assert!(billing.admit(account, Terms::PayAsYouGo).is_err());
    billing
        .admit(account, Terms::Unlimited)
        .expect("no money is needed");
    let free = Nanodollars::ZERO;
    let soon = tokio::time::Instant::now() + Duration::from_secs(20);
    let reservation =
        billing.reserve_when_available(account, free, "https://a.example/", "r", soon);
    let reservation = reservation.await.expect("nothing to reserve");
    let charge = Charge::default();
    reservation.post(&charge).await.expect("recorded");
    let budget = billing.run_budget(account, "c", Nanodollars::MAX, free);
    let budget = budget.expect("a budget");
    let portion = budget.reserve(free, "https://b.example/", "1", soon).await;
    let portion = portion.expect("nothing");
    portion.post(&charge).await.expect("recorded");
    budget
        .reserve(free, "https://c.example/", "2", soon)
        .await
        .expect("nothing")
        .void("timed out");
    drop(budget);
    let window = Window {
        from: Timestamp::MIN,
        to: Timestamp::MAX,
        after: 0,
        limit: 10,
    };
    let page = billing.statement(account, window).await.expect("entries");
    let lines: Vec<_> = page
        .entries
        .iter()
        .map(|posted| (posted.entry.kind, &*posted.entry.url, posted.entry.amount.0))
        .skip(2)
        .collect();
    assert_eq!(
        lines,
        [
            (EntryKind::Post, "https://a.example/", 0),
            (EntryKind::Post, "https://b.example/", 0),
            (EntryKind::Void, "https://c.example/", 0),
        ]
    );
    let charged = billing.charged("c", "1").await.expect("read");
    assert_eq!(charged, Some(charge));
    assert_eq!(world.balance().await, free);
}

/// Whether the plan has ended, and whether work that waits for its end learns of it.
async fn has_plan(world: &World) -> bool {
    let has_plan = world.billing.has_plan(&world.account).await;
    let ended = world.billing.plan_ended(&world.account);
    let ended = tokio::time::timeout(Duration::ZERO, ended).await;
    assert_eq!(ended.is_err(), has_plan);
    has_plan
}

#[tokio::test]
async fn running_work_learns_that_its_plan_has_ended() {
    // Two months of one seat.
    let world = world(40).await;
    assert!(!has_plan(&world).await);
    world.set(1).await.expect("bought");
    assert!(has_plan(&world).await);
    // Renewed by the first request, however far the clock jumps within the next period.
    world.go_to("2026-03-20T12:00:00Z");
    assert!(has_plan(&world).await);
    world
        .billing
        .suspend_seats(&world.account)
        .await
        .expect("suspended");
    assert!(!has_plan(&world).await);
    world
        .billing
        .resume_seats(&world.account)
        .await
        .expect("resumed");
    assert!(has_plan(&world).await);
    // The balance does not cover a third month.
    world.go_to("2027-08-01T12:00:00Z");
    assert!(!has_plan(&world).await);
    let paid = world.billing.top_up(&world.account, dollars(20), None);
    paid.await.expect("paid in");
    assert!(has_plan(&world).await);
    // A cancelled plan lasts to the end of its period.
    world.set(0).await.expect("cancelled");
    assert!(has_plan(&world).await);
    world.go_to("2027-09-02T12:00:00Z");
    assert!(!has_plan(&world).await);
    let world = world.restarted().await;
    assert!(!has_plan(&world).await);
}
