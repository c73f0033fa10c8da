//! Third-party plugins on a running server: added, removed, broken, misbehaving.

mod misbehavior;
mod swaps;

use std::time::{Duration, Instant};

use serde_json::Value;
use trawl_tests::TestApp;

/// Waits until `GET /plugins` meets a condition, and returns its response and the time it took.
async fn shows(app: &TestApp, what: impl Fn(&Value) -> bool) -> (Value, Duration) {
    let began = Instant::now();
    loop {
        let status = app.get("/plugins").await.json();
        if what(&status) {
            return (status, began.elapsed());
        }
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "never so: {status}"
        );
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

fn generation(status: &Value) -> u64 {
    status["generation"].as_u64().unwrap()
}

fn plugin<'a>(status: &'a Value, name: &str) -> Option<&'a Value> {
    let mut plugins = status["plugins"].as_array().unwrap().iter();
    plugins.find(|plugin| plugin["name"] == name)
}
