//! A process is killed at random moments. Every acknowledged charge is in the ledger exactly once,
//! and everything adds up.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use tokio_util::task::TaskTracker;

use trawl_model::clock::{Clock, Timestamp};
use trawl_model::{Charge, Nanodollars};
use trawl_store::sqlite::SqliteStore;
use trawl_store::{DataDir, Store};

use crate::{Billing, LedgerEntryKind, Window};

const ROUNDS: u64 = 50;
const DIRECTORY: &str = "TRAWL_TEST_CRASH_DIRECTORY";
/// Path of the test that the killed process runs.
const CHILD: &str = "tests::crash::the_process_that_is_killed";
const READY: &str = "ready";
const DELIVERED: &str = "delivered ";
const CHARGE: i64 = 1_234;

async fn open(directory: &std::path::Path) -> (Billing, Arc<dyn Store>) {
    let data = DataDir::create(directory).expect("a data directory");
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(data).await.expect("a store"));
    let billing = Billing::start(store.clone(), Clock::wall(), &TaskTracker::new()).await;
    (billing.expect("billing starts"), store)
}

#[expect(
    clippy::disallowed_methods,
    reason = "passes the directory to the child process"
)]
fn directory() -> Option<std::ffi::OsString> {
    std::env::var_os(DIRECTORY)
}

/// Buys pages until it is killed. The test below starts it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the child process of another test"]
async fn the_process_that_is_killed() {
    let directory = directory().expect("the test below names the directory");
    let (billing, _store) = open(directory.as_ref()).await;
    say(READY.to_owned());
    let tasks: Vec<_> = (0..16)
        .map(|task| tokio::spawn(buy(billing.clone(), task)))
        .collect();
    for task in tasks {
        task.await.expect("buys until it is killed");
    }
}

/// Buys pages; every other task has a run budget.
async fn buy(billing: Billing, task: usize) {
    let account = billing.find("alice").expect("the account").id.clone();
    let run = format!("run{}x{task}", std::process::id());
    let no_ceiling = Nanodollars::MAX;
    let budget = (task % 2 == 1).then(|| {
        let budget = billing.run_budget(&account, &run, no_ceiling, Nanodollars::ZERO);
        budget.expect("a budget")
    });
    for page in 0_u32.. {
        let url = format!("https://example.com/{task}/{page}");
        let ceiling = Nanodollars(5_000);
        let soon = tokio::time::Instant::now() + Duration::from_secs(20);
        let reservation = match &budget {
            Some(budget) => {
                let page = page.to_string();
                budget.reserve(ceiling, &url, &page, soon).await
            }
            None => billing.reserve(&account, ceiling, &url, &run),
        };
        let reservation = reservation.expect("the balance is large");
        // Some pages are slow, so that there are open reserves in the ledger.
        if page % 3 == 0 {
            tokio::time::sleep(Duration::from_millis(15)).await;
        }
        if page % 4 == 0 {
            reservation.void("failed");
            continue;
        }
        let charge = Charge {
            bytes_transferred: Nanodollars(CHARGE),
            ..Charge::default()
        };
        let id = match &budget {
            Some(_) => format!("c:{run}:{page}"),
            None => format!("s:{}", reservation.id()),
        };
        reservation.post(&charge).await.expect("posted");
        say(format!("{DELIVERED}{id}"));
    }
}

/// Prints a line in one write, bypassing the output capture of the test harness.
fn say(line: String) {
    let line = format!("\n{line}\n");
    let written = std::io::stdout().lock().write_all(line.as_bytes());
    written
        .and_then(|()| std::io::stdout().flush())
        .expect("the parent reads");
}

/// Runs the process above, kills it after a delay, and returns the posts of the pages it delivered.
fn killed_after(directory: &std::path::Path, delay: Duration) -> Vec<String> {
    let program = std::env::current_exe().expect("the test binary");
    let mut child = Command::new(program)
        .args([CHILD, "--exact", "--ignored", "--nocapture"])
        .env(DIRECTORY, directory)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the process starts");
    let stdout = child.stdout.take().expect("a pipe");
    let mut lines = BufReader::new(stdout).lines().map_while(Result::ok);
    assert!(lines.any(|line| line == READY), "the process started");
    let reader = std::thread::spawn(move || {
        let delivered = lines.filter_map(|line| Some(line.strip_prefix(DELIVERED)?.to_owned()));
        delivered.collect::<Vec<_>>()
    });
    std::thread::sleep(delay);
    child.kill().expect("killed with SIGKILL");
    child.wait().expect("it ended");
    reader.join().expect("its output was read")
}

#[tokio::test]
async fn fifty_kills_lose_no_charge_and_repeat_none() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let large = Nanodollars(1_000_000_000_000);
    let (billing, store) = open(directory.path()).await;
    let created = billing.create_account("alice", large).await;
    created.expect("a new account");
    let paid_in = billing.accounts()[0].1.balance;
    close(billing, store).await;

    let mut delivered: Vec<String> = Vec::new();
    for round in 0..ROUNDS {
        // Spread over 0 to 60 ms without a pattern.
        let delay = Duration::from_micros(round * 7_919 * 7_919 % 60_000);
        delivered.extend(killed_after(directory.path(), delay));
        check(directory.path(), &delivered, paid_in).await;
    }
    assert!(
        delivered.len() > 100,
        "too few pages before the kills: {}",
        delivered.len()
    );
}

async fn check(directory: &std::path::Path, delivered: &[String], paid_in: Nanodollars) {
    let (billing, store) = open(directory).await;
    let audit = billing.verify().await.expect("an audit");
    assert_eq!(audit.disagreements, []);
    assert_eq!(store.open_reserves().await.expect("a search"), []);

    let (account, funds) = billing.accounts().remove(0);
    assert_eq!(funds.held, Nanodollars::ZERO);
    let whole_ledger = Window {
        from: Timestamp::MIN,
        to: Timestamp::MAX,
        after: 0,
        limit: u32::MAX,
    };
    let statement = billing.statement(&account.id, whole_ledger).await;
    let entries = statement.expect("a statement").entries;
    let posts = entries.iter().map(|posted| &posted.entry);
    let mut posted: Vec<&str> = posts
        .filter(|entry| entry.kind == LedgerEntryKind::Post)
        .map(|entry| entry.id.as_str())
        .collect();
    posted.sort_unstable();
    assert!(posted.is_sorted_by(|a, b| a < b), "no page is posted twice");
    for post in delivered {
        let found = posted.binary_search(&post.as_str());
        assert!(found.is_ok(), "`{post}` was delivered but not charged");
    }
    let charged = Nanodollars(CHARGE * posted.len() as i64);
    assert_eq!(funds.balance, paid_in - charged);
    close(billing, store).await;
}

async fn close(billing: Billing, store: Arc<dyn Store>) {
    billing.close().await;
    store.close().await;
}
