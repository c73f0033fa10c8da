//! `/admin`: authorization, and the responses of every route.

use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};

use super::server::{TestResponse, TestServer};

pub(super) async fn admin_request(
    server: &TestServer,
    method: &str,
    path: &str,
    body: &str,
) -> TestResponse {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("authorization", "Bearer tra_admin")
        .header("content-type", "application/json");
    let body = Body::from(body.to_owned());
    server.send(request.body(body).expect("a request")).await
}

pub(super) async fn admin_get(server: &TestServer, path: &str) -> Value {
    let response = admin_request(server, "GET", path, "").await;
    assert_eq!(response.status, 200, "{path}: {}", response.body);
    response.json()
}

pub(super) async fn admin_ok(server: &TestServer, method: &str, path: &str, body: Value) -> Value {
    let response = admin_request(server, method, path, &body.to_string()).await;
    assert_eq!(response.status, 200, "{path}: {}", response.body);
    response.json()
}

const ROUTES: [(&str, &str); 25] = [
    ("GET", "/admin/accounts"),
    ("POST", "/admin/accounts"),
    ("GET", "/admin/accounts/test"),
    ("PUT", "/admin/accounts/test/notices"),
    ("GET", "/admin/accounts/test/keys"),
    ("POST", "/admin/accounts/test/keys"),
    ("DELETE", "/admin/accounts/test/keys/tr_x"),
    ("PUT", "/admin/accounts/test/keys/tr_x/budget"),
    ("GET", "/admin/accounts/test/webhook-secret"),
    ("POST", "/admin/accounts/test/webhook-secret"),
    ("POST", "/admin/accounts/test/top-ups"),
    ("GET", "/admin/accounts/test/statement"),
    ("PUT", "/admin/accounts/test/seats"),
    ("POST", "/admin/accounts/test/seats/suspend"),
    ("POST", "/admin/accounts/test/seats/resume"),
    ("GET", "/admin/prices"),
    ("GET", "/admin/prices/history"),
    ("GET", "/admin/usage"),
    ("GET", "/admin/verify"),
    ("GET", "/admin/accounts/test/hosts"),
    ("GET", "/admin/history"),
    ("GET", "/admin/logs"),
    ("GET", "/admin/plugins"),
    ("GET", "/v1/admin/accounts"),
    ("POST", "/v1/admin/accounts"),
];

