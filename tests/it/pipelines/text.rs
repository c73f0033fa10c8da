//! Crawls of the URLs in a text.

use super::*;

fn body(text: &str, more: Value) -> Value {
    let mut body =
        json!({"text": text, "request": "http", "cache": false, "return_format": "text"});
    body.as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    body
}

fn urls(answer: &Answer) -> Vec<String> {
    let mut urls: Vec<String> = entries(answer)
        .iter()
        .map(|entry| entry["url"].as_str().unwrap().to_owned())
        .collect();
    urls.sort();
    urls
}

#[tokio::test]
async fn every_url_is_a_seed_of_one_crawl() {
    let site = site().await;
    let other = FakeSite::start_at("127.0.0.2").await;
    let mut world = World::new();
    world.allow_private = &["127.0.0.0/8"];
    let app = TestApp::of(world).await;
    let text = format!(
        "See [home]({}) and <{}>, or {} again: {}#part. Mail a@b.com.",
        site.url("/"),
        other.url("/page"),
        site.url("/a"),
        site.url("/a"),
    );
    let answer = app.post(TEXT, &[], &body(&text, json!({}))).await;
    assert_deprecated(&answer);
    let mut expected = [site.url("/"), site.url("/a"), other.url("/page")];
    expected.sort();
    assert_eq!(urls(&answer), expected);
    let id = answer.header("x-crawl-id").to_owned();
    assert_eq!(id.len(), 32, "it is one crawl");
    let shown = app.get(&format!("/crawl/{id}")).await.json();
    assert_eq!(shown["pages"], 3);
    assert_eq!(shown["request"]["text"], "3 URLs");

    let answer = app.post(TEXT, &[], &body(&text, json!({"limit": 2}))).await;
    assert_eq!(entries(&answer).len(), 2);
    let answer = app
        .post(TEXT, &[], &body(&site.url("/"), json!({"depth": 1})))
        .await;
    assert_eq!(
        urls(&answer),
        [site.url("/"), site.url("/a"), site.url("/b")]
    );
    let answer = app
        .post(TEXT, &[], &body(&text, json!({"blacklist": ["/a"]})))
        .await;
    assert_eq!(entries(&answer).len(), 2);
    app.assert_settled().await;
}

#[tokio::test]
async fn a_text_without_urls_yields_an_empty_list() {
    let app = TestApp::start().await;
    for text in ["", "nothing here, not even info@example.com"] {
        let answer = app.post(TEXT, &[], &body(text, json!({}))).await;
        assert_eq!(
            (answer.status, answer.body.as_slice()),
            (200, b"[]".as_slice())
        );
    }
    let lines = [("accept", "application/jsonl")];
    let answer = app.post(TEXT, &lines, &body("", json!({}))).await;
    assert_eq!((answer.status, answer.body.len()), (200, 0));
    let missing = app
        .post(TEXT, &[], &json!({"url": "https://example.com"}))
        .await;
    assert_eq!(missing.status, 400);
    assert!(
        missing.json()["error"]
            .as_str()
            .unwrap()
            .starts_with("text: ")
    );
}

#[tokio::test]
async fn a_text_may_have_ten_megabytes_and_no_more() {
    let site = site().await;
    let app = TestApp::start().await;
    // Escapes make the body larger than the text.
    let address = site.url("/a");
    let text = format!("{address}\n{}", "\n".repeat(10_000_000 - address.len() - 1));
    let answer = app.post(TEXT, &[], &body(&text, json!({}))).await;
    assert_eq!(urls(&answer), [site.url("/a")]);
    let answer = app
        .post(TEXT, &[], &body(&format!("{text}x"), json!({})))
        .await;
    assert_eq!(answer.status, 413);
    assert!(
        answer.json()["error"]
            .as_str()
            .unwrap()
            .contains("10000000")
    );
}

#[tokio::test]
async fn urls_beyond_the_bound_are_counted_in_a_header_and_in_the_status() {
    let site = site().await;
    let app = TestApp::start().await;
    let more: String = (0..100_001)
        .map(|n| format!("https://a.example/{n}\n"))
        .collect();
    let text = format!("{}\n{more}", site.url("/a"));
    let key = [("idempotency-key", "one")];
    let limited = body(&text, json!({"limit": 1}));
    let answer = app.post(TEXT, &key, &limited).await;
    assert_eq!(urls(&answer), [site.url("/a")]);
    assert_eq!(answer.header("x-left-out"), "urls=2");
    let repeat = app.post(TEXT, &key, &limited).await;
    assert_eq!(repeat.header("idempotency-replayed"), "true");
    for name in ["x-left-out", "x-crawl-id"] {
        assert_eq!(repeat.header(name), answer.header(name), "{name}");
    }
    let id = answer.header("x-crawl-id").to_owned();
    let shown = app.get(&format!("/crawl/{id}")).await.json();
    assert_eq!(shown["left_out"], json!({"urls": 2}));
    assert_eq!(shown["request"]["text"], "100000 of 100002 URLs");

    let answer = app.post(TEXT, &[], &body(&site.url("/a"), json!({}))).await;
    assert_eq!(answer.header("x-left-out"), "");
}

#[tokio::test]
async fn urls_in_a_text_get_no_secrets_and_reach_no_private_address() {
    let site = site().await;
    let mut world = World::new();
    world.allow_private = &["127.0.0.1/32"];
    let app = TestApp::of(world).await;
    let more = json!({
        "headers": {"Authorization": "Bearer canary-secret"}, "cookies": "sid=canary-secret", "url": "https://x.example",
    });
    let text = format!(
        "{} http://127.0.0.3:1/ file:///etc/passwd http://169.254.169.254/latest",
        site.url("/a")
    );
    let answer = app.post(TEXT, &[], &body(&text, more)).await;
    let ignored = answer.header("x-ignored-parameters").to_owned();
    for name in ["headers", "cookies", "url"] {
        assert!(ignored.contains(name), "{ignored}");
    }
    let entries = entries(&answer);
    assert_eq!(entries.len(), 3);
    let good: Vec<_> = entries
        .iter()
        .filter(|entry| entry["error"].is_null())
        .collect();
    assert_eq!(good.len(), 1);
    for entry in entries.iter().filter(|entry| !entry["error"].is_null()) {
        assert_eq!(entry["status"], 526, "{entry}");
    }
    assert!(!site.requests().join("\n").contains("canary"));
}
