//! Concurrent requests of one account, and the alerts for a low balance.

use std::collections::BTreeSet;
use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use trawl_crawl::webhooks::{SigningSecrets, signature, standard_signature};
use trawl_model::clock::Timestamp;
use trawl_model::secret::Secret;
use trawl_tests::caller::nanodollars;
use trawl_tests::{Caller, Delivery, FakeSite, Receiver, TestApp, World};

use super::{done, shown, with_key};

/// A cent in nanodollars.
const CENT: i64 = 10_000_000;
/// Number of concurrent requests.
const REQUESTS: usize = 200;
/// Bytes of a page. A byte costs a nanodollar, so a cent pays for some 66 pages.
const PAGE_BYTES: usize = 150_000;

fn operator(app: &TestApp) -> Caller {
    let key = app.app.unused_admin_key().expect("a first start");
    with_key(app, key.expose())
}

fn page(url: &str) -> Value {
    json!({"url": url, "return_format": "empty", "request": "http", "cache": false})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_requests_never_overspend_one_cent() {
    let site = FakeSite::start().await;
    let url = site.put("/large", "text/plain", vec![b'x'; PAGE_BYTES]);
    let mut world = World::new();
    world.dollars = "0.01";
    let app = TestApp::of(world).await;
    let mut requests = JoinSet::new();
    for _ in 0..REQUESTS {
        let (caller, body) = ((*app).clone(), page(&url));
        requests.spawn(async move {
            let answer = caller.post("/scrape", &[], &body).await;
            match answer.status {
                200 => Caller::total(&answer.json()[0]),
                402 => 0,
                status => panic!("{status}"),
            }
        });
    }
    let charged: i64 = requests.join_all().await.into_iter().sum();
    assert!((1..=CENT).contains(&charged), "{charged}");
    let left = CENT - charged;
    // Too little for one more page: pages that did not fit were refused, or failed and cost
    // nothing.
    assert!(left < 2 * PAGE_BYTES as i64, "{left}");
    for _ in 0..200 {
        if app.app.billing().funds(&app.account).held.0 == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let admin = operator(&app);
    let account = shown(&admin, "/admin/accounts/caller").await;
    assert_eq!(nanodollars(&account["balance"]), left);
    assert_eq!(account["reserved"], 0.0);
    let statement = shown(&admin, "/admin/accounts/caller/statement").await;
    let mut balance = 0;
    for entry in statement["entries"].as_array().unwrap() {
        balance += nanodollars(&entry["amount"]);
        assert!(balance >= 0, "{entry}");
    }
    assert_eq!(
        (balance, nanodollars(&statement["closing_balance"])),
        (left, left)
    );
    let usage = shown(&admin, "/admin/usage").await;
    assert_eq!(nanodollars(&usage["total"]["costs"]["total_cost"]), charged);
    let pages = usage["total"]["pages"].as_i64().unwrap();
    assert!(usage["total"]["bytes"].as_i64().unwrap() >= pages * PAGE_BYTES as i64);
    let usage = shown(&admin, "/admin/usage?by=key").await;
    let mut accounts = usage["accounts"].as_array().unwrap().iter();
    let keys = &accounts.find(|one| one["name"] == "caller").unwrap()["keys"];
    assert_eq!(nanodollars(&keys[0]["costs"]["total_cost"]), charged);
    let own = app.get("/account/usage?by=key").await.json();
    assert_eq!(*keys, own["keys"], "as its owner sees it");
    assert_eq!(shown(&admin, "/admin/verify").await["ok"], true);
}

/// Checks that an event is signed, and returns its name, ID and body.
fn checked(received: &Delivery, secret: &Secret) -> (String, String, Value) {
    let header = |name: &str| received.headers[name].clone();
    let signed = header("x-trawl-signature");
    let seconds = signed
        .split(',')
        .next()
        .and_then(|part| part.strip_prefix("t="));
    let at = Timestamp(seconds.unwrap().parse::<i64>().unwrap() * 1_000);
    assert_eq!(signed, signature(secret, at, &received.body));
    let id = header("x-trawl-event-id");
    assert_eq!(header("webhook-id"), id);
    assert_eq!(header("webhook-timestamp"), at.unix_seconds().to_string());
    let alone = SigningSecrets {
        current: secret.clone(),
        previous: None,
    };
    let expected = standard_signature(&alone, &id, at, &received.body);
    let standard = header("webhook-signature");
    assert_eq!(standard.split(' ').next(), Some(expected.as_str()));
    let body = serde_json::from_slice(&received.body).unwrap();
    (header("x-trawl-event"), header("x-trawl-event-id"), body)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn low_balance_alerts_are_sent_once_per_crossing() {
    let (site, receiver) = (FakeSite::start().await, Receiver::start().await);
    let url = site.put("/large", "text/plain", vec![b'x'; 2 * PAGE_BYTES]);
    let mut world = World::new();
    world.dollars = "0.01";
    let app = TestApp::of(world).await;
    let admin = operator(&app);
    let account = shown(&app, "/account").await;
    assert_eq!(account["notices"], Value::Null);
    // The account's owner sets it.
    let notices = json!({"destination": receiver.url(), "low_balance_dollars": "0.005"});
    let set = done(&app, Method::PUT, "/account/notices", &notices).await;
    assert_eq!(set["notices"]["low_balance_dollars"], 0.005);
    let secret = shown(&admin, "/admin/accounts/caller/webhook-secret").await;
    let secret = Secret::new(secret["webhook_secret"].as_str().unwrap().to_owned());
    let id = account["id"].as_str().unwrap();

    // Down to 4 of the 33 pages that the balance pays for.
    while app.balance() > 4 * 2 * PAGE_BYTES as i64 {
        app.fine(page(&url)).await;
    }
    let first = receiver.has(1).await;
    let (event, event_id, body) = checked(&first[0], &secret);
    assert_eq!(
        (event.as_str(), event_id),
        ("on_low_balance", format!("{id}:on_low_balance:1"))
    );
    // 50 credits are half a cent.
    let credits = body["credits"].as_i64().unwrap();
    assert_eq!(
        (&body["account"], (40..50).contains(&credits)),
        (&json!(id), true),
        "{body}"
    );
    assert_eq!(
        receiver.so_far().len(),
        1,
        "once, however many pages followed"
    );

    // A top-up above the threshold re-arms the alert, a smaller one does not.
    let pay_in = async |dollars: &str| {
        let path = "/admin/accounts/caller/top-ups";
        done(&admin, Method::POST, path, &json!({"dollars": dollars})).await
    };
    pay_in("0.001").await;
    app.fine(page(&url)).await;
    pay_in("0.009").await;
    while app.balance() >= CENT / 2 {
        app.fine(page(&url)).await;
    }
    let second = receiver.has(2).await;
    let (event, event_id, _) = checked(&second[1], &secret);
    assert_eq!(
        (event.as_str(), event_id),
        ("on_low_balance", format!("{id}:on_low_balance:2"))
    );

    // Seats use up the balance to the last nanodollar.
    let left = app.balance();
    let missing = 20_000_000_000 - left;
    let dollars = format!("{}.{:09}", missing / 1_000_000_000, missing % 1_000_000_000);
    pay_in(&dollars).await;
    done(
        &admin,
        Method::PUT,
        "/admin/accounts/caller/seats",
        &json!({"seats": 1}),
    )
    .await;
    let all = receiver.has(4).await;
    let alerts: Vec<_> = all[2..].iter().map(|one| checked(one, &secret)).collect();
    let kinds: BTreeSet<_> = alerts
        .iter()
        .map(|(event, id, _)| (event.clone(), id.rsplit(':').next().unwrap().to_owned()))
        .collect();
    let pair = |event: &str, n: &str| (event.to_owned(), n.to_owned());
    assert_eq!(
        kinds,
        BTreeSet::from([pair("on_low_balance", "3"), pair("on_empty_balance", "1")])
    );
    assert!(alerts.iter().all(|(_, _, body)| body["credits"] == 0));

    // A new secret signs all later events.
    let renewed = done(
        &admin,
        Method::POST,
        "/admin/accounts/caller/webhook-secret",
        &json!({}),
    )
    .await;
    let renewed = Secret::new(renewed["webhook_secret"].as_str().unwrap().to_owned());
    pay_in("0.006").await;
    while app.balance() >= CENT / 2 {
        app.fine(page(&url)).await;
    }
    let last = receiver.has(5).await;
    assert_eq!(checked(&last[4], &renewed).0, "on_low_balance");
    // Receivers may still check with the old one.
    let both = last[4].headers["webhook-signature"].split(' ');
    assert_eq!(both.count(), 2);
    assert_eq!(receiver.so_far().len(), 5);
}
