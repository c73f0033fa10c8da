//! A store that fails: nothing is charged for what was not delivered, and nothing is lost when it works again.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use futures_util::future::BoxFuture;
use tokio_util::task::TaskTracker;

use super::*;
use trawl_model::Charge;
use trawl_model::clock::Timestamp;
use trawl_model::secret::Secret;
use trawl_model::{StopReason, UrlRow};
use trawl_store::sqlite::SqliteStore;
use trawl_store::{
    AccountRecord, AnswerKey, Contact, CrawlRecord, CrawlState, DataDir, KeptAnswer, OpenReserve,
    OutboxRow, PageRange, PageRow, Progress, Records, Rows, StoreFuture, Subscription, Written,
};

const WORKS: u8 = 0;
/// Refuses every group, as a full disk does.
const FAILS: u8 = 1;
/// Writes one group and says that it did not, as a disk may that fails while it flushes; then works.
const LIES_ONCE: u8 = 2;

#[derive(Debug)]
struct Faulty {
    store: SqliteStore,
    mode: AtomicU8,
}

impl Faulty {
    fn set(&self, mode: u8) {
        self.mode.store(mode, Ordering::SeqCst);
    }
}

fn fault() -> StoreError {
    StoreError::Database {
        doing: "write the ledger",
        source: sqlx::Error::WorkerCrashed,
    }
}

impl Store for Faulty {
    fn post_group<'a>(&'a self, entries: &'a [Entry]) -> StoreFuture<'a, Vec<Written>> {
        Box::pin(async move {
            match self.mode.load(Ordering::SeqCst) {
                FAILS => Err(fault()),
                LIES_ONCE => {
                    self.store.post_group(entries).await?;
                    self.set(WORKS);
                    Err(fault())
                }
                _ => self.store.post_group(entries).await,
            }
        })
    }

