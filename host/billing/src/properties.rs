//! What must hold whatever happens: balances are sums, nothing is charged twice, nothing is overdrawn.

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use tokio_util::task::TaskTracker;

use super::*;
use trawl_model::clock::Timestamp;
use trawl_model::{Charge, money::PER_CENT};
use trawl_store::DataDir;
use trawl_store::sqlite::SqliteStore;

struct World {
    billing: Billing,
    store: Arc<dyn Store>,
    clock: Clock,
    account: AccountId,
    directory: tempfile::TempDir,
}

async fn world(top_up: Nanodollars) -> World {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let clock = Clock::fake(Timestamp(1_700_000_000_000));
    let (billing, store) = open(&directory, &clock).await;
    let created = billing.create_account("alice", top_up).await;
    let (account, _key) = created.expect("a new account");
    World {
        billing,
        store,
        clock,
        account: account.id.clone(),
        directory,
    }
}

async fn open(directory: &tempfile::TempDir, clock: &Clock) -> (Billing, Arc<dyn Store>) {
    let data = DataDir::create(directory.path()).expect("a data directory");
    let store = SqliteStore::open(data).await.expect("a store");
    let store: Arc<dyn Store> = Arc::new(store);
    let billing = Billing::start(Arc::clone(&store), clock.clone(), &TaskTracker::new()).await;
    (billing.expect("billing starts"), store)
}

impl World {
    async fn restarted(self) -> Self {
        let Self {
            billing,
            store,
            clock,
            account,
            directory,
        } = self;
        billing.close().await;
        store.close().await;
        drop((billing, store));
        let (billing, store) = open(&directory, &clock).await;
        Self {
            billing,
            store,
            clock,
            account,
            directory,
        }
    }

    fn hold(&self, ceiling: i64) -> Result<Hold, FundsError> {
        let ceiling = Nanodollars(ceiling);
        self.billing
            .hold(&self.account, ceiling, "https://example.com/", "run_1")
    }

    async fn statement(&self) -> StatementPage {
        let statement = self.billing.statement(&self.account, everything()).await;
        statement.expect("a statement")
    }

    async fn check_sums(&self) {
        let audit = self.billing.verify().await.expect("an audit");
        assert_eq!(audit.disagreements, []);
        let statement = self.statement().await;
        let funds = self.billing.funds(&self.account);
        assert_eq!(statement.balance, funds.balance);
        assert_eq!(statement.held, funds.held);
    }
}

