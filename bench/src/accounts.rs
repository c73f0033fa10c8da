//! Ten thousand small accounts that spend concurrently until none can afford another page.
//!
//! The costs in an account's responses must add up to its statement and to the change of its
//! balance.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;
use tokio_util::task::TaskTracker;
use trawl_billing::Billing;
use trawl_model::clock::Clock;
use trawl_model::{Cause, Nanodollars};
use trawl_store::sqlite::SqliteStore;
use trawl_store::{DataDir, Store};
use trawl_tests::caller::nanodollars;
use trawl_tests::{Caller, World};

use crate::servers::{self, Nginx, Trawl};

const ACCOUNTS: usize = 10_000;
const CONNECTIONS: usize = 128;
/// Requests per account. Each turn has one request from every account, so all spend to the end.
const TURNS: usize = 4;
/// Size of the page in bytes, which is also its price in nanodollars without CPU time.
const PAGE_BYTES: usize = 1_000;
/// Enough for two pages, but not for three.
const BALANCE: Nanodollars = Nanodollars(2_600);
/// An in-memory file system, where creating an account does not wait for a disk flush.
const IN_MEMORY: &str = "/dev/shm";

/// One account, and the sums over its responses.
struct Buyer {
    key: String,
    /// Total cost of its pages in nanodollars.
    spent: AtomicI64,
    n_pages: AtomicUsize,
    n_refused: AtomicUsize,
}

/// Prints requests/s and the result of the audit.
pub(crate) fn run() -> anyhow::Result<()> {
    let runtime = servers::runtime()?;
    let folder = tempfile::tempdir_in("target")?;
    let path = folder.path().canonicalize()?;
    let site = path.join("site");
    std::fs::create_dir(&site)?;
    std::fs::write(site.join("page.html"), "x".repeat(PAGE_BYTES))?;
    let nginx = Nginx::start(&path, &site)?;
    let world = World::new_in(&path);
    let buyers: Arc<[Buyer]> = runtime.block_on(create_accounts(&world.data()))?.into();
    let trawl = Trawl::of(world, "")?;
    let body = serde_json::json!({
        "url": format!("{}/page.html", nginx.base),
        "return_format": "raw",
        "request": "http",
        "cache": false,
    });
    let started = Instant::now();
    runtime.block_on(spend(&trawl, &buyers, body))?;
    let elapsed = started.elapsed();
    runtime.block_on(compare(&trawl, &buyers))?;
    let audit = trawl.account(&["verify"]);
    report(&buyers, elapsed, &audit)
}

/// Creates the accounts in a new data directory.
async fn create_accounts(data: &Path) -> anyhow::Result<Vec<Buyer>> {
    let in_memory = tempfile::tempdir_in(IN_MEMORY)?;
    let store = SqliteStore::open(DataDir::create(in_memory.path())?).await?;
    let store: Arc<dyn Store> = Arc::new(store);
    let billing = Billing::start(store.clone(), Clock::wall(), &TaskTracker::new()).await?;
    let mut buyers = Vec::with_capacity(ACCOUNTS);
    for number in 0..ACCOUNTS {
        let name = format!("buyer-{number}");
        let (_, key) = billing.create_account(&name, BALANCE).await?;
        buyers.push(Buyer {
            key: key.expose().to_owned(),
            spent: AtomicI64::new(0),
            n_pages: AtomicUsize::new(0),
            n_refused: AtomicUsize::new(0),
        });
    }
    billing.close().await;
    store.close().await;
    drop(store);
    drop(DataDir::create(data)?);
    std::fs::copy(in_memory.path().join("trawl.db"), data.join("trawl.db"))?;
    Ok(buyers)
}

/// Sends the requests of all accounts, round robin, so that all accounts spend concurrently.
async fn spend(
    trawl: &Trawl,
    buyers: &Arc<[Buyer]>,
    body: serde_json::Value,
) -> anyhow::Result<()> {
    let caller = trawl.with_key("");
    let next = Arc::new(AtomicUsize::new(0));
    let body = Arc::new(body);
    let tasks: Vec<_> = (0..CONNECTIONS)
        .map(|_| {
            let (mut caller, buyers) = (caller.clone(), Arc::clone(buyers));
            let (next, body) = (Arc::clone(&next), Arc::clone(&body));
            tokio::spawn(async move {
                loop {
                    let turn = next.fetch_add(1, Ordering::Relaxed);
                    if turn >= ACCOUNTS * TURNS {
                        return anyhow::Ok(());
                    }
                    let buyer = &buyers[turn % ACCOUNTS];
                    caller.key.clone_from(&buyer.key);
                    buy(&caller, buyer, &body).await?;
                }
            })
        })
        .collect();
    for task in tasks {
        task.await??;
    }
    Ok(())
}

