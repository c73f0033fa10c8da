//! A store that fails: pages that are not delivered are not charged, and no money is lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use trawl_model::clock::{Clock, Timestamp};
use trawl_model::memory::PageMemory;
use trawl_model::secret::Secret;
use trawl_model::{Charge, Nanodollars, Terms};
use trawl_store::sqlite::SqliteStore;
use trawl_store::{
    AccountId, AccountRecord, AccountUsage, AnswerKey, Audit, DataDir, KeyPrefix, KeyRecord,
    KeyUse, LedgerEntry, LedgerStore, Notice, NoticeState, OpenReserve, Posted, PricesRow,
    SigningSecrets, StatementPage, StoreError, StoreFuture, StoredAnswer, Subscription, Threshold,
    WebhookSecrets, Window, Written,
};

use crate::{Billing, BillingError, Funds, FundsError, Reservation, RunBudget, SeatPrices};

/// How the store behaves.
pub(super) const WORKS: u8 = 0;
/// Refuses every write, like a full disk.
pub(super) const FAILS: u8 = 1;
/// Writes once but reports a failure, like a disk that fails while flushing; then works.
pub(super) const FAILS_AFTER_WRITE: u8 = 2;
/// Dies with the server during one of the next writes, which reaches the disk and is not reported.
pub(super) const DIES: u8 = 3;

/// Works, and its lease may end soon: another process may have it then.
const EXPIRES: u8 = 4;

#[derive(Debug)]
pub(super) struct FaultyStore {
    pub(super) store: SqliteStore,
    pub(super) mode: AtomicU8,
    /// Writes until it dies.
    n_left: AtomicU64,
}

impl FaultyStore {
    pub(super) fn new(store: SqliteStore) -> Self {
        Self {
            store,
            mode: AtomicU8::new(WORKS),
            n_left: AtomicU64::new(0),
        }
    }

    /// Dies during this write, counted from now.
    pub(super) fn die_after(&self, n_writes: u64) {
        self.n_left.store(n_writes, Ordering::SeqCst);
        self.set(DIES);
    }

    pub(super) fn set(&self, mode: u8) {
        self.mode.store(mode, Ordering::SeqCst);
    }

    async fn write<T>(&self, write: StoreFuture<'_, T>) -> Result<T, StoreError> {
        match self.mode.load(Ordering::SeqCst) {
            FAILS => Err(fault()),
            FAILS_AFTER_WRITE => {
                write.await?;
                self.set(WORKS);
                Err(fault())
            }
            DIES => {
                let one_less = |left: u64| left.checked_sub(1);
                let left = self
                    .n_left
                    .fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less);
                match left {
                    Ok(1) => {
                        write.await?;
                        Err(fault())
                    }
                    Ok(_) => write.await,
                    Err(_) => Err(fault()),
                }
            }
            _ => write.await,
        }
    }
}

fn fault() -> StoreError {
    StoreError::Database {
        doing: "write the ledger",
        source: sqlx::Error::WorkerCrashed,
    }
}

impl LedgerStore for FaultyStore {
    fn may_begin(&self) -> bool {
        self.mode.load(Ordering::SeqCst) != EXPIRES
    }

    fn post_group<'a>(&'a self, entries: &'a [LedgerEntry]) -> StoreFuture<'a, Vec<Written>> {
        Box::pin(self.write(self.store.post_group(entries)))
    }

