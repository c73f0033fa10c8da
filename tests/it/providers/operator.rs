//! Provider statistics for the operator.

use serde_json::{Value, json};
use trawl_tests::Caller;
use trawl_tests::vendors::{BAD_KEY, GOOD_KEY};

use super::{Stage, first, pooled};

async fn providers(stage: &Stage) -> Value {
    let key = stage
        .app
        .app
        .unused_admin_key()
        .expect("a fresh data directory");
    let operator = Caller::new(stage.app.address, key.expose());
    let answer = operator.get("/providers").await;
    assert_eq!(answer.status, 200);
    assert_eq!(operator.get("/v1/providers").await.status, 200);
    answer.json()["providers"].clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_statistics_show_calls_failures_costs_and_margin() {
    let stage = Stage::with(&[pooled(2)]).await;
    stage.page("http://127.0.0.1:1/page", json!({})).await;
    stage.page("http://127.0.0.1:1/missing", json!({})).await;
    stage.shop("/page", first("provider_4", BAD_KEY)).await;
    let all = providers(&stage).await;
    let names: Vec<_> = all
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    let expected: Vec<String> = (1..=11).map(|n| format!("provider_{n}")).collect();
    assert_eq!(names, expected);
    let second = &all[1];
    assert_eq!(second["has_pooled_credentials"], true);
    assert_eq!(second["pooled"]["calls"], 3);
    assert_eq!(second["pooled"]["served"], 3);
    // Three pages at 196,000 nanodollars, of which two were billed plus 20 %.
    assert_eq!(second["pooled"]["vendor_cost"], "0.000588");
    assert_eq!(second["pooled"]["billed"], "0.0004704");
    assert_eq!(second["pooled"]["margin"], "-0.0001176");
    let fourth = &all[3];
    assert_eq!(fourth["own_keys"]["failures"], json!({"bad_key": 1}));
    assert_eq!(fourth["paused_credentials"], 1);
    assert!(fourth["paused_seconds"].as_u64().unwrap() <= 30);
    assert_eq!(fourth["grant"]["prices"]["units"]["credit"], "0.00015");
    for secret in [GOOD_KEY, BAD_KEY] {
        assert!(!all.to_string().contains(secret));
    }
    stage.app.assert_settled().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn callers_see_the_providers_without_what_is_the_operators() {
    let stage = Stage::with(&[pooled(2)]).await;
    stage.page("http://127.0.0.1:1/page", json!({})).await;
    for path in ["/providers", "/v1/providers"] {
        let answer = stage.app.get(path).await;
        assert_eq!(answer.status, 200);
        assert!(!answer.header("ratelimit-remaining").is_empty());
        let all = answer.json()["providers"].clone();
        assert_eq!(all.as_array().map(Vec::len), Some(11));
        let second = &all[1];
        assert_eq!(second["name"], "provider_2");
        assert_eq!(second["vendor"], "scrapingbee");
        assert_eq!(second["credentials"], json!(["PROVIDER2_API_KEY"]));
        assert_eq!(second["takes_own_key"], true);
        assert_eq!(second["is_pooled"], true);
        assert_eq!(second["prices"]["credit"], "0.000196");
        let rendered = second["rendered"].as_array().unwrap();
        assert!(rendered.contains(&json!("script")), "{second}");
        assert_eq!(all[2]["is_pooled"], false);
        assert_eq!(all[9]["takes_own_key"], false);
        for private in ["grant", "settings", "margin", "calls", "http://", GOOD_KEY] {
            assert!(!all.to_string().contains(private), "{private}");
        }
    }
    let stranger = Caller::new(stage.app.address, "tr_nobody");
    assert_eq!(stranger.get("/providers").await.status, 401);
    stage.app.assert_settled().await;
}
