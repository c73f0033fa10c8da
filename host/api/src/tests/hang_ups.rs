//! Callers who hang up: a request is dropped at each of its polls, and nothing is left over.
//!
//! A new route that writes joins by a line in [`routes`].

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};

use trawl_billing::{AccountId, KeyRecord, key_prefix};
use trawl_model::Nanodollars;
use trawl_model::clock::Timestamp;
use trawl_store::{CrawlRecord, CrawlState};

use super::data::running_crawl;
use super::server::TestServer;

/// Polls of one request at most; each waits for a few writes and tasks.
const POLLS_MAX: usize = 200;
/// How long the server may take to clean up.
const CLEAN_AFTER: Duration = Duration::from_secs(30);

/// A request that writes.
struct Route {
    method: &'static str,
    path: String,
    body: Value,
    is_admin: bool,
}

fn keyed(method: &'static str, path: impl Into<String>, body: Value) -> Route {
    Route {
        method,
        path: path.into(),
        body,
        is_admin: false,
    }
}

fn admin(method: &'static str, path: impl Into<String>, body: Value) -> Route {
    Route {
        is_admin: true,
        ..keyed(method, path, body)
    }
}

/// Every route that writes, as it is sent the `n`th time. `crawl` is the id of a parked crawl, and
/// `key` the beginning of a key, of which each time has its own.
fn routes(n: usize, crawl: &str, key: &str) -> Vec<Route> {
    let pages = || json!({"url": "http://a.test/,http://b.test/"});
    let crawls = |fields: Value| {
        let mut crawl = fields;
        crawl["url"] = "http://a.test/".into();
        // A queued crawl is planned again, by a server without plugins.
        crawl["return_format"] = "empty".into();
        json!([crawl.clone(), crawl])
    };
    let background = || crawls(json!({"run_in_background": true}));
    let secret = json!({"run_in_background": true, "headers": {"x-secret": "1"}});
    let of = |path: &str| format!("/admin/accounts/test/{path}");
    vec![
        keyed("POST", "/scrape", pages()),
        keyed("POST", "/crawl", crawls(json!({}))),
        keyed("POST", "/crawl", background()),
        keyed("POST", "/crawl", crawls(secret)),
        keyed("POST", "/links", background()),
        keyed(
            "POST",
            "/pipeline/crawl-text",
            json!({"text": "http://a.test/ http://b.test/", "run_in_background": true}),
        ),
        keyed("POST", "/unlimited/scrape", pages()),
        keyed("POST", "/unlimited/crawl", crawls(json!({}))),
        keyed("POST", "/unlimited/crawl", background()),
        keyed("DELETE", format!("/crawl/{crawl}"), Value::Null),
        keyed(
            "POST",
            format!("/crawl/{crawl}/resume"),
            json!({"headers": {"x-secret": "1"}}),
        ),
        keyed(
            "PUT",
            "/account/notices",
            json!({"destination": "http://a.test/hook", "low_balance_dollars": format!("0.{n}")}),
        ),
        keyed("POST", "/account/keys", json!({"name": format!("k{n}")})),
        keyed(
            "PUT",
            format!("/account/keys/{key}/budget"),
            json!({"monthly_budget": format!("0.{n}")}),
        ),
        keyed("DELETE", format!("/account/keys/{key}"), Value::Null),
        keyed("POST", "/account/webhook-secret", Value::Null),
        admin(
            "POST",
            "/admin/accounts",
            json!({"name": format!("a{n}"), "dollars": "1"}),
        ),
        admin(
            "PUT",
            of("notices"),
            json!({"destination": "http://a.test/hook", "low_balance_dollars": format!("1.{n}")}),
        ),
        admin("POST", of("keys"), json!({"name": format!("k{n}")})),
        admin(
            "PUT",
            of(&format!("keys/{key}/budget")),
            json!({"monthly_budget": format!("1.{n}")}),
        ),
        admin("DELETE", of(&format!("keys/{key}")), Value::Null),
        admin("POST", of("webhook-secret"), Value::Null),
        admin(
            "POST",
            of("top-ups"),
            json!({"dollars": "1", "id": format!("t{n}")}),
        ),
        admin("PUT", of("seats"), json!({"seats": 5 + n % 3})),
        admin("POST", of("seats/suspend"), Value::Null),
        admin("POST", of("seats/resume"), Value::Null),
    ]
}

/// Polls a future at most so many times, then drops it; whether it was ready.
async fn hang_up_after(n_polls: usize, future: impl Future) -> bool {
    let mut future = pin!(future);
    let mut n_left = n_polls;
    std::future::poll_fn(move |context| {
        if future.as_mut().poll(context).is_ready() {
            return Poll::Ready(true);
        }
        n_left -= 1;
        match n_left {
            0 => Poll::Ready(false),
            _ => Poll::Pending,
        }
    })
    .await
}

