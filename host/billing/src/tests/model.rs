//! Money by model: thousands of random steps of accounts, runs, pages, seats, faults of the store
//! and kills, compared with a ledger so simple that it can be read.
//!
//! `TRAWL_MODEL_STEPS=5000000 cargo test --release --package trawl-billing model` plays longer.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use trawl_model::clock::{Clock, Timestamp};
use trawl_model::{Charge, Nanodollars};
use trawl_store::sqlite::SqliteStore;
use trawl_store::{DataDir, EntryKind, LedgerStore, Window};

use super::faults::{FAILS, FAILS_AFTER_WRITE, FaultyStore, WORKS};
use crate::{AccountId, Billing, Reservation, RunBudget, SeatPrices};

/// Steps of one test; `TRAWL_MODEL_STEPS` sets another number.
const STEPS: u64 = 4_000;
/// Steps between two restarts of everything with a new seed.
const STEPS_PER_WORLD: u64 = 400;
/// Steps between two comparisons with the reference.
const CHECK_EVERY: u64 = 10;
const ACCOUNTS: usize = 3;
/// What an account begins with.
const OPENING: i64 = 60_000;
/// Pages of a run that differ: small, so that pages are tried again.
const PAGES_OF_RUN: u64 = 40;
const SEAT_PRICE: i64 = 70;

/// What must be true of the money, by the rules of the specification alone.
#[derive(Default)]
struct Reference {
    /// Acknowledged charges by the id of their post.
    charged: BTreeMap<String, (usize, i64)>,
    /// Charges that may have happened: their acknowledgement was lost.
    uncertain: BTreeMap<String, (usize, i64)>,
    /// The most that each run may cost, by its name.
    ceilings: BTreeMap<String, (usize, i64)>,
}

/// A page in flight.
struct Page {
    reservation: Reservation,
    account: usize,
    post_id: String,
}

struct Run {
    budget: RunBudget,
    name: String,
    account: usize,
}

/// Deterministic pseudo-random numbers (SplitMix64).
pub(super) struct Random(pub(super) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }

    fn index(&mut self, n: usize) -> usize {
        self.below(n as u64) as usize
    }
}

struct Game {
    store: Arc<FaultyStore>,
    billing: Billing,
    clock: Clock,
    accounts: Vec<AccountId>,
    pages: Vec<Page>,
    runs: Vec<Run>,
    reference: Reference,
    /// Whether the store fails for now.
    is_failing: bool,
    n_runs: u64,
    random: Random,
    seed: u64,
    _folder: tempfile::TempDir,
}

fn bytes(amount: i64) -> Charge {
    Charge {
        bytes_transferred: Nanodollars(amount),
        ..Charge::default()
    }
}

async fn billing(store: &Arc<FaultyStore>, clock: &Clock) -> Billing {
    let started = Billing::start(store.clone(), clock.clone(), &TaskTracker::new()).await;
    let prices = SeatPrices::new(vec![(1, Nanodollars(SEAT_PRICE))]);
    started
        .expect("billing starts")
        .with_seat_prices(prices.expect("a list"))
}

impl Game {
    async fn new(seed: u64) -> Self {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let data = DataDir::create(folder.path()).expect("a data directory");
        let store = SqliteStore::open(data).await.expect("a store");
        let store = Arc::new(FaultyStore::new(store));
        let clock = Clock::fake(Timestamp(1_700_000_000_000));
        let billing = billing(&store, &clock).await;
        let mut accounts = Vec::new();
        for name in ["alice", "bob", "carol"] {
            let created = billing.create_account(name, Nanodollars(OPENING)).await;
            accounts.push(created.expect("a new account").0.id.clone());
        }
        Self {
            store,
            billing,
            clock,
            accounts,
            pages: Vec::new(),
            runs: Vec::new(),
            reference: Reference::default(),
            is_failing: false,
            n_runs: 0,
            random: Random(seed),
            seed,
            _folder: folder,
        }
    }

    async fn step(&mut self) {
        match self.random.below(100) {
            0..30 => self.reserve_for_run().await,
            30..40 => self.reserve_alone(),
            40..52 => self.grow().await,
            52..75 => self.post().await,
            75..80 => self.drop_while_posting().await,
            80..84 => self.end_page(),
            84..87 => self.end_run(),
            87..90 => self.top_up().await,
            90..92 => self.seats().await,
            92..94 => self.clock.advance(std::time::Duration::from_secs(
                self.random.below(40_000_000),
            )),
            94..96 => self.fail_once(),
            96..98 => self.fail_for_a_while().await,
            98 => self.restart(false).await,
            _ => self.restart(true).await,
        }
    }