#[tokio::test]
async fn every_route_needs_the_admin_key() {
    let server = TestServer::new().await;
    for (method, path) in ROUTES {
        for key in [None, Some(server.key.as_str()), Some("tra_other")] {
            let mut request = Request::builder()
                .method(method)
                .uri(path)
                .header("content-type", "application/json");
            if let Some(key) = key {
                request = request.header("authorization", format!("Bearer {key}"));
            }
            let response = server
                .send(request.body(Body::from("{}")).expect("a request"))
                .await;
            assert_eq!(response.status, 401, "{path}");
            assert_eq!(response.json()["error"], "invalid api key", "{path}");
            assert_eq!(response.header("ratelimit-limit"), "");
        }
    }
    let wrong_method = admin_request(&server, "DELETE", "/admin/accounts", "").await;
    assert_eq!(wrong_method.status, 405);
    let nowhere = admin_request(&server, "GET", "/admin/nowhere", "").await;
    assert_eq!(nowhere.status, 404);
    // The admin key is not an account key.
    let scrape = admin_request(&server, "POST", "/scrape", r#"{"url":"a.com"}"#).await;
    assert_eq!(scrape.status, 401);
    assert_eq!(server.service.billing().accounts().len(), 1);
}

#[tokio::test]
async fn every_route_is_documented_with_its_responses() {
    let server = TestServer::new().await;
    let document = admin_get(&server, "/openapi.json").await;
    for (method, path) in ROUTES.iter().filter(|(_, path)| path.starts_with("/admin")) {
        let path = path
            .replace("/test", "/{account}")
            .replace("tr_x", "{prefix}");
        let operation = &document["paths"][&path][method.to_lowercase()];
        assert!(operation["responses"]["200"].is_object(), "{method} {path}");
        assert!(operation["responses"]["401"].is_object(), "{method} {path}");
        assert!(operation["description"].is_string(), "{method} {path}");
    }
    for (method, path) in [("put", "/account/notices"), ("get", "/data/{table}")] {
        assert!(document["paths"][path][method].is_object(), "{path}");
    }
    let schemas = &document["components"]["schemas"];
    assert!(schemas["Account"]["example"]["keys"].is_array());
    assert!(schemas["TopUp"]["example"].is_object());
}

#[tokio::test]
async fn the_life_of_an_account() {
    let server = TestServer::new().await;
    let body = json!({"name": "alice", "dollars": 500});
    let created = admin_ok(&server, "POST", "/admin/accounts", body).await;
    assert_eq!(
        (&created["name"], &created["balance"]),
        (&json!("alice"), &json!(525.0))
    );
    let first = created["api_key"].as_str().expect("a key");
    assert!(server.service.billing().authenticate(first).is_some());

    let body = json!({"dollars": "0.000000001", "id": "one"});
    for repeated in [false, true] {
        let path = "/admin/accounts/alice/top-ups";
        let paid = admin_ok(&server, "POST", path, body.clone()).await;
        assert_eq!(
            (&paid["repeated"], &paid["bonus"]),
            (&json!(repeated), &json!(0.0))
        );
        assert_eq!(paid["balance"], 525.000000001);
    }
    let id = created["id"].as_str().expect("an id");
    let by_id = admin_get(&server, &format!("/v1/admin/accounts/{id}")).await;
    let by_name = admin_get(&server, "/admin/accounts/alice").await;
    assert_eq!(
        (&by_id, &by_name["keys"][0]["name"]),
        (&by_name, &json!(null))
    );

    let path = "/admin/accounts/alice/keys";
    let key = admin_ok(&server, "POST", path, json!({"name": "ci"})).await;
    let key = key["api_key"].as_str().expect("a key").to_owned();
    assert!(server.service.billing().authenticate(&key).is_some());
    let listed = admin_get(&server, path).await;
    assert_eq!(listed["count"], 2);
    let keys = listed["data"].as_array().expect("keys");
    let ci = keys.iter().find(|key| key["name"] == "ci").expect("a name");
    assert!(
        ci["last_used"].is_string() && ci.get("revoked").is_none(),
        "{ci}"
    );
    assert!(!listed.to_string().contains(&key));
    let revoke = format!("{path}/{}", ci["key"].as_str().expect("a prefix"));
    let revoked = admin_request(&server, "DELETE", &revoke, "").await;
    assert_eq!(revoked.json(), json!({"revoked": true}));
    assert!(server.service.billing().authenticate(&key).is_none());
    assert_eq!(
        admin_request(&server, "DELETE", &revoke, "").await.status,
        404
    );
    assert_eq!(admin_get(&server, path).await["count"], 1);
    let all = admin_get(&server, &format!("{path}?all=true")).await;
    assert!(
        all["data"]
            .as_array()
            .expect("keys")
            .iter()
            .any(|key| key["revoked"].is_string())
    );

    let seats = admin_ok(
        &server,
        "PUT",
        "/admin/accounts/alice/seats",
        json!({"seats": 1}),
    )
    .await;
    assert_eq!(
        (
            &seats["charged"],
            &seats["account"]["subscription"]["seats"]
        ),
        (&json!(20.0), &json!(1))
    );
    for (verb, state) in [("suspend", "suspended"), ("resume", "active")] {
        let path = format!("/admin/accounts/alice/seats/{verb}");
        let changed = admin_ok(&server, "POST", &path, json!({})).await;
        assert_eq!(changed["account"]["subscription"]["state"], state);
    }
    let path = "/admin/accounts/alice/webhook-secret";
    let secret = admin_get(&server, path).await;
    assert_eq!(admin_get(&server, path).await, secret);
    let renewed = admin_ok(&server, "POST", path, json!({})).await;
    assert_ne!(renewed, secret);
    assert_eq!(admin_get(&server, path).await, renewed);

    let statement = admin_get(&server, "/admin/accounts/alice/statement?from=2020-01-01").await;
    assert_eq!(statement["closing_balance"], 505.000000001);
    let table = admin_request(
        &server,
        "GET",
        "/admin/accounts/alice/statement?format=csv",
        "",
    )
    .await;
    assert!(table.body.starts_with("seq,at,kind"), "{}", table.body);
    let usage = admin_get(&server, "/admin/usage?from=2020-01-01&to=2999-01-01").await;
    assert_eq!(usage["total"]["top_ups"], 510.000000001);
    assert_eq!(
        (&usage["total"]["bonuses"], &usage["total"]["seats"]),
        (&json!(25.0), &json!(20.0))
    );
    assert_eq!(usage["accounts"].as_array().map(Vec::len), Some(2));
    assert_eq!(usage["accounts"][0].get("keys"), None);
    let by_key = admin_get(&server, "/admin/usage?by=key").await;
    assert_eq!(by_key["accounts"][0]["keys"], json!([]), "no page");
    assert_eq!(
        admin_get(&server, "/admin/usage?to=2020-01-01").await["accounts"],
        json!([])
    );
    let audit = admin_get(&server, "/admin/verify").await;
    assert_eq!(
        (&audit["ok"], &audit["accounts"]),
        (&json!(true), &json!(2))
    );
}

#[tokio::test]
async fn accounts_are_listed_in_pages() {
    let server = TestServer::new().await;
    for n in 0..5 {
        let body = json!({"name": format!("account {n}")});
        admin_ok(&server, "POST", "/admin/accounts", body).await;
    }
    let listed = admin_get(&server, "/admin/accounts?limit=2&page=2").await;
    let names: Vec<_> = listed["data"]
        .as_array()
        .expect("accounts")
        .iter()
        .map(|account| account["name"].clone())
        .collect();
    assert_eq!(
        (names, &listed["count"]),
        (vec![json!("account 2"), json!("account 3")], &json!(6))
    );
    assert_eq!(listed["data"][0].get("keys"), None);
    let beyond = admin_get(&server, "/admin/accounts?page=9223372036854775807").await;
    assert_eq!((&beyond["data"], &beyond["count"]), (&json!([]), &json!(6)));
    let spaced = admin_get(&server, "/admin/accounts/account%201").await;
    assert_eq!(spaced["name"], "account 1");
}

#[tokio::test]
async fn prices_have_a_history() {
    let server = TestServer::new().await;
    let billing = server.service.billing();
    for gigabyte in ["1", "1", "2"] {
        let prices = json!({"gigabyte": gigabyte});
        billing.record_prices(&prices).await.expect("stored");
    }
    let now = admin_get(&server, "/admin/prices").await;
    assert_eq!(now["prices"], json!({"gigabyte": "2"}));
    assert!(
        now["note"]
            .as_str()
            .is_some_and(|note| note.contains("restart"))
    );
    let history = admin_get(&server, "/v1/admin/prices/history").await;
    assert_eq!(history["count"], 2);
    assert_eq!(history["data"][0]["prices"], json!({"gigabyte": "1"}));
    assert_eq!(history["data"][1]["since"], now["since"]);
}