impl Route {
    fn request(&self, server: &TestServer) -> Request<Body> {
        let key = if self.is_admin {
            "tra_admin"
        } else {
            &server.key
        };
        let request = Request::builder()
            .method(self.method)
            .uri(&self.path)
            .header("authorization", format!("Bearer {key}"));
        let body = match &self.body {
            Value::Null => Body::empty(),
            body => Body::from(body.to_string()),
        };
        let request = match &self.body {
            Value::Null => request,
            _ => request.header("content-type", "application/json"),
        };
        request.body(body).expect("a request")
    }
}

/// A server whose account has money and seats.
async fn server() -> (TestServer, AccountId) {
    let server = TestServer::with("1000", 1_000_000).await;
    let billing = server.service.billing();
    let account = billing.find("test").expect("the account").id.clone();
    billing.set_seats(&account, 5).await.expect("seats");
    (server, account)
}

/// A parked crawl, as a restart leaves it.
async fn park(server: &TestServer, account: &AccountId, id: &str) {
    let request = r#"{"url":"http://a.test/","return_format":"empty","headers":{"x-secret":null}}"#;
    store(server, account, (id, request, CrawlState::Parked)).await;
}

/// A background crawl in this state; a parked one needs secrets.
async fn store(
    server: &TestServer,
    account: &AccountId,
    (id, request, state): (&str, &str, CrawlState),
) {
    let record = CrawlRecord {
        needs_secrets: state == CrawlState::Parked,
        state,
        ..running_crawl(account, id, request)
    };
    server
        .service
        .store()
        .create_crawl(&record)
        .await
        .expect("a row");
}

/// How many crawls are stored as queued or running.
async fn n_unfinished(server: &TestServer, account: &AccountId) -> usize {
    let store = server.service.store();
    let rows = store.crawls(account, Timestamp::MAX, 10_000).await;
    let is_unfinished =
        |row: &CrawlRecord| !matches!(row.state, CrawlState::Ended | CrawlState::Parked);
    let rows = rows.expect("crawls").into_iter();
    rows.filter(is_unfinished).count()
}

/// What differs between the store and memory, or is still in use; empty when nothing is left over.
async fn left_over(server: &TestServer, account: &AccountId) -> Vec<String> {
    let (service, mut left) = (&server.service, Vec::new());
    let mut check = |name: &str, is: String, expected: String| {
        if is != expected {
            left.push(format!("{name}: {is}, expected {expected}"));
        }
    };
    let (store, billing, crawls) = (service.store(), service.billing(), service.crawls());
    let n_unfinished = n_unfinished(server, account).await;
    check("unfinished rows", n_unfinished.to_string(), "0".to_owned());
    check(
        "crawls",
        format!("{:?}", crawls.in_use(account)),
        format!("{:?}", trawl_crawl::CrawlsInUse::default()),
    );
    check(
        "queued bytes",
        crawls.queued_bytes(account).0.to_string(),
        "0".to_owned(),
    );
    check(
        "slots",
        billing.slots(account).active.to_string(),
        "0".to_owned(),
    );
    check(
        "reserved",
        billing.funds(account).held.0.to_string(),
        "0".to_owned(),
    );
    let accounts = store.accounts().await.expect("accounts");
    let names = |names: Vec<String>| format!("{:?}", names.into_iter().collect::<BTreeSet<_>>());
    let known = billing.accounts();
    check(
        "accounts",
        names(
            known
                .iter()
                .map(|(account, _)| account.name.clone())
                .collect(),
        ),
        names(
            accounts
                .iter()
                .map(|account| account.name.clone())
                .collect(),
        ),
    );
    let key = |key: KeyRecord| format!("{} {:?}", key.prefix, key.spending.budget);
    let keys = |keys: Vec<KeyRecord>| names(keys.into_iter().map(key).collect());
    let stored = store.keys().await.expect("keys").into_iter();
    // Revoked ones are read for their budgets.
    let stored = stored
        .filter(|key| key.account == *account && key.revoked.is_none())
        .collect();
    check("keys", keys(billing.keys(account)), keys(stored));
    let record = accounts
        .iter()
        .find(|record| record.id == *account)
        .expect("it is stored");
    check(
        "balance",
        billing.funds(account).balance.0.to_string(),
        record.balance.0.to_string(),
    );
    check(
        "stored reserves",
        record.held.0.to_string(),
        Nanodollars::ZERO.0.to_string(),
    );
    let (notice, stored) = (billing.notice(account), &record.notice);
    check(
        "notices",
        format!("{:?} {:?}", notice.destination, notice.below),
        format!("{:?} {:?}", stored.destination, stored.below),
    );
    let rows = store.subscriptions().await.expect("subscriptions");
    let row = rows.into_iter().find(|row| row.account == *account);
    check(
        "seats",
        format!("{:?}", billing.subscription(account)),
        format!("{row:?}"),
    );
    left
}

