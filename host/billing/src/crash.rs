//! The process is killed at any moment; what was acknowledged is in the ledger exactly once, and everything adds up.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use tokio_util::task::TaskTracker;

use super::{Billing, LedgerEntryKind, Window};
use trawl_model::clock::{Clock, Timestamp};
use trawl_model::{Charge, Nanodollars};
use trawl_store::sqlite::SqliteStore;
use trawl_store::{DataDir, Store};

const ROUNDS: u64 = 50;
const DIRECTORY: &str = "TRAWL_TEST_CRASH_DIRECTORY";
const CHILD: &str = "billing::crash::the_process_that_is_killed";
const READY: &str = "ready";
const DELIVERED: &str = "delivered ";
const CHARGE: i64 = 1_234;

async fn open(directory: &std::path::Path) -> (Billing, Arc<dyn Store>) {
    let data = DataDir::create(directory).expect("a data directory");
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(data).await.expect("a store"));
    let billing = Billing::start(Arc::clone(&store), Clock::wall(), &TaskTracker::new()).await;
    (billing.expect("billing starts"), store)
}

#[expect(
    clippy::disallowed_methods,
    reason = "what the test tells the process that it starts"
)]
fn directory() -> Option<std::ffi::OsString> {
    std::env::var_os(DIRECTORY)
}

/// Buys pages until it is killed, when the test below starts it as a process of its own; passes at once otherwise.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_process_that_is_killed() {
    let Some(directory) = directory() else {
        return;
    };
    let (billing, _store) = open(directory.as_ref()).await;
    say(READY.to_owned());
    let tasks: Vec<_> = (0..16)
        .map(|task| tokio::spawn(buy(billing.clone(), task)))
        .collect();
    for task in tasks {
        task.await.expect("buys until it is killed");
    }
}

/// Every other task buys for a run of its own, out of a purse.
async fn buy(billing: Billing, task: usize) {
    let account = billing.find("alice").expect("the account").id.clone();
    let run = format!("run{}x{task}", std::process::id());
    let no_ceiling = Nanodollars::MAX;
    let purse = (task % 2 == 1).then(|| {
        let purse = billing.purse(&account, &run, no_ceiling, Nanodollars::ZERO);
        purse.expect("a purse")
    });
    for page in 0_u32.. {
        let url = format!("https://example.com/{task}/{page}");
        let ceiling = Nanodollars(5_000);
        let soon = tokio::time::Instant::now() + Duration::from_secs(20);
        let hold = match &purse {
            Some(purse) => purse.hold(ceiling, &url, &page.to_string(), soon).await,
            None => billing.hold(&account, ceiling, &url, &run),
        };
        let hold = hold.expect("the account is rich");
        // Some pages are slow, so that reserves are in the ledger without their end.
        if page % 3 == 0 {
            tokio::time::sleep(Duration::from_millis(15)).await;
        }
        if page % 4 == 0 {
            hold.void("failed");
            continue;
        }
        let charge = Charge {
            bytes_transferred: Nanodollars(CHARGE),
            ..Charge::default()
        };
        let id = match &purse {
            Some(_) => format!("c:{run}:{page}"),
            None => format!("s:{}", hold.id()),
        };
        hold.post(&charge).await.expect("posted");
        say(format!("{DELIVERED}{id}"));
    }
}

/// One line in one write, past the capture of the test harness.
fn say(line: String) {
    let line = format!("\n{line}\n");
    let written = std::io::stdout().lock().write_all(line.as_bytes());
    written
        .and_then(|()| std::io::stdout().flush())
        .expect("someone listens");
}

/// Runs the process above, kills it after so long, and returns the posts whose pages it delivered.
fn killed_after(directory: &std::path::Path, delay: Duration) -> Vec<String> {
    let program = std::env::current_exe().expect("this test's own program");
    let mut child = Command::new(program)
        .args([CHILD, "--exact", "--nocapture"])
        .env(DIRECTORY, directory)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the process starts");
    let stdout = child.stdout.take().expect("a pipe");
    let mut lines = BufReader::new(stdout).lines().map_while(Result::ok);
    assert!(lines.any(|line| line == READY), "the process came up");
    let reader = std::thread::spawn(move || {
        let delivered = lines.filter_map(|line| Some(line.strip_prefix(DELIVERED)?.to_owned()));
        delivered.collect::<Vec<_>>()
    });
    std::thread::sleep(delay);
    child.kill().expect("killed with SIGKILL");
    child.wait().expect("gone");
    reader.join().expect("everything it said was read")
}

#[tokio::test]
async fn fifty_kills_lose_nothing_and_charge_nothing_twice() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let rich = Nanodollars(1_000_000_000_000);
    let (billing, store) = open(directory.path()).await;
    let created = billing.create_account("alice", rich).await;
    created.expect("a new account");
    let paid_in = billing.accounts()[0].1.balance;
    close(billing, store).await;

    let mut delivered: Vec<String> = Vec::new();
    for round in 0..ROUNDS {
        // Spread over 0 to 60 ms without a pattern; the moments of a killed process differ anyhow.
        let delay = Duration::from_micros(round * 7_919 * 7_919 % 60_000);
        delivered.extend(killed_after(directory.path(), delay));
        check(directory.path(), &delivered, paid_in).await;
    }
    assert!(
        delivered.len() > 100,
        "the kills met work: {}",
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
    let everything = Window {
        from: Timestamp::MIN,
        to: Timestamp::MAX,
        after: 0,
        limit: u32::MAX,
    };
    let statement = billing.statement(&account.id, everything).await;
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
