//! Keys with a monthly budget, and usage by key: of requests, and of a background crawl that goes
//! on after a kill.

use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};
use trawl_tests::caller::nanodollars;
use trawl_tests::{FakeSite, ServerProcess, World};

use super::{body_of, cheap};

/// The budget in nanodollars: for about 33 pages.
const BUDGET: i64 = 1_000_000;
const PAGES: usize = 60;
const PAGE_BYTES: usize = 30_000;
/// Long enough for a slow machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A site with a page that links to all others.
async fn site() -> FakeSite {
    let site = FakeSite::start().await;
    let mut links = String::new();
    for n in 0..PAGES {
        site.put(&format!("/p/{n}"), "text/plain", body_of(PAGE_BYTES));
        links += &format!("<a href=\"/p/{n}\">x</a>");
    }
    site.put("/", "text/html", links);
    site
}

/// What the pages of a key cost by the statement, and by `GET /account/usage`.
async fn paid(server: &ServerProcess, key: &str) -> (i64, i64) {
    let statement = server.get("/account/statement").await.json();
    let entries = statement["entries"].as_array().unwrap().iter();
    let posts = entries.filter(|entry| entry["kind"] == "post" && entry["key"] == key);
    let posted = posts.map(|entry| -nanodollars(&entry["amount"])).sum();
    let usage = server.get("/account/usage?by=key").await.json();
    assert!(usage["days"].is_array(), "{usage}");
    let mut keys = usage["keys"].as_array().unwrap().iter();
    let used = keys.find(|used| used["key"] == key);
    let used = used.unwrap_or_else(|| panic!("no {key}: {usage}"));
    assert!(used["pages"].as_u64().unwrap() > 0, "{used}");
    (posted, nanodollars(&used["costs"]["total_cost"]))
}

/// How a key is listed.
async fn listed(server: &ServerProcess, key: &str) -> Value {
    let keys = server.get("/account/keys").await.json();
    let mut keys = keys["data"].as_array().unwrap().iter();
    keys.find(|one| one["key"] == key).unwrap().clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_spends_its_budget_and_no_more_across_a_kill() {
    let site = site().await;
    let mut server = ServerProcess::start(World::new());
    let create = ["key", "create", "caller", "--name", "ci"];
    let create = [&create[..], &["--monthly-budget", "0.001"]].concat();
    let made = server.account(&create);
    let secret = made["api_key"].as_str().unwrap().to_owned();
    let key = &secret[..11];
    let first = server.key[..11].to_owned();

    // A crawl of the key continues after a kill, until the budget is used up.
    let body = json!({"url": site.url("/"), "return_format": "empty", "request": "http",
        "cache": false, "run_in_background": true, "delay": 50});
    let queued = server.with_key(&secret).post("/crawl", &[], &body).await;
    assert_eq!(queued.status, 200, "{}", queued.error());
    let id = queued.json()["id"].as_str().unwrap().to_owned();
    let until = Instant::now() + PATIENCE;
    while site.requests().len() < 5 {
        assert!(Instant::now() < until, "the crawl does not start");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    server.kill();
    server.start_again();
    let ended = server.crawl_ended(&id, PATIENCE).await;
    assert_eq!(ended["stop_reason"], "key_budget", "{ended}");
    let (posted, used) = paid(&server, key).await;
    assert_eq!(posted, used);
    assert!((BUDGET / 2..=BUDGET).contains(&used), "{used}: {ended}");
    let shown = listed(&server, key).await;
    assert_eq!(
        (&shown["monthly_budget"], nanodollars(&shown["month_spent"])),
        (&json!(0.001), used)
    );

    // The account's other key still works.
    let page = || cheap(&[site.url("/p/0")]);
    server.fine(page()).await;
    let (posted, used_first) = paid(&server, &first).await;
    assert_eq!(posted, used_first);
    assert_eq!(listed(&server, &first).await["monthly_budget"], Value::Null);

    // A page of any cost is refused, and so is a larger budget of its own.
    let set = async |budget: &str, secret: &str| {
        let caller = server.with_key(secret);
        let path = format!("/account/keys/{key}/budget");
        let body = json!({"monthly_budget": budget}).to_string();
        caller.send(Method::PUT, &path, &[], body).await.unwrap()
    };
    let least = format!("0.{used:09}");
    let lowered = set(&least, &server.key).await;
    assert_eq!(lowered.status, 200, "{}", lowered.error());
    let ci = server.with_key(&secret);
    let refused = ci.post("/scrape", &[], &page()).await;
    assert_eq!(refused.status, 402, "{}", refused.error());
    for part in [key, &least.trim_end_matches('0')[1..], "raise its budget"] {
        assert!(
            refused.error().contains(part),
            "{part}: {}",
            refused.error()
        );
    }
    assert_eq!(ci.post("/crawl", &[], &body).await.status, 402);
    assert_eq!(set("5", &secret).await.status, 403);
    let another = ci.post("/account/keys", &[], &json!({})).await;
    assert_eq!(another.status, 403, "{}", another.error());
    let path = format!("/account/keys/{first}");
    let revoked = ci.send(Method::DELETE, &path, &[], String::new()).await;
    assert_eq!(revoked.unwrap().status, 403);

    let raised = set("5", &server.key).await;
    assert_eq!(raised.json()["monthly_budget"], 5.0);
    ci.fine(page()).await;
    let (posted, now) = paid(&server, key).await;
    assert!(posted == now && now > used, "{posted} {now} {used}");
    let audit = server.account(&["verify"]);
    for name in ["disagreements", "key_disagreements"] {
        assert_eq!(audit[name], json!([]), "{name}");
    }
    let statement = server.account(&["statement", "caller"]);
    let entries = statement["entries"].as_array().unwrap();
    let posts = entries
        .iter()
        .filter(|entry| entry["key"] == key && entry["kind"] == "post");
    assert_eq!(
        -posts
            .map(|entry| entry["amount"].as_i64().unwrap())
            .sum::<i64>(),
        now
    );
    let unknown = server.get("/account/usage?by=month").await;
    assert_eq!(unknown.status, 400);
}