    fn reserve_alone(&mut self) {
        let account = self.random.index(ACCOUNTS);
        let likely = Nanodollars(self.random.below(3_000) as i64);
        let id = &self.accounts[account];
        if let Ok(reservation) =
            self.billing
                .reserve_likely(id, likely, "https://a.example/", "alone")
        {
            let post_id = format!("s:{}", reservation.id());
            self.pages.push(Page {
                reservation,
                account,
                post_id,
            });
        }
    }

    async fn reserve_for_run(&mut self) {
        if self.runs.is_empty() || self.random.below(8) == 0 {
            self.begin_run().await;
        }
        let at = self.random.index(self.runs.len());
        let page = self.random.below(PAGES_OF_RUN).to_string();
        let likely = Nanodollars(self.random.below(900) as i64);
        let Some(Run {
            budget,
            name,
            account,
        }) = self.runs.get(at)
        else {
            return;
        };
        let post_id = format!("c:{name}:{page}");
        // As a crawl does: a page that was charged is not fetched again, and one in flight is not
        // fetched twice.
        let is_known = self.reference.charged.contains_key(&post_id);
        if is_known || self.pages.iter().any(|page| page.post_id == post_id) {
            return;
        }
        if let Some((_, amount)) = self.reference.uncertain.get(&post_id).copied() {
            let Ok(charged) = self.billing.charged(name, &page).await else {
                return;
            };
            if let Some(charge) = charged {
                assert_eq!(charge, bytes(amount), "seed {}", self.seed);
                self.reference.uncertain.remove(&post_id);
                self.reference.charged.insert(post_id, (*account, amount));
                return;
            }
        }
        if let Ok(reservation) = budget.reserve_now(likely, "https://b.example/", &page) {
            self.pages.push(Page {
                reservation,
                account: *account,
                post_id,
            });
        }
    }

    async fn begin_run(&mut self) {
        let account = self.random.index(ACCOUNTS);
        self.n_runs += 1;
        let name = format!("run{}", self.n_runs);
        let ceiling = match self.random.below(3) {
            0 => i64::MAX,
            _ => self.random.below(9_000) as i64,
        };
        self.reference
            .ceilings
            .insert(name.clone(), (account, ceiling));
        self.open_run(name, account, ceiling).await;
    }

    async fn open_run(&mut self, name: String, account: usize, ceiling: i64) {
        let Ok(spent) = self.billing.spent_by_run(&name).await else {
            return;
        };
        let id = &self.accounts[account];
        let ceiling = Nanodollars(ceiling);
        if let Ok(budget) = self.billing.run_budget(id, &name, ceiling, spent) {
            self.runs.push(Run {
                budget,
                name,
                account,
            });
        }
    }

    async fn grow(&mut self) {
        if self.pages.is_empty() {
            return;
        }
        let at = self.random.index(self.pages.len());
        let needed = Nanodollars(self.random.below(4_000) as i64);
        let preferred = needed + Nanodollars(self.random.below(500) as i64);
        let page = &mut self.pages[at].reservation;
        let before = page.ceiling();
        let grown = page.grow(needed, preferred, Instant::now()).await;
        let after = page.ceiling();
        assert!(after >= before, "seed {}", self.seed);
        assert!(grown.is_err() || after >= needed, "seed {}", self.seed);
    }

    fn pick(&mut self) -> Option<Page> {
        let n_pages = self.pages.len();
        (n_pages > 0).then(|| {
            let at = self.random.index(n_pages);
            self.pages.swap_remove(at)
        })
    }

    /// What a page costs: mostly no more than it reserved.
    fn cost(&mut self, page: &Page) -> i64 {
        let reserved = page.reservation.ceiling().0;
        match self.random.below(12) {
            0 => reserved + 1,
            1 => reserved,
            _ => self.random.below(reserved as u64 + 1) as i64,
        }
    }

    async fn post(&mut self) {
        let Some(page) = self.pick() else { return };
        let amount = self.cost(&page);
        let (account, id) = (page.account, page.post_id);
        let fits = amount <= page.reservation.ceiling().0;
        let posted = page.reservation.post(&bytes(amount)).await;
        assert!(
            fits || posted.is_err(),
            "seed {}: charged above its ceiling",
            self.seed
        );
        if posted.is_ok() {
            self.reference.uncertain.remove(&id);
            let before = self.reference.charged.insert(id, (account, amount));
            assert!(before.is_none(), "seed {}: charged twice", self.seed);
        } else if fits {
            self.reference.uncertain.insert(id, (account, amount));
        }
    }

