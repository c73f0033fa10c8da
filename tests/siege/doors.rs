//! What is open: endpoints without a key, requests that hang up, and requests that are
//! repeated.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use http::Method;
use serde_json::json;
use tokio::task::JoinSet;

use crate::field::Field;

/// How long an attack lasts.
const ATTACK: Duration = Duration::from_secs(6);
/// How long the browser may take to dispose of what was dropped.
const CLEAN_AFTER: Duration = Duration::from_secs(20);

/// A stranger's connections that are kept alive, and ask again as soon as they are answered.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "measures the machine: cargo xtask siege"]
async fn open_endpoints_again_and_again() {
    let field = Field::new().await;
    field
        .besiege("64 connections that ask for /openapi.json, no key", async {
            let until = Instant::now() + ATTACK;
            let mut strangers = JoinSet::new();
            for n in 0..64 {
                let stranger = field.server.with_key("");
                let coding = if n % 2 == 0 { "gzip" } else { "identity" };
                strangers.spawn(async move {
                    let mut n_answers = 0_u32;
                    while Instant::now() < until {
                        let headers = [("accept-encoding", coding)];
                        let body = String::new();
                        let sent = stranger.send(Method::GET, "/openapi.json", &headers, body);
                        n_answers += u32::from(sent.await.is_some_and(|one| one.status == 200));
                    }
                    // It closes its connection, which is then not left over.
                    let last = [("connection", "close")];
                    let sent = stranger.send(Method::GET, "/health", &last, String::new());
                    drop(sent.await);
                    n_answers
                });
            }
            let n_answers: u32 = strangers.join_all().await.into_iter().sum();
            eprintln!("siege: {n_answers} documents were served");
            assert!(n_answers > 500, "only {n_answers} documents: no attack");
        })
        .await;
}

/// Processes below a process whose command line contains a word.
fn descendants(root: u32, word: &str) -> Vec<u32> {
    let mut parents = HashMap::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let id = entry.file_name().to_str().and_then(|id| id.parse().ok());
        let stat = std::fs::read_to_string(entry.path().join("stat"));
        if let (Some(id), Ok(stat)) = (id, stat)
            && let Some((_, after)) = stat.rsplit_once(')')
            && let Some(parent) = after.split_whitespace().nth(1)
        {
            parents.insert(id, parent.parse::<u32>().unwrap_or(0));
        }
    }
    let is_below = |id: &u32| {
        let chain = std::iter::successors(Some(*id), |id| parents.get(id).copied());
        chain.take(32).any(|id| id == root)
    };
    let has_word = |id: &u32| {
        let line = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(word)
    };
    let all = parents.keys().copied();
    all.filter(|id| is_below(id) && has_word(id)).collect()
}

/// Browser requests whose client is gone before the browser has opened their page.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "measures the machine: cargo xtask siege"]
async fn browser_requests_that_hang_up_at_once() {
    let config = "[browser]\ntabs = 8\nno_sandbox = true\n".to_owned();
    let field = Field::with(config).await;
    let page = |n: usize| json!({"url": field.trouble.url(n % 20, "/page"), "request": "chrome", "cache": false, "request_timeout": 30});
    field.attacker.fine(page(0)).await;
    let renderers = || descendants(field.server.id(), "--type=renderer").len();
    let until_at_most = async |most: usize| {
        let until = Instant::now() + CLEAN_AFTER;
        while renderers() > most {
            assert!(Instant::now() < until, "{} renderers are left", renderers());
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::sleep(Duration::from_secs(1)).await;
    let before = renderers();
    field
        .besiege("360 browser requests that hang up at once", async {
            let mut requests = JoinSet::new();
            for n in 0..360 {
                let (attacker, body) = (field.attacker.clone(), page(n).to_string());
                requests.spawn(async move {
                    let sent = attacker.send(Method::POST, "/scrape", &[], body);
                    let moment = Duration::from_millis(n as u64 % 120);
                    let _hung_up = tokio::time::timeout(moment, sent).await;
                });
            }
            requests.join_all().await;
            until_at_most(before).await;
        })
        .await;
    field.nothing_is_reserved().await;
    field.attacker.fine(page(1)).await;
}

/// The server is killed while it serves requests with an `Idempotency-Key`, which their client
/// repeats until they are answered.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "measures the machine: cargo xtask siege"]
async fn kills_during_requests_that_are_repeated() {
    const KILLS: u32 = 12;
    let mut field = Field::new().await;
    let body_of = |field: &Field, round: u32| {
        let urls: Vec<String> = (0..20)
            .map(|n| field.trouble.url(n, &format!("/page?{round}-{n}")))
            .collect();
        json!({"url": urls.join(","), "return_format": "text", "request": "http", "cache": false})
    };
    // How long a request takes that is not interrupted.
    let begun = Instant::now();
    let whole = field
        .server
        .post("/scrape", &[], &body_of(&field, KILLS))
        .await;
    assert_eq!(whole.status, 200);
    let time = begun.elapsed();
    let mut n_interrupted = 0;
    for round in 0..KILLS {
        let body = body_of(&field, round);
        let key = format!("round {round}");
        let caller = field.server.clone();
        let (text, name) = (body.to_string(), key.clone());
        let first = tokio::spawn(async move {
            let headers = [("idempotency-key", name.as_str())];
            caller.send(Method::POST, "/scrape", &headers, text).await
        });
        tokio::time::sleep(time * (round + 1) / (KILLS + 1)).await;
        field.server.kill();
        n_interrupted += u32::from(first.await.unwrap().is_none());
        field.server.start_again();
        let headers = [("idempotency-key", key.as_str())];
        let again = field.server.post("/scrape", &headers, &body).await;
        assert_eq!(again.status, 200);
        assert_eq!(again.json().as_array().map(Vec::len), Some(20));
    }
    let statement = field.server.account(&["statement", "caller"]);
    let mut posts: BTreeMap<String, i64> = BTreeMap::new();
    let entries = statement["entries"].as_array().unwrap();
    for post in entries.iter().filter(|entry| entry["kind"] == "post") {
        let url = post["url"].as_str().unwrap().to_owned();
        let twice = posts.insert(url, post["amount"].as_i64().unwrap());
        assert!(twice.is_none(), "charged twice: {post}");
    }
    eprintln!(
        "siege: {n_interrupted} of {KILLS} kills interrupted a request, {} pages charged once",
        posts.len()
    );
    assert_eq!(posts.len() as u32, 20 * (KILLS + 1));
    assert!(n_interrupted > 0, "no kill interrupted a request");
    assert_eq!(
        field.server.account(&["verify"])["disagreements"],
        json!([])
    );
}
