//! A data directory is moved into a PostgreSQL database, and its server goes on there.

use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};
use trawl_tests::{FakeSite, PostgresServer, ServerProcess, World, run_program};

use crate::crawl_kill::{begin_crawl, check_crawl, delivered};
use crate::postgres::until_begun;

/// The folder of PostgreSQL's programs; empty if there are none, and all tests here are ignored.
const PROGRAMS: &str = env!("TRAWL_TEST_POSTGRES");

/// Runs `trawl migrate` on the data directory of a world.
fn migrate(world: &World, url: &str) -> Output {
    let data = world.data();
    let from = data.to_str().unwrap();
    run_program(
        world,
        &["migrate", "--json", "--from", from, "--to", url],
        b"",
    )
}

/// The same, which must succeed.
fn migrated(world: &World, url: &str) -> Value {
    let output = migrate(world, url);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The same, which must be refused with exit code 1 and this text.
fn assert_refused(world: &World, url: &str, text: &str) {
    let output = migrate(world, url);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains(text), "{said}");
}

/// Starts the server again with its accounts in this database.
fn start_on(server: &mut ServerProcess, url: &str) {
    let store = ("TRAWL_STORE".to_owned(), url.to_owned());
    server.world.environment.push(store);
    server.start_again();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_postgres, ignore = "no PostgreSQL: install postgresql")]
async fn accounts_bills_and_crawls_are_the_same_after_a_move() {
    let postgres = PostgresServer::start(Path::new(PROGRAMS));
    let url = postgres.url("postgres");
    let site = FakeSite::start().await;
    let mut server = ServerProcess::start(World::new());
    let id = begin_crawl(&server, &site).await;
    check_crawl(&server, &site, &id).await;
    let pages = delivered(&server, &id).await;
    let secret = server.account(&["webhook-secret", "caller", "--rotate"]);
    let statement = server.account(&["statement", "caller"]);
    assert_refused(&server.world, &url, "is in use by process");
    server.stop();

    let moved = migrated(&server.world, &url);
    assert_eq!(moved["was_moved_before"], false, "{moved}");
    assert_eq!(moved["pages"], pages.len(), "{moved}");
    let data = server.world.data();
    let list = ["account", "--data", data.to_str().unwrap(), "list"];
    let output = run_program(&server.world, &list, b"");
    assert!(!output.status.success(), "the directory has no ledger now");

    start_on(&mut server, &url);
    // With the same key: the same pages, each billed once.
    check_crawl(&server, &site, &id).await;
    assert_eq!(delivered(&server, &id).await, pages);
    let after = server.account(&["statement", "caller"]);
    assert_eq!(after["entries"], statement["entries"]);
    assert_eq!(after["balance"], statement["balance"]);
    assert_eq!(server.account(&["webhook-secret", "caller"]), secret);
    let body = json!({"url": site.url("/page"), "return_format": "empty", "request": "http"});
    let page = server.post("/scrape", &[], &body).await;
    assert_eq!((page.status, &page.json()[0]["status"]), (200, &json!(200)));
    let verify = ["cluster", "verify", "--json"];
    let output = run_program(&server.world, &verify, b"");
    let verified: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(output.status.success(), "{verified}");
    assert_eq!(verified["disagreements"], json!([]));

    server.stop();
    let before = server.account(&["statement", "caller"]);
    let again = migrated(&server.world, &url);
    assert_eq!(again["was_moved_before"], true, "{again}");
    let after = server.account(&["statement", "caller"]);
    assert_eq!(after["entries"], before["entries"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_postgres, ignore = "no PostgreSQL: install postgresql")]
async fn a_crawl_goes_on_after_a_move_and_pays_for_no_page_twice() {
    let postgres = PostgresServer::start(Path::new(PROGRAMS));
    let url = postgres.url("postgres");
    let site = FakeSite::start().await;
    let mut server = ServerProcess::start(World::new());
    let id = begin_crawl(&server, &site).await;
    until_begun(&server, &id).await;
    server.kill();
    let objects = format!("file://{}", server.world.path("objects").display());
    let objects = ("TRAWL_OBJECTS".to_owned(), objects);
    server.world.environment.push(objects);
    migrated(&server.world, &url);
    // As in the directory of another machine.
    std::fs::remove_dir_all(server.world.data().join("crawls")).unwrap();
    start_on(&mut server, &url);
    check_crawl(&server, &site, &id).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_postgres, ignore = "no PostgreSQL: install postgresql")]
async fn a_database_with_other_accounts_is_refused() {
    let postgres = PostgresServer::start(Path::new(PROGRAMS));
    let url = postgres.url("postgres");
    let mut world = World::new();
    let store = ("TRAWL_STORE".to_owned(), url.clone());
    world.environment.push(store);
    let mut other = ServerProcess::start(world);
    let mut server = ServerProcess::start(World::new());
    server.stop();
    assert_refused(&server.world, &url, "another process uses the database");
    other.stop();
    let before = other.account(&["list"]);
    assert_refused(&server.world, &url, "has other accounts");
    assert_eq!(other.account(&["list"]), before);
    // The directory is as it was.
    server.start_again();
    let listed = server.account(&["list"]);
    assert_eq!(listed[0]["account"], server.account.as_str());
}