fn everything() -> Window {
    Window {
        from: Timestamp::MIN,
        to: Timestamp::MAX,
        after: 0,
        limit: u32::MAX,
    }
}

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
async fn a_page_is_reserved_and_posted_and_the_rest_goes_back() {
    let world = world(Nanodollars(PER_CENT)).await;
    let hold = world.hold(500).expect("money is there");
    assert_eq!(hold.ceiling(), Nanodollars(500));
    assert_eq!(
        world.billing.balance(&world.account),
        Nanodollars(PER_CENT - 500)
    );
    hold.post(&bytes(120)).await.expect("posted");
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
async fn failed_and_abandoned_pages_stand_in_the_statement_at_nothing() {
    let world = world(Nanodollars(PER_CENT)).await;
    world.hold(500).expect("money").void("timed out after 5 s");
    drop(world.hold(500).expect("money"));
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
async fn a_page_that_outgrows_its_ceiling_costs_nothing() {
    let world = world(Nanodollars(PER_CENT)).await;
    let hold = world.hold(100).expect("money");
    let refusal = hold.post(&bytes(101)).await.expect_err("too much");
    assert!(matches!(refusal, BillingError::OutgrewCeiling { .. }));
    assert_eq!(world.billing.balance(&world.account), Nanodollars(PER_CENT));
    assert_eq!(
        kinds(&world.statement().await),
        ["top_up", "reserve", "void"]
    );
    world.check_sums().await;
}

#[tokio::test]
async fn what_is_left_is_reserved_and_then_nothing_is() {
    let world = world(Nanodollars(100)).await;
    let first = world.hold(i64::MAX).expect("a hundred is left");
    assert_eq!(first.ceiling(), Nanodollars(100));
    assert_eq!(world.hold(1).err(), Some(FundsError::AllHeld));
    assert_eq!(
        world.hold(0).expect("nothing is asked").ceiling(),
        Nanodollars::ZERO
    );
    first.post(&bytes(100)).await.expect("posted");
    assert_eq!(world.hold(1).err(), Some(FundsError::Empty));
    let free = world.hold(0).expect("a flat-rate page needs no money");
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
        "the sum of the pages is the bill"
    );
    assert!(left.balance.0 < 400_000, "the cent is nearly used up");
    world.check_sums().await;
}

/// Buys pages until the money is gone; what was charged.
async fn spend(world: &World, task: i64) -> i64 {
    let mut billed = 0;
    for page in 0..200 {
        tokio::task::yield_now().await;
        let Ok(hold) = world.hold(100_000) else {
            continue;
        };
        let charge = (task * 7_919 + page * 104_729) % 110_000;
        if page % 5 == 0 {
            hold.void("failed");
        } else if hold.post(&bytes(charge)).await.is_ok() {
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
        .create_key(&world.account, "")
        .await
        .expect("key");
    world
        .hold(500)
        .expect("money")
        .post(&bytes(77))
        .await
        .expect("posted");
    let forgotten = world.hold(500).expect("money");
    world.billing.flush().await.expect("flushed");
    // As if the process had ended here: nothing is written for this hold any more.
    std::mem::forget(forgotten);
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
async fn nothing_hangs_after_the_end() {
    let world = world(Nanodollars(PER_CENT)).await;
    let hold = world.hold(500).expect("money");
    world.billing.close().await;
    let refusal = hold
        .post(&bytes(1))
        .await
        .expect_err("the ledger is closed");
    assert!(matches!(refusal, BillingError::Unavailable));
    assert_eq!(world.hold(1).err(), Some(FundsError::Busy));
    assert!(world.billing.flush().await.is_err());
}

#[tokio::test]
async fn a_dropped_post_is_charged_once_or_not_at_all() {
    let world = world(Nanodollars(PER_CENT)).await;
    drop(world.hold(500).expect("money").post(&bytes(10)));
    let charge = bytes(10);
    let mut post = Box::pin(world.hold(500).expect("money").post(&charge));
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

#[tokio::test]
async fn the_same_top_up_twice_is_paid_in_once() {
    let world = world(Nanodollars::ZERO).await;
    let dollars = |n: i64| Nanodollars(n * 1_000_000_000);
    let top_up = |amount, id| world.billing.top_up(&world.account, amount, id);
    let first = top_up(dollars(500), Some("invoice-7")).await.expect("paid");
    assert_eq!((first.bonus, first.is_repeat), (dollars(25), false));
    let again = top_up(dollars(500), Some("invoice-7"))
        .await
        .expect("known");
    assert!(again.is_repeat);
    let other = top_up(dollars(2), Some("invoice-7")).await;
    assert!(matches!(other, Err(BillingError::IdTaken { .. })));
    assert_eq!(world.billing.balance(&world.account), dollars(525));
    top_up(dollars(2), None).await.expect("paid");
    assert_eq!(world.billing.balance(&world.account), dollars(527));
    for amount in [Nanodollars::ZERO, dollars(-1), Nanodollars::MAX] {
        let refusal = top_up(amount, None).await;
        assert!(matches!(refusal, Err(BillingError::BadAmount { .. })));
    }
    world.check_sums().await;
}

#[tokio::test]
async fn keys_count_at_once_and_end_at_once() {
    let world = world(Nanodollars::ZERO).await;
    let billing = &world.billing;
    assert_eq!(billing.authenticate("tr_wrong"), None);
    let key = billing.create_key(&world.account, "").await.expect("a key");
    assert!(billing.authenticate(key.expose()).is_some());
    let keys = billing.keys(&world.account);
    assert_eq!(keys.len(), 2);
    let shown = key.expose().get(..11).expect("a key is longer");
    let revoked = billing.revoke_key(&world.account, shown).await;
    assert!(revoked.expect("the store works"));
    assert_eq!(billing.authenticate(key.expose()), None);
    let again = billing.revoke_key(&world.account, shown).await;
    assert!(!again.expect("the store works"));
    let world = world.restarted().await;
    assert_eq!(world.billing.authenticate(key.expose()), None);
}

#[tokio::test]
async fn every_file_is_private_and_has_no_key() {
    let world = world(Nanodollars(PER_CENT)).await;
    let key = world.billing.create_key(&world.account, "").await;
    let key = key.expect("a key");
    let hidden = key.expose().get(11..).expect("a key is longer").as_bytes();
    for file in std::fs::read_dir(world.directory.path()).expect("a directory") {
        let path = file.expect("a file").path();
        let mode = std::fs::metadata(&path)
            .expect("a file")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{}", path.display());
        let content = std::fs::read(&path).expect("readable");
        let found = content.windows(hidden.len()).any(|part| part == hidden);
        assert!(!found, "{}", path.display());
    }
}

#[tokio::test]
async fn names_are_checked() {
    let world = world(Nanodollars::ZERO).await;
    for name in ["", " bob", "acc_bob", "a\nb", &"x".repeat(101)] {
        let refusal = world.billing.create_account(name, Nanodollars::ZERO).await;
        assert!(
            matches!(refusal, Err(BillingError::BadName { .. })),
            "{name}"
        );
    }
    let taken = world.billing.create_account("alice", Nanodollars::ZERO);
    assert!(matches!(taken.await, Err(BillingError::NameTaken { .. })));
    assert!(world.billing.find("alice").is_some());
    assert!(world.billing.find(world.account.as_str()).is_some());
    assert!(world.billing.known("nobody").is_err());
}

#[tokio::test]
async fn a_repeated_request_gets_the_first_answer() {
    let world = world(Nanodollars::ZERO).await;
    let begin = |key: &'static str, hash: u8| {
        let begun = world.billing.begin(&world.account, key, [hash; 32]);
        async move { begun.await.expect("the store works") }
    };
    let Begun::New(first) = begin("k", 1).await else {
        panic!("the first of its key")
    };
    assert!(matches!(begin("k", 1).await, Begun::InFlight));
    assert!(matches!(begin("k", 2).await, Begun::Mismatch));
    drop(first);
    let Begun::New(first) = begin("k", 2).await else {
        panic!("the key was freed")
    };
    let answer = Answer {
        status: 200,
        content_type: "application/json".to_owned(),
        body: "[]".into(),
    };
    first.finish(answer.clone()).await.expect("kept");
    assert!(matches!(begin("k", 2).await, Begun::Replay(kept) if kept == answer));
    assert!(matches!(begin("k", 1).await, Begun::Mismatch));
    let Begun::New(large) = begin("large", 1).await else {
        panic!("another key")
    };
    let body = vec![b' '; ANSWER_BYTES_MAX + 1].into();
    large
        .finish(Answer { body, ..answer })
        .await
        .expect("noted");
    assert!(matches!(begin("large", 1).await, Begun::TooLarge));
    world.clock.advance(Duration::from_secs(24 * 60 * 60 + 1));
    assert!(matches!(begin("k", 1).await, Begun::New(_)));
    assert!(
        world
            .billing
            .begin(&world.account, "", [0; 32])
            .await
            .is_err()
    );
}

/// One thing that can happen to an account.
#[derive(Clone, Debug)]
enum Step {
    Hold(i64),
    Post(usize, i64),
    Void(usize),
    Drop(usize),
    TopUp(i64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..5_000_i64).prop_map(Step::Hold),
        3 => (any::<usize>(), 0..5_500_i64).prop_map(|(hold, charge)| Step::Post(hold, charge)),
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
    let mut holds: Vec<Hold> = Vec::new();
    for step in steps {
        let mut pick = |n: usize| {
            let n_holds = holds.len();
            (n_holds > 0).then(|| holds.swap_remove(n % n_holds))
        };
        match step {
            Step::Hold(ceiling) => holds.extend(world.hold(ceiling).ok()),
            Step::Post(n, charge) => {
                if let Some(hold) = pick(n) {
                    let fits = charge <= hold.ceiling().0;
                    assert_eq!(hold.post(&bytes(charge)).await.is_ok(), fits);
                    billed += if fits { charge } else { 0 };
                }
            }
            Step::Void(n) => pick(n).into_iter().for_each(|hold| hold.void("failed")),
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
        let held: i64 = holds.iter().map(|hold| hold.ceiling().0).sum();
        assert_eq!((funds.balance.0, funds.held.0), (paid_in - billed, held));
        assert!(funds.available() >= Nanodollars::ZERO);
        world.check_sums().await;
    }
}
