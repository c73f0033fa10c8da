//! When a page is read: with what is on its way, without what never ends.

use std::time::{Duration, Instant};

use serde_json::json;

use super::{Stage, content};

/// Less than any limit that such a page could run into; a page takes a second.
const AT_ONCE: Duration = Duration::from_secs(8);

/// The start of a page that shows its text when `later(text)` is called.
const LATER: &str = "<p id=p>Loading</p><script>const later = (text) => { p.textContent = text; };";
/// Text of a page that needs nothing else.
const WHOLE: &str =
    "<h1>Harbour</h1><p>The ferry to the islands leaves at noon from the northern pier.</p>";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn a_page_that_is_whole_does_not_wait_for_what_never_ends() {
    let stage = Stage::new().await;
    for rest in [
        "<script>fetch('/page')</script>",
        // Its script has no use for the body, so the request never ends.
        "<div id=part></div><script>fetch('/page')</script>",
        "<img src=/silent>",
        "<script>for (let n = 0; n < 5; n++) fetch('/silent?' + n)</script>",
        "<script>new Worker('/worker.js')</script>",
        "<script>const again = () => fetch('/page').then(() => setTimeout(again, 50)); again()</script>",
    ] {
        stage.page("/worker.js", "postMessage(1)");
        let url = stage.page("/", &format!("{WHOLE}{rest}"));
        let begun = Instant::now();
        let entry = stage.rendered(&url, json!({})).await;
        assert!(begun.elapsed() < AT_ONCE, "{rest}: {:?}", begun.elapsed());
        assert!(content(&entry).contains("at noon"), "{rest}: {entry}");
        assert_eq!(entry["metadata"].get("incomplete"), None, "{rest}: {entry}");
    }
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn content_that_is_on_its_way_is_waited_for() {
    let stage = Stage::new().await;
    for script in [
        "fetch('/slow/2000').then(() => later('there'))",
        "fetch('/slow/3500').then(() => later('there'))",
        "(async () => { for (let n = 0; n < 3; n++) await fetch('/slow/700?' + n); later('there') })()",
        "setTimeout(() => fetch('/slow/1500').then(() => later('there')), 100)",
    ] {
        let url = stage.page("/", &format!("{LATER}{script}</script>"));
        let entry = stage.rendered(&url, json!({})).await;
        assert!(content(&entry).contains("there"), "{script}: {entry}");
        assert_eq!(entry["metadata"].get("incomplete"), None, "{entry}");
    }
    let html = format!(
        "{LATER}</script>{WHOLE}<button onclick=\"p.textContent = 'Loading'; \
         fetch('/slow/1500').then(() => later('after the click'))\">More</button>"
    );
    let url = stage.page("/click", &html.replace("Loading</p>", "</p>"));
    let steps = json!({"automation_scripts": {"*": [{"Click": "button"}]}});
    let entry = stage.rendered(&url, steps).await;
    assert!(content(&entry).contains("after the click"), "{entry}");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn a_page_that_was_not_ready_says_so_and_is_not_stored() {
    let stage = Stage::with(|world| world.keeps_pages = true).await;
    let url = stage.page(
        "/",
        &format!("{LATER}fetch('/silent?key=secret').then(later)</script>"),
    );
    for _ in 0..2 {
        let entry = stage.rendered(&url, json!({})).await;
        let pending = &entry["metadata"]["incomplete"]["pending"];
        let silent = json!([stage.site.url("/silent")]);
        assert_eq!(pending, &silent, "without its query: {entry}");
        assert_eq!(entry["metadata"].get("cache"), None, "{entry}");
    }
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn steps_and_waits_do_not_wait_for_pictures() {
    let stage = Stage::new().await;
    let html = format!(
        "{WHOLE}<img src=/silent><button onclick=\"document.body.append(' pressed')\">Press</button>"
    );
    let url = stage.page("/", &html);
    let begun = Instant::now();
    let more = json!({"wait_for": {"selector": {"selector": "button", "timeout": {"secs": 20, "nanos": 0}}},
        "automation_scripts": {"*": [{"Click": "button"}]}});
    let entry = stage.rendered(&url, more).await;
    assert!(begun.elapsed() < AT_ONCE, "{:?}", begun.elapsed());
    assert!(content(&entry).contains("pressed"), "{entry}");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn a_script_that_never_comes_leaves_time_for_steps() {
    let stage = Stage::new().await;
    let html = format!(
        "{WHOLE}<button onclick=\"document.body.append(' pressed')\">Press</button><script src=/silent></script>"
    );
    let url = stage.page("/", &html);
    let begun = Instant::now();
    let steps = json!({"automation_scripts": {"*": [{"Click": "button"}]}});
    let entry = stage.rendered(&url, steps).await;
    assert!(begun.elapsed() < 2 * AT_ONCE, "{:?}", begun.elapsed());
    assert!(content(&entry).contains("pressed"), "{entry}");
    let pending = &entry["metadata"]["incomplete"]["pending"];
    let missing = json!(["the document", stage.site.url("/silent")]);
    assert_eq!(pending, &missing, "{entry}");
    // One that comes late is waited for.
    let late = "<script src=/slow/6000></script><script>later('there')</script>";
    let url = stage.page("/late", &format!("{LATER}</script>{late}"));
    let entry = stage.rendered(&url, json!({})).await;
    assert!(content(&entry).contains("there"), "{entry}");
    assert_eq!(entry["metadata"].get("incomplete"), None, "{entry}");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn a_challenge_gets_the_time_that_it_needs() {
    let stage = Stage::new().await;
    // Works for a while, then the site lets the browser in.
    let challenge = "<p>Just a moment...</p><script>setTimeout(() => { location.href = '/behind'; }, 3000)</script>";
    let url = stage
        .site
        .put("/", "text/html\r\nCF-Mitigated: challenge", challenge);
    stage.page("/behind", WHOLE);
    let entry = stage.rendered(&url, json!({})).await;
    assert!(content(&entry).contains("at noon"), "{entry}");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn waits_that_are_longer_than_the_page_may_take_say_so() {
    let stage = Stage::new().await;
    let url = stage.page("/", WHOLE);
    for more in [
        json!({"wait_for": {"delay": {"timeout": {"secs": 20, "nanos": 0}}}, "request_timeout": 5}),
        json!({"scroll": 20_000, "request_timeout": 5}),
        json!({"automation_scripts": {"*": [{"Wait": 20_000}]}, "request_timeout": 5}),
    ] {
        let entry = stage.rendered(&url, more.clone()).await;
        let said = entry["metadata"]["automation_data"].to_string();
        assert!(said.contains("request_timeout"), "{more}: {entry}");
        assert!(content(&entry).contains("at noon"), "{entry}");
    }
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn a_download_that_a_page_starts_leaves_the_page() {
    let stage = Stage::new().await;
    stage
        .site
        .put("/file.zip", "application/zip", b"PK\x03\x04".as_slice());
    for to in ["/file.zip", "/status/204"] {
        let moves = format!("{WHOLE}<script>setTimeout(() => location.href = '{to}', 50)</script>");
        let url = stage.page("/", &moves);
        let entry = stage.rendered(&url, json!({})).await;
        assert!(content(&entry).contains("at noon"), "{to}: {entry}");
        assert_eq!(entry["status"], 200, "{to}");
    }
    let html = format!("{WHOLE}<a id=a href=/file.zip>Download</a>");
    let url = stage.site.put("/link", "text/html\r\nX-Page: own", html);
    let steps = json!([{"Click": "#a"}, {"Evaluate": "document.body.append(' stayed')"}]);
    let more = json!({"automation_scripts": {"*": steps}, "return_headers": true});
    let entry = stage.rendered(&url, more).await;
    assert!(content(&entry).contains("stayed"), "{entry}");
    assert_eq!(entry["headers"]["x-page"], "own", "{entry}");
    // An answer without content is what it says.
    let url = stage.site.url("/status/204");
    let entry = stage.app.page(super::request(&url, json!({}))).await;
    assert_eq!(entry["status"], 204, "{entry}");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn workers_are_idle_when_their_scripts_have_arrived() {
    let stage = Stage::new().await;
    let script = "text/javascript";
    stage.site.put(
        "/worker.js",
        script,
        "importScripts('/import.js'); new Worker('/inner.js'); postMessage(1)",
    );
    for path in ["/import.js", "/inner.js", "/shared.js", "/service.js"] {
        stage.site.put(path, script, "self.x = 1");
    }
    for begin in [
        "new Worker('/worker.js')",
        "new Worker('/worker.js').terminate()",
        "new Worker('/missing.js')",
        "new SharedWorker('/shared.js')",
        "navigator.serviceWorker.register('/service.js')",
    ] {
        let url = stage.page("/", &format!("{WHOLE}<script>{begin}</script>"));
        let wait = json!({"wait_for": {"idle_network": {"timeout": {"secs": 30, "nanos": 0}}}});
        let begun = Instant::now();
        let entry = stage.rendered(&url, wait).await;
        assert!(begun.elapsed() < AT_ONCE, "{begin}: {:?}", begun.elapsed());
        let reported = entry["metadata"].get("automation_data");
        assert_eq!(reported, None, "{begin}: {entry}");
        assert_eq!(
            entry["metadata"].get("incomplete"),
            None,
            "{begin}: {entry}"
        );
    }
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn what_a_worker_brings_is_waited_for() {
    let stage = Stage::new().await;
    let loads = "fetch(location.origin + '/slow/2000').then(() => postMessage('there'))";
    stage.site.put("/loads.js", "text/javascript", loads);
    let computes = "const end = Date.now() + 1500; while (Date.now() < end); postMessage('there')";
    stage.site.put("/computes.js", "text/javascript", computes);
    for worker in ["/loads.js", "/computes.js"] {
        let script = format!("new Worker('{worker}').onmessage = (event) => later(event.data)");
        let url = stage.page("/", &format!("{LATER}{script}</script>"));
        let entry = stage.rendered(&url, json!({})).await;
        assert!(content(&entry).contains("there"), "{worker}: {entry}");
        assert_eq!(
            entry["metadata"].get("incomplete"),
            None,
            "{worker}: {entry}"
        );
    }
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn a_page_that_became_ready_after_a_step_is_complete() {
    let stage = Stage::new().await;
    stage.page("/whole", WHOLE);
    let busy = format!(
        "{WHOLE}<a id=a href=/whole>On</a><script>setInterval(() => {{ const end = Date.now() + 90; \
         while (Date.now() < end); }}, 0)</script>"
    );
    let silent = format!("{LATER}fetch('/silent')</script>");
    let shown = format!(
        "p.textContent = '{}'",
        "The ferry leaves at noon. ".repeat(4)
    );
    for (html, step) in [
        (
            &busy,
            json!({"Evaluate": "document.getElementById('a').click()"}),
        ),
        (&silent, json!({"Evaluate": shown})),
    ] {
        let url = stage.page("/", html);
        let first = stage.rendered(&url, json!({"request_timeout": 60})).await;
        let pending = &first["metadata"]["incomplete"]["pending"];
        assert!(
            pending.is_array(),
            "it shows that there is something to clear: {first}"
        );
        let more = json!({"request_timeout": 60, "automation_scripts": {"*": [step]}});
        let entry = stage.rendered(&url, more).await;
        assert!(content(&entry).contains("at noon"), "{entry}");
        assert_eq!(entry["metadata"].get("incomplete"), None, "{entry}");
    }
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn a_screenshot_waits_for_the_pictures_that_came_into_view_alone() {
    let stage = Stage::new().await;
    let pictures: String = (0..4)
        .map(|number| format!("<p style='height:2500px'>x<img loading=lazy src=/{number}.png>"))
        .collect();
    let took = async |rest: &str| {
        let url = stage.page("/", &format!("{WHOLE}{pictures}{rest}"));
        let begun = Instant::now();
        let body = json!({"url": url, "request_timeout": 60});
        let answer = stage.app.post("/screenshot", &[], &body).await;
        let entry = answer.json()[0].clone();
        assert!(entry["error"].is_null(), "{}", entry["error"]);
        begun.elapsed()
    };
    let plain = took("").await;
    let heads = stage.site.requests().join("\n");
    for number in 0..4 {
        assert!(heads.contains(&format!("GET /{number}.png ")), "{heads}");
    }
    let polls = "<script>for (let n = 0; n < 3; n++) fetch('/silent?' + n)</script>";
    let polling = took(polls).await;
    // A second to see that the page is complete, and none for its pictures.
    assert!(
        polling < plain + Duration::from_millis(3_500),
        "{plain:?}, {polling:?}"
    );
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn work_in_one_long_task_after_the_other_is_waited_for() {
    let stage = Stage::new().await;
    let work = |ms: u32, then: &str| {
        format!(
            "const end = Date.now() + {ms}; const work = () => {{ const task = Date.now() + 90; \
             while (Date.now() < task); if (Date.now() < end) setTimeout(work, 0); else {then} }}; \
             addEventListener('load', work)"
        )
    };
    let script = work(2_000, "later('there')");
    let url = stage.page("/", &format!("{LATER}{script}</script>"));
    for _ in 0..2 {
        let entry = stage.rendered(&url, json!({})).await;
        assert!(content(&entry).contains("there"), "{entry}");
        assert_eq!(entry["metadata"].get("incomplete"), None, "{entry}");
    }
    // Work that never ends is cut, and said.
    let script = work(60_000, "later('there')");
    let url = stage.page("/endless", &format!("{LATER}{script}</script>"));
    let entry = stage.rendered(&url, json!({"request_timeout": 60})).await;
    let pending = &entry["metadata"]["incomplete"]["pending"];
    assert_eq!(pending, &json!(["the page's scripts"]), "{entry}");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn a_page_that_may_run_no_scripts_is_ready_at_once() {
    let stage = Stage::new().await;
    let media_type =
        "text/html\r\nContent-Security-Policy: default-src 'self'; sandbox allow-forms";
    let url = stage.site.put("/", media_type, WHOLE);
    let begun = Instant::now();
    let entry = stage.rendered(&url, json!({})).await;
    assert!(content(&entry).contains("at noon"), "{entry}");
    assert_eq!(entry["metadata"].get("incomplete"), None, "{entry}");
    assert!(begun.elapsed() < AT_ONCE, "{:?}", begun.elapsed());
    stage.close().await;
}
