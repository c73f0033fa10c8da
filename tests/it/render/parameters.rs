//! Request parameters for the browser.

use serde_json::{Value, json};

use super::{Stage, content};

/// A form that fetches and then shows a greeting.
const FORM: &str = "<form id=f><input id=name name=name><button id=go>Go</button></form><p id=out></p><script>\
    document.getElementById('f').addEventListener('submit', async (event) => { event.preventDefault(); \
      const name = document.getElementById('name').value; await fetch('/page'); \
      setTimeout(() => { document.getElementById('out').innerHTML = '<b class=done>Hello, ' + name + '!</b>'; }, 200); });\
    </script>";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn steps_fill_a_form_submit_it_and_wait() {
    let stage = Stage::new().await;
    let url = stage.page("/form", FORM);
    let short = json!([{"Fill": {"selector": "#name", "value": "Ada"}}, {"Click": "#go"}, {"WaitFor": ".done"},
        {"Evaluate": "document.querySelector('.done').textContent.length"}]);
    let long = json!([{"type": "Fill", "selector": "#name", "value": "Ada"}, {"type": "Click", "selector": "#go"},
        {"type": "WaitFor", "selector": ".done"}]);
    for steps in [short, long] {
        let entry = stage
            .rendered(&url, json!({"automation_scripts": {"*": steps}}))
            .await;
        assert!(content(&entry).contains("Hello, Ada!"), "{entry}");
    }
    // Such a request is rendered at once in `smart` mode.
    let steps = json!({"/form": [{"Click": "#nothing"}, {"Click": "#go"}]});
    let body = json!({"url": url, "return_format": "text", "automation_scripts": steps});
    let entry = stage.app.fine(body).await;
    assert_eq!(entry["metadata"]["rendered_by"], "browser");
    let reported = &entry["metadata"]["automation_data"];
    assert_eq!(reported[0]["step"], 1, "{reported}");
    assert!(
        reported[0]["error"].as_str().unwrap().contains("#nothing"),
        "{reported}"
    );
    assert_eq!(reported.as_array().unwrap().len(), 1, "{reported}");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn scripts_run_before_and_after_the_page_and_their_errors_are_reported() {
    let stage = Stage::new().await;
    let url = stage.page("/", "<p id=a></p><script>document.getElementById('a').textContent = 'early ' + window.given</script>");
    let more = json!({"evaluate_on_new_document": "window.given = 'gift'",
        "execution_scripts": {"*": "document.body.append(' late')"}});
    let entry = stage.rendered(&url, more).await;
    assert!(
        content(&entry).contains("early gift") && content(&entry).contains("late"),
        "{entry}"
    );
    let throws = json!({"execution_scripts": {"/": "throw new Error('mine')"}});
    let entry = stage.rendered(&url, throws).await;
    assert!(content(&entry).contains("early"), "{entry}");
    let reported = entry["metadata"]["automation_data"].to_string();
    assert!(reported.contains("\"Error: mine\""), "no stack: {reported}");
    let broken = json!({"evaluate_on_new_document": "window.given = 'gift';\nwindow.other = ("});
    let entry = stage.rendered(&url, broken).await;
    assert!(content(&entry).contains("early undefined"), "{entry}");
    let reported = &entry["metadata"]["automation_data"][0]["evaluate_on_new_document"];
    let reason = reported.as_str().unwrap_or_default();
    assert!(reason.starts_with("SyntaxError: "), "{entry}");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn what_the_first_script_throws_is_reported_and_what_the_page_throws_is_not() {
    let stage = Stage::new().await;
    let url = stage.page(
        "/",
        "<p id=a></p><script>document.getElementById('a').textContent = typeof given; null.page</script>",
    );
    let said = async |script: &str| {
        let entry = stage.rendered(&url, json!({"evaluate_on_new_document": script}));
        let entry = entry.await;
        let reported = entry["metadata"]["automation_data"].clone();
        (content(&entry).to_owned(), reported)
    };
    let reports = |reason: &str| json!([{ "evaluate_on_new_document": reason }]);
    let (text, reported) = said("'use strict'; let given = 1; throw new Error('mine')").await;
    assert!(text.contains("number"), "{text}");
    assert_eq!(reported, reports("Error: mine"));
    let (_, reported) = said("window.dispatchEvent = null; undefined.given").await;
    let reason = reported[0]["evaluate_on_new_document"].as_str();
    assert!(
        reason.is_some_and(|text| text.starts_with("TypeError: ")),
        "{reported}"
    );
    let (_, reported) = said("throw 'no'.repeat(1e6)").await;
    let reason = reported[0]["evaluate_on_new_document"].as_str();
    assert!(reason.is_some_and(|text| text.len() <= 1_000), "{reported}");
    let (text, reported) = said("window.given = 1").await;
    assert!(text.contains("number"), "{text}");
    assert_eq!(
        reported,
        Value::Null,
        "the page's error is not the script's"
    );
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn a_sandboxed_page_says_that_it_did_not_get_the_first_script() {
    let stage = Stage::new().await;
    let html =
        "<p id=a>early</p><script>document.getElementById('a').textContent = typeof given</script>";
    for (policy, shown, is_reported) in [
        ("sandbox", "early", true),
        ("sandbox allow-scripts", "undefined", true),
        ("sandbox allow-scripts allow-same-origin", "number", false),
        ("script-src 'unsafe-inline'", "number", false),
    ] {
        let headers = format!("text/html\r\nContent-Security-Policy: {policy}");
        let url = stage.site.put("/", &headers, html);
        let more = json!({"evaluate_on_new_document": "var given = 1", "request_timeout": 15});
        let entry = stage.rendered(&url, more).await;
        assert!(content(&entry).contains(shown), "{policy}: {entry}");
        let reported = &entry["metadata"]["automation_data"][0]["evaluate_on_new_document"];
        let reason = reported.as_str().unwrap_or_default();
        assert_eq!(reason.contains("sandbox"), is_reported, "{policy}: {entry}");
    }
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn waits_combine_and_unmet_ones_are_reported() {
    let stage = Stage::new().await;
    let url = stage.page("/", "<p id=p>waiting</p><script>setTimeout(() => { document.getElementById('p').className = 'ready'; \
        document.getElementById('p').textContent = 'ready now'; }, 1200)</script>");
    let second = json!({"secs": 5, "nanos": 0});
    let wait = json!({"selector": {"selector": ".ready", "timeout": second}, "idle_network": {"timeout": second}});
    let entry = stage.rendered(&url, json!({"wait_for": wait})).await;
    assert!(content(&entry).contains("ready now"), "{entry}");
    let brief =
        json!({"selector": {"selector": ".never", "timeout": {"secs": 0, "nanos": 200_000_000}}});
    let unchanging = stage.page("/unchanging", "<p>waiting</p>");
    let entry = stage
        .rendered(&unchanging, json!({"wait_for": brief}))
        .await;
    assert!(content(&entry).contains("waiting"), "{entry}");
    assert!(
        entry["metadata"]["automation_data"]
            .to_string()
            .contains(".never"),
        "{entry}"
    );
    let entry = stage.rendered(&url, json!({"wait_for": 5_000})).await;
    assert!(content(&entry).contains("ready now"), "{entry}");
    // An unknown condition is named. Decision D58.
    let unknown = json!({"url": url, "wait_for": {"selektor": {}}, "request": "chrome"});
    let unknown = stage.app.post("/scrape", &[], &unknown).await;
    assert_eq!(unknown.status, 200);
    assert_eq!(unknown.header("x-ignored-parameters"), "wait_for.selektor");
    let refused = stage
        .app
        .refused(&json!({"url": url, "wait_for": "soon"}))
        .await;
    assert_eq!(refused.0, 400);
    assert!(refused.1.contains("wait_for: "), "{}", refused.1);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn caller_headers_are_sent_to_the_pages_origin_only() {
    let stage = Stage::with(|world| world.allow_private = &["127.0.0.0/8"]).await;
    let other = trawl_tests::FakeSite::start_at("127.0.0.2").await;
    other.put("/x.js", "text/javascript", "document.title = 'loaded'");
    let html = format!(
        "<p id=a></p><script>document.getElementById('a').textContent = [navigator.userAgent, navigator.language, \
        innerWidth + 'x' + innerHeight, document.cookie].join('|')</script><script src='{}'></script>",
        other.url("/x.js")
    );
    let url = stage.page("/", &html);
    let more = json!({"user_agent": "Robot/7", "locale": "de-DE", "headers": {"X-Token": "canary-header"},
        "cookies": "sid=canary-cookie", "viewport": {"width": 700, "height": 500}, "return_cookies": true});
    let entry = stage.rendered(&url, more).await;
    let text = content(&entry);
    for part in ["Robot/7", "de-DE", "700x500"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // The caller's cookies are for the site, not for the scripts of its pages.
    assert!(!text.contains("canary-cookie"), "{text}");
    // Nor are they what the site has set.
    assert_eq!(entry["cookies"], json!({}));
    let head = stage.site.requests().join("\n").to_lowercase();
    assert!(
        head.contains("x-token: canary-header") && head.contains("accept-language: de-de"),
        "{head}"
    );
    assert!(head.contains("cookie: sid=canary-cookie"), "{head}");
    let elsewhere = other.requests().join("\n");
    assert!(elsewhere.contains("/x.js"), "{elsewhere}");
    assert!(!elsewhere.contains("canary"), "{elsewhere}");
    // Pages share no state.
    let entry = stage.rendered(&url, json!({})).await;
    assert!(!content(&entry).contains("sid="), "{entry}");
    // Headers of the same meaning are what scripts see.
    let headers = json!({"User-Agent": "Header/2", "Accept-Language": "fr-FR;q=0.9"});
    let entry = stage.rendered(&url, json!({"headers": headers})).await;
    let text = content(&entry);
    assert!(
        text.contains("Header/2") && text.contains("fr-FR"),
        "{text}"
    );
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn shadow_trees_and_frames_are_part_of_the_page() {
    let stage = Stage::new().await;
    stage.page("/frame", "<p>inside the frame</p>");
    let url = stage.page("/", "<my-card>slotted words</my-card><iframe src=/frame></iframe><noscript>please enable</noscript><script>\
        customElements.define('my-card', class extends HTMLElement { connectedCallback() { \
        this.attachShadow({mode: 'open'}).innerHTML = '<style>b{}</style><b>shadow before</b> <slot></slot> <b>shadow after</b>'; } });\
        </script>");
    let entry = stage.rendered(&url, json!({})).await;
    let text = content(&entry);
    let places: Vec<_> = [
        "shadow before",
        "slotted words",
        "shadow after",
        "inside the frame",
    ]
    .map(|part| text.find(part))
    .to_vec();
    assert!(
        places.iter().all(Option::is_some) && places.is_sorted(),
        "{text}"
    );
    assert!(!text.contains("please enable"), "{text}");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn blocked_resources_are_not_loaded() {
    let stage = Stage::new().await;
    stage.site.put("/i.png", "image/png", vec![0; 10]);
    stage.site.put("/s.css", "text/css", "p{color:red}");
    let url = stage.page(
        "/",
        "<link rel=stylesheet href=/s.css><img src=/i.png><p>text",
    );
    stage
        .rendered(
            &url,
            json!({"block_images": true, "block_stylesheets": true}),
        )
        .await;
    let heads = stage.site.requests().join("\n");
    assert!(
        !heads.contains("/i.png") && !heads.contains("/s.css"),
        "{heads}"
    );
    stage.rendered(&url, json!({})).await;
    let heads = stage.site.requests().join("\n");
    assert!(
        heads.contains("/i.png") && heads.contains("/s.css"),
        "{heads}"
    );
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn a_page_that_navigates_returns_its_destination() {
    let stage = Stage::new().await;
    stage.page("/end", "<p>the end");
    let url = stage.page(
        "/",
        "<p>begin<script>setTimeout(() => { location.href = '/end' }, 100)</script>",
    );
    let entry = stage
        .rendered(
            &url,
            json!({"wait_for": {"page_navigations": true}, "metadata": true}),
        )
        .await;
    assert!(content(&entry).contains("the end"), "{entry}");
    assert_eq!(entry["url"], stage.site.url("/end"));
    assert_eq!(entry["metadata"]["final_url"], stage.site.url("/end"));
    let redirected = stage
        .rendered(&stage.site.url("/redirect/3"), json!({}))
        .await;
    assert_eq!(redirected["url"], stage.site.url("/redirect/0"));
    let missing = stage
        .app
        .page(super::request(&stage.site.url("/status/404"), json!({})))
        .await;
    assert_eq!(missing["status"], 404, "{missing}");
    assert!(content(&missing).contains("A page"), "{missing}");
    assert_eq!(missing["costs"]["total_cost"], 0.0);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn invalid_parameters_are_named_in_the_error() {
    let stage = Stage::new().await;
    let url = stage.site.url("/page");
    for (more, field) in [
        (json!({"viewport": {"width": 0}}), "viewport"),
        (
            json!({"viewport": {"width": 7680, "height": 7680}}),
            "viewport",
        ),
        (
            json!({"automation_scripts": {"*": [{"Dance": 1}]}}),
            "Dance",
        ),
        (
            json!({"automation_scripts": {"*": {"Click": "#a"}}}),
            "automation_scripts",
        ),
        (json!({"execution_scripts": {"*": 3}}), "execution_scripts"),
        (
            json!({"return_format": "screenshot", "clip": {"width": 0, "height": 5}}),
            "clip",
        ),
    ] {
        let mut body = super::request(&url, json!({}));
        body.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        let (status, error) = stage.app.refused(&body).await;
        assert_eq!(status, 400, "{more}");
        assert!(error.contains(field), "{more}: {error}");
    }
    let names = |answer: &trawl_tests::Answer| {
        answer
            .headers
            .get("x-ignored-parameters")
            .map(|names| names.to_str().unwrap().to_owned())
    };
    let body: Value = json!({"url": url, "request": "browser", "wait_for": 1, "full_page": true});
    let answer = stage.app.post("/scrape", &[], &body).await;
    assert_eq!(names(&answer).as_deref(), Some("full_page"));
    stage.close().await;
}
