//! Pages that harm the browser, and its recovery.

use std::time::{Duration, Instant};

use serde_json::json;
use trawl_tests::{TestApp, WatchedBrowser, World};

use super::{Stage, content, request};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn a_page_in_an_endless_loop_fails_alone() {
    let stage = Stage::new().await;
    let endless = stage.page("/endless", "<p>x<script>for (;;) {}</script>");
    let fine = stage.site.url("/page");
    let started = Instant::now();
    let stuck = stage
        .app
        .failure(request(&endless, json!({"request_timeout": 5})));
    let beside = async {
        tokio::time::sleep(Duration::from_millis(1500)).await;
        stage.rendered(&fine, json!({})).await
    };
    let ((status, reason), beside) = tokio::join!(stuck, beside);
    assert_eq!(status, 524, "{reason}");
    assert!(started.elapsed() < Duration::from_secs(8));
    assert!(content(&beside).contains("A page"));
    assert!(content(&stage.rendered(&fine, json!({})).await).contains("A page"));
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn dialogs_windows_and_downloads_block_nothing() {
    let stage = Stage::new().await;
    let url = stage.page("/", "<p id=p></p><script>for (let i = 0; i < 50; i++) { alert(i); confirm(i); prompt(i); window.open('/page'); } \
        onbeforeunload = () => 'stay'; document.getElementById('p').textContent = 'went through';</script>");
    let entry = stage.rendered(&url, json!({})).await;
    assert!(content(&entry).contains("went through"), "{entry}");
    let file = stage
        .site
        .put("/file.zip", "application/zip", vec![1; 1000]);
    let (status, reason) = stage.app.failure(request(&file, json!({}))).await;
    assert_eq!(status, 598, "{reason}");
    assert!(reason.contains("download"), "{reason}");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn a_crash_fails_one_page_and_the_browser_recovers() {
    let stage = Stage::new().await;
    let waiting = stage.page("/waiting", "<p>waiting");
    let fine = stage.site.url("/page");
    for part in ["--type=renderer", "--headless"] {
        let hit = stage
            .app
            .failure(request(&waiting, json!({"wait_for": 8_000})));
        let killing = async {
            let end = Instant::now() + Duration::from_secs(6);
            while !stage
                .site
                .requests()
                .iter()
                .any(|head| head.contains("/waiting"))
                && Instant::now() < end
            {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            tokio::time::sleep(Duration::from_millis(700)).await;
            stage.browser.kill(part)
        };
        let ((status, reason), killed) = tokio::join!(hit, killing);
        assert!(killed > 0, "{part}");
        assert_eq!(status, 598, "{part}: {reason}");
        assert!(reason.contains("crash"), "{reason}");
        assert!(
            content(&stage.rendered(&fine, json!({})).await).contains("A page"),
            "{part}"
        );
    }
    assert_eq!(
        stage.browser.groups().len(),
        2,
        "the browser was replaced once"
    );
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn a_page_that_exceeds_the_memory_limit_fails_alone() {
    let stage = Stage::with(|world| world.browser.memory_mib = 400).await;
    let greedy = stage.page("/greedy", "<p>x<script>const all = []; const grow = () => { \
        for (let i = 0; i < 4; i++) { const part = new Uint8Array(16 << 20); part.fill(1); all.push(part); } \
        if (all.length < 128) setTimeout(grow, 20); else document.title = 'full'; }; grow();</script>");
    let entry = stage
        .app
        .page(request(
            &greedy,
            json!({"wait_for": 15_000, "request_timeout": 25}),
        ))
        .await;
    assert_eq!(entry["status"], 598, "{entry}");
    assert!(content(&stage.rendered(&stage.site.url("/page"), json!({})).await).contains("A page"));
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn browsers_are_recycled_and_leave_no_processes() {
    let _by_another_test = trawl_telemetry::start_metrics();
    let stage = Stage::with(|world| world.browser.pages_per_process = 10).await;
    let url = stage.site.url("/page");
    for _ in 0..3 {
        let urls = [url.as_str(); 12].join(",");
        let body = json!({"url": urls, "request": "browser", "return_format": "text"});
        for entry in stage.app.scrape(body).await {
            assert!(content(&entry).contains("A page"), "{entry}");
        }
    }
    let groups = stage.browser.groups();
    assert!((3..=5).contains(&groups.len()), "{groups:?}");
    // Earlier browsers are gone while the server still runs.
    let end = Instant::now() + Duration::from_secs(10);
    let is_last = |(_, line): &(i32, String)| {
        !line.starts_with("/bin/sh") && line.contains("--remote-debugging-pipe")
    };
    while stage
        .browser
        .processes()
        .iter()
        .filter(|process| is_last(process))
        .count()
        > 1
    {
        assert!(Instant::now() < end, "{:?}", stage.browser.processes());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let metrics = String::from_utf8(stage.app.get("/metrics").await.body).unwrap();
    for name in [
        "trawl_browser_launches_total",
        "trawl_browser_recycles_total",
        "trawl_browser_tabs",
        "trawl_browser_tab_wait_seconds",
    ] {
        assert!(metrics.contains(name), "{name} is missing");
    }
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_browser_that_never_starts_fails_at_the_timeout() {
    let mut world = World::new();
    let browser = WatchedBrowser::put_script(&mut world, "exec sleep 60");
    let app = TestApp::of(world).await;
    let started = Instant::now();
    let body = request("http://sample.trawl.test/", json!({"request_timeout": 5}));
    let (status, reason) = app.failure(body).await;
    assert_eq!(status, 524, "{reason}");
    assert!(started.elapsed() < Duration::from_secs(8));
    app.app.close().await;
    browser.assert_gone().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_browser_that_exits_at_once_is_reported_with_its_output() {
    let mut world = World::new();
    let browser =
        WatchedBrowser::put_script(&mut world, "echo 'FATAL: no usable sandbox' >&2; exit 1");
    let app = TestApp::of(world).await;
    let (status, reason) = app
        .failure(request("http://sample.trawl.test/", json!({})))
        .await;
    assert_eq!(status, 598);
    assert!(reason.contains("no usable sandbox"), "{reason}");
    app.app.close().await;
    browser.assert_gone().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn one_account_cannot_occupy_all_tabs() {
    let stage = Stage::with(|world| world.browser.tabs = 2).await;
    let slow = stage.page("/slow-page", "<p>slow");
    let fine = stage.site.url("/page");
    let (_, other) = stage
        .app
        .another("other", trawl_model::Nanodollars(1_000_000_000))
        .await;
    stage.rendered(&fine, json!({})).await;
    let urls = [slow.as_str(); 8].join(",");
    let many = stage
        .app
        .scrape(json!({"url": urls, "request": "browser", "wait_for": 1500}));
    let one = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let started = Instant::now();
        other.fine(request(&fine, json!({}))).await;
        started.elapsed()
    };
    let (entries, waited) = tokio::join!(many, one);
    assert!(entries.iter().all(|entry| entry["error"].is_null()));
    // Eight pages on two tabs take some seven seconds; the other account waits for at most one of
    // them.
    assert!(waited < Duration::from_secs(5), "{waited:?}");
    stage.close().await;
}
