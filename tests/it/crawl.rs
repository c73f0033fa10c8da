//! Crawls of a site full of traps: each ends with a stop reason, and each URL is a page or has a
//! skip reason.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use trawl_model::clock::Timestamp;
use trawl_tests::trap::MANY_LINKS;
use trawl_tests::{Caller, TestApp, TrapSite};

/// A server and the trap site.
struct Stage {
    app: TestApp,
    site: TrapSite,
}

/// A finished crawl.
struct Crawled {
    entries: Vec<Value>,
    status: Value,
    /// Skipped URLs by path and query, each with its reason.
    skipped: BTreeMap<String, String>,
}

impl Stage {
    async fn new() -> Self {
        Self {
            app: TestApp::start().await,
            site: TrapSite::start().await,
        }
    }

    /// Crawls from a path with these additional parameters and checks what holds for every crawl:
    /// it ended, no page was delivered twice, its totals are its pages', and the ledger is
    /// consistent.
    async fn crawl(&self, path: &str, more: Value) -> Crawled {
        let mut request = json!({
            "url": self.site.url(path), "request": "http", "return_format": "empty", "cache": false,
        });
        let fields = request.as_object_mut().unwrap();
        fields.extend(more.as_object().unwrap().clone());
        let answer = self.app.post("/crawl", &[], &request).await;
        assert_eq!(answer.status, 200);
        let entries: Vec<Value> = serde_json::from_slice(&answer.body).unwrap();
        let id = answer.header("x-crawl-id").to_owned();
        let status = self.app.get(&format!("/crawl/{id}")).await.json();
        assert_eq!(status["state"], "ended", "{status}");
        assert_eq!(status["pages"], entries.len(), "{status}");
        for (seconds, time) in [("created_at", "created"), ("ended_at", "ended")] {
            let seconds = status[seconds].as_i64().unwrap();
            let expected = Timestamp(seconds * 1000).to_string();
            let time = status[time].as_str().unwrap();
            assert_eq!(time[..19], expected[..19], "{status}");
        }
        let addresses: BTreeSet<&str> = entries.iter().map(url).collect();
        let is_page = |entry: &&Value| entry["error"].is_null();
        let n_pages = entries.iter().filter(is_page).count();
        assert_eq!(addresses.len(), entries.len(), "{addresses:?}");
        assert_eq!(status["failed"], entries.len() - n_pages, "{status}");
        let total: i64 = entries.iter().map(Caller::total).sum();
        let reported = status["costs"]["total_cost"].as_f64().unwrap();
        assert_eq!(total, (reported * 1e9).round() as i64, "{status}");
        self.app.assert_settled().await;
        let skipped = format!("/crawl/{id}/skipped?limit=100000");
        let skipped = self.app.get(&skipped).await.json();
        let skipped = skipped.as_array().unwrap().iter().map(|left_out| {
            let reason = left_out["reason"].as_str().unwrap();
            (self.path(url(left_out)), reason.to_owned())
        });
        Crawled {
            skipped: skipped.collect(),
            entries,
            status,
        }
    }

    /// The URL without the site's own origin; unchanged for other sites.
    fn path(&self, url: &str) -> String {
        url.replace(&self.site.url(""), "")
    }

    /// The paths of a crawl's pages.
    fn paths(&self, crawled: &Crawled) -> BTreeSet<String> {
        let paths = crawled.entries.iter().map(|entry| self.path(url(entry)));
        paths.collect()
    }
}

fn url(entry: &Value) -> &str {
    entry["url"].as_str().unwrap()
}

impl Crawled {
    #[track_caller]
    fn assert_stopped(&self, reason: &str, n_pages: usize) {
        assert_eq!(self.status["stop_reason"], reason, "{}", self.status);
        assert_eq!(self.entries.len(), n_pages, "{}", self.status);
    }

    fn count_skipped(&self, reason: &str) -> usize {
        self.skipped.values().filter(|why| *why == reason).count()
    }

    fn skipped_for(&self, path: &str) -> Option<&str> {
        self.skipped.get(path).map(String::as_str)
    }
}