    fn accounts(&self) -> StoreFuture<'_, Vec<AccountRecord>> {
        self.store.accounts()
    }

    fn keys(&self) -> StoreFuture<'_, Vec<KeyRecord>> {
        self.store.keys()
    }

    fn create_account<'a>(
        &'a self,
        account: &'a AccountRecord,
        key: &'a KeyRecord,
        opening: &'a [Entry],
    ) -> StoreFuture<'a, ()> {
        self.store.create_account(account, key, opening)
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

    fn entry<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Option<Posted>> {
        self.store.entry(id)
    }

    fn open_reserves(&self) -> StoreFuture<'_, Vec<OpenReserve>> {
        self.store.open_reserves()
    }

    fn run_spent<'a>(&'a self, run: &'a str) -> StoreFuture<'a, Nanodollars> {
        self.store.run_spent(run)
    }

    fn run_charge<'a>(&'a self, run: &'a str) -> StoreFuture<'a, Charge> {
        self.store.run_charge(run)
    }

    fn save_contacts<'a>(
        &'a self,
        account: &'a AccountId,
        contacts: &'a [Contact],
    ) -> StoreFuture<'a, u64> {
        self.store.save_contacts(account, contacts)
    }

    fn contacts<'a>(
        &'a self,
        account: &'a AccountId,
        domain: Option<&'a str>,
        cut: PageRange,
    ) -> StoreFuture<'a, Rows<Contact>> {
        self.store.contacts(account, domain, cut)
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

    fn subscriptions(&self) -> StoreFuture<'_, Vec<Subscription>> {
        self.store.subscriptions()
    }

    fn save_subscription<'a>(
        &'a self,
        row: &'a Subscription,
        charge: Option<&'a Entry>,
    ) -> StoreFuture<'a, Written> {
        Box::pin(async move {
            match self.mode.load(Ordering::SeqCst) {
                FAILS => Err(fault()),
                LIES_ONCE => {
                    self.store.save_subscription(row, charge).await?;
                    self.set(WORKS);
                    Err(fault())
                }
                _ => self.store.save_subscription(row, charge).await,
            }
        })
    }

    fn answer<'a>(
        &'a self,
        key: &'a AnswerKey,
        since: Timestamp,
    ) -> StoreFuture<'a, Option<KeptAnswer>> {
        self.store.answer(key, since)
    }

    fn keep_answer<'a>(
        &'a self,
        key: &'a AnswerKey,
        answer: &'a KeptAnswer,
        expired: Timestamp,
    ) -> StoreFuture<'a, ()> {
        self.store.keep_answer(key, answer, expired)
    }

    fn outbox_push<'a>(&'a self, rows: &'a [OutboxRow]) -> StoreFuture<'a, u64> {
        self.store.outbox_push(rows)
    }

    fn outbox_due<'a>(
        &'a self,
        now: Timestamp,
        busy: &'a [String],
        count_max: u32,
    ) -> StoreFuture<'a, Vec<OutboxRow>> {
        self.store.outbox_due(now, busy, count_max)
    }

    fn outbox_next<'a>(&'a self, busy: &'a [String]) -> StoreFuture<'a, Option<Timestamp>> {
        self.store.outbox_next(busy)
    }

    fn outbox_count(&self) -> StoreFuture<'_, u64> {
        self.store.outbox_count()
    }

    fn outbox_done<'a>(&'a self, ids: &'a [String]) -> StoreFuture<'a, u64> {
        self.store.outbox_done(ids)
    }

    fn outbox_postpone<'a>(
        &'a self,
        destination: &'a str,
        tried: &'a [String],
        until: Timestamp,
        expired: Timestamp,
    ) -> StoreFuture<'a, u64> {
        self.store
            .outbox_postpone(destination, tried, until, expired)
    }

    fn webhook_secret<'a>(&'a self, account: &'a AccountId) -> StoreFuture<'a, Secret> {
        self.store.webhook_secret(account)
    }

    fn create_crawl<'a>(&'a self, record: &'a CrawlRecord) -> StoreFuture<'a, ()> {
        self.store.create_crawl(record)
    }

    fn crawl<'a>(
        &'a self,
        account: &'a AccountId,
        id: &'a str,
    ) -> StoreFuture<'a, Option<CrawlRecord>> {
        self.store.crawl(account, id)
    }

    fn crawls<'a>(
        &'a self,
        account: &'a AccountId,
        before: Timestamp,
        count_max: u32,
    ) -> StoreFuture<'a, Vec<CrawlRecord>> {
        self.store.crawls(account, before, count_max)
    }

    fn unfinished_crawls(&self) -> StoreFuture<'_, Vec<CrawlRecord>> {
        self.store.unfinished_crawls()
    }

    fn set_crawl_state<'a>(&'a self, id: &'a str, state: CrawlState) -> StoreFuture<'a, ()> {
        self.store.set_crawl_state(id, state)
    }

    fn end_crawl<'a>(
        &'a self,
        id: &'a str,
        stop: StopReason,
        at: Timestamp,
    ) -> StoreFuture<'a, ()> {
        self.store.end_crawl(id, stop, at)
    }

    fn save_crawl_progress<'a>(
        &'a self,
        id: &'a str,
        progress: &'a Progress,
    ) -> StoreFuture<'a, ()> {
        self.store.save_crawl_progress(id, progress)
    }

    fn crawl_urls<'a>(
        &'a self,
        id: &'a str,
        after: Option<u32>,
        count_max: u32,
    ) -> StoreFuture<'a, Vec<UrlRow>> {
        self.store.crawl_urls(id, after, count_max)
    }

    fn crawl_skipped<'a>(
        &'a self,
        id: &'a str,
        after: Option<u32>,
        count_max: u32,
    ) -> StoreFuture<'a, Vec<UrlRow>> {
        self.store.crawl_skipped(id, after, count_max)
    }

    fn crawl_pages<'a>(
        &'a self,
        id: &'a str,
        after: u64,
        count_max: u32,
    ) -> StoreFuture<'a, Vec<PageRow>> {
        self.store.crawl_pages(id, after, count_max)
    }

    fn last_crawl_page<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Option<PageRow>> {
        self.store.last_crawl_page(id)
    }

    fn expire_crawls(&self, before: Timestamp) -> StoreFuture<'_, Vec<String>> {
        self.store.expire_crawls(before)
    }

    fn records(&self) -> &dyn Records {
        self.store.records()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.store.close()
    }
}

struct World {
    billing: Billing,
    store: Arc<Faulty>,
    account: AccountId,
    _directory: tempfile::TempDir,
}

