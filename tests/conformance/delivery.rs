//! A page that must be the same however its site sends it, its URL is spelled and it is asked for,
//! and chunks that must be the whole text. The judge is the server itself.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use trawl_tests::TestApp;
use trawl_tests::coding::encoded;

use crate::draw::Draw;
use crate::pages::Page;
use crate::site::Site;
use crate::trial::{Exception, Trial};
use crate::world::world;

const EXCEPTIONS: [Exception; 0] = [];

const TARGET: &str = "/dir/page";
const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n";
const CODINGS: [&str; 5] = ["gzip", "deflate", "br", "zstd", "gzip,br"];
/// The URL in other spellings. The port of the site follows the host.
const SPELLINGS: [(&str, &str); 4] = [
    ("HTTP://127.0.0.1", "/dir/page"),
    ("http://127.1", "/dir/page"),
    ("http://0x7f000001", "/dir/./page"),
    ("http://127.0.0.1", "/dir/x/../page"),
];
const CHUNKERS: [&str; 5] = ["words", "sentences", "lines", "characters", "tokens"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_is_the_same_however_it_is_sent_and_asked_for() {
    let (app, site) = (TestApp::of(world()).await, Site::start().await);
    let judge = "delivery: ways to send a page and to ask for it";
    let mut trial = Trial::of(judge, &EXCEPTIONS);
    while let Some(mut draw) = trial.round() {
        let page = Page::draw(&mut draw).html();
        let url = site.page(TARGET, &page);
        let before = fetched(&app, &url, &json!({})).await;
        let mut compare = |way: &str, after: String| {
            trial.compare(&format!("{way}: {page}"), &before, &after);
        };
        compare("again", fetched(&app, &url, &json!({})).await);
        compare("asked otherwise", fetched(&app, &url, &otherwise()).await);
        for (start, path) in SPELLINGS {
            let spelled = format!("{start}:{}{path}", site.address.port());
            compare(&spelled, fetched(&app, &spelled, &json!({})).await);
        }
        for coding in CODINGS {
            let lines = format!("{HEAD}Content-Encoding: {coding}\r\n");
            let body = encoded(coding, page.as_bytes());
            site.put(TARGET, lines.as_bytes(), body);
            compare(coding, fetched(&app, &url, &json!({})).await);
        }
        let sent = in_segments(page.as_bytes(), &mut draw);
        site.put_made(TARGET, move |_, _| sent.clone());
        compare("in segments", fetched(&app, &url, &json!({})).await);
    }
    trial.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn chunks_are_the_whole_text() {
    let (app, site) = (TestApp::of(world()).await, Site::start().await);
    let mut trial = Trial::of("delivery: chunks of a text", &EXCEPTIONS);
    while let Some(mut draw) = trial.round() {
        let page = Page::draw(&mut draw).html();
        let url = site.page(TARGET, &page);
        for format in ["text", "markdown"] {
            let whole = entry(&app, &url, &json!({"return_format": format})).await;
            let whole = whole["content"].as_str().unwrap_or_default().to_owned();
            for chunker in CHUNKERS {
                let size = draw.between(1, 30);
                let chunking = json!({"type": chunker, "value": size});
                let asked = json!({"return_format": format, "chunking_alg": chunking});
                let chunks = entry(&app, &url, &asked).await["content"].take();
                let texts = chunks.as_array().into_iter().flatten();
                let joined: String = texts.filter_map(Value::as_str).collect();
                let input = format!("{size} {chunker} of {format}: {page}");
                trial.compare(&input, &whole, &joined);
            }
        }
    }
    trial.close();
}

/// The parameters of [`fetched`] with other values that mean the same, and with nulls.
fn otherwise() -> Value {
    json!({
        "request": "HTTP", "return_format": ["RAW", "Text", "MARKDOWN"], "readability": null,
        "filter_images": null, "root_selector": null, "chunking_alg": "none", "router": null,
    })
}

/// What a reader gets of the page at a URL.
async fn fetched(app: &TestApp, url: &str, more: &Value) -> String {
    let mut asked = json!({
        "request": "http", "return_format": ["raw", "text", "markdown"], "metadata": true,
        "return_page_links": true, "return_json_data": true,
    });
    extend(&mut asked, more);
    let mut entry = entry(app, url, &asked).await;
    let mut outputs = BTreeMap::new();
    // The formats may be named as they were asked for.
    let formats = entry["content"].as_object_mut().map(std::mem::take);
    for (name, content) in formats.unwrap_or_default() {
        outputs.insert(name.to_ascii_lowercase(), content);
    }
    if let Some(metadata) = entry["metadata"].as_object_mut() {
        metadata.remove("original_url");
    }
    for name in ["url", "status", "error", "links", "metadata", "json_data"] {
        outputs.insert(name.to_owned(), entry[name].take());
    }
    serde_json::to_string(&outputs).expect("JSON")
}

/// The entry of a page that is not taken from the cache.
async fn entry(app: &TestApp, url: &str, more: &Value) -> Value {
    let mut asked = json!({"url": url, "request": "http", "cache": false});
    extend(&mut asked, more);
    let answer = app.post("/scrape", &[], &asked).await;
    assert_eq!(answer.status, 200, "{asked}");
    answer.json()[0].take()
}

fn extend(asked: &mut Value, more: &Value) {
    let fields = asked.as_object_mut().expect("an object");
    fields.extend(more.as_object().expect("an object").clone());
}

/// A response in the chunks of HTTP/1.1.
fn in_segments(body: &[u8], draw: &mut Draw) -> Vec<u8> {
    let mut sent = format!("{HEAD}Transfer-Encoding: chunked\r\n\r\n").into_bytes();
    let mut rest = body;
    while !rest.is_empty() {
        let (some, later) = rest.split_at(draw.between(1, 60).min(rest.len()));
        sent.extend_from_slice(format!("{:x}\r\n", some.len()).as_bytes());
        sent.extend_from_slice(some);
        sent.extend_from_slice(b"\r\n");
        rest = later;
    }
    sent.extend_from_slice(b"0\r\n\r\n");
    sent
}
