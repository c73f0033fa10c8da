//! Ten thousand small accounts that spend at once, until each has too little for another page: what each was told that its
//! pages cost must be what its statement says, and what its balance lost.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;
use tokio_util::task::TaskTracker;
use trawl_billing::Billing;
use trawl_model::Nanodollars;
use trawl_model::clock::Clock;
use trawl_store::sqlite::SqliteStore;
use trawl_store::{DataDir, Store};
use trawl_tests::Caller;
use trawl_tests::caller::nanodollars;

use crate::servers::{Nginx, Trawl};

const ACCOUNTS: usize = 10_000;
const CONNECTIONS: usize = 128;
/// Requests of each account, in turns: all are at it until the last turn.
const TURNS: usize = 4;
/// Bytes of the page, and so nanodollars, but for its CPU.
const PAGE_BYTES: usize = 1_000;
/// Two pages and a part of a third.
const BALANCE: Nanodollars = Nanodollars(2_600);
/// A disk in memory, where an account is made without waiting for a disk.
const IN_MEMORY: &str = "/dev/shm";

/// One account, and what it was told.
struct Buyer {
    key: String,
    /// Nanodollars of all pages that it got.
    spent: AtomicI64,
    n_pages: AtomicUsize,
    n_refused: AtomicUsize,
}

/// Prints requests a second and how the books stand.
pub(crate) fn run() -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let folder = tempfile::tempdir_in("target")?;
    let path = folder.path().canonicalize()?;
    let site = path.join("site");
    std::fs::create_dir(&site)?;
    std::fs::write(site.join("page.html"), "x".repeat(PAGE_BYTES))?;
    let nginx = Nginx::start(&path, &site)?;
    let buyers: Arc<[Buyer]> = runtime.block_on(made(&path.join("data")))?.into();
    let trawl = Trawl::start(&path)?;
    let body = serde_json::json!({
        "url": format!("{}/page.html", nginx.base), "return_format": "raw", "request": "http", "cache": false,
    });
    let began = Instant::now();
    runtime.block_on(spend(&trawl, &buyers, body))?;
    let elapsed = began.elapsed();
    runtime.block_on(compare(&trawl, &buyers))?;
    let audit = trawl.account(&["verify"])?;
    report(&buyers, elapsed, &audit)
}

/// The accounts, in a new data directory.
async fn made(data: &Path) -> anyhow::Result<Vec<Buyer>> {
    let quick = tempfile::tempdir_in(IN_MEMORY)?;
    let store = SqliteStore::open(DataDir::create(quick.path())?).await?;
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
    std::fs::copy(quick.path().join("trawl.db"), data.join("trawl.db"))?;
    Ok(buyers)
}

/// Everybody's requests, one account after the other and round again, so that all spend at the same time.
async fn spend(
    trawl: &Trawl,
    buyers: &Arc<[Buyer]>,
    body: serde_json::Value,
) -> anyhow::Result<()> {
    let caller = Caller::new(trawl.base.trim_start_matches("http://").parse()?, "");
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

/// One request; what it was told is noted.
async fn buy(caller: &Caller, buyer: &Buyer, body: &serde_json::Value) -> anyhow::Result<()> {
    let answer = caller.post("/scrape", &[], body).await;
    anyhow::ensure!(answer.status == 200, "answered {}", answer.status);
    let entry = &answer.json()[0];
    let cost = nanodollars(&entry["costs"]["total_cost"]);
    match entry["error"].as_str() {
        None => {
            buyer.spent.fetch_add(cost, Ordering::Relaxed);
            buyer.n_pages.fetch_add(1, Ordering::Relaxed);
        }
        Some(reason) => {
            anyhow::ensure!(
                cost == 0 && reason.contains("ceiling"),
                "{reason}, at {cost}"
            );
            buyer.n_refused.fetch_add(1, Ordering::Relaxed);
        }
    }
    Ok(())
}

/// Asks every account's statement.
async fn compare(trawl: &Trawl, buyers: &Arc<[Buyer]>) -> anyhow::Result<()> {
    let caller = Caller::new(trawl.base.trim_start_matches("http://").parse()?, "");
    let next = Arc::new(AtomicUsize::new(0));
    let tasks: Vec<_> = (0..CONNECTIONS)
        .map(|_| {
            let (mut caller, buyers) = (caller.clone(), Arc::clone(buyers));
            let next = Arc::clone(&next);
            tokio::spawn(async move {
                while let Some(buyer) = buyers.get(next.fetch_add(1, Ordering::Relaxed)) {
                    caller.key.clone_from(&buyer.key);
                    agrees(buyer, &caller.get("/account/statement").await.json())?;
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

/// Whether a statement says what the account was told, page by page in sum, and leaves nothing set aside.
fn agrees(buyer: &Buyer, statement: &serde_json::Value) -> anyhow::Result<()> {
    let entries = statement["entries"].as_array().context("entries")?;
    let posts = entries.iter().filter(|entry| entry["kind"] == "post");
    let (n_posts, billed) = posts.fold((0, 0), |(n, sum), post| {
        (n + 1, sum - nanodollars(&post["amount"]))
    });
    let spent = buyer.spent.load(Ordering::Relaxed);
    anyhow::ensure!(billed == spent, "billed {billed}, told {spent}");
    let n_pages = buyer.n_pages.load(Ordering::Relaxed);
    anyhow::ensure!(n_posts == n_pages, "{n_posts} charges for {n_pages} pages");
    let left = nanodollars(&statement["closing_balance"]);
    anyhow::ensure!(
        left == BALANCE.0 - spent,
        "{left} left of which {spent} went"
    );
    let reserved = entries.iter().map(|entry| nanodollars(&entry["reserved"]));
    let reserved: i64 = reserved.sum();
    anyhow::ensure!(reserved == 0, "{reserved} is still set aside");
    Ok(())
}

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
        "{ACCOUNTS} accounts, {CONNECTIONS} connections: {:.0} requests/s, {} pages paid ({} to {} an account), {} refused for want of \
         money, {} billed and told; audit {audit}",
        (ACCOUNTS * TURNS) as f64 / elapsed.as_secs_f64(),
        sum(|buyer| &buyer.n_pages),
        pages.clone().min().unwrap_or_default(),
        pages.max().unwrap_or_default(),
        sum(|buyer| &buyer.n_refused),
        Nanodollars(spent),
    );
    Ok(())
}