/// Waits until nothing is left over.
async fn check_nothing_is_left(server: &TestServer, account: &AccountId, after: &str) {
    let deadline = Instant::now() + CLEAN_AFTER;
    loop {
        let left = left_over(server, account).await;
        if left.is_empty() {
            return;
        }
        assert!(Instant::now() < deadline, "after {after}: {left:#?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Files of crawls without a row.
async fn stray_files(server: &TestServer, account: &AccountId) -> Vec<String> {
    let rows = server
        .service
        .store()
        .crawls(account, Timestamp::MAX, 10_000);
    let ids: BTreeSet<String> = rows
        .await
        .expect("crawls")
        .into_iter()
        .map(|row| row.id)
        .collect();
    let Ok(files) = std::fs::read_dir(server.directory().join("crawls")) else {
        return Vec::new();
    };
    let names = files.map(|file| {
        file.expect("a file")
            .file_name()
            .to_string_lossy()
            .into_owned()
    });
    let is_stray = |name: &String| !ids.contains(name.split('.').next().unwrap_or_default());
    names.filter(is_stray).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_is_dropped_at_any_poll_leaves_nothing_over() {
    for at in 0..routes(0, "", "").len() {
        let (server, account) = server().await;
        let statuses = drop_at_every_poll(&server, &account, at).await;
        let route = &routes(0, "", "")[at];
        let is_served = statuses.iter().all(|status| *status == 200);
        assert!(is_served, "{} {}: {statuses:?}", route.method, route.path);
        let stray = stray_files(&server, &account).await;
        assert!(
            stray.is_empty(),
            "{} {}: {stray:?}",
            route.method,
            route.path
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_recovery_that_is_begun_again_takes_nothing_twice() {
    const REQUEST: &str = r#"{"url":"http://a.test/","return_format":"empty"}"#;
    let ids = ["a1", "b2", "c3"];
    for n_polls in 1..POLLS_MAX {
        let (server, account) = server().await;
        for id in ids {
            store(&server, &account, (id, REQUEST, CrawlState::Running)).await;
        }
        let crawls = server.service.crawls();
        let last = crawls.interrupt().await.expect("the store works");
        assert_eq!(crawls.in_use(&account).background, ids.len());
        let is_ready = hang_up_after(n_polls, crawls.recover(last)).await;
        // A crawl gives its place back after its end is stored.
        let n_used = crawls.in_use(&account).background;
        let n_left = n_unfinished(&server, &account).await;
        assert!(
            n_used >= n_left,
            "after {n_polls} polls {n_left} crawls have {n_used} places"
        );
        crawls.recover(last).await;
        check_nothing_is_left(&server, &account, "the recovery").await;
        if is_ready {
            return;
        }
    }
    panic!("the recovery never ends");
}

/// Sends one of the routes until it is answered, and drops it one poll later each time.
async fn drop_at_every_poll(server: &TestServer, account: &AccountId, at: usize) -> BTreeSet<u16> {
    let mut statuses = BTreeSet::new();
    for n_polls in 1..POLLS_MAX {
        let route = route(server, account, at, n_polls).await;
        let name = format!("{n_polls} polls of {} {}", route.method, route.path);
        let sent = server.send(route.request(server));
        let answered = async { statuses.insert(sent.await.status.as_u16()) };
        let is_ready = hang_up_after(n_polls, answered).await;
        check_nothing_is_left(server, account, &name).await;
        if is_ready {
            return statuses;
        }
    }
    panic!("{} is never ready", routes(0, "", "")[at].path);
}

/// The route as it is sent the `n`th time, with a parked crawl or a key of its own if it needs one.
async fn route(server: &TestServer, account: &AccountId, at: usize, n: usize) -> Route {
    let path = &routes(0, "CRAWL", "KEY")[at].path;
    let id = format!("{n:032x}");
    if path.contains("CRAWL") {
        park(server, account, &id).await;
    }
    let mut prefix = String::new();
    if path.contains("KEY") {
        let key = server
            .service
            .billing()
            .create_key(account, "spare", None)
            .await;
        key_prefix(key.expect("a key").expose()).clone_into(&mut prefix);
    }
    routes(n, &id, &prefix).swap_remove(at)
}