    /// The task of a page ends while its charge is on the way to the disk.
    async fn drop_while_posting(&mut self) {
        let Some(page) = self.pick() else { return };
        let amount = self.cost(&page);
        let (account, id) = (page.account, page.post_id);
        let fits = amount <= page.reservation.ceiling().0;
        let charge = bytes(amount);
        let mut post = Box::pin(page.reservation.post(&charge));
        let _polled = futures_util::poll!(&mut post);
        drop(post);
        if fits {
            self.reference.uncertain.insert(id, (account, amount));
        }
    }

    fn end_page(&mut self) {
        let Some(page) = self.pick() else { return };
        match self.random.below(2) {
            0 => page.reservation.void("failed"),
            _ => drop(page),
        }
    }

    fn end_run(&mut self) {
        if !self.runs.is_empty() {
            let at = self.random.index(self.runs.len());
            let run = self.runs.swap_remove(at);
            match self.random.below(2) {
                0 => run.budget.close(),
                _ => drop(run),
            }
        }
    }

    async fn top_up(&mut self) {
        let account = self.random.index(ACCOUNTS);
        let amount = Nanodollars(self.random.below(5_000) as i64 + 1);
        let credited = (amount + crate::top_up::bonus(amount)).0;
        self.settle().await;
        let before = self.sum(account, |kind| kind != EntryKind::Post).await;
        let id = self.accounts[account].clone();
        let paid = self.billing.top_up(&id, amount, None).await;
        self.settle().await;
        let after = self.sum(account, |kind| kind != EntryKind::Post).await;
        let is_credited = paid.is_ok() && after - before == credited;
        assert!(is_credited, "seed {}: {before} {after}", self.seed);
    }

    /// Seats and their renewals are charged once each: all that is paid for them is in the ledger.
    async fn seats(&mut self) {
        let account = self.random.index(ACCOUNTS);
        let id = self.accounts[account].clone();
        let seats = self.random.below(5) as u32;
        self.settle().await;
        let before = self.sum(account, |kind| kind != EntryKind::Post).await;
        let bought = self.billing.set_seats(&id, seats).await;
        let after = self.sum(account, |kind| kind != EntryKind::Post).await;
        if let Ok((_, price)) = bought {
            assert!(
                before - after >= price.0,
                "seed {}: seats for nothing",
                self.seed
            );
        }
    }

    fn fail_once(&mut self) {
        if !self.is_failing {
            self.store.set(FAILS_AFTER_WRITE);
        }
    }

    async fn fail_for_a_while(&mut self) {
        self.is_failing = !self.is_failing;
        self.store.set(if self.is_failing { FAILS } else { WORKS });
        if !self.is_failing {
            self.settle().await;
        }
    }

    /// Ends the process, with or without time to write what it knows, and starts it again.
    async fn restart(&mut self, is_killed: bool) {
        if is_killed {
            self.store.set(FAILS);
        } else if self.is_failing {
            return;
        }
        let reopened: Vec<_> = self
            .runs
            .drain(..)
            .map(|run| (run.name, run.account))
            .collect();
        self.pages.clear();
        self.billing.close().await;
        self.store.set(WORKS);
        self.is_failing = false;
        self.billing = billing(&self.store, &self.clock).await;
        for id in &self.accounts {
            let held = self.billing.funds(id).held;
            assert_eq!(
                held,
                Nanodollars::ZERO,
                "seed {}: reserved after a start",
                self.seed
            );
        }
        // Background crawls continue.
        for (name, account) in reopened {
            let ceiling = self.reference.ceilings[&name].1;
            self.open_run(name, account, ceiling).await;
        }
    }

    /// Makes the store work and waits until all decisions are in the ledger.
    async fn settle(&mut self) {
        self.store.set(WORKS);
        self.is_failing = false;
        for _ in 0..50 {
            if self.billing.flush().await.is_ok() {
                return;
            }
        }
        panic!("seed {}: the ledger does not accept anything", self.seed);
    }

    /// Sum of an account's entries of some kinds.
    async fn sum(&self, account: usize, of: impl Fn(EntryKind) -> bool) -> i64 {
        let entries = self.entries(account).await;
        let amounts = entries.iter().filter(|(kind, ..)| of(*kind));
        amounts.map(|(_, amount, _)| amount).sum()
    }

    /// Kind, amount and run of each entry of an account.
    async fn entries(&self, account: usize) -> Vec<(EntryKind, i64, String)> {
        let window = Window {
            from: Timestamp::MIN,
            to: Timestamp::MAX,
            after: 0,
            limit: u32::MAX,
        };
        let statement = self.store.statement(&self.accounts[account], window).await;
        let entries = statement.expect("a statement").entries;
        let parts = entries.iter().map(|posted| {
            let entry = &posted.entry;
            (entry.kind, entry.amount.0, entry.run.to_string())
        });
        parts.collect()
    }