    fn save_subscription<'a>(
        &'a self,
        row: &'a Subscription,
        charge: Option<&'a LedgerEntry>,
    ) -> StoreFuture<'a, Written> {
        Box::pin(self.write(self.store.save_subscription(row, charge)))
    }

    fn accounts(&self) -> StoreFuture<'_, Vec<AccountRecord>> {
        self.store.accounts()
    }

    fn create_account<'a>(
        &'a self,
        account: &'a AccountRecord,
        key: &'a KeyRecord,
        opening: &'a [LedgerEntry],
    ) -> StoreFuture<'a, ()> {
        self.store.create_account(account, key, opening)
    }

    fn keys(&self) -> StoreFuture<'_, Vec<KeyRecord>> {
        self.store.keys()
    }

    fn all_keys<'a>(&'a self, account: &'a AccountId) -> StoreFuture<'a, Vec<KeyRecord>> {
        self.store.all_keys(account)
    }

    fn create_key<'a>(&'a self, key: &'a KeyRecord) -> StoreFuture<'a, ()> {
        self.store.create_key(key)
    }

    fn revoke_key<'a>(
        &'a self,
        account: &'a AccountId,
        prefix: &'a str,
        at: Timestamp,
    ) -> StoreFuture<'a, bool> {
        self.store.revoke_key(account, prefix, at)
    }

    fn set_key_budget<'a>(
        &'a self,
        account: &'a AccountId,
        prefix: &'a str,
        budget: Option<Nanodollars>,
    ) -> StoreFuture<'a, bool> {
        self.store.set_key_budget(account, prefix, budget)
    }

    fn record_key_uses<'a>(&'a self, uses: &'a [KeyUse]) -> StoreFuture<'a, ()> {
        self.store.record_key_uses(uses)
    }

    fn save_notice<'a>(
        &'a self,
        account: &'a AccountId,
        notice: &'a Notice,
    ) -> StoreFuture<'a, ()> {
        self.store.save_notice(account, notice)
    }

    fn record_notice<'a>(
        &'a self,
        account: &'a AccountId,
        threshold: Threshold,
        state: NoticeState,
    ) -> StoreFuture<'a, ()> {
        self.store.record_notice(account, threshold, state)
    }

    fn entry<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Option<Posted>> {
        self.store.entry(id)
    }

    fn open_reserves(&self) -> StoreFuture<'_, Vec<OpenReserve>> {
        self.store.open_reserves()
    }

    fn run_spent<'a>(&'a self, run: &'a str) -> StoreFuture<'a, Nanodollars> {
        self.store.run_spent(run)
    }

    fn has_run_posts<'a>(&'a self, run: &'a str) -> StoreFuture<'a, bool> {
        self.store.has_run_posts(run)
    }

    fn run_posts<'a>(
        &'a self,
        run: &'a str,
        after: Option<&'a str>,
        count_max: u32,
    ) -> StoreFuture<'a, Vec<LedgerEntry>> {
        self.store.run_posts(run, after, count_max)
    }

    fn run_charge<'a>(&'a self, run: &'a str) -> StoreFuture<'a, Charge> {
        self.store.run_charge(run)
    }

    fn statement<'a>(
        &'a self,
        account: &'a AccountId,
        window: Window,
    ) -> StoreFuture<'a, StatementPage> {
        self.store.statement(account, window)
    }

    fn audit(&self) -> StoreFuture<'_, Audit> {
        self.store.audit()
    }

    fn usage(&self, from: Timestamp, to: Timestamp) -> StoreFuture<'_, Vec<AccountUsage>> {
        self.store.usage(from, to)
    }

    fn usage_by_day<'a>(
        &'a self,
        account: &'a AccountId,
        from: Timestamp,
        to: Timestamp,
    ) -> StoreFuture<'a, Vec<(Timestamp, AccountUsage)>> {
        self.store.usage_by_day(account, from, to)
    }

    fn usage_by_key<'a>(
        &'a self,
        account: &'a AccountId,
        from: Timestamp,
        to: Timestamp,
    ) -> StoreFuture<'a, Vec<(KeyPrefix, AccountUsage)>> {
        self.store.usage_by_key(account, from, to)
    }

    fn subscriptions(&self) -> StoreFuture<'_, Vec<Subscription>> {
        self.store.subscriptions()
    }

    fn answer<'a>(
        &'a self,
        key: &'a AnswerKey,
        since: Timestamp,
        memory: &'a PageMemory,
    ) -> StoreFuture<'a, Option<StoredAnswer>> {
        self.store.answer(key, since, memory)
    }

    fn store_answer<'a>(
        &'a self,
        key: &'a AnswerKey,
        answer: &'a StoredAnswer,
        expired: Timestamp,
    ) -> StoreFuture<'a, ()> {
        Box::pin(self.write(self.store.store_answer(key, answer, expired)))
    }

    fn forget_answer<'a>(&'a self, key: &'a AnswerKey) -> StoreFuture<'a, ()> {
        Box::pin(self.write(self.store.forget_answer(key)))
    }

    fn expire_answers(&self, before: Timestamp) -> StoreFuture<'_, u64> {
        self.store.expire_answers(before)
    }

    fn prices(&self) -> StoreFuture<'_, Vec<PricesRow>> {
        self.store.prices()
    }

    fn add_prices<'a>(&'a self, row: &'a PricesRow) -> StoreFuture<'a, ()> {
        self.store.add_prices(row)
    }
}

impl WebhookSecrets for FaultyStore {
    fn webhook_secret<'a>(&'a self, account: &'a AccountId) -> StoreFuture<'a, Secret> {
        self.store.webhook_secret(account)
    }

