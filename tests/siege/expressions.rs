//! Patterns, budgets and rules that cost the server more than the caller.

use serde_json::{Map, Value, json};

use crate::field::{Field, post};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "measures the machine: cargo xtask siege"]
async fn ten_thousand_expressions() {
    let field = Field::idle().await;
    let patterns = vec![r"\w{12}"; 10_000];
    let body = json!({"url": field.trouble.url(0, "/links"), "blacklist": patterns});
    field
        .besiege("ten thousand expressions", async {
            let status = post(&field.attacker, "/crawl", &body).await;
            assert_eq!(
                status,
                Some(400),
                "more expressions than anybody needs are refused"
            );
        })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "measures the machine: cargo xtask siege"]
async fn expressions_that_compile_to_much() {
    let field = Field::idle().await;
    // Few, short and large: each is some megabytes when it is compiled.
    let patterns: Vec<String> = (0..100)
        .map(|n| format!(r"(\w{{50}}\W{{50}}){{10}}{n}"))
        .collect();
    let body = json!({"url": field.trouble.url(0, "/links"), "whitelist": patterns});
    field
        .besiege("expressions that compile to much", async {
            let status = post(&field.attacker, "/crawl", &body).await;
            assert_eq!(status, Some(400));
        })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "measures the machine: cargo xtask siege"]
async fn sixty_thousand_budgets() {
    let field = Field::idle().await;
    let budgets: Map<String, Value> = (0..60_000)
        .map(|n| (format!("/silent/{n}"), json!(1)))
        .collect();
    let body = json!({"url": field.trouble.url(0, "/links"), "limit": 30_000, "budget": budgets});
    field
        .besiege("sixty thousand budgets", async {
            let status = post(&field.attacker, "/crawl", &body).await;
            assert_eq!(status, Some(400));
        })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "measures the machine: cargo xtask siege"]
async fn budgets_that_are_used_up_beside_a_long_queue() {
    let field = Field::idle().await;
    let budgets: Map<String, Value> = (0..300)
        .map(|n| (format!("/silent/{n}"), json!(1)))
        .collect();
    let body = json!({
        "url": field.trouble.url(0, "/links"), "limit": 30_000, "budget": budgets,
        "request_timeout": 5,
    });
    field
        .besiege("used budgets and a long queue", async {
            let status = post(&field.attacker, "/crawl", &body).await;
            assert_ne!(status, Some(400));
        })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "measures the machine: cargo xtask siege"]
async fn half_a_megabyte_of_robots_rules() {
    let field = Field::idle().await;
    let body = json!({
        "url": field.trouble.url(0, "/links"), "limit": 20_000, "respect_robots": true,
        "request_timeout": 5,
    });
    field
        .besiege("half a megabyte of robots rules", async {
            let status = post(&field.attacker, "/crawl", &body).await;
            assert_ne!(status, Some(400));
        })
        .await;
}
