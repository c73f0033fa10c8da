//! The entry of a page: content by format, optional parts, costs.

use serde_json::{Value, json};
use trawl_tests::caller::{costs, nanodollars};
use trawl_tests::site::PAGE;

use super::{keys, texts, world};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_is_returned_as_markdown() {
    let (app, site) = world().await;
    let url = site.url("/page");
    let entry = app
        .fine(json!({"url": url, "return_format": "markdown"}))
        .await;
    let link = site.url("/other");
    let markdown = format!("# A page\n\nSome **text** and [a link]({link}).");
    assert_eq!(entry["content"].as_str().unwrap().trim_end(), markdown);
    assert_eq!(
        (&entry["url"], &entry["status"]),
        (&json!(url), &json!(200))
    );
    assert!(entry["duration_elasped_ms"].is_u64());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_built_in_format_has_its_output() {
    let (app, site) = world().await;
    let url = site.url("/page");
    let content = async |format: &str| {
        let entry = app.fine(json!({"url": url, "return_format": format})).await;
        entry["content"].clone()
    };
    assert_eq!(content("raw").await, json!(PAGE));
    assert_eq!(content("html").await, content("raw").await);
    assert_eq!(content("empty").await, json!(""));
    let bytes: Vec<u64> = PAGE.bytes().map(u64::from).collect();
    assert_eq!(content("bytes").await, json!(bytes));
    let text = content("text").await;
    let words: Vec<_> = text.as_str().unwrap().split_whitespace().collect();
    assert_eq!(words.join(" "), "A page Some text and a link.");
    let xml = content("xml").await;
    let xml = xml.as_str().unwrap();
    assert!(
        xml.contains("http://www.w3.org/1999/xhtml") && xml.trim_end().ends_with("</html>"),
        "{xml}"
    );
    assert_eq!(content("CommonMark").await, content("markdown").await);
    assert_eq!(content("html2text").await, text);
    let unnamed = app.fine(json!({"url": url})).await;
    assert_eq!(unnamed["content"], PAGE);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_formats_are_returned_as_an_object() {
    let (app, site) = world().await;
    let formats = ["markdown", "raw", "text", "markdown"];
    let entry = app
        .fine(json!({"url": site.url("/page"), "return_format": formats}))
        .await;
    let content = &entry["content"];
    assert_eq!(content.as_object().unwrap().len(), 3);
    assert_eq!(content["raw"], PAGE);
    assert!(
        content["markdown"]
            .as_str()
            .unwrap()
            .starts_with("# A page")
    );
    assert!(content["text"].as_str().unwrap().starts_with("A page"));
    let one = app
        .fine(json!({"url": site.url("/page"), "return_format": ["raw"], "cache": false}))
        .await;
    assert_eq!(one["content"], json!({"raw": PAGE}));
    assert_eq!(
        site.requests().len(),
        2,
        "a page is fetched once for all formats"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn parts_are_present_only_on_request() {
    let (app, site) = world().await;
    let bare = [
        "content",
        "costs",
        "duration_elasped_ms",
        "error",
        "status",
        "url",
    ];
    let cookies = site.url("/cookies");
    for (switch, part) in [
        ("metadata", "metadata"),
        ("return_page_links", "links"),
        ("return_headers", "headers"),
        ("return_cookies", "cookies"),
    ] {
        let entry = app
            .fine(json!({"url": cookies, "request": "http", switch: true}))
            .await;
        let mut expected = bare.to_vec();
        expected.push(part);
        expected.sort_unstable();
        let mut found = keys(&entry);
        found.sort_unstable();
        assert_eq!(found, expected);
        for value in [json!(false), Value::Null] {
            let entry = app
                .fine(json!({"url": cookies, "request": "http", switch: value}))
                .await;
            assert!(entry.get(part).is_none(), "{switch}: {value}");
        }
    }
    let smart = app.fine(json!({"url": cookies})).await;
    assert_eq!(smart["metadata"]["rendered_by"], "http");
    assert_eq!(keys(&smart["metadata"]), ["render_reason", "rendered_by"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_timing_of_a_page_has_its_steps_in_order() {
    let (app, site) = world().await;
    let request = json!({
        "url": site.url("/page"), "request": "http", "return_format": "markdown", "return_timing": true,
    });
    let entry = app.fine(request).await;
    let steps = entry["metadata"]["timing"].as_array().expect("steps");
    let names: Vec<&str> = steps
        .iter()
        .filter_map(|step| step["step"].as_str())
        .collect();
    let expected = [
        "robots",
        "host_wait",
        "first_byte",
        "body",
        "queue",
        "parse",
        "plugin:markdown",
        "settle",
    ];
    for name in expected {
        assert!(names.contains(&name), "{name} of {names:?}");
    }
    assert_eq!(names.last(), Some(&"settle"));
    let starts: Vec<f64> = steps
        .iter()
        .filter_map(|step| step["start_ms"].as_f64())
        .collect();
    assert!(
        starts.len() == steps.len() && starts.is_sorted(),
        "{steps:?}"
    );
    let longest = steps
        .iter()
        .filter_map(|step| step["ms"].as_f64())
        .fold(0.0, f64::max);
    assert!(longest > 0.0 && longest < 60_000.0, "{steps:?}");
    let failed = json!({"url": site.url("/nowhere"), "request": "http", "return_timing": true});
    let failed = app.post("/scrape", &[], &failed).await.json();
    assert!(failed[0]["metadata"]["timing"].is_array(), "{failed}");
    let plain = json!({"url": site.url("/page"), "request": "http", "return_format": "text"});
    assert_eq!(app.fine(plain).await["metadata"]["timing"], Value::Null);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_content_hash_changes_with_the_content_alone() {
    let (app, site) = world().await;
    let hash = async |html: &str, format: &str| {
        let url = site.put("/hashed", "text/html", html);
        let entry = app
            .fine(json!({
                "url": url, "request": "http", "return_format": format, "metadata": true, "cache": false,
            }))
            .await;
        entry["metadata"]["content_hash"].clone()
    };
    let (page, commented, other) = ("<p>one", "<p>one<!-- two -->", "<p>two");
    let expected = hash(page, "text").await;
    assert_eq!(hash(commented, "text").await, expected);
    assert_ne!(hash(other, "text").await, expected);
    // Without content it is the body's.
    let expected = hash(page, "empty").await;
    assert_eq!(hash(page, "empty").await, expected);
    assert_ne!(hash(commented, "empty").await, expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn parts_describe_the_page() {
    let (app, site) = world().await;
    let html = "<html lang=de><head><title> T </title><meta name=description content='D'>\
        <meta name=keywords content='a, b'><link rel=canonical href=/c><body>\
        <a href=x>1</a><a href='/y?q=1#f'>2</a><a href=x>3</a><a href='mailto:a@b'>4</a>";
    let there = site.put("/dir/page", "text/html", html);
    let url = site.url("/to?/dir/page");
    let parts = json!({"url": url, "metadata": true, "return_page_links": true});
    let entry = app.fine(parts).await;
    let links = [site.url("/dir/x"), site.url("/y?q=1")];
    let found = texts(&entry["links"]);
    assert!(
        found[0] == links[0] && found[1].starts_with(&links[1]),
        "{found:?}"
    );
    let metadata = &entry["metadata"];
    assert_eq!(
        (&metadata["title"], &metadata["description"]),
        (&json!("T"), &json!("D"))
    );
    assert_eq!(metadata["keywords"], json!(["a", "b"]));
    assert_eq!(
        (&metadata["language"], &metadata["canonical"]),
        (&json!("de"), &json!(site.url("/c")))
    );
    assert_eq!(metadata["file_size"], html.len());
    let hash = metadata["content_hash"].as_str().unwrap();
    assert_eq!(hash.len(), 32, "{metadata}");
    assert_eq!(
        (&metadata["original_url"], &metadata["final_url"]),
        (&json!(url), &json!(there))
    );
    assert_eq!(
        (&entry["url"], &metadata["pathname"]),
        (&json!(there), &json!("/dir/page"))
    );

    let repeated = json!({"url": site.url("/repeated"), "return_headers": true});
    let headers = &app.fine(repeated).await["headers"];
    assert_eq!(
        (&headers["x-a"], &headers["x-b"]),
        (&json!("1, 3"), &json!("2"))
    );
    let cookies = json!({"url": site.url("/cookies"), "return_cookies": true});
    assert_eq!(
        app.fine(cookies).await["cookies"],
        json!({"a": "3", "b": "2"})
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn costs_add_up_and_are_charged() {
    let (app, site) = world().await;
    for format in ["markdown", "empty", "bytes"] {
        let entry = app
            .fine(json!({"url": site.url("/page"), "return_format": format, "cache": false}))
            .await;
        let [ai, compute, file, bytes, transform, total] = costs(&entry);
        assert_eq!((ai, file, bytes), (0, 0, PAGE.len() as i64));
        assert!(compute >= 0 && transform >= 0 && total >= bytes);
        assert_eq!(nanodollars(&entry["costs"]["total_cost"]), total);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn content_is_chunked_and_cut_at_character_boundaries() {
    let (app, site) = world().await;
    let url = site.put(
        "/text",
        "text/html; charset=utf-8",
        "<p>a é 日本 😀 b</p><p>c. D e.</p>",
    );
    let content = async |more: Value| {
        let mut body = json!({"url": url, "return_format": "text"});
        body.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        app.fine(body).await["content"].clone()
    };
    let whole = content(json!({})).await;
    let whole = whole.as_str().unwrap();
    assert!(whole.starts_with("a é 日本 😀 b"), "{whole}");
    for max_size in 0..=whole.len() {
        let cut = content(json!({"max_size": max_size})).await;
        let cut = cut.as_str().unwrap();
        assert!(
            whole.starts_with(cut) && cut.len() <= max_size,
            "{max_size}: {cut}"
        );
        assert!(max_size - cut.len() < 4, "{max_size}: {cut}");
    }
    let words = content(json!({"chunking_alg": {"type": "ByWords", "value": 2}})).await;
    assert_eq!(texts(&words)[0].trim(), "a é");
    let characters = json!({"chunking_alg": {"type": "ByCharacterLength", "value": 3}});
    let pieces = content(characters).await;
    assert!(
        texts(&pieces)
            .iter()
            .all(|piece| piece.chars().count() <= 3),
        "{pieces}"
    );
    assert_eq!(texts(&pieces).concat(), whole);
    let tokens = content(json!({"chunking_alg": {"type": "ByTokens", "value": 1}})).await;
    assert!(texts(&tokens).len() > 1, "{tokens}");
    assert_eq!(texts(&tokens).concat(), whole);
    for encoding in ["o200k_base", "cl100k_base"] {
        let of_tokenizer = json!({"type": "ByTokens", "value": 3, "encoding": encoding});
        let pieces = content(json!({"chunking_alg": of_tokenizer})).await;
        assert!(texts(&pieces).len() > 1, "{pieces}");
        assert_eq!(texts(&pieces).concat(), whole);
    }
    for name in ["sentences", "lines", "words", "tokens"] {
        let chunks = content(json!({"chunking_alg": name})).await;
        assert!(!texts(&chunks).is_empty(), "{name}");
    }
    assert_eq!(content(json!({"chunking_alg": "none"})).await, whole);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn chunks_may_repeat_the_end_of_the_one_before() {
    let (app, site) = world().await;
    let text = "one two three four five six seven";
    let url = site.put("/words", "text/plain", text);
    let chunks = async |overlap: u64| {
        let chunking = json!({"type": "words", "value": 4, "overlap": overlap});
        let body = json!({"url": url, "return_format": "text", "chunking_alg": chunking});
        let entry = app.fine(body).await;
        let chunks = entry["content"].as_array().cloned().unwrap_or_default();
        let trimmed = chunks.iter().filter_map(Value::as_str).map(str::trim);
        trimmed.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(chunks(0).await, ["one two three four", "five six seven"]);
    let overlapping = [
        "one two",
        "one two three four",
        "three four five six",
        "five six seven",
    ];
    assert_eq!(chunks(2).await, overlapping);
    let body = json!({"url": url, "chunking_alg": {"type": "words", "value": 4, "overlap": 3}});
    let refused = app.post("/scrape", &[], &body).await;
    assert_eq!(refused.status, 400);
    let error = refused.error();
    assert!(
        error.starts_with("chunking_alg: `overlap` must be"),
        "{error}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn selectors_apply_to_every_output() {
    let (app, site) = world().await;
    let html = "<title>T</title><nav><a href=/n>nav</a></nav><main><p>in</p><aside><a href=/a>aside</a></aside></main>";
    let url = site.put("/parts", "text/html", html);
    let root = json!({"url": url, "return_format": "text", "root_selector": "main", "return_page_links": true});
    let entry = app.fine(root).await;
    assert!(
        !entry["content"].as_str().unwrap().contains("nav"),
        "{entry}"
    );
    assert_eq!(entry["links"], json!([site.url("/a")]));
    let exclude = json!({"url": url, "return_format": ["text", "markdown"], "exclude_selector": "aside, nav"});
    let entry = app.fine(exclude).await;
    assert_eq!(entry["content"]["text"].as_str().unwrap().trim(), "in");
    assert_eq!(entry["content"]["markdown"].as_str().unwrap().trim(), "in");
    let missing = json!({"url": url, "return_format": "text", "root_selector": "article"});
    let entry = app.fine(missing).await;
    assert_eq!(entry["content"], "", "{entry}");
    let unmatched = &entry["metadata"]["unmatched"];
    assert_eq!(*unmatched, json!(["root_selector"]), "{entry}");
    let (status, error) = app
        .refused(&json!({"url": url, "root_selector": "p["}))
        .await;
    assert!(
        status == 400 && error.starts_with("root_selector: "),
        "{status} {error}"
    );
}
