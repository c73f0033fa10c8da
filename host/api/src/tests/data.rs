//! `/data/{table}` and `/account/notices`: an account's own records.

use axum::body::Body;
use serde_json::{Value, json};

use trawl_model::StopReason;
use trawl_model::clock::Timestamp;
use trawl_store::{Channel, CrawlRecord, CrawlState, DeliveryFailure, OutboxRow, testing};

use super::server::TestServer;

async fn table(server: &TestServer, path: &str) -> Value {
    let response = server.get(path).await;
    assert_eq!(response.status, 200, "{path}: {}", response.body);
    response.json()
}

#[tokio::test]
async fn tables_have_only_rows_of_their_account() {
    let server = TestServer::new().await;
    for table_name in ["crawl_logs", "crawl_state", "pages", "webhooks"] {
        let empty = table(&server, &format!("/data/{table_name}")).await;
        assert_eq!(empty, json!({"data": [], "count": 0}), "{table_name}");
    }
    // Egress refuses loopback, so both pages fail.
    for background in [false, true] {
        let body = json!({
            "url": "http://127.0.0.1:1/", "return_format": "empty", "respect_robots": false,
            "run_in_background": background,
        });
        let response = server.post("/crawl", body.to_string()).await;
        assert_eq!(response.status, 200, "{}", response.body);
    }
    let mut crawls = Value::Null;
    for _ in 0..3_000 {
        crawls = table(&server, "/data/crawl_state").await;
        let rows = crawls["data"].as_array().expect("rows");
        if rows.iter().all(|row| row["state"] == "ended") {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    assert_eq!(
        (&crawls["count"], &crawls["data"][0]["state"]),
        (&json!(2), &json!("ended"))
    );
    assert_eq!(crawls["data"][0]["background"], true, "newest first");
    assert_eq!(crawls["data"][0]["stop_reason"], "completed");
    assert_eq!(crawls["data"][0]["url"], "http://127.0.0.1:1/");
    let listed = table(&server, "/crawl").await;
    assert_eq!(listed["count"], 2);
    for n in [0, 1] {
        let (one, row) = (&listed["data"][n], &crawls["data"][n]);
        assert_eq!(one["id"], row["crawl_id"]);
        for name in [
            "url",
            "state",
            "stop_reason",
            "pages",
            "failed",
            "total_cost",
            "created",
        ] {
            assert!(
                !one[name].is_null() && one[name] == row[name],
                "{name}: {listed}"
            );
        }
    }
    let first = table(&server, "/v1/crawl?limit=1").await;
    let cursor = first["next_cursor"].as_str().expect("there are more");
    let second = table(&server, &format!("/crawl?limit=1&cursor={cursor}")).await;
    assert_eq!(second["data"], json!([listed["data"][1]]));
    assert_eq!(second.get("next_cursor"), None);
    let id = listed["data"][0]["id"].as_str().expect("an id");
    let shown = table(&server, &format!("/crawl/{id}")).await;
    let urls = json!({"known": 1, "waiting": 0, "in_flight": 0, "skipped": 0});
    assert_eq!(shown["urls"], urls, "it is known after the end");
    let logs = table(&server, "/v1/data/crawl_logs?limit=1&page=2").await;
    assert_eq!(
        (&logs["count"], logs["data"].as_array().map(Vec::len)),
        (&json!(2), Some(1))
    );
    let log = &logs["data"][0];
    assert_eq!(
        (&log["url"], &log["total_cost"]),
        (&json!("http://127.0.0.1:1/"), &json!(0.0))
    );
    assert_eq!(
        (&log["status"], &log["crawl_id"]),
        (&json!(526), &crawls["data"][1]["crawl_id"])
    );
    assert_eq!(log["cause"], "private_address");
    assert!(log["error"].as_str().is_some_and(|error| !error.is_empty()) && log["at"].is_string());
    let pages = table(&server, "/data/pages").await;
    assert_eq!(
        (&pages["count"], &pages["data"][0]["crawl_id"]),
        (&json!(1), &crawls["data"][0]["crawl_id"])
    );
    assert_eq!(pages["data"][0].get("content"), None);
    assert_eq!(pages["data"][0]["cause"], "private_address");

    let billing = server.service.billing();
    let created = billing
        .create_account("stranger", trawl_model::Nanodollars::ZERO)
        .await;
    let (stranger, key) = created.expect("an account");
    let events =
        [(test_account(&server), "1"), (stranger.id.clone(), "2")].map(|(account, id)| OutboxRow {
            id: id.to_owned(),
            account,
            destination: "https://you.example/hook?token=canary".to_owned(),
            event: "on_find".to_owned(),
            body: "{}".to_owned(),
            created: Timestamp(1),
            due: Timestamp(2_000),
            n_attempts: 3,
            last_failure: None,
        });
    server
        .service
        .store()
        .outbox_push(&events)
        .await
        .expect("stored");
    let pending = table(&server, "/data/webhooks").await;
    let expected = json!({"id": "1", "event": "on_find", "destination": "https://you.example/hook", "attempts": 3,
        "created": "1970-01-01T00:00:00.001Z", "due": "1970-01-01T00:00:02.000Z", "last_error": null, "last_failed": null});
    assert_eq!(pending, json!({"data": [expected], "count": 1}));

    let keys = table(&server, "/data/api_keys").await;
    assert_eq!(keys["count"], 1);
    assert!(keys["data"][0]["last_used"].is_string());
    assert!(!keys.to_string().contains(&server.key));
    let of_stranger = |table: &str| {
        let request = server.request("GET", &format!("/data/{table}"));
        let mut request = request.body(Body::empty()).expect("a request");
        let bearer = format!("Bearer {}", key.expose())
            .parse()
            .expect("a header");
        request.headers_mut().insert("authorization", bearer);
        request
    };
    let mut crawls_of_stranger = of_stranger("x");
    *crawls_of_stranger.uri_mut() = "/crawl".parse().expect("a path");
    let response = server.send(crawls_of_stranger).await;
    assert_eq!(response.json(), json!({"data": [], "count": 0}));
    for table_name in ["crawl_logs", "crawl_state", "pages"] {
        let response = server.send(of_stranger(table_name)).await;
        assert_eq!(
            response.json(),
            json!({"data": [], "count": 0}),
            "{table_name}"
        );
    }
}

/// Members whose values are times.
const TIMES: [&str; 12] = [
    "at",
    "created",
    "ended",
    "due",
    "last_failed",
    "last_used",
    "revoked",
    "first_seen",
    "last_seen",
    "since",
    "from",
    "to",
];
/// Checks that the times of an answer are RFC 3339, and that seconds come with one. Returns how
/// many times there are.
fn checked_times(path: &str, answer: &Value) -> usize {
    let object = match answer {
        Value::Array(items) => return items.iter().map(|item| checked_times(path, item)).sum(),
        Value::Object(object) => object,
        _ => return 0,
    };
    let time = |name: &str| -> Option<Timestamp> { object.get(name)?.as_str()?.parse().ok() };
    let mut n_times = 0;
    for (name, value) in object {
        n_times += checked_times(path, value);
        if TIMES.contains(&name.as_str()) && !value.is_null() {
            let text = value.as_str().unwrap_or_default();
            assert!(
                text.contains('T') && text.ends_with('Z'),
                "{path} {name}: {value}"
            );
            assert!(time(name).is_some(), "{path} {name}: {value}");
            n_times += 1;
        }
        // Seconds since 1970.
        if let Some(seconds) = name.strip_suffix("_at").filter(|_| !value.is_null()) {
            let seconds = time(seconds).map(Timestamp::unix_seconds);
            assert!(seconds.is_some(), "{path} {name} has no time");
            assert_eq!(seconds, value.as_i64(), "{path} {name}");
        }
    }
    n_times
}

#[tokio::test]
async fn every_time_is_rfc_3339_beside_the_seconds_that_clients_read() {
    let server = TestServer::new().await;
    let body = json!({
        "url": "http://127.0.0.1:1/", "return_format": "empty", "respect_robots": false,
        "run_in_background": true,
    });
    let started = server.post("/crawl", body.to_string()).await.json();
    let crawl = format!("/crawl/{}", started["id"].as_str().unwrap_or_default());
    for _ in 0..3_000 {
        if server.get(&crawl).await.json()["state"] == "ended" {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    let event = OutboxRow {
        id: "1".to_owned(),
        account: test_account(&server),
        destination: "https://you.example/hook".to_owned(),
        event: "on_find".to_owned(),
        body: "{}".to_owned(),
        created: Timestamp(1),
        due: Timestamp(2_000),
        n_attempts: 0,
        last_failure: None,
    };
    let channel = Channel {
        account: event.account.clone(),
        destination: event.destination.clone(),
    };
    let failure = DeliveryFailure {
        reason: "it was refused".to_owned(),
        at: Timestamp(1_000),
    };
    let store = server.service.store();
    store.outbox_push(&[event]).await.expect("stored");
    let until = (Timestamp(3_000), Timestamp(0));
    let postponed = store.outbox_postpone(&channel, &[], &failure, until.0, until.1);
    postponed.await.expect("written");
    for (path, n_times) in [
        (crawl.as_str(), 2),
        ("/account", 2),
        ("/account/keys", 2),
        ("/account/statement", 1),
        ("/data/crawl_logs", 1),
        ("/data/crawl_state", 2),
        ("/crawl", 2),
        ("/data/pages", 1),
        ("/data/webhooks", 3),
        ("/data/api_keys", 2),
    ] {
        let answer = table(&server, path).await;
        assert!(checked_times(path, &answer) >= n_times, "{path}: {answer}");
    }
    let shown = table(&server, &crawl).await;
    for name in ["created_at", "ended_at"] {
        assert!(shown[name].is_i64(), "{shown}");
    }
}

pub(super) fn test_account(server: &TestServer) -> trawl_billing::AccountId {
    let account = server.service.billing().find("test");
    account.expect("the account").id.clone()
}

/// A background crawl that is stored as running, as a killed process leaves it.
pub(super) fn running_crawl(
    account: &trawl_billing::AccountId,
    id: &str,
    request: &str,
) -> CrawlRecord {
    CrawlRecord {
        request: request.to_owned(),
        ..testing::running_crawl(account, id)
    }
}

#[tokio::test]
async fn lists_say_why_a_crawl_is_parked() {
    let server = TestServer::new().await;
    let account = test_account(&server);
    for (id, stop, needs_secrets) in [("a", None, true), ("b", Some(StopReason::PlanEnded), false)]
    {
        let record = CrawlRecord {
            state: CrawlState::Parked,
            stop,
            needs_secrets,
            ..running_crawl(&account, id, "{}")
        };
        let created = server.service.store().create_crawl(&record).await;
        created.expect("a row");
    }
    for (path, id) in [("/crawl", "id"), ("/data/crawl_state", "crawl_id")] {
        let listed = table(&server, path).await;
        for (row, crawl, reason) in [(0, "b", "plan_ended"), (1, "a", "credentials_lost")] {
            let row = &listed["data"][row];
            assert_eq!(
                (&row[id], &row["state"], &row["stop_reason"]),
                (&json!(crawl), &json!("parked"), &json!(reason)),
                "{path}"
            );
        }
    }
}

#[tokio::test]
async fn an_unknown_table_gets_the_list_of_tables() {
    let server = TestServer::new().await;
    let response = server.get("/data/secrets").await;
    assert_eq!(response.status, 404);
    assert_eq!(
        response.json()["error"],
        "unknown table `secrets`, expected contacts, crawl_logs, crawl_state, pages, webhooks, api_keys"
    );
    assert_eq!(server.get("/data/contacts").await.status, 200);
    assert_eq!(server.get("/data/credits").await.status, 200);
    for (query, name) in [
        ("limit=0", "limit"),
        ("limit=x", "limit"),
        ("page=0", "page"),
        ("page=-1", "page"),
    ] {
        let response = server.get(&format!("/data/pages?{query}")).await;
        let error = response.json()["error"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        assert_eq!(
            (response.status.as_u16(), error.split(':').next()),
            (400, Some(name))
        );
    }
}

#[tokio::test]
async fn an_account_sets_its_balance_alerts() {
    let server = TestServer::new().await;
    let account = table(&server, "/account").await;
    assert_eq!(
        (&account["notices"], &account["balance"]),
        (&json!(null), &json!(10.0))
    );
    let put = async |body: Value| {
        let request = server.request("PUT", "/account/notices");
        let request = request.body(Body::from(body.to_string()));
        server.send(request.expect("a request")).await
    };
    let set = put(json!({"destination": "you.example/hook", "low_balance_dollars": "2.50"})).await;
    let expected = json!({"destination": "https://you.example/hook", "low_balance_dollars": 2.5});
    assert_eq!(
        (set.status.as_u16(), &set.json()["notices"]),
        (200, &expected)
    );
    assert_eq!(table(&server, "/account").await["notices"], expected);
    let refused = put(json!({"destination": "javascript:1", "low_balance_dollars": 1})).await;
    assert_eq!(refused.status, 400);
    assert_eq!(table(&server, "/account").await["notices"], expected);
    let private =
        put(json!({"destination": "https://private.test/", "low_balance_dollars": null})).await;
    assert_eq!(private.status, 400);
    let error = private.json()["error"].as_str().map(str::to_owned);
    assert!(
        error.is_some_and(|text| text.starts_with("destination: host")),
        "{}",
        private.body
    );
    // What null removes stays where it is only left out.
    for partly in [
        json!({}),
        json!({"low_balance_dollars": "5"}),
        json!({"destination": "https://you.example/hook"}),
    ] {
        let refused = put(partly).await;
        assert_eq!(refused.status, 400);
        assert!(
            refused.body.contains(": is missing: send "),
            "{}",
            refused.body
        );
    }
    assert_eq!(table(&server, "/account").await["notices"], expected);
    let none = put(json!({"destination": null})).await;
    assert_eq!(none.json()["notices"], Value::Null);
}
