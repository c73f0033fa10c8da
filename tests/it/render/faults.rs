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
    let stuck = async {
        let started = Instant::now();
        let body = request(&endless, json!({"request_timeout": 5}));
        let failure = stage.app.failure(body).await;
        (failure, started.elapsed())
    };
    let other = async {
        tokio::time::sleep(Duration::from_millis(1500)).await;
        stage.rendered(&fine, json!({})).await
    };
    let (((status, reason), took), other) = tokio::join!(stuck, other);
    assert_eq!(status, 524, "{reason}");
    // The page never ends by itself; the bound leaves a busy machine time to end it.
    assert!(took < Duration::from_secs(20), "{took:?}");
    assert!(content(&other).contains("A page"));
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
async fn a_304_to_a_request_without_a_condition_is_a_failure() {
    let stage = Stage::new().await;
    let url = stage.site.url("/status/304");
    let (status, reason) = stage.app.failure(request(&url, json!({}))).await;
    assert_eq!(status, 522, "{reason}");
    assert!(reason.contains("304"), "{reason}");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn a_crash_costs_no_other_page() {
    let stage = Stage::new().await;
    let waiting = stage.page("/waiting", "<p>waiting");
    let waits = json!({"wait_for": 6_000, "request_timeout": 60});
    // Steps are not taken twice. The first shows that they have begun.
    let steps = json!({"request_timeout": 60,
        "automation_scripts": {"*": [{"Evaluate": "fetch('/begun')"}, {"Wait": 9_000}]}});
    let script = json!({"wait_for": 6_000, "request_timeout": 60,
        "evaluate_on_new_document": "window.x = 1"});
    // (killed processes, parameters, the request before they are killed, whether the page is
    // rendered once more)
    for (part, more, sign, is_retried) in [
        ("--type=renderer", waits.clone(), "GET /waiting ", false),
        ("--headless", waits, "GET /waiting ", true),
        ("--headless", steps, "GET /begun ", false),
        ("--headless", script, "GET /waiting ", false),
    ] {
        let asked = |start: &str| {
            let requests = stage.site.requests();
            requests
                .iter()
                .filter(|head| head.starts_with(start))
                .count()
        };
        let (before, signs_before) = (asked("GET /waiting "), asked(sign));
        let hit = stage.app.page(request(&waiting, more));
        let killing = async {
            let end = Instant::now() + Duration::from_secs(25);
            while asked(sign) == signs_before && Instant::now() < end {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            tokio::time::sleep(Duration::from_millis(700)).await;
            stage.browser.kill(part)
        };
        let (entry, killed) = tokio::join!(hit, killing);
        assert!(killed > 0, "{part}");
        if is_retried {
            assert!(content(&entry).contains("waiting"), "{part}: {entry}");
        } else {
            assert_eq!(entry["status"], 598, "{part}: {entry}");
            assert!(
                entry["error"].as_str().unwrap().contains("crash"),
                "{entry}"
            );
        }
        let n_asked = asked("GET /waiting ") - before;
        assert_eq!(n_asked, 1 + usize::from(is_retried), "{part}");
        let fine = stage.site.url("/page");
        assert!(
            content(&stage.rendered(&fine, json!({})).await).contains("A page"),
            "{part}"
        );
    }
    // The first; the retry's; the one after it; those after the steps and after the script.
    assert_eq!(stage.browser.groups().len(), 5);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn the_page_that_grows_ends_and_not_the_largest() {
    let stage = Stage::with(|world| world.browser.memory_mib = 450).await;
    let take = "const all = []; const take = (count) => { for (let i = 0; i < count; i++) { \
        const part = new Uint8Array(8 << 20); part.fill(1); all.push(part); } };";
    // 320 MiB at once and then nothing, and a page that starts to grow when no page has for more
    // than ten seconds, and has grown by 250 MiB at most when it is too much.
    let large = format!("<p>innocent<script>{take} take(40)</script>");
    let grower = format!(
        "<p>x<script>{take} const grow = () => {{ take(2); if (all.length < 200) setTimeout(grow, 100); }}; \
         setTimeout(grow, 14000)</script>"
    );
    let (large, grower) = (stage.page("/large", &large), stage.page("/grower", &grower));
    let more = json!({"wait_for": 24_000, "request_timeout": 45});
    let steps = json!({"wait_for": 24_000, "request_timeout": 45,
        "automation_scripts": {"*": [{"Evaluate": "all.length"}]}});
    let (innocent, (status, reason)) = tokio::join!(
        stage.rendered(&large, steps),
        stage.app.failure(request(&grower, more))
    );
    let report = &innocent["metadata"]["automation_data"];
    assert_eq!(report[0]["result"], 40, "{innocent}");
    assert_eq!(status, 598, "{reason}");
    assert!(reason.contains("too much memory"), "{reason}");
    assert_eq!(stage.browser.groups().len(), 1);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn blobs_in_the_shared_process_cost_no_other_page() {
    let stage = Stage::with(|world| world.browser.memory_mib = 400).await;
    // Blobs are in the memory of the browser's own process.
    let blobs = stage.page(
        "/blobs",
        "<p>x<script>const all = []; const fill = () => { \
        for (let i = 0; i < 4; i++) all.push(new Blob([new Uint8Array(16 << 20)])); \
        if (all.length < 100) setTimeout(fill, 100); }; setTimeout(fill, 1500)</script>",
    );
    let wait = |milliseconds: u32| json!({"wait_for": milliseconds, "request_timeout": 40});
    let innocent = stage.page("/innocent", "<p>innocent");
    let (entry, (status, reason)) = tokio::join!(
        stage.rendered(&innocent, wait(14_000)),
        stage.app.failure(request(&blobs, wait(12_000)))
    );
    assert!(content(&entry).contains("innocent"), "{entry}");
    assert_eq!(status, 598, "{reason}");
    assert!(reason.contains("memory"), "{reason}");
    // One for both, then one for each.
    assert_eq!(stage.browser.groups().len(), 3);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn the_browser_is_not_root_and_its_profile_is_private() {
    use std::os::unix::fs::MetadataExt;

    let uid = |status: &str| {
        let line = status.lines().find(|line| line.starts_with("Uid:"));
        let ids = line.unwrap().split_whitespace().skip(1);
        ids.map(|id| id.parse::<u32>().unwrap()).collect::<Vec<_>>()
    };
    let own = uid(&std::fs::read_to_string("/proc/self/status").unwrap())[0];
    let stage = Stage::with(|world| world.browser.no_sandbox = true).await;
    stage.rendered(&stage.site.url("/page"), json!({})).await;
    let processes = stage.browser.processes();
    assert!(!processes.is_empty());
    for (id, line) in &processes {
        let Ok(status) = std::fs::read_to_string(format!("/proc/{id}/status")) else {
            continue;
        };
        let ids = uid(&status);
        assert!(ids.iter().all(|id| *id != 0 || own != 0), "{ids:?}: {line}");
    }
    let mut folders = processes.iter().filter_map(|(_, line)| {
        let start = line.split_once("--user-data-dir=")?.1;
        start.split(' ').next().map(str::to_owned)
    });
    let folder = std::fs::metadata(folders.next().expect("a profile folder")).unwrap();
    assert_eq!(folder.mode() & 0o777, 0o700);
    assert!(folder.uid() != 0 || own != 0);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dead_browser_shows_in_health() {
    let mut world = World::new();
    let browser = WatchedBrowser::put_script(&mut world, "echo 'FATAL: dead' >&2; exit 1");
    let app = TestApp::of(world).await;
    let health = app.get("/health").await.json();
    let (http, browser_health) = (&health["engines"]["http"], &health["engines"]["browser"]);
    assert_eq!(http["ok"], true, "{health}");
    assert_eq!(browser_health["ok"], false, "{health}");
    let error = browser_health["error"].as_str().unwrap();
    assert!(error.contains("FATAL: dead"), "{error}");
    app.app.close().await;
    browser.assert_gone().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn a_browser_that_dies_later_shows_in_health_at_once() {
    let mut world = World::new();
    let folder = world.path("browser");
    let installed = option_env!("TRAWL_TEST_BROWSER").unwrap_or_default();
    let line = format!(
        "test -e {}/dead && exit 1\nexec {installed} \"$@\"",
        folder.display()
    );
    let _for_its_sandbox = WatchedBrowser::put(&mut world);
    std::fs::remove_dir_all(&folder).unwrap();
    let browser = WatchedBrowser::put_script(&mut world, &line);
    let app = TestApp::of(world).await;
    let health = async || app.get("/health").await.json()["engines"]["browser"].clone();
    assert_eq!(health().await["ok"], true);
    std::fs::write(folder.join("dead"), "").unwrap();
    assert!(browser.kill("--headless") > 0);
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    // The next page notices, and the check does not answer from memory any more.
    let (status, _) = app
        .failure(request("http://sample.trawl.test/", json!({})))
        .await;
    assert_eq!(status, 598);
    assert_eq!(health().await["ok"], false);
    std::fs::remove_file(folder.join("dead")).unwrap();
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    app.fine(request("http://sample.trawl.test/", json!({})))
        .await;
    assert_eq!(health().await["ok"], true);
    app.app.close().await;
    browser.assert_gone().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn a_busy_browser_is_not_asked_again_by_each_health_check() {
    let stage = Stage::with(|world| world.browser.tabs = 1).await;
    let slow = stage.page("/slow-page", "<p>slow");
    let occupied = stage.app.page(request(
        &slow,
        json!({"wait_for": 55_000, "request_timeout": 60}),
    ));
    let checks = async {
        let is_slow = |head: &String| head.starts_with("GET /slow-page ");
        while !stage.site.requests().iter().any(is_slow) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let first = stage.app.get("/health").await.json();
        // The whole report is reused for a second.
        tokio::time::sleep(Duration::from_millis(1_500)).await;
        (first, stage.app.get("/health").await.json())
    };
    let (first, second) = tokio::select! {
        reports = checks => reports,
        _ = occupied => panic!("the page ended before the checks"),
    };
    let [first, second] = [first, second].map(|report| report["engines"]["browser"].clone());
    assert_eq!(first["ok"], false, "{first}");
    // Another check would have taken another time.
    assert_eq!(first, second);
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
    let end = Instant::now() + Duration::from_secs(30);
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
    let key = stage.app.app.unused_admin_key().unwrap();
    let metrics = stage.app.with_key(key.expose()).get("/metrics").await;
    let metrics = String::from_utf8(metrics.body).unwrap();
    for name in [
        "trawl_browser_launches_total",
        "trawl_browser_recycles_total",
        "trawl_browser_tabs",
        "trawl_browser_tab_wait_duration_seconds",
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
    // Far sooner than the script ends.
    assert!(started.elapsed() < Duration::from_secs(30));
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
    let many = async {
        let body =
            json!({"url": urls, "request": "browser", "wait_for": 1500, "request_timeout": 60});
        (stage.app.scrape(body).await, Instant::now())
    };
    let one = async {
        let is_slow = |head: &&String| head.starts_with("GET /slow-page ");
        let n_slow = || stage.site.requests().iter().filter(is_slow).count();
        let end = Instant::now() + Duration::from_secs(20);
        while n_slow() < 2 && Instant::now() < end {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        other
            .fine(request(&fine, json!({"request_timeout": 60})))
            .await;
        Instant::now()
    };
    let ((entries, many_ended), one_ended) = tokio::join!(many, one);
    assert!(entries.iter().all(|entry| entry["error"].is_null()));
    // The other account waits for at most one of the eight pages, which two tabs render two at a
    // time: at least two pairs come after it, of 1.5 seconds each.
    let earlier = many_ended.saturating_duration_since(one_ended);
    assert!(earlier > Duration::from_secs(2), "{earlier:?}");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn a_browser_that_crashes_while_it_is_idle_is_cleaned_up() {
    const MARK: &str = "--user-data-dir=";
    let stage = Stage::new().await;
    let fine = stage.site.url("/page");
    stage.rendered(&fine, json!({})).await;
    let lines = stage.browser.processes();
    let folder = lines.iter().find_map(|(_, line)| {
        let (_, rest) = line.split_once(MARK)?;
        rest.split(' ').next().map(std::path::PathBuf::from)
    });
    let folder = folder.expect("a profile folder");
    assert!(folder.exists(), "{folder:?}");
    assert!(stage.browser.kill("--headless") > 0);
    let end = Instant::now() + Duration::from_secs(20);
    while folder.exists() {
        assert!(Instant::now() < end, "{folder:?} is still there");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    stage.browser.assert_gone().await;
    assert!(content(&stage.rendered(&fine, json!({})).await).contains("A page"));
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn a_page_that_fills_the_memory_of_its_scripts_fails_with_that_reason() {
    let stage = Stage::new().await;
    let url = stage.page(
        "/",
        "<p>x<script>setTimeout(() => { const all = []; for (;;) all.push(new Array(1e6).fill({})); }, 300)</script>",
    );
    let more = json!({"wait_for": 30_000, "request_timeout": 60});
    let (status, reason) = stage.app.failure(request(&url, more)).await;
    assert_eq!(status, 598, "{reason}");
    assert!(reason.contains("memory"), "{reason}");
    let fine = stage.site.url("/page");
    assert!(content(&stage.rendered(&fine, json!({})).await).contains("A page"));
    assert_eq!(stage.browser.groups().len(), 1);
    stage.close().await;
}