fn set<const N: usize>(paths: [&str; N]) -> BTreeSet<String> {
    paths.map(str::to_owned).into()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endless_calendar_stops_at_a_cap() {
    let field = Stage::new().await;
    let limited = field.crawl("/calendar/0", json!({"limit": 12})).await;
    limited.assert_stopped("limit", 12);
    assert_eq!(limited.skipped_for("/calendar/12"), Some("limit"));
    let shallow = field.crawl("/calendar/0", json!({"depth": 4})).await;
    shallow.assert_stopped("depth", 5);
    assert_eq!(shallow.skipped_for("/calendar/5"), Some("depth"));
    let budget = json!({"budget": {"*": 3}});
    let counted = field.crawl("/calendar/0", budget).await;
    counted.assert_stopped("budget", 3);
    assert_eq!(field.site.visits("/calendar/12"), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_seeds_are_one_crawl_under_one_limit() {
    let field = Stage::new().await;
    let seeds = [
        field.site.url("/calendar/0"),
        field.site.url("/calendar/50"),
    ]
    .join(",");
    let both = json!({"url": seeds, "limit": 5});
    let limited = field.crawl("", both).await;
    limited.assert_stopped("limit", 5);
    let paths = field.paths(&limited);
    assert!(
        paths.contains("/calendar/0") && paths.contains("/calendar/50"),
        "{paths:?}"
    );
    let counted = json!({"url": seeds, "budget": {"*": 3}, "blacklist": ["/calendar/5"]});
    let counted = field.crawl("", counted).await;
    counted.assert_stopped("budget", 3);
    assert!(
        field.paths(&counted).contains("/calendar/50"),
        "a seed is exempt"
    );
    let alone = field.crawl("", json!({"url": seeds, "depth": 0})).await;
    assert_eq!(field.paths(&alone), set(["/calendar/0", "/calendar/50"]));
    // An array of objects is one crawl an object, each with its own limit.
    let one = |path: &str| json!({"url": field.site.url(path), "request": "http", "limit": 2, "return_format": "empty"});
    let each = json!([one("/calendar/0"), one("/calendar/50")]);
    let answer = field.app.post("/crawl", &[], &each).await;
    assert_eq!(answer.header("x-crawl-id").split(", ").count(), 2);
    assert_eq!(answer.json().as_array().unwrap().len(), 4);
    // In the background too there is one id, and one object in the answer.
    let queued = json!({"url": seeds, "request": "http", "limit": 4, "run_in_background": true});
    let queued = field.app.post("/crawl", &[], &queued).await;
    let id = queued.json()["id"].as_str().unwrap().to_owned();
    assert_eq!(queued.header("x-crawl-id"), id);
    let time_max = std::time::Duration::from_secs(60);
    let status = field.app.crawl_ended(&id, time_max).await;
    let end = (&status["stop_reason"], &status["pages"]);
    assert_eq!(end, (&json!("limit"), &json!(4)));
    field.app.assert_settled().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn session_ids_and_soft_404s_count_as_pages() {
    let field = Stage::new().await;
    let sessions = field.crawl("/session", json!({"limit": 40})).await;
    sessions.assert_stopped("limit", 40);
    let soft = json!({"budget": {"/SOFT": 7}, "depth": 100});
    field.crawl("/soft", soft).await.assert_stopped("budget", 7);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn endless_redirects_fail_and_equal_destinations_are_one_page() {
    let field = Stage::new().await;
    let crawled = field.crawl("/redirects", json!({})).await;
    assert_eq!(crawled.status["stop_reason"], "completed");
    let of = |status: u64| {
        let entries = crawled.entries.iter();
        entries.filter(|entry| entry["status"] == status).count()
    };
    // The page with the links, and the last page of the redirects, whichever URL reached it first.
    assert_eq!(of(200), 2, "{:?}", field.paths(&crawled));
    assert!(field.paths(&crawled).contains("/chain/0"));
    assert_eq!(
        of(310),
        crawled.entries.len() - 2,
        "{:?}",
        field.paths(&crawled)
    );
    assert!(of(310) >= 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn urls_are_deduplicated_in_every_spelling() {
    let field = Stage::new().await;
    let crawled = field.crawl("/forms/", json!({})).await;
    crawled.assert_stopped("completed", 2);
    assert_eq!(field.paths(&crawled), set(["/forms/", "/forms/one"]));
    assert_eq!(field.site.visits("/forms/one"), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn links_are_found_in_every_format_and_in_broken_markup() {
    let field = Stage::new().await;
    let expected = set([
        "/ways",
        "/based/one",
        "/based/two",
        "/refreshed",
        "/canonical",
        "/broken/1",
        "/broken/2",
        "/framed",
    ]);
    for format in ["empty", "markdown", "raw"] {
        let crawled = field.crawl("/ways", json!({"return_format": format})).await;
        assert_eq!(field.paths(&crawled), expected, "{format}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nofollow_is_a_skip_reason_when_robots_rules_are_respected() {
    let field = Stage::new().await;
    let polite = field.crawl("/nofollow", json!({})).await;
    let pages = set([
        "/nofollow",
        "/leaf/shown",
        "/nofollow/page",
        "/nofollow/tagged",
        "/nofollow/other",
        "/leaf/other",
    ]);
    assert_eq!(field.paths(&polite), pages);
    for path in ["/leaf/hidden", "/leaf/deep", "/leaf/tagged"] {
        assert_eq!(polite.skipped_for(path), Some("nofollow"), "{path}");
    }
    let rude = field.crawl("/nofollow", json!({"respect_robots": false}));
    assert_eq!(rude.await.entries.len(), 9);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_of_ten_thousand_links_is_a_page_or_is_skipped_with_a_reason() {
    let field = Stage::new().await;
    let crawled = field.crawl("/many", json!({"limit": 100})).await;
    crawled.assert_stopped("limit", 100);
    assert_eq!(crawled.count_skipped("limit"), MANY_LINKS + 1 - 100);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_never_responds_fails_alone() {
    let field = Stage::new().await;
    let crawled = field.crawl("/stuck", json!({"request_timeout": 5})).await;
    crawled.assert_stopped("completed", 22);
    let silent = crawled.entries.last().unwrap();
    assert_eq!(field.path(url(silent)), "/never");
    assert_eq!(silent["status"], 524, "{silent}");
    assert_eq!(Caller::total(silent), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn retry_after_is_respected() {
    let field = Stage::new().await;
    let crawled = field.crawl("/busy", json!({})).await;
    crawled.assert_stopped("completed", 3);
    for entry in &crawled.entries {
        assert_eq!(entry["status"], 200, "{entry}");
    }
    for path in ["/busy/seconds", "/busy/date"] {
        assert_eq!(field.site.visits(path), 2, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_sitemap_is_read_once_in_every_format() {
    let field = Stage::new().await;
    let crawled = field.crawl("/many", json!({"sitemap_only": true, "sitemap": true}));
    let found = field.paths(&crawled.await);
    for path in ["/leaf/plain", "/leaf/packed", "/leaf/listed"] {
        assert!(found.contains(path), "{path} is not in {found:?}");
    }
    assert!(found.len() <= 4, "{found:?}");
    assert_eq!(field.site.visits("/maps/index.xml"), 1);
}
