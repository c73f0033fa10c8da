//! Pages that try to exhaust the server, which is a child process so that its memory can be
//! measured.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trawl_tests::caller::{assert_free, costs};
use trawl_tests::coding::{encoded, gzip_bomb};
use trawl_tests::{FakeSite, ServerProcess, World};

/// Upper bound on the server's peak memory: twice what the largest allowed body needs as text, as a
/// document and in a component.
const PEAK_KIB_MAX: u64 = 768 * 1024;
/// Upper bound on the duration of one page: its deadline and some slack. Most take less than a
/// second on an idle machine.
const TIME_MAX: Duration = Duration::from_secs(45);

struct Trial {
    server: ServerProcess,
    site: FakeSite,
}

impl Trial {
    async fn new() -> Self {
        let site = FakeSite::start().await;
        let server = ServerProcess::start(World::new());
        let trial = Self { server, site };
        trial.assert_serves().await;
        trial
    }

    /// Requests a page in a format and returns its entry. The server must be healthy afterwards.
    async fn ask(&self, url: &str, format: &str) -> Value {
        let began = Instant::now();
        let parts = json!({"metadata": true, "return_page_links": true, "request_timeout": 40, "max_size": 1000});
        let mut body = json!({"url": url, "return_format": format});
        body.as_object_mut()
            .unwrap()
            .extend(parts.as_object().unwrap().clone());
        let entry = self.server.page(body).await;
        let took = began.elapsed();
        let peak = self.server.peak_kib();
        eprintln!(
            "{url} as {format}: {} in {took:.0?}, peak {} MiB: {}",
            entry["status"],
            peak / 1024,
            entry["error"]
        );
        assert!(took < TIME_MAX, "{url}: {took:?}");
        assert!(peak < PEAK_KIB_MAX, "{url}: {peak} KiB");
        if entry["error"].is_string() {
            assert_free(&entry);
        } else {
            assert!(costs(&entry)[5] > 0);
        }
        self.assert_serves().await;
        entry
    }

    /// Requests a page that must fail with this text in the error.
    async fn refuses(&self, url: &str, says: &str) {
        let entry = self.ask(url, "markdown").await;
        let reason = entry["error"].as_str();
        let reason = reason.unwrap_or_else(|| panic!("{url} was served"));
        assert!(reason.contains(says), "{url}: {reason}");
        assert_eq!(entry["content"], "", "{url}");
    }

    async fn assert_serves(&self) {
        let began = Instant::now();
        let url = self.site.url("/page");
        let entry = self
            .server
            .fine(json!({"url": url, "return_format": "markdown"}))
            .await;
        assert!(entry["content"].as_str().unwrap().starts_with("# A page"));
        assert!(
            began.elapsed() < Duration::from_secs(15),
            "{:?}",
            began.elapsed()
        );
    }

    async fn assert_ledger_is_consistent(&self) {
        let audit = self.server.account(&["verify"]);
        assert_eq!(audit["disagreements"], json!([]));
        assert_eq!(self.server.account(&["list"])[0]["held"], 0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn decompression_bombs_are_cut_off() {
    let trial = Trial::new().await;
    let put = |path: &str, coding: &str, body: Vec<u8>| {
        trial.site.put(
            path,
            &format!("text/html\r\nContent-Encoding: {coding}"),
            body,
        )
    };
    // 1 GiB in about 1 MiB, and the same compressed once more into a few KiB.
    trial
        .refuses(&trial.site.url("/bomb/gzip"), "larger than")
        .await;
    let twice = encoded("br", &gzip_bomb());
    trial
        .refuses(&put("/twice", "gzip, br", twice), "larger than")
        .await;
    for coding in ["deflate", "br", "zstd"] {
        let bomb = encoded(coding, &vec![0; 200 << 20]);
        assert!(bomb.len() < 1 << 20);
        trial
            .refuses(
                &put(&format!("/bomb-{coding}"), coding, bomb),
                "larger than",
            )
            .await;
    }
    let codings = ["gzip"; 40].join(",");
    trial
        .refuses(
            &put("/chain", &codings, encoded(&codings, b"<p>x")),
            "coding",
        )
        .await;
    trial
        .refuses(&trial.site.url("/endless"), "larger than")
        .await;
    trial.assert_ledger_is_consistent().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_page_ends_at_its_deadline() {
    let trial = Trial::new().await;
    let began = Instant::now();
    let drips: Vec<_> = (0..20)
        .map(|n| trial.site.url(&format!("/drip?{n}")))
        .collect();
    let body = json!({"url": drips.join(","), "request_timeout": 2_000});
    let asked = trial.server.scrape(body);
    let others = async {
        for _ in 0..10 {
            trial.assert_serves().await;
        }
    };
    let (entries, ()) = tokio::join!(asked, others);
    for entry in &entries {
        assert_eq!(entry["status"], 524, "{entry}");
        assert_free(entry);
    }
    // Ten at a time, two seconds each; without a deadline they would take hours.
    assert!(
        began.elapsed() < Duration::from_secs(25),
        "{:?}",
        began.elapsed()
    );
    trial.assert_ledger_is_consistent().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn oversized_documents_are_bounded() {
    let trial = Trial::new().await;
    let html = |path: &str, body: Vec<u8>| {
        trial.site.put(
            path,
            "text/html; charset=utf-8\r\nContent-Encoding: gzip",
            encoded("gzip", &body),
        )
    };
    let deep = html(
        "/deep",
        [b"<div>".repeat(100_000), b"<p>bottom".to_vec()].concat(),
    );
    for format in ["markdown", "text", "raw", "xml"] {
        let entry = trial.ask(&deep, format).await;
        assert!(entry["error"].is_null(), "{format}: {}", entry["error"]);
    }
    let lists = html(
        "/lists",
        [b"<ul><li>".repeat(100_000), b"bottom".to_vec()].concat(),
    );
    assert!(trial.ask(&lists, "markdown").await["error"].is_null());
    let nodes = html("/nodes", b"<b>a".repeat(10_000_000 / 2));
    trial.refuses(&nodes, "nodes").await;
    let siblings = html("/siblings", b"<p>x".repeat(400_000));
    trial.ask(&siblings, "markdown").await;
    let attribute = [
        b"<p title='".to_vec(),
        vec![b'x'; 50_000_000],
        b"'>text".to_vec(),
    ]
    .concat();
    let attribute = html("/attribute", attribute);
    for format in ["markdown", "text"] {
        trial.ask(&attribute, format).await;
    }
    let names: String = (0..1_000_000).map(|n| format!(" a{n}=1")).collect();
    let attributes = html("/attributes", format!("<p{names}>text").into_bytes());
    let entry = trial.ask(&attributes, "text").await;
    assert_eq!(entry["content"].as_str().unwrap().trim(), "text");
    let table = html("/tables", b"<table><tr><td>".repeat(100_000));
    assert!(trial.ask(&table, "markdown").await["error"].is_null());
    let formatting: String = (0..20_000)
        .map(|n| format!("<p><b class=c{n}><i><font>"))
        .collect();
    trial
        .ask(&html("/formatting", formatting.into_bytes()), "text")
        .await;
    trial.assert_ledger_is_consistent().await;
}