async fn world() -> World {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let data = DataDir::create(directory.path()).expect("a data directory");
    let store = Arc::new(Faulty {
        store: SqliteStore::open(data).await.expect("a store"),
        mode: AtomicU8::new(WORKS),
    });
    let same = Arc::clone(&store) as Arc<dyn Store>;
    let billing = Billing::start(same, Clock::wall(), &TaskTracker::new()).await;
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
    fn hold(&self) -> Hold {
        let hold = self.billing.hold(&self.account, Nanodollars(500), "u", "r");
        hold.expect("money is there")
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
    let before = world.hold();
    world.billing.flush().await.expect("the store works");
    world.store.set(FAILS);
    let refusal = before.post(&charge()).await.expect_err("not charged");
    assert!(matches!(refusal, BillingError::Unavailable));
    let top_up = world.billing.top_up(&world.account, Nanodollars(5), None);
    assert!(top_up.await.is_err());
    world.hold().void("failed too");
    assert!(world.hold().post(&charge()).await.is_err());
    world.store.set(WORKS);
    world.settles_at(10_000).await;
    world.hold().post(&charge()).await.expect("it goes on");
    world.settles_at(9_900).await;
}

#[tokio::test]
async fn a_charge_that_reached_the_disk_after_all_stands_in_memory_too() {
    let world = world().await;
    world.store.set(LIES_ONCE);
    assert!(world.hold().post(&charge()).await.is_err());
    world.settles_at(9_900).await;
}

#[tokio::test]
async fn the_end_does_not_wait_for_a_store_that_fails() {
    let world = world().await;
    world.hold().void("before");
    let open = world.hold();
    world.store.set(FAILS);
    world.billing.close().await;
    assert!(open.post(&charge()).await.is_err());
}

async fn share(purse: &RunBudget, page: &str) -> Hold {
    let soon = Instant::now() + std::time::Duration::from_secs(20);
    let hold = purse.hold(Nanodollars(500), "u", page, soon).await;
    hold.expect("money is there")
}

impl World {
    fn purse(&self) -> RunBudget {
        let purse = self
            .billing
            .purse(&self.account, "r", Nanodollars(2_000), Nanodollars::ZERO);
        purse.expect("a purse")
    }
}

#[tokio::test]
async fn a_page_of_a_run_that_could_not_be_charged_can_be_charged_later() {
    let world = world().await;
    let purse = world.purse();
    share(&purse, "1").await.void("so that a slice is there");
    world.billing.flush().await.expect("the store works");
    world.store.set(FAILS);
    assert!(share(&purse, "2").await.post(&charge()).await.is_err());
    share(&purse, "3").await.void("failed too");
    world.store.set(WORKS);
    world.billing.flush().await.expect("the store works");
    assert_eq!(
        purse.spent(),
        Nanodollars::ZERO,
        "the run has its money back"
    );
    let again = share(&purse, "2").await.post(&charge()).await;
    assert_eq!(again.expect("charged"), charge());
    assert_eq!(purse.spent(), Nanodollars(100));
    drop(purse);
    world.settles_at(9_900).await;
}

#[tokio::test]
async fn a_charge_of_a_run_that_reached_the_disk_after_all_stands_everywhere() {
    let world = world().await;
    let purse = world.purse();
    world.store.set(LIES_ONCE);
    assert!(share(&purse, "1").await.post(&charge()).await.is_err());
    world.billing.flush().await.expect("the store works");
    assert_eq!(purse.spent(), Nanodollars(100));
    purse.close();
    world.settles_at(9_900).await;
    let spent = world.billing.spent_by_run("r").await;
    assert_eq!(spent.expect("a sum"), Nanodollars(100));
}

#[tokio::test]
async fn a_purse_that_is_closed_while_its_post_fails_leaves_nothing_set_aside() {
    let world = world().await;
    let purse = world.purse();
    let hold = share(&purse, "1").await;
    world.store.set(FAILS);
    assert!(hold.post(&charge()).await.is_err());
    drop(purse);
    world.store.set(WORKS);
    // The charge is free again once it is known that the ledger does not have it, and only then given back.
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
async fn seats_that_reached_the_disk_after_all_are_charged_once() {
    let world = world().await.with_cheap_seats();
    world.store.set(LIES_ONCE);
    let bought = world.billing.set_seats(&world.account, 3).await;
    assert_eq!(bought.expect("bought").1, Nanodollars(300));
    assert_eq!(world.billing.slots(&world.account).seats, 3);
    world.settles_at(9_700).await;
    world.store.set(LIES_ONCE);
    let more = world.billing.set_seats(&world.account, 5).await;
    assert_eq!(more.expect("more").1, Nanodollars(200));
    world.settles_at(9_500).await;
}

#[tokio::test]
async fn seats_that_cannot_be_written_are_not_sold_and_their_money_waits() {
    let world = world().await.with_cheap_seats();
    world.store.set(FAILS);
    let refusal = world.billing.set_seats(&world.account, 3).await;
    assert!(matches!(refusal, Err(BillingError::Unavailable)));
    assert_eq!(world.billing.subscription(&world.account), None);
    // Nobody can tell whether the ledger has the charge, so nobody spends it.
    assert_eq!(world.billing.funds(&world.account).held, Nanodollars(300));
    world.store.set(WORKS);
    let audit = world.billing.verify().await.expect("an audit");
    assert_eq!(audit.disagreements, []);
}
