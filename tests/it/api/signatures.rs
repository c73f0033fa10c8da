//! The signatures of requests to sites, as packages for Node.js verify them that know nothing of
//! this server.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use trawl_net::signatures::BotKey;
use trawl_tests::{FakeSite, TestApp, World};

use super::clients::Bench;

const DIRECTORY: &str = "/.well-known/http-message-signatures-directory";
/// The public origin of the server.
const ORIGIN: &str = "https://bot.example.com";
/// How long the verification may take: a fraction of a second.
const TIME_MAX: Duration = Duration::from_secs(60);

/// A world with a key for signatures.
fn signing() -> World {
    let mut world = World::new();
    let path = world.path("bot.pem");
    let key = BotKey::generate().unwrap();
    fs::write(&path, key.expose()).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    world.bot.key_file = Some(path);
    world.bot.directory = Some(ORIGIN.to_owned());
    world
}

/// The headers of a request, by name in lower case.
fn headers(head: &str) -> Value {
    let lines = head.lines().filter_map(|line| line.split_once(':'));
    let headers = lines.map(|(name, value)| {
        let value = Value::from(value.trim());
        (name.to_ascii_lowercase(), value)
    });
    Value::Object(headers.collect())
}

/// A request that a site got.
fn request(site: &FakeSite, head: &str) -> Value {
    let path = head.split(' ').nth(1).unwrap_or_default();
    json!({"url": site.url(path), "headers": headers(head)})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(
    no_clients,
    ignore = "no tools in target/clients: install Node.js and Python, run cargo xtask clients"
)]
async fn packages_that_know_nothing_of_the_server_verify_its_signatures() {
    let (app, site) = (TestApp::of(signing()).await, FakeSite::start().await);
    let url = site.put("/page", "text/html", "<a href=/next>next</a>");
    site.put("/next", "text/html", "<p>next");
    let crawl = json!({"url": url, "request": "http", "return_format": "empty", "cache": false});
    let entries = app.post("/crawl", &[], &crawl).await.json();
    assert_eq!(entries.as_array().map(Vec::len), Some(2), "{entries}");
    let heads = site.requests();
    let requests: Vec<Value> = heads.iter().map(|head| request(&site, head)).collect();
    // robots.txt is asked for with a signature, too.
    assert_eq!(requests.len(), 3, "{heads:?}");
    let directory = app.get(DIRECTORY).await;
    assert_eq!(directory.status, 200);
    let fields = ["signature", "signature-input"].map(|name| {
        let value = Value::from(directory.header(name));
        (name.to_owned(), value)
    });
    let read = json!({
        "url": format!("{ORIGIN}{DIRECTORY}"),
        "headers": Value::Object(fields.into_iter().collect()),
        "body": directory.json().to_string(),
    });
    let bench = Bench::new(&json!({}));
    let signed = json!({"directory": read, "requests": requests});
    fs::write(bench.path().join("signed.json"), signed.to_string()).unwrap();
    let mut verifier = bench.command(Path::new("node"));
    verifier.args(["verify_signatures.js", "signed.json"]);
    let said = bench.run(&mut verifier, TIME_MAX);
    let said: Value = serde_json::from_str(&said).unwrap();
    let key = &directory.json()["keys"][0];
    assert_eq!(said["thumbprint"], key["kid"]);
    let nonces = said["nonces"].as_array().unwrap();
    let different: BTreeSet<&str> = nonces.iter().filter_map(Value::as_str).collect();
    assert_eq!((nonces.len(), different.len()), (4, 4));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_hop_is_signed_and_the_cache_knows_nothing_of_it() {
    let (app, site) = (TestApp::of(signing()).await, FakeSite::start().await);
    let url = site.put("/page", "text/html", "<p>text");
    let scrape = json!({"url": url, "request": "http"});
    app.fine(scrape.clone()).await;
    app.fine(scrape).await;
    let heads = site.requests();
    assert_eq!(heads.len(), 1, "the second is from the cache: {heads:?}");
    let sent = headers(&heads[0]);
    assert_eq!(sent["signature-agent"], format!("\"{ORIGIN}\""));
    let input = sent["signature-input"].as_str().unwrap();
    assert!(input.contains("tag=\"web-bot-auth\""), "{input}");
    // A caller's own signature is the caller's.
    let mine = json!({"url": url, "request": "http", "headers": {"Signature": "mine=:AA==:"}});
    app.fine(mine).await;
    let sent = headers(&site.requests()[1]);
    assert_eq!(sent["signature"], "mine=:AA==:");
    assert_eq!(sent.get("signature-agent"), None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_key_nothing_is_signed() {
    let (app, site) = (TestApp::start().await, FakeSite::start().await);
    let url = site.put("/page", "text/html", "<p>text");
    app.fine(json!({"url": url, "request": "http"})).await;
    assert_eq!(headers(&site.requests()[0]).get("signature"), None);
    assert_eq!(app.get(DIRECTORY).await.status, 404);
}
