//! What a page sends, keeps and opens is bounded, and a page beyond a bound ends alone.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use trawl_model::Nanodollars;

use super::{Stage, content, request};

/// A request of another account's page that is open all the while. Its step shows that it was not
/// rendered a second time: pages with steps are not.
async fn other_page(stage: &Stage) -> Value {
    static N_OTHERS: AtomicUsize = AtomicUsize::new(0);
    let name = format!("other {}", N_OTHERS.fetch_add(1, Ordering::Relaxed));
    let (_, other) = stage.app.another(&name, Nanodollars(1_000_000_000)).await;
    let steps = json!({"request_timeout": 60,
        "automation_scripts": {"*": [{"Wait": 4000}, {"Evaluate": "6 * 7"}]}});
    other.fine(request(&stage.site.url("/page"), steps)).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn results_are_bounded_in_the_page() {
    let stage = Stage::new().await;
    // The page replaces what a bound could be made of.
    let url = stage.page(
        "/",
        "<p>x<script>JSON.stringify = () => 'x'.repeat(1e8); \
        String.prototype.slice = JSON.stringify; Object.keys = () => []; eval('1')</script>",
    );
    let scripts = [
        "'x'.repeat(2.5e8)",
        "Array(1e8)",
        "Array.from({length: 1e5}, (_, at) => ({at}))",
        "({deep: ['y'.repeat(1e7)]})",
        "Promise.resolve('z'.repeat(1e8))",
        "const small = {a: [1, 'two', null]}; small",
    ];
    let mut steps: Vec<Value> = scripts
        .iter()
        .map(|text| json!({"Evaluate": text}))
        .collect();
    steps.push(json!({"Evaluate": "throw new Error('no'.repeat(5e7))"}));
    let more = json!({"request_timeout": 60, "automation_scripts": {"*": steps}});
    let attack = stage.rendered(&url, more);
    let (entry, other) = tokio::join!(attack, other_page(&stage));
    let report = entry["metadata"]["automation_data"].as_array().unwrap();
    assert_eq!(report.len(), 7, "{report:?}");
    for step in &report[..5] {
        let error = step["error"].as_str().unwrap();
        assert!(error.contains("10000"), "{error}");
    }
    let error = report[0]["error"].as_str().unwrap();
    assert!(error.contains("250000000"), "{error}");
    assert_eq!(report[5]["result"], json!({"a": [1, "two", null]}));
    let thrown = report[6]["error"].as_str().unwrap();
    assert!(thrown.contains("nono") && thrown.len() <= 1_000, "{thrown}");
    let report = &other["metadata"]["automation_data"];
    assert_eq!(report[0]["result"], 42, "{other}");
    assert_eq!(stage.browser.groups().len(), 1);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn a_script_has_a_scope_of_its_own_and_the_page_s_variables() {
    let stage = Stage::new().await;
    let url = stage.page("/", "<p>x<script>var shared = 1</script>");
    let steps = json!([{"Evaluate": "let own = shared; var kept = 2; own"},
        {"Evaluate": "[typeof own, kept, document.title]"},
        {"Evaluate": "fetch('/page').then((page) => page.status)"}]);
    let entry = stage.rendered(&url, json!({"automation_scripts": {"*": steps}}));
    let report = entry.await["metadata"]["automation_data"].clone();
    let results = [1, 2, 3].map(|step| report[step - 1]["result"].clone());
    assert_eq!(results, [json!(1), json!(["undefined", 2, ""]), json!(200)]);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn a_large_document_is_read_whole_and_a_larger_one_refused() {
    let stage = Stage::new().await;
    let fill = |count: u32| {
        format!(
            "<body style='display:none'><script>const text = '漢字😀'.repeat({count}); \
             document.body.textContent = 'begin' + text + 'end'</script>"
        )
    };
    // Four characters of JavaScript and ten bytes of UTF-8 each: three pieces.
    let url = stage.page("/large", &fill(700_000));
    let entry = stage.rendered(&url, json!({"return_format": "raw"})).await;
    let html = content(&entry);
    assert_eq!(html.matches("漢字😀").count(), 700_000);
    assert!(html.contains("begin漢") && html.contains("😀end"));
    assert!(!html.contains('\u{fffd}'));
    // 80 MB of UTF-8, although only 32 Mi characters.
    let url = stage.page("/larger", &fill(8_000_000));
    let more = json!({"return_format": "raw", "request_timeout": 60});
    let ((status, reason), other) =
        tokio::join!(stage.app.failure(request(&url, more)), other_page(&stage));
    assert_eq!(status, 598, "{reason}");
    assert!(reason.contains("67108864 bytes"), "{reason}");
    assert!(content(&other).contains("A page"));
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn an_oversize_message_ends_its_page_alone() {
    let stage = Stage::new().await;
    let wait = json!({"wait_for": 20_000, "request_timeout": 40});
    let sent = "<p>x<script>fetch('/page', {method: 'POST', body: 'y'.repeat(9e7)})</script>";
    for (path, html, headers) in [
        (
            "/data",
            "<p>x<script>fetch('data:text/plain,' + 'z'.repeat(9e7))</script>",
            json!({}),
        ),
        // Requests are reported with their bodies when the caller has headers.
        ("/body", sent, json!({"X-Token": "t"})),
    ] {
        let url = stage.page(path, html);
        let mut body = request(&url, wait.clone());
        body["headers"] = headers;
        let (failed, other) = tokio::join!(stage.app.failure(body), other_page(&stage));
        let (status, reason) = failed;
        assert_eq!(status, 598, "{path}: {reason}");
        assert!(reason.contains("message of"), "{path}: {reason}");
        let report = &other["metadata"]["automation_data"];
        assert_eq!(report[0]["result"], 42, "{path}: {other}");
    }
    assert_eq!(stage.browser.groups().len(), 1);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn a_page_has_a_bounded_number_of_frames_workers_and_sockets() {
    let stage = Stage::new().await;
    let script = "const work = URL.createObjectURL(new Blob(['setInterval(() => 0, 1000)']));";
    let cases = [
        (
            "frames",
            "document.body.append(document.createElement('iframe'))",
            256,
        ),
        ("workers", "new Worker(work)", 32),
        (
            "WebSockets",
            "new WebSocket('ws://' + location.host + '/silent')",
            64,
        ),
    ];
    for (what, one, most) in cases {
        let html = |count: u32| {
            format!(
                "<body><p>all there<script>{script} for (let i = 0; i < {count}; i++) {one}</script>"
            )
        };
        let few = stage.page("/few", &html(most / 4));
        let wait = json!({"wait_for": 500, "request_timeout": 60});
        let entry = stage.rendered(&few, wait).await;
        assert!(content(&entry).contains("all there"), "{what}: {entry}");
        let many = stage.page("/many", &html(most + 20));
        let wait = json!({"wait_for": 20_000, "request_timeout": 50});
        let (status, reason) = stage.app.failure(request(&many, wait)).await;
        assert_eq!(status, 598, "{what}: {reason}");
        let expected = format!("more than {most} {what}");
        assert!(reason.contains(&expected), "{reason}");
    }
    assert_eq!(stage.browser.groups().len(), 1);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn the_storage_of_a_page_is_bounded() {
    let stage = Stage::new().await;
    let url = stage.page(
        "/",
        "<p id=p>filling</p><script>(async () => { \
        const cache = await caches.open('x'); const part = new Uint8Array(4 << 20); let count = 0; \
        try { for (; count < 40; count++) await cache.put('/' + count, new Response(part)); } \
        catch (error) { const p = document.getElementById('p'); \
          p.textContent = error.name + ' after ' + count; p.className = 'done'; } })()</script>",
    );
    let done = json!({"selector": {"selector": ".done", "timeout": {"secs": 40, "nanos": 0}}});
    let wait = json!({"wait_for": done, "request_timeout": 60});
    let entry = stage.rendered(&url, wait).await;
    let text = content(&entry);
    assert!(text.contains("QuotaExceededError"), "{entry}");
    let count: u32 = text.trim().rsplit(' ').next().unwrap().parse().unwrap();
    assert!((4..=16).contains(&count), "{text}");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn screenshots_of_steps_are_bounded() {
    let stage = Stage::new().await;
    let url = stage.page("/", "<p>x");
    let steps = vec![json!({"Screenshot": {"full_page": false}}); 12];
    let entry = stage.rendered(&url, json!({"automation_scripts": {"*": steps}}));
    let report = entry.await["metadata"]["automation_data"].clone();
    let report = report.as_array().unwrap();
    assert_eq!(report.len(), 12);
    assert!(report[..10].iter().all(|step| step["result"].is_string()));
    for step in &report[10..] {
        assert!(
            step["error"].as_str().unwrap().contains("at most 10"),
            "{step}"
        );
    }
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn a_large_file_is_left_to_plain_http() {
    let stage = Stage::new().await;
    let lines = |bytes: usize| format!("{}\n", "x".repeat(79)).repeat(bytes / 80);
    let url = stage
        .site
        .put("/large.txt", "text/plain", lines(12_000_000));
    let more = json!({"request_timeout": 60});
    let (status, reason) = stage.app.failure(request(&url, more)).await;
    assert_eq!(status, 598, "{reason}");
    assert!(
        reason.contains("10000000 bytes") && reason.contains("http"),
        "{reason}"
    );
    let url = stage.site.put("/file.txt", "text/plain", lines(2_000_000));
    let entry = stage.rendered(&url, json!({})).await;
    assert_eq!(content(&entry).matches('x').count(), 2_000_000 / 80 * 79);
    stage.close().await;
}

/// A picture of so many bytes.
fn picture(bytes: usize) -> Vec<u8> {
    // A row of 1,000 pixels of three bytes each.
    let rows = i32::try_from(bytes / 3_000).unwrap();
    let mut bmp = b"BM".to_vec();
    for field in [0, 0, 54, 40, 1_000, rows] {
        bmp.extend(i32::to_le_bytes(field));
    }
    bmp.extend([1, 0, 24, 0]);
    bmp.resize(54 + 3_000 * usize::try_from(rows).unwrap(), 0);
    bmp
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn pictures_that_are_too_heavy_do_not_cost_the_text() {
    let stage = Stage::new().await;
    let mut html =
        "<p>The ferry to the islands leaves at noon from the northern pier.</p>".to_owned();
    for number in 0..12 {
        let path = format!("/{number}.bmp");
        stage.site.put(&path, "image/bmp", picture(9_000_000));
        html += &format!("<img src={path}>");
    }
    let url = stage.page("/", &html);
    // A page with its text is ready without its pictures, which a busy machine may load later: it
    // is read once none is on its way any more.
    let patient = |mut more: Value| {
        more["request_timeout"] = json!(60);
        more["wait_for"] = json!({"idle_network": {"timeout": {"secs": 50, "nanos": 0}}});
        more
    };
    let entry = stage.rendered(&url, patient(json!({}))).await;
    assert!(content(&entry).contains("at noon"), "{entry}");
    let pending = entry["metadata"]["incomplete"]["pending"].as_array();
    let pictures = json!("the page's pictures");
    assert!(pending.unwrap().contains(&pictures), "{entry}");
    let cost = entry["costs"]["bytes_transferred_cost"].as_f64().unwrap();
    assert!(cost <= 0.067_108_864, "{entry}");
    // Where they are wanted they are too much.
    let shot = patient(json!({"return_format": "screenshot"}));
    let (status, reason) = stage.app.failure(request(&url, shot)).await;
    assert_eq!(status, 598, "{reason}");
    assert!(reason.contains("loads more than"), "{reason}");
    stage.close().await;
}