    fn signing_secrets<'a>(
        &'a self,
        account: &'a AccountId,
        since: Timestamp,
    ) -> StoreFuture<'a, SigningSecrets> {
        self.store.signing_secrets(account, since)
    }

    fn renew_webhook_secret<'a>(
        &'a self,
        account: &'a AccountId,
        now: Timestamp,
    ) -> StoreFuture<'a, Secret> {
        self.store.renew_webhook_secret(account, now)
    }
}

struct World {
    billing: Billing,
    store: Arc<FaultyStore>,
    account: AccountId,
    _directory: tempfile::TempDir,
}

async fn world() -> World {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let data = DataDir::create(directory.path()).expect("a data directory");
    let store = SqliteStore::open(data).await.expect("a store");
    let store = Arc::new(FaultyStore::new(store));
    let billing = Billing::start(store.clone(), Clock::wall(), &TaskTracker::new()).await;
    let billing = billing.expect("billing starts");
    let created = billing.create_account("alice", Nanodollars(10_000)).await;
    let (account, _key) = created.expect("a new account");
    World {
        billing,
        store,
        account: account.id.clone(),
        _directory: directory,
    }
}

impl World {
    fn reserve(&self) -> Reservation {
        let reservation = self
            .billing
            .reserve(&self.account, Nanodollars(500), "u", "r");
        reservation.expect("the balance is large enough")
    }

    async fn settles_at(&self, balance: i64) {
        self.billing.flush().await.expect("the store works");
        let expected = Funds {
            balance: Nanodollars(balance),
            held: Nanodollars::ZERO,
        };
        assert_eq!(self.billing.funds(&self.account), expected);
        let audit = self.billing.verify().await.expect("an audit");
        assert_eq!(audit.disagreements, []);
        let records = self.store.accounts().await.expect("accounts");
        assert_eq!(records[0].balance, Nanodollars(balance));
        assert_eq!(records[0].held, Nanodollars::ZERO);
    }
}

fn charge() -> Charge {
    Charge {
        bytes_transferred: Nanodollars(100),
        ..Charge::default()
    }
}

#[tokio::test]
async fn a_page_that_could_not_be_charged_is_not_charged_later() {
    let world = world().await;
    let before = world.reserve();
    world.billing.flush().await.expect("the store works");
    world.store.set(FAILS);
    let refusal = before.post(&charge()).await.expect_err("not charged");
    assert!(matches!(refusal, BillingError::Unavailable));
    let top_up = world.billing.top_up(&world.account, Nanodollars(5), None);
    assert!(top_up.await.is_err());
    world.reserve().void("failed too");
    assert!(world.reserve().post(&charge()).await.is_err());
    world.store.set(WORKS);
    world.settles_at(10_000).await;
    world
        .reserve()
        .post(&charge())
        .await
        .expect("the store works");
    world.settles_at(9_900).await;
}

#[tokio::test]
async fn nothing_begins_while_the_lease_of_the_store_may_end() {
    let world = world().await;
    let admit = |terms| world.billing.admit(&world.account, terms);
    let before = world.reserve();
    world.store.set(EXPIRES);
    for terms in [Terms::PayAsYouGo, Terms::Unlimited] {
        assert_eq!(admit(terms), Err(FundsError::Busy));
    }
    assert!(world.billing.is_failing());
    // What has begun ends.
    let posted = before.post(&charge()).await;
    posted.expect("the store works");
    world.store.set(WORKS);
    assert_eq!(admit(Terms::PayAsYouGo), Ok(()));
    assert!(!world.billing.is_failing());
    world.settles_at(9_900).await;
}

#[tokio::test]
async fn a_charge_that_reached_the_disk_despite_a_failure_is_deducted() {
    let world = world().await;
    world.store.set(FAILS_AFTER_WRITE);
    assert!(world.reserve().post(&charge()).await.is_err());
    world.settles_at(9_900).await;
}

#[tokio::test]
async fn a_void_that_reached_the_disk_despite_a_failure_charges_nothing() {
    let world = world().await;
    let page = world.reserve();
    world.billing.flush().await.expect("the store works");
    world.store.set(FAILS);
    assert!(page.post(&charge()).await.is_err());
    // The next write is the void. This flush may fail with it.
    world.store.set(FAILS_AFTER_WRITE);
    let _ignored = world.billing.flush().await;
    world.settles_at(10_000).await;
}

#[tokio::test]
async fn a_top_up_that_reached_the_disk_despite_a_failure_is_added_once() {
    let world = world().await;
    let top_up = || {
        let id = Some("invoice-9");
        world.billing.top_up(&world.account, Nanodollars(5), id)
    };
    world.store.set(FAILS_AFTER_WRITE);
    assert!(top_up().await.is_err());
    world.settles_at(10_005).await;
    assert!(top_up().await.expect("the store works").is_repeat);
    world.settles_at(10_005).await;
}

