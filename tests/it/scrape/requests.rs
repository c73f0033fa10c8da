//! The forms of a request, and the order of the entries in its response.

use reqwest::Method;
use serde_json::{Value, json};

use super::world;

fn urls(entries: &[Value]) -> Vec<&str> {
    entries
        .iter()
        .map(|entry| entry["url"].as_str().unwrap())
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_url_field_may_contain_several_urls() {
    let (app, site) = world().await;
    let comma = site.put("/a,b", "text/html", "<p>comma");
    let pages = [site.url("/page"), comma, site.url("/status/200")];
    let list = format!("{}, {},{}", pages[0], pages[1], pages[2]);
    let entries = app
        .scrape(json!({"url": list, "return_format": "text"}))
        .await;
    assert_eq!(urls(&entries)[..2], pages[..2]);
    assert_eq!(entries[1]["content"].as_str().unwrap().trim(), "comma");
    assert_eq!(entries.len(), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_array_of_requests_yields_one_flat_array() {
    let (app, site) = world().await;
    let page = site.url("/page");
    let two = format!("{page}?1,{page}?2");
    let body = json!([
        {"url": two, "return_format": "text"},
        {"url": page, "return_format": ["raw"], "return_headers": true},
    ]);
    let entries = app.scrape(body).await;
    assert_eq!(entries.len(), 3);
    assert!(
        entries[..2]
            .iter()
            .all(|entry| entry["content"].is_string() && entry.get("headers").is_none())
    );
    assert!(entries[2]["content"]["raw"].is_string() && entries[2]["headers"].is_object());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn arrays_are_in_request_order_and_lines_in_completion_order() {
    let (app, site) = world().await;
    let list = ["/slow/2000", "/slow/1000", "/slow/0"].map(|path| site.url(path));
    let body = json!({"url": list.join(","), "return_format": "empty", "cache": false});
    assert_eq!(urls(&app.scrape(body.clone()).await), list);
    let lines_wanted = [("content-type", "application/jsonl")];
    let also = [("accept", "application/jsonl")];
    for headers in [lines_wanted, also] {
        let answer = app.post("/scrape", &headers, &body).await;
        assert_eq!(
            (answer.status, answer.header("content-type")),
            (200, "application/jsonl")
        );
        let mut backwards = list.clone();
        backwards.reverse();
        assert_eq!(urls(&answer.lines()), backwards);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_key_is_accepted_with_and_without_bearer() {
    let (app, site) = world().await;
    let body = json!({"url": site.url("/page")});
    let with_key = async |key: &str| app.post("/scrape", &[("authorization", key)], &body).await;
    assert_eq!(with_key(&app.key).await.status, 200);
    for wrong in [
        "",
        "Bearer",
        "Bearer nonsense",
        &app.key[..app.key.len() - 1],
    ] {
        let answer = with_key(wrong).await;
        assert_eq!(
            (answer.status, answer.error().as_str()),
            (401, "invalid api key"),
            "{wrong}"
        );
        assert_eq!(answer.header("www-authenticate"), "Bearer");
    }
    assert_eq!(site.requests().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refusals_name_the_parameter_and_fetch_nothing() {
    let (app, site) = world().await;
    let url = site.url("/page");
    for (body, expected) in [
        (json!({}), "url"),
        (json!({"url": ""}), "url"),
        (json!([]), "url"),
        (json!({"url": url, "metadata": "yes"}), "metadata"),
        (json!({"url": url, "request": "curl"}), "request"),
        (
            json!({"url": url, "chunking_alg": "paragraphs"}),
            "chunking_alg",
        ),
        (
            json!({"url": url, "extractors": {"nope": {}}}),
            "extractors",
        ),
        (json!({"url": url, "headers": {"Host": "a"}}), "headers"),
        (
            json!({"url": url, "headers": {"X-A": "a\r\nX-B: c"}}),
            "headers",
        ),
    ] {
        let (status, error) = app.refused(&body).await;
        assert_eq!(status, 400, "{body}");
        assert!(error.contains(expected), "{body}: {error}");
    }
    let (status, error) = app
        .refused(&json!({"url": url, "return_format": "pdf"}))
        .await;
    assert_eq!(status, 400);
    for loaded in ["return_format", "`pdf`", "bytes, html, markdown, text, xml"] {
        assert!(error.contains(loaded), "{error}");
    }
    assert_eq!(site.connections(), 0);
    let answer = app
        .send(Method::POST, "/scrape", &[], "{".to_owned())
        .await
        .unwrap();
    assert_eq!(answer.status, 400);
    let answer = app
        .post(
            "/scrape",
            &[("content-type", "text/plain")],
            &json!({"url": url}),
        )
        .await;
    assert_eq!(answer.status, 415);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ignored_parameters_are_named() {
    let (app, site) = world().await;
    let body = json!({
        "url": site.url("/page"), "request": "http", "evaluate_on_new_document": "throw 1", "wait_for": 3_600_000,
        "automation_scripts": {"*": [{"Click": "#a"}]}, "limit": 3, "no_such_thing": 1, "metadata": null, "stealth": null,
    });
    let answer = app.post("/scrape", &[], &body).await;
    assert_eq!(answer.status, 200);
    let mut named: Vec<_> = answer.header("x-ignored-parameters").split(", ").collect();
    named.sort_unstable();
    let expected = [
        "automation_scripts",
        "evaluate_on_new_document",
        "limit",
        "no_such_thing",
        "wait_for",
    ];
    assert_eq!(named, expected);
    assert!(answer.json()[0]["error"].is_null());
    let plain = app
        .post("/scrape", &[], &json!({"url": site.url("/page")}))
        .await;
    assert!(plain.headers.get("x-ignored-parameters").is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_page_turned_out_not_to_need_is_named_with_it() {
    let (app, site) = world().await;
    let url = site.url("/page");
    let sorted = |mut names: Vec<String>| {
        names.sort_unstable();
        names
    };
    let of_entry = |entry: &Value| {
        let names = entry["metadata"]["ignored"].as_array().expect("a list");
        sorted(
            names
                .iter()
                .map(|name| name.as_str().unwrap().to_owned())
                .collect(),
        )
    };
    let asked = |url: &str| json!({"url": url, "viewport": {"width": 300}, "block_images": true});
    let answer = app.post("/scrape", &[], &asked(&url)).await;
    let named = answer.header("x-ignored-parameters").split(", ");
    let expected = ["block_images", "viewport"];
    assert_eq!(sorted(named.map(str::to_owned).collect()), expected);
    assert_eq!(of_entry(&answer.json()[0]), expected);
    // The head of a streamed answer is sent before its pages are served.
    let answer = app
        .post("/scrape", &[], &asked(&format!("{url},{url}?2")))
        .await;
    assert_eq!(answer.header("x-ignored-parameters"), "");
    let entries = answer.json();
    let entries = entries.as_array().expect("entries");
    assert_eq!(entries.len(), 2);
    for entry in entries {
        assert_eq!(of_entry(entry), expected);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn entries_name_the_engine_that_served_the_page() {
    let (app, site) = world().await;
    let url = site.url("/page");
    let smart = app.fine(json!({"url": url, "request": "smart"})).await;
    assert_eq!(smart["metadata"]["rendered_by"], "http");
    let reason = |entry: &Value| {
        entry["metadata"]["render_reason"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert!(reason(&smart).contains("enough"), "{smart}");
    let shell = "<div id=root></div><script src=/app.js></script>";
    let shell = site.put("/shell", "text/html", shell);
    let smart = app.fine(json!({"url": shell})).await;
    assert!(
        reason(&smart).contains("no browser is installed"),
        "{smart}"
    );
    let plain = json!({"url": url, "request": "http", "cache": false});
    let plain = app.fine(plain).await;
    assert!(plain.get("metadata").is_none());
    let before = site.connections();
    let (status, reason) = app.failure(json!({"url": url, "request": "browser"})).await;
    assert_eq!(status, 598);
    assert!(reason.contains("browser"), "{reason}");
    assert_eq!(site.connections(), before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn caller_secrets_are_sent_to_the_first_origin_only() {
    let (app, site) = world().await;
    let elsewhere = trawl_tests::FakeSite::start().await;
    let url = site.url(&format!("/to?{}", elsewhere.url("/echo")));
    let body = json!({
        "url": url, "return_format": "text",
        "headers": {"Authorization": "Bearer canary-1", "X-Mine": "canary-2"}, "cookies": "sid=canary-3",
    });
    let entry = app.fine(body).await;
    assert!(!entry.to_string().contains("canary"), "{entry}");
    let heads = site.requests().concat();
    assert!(
        ["canary-1", "canary-2", "canary-3"]
            .iter()
            .all(|canary| heads.contains(canary)),
        "{heads}"
    );
}
