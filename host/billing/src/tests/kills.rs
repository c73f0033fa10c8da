//! A server that is killed at any moment, and clients that repeat whatever was not answered: in the
//! end everything is paid once, to the nanodollar.
//!
//! `TRAWL_MODEL_KILLS=1000 cargo test --release --package trawl-billing kills` kills more often.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use trawl_model::clock::{Clock, Timestamp};
use trawl_model::memory::MemoryBudget;
use trawl_model::{Charge, Nanodollars};
use trawl_store::sqlite::SqliteStore;
use trawl_store::{DataDir, LedgerStore};

use super::faults::{FAILS, FaultyStore, WORKS};
use super::model::Random;
use crate::{AccountId, Answer, Billing, BillingError, IdempotencyStart, Repeated, SeatPrices};

/// Kills of one test; `TRAWL_MODEL_KILLS` sets another number.
const KILLS: u64 = 60;
/// Kills until everything begins anew with another seed.
const KILLS_PER_WORLD: u64 = 20;
/// Jobs that are added before each kill.
const JOBS_PER_KILL: u64 = 5;
/// The store dies during one of so many writes.
const WRITES_MAX: u64 = 40;
const OPENING: Nanodollars = Nanodollars(1_000_000_000);
const SEATS: u32 = 3;
const SEAT_PRICE: i64 = 70;

/// What a client wants, and repeats until it is answered.
#[derive(Clone, Debug)]
enum Job {
    /// Pages of a request with an `Idempotency-Key`. With `looks_up` a repetition asks which pages
    /// were charged, as the server does; without, only the ledger knows.
    Scrape {
        key: String,
        n_pages: u64,
        looks_up: bool,
    },
    /// Pages of a background crawl.
    Crawl { id: String, n_pages: u64 },
    /// A payment of so many dollars with an id.
    TopUp { id: String, dollars: i64 },
    /// Seats of the Unlimited plan.
    Seats,
}

/// What a page costs.
fn price(page: u64) -> i64 {
    101 + 7 * i64::try_from(page).expect("few pages")
}

fn charge(page: u64) -> Charge {
    Charge {
        bytes_transferred: Nanodollars(price(page)),
        ..Charge::default()
    }
}

impl Job {
    fn random(random: &mut Random, n: u64) -> Self {
        let n_pages = random.below(6) + 1;
        match random.below(8) {
            0..4 => Self::Scrape {
                key: format!("key {n}"),
                n_pages,
                looks_up: random.below(2) == 0,
            },
            4..6 => Self::Crawl {
                id: format!("crawl{n}"),
                n_pages,
            },
            6 => Self::TopUp {
                id: format!("payment {n}"),
                dollars: 400 + 40 * i64::try_from(random.below(5)).expect("few"),
            },
            _ => Self::Seats,
        }
    }

    /// What it changes the balance by, done as often as it may be. Seats are paid once for all.
    fn worth(&self) -> i64 {
        match self {
            Self::Scrape { n_pages, .. } | Self::Crawl { n_pages, .. } => {
                -(0..*n_pages).map(price).sum::<i64>()
            }
            Self::TopUp { dollars, .. } => {
                let amount = Nanodollars(dollars * trawl_model::money::PER_DOLLAR);
                (amount + crate::top_up::bonus(amount)).0
            }
            Self::Seats => 0,
        }
    }

    /// Does it as far as the server lives.
    async fn attempt(&self, billing: &Billing, account: &AccountId) -> Result<(), String> {
        let message = |error: BillingError| error.to_string();
        match self {
            Self::Scrape {
                key,
                n_pages,
                looks_up,
            } => scrape(billing, account, key, (*n_pages, *looks_up)).await,
            Self::Crawl { id, n_pages } => {
                let pages = Pages {
                    billing,
                    account,
                    run: id,
                    paid_as: id,
                    looks_up: true,
                };
                pages.charge(*n_pages).await
            }
            Self::TopUp { id, dollars } => {
                let amount = Nanodollars(dollars * trawl_model::money::PER_DOLLAR);
                let paid = billing.top_up(account, amount, Some(id)).await;
                paid.map(drop).map_err(message)
            }
            Self::Seats => {
                let bought = billing.set_seats(account, SEATS).await;
                bought.map(drop).map_err(message)
            }
        }
    }
}

async fn scrape(
    billing: &Billing,
    account: &AccountId,
    key: &str,
    (n_pages, looks_up): (u64, bool),
) -> Result<(), String> {
    let message = |error: BillingError| error.to_string();
    let memory = MemoryBudget::unlimited().share(account.as_str());
    match billing
        .begin(account, key, [9; 32], &memory)
        .await
        .map_err(message)?
    {
        IdempotencyStart::New(mut first) => {
            let payment = first.open().await.map_err(message)?;
            let pages = Pages {
                billing,
                account,
                run: "request",
                paid_as: &payment.name,
                looks_up: looks_up && payment.is_repeated,
            };
            pages.charge(n_pages).await?;
            let answer = Answer {
                status: 200,
                content_type: "application/json".to_owned(),
                headers: Vec::new(),
                body: key.to_owned().into(),
            };
            first.finish(answer).await.map_err(message)
        }
        IdempotencyStart::Repeated(Repeated::Replay(answer)) => {
            assert_eq!(answer.body, key.as_bytes());
            Ok(())
        }
        other => panic!("{key}: {other:?}"),
    }
}

/// Pages to charge under a name.
struct Pages<'a> {
    billing: &'a Billing,
    account: &'a AccountId,
    run: &'a str,
    paid_as: &'a str,
    looks_up: bool,
}

