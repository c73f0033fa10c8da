//! Ledger throughput: durable posts per second by the number of concurrent tasks.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio_util::task::TaskTracker;
use trawl_billing::{AccountId, Billing, FundsError, Reservation, RunBudget};
use trawl_model::clock::Clock;
use trawl_model::{Charge, Nanodollars};
use trawl_store::sqlite::SqliteStore;
use trawl_store::{DataDir, Store};

use crate::{servers, table};

/// Numbers of concurrent tasks.
const TASKS: [usize; 3] = [1, 8, 64];
/// Concurrent pages of one run, which share a run budget.
const RUN_TASKS: usize = 64;
const ROUNDS: usize = 5;
const ROUND: Duration = Duration::from_secs(1);
/// A balance that no round can exhaust.
const BALANCE: Nanodollars = Nanodollars(1_000_000_000_000_000);

/// Prints posts/s and the latency of a post, from the median round, and the disk's flush time.
pub(crate) fn run() -> anyhow::Result<()> {
    let runtime = servers::runtime()?;
    let directory = tempfile::tempdir_in("target")?;
    println!(
        "append and flush of 4 KiB on this disk: {:?}",
        flush_time(directory.path())?
    );
    println!(
        "{:>5}  {:>9}  {:>12}  {:>12}",
        "tasks", "posts/s", "median post", "p99 post"
    );
    let rows = TASKS.map(|n_tasks| (n_tasks, false));
    for (n_tasks, is_one_run) in rows.into_iter().chain([(RUN_TASKS, true)]) {
        let mut rounds = (0..ROUNDS)
            .map(|_| runtime.block_on(round(n_tasks, is_one_run)))
            .collect::<anyhow::Result<Vec<Round>>>()?;
        rounds.sort_by_key(|round| round.posts_per_second);
        let Round {
            posts_per_second,
            median,
            p99,
        } = rounds[ROUNDS / 2];
        let note = if is_one_run { "  one run" } else { "" };
        println!("{n_tasks:>5}  {posts_per_second:>9}  {median:>12.1?}  {p99:>12.1?}{note}");
    }
    Ok(())
}

/// Result of one round.
struct Round {
    posts_per_second: u128,
    median: Duration,
    p99: Duration,
}

async fn round(n_tasks: usize, is_one_run: bool) -> anyhow::Result<Round> {
    // Not in the system's temporary directory: it is often in memory, where a flush costs nothing.
    let directory = tempfile::tempdir_in("target")?;
    let data = DataDir::create(directory.path())?;
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(data).await?);
    let billing = Billing::start(store.clone(), Clock::wall(), &TaskTracker::new()).await?;
    let (account, _key) = billing.create_account("bench", BALANCE).await?;

    let budget = if is_one_run {
        let (no_ceiling, spent) = (Nanodollars::MAX, Nanodollars::ZERO);
        Some(billing.run_budget(&account.id, "run_bench", no_ceiling, spent)?)
    } else {
        None
    };
    let buyer = Arc::new(Buyer {
        billing: billing.clone(),
        account: account.id.clone(),
        budget,
        n_pages: AtomicU64::new(0),
    });

    let started = Instant::now();
    let tasks: Vec<_> = (0..n_tasks)
        .map(|_| tokio::spawn(buy(Arc::clone(&buyer), started + ROUND)))
        .collect();
    let mut times = Vec::new();
    for task in tasks {
        times.extend(task.await??);
    }
    let elapsed = started.elapsed();
    billing.close().await;
    store.close().await;

    times.sort_unstable();
    Ok(Round {
        posts_per_second: times.len() as u128 * 1_000_000 / elapsed.as_micros(),
        median: times[times.len() / 2],
        p99: times[times.len() * 99 / 100],
    })
}

/// An account that pays for pages, directly or from the budget of one run.
struct Buyer {
    billing: Billing,
    account: AccountId,
    budget: Option<RunBudget>,
    n_pages: AtomicU64,
}

impl Buyer {
    /// Reserves the price of one page.
    async fn hold(&self) -> Result<Reservation, FundsError> {
        let url = "https://example.com/a/page/of/some/length.html";
        let ceiling = Nanodollars(1_000_000);
        let Some(budget) = &self.budget else {
            return self
                .billing
                .reserve(&self.account, ceiling, url, "run_bench");
        };
        // As long as the page identifiers of a crawl.
        let page = format!("{:032x}", self.n_pages.fetch_add(1, Ordering::Relaxed));
        let deadline = Instant::now() + ROUND;
        budget.reserve(ceiling, url, &page, deadline.into()).await
    }
}

/// Pays for one page after another until the deadline; returns the duration of each post.
async fn buy(buyer: Arc<Buyer>, until: Instant) -> anyhow::Result<Vec<Duration>> {
    let charge = Charge {
        bytes_transferred: Nanodollars(47_000),
        compute: Nanodollars(2),
        ..Charge::default()
    };
    let mut times = Vec::new();
    while Instant::now() < until {
        let hold = buyer.hold().await?;
        let started = Instant::now();
        hold.post(&charge).await?;
        times.push(started.elapsed());
    }
    Ok(times)
}

/// Median time of an append with a flush: the lower bound of a commit.
fn flush_time(directory: &std::path::Path) -> anyhow::Result<Duration> {
    use std::io::Write;
    let mut file = std::fs::File::create(directory.join("flushed"))?;
    let mut times = Vec::new();
    for _ in 0..100 {
        let started = Instant::now();
        file.write_all(&[0; 4096])?;
        file.sync_data()?;
        times.push(started.elapsed());
    }
    Ok(table::median(times))
}
