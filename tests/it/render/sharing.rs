//! Which rendered pages other callers may get.

use serde_json::{Value, json};
use trawl_model::Nanodollars;
use trawl_tests::FakeSite;

use super::{Stage, content, request};

const DOLLAR: Nanodollars = Nanodollars(1_000_000_000);
const TEXT: &str = "<p>The ferry to the islands leaves at noon from the northern pier.</p>";

fn is_hit(entry: &Value) -> bool {
    entry["metadata"]["cache"]["status"] == "hit"
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn a_fragment_makes_another_page() {
    let stage = Stage::with(|world| world.keeps_pages = true).await;
    let (_, other) = stage.app.another("other", DOLLAR).await;
    let url = stage.page(
        "/",
        "<p id=p></p><script>p.textContent = 'The page shows [' + location.hash + '] and nothing else at all.'</script>",
    );
    for fragment in ["#/a", "#/b", ""] {
        let url = format!("{url}{fragment}");
        let entry = other.fine(request(&url, json!({}))).await;
        assert!(
            content(&entry).contains(&format!("shows [{fragment}] and")),
            "{entry}"
        );
        assert!(!is_hit(&entry), "{fragment}: {entry}");
        let again = stage.rendered(&url, json!({})).await;
        assert!(is_hit(&again), "{fragment}: {again}");
        assert_eq!(content(&again), content(&entry));
    }
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn a_page_is_shared_only_with_parts_that_may_be() {
    let stage = Stage::with(|world| world.keeps_pages = true).await;
    let (_, other) = stage.app.another("other", DOLLAR).await;
    let json = "application/json";
    let put = |path: &str, kind: &str| stage.site.put(path, kind, "{}");
    put("/public", json);
    put(
        "/private",
        &format!("{json}\r\nCache-Control: private; max-age=0"),
    );
    put("/cookie", &format!("{json}\r\nSet-Cookie: t=1"));
    put(
        "/domain",
        &format!("{json}\r\nWWW-Authenticate: Basic realm=a\r\nWWW-Authenticate: NTLM"),
    );
    put(
        "/basic",
        &format!("{json}\r\nWWW-Authenticate: Basic realm=a"),
    );
    stage.site.put(
        "/secret-frame",
        "text/html\r\nCache-Control: no-store",
        "<p>framed",
    );
    let beside = FakeSite::start().await;
    let script = "text/javascript";
    let shared = beside.put("/shared.js", script, "0");
    let own = beside.put(
        "/own.js",
        &format!("{script}\r\nCache-Control: private"),
        "0",
    );
    let [shared, own] = [shared, own].map(|url| format!("<script src='{url}'></script>"));
    let parts = [
        // Parts of another port count as the page's own.
        (shared.as_str(), true),
        (own.as_str(), false),
        ("<script>fetch('/public')</script>", true),
        ("<img src=/missing>", true),
        ("<script>fetch('/private')</script>", false),
        ("<script>fetch('/cookie')</script>", false),
        ("<script>fetch('/basic')</script>", true),
        ("<script>fetch('/domain')</script>", false),
        ("<script>fetch('/status/503')</script>", false),
        // Its status line is not HTTP: the page is complete without it.
        ("<script>fetch('/status/busy')</script>", false),
        ("<script src=/missing.js></script>", false),
        ("<iframe src=/secret-frame></iframe>", false),
        ("<script src=/truncated></script>", false),
    ];
    for (number, (part, is_shared)) in parts.into_iter().enumerate() {
        let url = stage.page("/", &format!("{TEXT}{part}"));
        // Each a page of its own for the cache.
        let url = format!("{url}#{number}");
        stage.rendered(&url, json!({})).await;
        let entry = other.fine(request(&url, json!({}))).await;
        assert!(content(&entry).contains("at noon"), "{part}: {entry}");
        assert_eq!(is_hit(&entry), is_shared, "{part}: {entry}");
    }
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn a_document_whose_connection_may_be_authenticated_is_not_shared() {
    let stage = Stage::with(|world| world.keeps_pages = true).await;
    let (_, other) = stage.app.another("other", DOLLAR).await;
    for (challenge, is_shared) in [
        ("Negotiate YII=", false),
        ("NTLM", false),
        ("Basic realm=a", true),
    ] {
        let kind = format!("text/html\r\nWWW-Authenticate: {challenge}");
        let url = stage.site.put("/", &kind, TEXT);
        // Each a page of its own for the cache.
        let url = format!("{url}#{}", challenge.len());
        stage.rendered(&url, json!({})).await;
        let entry = other.fine(request(&url, json!({}))).await;
        assert!(content(&entry).contains("at noon"), "{challenge}: {entry}");
        assert_eq!(is_hit(&entry), is_shared, "{challenge}: {entry}");
    }
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn half_a_document_is_a_failure() {
    let stage = Stage::with(|world| world.keeps_pages = true).await;
    for path in ["/truncated", "/truncated-chunks"] {
        let url = stage.site.url(path);
        let (status, error) = stage.app.failure(request(&url, json!({}))).await;
        assert_eq!(status, 522, "{path}: {error}");
        assert!(error.contains("complete"), "{path}: {error}");
    }
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn a_length_beside_a_transfer_coding_is_not_that_of_the_body() {
    let stage = Stage::new().await;
    let chunks = format!("{:x}\r\n{TEXT}\r\n7\r\n<p>end.\r\n0\r\n\r\n", TEXT.len());
    let kind = "text/html\r\nTransfer-Encoding: chunked";
    let url = stage.site.put("/both", kind, chunks);
    let entry = stage.rendered(&url, json!({})).await;
    assert!(content(&entry).contains("end."), "{entry}");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn what_the_caller_or_the_page_itself_blocks_is_no_failed_part() {
    let stage = Stage::with(|world| world.keeps_pages = true).await;
    let (_, other) = stage.app.another("other", DOLLAR).await;
    stage.site.put("/style.css", "text/css", "p { color: red }");
    let policy = "text/html\r\nContent-Security-Policy: script-src 'none'";
    let style = "<link rel=stylesheet href=/style.css>";
    let advert = "<script src='https://ads.doubleclick.net/a.js'></script>";
    for (kind, part, mut more) in [
        ("text/html", style, json!({"block_stylesheets": true})),
        ("text/html", advert, json!({"block_ads": true})),
        (policy, "<script src=/own.js></script>", json!({})),
    ] {
        let url = stage.site.put("/", kind, format!("{TEXT}{part}"));
        let url = format!("{url}#{}", part.len());
        stage.rendered(&url, more.clone()).await;
        let entry = other.fine(request(&url, more.clone())).await;
        assert!(is_hit(&entry), "{part}: {entry}");
        // With another parameter it is another page.
        more["block_images"] = json!(true);
        let entry = other.fine(request(&url, more)).await;
        assert!(!is_hit(&entry), "{part}: {entry}");
    }
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn what_a_worker_or_a_stream_brought_is_shared_only_if_it_may_be() {
    let stage = Stage::with(|world| world.keeps_pages = true).await;
    let (_, other) = stage.app.another("other", DOLLAR).await;
    let script = "text/javascript";
    let json = "application/json";
    stage.site.put("/public", json, "{}");
    stage.site.put(
        "/private",
        &format!("{json}\r\nCache-Control: private"),
        "{}",
    );
    stage
        .site
        .put("/stream", "text/event-stream", "data: 1\n\n");
    for path in ["/public", "/private"] {
        let work = format!("fetch('{path}').then(() => postMessage(1))");
        stage.site.put(&format!("{path}.js"), script, work);
    }
    stage
        .site
        .put("/imports.js", script, "importScripts('/missing.js')");
    for (number, (part, is_shared)) in [
        ("new Worker('/public.js')", true),
        ("new Worker('/private.js')", false),
        ("new Worker('/imports.js')", false),
        ("new SharedWorker('/public.js')", false),
        ("new EventSource('/stream').onmessage = () => 0", false),
    ]
    .into_iter()
    .enumerate()
    {
        let url = stage.page("/", &format!("{TEXT}<script>{part}</script>"));
        let url = format!("{url}#{number}");
        stage.rendered(&url, json!({"wait_for": 1_000})).await;
        let entry = other.fine(request(&url, json!({"wait_for": 1_000}))).await;
        assert!(content(&entry).contains("at noon"), "{part}: {entry}");
        assert_eq!(is_hit(&entry), is_shared, "{part}: {entry}");
    }
    stage.close().await;
}