#[tokio::test]
async fn close_does_not_wait_for_a_store_that_fails() {
    let world = world().await;
    world.reserve().void("before");
    let open = world.reserve();
    world.store.set(FAILS);
    world.billing.close().await;
    assert!(open.post(&charge()).await.is_err());
}

async fn portion(budget: &RunBudget, page: &str) -> Reservation {
    let soon = Instant::now() + std::time::Duration::from_secs(20);
    let reservation = budget.reserve(Nanodollars(500), "u", page, soon).await;
    reservation.expect("the balance is large enough")
}

impl World {
    fn budget(&self) -> RunBudget {
        let budget =
            self.billing
                .run_budget(&self.account, "r", Nanodollars(2_000), Nanodollars::ZERO);
        budget.expect("a budget")
    }
}

#[tokio::test]
async fn a_page_of_a_run_that_could_not_be_charged_can_be_charged_later() {
    let world = world().await;
    let budget = world.budget();
    portion(&budget, "1").await.void("the allotment has grown");
    world.billing.flush().await.expect("the store works");
    world.store.set(FAILS);
    assert!(portion(&budget, "2").await.post(&charge()).await.is_err());
    portion(&budget, "3").await.void("failed too");
    world.store.set(WORKS);
    world.billing.flush().await.expect("the store works");
    assert_eq!(budget.spent(), Nanodollars::ZERO, "the charge was returned");
    let retried = portion(&budget, "2").await.post(&charge()).await;
    assert_eq!(retried.expect("charged"), charge());
    assert_eq!(budget.spent(), Nanodollars(100));
    drop(budget);
    world.settles_at(9_900).await;
}

#[tokio::test]
async fn a_charge_of_a_run_that_reached_the_disk_despite_a_failure_is_final() {
    let world = world().await;
    let budget = world.budget();
    world.store.set(FAILS_AFTER_WRITE);
    assert!(portion(&budget, "1").await.post(&charge()).await.is_err());
    world.billing.flush().await.expect("the store works");
    assert_eq!(budget.spent(), Nanodollars(100));
    budget.close();
    world.settles_at(9_900).await;
    let spent = world.billing.spent_by_run("r").await;
    assert_eq!(spent.expect("a sum"), Nanodollars(100));
}

#[tokio::test]
async fn a_budget_that_is_closed_while_a_post_fails_leaves_nothing_reserved() {
    let world = world().await;
    let budget = world.budget();
    let reservation = portion(&budget, "1").await;
    world.store.set(FAILS);
    assert!(reservation.post(&charge()).await.is_err());
    drop(budget);
    world.store.set(WORKS);
    // The charge is returned only once it is known that the ledger does not have it.
    world.billing.flush().await.expect("the store works");
    world.settles_at(10_000).await;
    let open = world.store.open_reserves().await;
    assert_eq!(open.expect("a search"), []);
}

impl World {
    /// Seats at a hundred nanodollars each.
    fn with_cheap_seats(mut self) -> Self {
        let prices = SeatPrices::new(vec![(1, Nanodollars(100))]);
        self.billing = self.billing.with_seat_prices(prices.expect("a list"));
        self
    }
}

#[tokio::test]
async fn seats_that_reached_the_disk_despite_a_failure_are_charged_once() {
    let world = world().await.with_cheap_seats();
    world.store.set(FAILS_AFTER_WRITE);
    let bought = world.billing.set_seats(&world.account, 3).await;
    assert_eq!(bought.expect("bought").1, Nanodollars(300));
    assert_eq!(world.billing.slots(&world.account).seats, 3);
    world.settles_at(9_700).await;
    world.store.set(FAILS_AFTER_WRITE);
    let more = world.billing.set_seats(&world.account, 5).await;
    assert_eq!(more.expect("more").1, Nanodollars(200));
    world.settles_at(9_500).await;
}

#[tokio::test]
async fn seats_that_cannot_be_written_are_not_sold_and_their_price_stays_reserved() {
    let world = world().await.with_cheap_seats();
    world.store.set(FAILS);
    let refusal = world.billing.set_seats(&world.account, 3).await;
    assert!(matches!(refusal, Err(BillingError::Unavailable)));
    assert_eq!(world.billing.subscription(&world.account), None);
    // It is unknown whether the ledger has the charge, so the money must not be spent.
    assert_eq!(world.billing.funds(&world.account).held, Nanodollars(300));
    world.store.set(WORKS);
    let audit = world.billing.verify().await.expect("an audit");
    assert_eq!(audit.disagreements, []);
}
