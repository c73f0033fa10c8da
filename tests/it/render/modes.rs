//! Which pages are rendered, their results, and their costs.

use serde_json::json;
use trawl_model::Nanodollars;

use super::{Stage, content};

/// A page whose text exists only after its script has run.
const SHELL: &str = "<!DOCTYPE html><html><head><title>Shop</title></head><body><div id=\"root\"></div>\
    <script src=\"/app.js\"></script></body></html>";
const SCRIPT: &str = "setTimeout(() => { const p = document.createElement('p'); \
    p.textContent = ['Forty', 'two', 'lamps', 'are', 'left.'].join(' '); \
    document.getElementById('root').append(p); }, 50);";
const SENTENCE: &str = "Forty two lamps are left.";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn a_javascript_page_is_rendered_completely() {
    let stage = Stage::new().await;
    let url = stage.page("/", SHELL);
    stage.site.put("/app.js", "text/javascript", SCRIPT);
    let plain = stage
        .app
        .fine(json!({"url": url, "request": "http", "return_format": "text"}))
        .await;
    assert!(!content(&plain).contains(SENTENCE), "{plain}");

    let rendered = stage
        .rendered(&url, json!({"return_headers": true, "metadata": true}))
        .await;
    assert_eq!(content(&rendered).trim(), SENTENCE);
    assert_eq!(rendered["status"], 200);
    assert_eq!(rendered["metadata"]["rendered_by"], "browser");
    assert_eq!(rendered["metadata"]["title"], "Shop");
    assert!(
        rendered["headers"]["content-type"]
            .as_str()
            .unwrap()
            .starts_with("text/html"),
        "{rendered}"
    );
    // Decision D80, Decision D81. The document, its script and the browser's time are billed.
    let bytes = (SHELL.len() + SCRIPT.len()) as f64 / 1e9;
    let costs = &rendered["costs"];
    assert!(
        (costs["bytes_transferred_cost"].as_f64().unwrap() - bytes).abs() < 2e-9,
        "{costs}"
    );
    assert!(costs["compute_cost"].as_f64().unwrap() > 0.0, "{costs}");

    let smart = stage
        .app
        .fine(json!({"url": url, "return_format": "text"}))
        .await;
    assert_eq!(content(&smart).trim(), SENTENCE);
    assert_eq!(smart["metadata"]["rendered_by"], "browser");
    let reason = smart["metadata"]["render_reason"].as_str().unwrap();
    assert!(reason.contains("empty_shell"), "{reason}");
    stage.app.assert_settled().await;
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn a_static_page_is_not_rendered() {
    let stage = Stage::new().await;
    let entry = stage
        .app
        .fine(json!({"url": stage.site.url("/page"), "return_format": "text"}))
        .await;
    assert_eq!(entry["metadata"]["rendered_by"], "http");
    assert!(stage.browser.groups().is_empty(), "a browser was started");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn the_url_of_a_rendered_page_is_written_as_that_of_any_other() {
    let stage = Stage::new().await;
    let url = stage.page(
        "/",
        "<script>history.pushState(0, '', '/x^y?^')</script>here",
    );
    let entry = stage.rendered(&url, json!({})).await;
    assert_eq!(entry["url"], stage.site.url("/x%5Ey?^"));
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn an_application_within_the_text_of_its_server_is_rendered() {
    let stage = Stage::new().await;
    stage.site.put("/app.js", "text/javascript", SCRIPT);
    let links = "<a href=\"/x\">Lamps of the year</a> ".repeat(12);
    let banner = "We use cookies to count visits, and so do our partners. ".repeat(8);
    let url = stage.page(
        "/",
        &format!("<nav>{links}</nav>{SHELL}<aside>{banner}</aside>"),
    );
    let entry = stage
        .app
        .fine(json!({"url": url, "return_format": "text"}))
        .await;
    assert_eq!(entry["metadata"]["rendered_by"], "browser", "{entry}");
    assert!(content(&entry).contains(SENTENCE), "{entry}");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn a_refresh_is_followed_without_a_browser() {
    let stage = Stage::new().await;
    stage.page("/new", "<title>New</title><p>It stands here now.");
    let refresh = "<meta http-equiv=refresh content='1; url=/new'><p>You will be redirected.";
    let url = stage.page("/old", refresh);
    let before = stage.app.balance();
    let entry = stage
        .app
        .fine(json!({"url": url, "return_format": "text", "metadata": true}))
        .await;
    assert_eq!(content(&entry).trim(), "It stands here now.");
    assert_eq!(entry["url"], stage.site.url("/new"));
    assert_eq!(entry["metadata"]["rendered_by"], "http");
    assert_eq!(entry["metadata"]["original_url"], url);
    assert!(stage.app.balance() < before);
    assert!(stage.browser.groups().is_empty(), "a browser was started");

    // In a crawl it is a redirect too: no page is fetched twice.
    stage.page("/", "<a href=/old>old</a><a href=/new>new</a>");
    let body = json!({"url": stage.site.url("/"), "return_format": "text", "cache": false});
    let answer = stage.app.post("/crawl", &[], &body).await;
    let entries = answer.json();
    let entries = entries.as_array().expect("a list");
    assert_eq!(entries.len(), 2, "{entries:?}");
    let moved = stage.app.page(json!({"url": url, "request": "http"})).await;
    assert_eq!(moved["url"], url, "mode `http` returns the page itself");
    stage.app.assert_settled().await;
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn a_host_that_is_rendered_at_once_is_tried_without_a_browser_now_and_then() {
    let stage = Stage::new().await;
    stage.site.put("/app.js", "text/javascript", SCRIPT);
    let mut by = Vec::new();
    for n in 0..9 {
        let html = match n {
            0..3 => SHELL,
            _ => "<p>All of it is here.",
        };
        let url = stage.page(&format!("/{n}"), html);
        let entry = stage.app.fine(json!({"url": url})).await;
        by.push(entry["metadata"]["rendered_by"].as_str() == Some("browser"));
    }
    assert_eq!(by, [true, true, true, true, true, true, true, false, false]);
    stage.close().await;
}

/// Data that break off: a browser shows what there is of them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn an_answer_that_plain_http_cannot_read_is_left_to_the_browser() {
    let stage = Stage::new().await;
    let url = stage.site.url("/cut/gzip");
    let plain = stage.app.page(json!({"url": url, "request": "http"})).await;
    assert_eq!(plain["cause"], "bad_encoding", "{plain}");
    let smart = json!({"url": url, "return_format": "text"});
    let entry = stage.app.fine(smart).await;
    assert!(content(&entry).contains("A page"), "{entry}");
    assert_eq!(entry["metadata"]["rendered_by"], "browser");
    let reason = entry["metadata"]["render_reason"].as_str().unwrap();
    assert!(reason.starts_with("broken: the gzip body"), "{reason}");

    // A host that cannot be reached is not tried twice, and the failure of both is the first one.
    let gone = stage.app.page(json!({"url": "http://127.0.0.1:9/"})).await;
    assert_eq!(gone["cause"], "connection_refused", "{gone}");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn a_plain_copy_may_replace_the_page_on_a_host_that_is_rendered_at_once() {
    let stage = Stage::with(|world| world.keeps_pages = true).await;
    stage.site.put("/app.js", "text/javascript", SCRIPT);
    let kept = stage.page("/kept", SHELL);
    stage
        .app
        .fine(json!({"url": kept, "request": "http"}))
        .await;
    for path in ["/1", "/2", "/3"] {
        let url = stage.page(path, SHELL);
        let entry = stage.app.fine(json!({"url": url})).await;
        assert_eq!(entry["metadata"]["rendered_by"], "browser");
    }
    let plain = json!({"url": kept, "cache": {"skip_browser": true}});
    let plain = stage.app.fine(plain).await;
    assert_eq!(plain["metadata"]["rendered_by"], "http", "{plain}");
    assert_eq!(plain["metadata"]["cache"]["status"], "hit");
    assert_eq!(plain["costs"]["bytes_transferred_cost"], 0.0);
    let rendered = stage.app.fine(json!({"url": kept})).await;
    let reason = rendered["metadata"]["render_reason"].as_str().unwrap();
    assert!(reason.contains("as other pages of this host"), "{reason}");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn a_page_that_no_browser_gets_in_time_is_fetched_by_plain_http() {
    let stage = Stage::new().await;
    stage.site.put("/app.js", "text/javascript", SCRIPT);
    for path in ["/1", "/2", "/3"] {
        let url = stage.page(path, SHELL);
        let entry = stage.app.fine(json!({"url": url})).await;
        assert_eq!(entry["metadata"]["rendered_by"], "browser");
    }
    let url = stage.site.url("/no-browsers");
    let body = json!({"url": url, "return_format": "text", "request_timeout": 10});
    let entry = stage.app.fine(body).await;
    assert!(content(&entry).contains("A page"), "{entry}");
    assert_eq!(entry["metadata"]["rendered_by"], "http", "{entry}");
    let heads = stage.site.requests();
    let asked = heads.iter().filter(|head| head.contains("/no-browsers "));
    assert_eq!(asked.count(), 2, "a browser asked first");
    stage.app.assert_settled().await;
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn a_page_that_exceeds_its_ceiling_fails_for_free() {
    let stage = Stage::new().await;
    let url = stage.page("/", "<script src=/big.js></script><p>text");
    stage
        .site
        .put("/big.js", "text/javascript", " ".repeat(3_000_000));
    let before = stage.app.balance();
    // 3 MB cost 30 credits.
    let body = super::request(&url, json!({"max_credits_per_page": 10}));
    let (status, reason) = stage.app.failure(body).await;
    assert_eq!(status, 599, "{reason}");
    assert!(
        reason.contains("`max_credits_per_page` allows 10"),
        "{reason}"
    );
    assert_eq!(stage.app.balance(), before);
    let expensive = stage
        .rendered(&url, json!({"max_credits_per_page": 100}))
        .await;
    assert!(content(&expensive).contains("text"));
    assert!(stage.app.balance() < before - Nanodollars(3_000_000).0);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn screenshots_have_the_requested_size() {
    let stage = Stage::new().await;
    let url = stage.page(
        "/",
        "<body style='margin:0;background:#0a0'><div style='height:2000px'>tall</div>",
    );
    let body = json!({"url": url, "binary": true, "viewport": {"width": 640, "height": 480}});
    let size = async |more: serde_json::Value| {
        let mut body = body.clone();
        body.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        let answer = stage.app.post("/screenshot", &[], &body).await;
        let entry = answer.json()[0].clone();
        assert!(entry["error"].is_null(), "{}", entry["error"]);
        let png: Vec<u8> = serde_json::from_value(entry["content"].clone()).unwrap();
        assert_eq!(&png[1..4], b"PNG");
        let side = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
        (side(16), side(20))
    };
    assert_eq!(size(json!({})).await, (640, 2000));
    assert_eq!(size(json!({"full_page": false})).await, (640, 480));
    assert_eq!(
        size(json!({"clip": {"x": 10, "y": 1900, "width": 30, "height": 40}})).await,
        (30, 40)
    );
    let text = stage
        .app
        .page(json!({"url": url, "return_format": "screenshot"}))
        .await;
    assert!(
        content(&text).starts_with("iVBORw0KGgo"),
        "not a PNG in base64"
    );
    stage.page("/long", "<div style='height:100000px;width:50px'>x</div>");
    let long = json!({"url": stage.site.url("/long"), "binary": true});
    let long = stage.app.post("/screenshot", &[], &long).await.json()[0].clone();
    assert!(long["error"].is_null(), "{}", long["error"]);
    let cut = &long["metadata"]["automation_data"][0]["screenshot"];
    let cut = cut.as_str().unwrap_or_default();
    assert!(cut.contains("1366 × 32767 of 1366 × 1000"), "{cut}");
    // What a step has left out of its own is in the page's.
    let without = json!([{"Screenshot": {"omit_background": true, "full_page": false}}]);
    let plain = stage.page("/plain", "<p>x</p>");
    let plain = json!({"url": plain, "binary": true, "automation_scripts": {"*": without}});
    let plain = stage.app.post("/screenshot", &[], &plain).await.json()[0].clone();
    // The colour type of a PNG: true colour without alpha.
    assert_eq!(plain["content"][25], 2, "{}", plain["error"]);
    let step = &plain["metadata"]["automation_data"][0]["result"];
    let is_png = step
        .as_str()
        .is_some_and(|png| png.starts_with("iVBORw0KGgo"));
    assert!(is_png, "{step}");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn a_crawl_follows_links_added_by_scripts() {
    let stage = Stage::new().await;
    let url = stage.page("/app/", "<div id=root></div><script>for (const n of [1, 2, 3]) { const a = document.createElement('a'); \
        a.href = '/app/' + n; a.textContent = 'item ' + n; document.getElementById('root').append(a); }</script>");
    for n in 1..=3 {
        stage.page(&format!("/app/{n}"), &format!("<div id=root></div><script>document.getElementById('root').textContent = 'number ' + {n} * 11</script>"));
    }
    let body = json!({"url": url, "return_format": "text", "limit": 10});
    let answer = stage.app.post("/crawl", &[], &body).await;
    let entries = answer.json();
    let entries = entries.as_array().unwrap();
    assert_eq!(entries.len(), 4, "{entries:?}");
    for n in [11, 22, 33] {
        let expected = format!("number {n}");
        assert!(
            entries
                .iter()
                .any(|entry| content(entry).contains(&expected)),
            "{expected}"
        );
    }
    stage.app.assert_settled().await;
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn health_renders_a_sample_page() {
    let stage = Stage::new().await;
    let health = stage.app.get("/health").await.json();
    assert_eq!(health["engines"]["browser"]["ok"], true, "{health}");
    assert_eq!(health["engines"]["http"]["ok"], true, "{health}");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn robots_rules_apply_to_redirects_and_navigations() {
    let stage = Stage::new().await;
    stage.site.put(
        "/robots.txt",
        "text/plain",
        "User-agent: *\nDisallow: /private",
    );
    stage.page("/private/page", "<p>hidden");
    let target = stage.site.url("/private/page");
    let leads = stage.page(
        "/leads",
        &format!("<script>location.href = '{target}'</script>"),
    );
    let obeys = json!({"respect_robots": true, "wait_for": {"page_navigations": true}});
    for url in [
        target.clone(),
        stage.site.url(&format!("/to?{target}")),
        leads,
    ] {
        let (status, reason) = stage.app.failure(super::request(&url, obeys.clone())).await;
        assert_eq!(status, 526, "{url}: {reason}");
    }
    let asked = stage.site.requests().join("\n");
    assert!(!asked.contains("GET /private"), "{asked}");
    let entry = stage.rendered(&target, json!({})).await;
    assert!(content(&entry).contains("hidden"));
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn the_unblocker_is_a_scrape_with_a_browser() {
    let stage = Stage::new().await;
    let url = stage.page("/", SHELL);
    stage.site.put("/app.js", "text/javascript", SCRIPT);
    let body = json!({"url": url, "request": "http", "return_format": "text"});
    let answer = stage.app.post("/unblocker", &[], &body).await;
    assert_eq!(answer.status, 200);
    let entry = answer.json()[0].clone();
    assert_eq!(content(&entry).trim(), SENTENCE);
    assert_eq!(entry["metadata"]["rendered_by"], "browser");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn a_rendered_page_is_kept_under_what_shaped_it() {
    let stage = Stage::with(|world| world.keeps_pages = true).await;
    let url = stage.page("/", "<script>document.write('<p>w' + innerWidth)</script>");
    let status = |entry: &serde_json::Value| entry["metadata"]["cache"]["status"].clone();
    let first = stage.rendered(&url, json!({})).await;
    assert!(status(&first).is_null());
    let n_requests = stage.site.requests().len();
    let before = stage.app.balance();
    let again = stage.rendered(&url, json!({})).await;
    assert_eq!(
        (status(&again), content(&again)),
        (json!("hit"), content(&first))
    );
    assert_eq!(again["costs"]["bytes_transferred_cost"], 0.0);
    assert!(
        before - stage.app.balance() < 1_000,
        "only the CPU of the format"
    );
    assert_eq!(stage.site.requests().len(), n_requests);
    for other in [
        json!({"viewport": {"width": 700, "height": 500}}),
        json!({"execution_scripts": {"*": "document.body.append('more')"}}),
        json!({"block_images": true}),
        json!({"user_agent": "Other/1.0"}),
        json!({"headers": {"X-Own": "canary"}}),
        json!({"cookies": "sid=canary"}),
        json!({"automation_scripts": {"*": [{"Wait": 1}]}}),
        json!({"cache": false}),
    ] {
        let entry = stage.rendered(&url, other.clone()).await;
        assert!(status(&entry).is_null(), "{other}");
    }
    stage.close().await;
}
