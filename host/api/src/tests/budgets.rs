//! Keys with a monthly budget: what they may not do.

use axum::body::Body;
use axum::http::Request;
use serde_json::json;

use trawl_billing::key_prefix;

use super::server::{TestResponse, TestServer};

async fn asked(
    server: &TestServer,
    key: &str,
    (method, path): (&str, &str),
    body: &str,
) -> TestResponse {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("authorization", format!("Bearer {key}"))
        .header("content-type", "application/json")
        .body(Body::from(body.to_owned()));
    server.send(request.expect("a request")).await
}

#[tokio::test]
async fn a_key_with_a_budget_changes_nothing_of_the_account() {
    let server = TestServer::new().await;
    let made = server
        .post("/account/keys", r#"{"name":"ci","monthly_budget":"1"}"#)
        .await;
    let ci = made.json()["api_key"].as_str().expect("a key").to_owned();
    let (own, first) = (key_prefix(&ci), key_prefix(&server.key));
    let before = server.get("/account").await.json();
    for (method, path, body) in [
        ("POST", "/account/keys".to_owned(), "{}"),
        (
            "PUT",
            format!("/account/keys/{own}/budget"),
            r#"{"monthly_budget":null}"#,
        ),
        (
            "PUT",
            format!("/account/keys/{first}/budget"),
            r#"{"monthly_budget":"0"}"#,
        ),
        ("DELETE", format!("/account/keys/{first}"), ""),
        (
            "PUT",
            "/account/notices".to_owned(),
            r#"{"destination":"https://you.example/","low_balance_dollars":"5"}"#,
        ),
        ("POST", "/account/webhook-secret".to_owned(), "{}"),
    ] {
        let refused = asked(&server, &ci, (method, &path), body).await;
        assert_eq!(refused.status, 403, "{method} {path}: {}", refused.body);
        let error = refused.json()["error"].to_string();
        assert!(error.contains("use a key without one"), "{path}: {error}");
    }
    let after = server.get("/account").await.json();
    assert_eq!(after["notices"], before["notices"]);
    let keys = server.get("/account/keys").await.json();
    assert_eq!(keys["count"], 2);
    let budgets = keys["data"].as_array().expect("keys").iter();
    let budgets: Vec<_> = budgets.map(|key| &key["monthly_budget"]).collect();
    assert!(budgets.contains(&&json!(1.0)) && budgets.contains(&&json!(null)));

    // It reads what it needs, and revokes itself.
    for path in ["/account", "/account/keys", "/account/webhook-secret"] {
        let read = asked(&server, &ci, ("GET", path), "").await;
        assert_eq!(read.status, 200, "{path}: {}", read.body);
    }
    let path = format!("/account/keys/{own}?current=true");
    let revoked = asked(&server, &ci, ("DELETE", &path), "").await;
    assert_eq!(revoked.json(), json!({"revoked": true}));
    let gone = asked(&server, &ci, ("GET", "/account"), "").await;
    assert_eq!(gone.status, 401);
}

#[tokio::test]
async fn only_null_removes_a_budget() {
    let server = TestServer::new().await;
    let made = server
        .post("/account/keys", r#"{"monthly_budget":"1"}"#)
        .await;
    let ci = made.json()["api_key"].as_str().expect("a key").to_owned();
    let path = format!("/account/keys/{}/budget", key_prefix(&ci));
    let budget = async |body: &str| {
        let set = asked(&server, &server.key, ("PUT", &path), body).await;
        (set.status.as_u16(), set.json())
    };
    for body in ["{}", " "] {
        let (status, refused) = budget(body).await;
        let expected = "monthly_budget: is missing: send dollars, or null to remove the budget";
        assert_eq!(
            (status, &refused["error"]),
            (400, &json!(expected)),
            "{body}"
        );
    }
    let keys = server.get("/account/keys").await.json();
    let mut keys = keys["data"].as_array().expect("keys").iter();
    assert!(keys.any(|key| key["monthly_budget"] == 1.0), "{keys:?}");
    let (status, removed) = budget(r#"{"monthly_budget":null}"#).await;
    assert_eq!((status, &removed["monthly_budget"]), (200, &json!(null)));
}
