//! Threats 1, 3 and 10: pages reach only what egress allows, whichever web API they use.

use serde_json::json;
use trawl_tests::FakeSite;

use super::{Stage, content};

/// Ways in which a page can request `{}`.
const WAYS: &[(&str, &str)] = &[
    ("image", "<img src='{}/secret'>"),
    ("frame", "<iframe src='{}/secret'></iframe>"),
    ("script", "<script src='{}/secret'></script>"),
    ("style", "<link rel=stylesheet href='{}/secret'>"),
    (
        "prefetch",
        "<link rel=prefetch href='{}/secret'><link rel=preconnect href='{}'>",
    ),
    (
        "fetch",
        "<script>fetch('{}/secret', {mode: 'no-cors'}).then(() => document.title = 'got', () => document.title = 'not')</script>",
    ),
    (
        "beacon",
        "<script>navigator.sendBeacon('{}/secret', 'x')</script>",
    ),
    (
        "socket",
        "<script>new WebSocket('{}/secret'.replace('http', 'ws')).onopen = () => document.title = 'got'</script>",
    ),
    ("events", "<script>new EventSource('{}/secret')</script>"),
    (
        "worker",
        "<script>new Worker(URL.createObjectURL(new Blob([\"fetch('{}/secret', {mode: 'no-cors'})\"])))</script>",
    ),
    ("popup", "<script>window.open('{}/secret')</script>"),
    (
        "form",
        "<form id=f target=x action='{}/secret'></form><iframe name=x></iframe><script>f.submit()</script>",
    ),
    (
        "download",
        "<a id=a download href='{}/secret'></a><script>a.click()</script>",
    ),
    ("audio", "<audio autoplay src='{}/secret'></audio>"),
    ("redirected image", "<img src='/to?{}/secret'>"),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn no_web_api_reaches_a_private_address() {
    let stage = Stage::new().await;
    // 127.0.0.1, where the site is, is allowed; 127.0.0.2 and the server itself are not.
    let inside = FakeSite::start_at("127.0.0.2").await;
    for (name, way) in WAYS {
        let html = format!("<p>here</p>{}", way.replace("{}", &inside.url("")));
        let url = stage.page("/way", &html);
        let entry = stage
            .app
            .page(super::request(&url, json!({"wait_for": 300})))
            .await;
        match *name {
            // The download replaced the page.
            "download" if entry["status"] == 526 => {}
            _ => assert!(content(&entry).contains("here"), "{name}: {entry}"),
        }
        assert_eq!(inside.connections(), 0, "{name}");
    }
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn a_page_that_navigates_to_a_private_address_is_a_failure() {
    let stage = Stage::new().await;
    let inside = FakeSite::start_at("127.0.0.2").await;
    let secret = inside.url("/page");
    let navigate = format!("<script>location.href = '{secret}'</script>");
    let refresh = format!("<meta http-equiv=refresh content='0;url={secret}'>");
    let waits = json!({"wait_for": {"page_navigations": true}});
    for url in [
        secret.clone(),
        stage.site.url(&format!("/to?{secret}")),
        stage.page("/navigate", &navigate),
        stage.page("/refresh", &refresh),
    ] {
        let entry = stage.app.page(super::request(&url, waits.clone())).await;
        assert!(!content(&entry).contains("A page"), "{url}: {entry}");
        assert_eq!(inside.connections(), 0, "{url}");
        let is_direct = url == secret || url.contains("/to?");
        if is_direct {
            assert_eq!(entry["status"], 526, "{url}: {entry}");
            assert!(
                entry["error"].as_str().unwrap().contains("127.0.0.2"),
                "{entry}"
            );
        }
    }
    // The server itself, although its IP address is allowed.
    let own = format!("http://{}/health", stage.app.address);
    let (status, reason) = stage.app.failure(super::request(&own, json!({}))).await;
    assert_eq!(status, 526, "{reason}");
    // Decision D110: a cloud's metadata service by its IP address.
    let (status, _) = stage
        .app
        .failure(super::request("http://169.254.169.254/latest/", json!({})))
        .await;
    assert_eq!(status, 526);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn service_workers_are_isolated_and_removed_with_their_page() {
    let stage = Stage::new().await;
    let inside = FakeSite::start_at("127.0.0.2").await;
    let worker = format!(
        "self.addEventListener('install', (event) => event.waitUntil(fetch('{0}/secret', {{mode: 'no-cors'}}).catch(() => 0)));",
        inside.url("")
    );
    stage.site.put("/worker.js", "text/javascript", worker);
    let url = stage.page(
        "/",
        "<p id=p>before</p><script>navigator.serviceWorker.register('/worker.js').then(() => \
        navigator.serviceWorker.ready).then(() => { const p = document.getElementById('p'); \
        p.textContent = 'installed'; p.className = 'installed' })</script>",
    );
    let installed =
        json!({"selector": {"selector": ".installed", "timeout": {"secs": 20, "nanos": 0}}});
    let wait = json!({"wait_for": installed});
    let entry = stage.rendered(&url, wait.clone()).await;
    assert!(content(&entry).contains("installed"), "{entry}");
    assert_eq!(inside.connections(), 0);
    // It does not outlive its page.
    let before = stage
        .site
        .requests()
        .iter()
        .filter(|head| head.contains("/worker.js"))
        .count();
    stage.rendered(&url, wait).await;
    let after = stage
        .site
        .requests()
        .iter()
        .filter(|head| head.contains("/worker.js"))
        .count();
    assert!(after > before, "the worker outlived its page");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn pages_cannot_use_other_schemes() {
    let stage = Stage::new().await;
    for target in [
        "file:///etc/passwd",
        "chrome://version",
        "view-source:http://127.0.0.1/",
    ] {
        let body = super::request(target, json!({}));
        let (status, reason) = stage.app.failure(body).await;
        assert_eq!(status, 526, "{target}: {reason}");
        let url = stage.page("/go", &format!("<p>still here</p><script>try {{ location.href = '{target}' }} catch {{}}</script><iframe src='{target}'></iframe>"));
        let entry = stage
            .app
            .page(super::request(&url, json!({"wait_for": 300})))
            .await;
        assert!(!content(&entry).contains("root:"), "{entry}");
    }
    stage.close().await;
}
