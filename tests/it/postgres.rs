//! The server on PostgreSQL: the same service, and what only a database of its own process can do,
//! which is to go away and come back.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trawl_tests::{FakeSite, PostgresServer, ServerProcess, World, run_program};

use crate::crawl_kill::{begin_crawl, check_crawl, check_kills, state};

/// The folder of PostgreSQL's programs; empty if there are none, and all tests here are ignored.
const PROGRAMS: &str = env!("TRAWL_TEST_POSTGRES");
/// Number of kills during a crawl.
const KILLS: u64 = 8;
/// How long the database is away: longer than the server waits for a connection.
const AWAY: Duration = Duration::from_secs(12);
/// Long enough for a slow machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A PostgreSQL server, and a world whose server has its accounts there.
fn world_on_postgres() -> (PostgresServer, World) {
    let postgres = PostgresServer::start(Path::new(PROGRAMS));
    let mut world = World::new();
    let store = ("TRAWL_STORE".to_owned(), postgres.url("postgres"));
    world.environment.push(store);
    (postgres, world)
}

/// A request for a page whose content takes no CPU time, and which bypasses the cache.
fn page(url: &str) -> Value {
    json!({"url": url, "return_format": "empty", "request": "http", "cache": false})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_postgres, ignore = "no PostgreSQL: install postgresql")]
async fn accounts_bills_and_answers_survive_a_restart() {
    let (_postgres, world) = world_on_postgres();
    let site = FakeSite::start().await;
    let mut server = ServerProcess::start(world);
    let headers = [("idempotency-key", "one")];
    let body = page(&site.url("/page"));
    let first = server.post("/scrape", &headers, &body).await;
    assert_eq!(first.status, 200);
    let entries: Value = first.json();
    assert_eq!(entries[0]["status"], 200, "{entries}");
    let statement = server.account(&["statement", "caller"]);
    let key = server.account(&["key", "create", "caller", "--name", "second"]);
    server.stop();
    // Without a running server, commands read the database themselves.
    let read = server.account(&["statement", "caller"]);
    assert_eq!(read["entries"], statement["entries"]);

    server.start_again();
    assert!(!server.world.data().join("trawl.db").exists());
    let again = server.post("/scrape", &headers, &body).await;
    assert_eq!((again.status, &again.body), (200, &first.body));
    assert_eq!(again.header("idempotency-replayed"), "true");
    let second = server.with_key(key["api_key"].as_str().unwrap());
    assert_eq!(second.get("/account").await.status, 200);
    let after = server.account(&["statement", "caller"]);
    assert_eq!(after["balance"], statement["balance"]);
    assert!(statement["balance"].as_i64().unwrap() < 100_000_000_000);
    assert_eq!(server.account(&["verify"])["disagreements"], json!([]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_postgres, ignore = "no PostgreSQL: install postgresql")]
async fn a_command_without_the_url_is_told_where_the_accounts_are() {
    let (_postgres, world) = world_on_postgres();
    let mut server = ServerProcess::start(world);
    server.stop();
    server.world.environment.clear();
    let data = server.world.data();
    let list = ["account", "--data", data.to_str().unwrap(), "list"];
    let output = run_program(&server.world, &list, b"");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{said}");
    assert!(said.contains("--store"), "{said}");
    assert!(!data.join("trawl.db").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_postgres, ignore = "no PostgreSQL: install postgresql")]
async fn a_killed_crawl_resumes_without_lost_or_repeated_pages() {
    let (_postgres, world) = world_on_postgres();
    check_kills(world, KILLS).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_postgres, ignore = "no PostgreSQL: install postgresql")]
async fn a_crawl_goes_on_when_the_database_comes_back() {
    let (mut postgres, world) = world_on_postgres();
    let site = FakeSite::start().await;
    let server = ServerProcess::start(world);
    let id = begin_crawl(&server, &site).await;
    let until = Instant::now() + PATIENCE;
    while state(&server, &id).await["pages"]
        .as_u64()
        .unwrap_or_default()
        < 20
    {
        assert!(Instant::now() < until, "the crawl does not begin");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    postgres.stop();
    // What cannot be charged is not delivered, and the account is told to try again.
    let refused = server.post("/scrape", &[], &page(&site.url("/page"))).await;
    let said = String::from_utf8_lossy(&refused.body).into_owned();
    let is_delivered = refused.status == 200 && refused.json()[0]["status"] == 200;
    assert!(!is_delivered, "{} {said}", refused.status);
    tokio::time::sleep(AWAY).await;
    postgres.start_again();
    check_crawl(&server, &site, &id).await;
    // The server has its connections back, and a lease: it begins work again.
    let until = Instant::now() + PATIENCE;
    loop {
        let answer = server.post("/scrape", &[], &page(&site.url("/page"))).await;
        if answer.status == 200 && answer.json()[0]["status"] == 200 {
            break;
        }
        let said = String::from_utf8_lossy(&answer.body).into_owned();
        assert!(Instant::now() < until, "{} {said}", answer.status);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(server.account(&["verify"])["disagreements"], json!([]));
}

/// The world of a standby of this server. Both have the page logs on one disk.
fn standby_of(server: &ServerProcess) -> World {
    let mut world = World::new();
    world.environment.clone_from(&server.world.environment);
    let standby = ("TRAWL_STANDBY".to_owned(), "true".to_owned());
    world.environment.push(standby);
    let logs = server.world.data().join("crawls");
    std::os::unix::fs::symlink(logs, world.data().join("crawls")).unwrap();
    world
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_postgres, ignore = "no PostgreSQL: install postgresql")]
async fn a_standby_goes_on_with_the_crawls_of_a_server_that_was_killed() {
    let (_postgres, world) = world_on_postgres();
    let site = FakeSite::start().await;
    let mut server = ServerProcess::start(world);
    let mut standby = server.start_standby(standby_of(&server));
    let id = begin_crawl(&server, &site).await;
    let until = Instant::now() + PATIENCE;
    while state(&server, &id).await["pages"]
        .as_u64()
        .unwrap_or_default()
        < 20
    {
        assert!(Instant::now() < until, "the crawl does not begin");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    server.kill();
    let took = standby.until_accepting(PATIENCE).await;
    eprintln!("the standby took over after {took:?}");
    check_crawl(&standby, &site, &id).await;
    // One that is stopped gives its lease up, and the next one begins at once.
    let mut next = standby.start_standby(standby_of(&standby));
    standby.stop();
    next.until_accepting(PATIENCE).await;
    let statement = next.account(&["statement", "caller"]);
    assert!(statement["balance"].as_i64().unwrap() < 100_000_000_000);
    assert_eq!(next.account(&["verify"])["disagreements"], json!([]));
}
