//! Batches: each listed page is answered at its index and charged once, also when the server is
//! killed, and everything else is as in a crawl.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};
use trawl_tests::caller::assert_free;
use trawl_tests::{
    Caller, Delivery, FakeSite, Receiver, ServerProcess, TestApp, World, run_program,
};

/// Items of the largest batch.
const ITEMS: usize = 10_000;
/// The last items of it: objects with parameters of their own for the URLs of the first ones, and
/// the URLs of the first ones again.
const OBJECTS: usize = 50;
const AGAIN: usize = 50;
/// Pages of which entries are stored when the server is killed.
const KILLS: [u64; 3] = [500, 3_000, 7_000];
/// Long enough for a slow machine.
const PATIENCE: Duration = Duration::from_secs(240);

async fn state(caller: &Caller, id: &str) -> Value {
    caller.get(&format!("/batch/{id}")).await.json()
}

/// Starts a batch in the background. Returns its id.
async fn started(caller: &Caller, body: &Value) -> String {
    let answer = caller.post("/batch", &[], body).await;
    let queued = answer.json();
    assert_eq!(queued["status"], "queued", "{queued}");
    let id = queued["id"].as_str().unwrap().to_owned();
    assert_eq!(answer.header("x-crawl-id"), id);
    id
}

/// The stored entries of a batch, read by cursor.
async fn stored(caller: &Caller, id: &str) -> Vec<Value> {
    let (mut entries, mut cursor) = (Vec::new(), String::from("0"));
    loop {
        let path = format!("/batch/{id}/pages?cursor={cursor}&limit=700");
        let answer = caller.get(&path).await;
        assert_eq!(answer.status, 200);
        entries.extend(answer.json().as_array().unwrap().iter().cloned());
        let next = answer.header("x-next-cursor");
        if next.is_empty() || next == cursor {
            return entries;
        }
        cursor = next.to_owned();
    }
}

/// The entry of every index; none may be answered twice.
fn by_index(entries: &[Value]) -> BTreeMap<u64, &Value> {
    let mut answered = BTreeMap::new();
    for entry in entries {
        let further = entry["duplicates"].as_array().into_iter().flatten();
        for index in std::iter::once(&entry["index"]).chain(further) {
            let twice = answered.insert(index.as_u64().unwrap(), entry);
            assert!(twice.is_none(), "answered twice: {entry}");
        }
    }
    answered
}

