//! The server on PostgreSQL: the same service, and what only a database of its own process can do,
//! which is to go away and come back.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
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
pub(crate) fn world_on_postgres() -> (PostgresServer, World) {
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

/// Requests a page until it is delivered.
async fn until_delivered(server: &ServerProcess, url: &str) {
    let until = Instant::now() + PATIENCE;
    loop {
        let answer = server.post("/scrape", &[], &page(url)).await;
        if answer.status == 200 && answer.json()[0]["status"] == 200 {
            return;
        }
        let said = String::from_utf8_lossy(&answer.body).into_owned();
        assert!(Instant::now() < until, "{} {said}", answer.status);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
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
    until_begun(&server, &id).await;
    postgres.stop();
    // What cannot be charged is not delivered, and the account is told to try again.
    let refused = server.post("/scrape", &[], &page(&site.url("/page"))).await;
    let said = String::from_utf8_lossy(&refused.body).into_owned();
    let is_delivered = refused.status == 200 && refused.json()[0]["error"].is_null();
    assert!(!is_delivered, "{} {said}", refused.status);
    tokio::time::sleep(AWAY).await;
    postgres.start_again();
    check_crawl(&server, &site, &id).await;
    // The server has its connections back, and a lease: it begins work again.
    until_delivered(&server, &site.url("/page")).await;
    assert_eq!(server.account(&["verify"])["disagreements"], json!([]));
}

/// The same, and the folder of its object store.
fn world_with_objects() -> (PostgresServer, TempDir, World) {
    let (postgres, mut world) = world_on_postgres();
    let objects = TempDir::new().unwrap();
    let url = format!("file://{}", objects.path().display());
    world.environment.push(("TRAWL_OBJECTS".to_owned(), url));
    (postgres, objects, world)
}

/// The world of a standby of this server: what both have is the database and the object store.
pub(crate) fn standby_of(server: &ServerProcess) -> World {
    let mut world = World::new();
    world.environment.clone_from(&server.world.environment);
    let standby = ("TRAWL_STANDBY".to_owned(), "true".to_owned());
    world.environment.push(standby);
    world
}

/// The base URL of the server that has the database, as a command says.
fn serving(server: &ServerProcess) -> String {
    let status = ["cluster", "status", "--json"];
    let output = run_program(&server.world, &status, b"");
    let status: Value = serde_json::from_slice(&output.stdout).unwrap();
    let seconds = status["lease_seconds"].as_f64();
    assert!(seconds.is_some_and(|seconds| seconds <= 10.0), "{status}");
    format!("http://{}", status["address"].as_str().unwrap())
}

/// Waits until a crawl has some pages.
pub(crate) async fn until_begun(server: &ServerProcess, id: &str) {
    let until = Instant::now() + PATIENCE;
    while state(server, id).await["pages"]
        .as_u64()
        .unwrap_or_default()
        < 20
    {
        assert!(Instant::now() < until, "the crawl does not begin");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_postgres, ignore = "no PostgreSQL: install postgresql")]
async fn a_standby_goes_on_with_the_crawls_of_a_server_that_was_killed() {
    let (_postgres, _objects, world) = world_with_objects();
    let site = FakeSite::start().await;
    let mut server = ServerProcess::start(world);
    let mut standby = server.start_standby(standby_of(&server));
    // Both serve: the standby sends what it is asked to the other one.
    standby.until_answering(PATIENCE).await;
    assert_eq!(serving(&standby), server.base);
    let id = begin_crawl(&standby, &site).await;
    until_begun(&server, &id).await;
    server.kill();
    let took = standby.until_answering(PATIENCE).await;
    eprintln!("the standby took over after {took:?}");
    check_crawl(&standby, &site, &id).await;
    assert_eq!(serving(&standby), standby.base);
    // One that is stopped gives its lease up, and the next one begins at once.
    let mut next = standby.start_standby(standby_of(&standby));
    standby.stop();
    next.until_answering(PATIENCE).await;
    let statement = next.account(&["statement", "caller"]);
    assert!(statement["balance"].as_i64().unwrap() < 100_000_000_000);
    assert_eq!(next.account(&["verify"])["disagreements"], json!([]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_postgres, ignore = "no PostgreSQL: install postgresql")]
async fn a_suspended_server_changes_nothing_when_it_wakes_up() {
    let (_postgres, _objects, world) = world_with_objects();
    let site = FakeSite::start().await;
    let mut server = ServerProcess::start(world);
    let id = begin_crawl(&server, &site).await;
    until_begun(&server, &id).await;
    let mut standby = server.start_standby(standby_of(&server));
    server.signal("-STOP");
    let took = standby.until_answering(PATIENCE).await;
    eprintln!("the standby took over after {took:?}");
    server.signal("-CONT");
    let has_succeeded = server.ended(PATIENCE).await;
    let log = std::fs::read_to_string(server.world.path("log")).unwrap();
    assert!(!has_succeeded, "{log}");
    assert!(log.contains("has taken over the database"), "{log}");
    check_crawl(&standby, &site, &id).await;
}

/// A server of S3 with the bucket `pages`.
struct S3 {
    process: Child,
    endpoint: String,
}

impl S3 {
    async fn start(folder: &Path) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let log = std::fs::File::create(folder.join("s3.log")).unwrap();
        let process = Command::new("python3")
            .args([
                "-m",
                "moto.server",
                "-H",
                "127.0.0.1",
                "-p",
                &port.to_string(),
            ])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        let endpoint = format!("http://127.0.0.1:{port}");
        let s3 = Self { process, endpoint };
        s3.create_bucket().await;
        s3
    }

    #[expect(clippy::disallowed_methods, reason = "a test is not the server")]
    async fn create_bucket(&self) {
        // This fails when a provider is installed already, which is just as good.
        let _installed = rustls::crypto::ring::default_provider().install_default();
        let until = Instant::now() + PATIENCE;
        let bucket = format!("{}/pages", self.endpoint);
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        loop {
            match client.put(&bucket).send().await {
                Ok(created) if created.status().is_success() => return,
                other => assert!(Instant::now() < until, "no S3 server: {other:?}"),
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

impl Drop for S3 {
    fn drop(&mut self) {
        // It may have ended already.
        let _killed = self.process.kill();
        let _ended = self.process.wait();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(
    any(no_postgres, no_moto),
    ignore = "no PostgreSQL or no S3 server: install postgresql, pip install 'moto[server]'"
)]
async fn pages_are_stored_in_a_bucket() {
    let (_postgres, mut world) = world_on_postgres();
    let s3 = S3::start(&world.path("")).await;
    for (name, value) in [
        ("TRAWL_OBJECTS", "s3://pages/trawl"),
        ("AWS_ENDPOINT", s3.endpoint.as_str()),
        ("AWS_ALLOW_HTTP", "true"),
        ("AWS_REGION", "us-east-1"),
        ("AWS_ACCESS_KEY_ID", "key"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
        ("NO_PROXY", "127.0.0.1"),
    ] {
        world.environment.push((name.to_owned(), value.to_owned()));
    }
    let site = FakeSite::start().await;
    let mut server = ServerProcess::start(world);
    let id = begin_crawl(&server, &site).await;
    until_begun(&server, &id).await;
    server.kill();
    server.start_again();
    check_crawl(&server, &site, &id).await;
    assert!(!server.world.data().join("crawls").exists(), "no file");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_postgres, ignore = "no PostgreSQL: install postgresql")]
async fn a_page_is_billed_that_a_promoted_standby_of_the_database_lacked() {
    let (mut postgres, world) = world_on_postgres();
    let site = FakeSite::start().await;
    let server = ServerProcess::start(world);
    until_delivered(&server, &site.url("/page?1")).await;
    postgres.copy("standby");
    // Confirmed by a server that is lost with it.
    until_delivered(&server, &site.url("/page?2")).await;
    let before = server.account(&["statement", "caller"]);
    postgres.promote("standby");
    until_delivered(&server, &site.url("/page?3")).await;
    let after = server.account(&["statement", "caller"]);
    let billed = |statement: &Value| {
        let entries = statement["entries"].as_array().unwrap();
        let posts = entries.iter().filter(|entry| entry["kind"] == "post");
        posts
            .map(|post| post["url"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let urls = |last: u32| (1..=last).map(|n| site.url(&format!("/page?{n}")));
    assert_eq!(billed(&before), urls(2).collect::<Vec<_>>());
    assert_eq!(billed(&after), urls(3).collect::<Vec<_>>());
    assert_eq!(server.account(&["verify"])["disagreements"], json!([]));
    assert_eq!(server.account(&["list"])[0]["held"], 0);
}
