//! `POST /search` on a server whose search service is made up.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::body::Body;
use serde_json::json;

use trawl_model::memory::MemoryBudget;

use super::server::TestServer;

#[tokio::test]
async fn results_are_an_object_with_what_the_search_costs() {
    let server = TestServer::new().await;
    let body = r#"{"search":"tides","page":2,"num":10,"location":"Kiel","metadata":true}"#;
    let response = server.post("/search", body).await;
    assert_eq!(response.status, 200, "{}", response.body);
    let results = response.json();
    let expected = json!([
        {"position": 11, "url": "1.test", "title": "Tides 1", "description": "High and low water.", "date": "2026-01-31"},
        {"position": 12, "url": "2.test", "title": "Tides 2", "description": "High and low water."},
    ]);
    assert_eq!(results["content"], expected);
    assert_eq!(
        (&results["engine"], &results["cost"]),
        (&json!("searxng"), &json!(0.006))
    );
    assert_eq!(results["costs"]["total_cost"], 0.006);
    assert_eq!(results["costs"]["vendor"]["vendor_cost"], 0.005);
    assert_eq!(
        (&results["error"], &results["status"]),
        (&json!(null), &json!(200))
    );
    // What the service does not respect, and what only pages have.
    assert_eq!(
        response.header("x-ignored-parameters"),
        "metadata, location"
    );
    let limited = server
        .post("/v1/search", r#"{"search":"tides","search_limit":1}"#)
        .await;
    assert_eq!(limited.json()["content"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn pages_of_results_are_entries_in_their_order() {
    let server = TestServer::new().await;
    let body = r#"{"search":"tides","fetch_page_content":true}"#;
    let response = server.post("/search", body).await;
    assert_eq!(response.status, 200, "{}", response.body);
    let entries = response.json();
    assert_eq!(entries.as_array().map(Vec::len), Some(2));
    for (n, position) in [(0, 1), (1, 2)] {
        let result = &entries[n]["metadata"]["search"];
        assert_eq!(result["position"], position);
        assert_eq!(result["url"], format!("{position}.test"));
        assert_eq!(result["description"], "High and low water.");
        assert!(entries[n]["error"].is_null());
    }
    // The search is paid with the first good page.
    assert_eq!(entries[0]["costs"]["compute_cost"], 0.006);
    assert_eq!(entries[1]["costs"]["compute_cost"], 0.0);
}

#[tokio::test]
async fn results_that_are_charged_are_shown_without_money_for_their_pages() {
    let server = TestServer::new().await;
    server.service.n_paid.store(1, Ordering::SeqCst);
    let body = r#"{"search":"tides","fetch_page_content":true}"#;
    let response = server.post("/search", body).await;
    assert_eq!(response.status, 200, "{}", response.body);
    let entries = response.json();
    assert_eq!(entries.as_array().map(Vec::len), Some(2));
    for (n, position) in [(0, 1), (1, 2)] {
        let entry = &entries[n];
        assert_eq!(
            (&entry["cause"], &entry["error"]),
            (&json!("funds"), &json!("balance is zero"))
        );
        assert_eq!(entry["costs"]["total_cost"], 0.0);
        assert_eq!(entry["metadata"]["search"]["position"], position);
    }
    // Without money for the search nothing is charged.
    let refused = server.post("/search", body).await;
    assert_eq!(refused.status, 402, "{}", refused.body);
}

#[tokio::test]
async fn a_service_that_fails_is_a_502_and_none_a_501() {
    let server = TestServer::new().await;
    let failed = server.post("/search", r#"{"search":"broken"}"#).await;
    assert_eq!(failed.status, 502, "{}", failed.body);
    let error = "the search service failed: searxng: it cannot be reached";
    assert_eq!(failed.json(), json!({"error": error}));
    let none = server.post("/search", r#"{"search":"other"}"#).await;
    assert_eq!(none.status, 501, "{}", none.body);
    let error = none.json()["error"].to_string();
    assert!(error.contains("`[search]` in trawl.toml"), "{error}");
    let wrong = server.post("/search", r#"{"search":" "}"#).await;
    assert_eq!(wrong.status, 400, "{}", wrong.body);
}

#[tokio::test]
async fn results_count_as_memory_until_they_are_read() {
    let budget = MemoryBudget::new(64 << 20);
    let server = TestServer::with_memory(Arc::clone(&budget)).await;
    for body in [
        r#"{"search":"tides"}"#,
        r#"{"search":"tides","fetch_page_content":true}"#,
    ] {
        let request = server.request("POST", "/search").body(Body::from(body));
        let response = server.open(request.expect("a request")).await;
        assert_eq!(response.status(), 200, "{body}");
        assert!(budget.in_use().used > 0, "{body}");
        drop(response);
        assert_eq!(budget.in_use().used, 0, "{body}");
    }
}