/// Checks that everything is charged once, and is what the batch says. Returns how often each URL
/// is charged.
fn charged(server: &ServerProcess, ended: &Value) -> BTreeMap<String, usize> {
    let statement = server.account(&["statement", "caller"]);
    let entries = statement["entries"].as_array().unwrap();
    let (mut billed, mut charged) = (0, BTreeMap::new());
    for post in entries.iter().filter(|entry| entry["kind"] == "post") {
        billed -= post["amount"].as_i64().unwrap();
        let url = post["url"].as_str().unwrap().to_owned();
        *charged.entry(url).or_default() += 1;
    }
    let reported = ended["costs"]["total_cost"].as_f64().unwrap();
    assert_eq!((reported * 1e9).round() as i64, billed);
    assert_eq!(server.account(&["verify"])["disagreements"], json!([]));
    assert_eq!(server.account(&["list"])[0]["held"], 0);
    charged
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_batch_answers_every_index_once_and_charges_each_page_once() {
    let site = FakeSite::start().await;
    let plain = ITEMS - OBJECTS - AGAIN;
    site.put_linked(plain);
    let page = |n: usize| site.url(&format!("/p/{n}"));
    let urls = (0..plain).map(|n| json!(page(n)));
    let objects = (0..OBJECTS).map(|n| json!({"url": page(n), "return_format": "raw"}));
    let again = (0..AGAIN).map(|n| json!(page(n)));
    let urls: Vec<Value> = urls.chain(objects).chain(again).collect();
    assert_eq!(urls.len(), ITEMS);
    let body = json!({
        "urls": urls, "return_format": "text", "request": "http", "cache": false, "run_in_background": true,
    });
    let mut server = ServerProcess::start(World::new());
    let id = started(&server, &body).await;
    let mut n_interrupted = 0;
    for enough in KILLS {
        let until = Instant::now() + PATIENCE;
        loop {
            let now = state(&server, &id).await;
            if now["pages"].as_u64().unwrap() >= enough || now["state"] == "ended" {
                break;
            }
            assert!(Instant::now() < until, "the batch does not go on: {now}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        server.kill();
        server.start_again();
        n_interrupted += u32::from(state(&server, &id).await["state"] != "ended");
    }
    assert!(n_interrupted > 0, "it had ended before the first kill");
    let ended = server.batch_ended(&id, PATIENCE).await;
    assert_eq!(ended["stop_reason"], "completed", "{ended}");
    assert_eq!(
        (&ended["pages"], &ended["failed"]),
        (&json!(ITEMS - AGAIN), &json!(0))
    );
    assert_eq!(ended["request"]["urls"], "10000 URLs");

    let entries = stored(&server, &id).await;
    let answered = by_index(&entries);
    assert_eq!(answered.len(), ITEMS);
    for (index, entry) in answered {
        let index = usize::try_from(index).unwrap();
        let content = entry["content"].as_str().unwrap();
        let is_expected = match index {
            n if n < plain => content.trim() == format!("Page {n}"),
            n if n < plain + OBJECTS => content.contains(&format!("<p>Page {}</p>", n - plain)),
            n => content.trim() == format!("Page {}", n - plain - OBJECTS),
        };
        assert!(is_expected, "{index}: {content}");
    }
    let charged = charged(&server, &ended);
    assert_eq!(charged.len(), plain);
    for n in 0..plain {
        // Those with two forms are two pages.
        let expected = if n < OBJECTS { 2 } else { 1 };
        assert_eq!(charged[&page(n)], expected, "/p/{n}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_that_lost_its_secrets_is_parked_until_they_are_sent_again() {
    let site = FakeSite::start().await;
    site.put_linked(60);
    let urls: Vec<String> = (0..60).map(|n| site.url(&format!("/p/{n}"))).collect();
    let secrets = json!({"headers": {"Authorization": "Bearer canary-of-a-batch-51d0"}});
    let mut body = json!({
        "urls": urls, "return_format": "text", "request": "http", "cache": false,
        "run_in_background": true, "delay": 50,
    });
    body["headers"] = secrets["headers"].clone();
    let mut server = ServerProcess::start(World::new());
    let id = started(&server, &body).await;
    let until = Instant::now() + PATIENCE;
    while site.requests().len() < 5 {
        assert!(Instant::now() < until, "the batch does not start");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    server.kill();
    server.start_again();
    let parked = state(&server, &id).await;
    assert_eq!(parked["state"], "parked", "{parked}");
    assert_eq!(parked["missing_secrets"], json!(["headers.Authorization"]));
    let path = format!("/batch/{id}/resume");
    let lacking = server.post(&path, &[], &json!({})).await;
    assert_eq!(lacking.status, 400, "{}", lacking.json());
    let resumed = server.post(&path, &[], &secrets).await;
    assert_eq!(resumed.status, 200, "{}", resumed.json());
    let ended = server.batch_ended(&id, PATIENCE).await;
    assert_eq!(ended["stop_reason"], "completed", "{ended}");
    let entries = stored(&server, &id).await;
    assert_eq!(by_index(&entries).len(), 60);
    assert!(charged(&server, &ended).values().all(|n| *n == 1));
    let head = site.requests().pop().unwrap();
    assert!(head.contains("canary-of-a-batch-51d0"), "{head}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_is_stopped_and_listed_apart_from_crawls() {
    let (app, site) = (TestApp::start().await, FakeSite::start().await);
    site.put_linked(40);
    let urls: Vec<String> = (0..40).map(|n| site.url(&format!("/p/{n}"))).collect();
    let body = json!({
        "urls": urls, "return_format": "text", "request": "http", "cache": false,
        "run_in_background": true, "delay": 100,
    });
    let id = started(&app, &body).await;
    let seed = json!({"url": site.url("/page"), "limit": 1, "run_in_background": true});
    let crawl = app.post("/crawl", &[], &seed).await.json();
    let crawl = crawl["id"].as_str().unwrap();
    app.crawl_ended(crawl, PATIENCE).await;
    let until = Instant::now() + PATIENCE;
    while state(&app, &id).await["pages"] == 0 {
        assert!(Instant::now() < until, "no page comes");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let path = format!("/batch/{id}");
    let stopped = app.send(Method::DELETE, &path, &[], String::new()).await;
    assert_eq!(stopped.unwrap().status, 200);
    let ended = app.batch_ended(&id, PATIENCE).await;
    assert_eq!(ended["stop_reason"], "cancelled", "{ended}");
    let entries = stored(&app, &id).await;
    let skipped = app.get(&format!("{path}/skipped")).await.json();
    let skipped = skipped.as_array().unwrap();
    assert!(!entries.is_empty() && !skipped.is_empty());
    assert_eq!(by_index(&entries).len() + skipped.len(), 40);
    for page in skipped {
        assert_eq!(page["reason"], "stopped", "{page}");
        let index = usize::try_from(page["index"].as_u64().unwrap()).unwrap();
        assert_eq!(page["url"], urls[index]);
        assert!(!by_index(&entries).contains_key(&(index as u64)));
    }
    let resume = format!("{path}/resume");
    assert_eq!(app.post(&resume, &[], &json!({})).await.status, 409);

    for (list, expected) in [("/batch", id.as_str()), ("/crawl", crawl)] {
        let listed = app.get(list).await.json();
        assert_eq!(listed["count"], 1, "{listed}");
        assert_eq!(listed["data"][0]["id"], expected, "{listed}");
    }
    let listed = app.get("/batch").await.json();
    let row = &listed["data"][0];
    assert_eq!(
        (&row["verb"], &row["state"], &row["url"], &row["pages"]),
        (
            &json!("batch"),
            &json!("ended"),
            &json!(urls[0]),
            &ended["pages"]
        )
    );
    assert_eq!(row["total_cost"], ended["costs"]["total_cost"]);
    for end in ["", "/pages", "/skipped"] {
        assert_eq!(app.get(&format!("/crawl/{id}{end}")).await.status, 404);
        assert_eq!(app.get(&format!("/batch/{crawl}{end}")).await.status, 404);
    }
    app.assert_settled().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_streams_an_entry_for_each_page() {
    let (app, site) = (TestApp::start().await, FakeSite::start().await);
    let landing = site.url("/redirect/0");
    let body = json!({
        "urls": [
            site.url("/page"), {"url": site.url("/page"), "return_format": "raw", "return_headers": true},
            "ftp://127.0.0.1/x", site.url("/redirect/1"), landing, site.url("/page"), site.url("/status/404"),
        ],
        "return_format": "markdown", "request": "http", "final_entry": true,
    });
    let headers = [("content-type", "application/jsonl")];
    let answer = app.post("/batch", &headers, &body).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-type"), "application/jsonl");
    let text = String::from_utf8(answer.body.clone()).unwrap();
    let mut lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let end = lines.pop().unwrap();
    assert_eq!(
        (&end["stop_reason"], &end["pages"]),
        (&json!("completed"), &json!(6))
    );
    let entries = by_index(&lines);
    assert_eq!(
        entries.keys().copied().collect::<Vec<_>>(),
        [0, 1, 2, 3, 4, 5, 6]
    );
    assert_eq!(entries[&0]["duplicates"], json!([5]));
    assert!(
        entries[&0]["content"]
            .as_str()
            .unwrap()
            .contains("# A page")
    );
    assert!(
        entries[&1]["content"]
            .as_str()
            .unwrap()
            .starts_with("<!DOCTYPE")
    );
    assert!(entries[&1]["headers"].is_object() && entries[&0].get("headers").is_none());
    assert_eq!(entries[&2]["url"], "ftp://127.0.0.1/x");
    assert_eq!(entries[&6]["status"], 404);
    for failed in [2, 6] {
        assert!(entries[&failed]["error"].is_string());
        assert_free(entries[&failed]);
    }
    // One that leads to another listed page is a page of its own.
    for landed in [3, 4] {
        assert_eq!(entries[&landed]["url"], landing, "{}", entries[&landed]);
        assert!(entries[&landed]["error"].is_null());
    }
    assert!(entries[&0].get("depth").is_none(), "{}", entries[&0]);
    let id = answer.header("x-crawl-id");
    assert_eq!(stored(&app, id).await.len(), 6);
    app.assert_settled().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_sends_an_event_for_each_page_that_failed_or_succeeded() {
    let (app, site, receiver) = (
        TestApp::start().await,
        FakeSite::start().await,
        Receiver::start().await,
    );
    let body = json!({
        "urls": [site.url("/page"), "ftp://127.0.0.1/x", site.url("/page"), site.url("/status/404")],
        "return_format": "text", "request": "http", "run_in_background": true,
        "webhooks": {
            "destination": receiver.url(), "on_find": true, "on_find_metadata": true, "on_website_status": true,
        },
    });
    let id = started(&app, &body).await;
    app.batch_ended(&id, PATIENCE).await;
    let deliveries = receiver.has(7).await;
    let events: Vec<(String, Value)> = deliveries.iter().map(Delivery::event).collect();
    for name in ["on_find", "on_find_metadata"] {
        let named = events.iter().filter(|(event, _)| event == name);
        let by_index: BTreeMap<u64, &Value> = named
            .map(|(_, body)| (body["index"].as_u64().unwrap(), body))
            .collect();
        assert_eq!(
            by_index.keys().copied().collect::<Vec<_>>(),
            [0, 1, 3],
            "{name}"
        );
        assert!(
            by_index
                .values()
                .all(|body| body["crawl_id"] == id.as_str())
        );
        assert_eq!(by_index[&0]["duplicates"], json!([2]));
        assert_eq!(by_index[&0]["status_code"], 200);
        assert!(by_index[&1]["cause"].is_string() && by_index[&0].get("cause").is_none());
        assert_eq!(by_index[&3]["status_code"], 404);
    }
    let ends: BTreeSet<&str> = events
        .iter()
        .filter(|(event, _)| event == "on_website_status")
        .filter_map(|(_, body)| body["stop_reason"].as_str())
        .collect();
    assert_eq!(ends, BTreeSet::from(["completed"]));
    app.assert_settled().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repeated_batch_is_the_same_one() {
    let (app, site) = (TestApp::start().await, FakeSite::start().await);
    for in_background in [false, true] {
        let key = format!("batch-{in_background}");
        let headers = [("idempotency-key", key.as_str())];
        let n_before = site.requests().len();
        let body = json!({
            "urls": [site.url("/page"), {"url": site.url("/page?2"), "return_format": "text"}],
            "request": "http", "cache": false, "run_in_background": in_background,
        });
        let first = app.post("/batch", &headers, &body).await;
        assert_eq!(first.status, 200);
        if in_background {
            let id = first.json()["id"].as_str().unwrap().to_owned();
            app.batch_ended(&id, PATIENCE).await;
        }
        let (left, seen) = (app.balance(), site.requests().len());
        assert_eq!(seen - n_before, 2, "one request a page");
        let again = app.post("/batch", &headers, &body).await;
        assert_eq!((again.status, &again.body), (200, &first.body));
        assert_eq!(again.header("idempotency-replayed"), "true");
        assert_eq!((app.balance(), site.requests().len()), (left, seen));
        let other = json!({"urls": [site.url("/page")], "request": "http"});
        assert_eq!(app.post("/batch", &headers, &other).await.status, 409);
    }
    assert_eq!(app.get("/batch").await.json()["count"], 2);
    app.assert_settled().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bad_object_refuses_the_whole_batch_with_its_index() {
    let (app, site) = (TestApp::start().await, FakeSite::start().await);
    let page = site.url("/page");
    for (item, begin) in [
        (
            json!({"url": page, "return_format": "pdf"}),
            "urls[2].return_format: ",
        ),
        (json!({"url": page, "limit": 1}), "urls[2].limit: "),
        (json!({"return_format": "text"}), "urls[2].url: "),
        (json!(5), "Deserialization error: urls[2]: "),
    ] {
        let body = json!({"urls": [page, page, item], "request": "http"});
        let refused = app.post("/batch", &[], &body).await;
        assert_eq!(refused.status, 400);
        assert!(refused.error().starts_with(begin), "{}", refused.error());
    }
    let too_many = vec![page; ITEMS + 1];
    let refused = app.post("/batch", &[], &json!({"urls": too_many})).await;
    assert_eq!(refused.status, 400);
    assert!(site.requests().is_empty());
    assert_eq!(app.get("/batch").await.json()["count"], 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_limits_of_a_crawl_hold_for_a_batch() {
    let (app, site) = (TestApp::start().await, FakeSite::start().await);
    site.put_linked(20);
    let urls: Vec<String> = (0..20).map(|n| site.url(&format!("/p/{n}"))).collect();
    for (name, value, n_pages, stop) in [
        ("limit", json!(3), 3, "limit"),
        ("host_limit", json!(4), 4, "host_limit"),
        ("budget", json!({"/p/1": 5}), 14, "budget"),
    ] {
        let mut body = json!({"urls": urls, "request": "http", "run_in_background": true});
        body[name] = value;
        let id = started(&app, &body).await;
        let ended = app.batch_ended(&id, PATIENCE).await;
        assert_eq!(
            (&ended["pages"], &ended["stop_reason"]),
            (&json!(n_pages), &json!(stop)),
            "{name}: {ended}"
        );
    }
    app.assert_settled().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_command_fetches_the_pages_of_a_file() {
    let (mut world, site) = (World::new(), FakeSite::start().await);
    let state = world.path("state").to_string_lossy().into_owned();
    world.environment.push(("XDG_STATE_HOME".to_owned(), state));
    let page = site.url("/page");
    let object = json!({"url": page, "return_format": "raw"});
    let input = format!("{page}\n{object}\n\n{}\n{page}\n", site.url("/status/404"));
    let plugins = world.plugins();
    let plugins = plugins.to_str().unwrap();
    let options = ["--request", "http", "--allow-private", "127.0.0.1"];
    let arguments = [&["batch", "-", "--plugins", plugins][..], &options].concat();
    let output = run_program(&world, &arguments, input.as_bytes());
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    let written = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<Value> = written
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let entries = by_index(&lines);
    assert_eq!(entries.keys().copied().collect::<Vec<_>>(), [0, 1, 2, 3]);
    assert!(entries[&1]["content"].as_str().unwrap().contains("<h1>"));
    assert_eq!(entries[&0]["duplicates"], json!([3]));
    assert_eq!(entries[&2]["status"], 404);

    let wrong = run_program(&world, &arguments, b"a.example\n{\"url\": }\n");
    let said = String::from_utf8(wrong.stderr).unwrap();
    assert!(
        !wrong.status.success() && said.contains("line 2 is not JSON"),
        "{said}"
    );
}
