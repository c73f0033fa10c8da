//! Which hosts and paths a crawl visits, how many pages at once, how deep and for how long.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};
use trawl_tests::{FakeSite, TestApp};

/// Names below `localhost` are loopback without a look-up, and names below `invalid` do not exist.
/// RFC 6761 sections 6.3 and 6.4.
const HOSTS: [&str; 4] = [
    "shop.localhost",
    "blog.shop.localhost",
    "other.localhost",
    "shop.invalid",
];

/// Far longer than a crawl of one page takes, and less than a minute.
const SOON: Duration = Duration::from_secs(30);

/// A server, and one site under all names.
struct Stage {
    app: TestApp,
    site: FakeSite,
}

/// A finished crawl.
struct Crawled {
    entries: Vec<Value>,
    status: Value,
    /// Skip reasons by URL.
    skipped: BTreeMap<String, String>,
}

impl Stage {
    async fn new() -> Self {
        Self {
            app: TestApp::start().await,
            site: FakeSite::start().await,
        }
    }

    /// The URL of a path at a host.
    fn at(&self, host: &str, path: &str) -> String {
        format!("http://{host}:{}{path}", self.site.address.port())
    }

    /// Crawls from a page with links to these URLs.
    async fn crawl(&self, links: &[String], more: &Value) -> Crawled {
        let links = links.iter().map(|url| format!("<a href=\"{url}\">x</a> "));
        self.site
            .put("/seed", "text/html", links.collect::<String>());
        let mut request = json!({
            "url": self.at(HOSTS[0], "/seed"), "request": "http", "return_format": "empty",
            "cache": false, "respect_robots": false,
        });
        let fields = request.as_object_mut().unwrap();
        fields.extend(more.as_object().unwrap().clone());
        let answer = self.app.post("/crawl", &[], &request).await;
        assert_eq!(answer.status, 200, "{more}");
        assert_eq!(answer.header("x-ignored-parameters"), "", "{more}");
        let id = answer.header("x-crawl-id").to_owned();
        let skipped = self.app.get(&format!("/crawl/{id}/skipped")).await.json();
        let skipped = skipped.as_array().unwrap().iter().map(|one| {
            let text = |name: &str| one[name].as_str().unwrap().to_owned();
            (text("url"), text("reason"))
        });
        Crawled {
            skipped: skipped.collect(),
            status: self.app.get(&format!("/crawl/{id}")).await.json(),
            entries: answer.json().as_array().unwrap().clone(),
        }
    }
}