/// Sends one request and adds its cost to the account's sums.
async fn buy(caller: &Caller, buyer: &Buyer, body: &serde_json::Value) -> anyhow::Result<()> {
    let answer = caller.post("/scrape", &[], body).await;
    anyhow::ensure!(answer.status == 200, "unexpected status {}", answer.status);
    let entry = &answer.json()[0];
    let cost = nanodollars(&entry["costs"]["total_cost"]);
    match entry["cause"].as_str() {
        None => {
            buyer.spent.fetch_add(cost, Ordering::Relaxed);
            buyer.n_pages.fetch_add(1, Ordering::Relaxed);
        }
        Some(cause) => {
            anyhow::ensure!(
                cost == 0 && cause == Cause::Funds.name(),
                "unexpected failure `{cause}` with cost {cost}: {}",
                entry["error"]
            );
            buyer.n_refused.fetch_add(1, Ordering::Relaxed);
        }
    }
    Ok(())
}

/// Checks every account's statement.
async fn compare(trawl: &Trawl, buyers: &Arc<[Buyer]>) -> anyhow::Result<()> {
    let caller = trawl.with_key("");
    let next = Arc::new(AtomicUsize::new(0));
    let tasks: Vec<_> = (0..CONNECTIONS)
        .map(|_| {
            let (mut caller, buyers) = (caller.clone(), Arc::clone(buyers));
            let next = Arc::clone(&next);
            tokio::spawn(async move {
                while let Some(buyer) = buyers.get(next.fetch_add(1, Ordering::Relaxed)) {
                    caller.key.clone_from(&buyer.key);
                    check_statement(buyer, &caller.get("/account/statement").await.json())?;
                }
                anyhow::Ok(())
            })
        })
        .collect();
    for task in tasks {
        task.await??;
    }
    Ok(())
}

/// Checks that a statement matches the account's responses and has no open reservation.
fn check_statement(buyer: &Buyer, statement: &serde_json::Value) -> anyhow::Result<()> {
    let entries = statement["entries"]
        .as_array()
        .context("the statement has no `entries`")?;
    let posts = entries.iter().filter(|entry| entry["kind"] == "post");
    let (n_posts, billed) = posts.fold((0, 0), |(n, sum), post| {
        (n + 1, sum - nanodollars(&post["amount"]))
    });
    let spent = buyer.spent.load(Ordering::Relaxed);
    anyhow::ensure!(
        billed == spent,
        "charged {billed}, responses add up to {spent}"
    );
    let n_pages = buyer.n_pages.load(Ordering::Relaxed);
    anyhow::ensure!(n_posts == n_pages, "{n_posts} charges for {n_pages} pages");
    let left = nanodollars(&statement["closing_balance"]);
    anyhow::ensure!(
        left == BALANCE.0 - spent,
        "the balance is {left} after charges of {spent}"
    );
    let reserved = entries.iter().map(|entry| nanodollars(&entry["reserved"]));
    let reserved: i64 = reserved.sum();
    anyhow::ensure!(reserved == 0, "{reserved} is still reserved");
    Ok(())
}

/// Prints the rate, the pages served and refused, and the audit.
fn report(buyers: &[Buyer], elapsed: Duration, audit: &serde_json::Value) -> anyhow::Result<()> {
    let sum = |count: fn(&Buyer) -> &AtomicUsize| -> usize {
        let counts = buyers
            .iter()
            .map(|buyer| count(buyer).load(Ordering::Relaxed));
        counts.sum()
    };
    let pages = buyers
        .iter()
        .map(|buyer| buyer.n_pages.load(Ordering::Relaxed));
    let spent: i64 = buyers.iter().map(|b| b.spent.load(Ordering::Relaxed)).sum();
    println!(
        "{ACCOUNTS} accounts, {CONNECTIONS} connections: {:.0} requests/s, \
         {} pages charged ({} to {} per account), {} refused for insufficient funds, \
         {} charged in total; audit {audit}",
        (ACCOUNTS * TURNS) as f64 / elapsed.as_secs_f64(),
        sum(|buyer| &buyer.n_pages),
        pages.clone().min().unwrap_or_default(),
        pages.max().unwrap_or_default(),
        sum(|buyer| &buyer.n_refused),
        Nanodollars(spent),
    );
    Ok(())
}
