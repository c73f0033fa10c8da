//! Operating a server that is a child process, from its first start to the last key.

use http::Method;
use serde_json::{Value, json};
use trawl_tests::caller::nanodollars;
use trawl_tests::{Caller, FakeSite, ServerProcess, World, run_program};

use super::{asked, done, shown, with_key};

/// The key with this prefix in the greeting.
fn key_in(greeting: &str, prefix: &str) -> Option<String> {
    let words = greeting.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let mut keys = words.filter(|word| word.len() > 40 && word.starts_with(prefix));
    keys.next().map(str::to_owned)
}

fn page(url: &str) -> Value {
    json!({"url": url, "return_format": "text", "request": "http", "cache": false})
}

/// The output of a `trawl` command on the server's data directory.
fn command(server: &ServerProcess, words: &[&str]) -> Value {
    let data = server.world.data();
    let mut all = words.to_vec();
    all.extend(["--json", "--data", data.to_str().unwrap()]);
    let output = run_program(&server.world, &all, b"");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words:?}: {errors}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn accounts_money_prices_and_keys_from_the_first_start() {
    let site = FakeSite::start().await;
    let mut server = ServerProcess::first_start(World::new());
    let key = key_in(&server.greeting, "tra_").expect("the admin key is printed");
    assert_eq!(server.greeting.matches(&key).count(), 1);
    let default = key_in(&server.greeting, "tr_").expect("an account's key is printed");
    let admin = with_key(&server, &key);
    assert_eq!(
        with_key(&server, &default).get("/account").await.json()["balance"],
        25.0
    );
    assert_eq!(
        with_key(&server, &default)
            .get("/admin/accounts")
            .await
            .status,
        401
    );

    // Creates an account, tops it up with a bonus, and sets seats and a key.
    let made = done(
        &admin,
        Method::POST,
        "/admin/accounts",
        &json!({"name": "alice"}),
    )
    .await;
    assert_eq!(made["balance"], 0.0);
    for repeated in [false, true] {
        let invoice = json!({"dollars": "500", "id": "invoice-17"});
        let paid = done(
            &admin,
            Method::POST,
            "/admin/accounts/alice/top-ups",
            &invoice,
        )
        .await;
        assert_eq!(
            (&paid["bonus"], &paid["balance"]),
            (&json!(25.0), &json!(525.0))
        );
        assert_eq!(paid["repeated"], repeated);
    }
    let seats = done(
        &admin,
        Method::PUT,
        "/admin/accounts/alice/seats",
        &json!({"seats": 2}),
    )
    .await;
    assert_eq!(seats["charged"], 40.0);
    let ci = done(
        &admin,
        Method::POST,
        "/admin/accounts/alice/keys",
        &json!({"name": "ci"}),
    )
    .await;
    let alice = with_key(&server, ci["api_key"].as_str().unwrap());

    // The account uses them.
    let good = alice.fine(page(&site.url("/page"))).await;
    alice.failure(page(&site.url("/nowhere"))).await;
    let charged = Caller::total(&good);
    assert!(charged > 0);

    // All interfaces report the same balance.
    let usage = shown(&admin, "/admin/usage?from=2020-01-01").await;
    let of_alice = usage["accounts"].as_array().unwrap().iter();
    let of_alice = of_alice.clone().find(|one| one["name"] == "alice").unwrap();
    assert_eq!(
        (&of_alice["pages"], &of_alice["failed_pages"]),
        (&json!(1), &json!(1))
    );
    assert_eq!(nanodollars(&of_alice["costs"]["total_cost"]), charged);
    assert!(
        of_alice["bytes"].as_u64().unwrap() > 0 && of_alice["cpu_seconds"].as_f64().unwrap() > 0.0
    );
    let hosts = shown(&admin, "/admin/accounts/alice/hosts").await;
    let host = &hosts["hosts"][0];
    assert_eq!(
        (&hosts["n_hosts"], &host["pages"], &host["failed_pages"]),
        (&json!(1), &json!(1), &json!(1))
    );
    assert_eq!(nanodollars(&host["total_cost"]), charged);
    assert_eq!(alice.get("/account/hosts").await.json(), hosts);
    let plugins = shown(&admin, "/admin/plugins").await;
    assert_eq!(plugins["generation"], 1);
    let history = shown(&admin, "/admin/history").await;
    let mut series = history["series"].as_array().unwrap().iter();
    let memory = series.find(|one| one["metric"] == "process_resident_memory_bytes");
    assert!(memory.unwrap()["values"][0].as_f64().unwrap() > 1e6);
    assert_eq!(
        (&of_alice["top_ups"], &of_alice["seats"]),
        (&json!(500.0), &json!(40.0))
    );
    assert_eq!(
        usage["total"]["top_ups"], 525.0,
        "and $25 of the first account"
    );
    assert_eq!(
        command(&server, &["usage"])["total"]["costs"]["total_cost"],
        charged
    );
    let statement = shown(&admin, "/admin/accounts/alice/statement").await;
    assert_eq!(alice.get("/account/statement").await.json(), statement);
    let reasons = statement["entries"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|entry| entry["reason"].as_str());
    assert!(
        reasons
            .clone()
            .any(|reason| reason.starts_with("2 seats from "))
    );
    assert_eq!(shown(&admin, "/admin/verify").await["ok"], true);
    let logs = alice.get("/data/api_keys").await.json();
    assert_eq!(logs["count"], 2);

    // Prices change at a restart; earlier charges do not.
    let before = shown(&admin, "/admin/prices").await;
    assert_eq!(before["prices"]["gigabyte"], "1");
    server.stop();
    server.world.config = "[prices]\ngigabyte = \"2\"\n".to_owned();
    server.start_again();
    assert_eq!(
        key_in(&server.greeting, "tr"),
        None,
        "no key is printed again"
    );
    let (admin, alice) = (with_key(&server, &key), with_key(&server, &alice.key));
    let now = shown(&admin, "/admin/prices").await;
    assert_eq!(now["prices"]["gigabyte"], "2");
    let history = shown(&admin, "/admin/prices/history").await;
    assert_eq!(history["count"], 2);
    assert_eq!(history["data"][0]["prices"], before["prices"]);
    assert_eq!(history["data"][0]["since"], before["since"]);
    assert_eq!(history["data"][1]["prices"], now["prices"]);
    assert_eq!(
        command(&server, &["prices", "--history"])[1]["prices"],
        now["prices"]
    );
    assert_eq!(
        shown(&admin, "/admin/accounts/alice/statement").await,
        statement
    );
    let repriced = alice.fine(page(&site.url("/page"))).await;
    let bytes = |entry: &Value| nanodollars(&entry["costs"]["bytes_transferred_cost"]);
    assert_eq!(bytes(&repriced), 2 * bytes(&good));

    // The last use of the key survives the restart. The revoked key is refused.
    let keys = shown(&admin, "/admin/accounts/alice/keys").await;
    let listed = keys["data"].as_array().unwrap().iter();
    let listed = listed.clone().find(|key| key["name"] == "ci").unwrap();
    assert!(listed["last_used"].is_string(), "{listed}");
    let path = format!(
        "/admin/accounts/alice/keys/{}",
        listed["key"].as_str().unwrap()
    );
    done(&admin, Method::DELETE, &path, &Value::Null).await;
    assert_eq!(
        alice
            .post("/scrape", &[], &page(&site.url("/page")))
            .await
            .status,
        401
    );
    let all = server.account(&["key", "list", "alice", "--all"]);
    let ended = all
        .as_array()
        .unwrap()
        .iter()
        .filter(|key| key["revoked"].is_string());
    assert_eq!(ended.count(), 1);
    let gone = asked(&admin, Method::DELETE, &path, &Value::Null).await;
    assert_eq!(gone.status, 404);

    // A restart with unchanged prices adds no entry to the price history.
    server.stop();
    server.start_again();
    let admin = with_key(&server, &key);
    assert_eq!(shown(&admin, "/admin/prices/history").await["count"], 2);
    assert_eq!(shown(&admin, "/admin/verify").await["ok"], true);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_admin_key_is_shown_until_it_is_used_and_commands_can_be_pasted() {
    let world = World::new();
    world.manifest("[[format]]\nname = \"gone\"\ncomponent = \"gone.wasm\"\n");
    let text = |path: std::path::PathBuf| path.to_string_lossy().into_owned();
    let (data, plugins) = (text(world.data()), text(world.plugins()));
    let serve = ["serve", "--listen", "127.0.0.1:0", "--data", &data];
    let failed = run_program(
        &world,
        &[&serve[..], &["--plugins", &plugins]].concat(),
        b"",
    );
    assert!(!failed.status.success(), "the manifest is broken");

    world.manifest("");
    let mut server = ServerProcess::first_start(world);
    let key = key_in(&server.greeting, "tra_").expect("the key of the first start");
    let account_key = key_in(&server.greeting, "tr_").expect("an account's key");
    server.stop();
    server.start_again();
    assert_eq!(key_in(&server.greeting, "tra_").as_ref(), Some(&key));

    // The last line of the second greeting, in a shell.
    let line = server.greeting.lines().last().unwrap().trim();
    let shell = std::process::Command::new("sh")
        .args(["-c", line])
        .env("TRAWL_KEY", &account_key)
        .output()
        .unwrap();
    let entries: Value = serde_json::from_slice(&shell.stdout).unwrap();
    assert_eq!(entries[0]["status"], 200, "{entries}");
    assert_eq!(
        shown(&with_key(&server, &key), "/admin/accounts").await["count"],
        1
    );
    server.stop();
    server.start_again();
    assert_eq!(key_in(&server.greeting, "tra_"), None);
    let admin = with_key(&server, &key);
    assert_eq!(admin.get("/admin/accounts").await.status, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn owners_manage_their_keys_and_their_webhook_secret() {
    let server = ServerProcess::start(World::new());
    let made = done(
        &server,
        Method::POST,
        "/account/keys",
        &json!({"name": "ci"}),
    )
    .await;
    let ci = with_key(&server, made["api_key"].as_str().unwrap());
    let listed = shown(&ci, "/account/keys").await;
    assert_eq!(listed["count"], 2);
    let keys = listed["data"].as_array().unwrap().clone();
    let prefix = |name: &str| {
        let key = keys.iter().find(|key| key["name"] == name);
        key.unwrap()["key"].as_str().unwrap().to_owned()
    };
    assert!(ci.key.starts_with(&prefix("ci")));
    // The key of the request is not revoked by accident, whether by its prefix or as a whole.
    for key in [prefix("ci"), ci.key.clone()] {
        let path = format!("/account/keys/{key}");
        let refused = asked(&ci, Method::DELETE, &path, &Value::Null).await;
        assert_eq!(refused.status, 409, "{}", refused.error());
        assert!(refused.error().contains("`?current=true`"));
    }
    let path = format!("/account/keys/{}?current=true", prefix("ci"));
    done(&ci, Method::DELETE, &path, &Value::Null).await;
    assert_eq!(ci.get("/account").await.status, 401);
    let again = asked(&server, Method::DELETE, &path, &Value::Null).await;
    assert_eq!(again.status, 404);
    assert_eq!(shown(&server, "/account/keys").await["count"], 1);
    assert_eq!(shown(&server, "/account/keys?all=true").await["count"], 2);

    let secret = shown(&server, "/account/webhook-secret").await;
    assert_eq!(shown(&server, "/account/webhook-secret").await, secret);
    let renewed = done(&server, Method::POST, "/account/webhook-secret", &json!({})).await;
    assert_ne!(renewed, secret);
    assert_eq!(shown(&server, "/account/webhook-secret").await, renewed);

    // Another account's keys are out of reach.
    let bob = server.account(&["create", "bob", "--top-up", "1"]);
    let bob = with_key(&server, bob["api_key"].as_str().unwrap());
    let own = shown(&server, "/account/keys").await["data"][0]["key"].clone();
    let path = format!("/account/keys/{}", own.as_str().unwrap());
    let foreign = asked(&bob, Method::DELETE, &path, &Value::Null).await;
    assert_eq!(foreign.status, 404);
    assert_ne!(shown(&bob, "/account/webhook-secret").await, renewed);

    // There is a limit.
    let mut made = 1;
    let refused = loop {
        let answer = asked(&server, Method::POST, "/account/keys", &json!({})).await;
        if answer.status != 200 {
            break answer;
        }
        made += 1;
        assert!(made <= 100, "{made} keys");
    };
    assert_eq!((refused.status, made), (409, 100));
    assert!(refused.error().contains("revoke one first"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_last_use_of_a_key_is_stored_when_the_server_stops() {
    let mut server = ServerProcess::first_start(World::new());
    let used = |server: &ServerProcess| {
        let keys = server.account(&["key", "list", "default"]);
        keys[0]["last_used"].clone()
    };
    assert_eq!(used(&server), Value::Null);
    assert_eq!(server.get("/account").await.status, 200);
    let in_memory = used(&server);
    assert!(in_memory.is_string());
    server.stop();
    assert_eq!(used(&server), in_memory, "as read from the store");
}