impl Crawled {
    fn urls(&self) -> BTreeSet<&str> {
        let urls = self.entries.iter().map(|entry| entry["url"].as_str());
        urls.map(Option::unwrap).collect()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_parameter_of_the_scope_adds_its_own_hosts() {
    let stage = Stage::new().await;
    stage.site.put("/leaf", "text/html", "<p>without links");
    let [_, below, other, suffix] = HOSTS.map(|host| stage.at(host, "/leaf"));
    let links = [below.clone(), other.clone(), suffix.clone()];
    let check = async |more: Value, expected: &[&String]| {
        let crawled = stage.crawl(&links, &more).await;
        let seed = stage.at(HOSTS[0], "/seed");
        let mut urls: BTreeSet<&str> = expected.iter().map(|url| url.as_str()).collect();
        urls.insert(&seed);
        assert_eq!(crawled.urls(), urls, "{more}");
        for url in &links {
            let reason = crawled.skipped.get(url).map(String::as_str);
            let expected = (!expected.contains(&url)).then_some("scope");
            assert_eq!(reason, expected, "{more}: {url}");
        }
        crawled
    };
    check(json!({}), &[]).await;
    check(json!({"subdomains": true}), &[&below]).await;
    let failed = check(json!({"tld": true}), &[&suffix]).await;
    assert_eq!(failed.status["failed"], 1, "there is no such host");
    check(json!({"external_domains": ["other.localhost"]}), &[&other]).await;
    let pattern = json!({"external_domains": [".*\\.shop\\.localhost"]});
    check(pattern, &[&below]).await;
    let all = json!({"external_domains": true});
    check(all, &[&below, &other, &suffix]).await;
    let both = json!({"subdomains": true, "tld": true});
    check(both, &[&below, &suffix]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn paths_outside_the_whitelist_are_skipped() {
    let stage = Stage::new().await;
    let links = ["/docs/one", "/docs/old", "/blog/one"].map(|path| {
        stage.site.put(path, "text/html", "<p>page");
        stage.at(HOSTS[0], path)
    });
    let more = json!({"whitelist": ["/docs"], "blacklist": ["/docs/old"]});
    let crawled = stage.crawl(&links, &more).await;
    let seed = stage.at(HOSTS[0], "/seed");
    // The seed is always fetched.
    assert_eq!(crawled.urls(), BTreeSet::from([&*seed, &*links[0]]));
    let reasons = crawled.skipped.into_iter().collect::<Vec<_>>();
    let expected = [(2, "whitelist"), (1, "blacklist")];
    let expected = expected.map(|(n, reason)| (links[n].clone(), reason.to_owned()));
    assert_eq!(reasons, expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crawl_below_its_seed_leaves_its_directory_on_other_hosts_only() {
    let stage = Stage::new().await;
    let [inside, outside] = ["/docs/one", "/blog/one"].map(|path| {
        stage.site.put(path, "text/html", "<p>page");
        stage.at(HOSTS[0], path)
    });
    let elsewhere = stage.at(HOSTS[2], "/blog/one");
    let links = [inside, outside, elsewhere].map(|url| format!("<a href=\"{url}\">x</a> "));
    stage.site.put("/docs/", "text/html", links.concat());
    let seed = stage.at(HOSTS[0], "/docs/");
    let more = json!({"url": seed, "below_seed": true, "external_domains": [HOSTS[2]]});
    let crawled = stage.crawl(&[], &more).await;
    let expected = [
        seed,
        stage.at(HOSTS[0], "/docs/one"),
        stage.at(HOSTS[2], "/blog/one"),
    ];
    let urls: BTreeSet<&str> = expected.iter().map(String::as_str).collect();
    assert_eq!(crawled.urls(), urls);
    let outside = stage.at(HOSTS[0], "/blog/one");
    assert_eq!(
        crawled.skipped.get(&outside).map(String::as_str),
        Some("scope")
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crawl_is_25_hops_deep_unless_it_says_otherwise() {
    let stage = Stage::new().await;
    let page = |n: u32| stage.at(HOSTS[0], &format!("/chain/{n}"));
    for n in 0..40 {
        let next = format!("<a href=\"{}\">next</a>", page(n + 1));
        stage.site.put(&format!("/chain/{n}"), "text/html", next);
    }
    // The seed leads to the first page of the chain.
    for (more, depth) in [(json!({}), 25), (json!({"depth": 3}), 3)] {
        let crawled = stage.crawl(&[page(0)], &more).await;
        assert_eq!(crawled.entries.len(), depth + 1, "{more}");
        assert_eq!(crawled.status["stop_reason"], "depth", "{more}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_pages_are_in_flight_unless_the_crawl_says_otherwise() {
    let three = json!({"depth": 1, "concurrency_limit": 3});
    for (more, at_once) in [(json!({"depth": 1}), 10), (three, 3)] {
        let stage = Stage::new().await;
        let slow = (0..24).map(|n| stage.at(HOSTS[0], &format!("/slow/{}", 600 + n)));
        let crawled = stage.crawl(&slow.collect::<Vec<_>>(), &more).await;
        assert_eq!(crawled.entries.len(), 25);
        assert_eq!(stage.site.slow_at_once(), at_once, "{more}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crawl_ends_when_its_time_is_over() {
    let stage = Stage::new().await;
    let slow = (0..40).map(|n| stage.at(HOSTS[0], &format!("/slow/{}", 500 + n)));
    let more = json!({"crawl_timeout": 1, "concurrency_limit": 1});
    let begun = Instant::now();
    let crawled = stage.crawl(&slow.collect::<Vec<_>>(), &more).await;
    assert_eq!(crawled.status["stop_reason"], "crawl_timeout");
    assert!(crawled.entries.len() < 41, "{}", crawled.status);
    // All pages would take 20 seconds.
    assert!(begun.elapsed() < Duration::from_secs(15));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pace_out_of_range_is_refused() {
    let stage = Stage::new().await;
    for (name, value, is_good) in [
        ("concurrency_limit", 0, false),
        ("concurrency_limit", 1, true),
        ("concurrency_limit", 10, true),
        ("concurrency_limit", 11, false),
        ("delay", 0, true),
        ("delay", 60_000, true),
        ("delay", 60_001, false),
    ] {
        let request = json!({"url": "http://sample.trawl.test/", "limit": 1, "respect_robots": false, (name): value});
        let answer = stage.app.post("/crawl", &[], &request).await;
        assert_eq!(answer.status, if is_good { 200 } else { 400 }, "{request}");
        if !is_good {
            assert!(
                answer.error().starts_with(&format!("{name}: ")),
                "{request}"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_says_how_it_was_found() {
    let stage = Stage::new().await;
    let at = |path: &str| stage.at(HOSTS[0], path);
    // The page at the end links to this one.
    stage.site.put("/other", "text/html", "<p>the last");
    let (seed, first) = (at("/seed"), at("/redirect/2"));
    let links = std::slice::from_ref(&first);
    let crawled = stage.crawl(links, &json!({"anchors": true})).await;
    let entry = |path: &str| {
        let url = at(path);
        let mut entries = crawled.entries.iter();
        let entry = entries.find(|entry| entry["url"] == url).expect(path);
        ["depth", "referrer", "anchor", "redirects"].map(|field| entry[field].clone())
    };
    let none = || Value::Null;
    assert_eq!(entry("/seed"), [json!(0), none(), none(), none()]);
    let hops = ["/redirect/1", "/redirect/0"].map(|path| json!({"status": 302, "to": at(path)}));
    let expected = [json!(1), json!(seed), json!("x"), json!(hops)];
    assert_eq!(entry("/redirect/0"), expected);
    let last = [json!(2), json!(first), json!("a link"), none()];
    assert_eq!(entry("/other"), last);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn links_to_sites_that_do_not_answer_are_failed_entries() {
    let stage = Stage::new().await;
    // Nothing speaks TLS here, so the first spelling of the page fails and the second does not.
    stage.site.put("/twin", "text/html", "<p>twin");
    let twin = stage.at(HOSTS[0], "/twin");
    let secure = twin.replace("http:", "https:");
    let unknown = stage.at(HOSTS[3], "/x");
    let unused = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = unused.local_addr().unwrap().port();
    drop(unused);
    let refused = format!("http://{}:{port}/x", HOSTS[2]);
    let links = [
        secure.clone(),
        twin.clone(),
        unknown.clone(),
        refused.clone(),
    ];
    for respect_robots in [true, false] {
        let more = json!({"respect_robots": respect_robots, "external_domains": true});
        let crawled = stage.crawl(&links, &more).await;
        let cause = |url: &str| {
            let mut entries = crawled.entries.iter();
            let entry = entries.find(|entry| entry["url"] == url).expect(url);
            entry["cause"].as_str().unwrap_or("none").to_owned()
        };
        let found = [&secure, &twin, &unknown, &refused].map(|url| cause(url));
        assert_eq!(found[1..], ["none", "dns", "connection_refused"], "{more}");
        assert_ne!(found[0], "none", "{more}");
        assert!(crawled.skipped.is_empty(), "{:?}", crawled.skipped);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_that_differ_in_their_urls_alone_are_left_out_when_asked() {
    let stage = Stage::new().await;
    let at = |path: &str| stage.at(HOSTS[0], path);
    let canonical = "<link rel=canonical href=/leaf/1>";
    stage
        .site
        .put("/leaf/1", "text/html", format!("{canonical}<p>one"));
    let body = format!("{canonical}<p>one, printed <a href=/leaf/4>more</a>");
    stage.site.put("/leaf/2", "text/html", body);
    stage.site.put("/leaf/3", "text/html", "<p>other");
    stage.site.put("/leaf/4", "text/html", "<p>other");
    let links = ["/leaf/1", "/leaf/2", "/leaf/3"].map(at);
    let check = async |more: Value, expected: &[&str], folded: &[&str]| {
        let mut more = more;
        more["return_format"] = json!("text");
        more["concurrency_limit"] = json!(1);
        let crawled = stage.crawl(&links, &more).await;
        let mut urls: BTreeSet<String> = expected.iter().map(|path| at(path)).collect();
        urls.insert(at("/seed"));
        let found: BTreeSet<String> = crawled.urls().into_iter().map(str::to_owned).collect();
        assert_eq!(found, urls, "{more}");
        for path in folded {
            let reason = crawled.skipped.get(&at(path)).map(String::as_str);
            assert_eq!(reason, Some("duplicate"), "{more}: {path}");
        }
        stage.app.assert_settled().await;
    };
    let all = ["/leaf/1", "/leaf/2", "/leaf/3", "/leaf/4"];
    check(json!({}), &all, &[]).await;
    let canonical = json!({"fold_canonical": true});
    check(canonical, &["/leaf/1", "/leaf/3", "/leaf/4"], &["/leaf/2"]).await;
    check(json!({"fold_equal": true}), &all[..3], &["/leaf/4"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_has_a_cap_and_traps_are_skipped() {
    let stage = Stage::new().await;
    for path in ["/leaf/1", "/leaf/2", "/x/x1/x1/x1/"] {
        stage.site.put(path, "text/html", "<p>leaf");
    }
    let [one, two, trap] =
        ["/leaf/1", "/leaf/2", "/x/x1/x1/x1/"].map(|path| stage.at(HOSTS[2], path));
    let links = [one.clone(), two.clone(), trap.clone()];
    let more = json!({"external_domains": [HOSTS[2]], "host_limit": 1});
    let crawled = stage.crawl(&links, &more).await;
    assert_eq!(
        crawled.entries.len(),
        2,
        "the seed and one of the other host"
    );
    assert_eq!(crawled.status["stop_reason"], "host_limit");
    assert_eq!(crawled.skipped[&two], "host_limit");
    assert_eq!(crawled.skipped[&trap], "trap");
    let more = json!({"external_domains": [HOSTS[2]], "follow_traps": true});
    let crawled = stage.crawl(&links, &more).await;
    assert!(crawled.urls().contains(trap.as_str()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_ends_with_its_stop_reason_when_asked() {
    let stage = Stage::new().await;
    stage.site.put("/leaf", "text/html", "<p>leaf");
    let links = [stage.at(HOSTS[0], "/leaf"), stage.at(HOSTS[3], "/x")];
    let more = json!({"limit": 1, "final_entry": true});
    let crawled = stage.crawl(&links, &more).await;
    assert_eq!(crawled.entries.len(), 2, "a page and the end");
    let end = &crawled.entries[1];
    let cost = &crawled.status["costs"]["total_cost"];
    assert_eq!(end["stop_reason"], "limit", "{end}");
    assert_eq!((&end["pages"], &end["failed"]), (&json!(1), &json!(0)));
    assert_eq!(&end["total_cost"], cost, "{end}");
    assert_eq!(end.get("url"), None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_that_wait_for_their_turn_end_with_the_crawl() {
    let stage = Stage::new().await;
    let links: Vec<String> = (0..20)
        .map(|n| {
            let path = format!("/leaf/{n}");
            stage.site.put(&path, "text/html", "<p>leaf");
            stage.at(HOSTS[0], &path)
        })
        .collect();
    let more = json!({"crawl_timeout": 2, "delay": 5_000});
    let started = Instant::now();
    let crawled = stage.crawl(&links, &more).await;
    assert!(started.elapsed() < Duration::from_secs(5));
    assert_eq!(crawled.status["stop_reason"], "crawl_timeout");
    assert_eq!(crawled.entries.len(), 1, "the seed");
    let stopped = crawled
        .skipped
        .values()
        .filter(|reason| *reason == "stopped");
    assert_eq!(stopped.count(), 20);
    stage.app.assert_settled().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_that_wait_for_their_turn_end_with_a_crawl_that_is_cancelled() {
    let stage = Stage::new().await;
    let request = json!({
        "url": stage.site.put_linked(20), "request": "http", "return_format": "empty", "cache": false,
        "respect_robots": false, "run_in_background": true, "delay": 60_000,
    });
    let queued = stage.app.post("/crawl", &[], &request).await.json();
    let id = queued["id"].as_str().unwrap();
    let path = format!("/crawl/{id}");
    let started = Instant::now();
    while stage.app.get(&path).await.json()["pages"] != 1 {
        assert!(started.elapsed() < SOON, "its first page is not delivered");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let cancelled = stage.app.send(Method::DELETE, &path, &[], String::new());
    assert_eq!(cancelled.await.unwrap().status, 200);
    // The second page would be requested a minute after the first.
    let ended = stage.app.crawl_ended(id, SOON).await;
    assert_eq!(
        (&ended["stop_reason"], &ended["pages"]),
        (&json!("cancelled"), &json!(1))
    );
    let skipped = stage.app.get(&format!("{path}/skipped")).await.json();
    let skipped = skipped.as_array().unwrap().iter();
    let stopped = skipped.filter(|url| url["reason"] == "stopped");
    assert_eq!(stopped.count(), 20);
    assert_eq!(stage.site.requests().len(), 1);
    stage.app.assert_settled().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_skipped_redirect_says_where_it_leads() {
    let stage = Stage::new().await;
    let (target, old) = (stage.at(HOSTS[0], "/leaf"), stage.at(HOSTS[0], "/to?/leaf"));
    stage.site.put("/leaf", "text/html", "<p>leaf");
    let more = json!({"concurrency_limit": 1});
    let crawled = stage.crawl(&[target.clone(), old.clone()], &more).await;
    assert_eq!(crawled.skipped[&old], "duplicate");
    let id = crawled.status["id"].as_str().unwrap();
    let skipped = stage.app.get(&format!("/crawl/{id}/skipped")).await.json();
    assert_eq!(skipped[0]["redirects_to"], json!(target), "{skipped}");
}