impl Pages<'_> {
    async fn charge(&self, n_pages: u64) -> Result<(), String> {
        let Self {
            billing,
            account,
            run,
            paid_as,
            looks_up,
        } = *self;
        let money = (Nanodollars::MAX, Nanodollars::ZERO);
        let budget = billing.payment_budget(account, run, paid_as, money);
        let budget = budget.map_err(|error| error.to_string())?;
        for page in 0..n_pages {
            let page_id = page.to_string();
            if looks_up && let Ok(Some(before)) = billing.charged(paid_as, &page_id).await {
                assert_eq!(before, charge(page));
                continue;
            }
            let soon = Instant::now() + Duration::from_secs(5);
            let reserved = budget.reserve(Nanodollars(900), "https://a.example/", &page_id, soon);
            let reserved = reserved.await.map_err(|error| error.to_string())?;
            let posted = reserved.post(&charge(page)).await;
            let posted = posted.map_err(|error| error.to_string())?;
            assert_eq!(posted, charge(page));
        }
        Ok(())
    }
}

struct World {
    store: Arc<FaultyStore>,
    clock: Clock,
    billing: Billing,
    account: AccountId,
    random: Random,
    seed: u64,
    _folder: tempfile::TempDir,
}

async fn start(store: &Arc<FaultyStore>, clock: &Clock) -> Billing {
    let started = Billing::start(store.clone(), clock.clone(), &TaskTracker::new()).await;
    let prices = SeatPrices::new(vec![(1, Nanodollars(SEAT_PRICE))]);
    let prices = prices.expect("a list");
    started.expect("billing starts").with_seat_prices(prices)
}

impl World {
    async fn new(seed: u64) -> Self {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let data = DataDir::create(folder.path()).expect("a data directory");
        let store = SqliteStore::open(data).await.expect("a store");
        let store = Arc::new(FaultyStore::new(store));
        let clock = Clock::fake(Timestamp(1_700_000_000_000));
        let billing = start(&store, &clock).await;
        let created = billing.create_account("alice", OPENING).await;
        let account = created.expect("a new account").0.id.clone();
        Self {
            store,
            clock,
            billing,
            account,
            random: Random(seed),
            seed,
            _folder: folder,
        }
    }

    /// Tries all jobs at once until the store dies, and starts the server again. Returns those that
    /// were not answered.
    async fn kill_during(&mut self, jobs: Vec<Job>) -> Vec<Job> {
        let n_writes = self.random.below(WRITES_MAX) + 1;
        self.store.die_after(n_writes);
        let unanswered = self.attempt(jobs).await;
        self.store.set(FAILS);
        self.billing.close().await;
        self.store.set(WORKS);
        self.billing = start(&self.store, &self.clock).await;
        let held = self.billing.funds(&self.account).held;
        assert_eq!(held, Nanodollars::ZERO, "seed {}", self.seed);
        unanswered
    }

    async fn attempt(&self, jobs: Vec<Job>) -> Vec<Job> {
        let attempts = jobs
            .iter()
            .map(|job| job.attempt(&self.billing, &self.account));
        let answered = join_all(attempts).await;
        let jobs = jobs.into_iter().zip(answered);
        let unanswered = jobs.filter(|(_, answered)| answered.is_err());
        unanswered.map(|(job, _)| job).collect()
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the length of a test by hand comes from its caller"
)]
fn kills() -> u64 {
    let given = std::env::var("TRAWL_MODEL_KILLS").ok();
    given.and_then(|kills| kills.parse().ok()).unwrap_or(KILLS)
}

#[tokio::test]
async fn what_is_repeated_after_kills_is_paid_once() {
    let mut n_interrupted = 0;
    for seed in 0..kills().div_ceil(KILLS_PER_WORLD) {
        let mut world = World::new(seed).await;
        let (mut all, mut unanswered) = (Vec::new(), Vec::new());
        for n in 0..KILLS_PER_WORLD * JOBS_PER_KILL {
            let job = Job::random(&mut world.random, n);
            all.push(job.clone());
            unanswered.push(job);
            if n % JOBS_PER_KILL == 0 {
                unanswered = world.kill_during(unanswered).await;
                n_interrupted += unanswered.len();
            }
        }
        assert!(world.attempt(unanswered).await.is_empty(), "seed {seed}");
        // And once more by clients who did not hear the answer.
        let again: Vec<Job> = all
            .iter()
            .filter(|job| !matches!(job, Job::Crawl { .. }))
            .cloned()
            .collect();
        assert!(world.attempt(again).await.is_empty(), "seed {seed}");
        world.billing.flush().await.expect("the store works");
        let has_seats = all.iter().any(|job| matches!(job, Job::Seats));
        let seats = i64::from(has_seats) * i64::from(SEATS) * SEAT_PRICE;
        let worth: i64 = all.iter().map(Job::worth).sum();
        let funds = world.billing.funds(&world.account);
        let expected = OPENING.0 + worth - seats;
        assert_eq!(funds.balance, Nanodollars(expected), "seed {seed}");
        assert_eq!(funds.held, Nanodollars::ZERO, "seed {seed}");
        let audit = world.billing.verify().await.expect("an audit");
        assert_eq!(audit.disagreements, [], "seed {seed}");
        assert_eq!(world.store.open_reserves().await.expect("a search"), []);
    }
    assert!(
        n_interrupted > 30,
        "only {n_interrupted} jobs were interrupted"
    );
}
