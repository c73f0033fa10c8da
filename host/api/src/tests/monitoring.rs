//! What the pages of the console show: logs of crawls, usage by host, deliveries, and what the
//! operator watches.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};

use trawl_model::memory::MemoryBudget;

use super::admin::{admin_get, admin_request};
use super::server::TestServer;

async fn get(server: &TestServer, path: &str) -> Value {
    let response = server.get(path).await;
    assert_eq!(response.status, 200, "{path}: {}", response.body);
    response.json()
}

/// The id of a background crawl of one page, which fails because egress refuses loopback, once it
/// has ended.
async fn failed_crawl(server: &TestServer) -> String {
    let body = json!({
        "url": "http://127.0.0.1:1/a", "return_format": "empty", "respect_robots": false, "run_in_background": true,
    });
    let started = server.post("/crawl", body.to_string()).await;
    assert_eq!(started.status, 200, "{}", started.body);
    let id = started.json()["id"].as_str().expect("an id").to_owned();
    for _ in 0..3_000 {
        if get(server, &format!("/crawl/{id}")).await["state"] == "ended" {
            return id;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the crawl does not end");
}

#[tokio::test]
async fn the_log_of_a_crawl_has_its_pages_without_content() {
    let server = TestServer::new().await;
    let id = failed_crawl(&server).await;
    let path = format!("/crawl/{id}/log");
    let response = server.get(&path).await;
    assert_eq!(response.header("x-next-cursor"), "1", "{}", response.body);
    let log = response.json();
    let page = &log[0];
    assert_eq!(log.as_array().map(Vec::len), Some(1));
    assert_eq!((&page["seq"], &page["status"]), (&json!(1), &json!(526)));
    assert_eq!(page["url"], "http://127.0.0.1:1/a");
    assert_eq!(page["cause"], "private_address");
    assert!(page["bytes"].as_u64().is_some_and(|bytes| bytes > 0));
    assert!(page.get("content").is_none() && page["at"].is_string());
    let rest = server.get(&format!("{path}?cursor=1")).await;
    assert_eq!(
        (rest.body.as_str(), rest.header("x-next-cursor")),
        ("[]", "1")
    );
    assert_eq!(server.get("/crawl/none/log").await.status, 404);
    let refused = server.get(&format!("{path}?limit=0")).await;
    assert_eq!(refused.status, 400);
    assert!(refused.body.contains("limit: must be"), "{}", refused.body);
    // Another account does not see it.
    let created = server
        .service
        .billing()
        .create_account("stranger", trawl_model::Nanodollars::ZERO)
        .await;
    let (_, key) = created.expect("an account");
    let request = Request::builder()
        .uri(&path)
        .header("authorization", format!("Bearer {}", key.expose()));
    let answer = server.send(request.body(Body::empty()).expect("a request"));
    assert_eq!(answer.await.status, 404);
}

#[tokio::test]
async fn pages_are_summed_up_by_host_with_their_failures() {
    let server = TestServer::new().await;
    let empty = get(&server, "/account/hosts").await;
    assert_eq!(empty, json!({"hosts": [], "n_hosts": 0, "others": null}));
    failed_crawl(&server).await;
    let used = get(&server, "/account/hosts").await;
    let host = &used["hosts"][0];
    assert_eq!(
        (&used["n_hosts"], &host["host"]),
        (&json!(1), &json!("127.0.0.1:1"))
    );
    assert_eq!(
        (&host["pages"], &host["failed_pages"]),
        (&json!(0), &json!(1))
    );
    assert_eq!(host["total_cost"], 0.0);
    let reasons = host["reasons"].as_object().expect("reasons");
    assert_eq!(reasons.values().collect::<Vec<_>>(), [&json!(1)]);
    let of_operator = admin_get(&server, "/admin/accounts/test/hosts").await;
    assert_eq!(of_operator, used);
    let before = get(&server, "/account/hosts?to=2001-01-01").await;
    assert_eq!(before, empty);
    for (query, name) in [("from=x", "from: "), ("limit=0", "limit: ")] {
        let refused = server.get(&format!("/account/hosts?{query}")).await;
        assert_eq!(refused.status, 400, "{query}");
        let error = refused.json()["error"].clone();
        assert!(
            error.as_str().is_some_and(|error| error.starts_with(name)),
            "{error}"
        );
    }
    let unknown = admin_request(&server, "GET", "/admin/accounts/unknown/hosts", "").await;
    assert_eq!(unknown.status, 404);
}

#[tokio::test]
async fn deliveries_are_listed() {
    let server = TestServer::new().await;
    let none = get(&server, "/account/deliveries").await;
    assert_eq!(none, json!({"data": [], "count": 0}));
}

#[tokio::test]
async fn the_operator_reads_the_history_of_the_metrics() {
    let server = TestServer::new().await;
    // Another test of this process may have set them up.
    let _set_up_before = trawl_telemetry::start_metrics();
    crate::sample_metrics(server.service.rooms()).await;
    let history = admin_get(&server, "/admin/history").await;
    assert_eq!(history["period_seconds"], 60);
    let n_times = history["times"].as_array().map_or(0, Vec::len);
    assert!(n_times > 0, "{history}");
    let series = history["series"].as_array().expect("series");
    let mut crawls = series.iter().filter(|one| one["metric"] == "trawl_crawls");
    let queued = crawls
        .find(|one| one["label"] == "queued")
        .expect("a series");
    assert_eq!(queued["kind"], "gauge");
    let first = queued["first"].as_u64().expect("an index");
    let n_values = queued["values"].as_array().map_or(0, Vec::len) as u64;
    assert_eq!(first + n_values, n_times as u64);
    let last = admin_get(&server, "/admin/history?minutes=1").await;
    assert_eq!(last["times"].as_array().map(Vec::len), Some(1));
    let refused = admin_request(&server, "GET", "/admin/history?minutes=0", "").await;
    assert_eq!(refused.status, 400);
    assert!(
        refused.body.contains("minutes: must be"),
        "{}",
        refused.body
    );
}

#[tokio::test]
async fn the_operator_searches_the_log_and_reads_the_plugins() {
    let server = TestServer::new().await;
    let lines = admin_get(&server, "/admin/logs?text=no-line-has-this").await;
    assert_eq!(lines, json!({"data": [], "count": 0}));
    let refused = admin_request(&server, "GET", "/admin/logs?limit=0", "").await;
    assert_eq!(refused.status, 400);
    let plugins = admin_get(&server, "/admin/plugins").await;
    assert_eq!(plugins, json!({"generation": 1, "plugins": []}));
}

#[tokio::test]
async fn lines_of_the_log_count_as_memory_until_they_are_read() {
    let budget = MemoryBudget::new(64 << 20);
    let server = TestServer::with_memory(Arc::clone(&budget)).await;
    let request = Request::get("/admin/logs").header("authorization", "Bearer tra_admin");
    let response = server
        .open(request.body(Body::empty()).expect("a request"))
        .await;
    assert_eq!(response.status(), 200);
    assert!(budget.in_use().used > 0);
    drop(response);
    assert_eq!(budget.in_use().used, 0);
}