    /// Compares everything with the reference.
    async fn check(&mut self) {
        self.settle().await;
        let seed = self.seed;
        // Uncertain charges are decided now: they are in the ledger, whole, or not at all.
        let undecided = std::mem::take(&mut self.reference.uncertain);
        for (id, (account, amount)) in undecided {
            let entry = self.store.entry(&id).await.expect("a look");
            let is_in_flight = self.pages.iter().any(|page| page.post_id == id);
            let is_posted = entry.filter(|posted| posted.entry.kind == EntryKind::Post);
            match is_posted {
                Some(_) => {
                    self.reference.charged.insert(id, (account, amount));
                }
                None if is_in_flight => {
                    self.reference.uncertain.insert(id, (account, amount));
                }
                None => {}
            }
        }
        for (id, (account, amount)) in &self.reference.charged {
            let posted = self.store.entry(id).await.expect("a look");
            let posted =
                posted.unwrap_or_else(|| panic!("seed {seed}: {id} was delivered unbilled"));
            assert_eq!(
                posted.entry.amount,
                Nanodollars(-amount),
                "seed {seed}: {id}"
            );
            assert_eq!(
                posted.entry.account, self.accounts[*account],
                "seed {seed}: {id}"
            );
        }
        for account in 0..ACCOUNTS {
            let expected: i64 = self
                .reference
                .charged
                .values()
                .filter(|(payer, _)| *payer == account)
                .map(|(_, amount)| amount)
                .sum();
            let billed = -self.sum(account, |kind| kind == EntryKind::Post).await;
            assert_eq!(
                billed, expected,
                "seed {seed}: the sum of the pages is the bill"
            );
            let funds = self.billing.funds(&self.accounts[account]);
            let paid_in = self.sum(account, |kind| kind != EntryKind::Post).await;
            assert_eq!(funds.balance.0, paid_in - billed, "seed {seed}");
            assert!(
                funds.available() >= Nanodollars::ZERO,
                "seed {seed}: overdrawn"
            );
            let reserved: i64 = self
                .pages
                .iter()
                .filter(|page| page.account == account)
                .map(|page| page.reservation.ceiling().0)
                .sum();
            assert!(
                funds.held.0 >= reserved,
                "seed {seed}: {} < {reserved}",
                funds.held.0
            );
            if !self.runs.iter().any(|run| run.account == account) && !self.has_run_pages(account) {
                assert_eq!(funds.held.0, reserved, "seed {seed}: reserved for nothing");
            }
        }
        for (name, (account, ceiling)) in &self.reference.ceilings {
            let of_run = self.reference.charged.iter().filter(|(id, _)| {
                id.strip_prefix("c:").and_then(|id| id.split(':').next()) == Some(name)
            });
            let spent: i64 = of_run.map(|(_, (_, amount))| amount).sum();
            assert!(
                spent <= *ceiling,
                "seed {seed}: {name} of {account} is above its ceiling"
            );
        }
        let audit = self.billing.verify().await.expect("an audit");
        assert_eq!(audit.disagreements, [], "seed {seed}");
    }

    fn has_run_pages(&self, account: usize) -> bool {
        let mut pages = self.pages.iter();
        pages.any(|page| page.account == account && page.post_id.starts_with("c:"))
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the length of a test by hand comes from its caller"
)]
fn steps() -> u64 {
    let given = std::env::var("TRAWL_MODEL_STEPS").ok();
    given.and_then(|steps| steps.parse().ok()).unwrap_or(STEPS)
}

#[tokio::test]
async fn random_runs_are_billed_as_the_reference_says() {
    let mut kinds = BTreeSet::new();
    for world in 0..steps().div_ceil(STEPS_PER_WORLD) {
        let mut game = Game::new(world).await;
        for step in 0..STEPS_PER_WORLD {
            game.step().await;
            if step % CHECK_EVERY == 0 {
                game.check().await;
            }
        }
        game.check().await;
        for account in 0..ACCOUNTS {
            kinds.extend(
                game.entries(account)
                    .await
                    .iter()
                    .map(|(kind, ..)| kind.name()),
            );
        }
        let n_charged = game.reference.charged.len();
        assert!(
            n_charged > 10,
            "seed {world}: only {n_charged} pages were charged"
        );
    }
    // The steps reach every kind of entry that pages have.
    for kind in ["top_up", "reserve", "post", "void"] {
        assert!(kinds.contains(kind), "{kinds:?}");
    }
}
