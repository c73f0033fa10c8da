//! Documents that are not HTML: decoded by plugins, then pages like any other.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::{Value, json};
use trawl_plugins::{Fault, File, PluginKind};
use trawl_test_guests::Guest;
use trawl_tests::{FakeSite, TestApp};

use super::{PluginFolder, entry};

const FEED: &str = "<?xml version='1.0'?><rss version='2.0'><channel><title>Tides</title>\
    <link>/</link><item><title>Low</title><link>/low</link>\
    <pubDate>Mon, 02 Jun 2008 09:00:00 GMT</pubDate>\
    <description>&lt;p&gt;Mud &lt;b&gt;only&lt;/b&gt;&lt;/p&gt;</description></item></channel></rss>";
const SHIPS: &str = "name,length\nAnna,12\nBert,30\n";

/// [`SHIPS`].
const SHIPS_BASE64: &str = "bmFtZSxsZW5ndGgKQW5uYSwxMgpCZXJ0LDMwCg==";

/// What a decoder with a result of its own is called with.
const FILE: File<'_> = File {
    text: "<p>ü",
    body: b"<p>ignored",
    media_type: "text/x-own",
    content_type: "text/x-own",
    url: "https://site.example/a",
    pages: &[],
};

#[test]
fn a_decoder_gets_a_document_and_returns_html() {
    let guest = Guest::echo_decoder("own")
        .when_asked("(return (call $fail (i32.const 3) (local.get $url) (local.get $url_bytes)))");
    let folder = PluginFolder::new();
    folder.put(&guest);
    folder.manifest(&entry(
        &guest,
        "media_types = [\"text/x-own\"]\nstarts_with = [\"OWN\", \"hex:00ff\"]",
    ));
    let registry = folder.start().unwrap().snapshot();
    let decoder = registry.decoder("own").unwrap();
    let decoded = decoder.decode(&FILE, "{}").unwrap();
    assert_eq!(
        (decoded.html.as_str(), decoded.page_count),
        ("<p>ü", Some(3))
    );
    assert_eq!(
        Value::Object(decoded.metadata),
        json!({"title": "from the guest"})
    );
    assert_eq!(decoder.info().media_types, ["text/x-own"]);
    let error = decoder.decode(&FILE, "{\"a\": 1}").unwrap_err();
    assert_eq!(error.fault, Fault::Encrypted(FILE.url.to_owned()));
    assert_eq!(
        error.to_string(),
        "decoder `own` cannot open the document: https://site.example/a"
    );

    let named = |media_type, body: &[u8]| registry.decoders(media_type, body).count();
    assert_eq!(named("text/x-own", b""), 1);
    assert_eq!(named("text/x-other", b"OWN"), 0);
    assert_eq!(named("application/octet-stream", b"OWN it"), 1);
    assert_eq!(named("", b"\x00\xff"), 1);
    assert_eq!(named("", b"other"), 0);
    assert_eq!(registry.names(PluginKind::Decoder), ["own"]);
}

#[test]
fn limits_hold_for_decoders() {
    let hostile = [
        ("(loop $again (br $again)) unreachable", "ran out of time"),
        (
            "(drop (memory.grow (i32.const 32))) (call $decoded (i32.const 0) (i32.const 2000000))",
            ", the limit is ",
        ),
        ("unreachable", "crashed"),
    ];
    for (body, expected) in hostile {
        let guest =
            Guest::echo_decoder("own").when_asked(&format!("(return (block (result i32) {body}))"));
        let folder = PluginFolder::new();
        folder.put(&guest);
        let more = "media_types = [\"text/x-own\"]\nlimits = { time_ms = 300, output_mib = 1 }";
        folder.manifest(&entry(&guest, more));
        let registry = folder.start().unwrap().snapshot();
        let decoder = registry.decoder("own").unwrap();
        let error = decoder.decode(&FILE, "{\"a\": 1}").unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert!(decoder.decode(&FILE, "{}").is_ok());
    }
}

#[test]
fn an_entry_needs_media_types() {
    let guest = Guest::echo_decoder("own");
    let folder = PluginFolder::new();
    folder.put(&guest);
    for (more, expected) in [
        ("", "decoder `own`: it has no `media_types`"),
        ("media_types = [\"text/html\"]", "by the server itself"),
        ("media_types = [\"x\"]", "`x` is not a media type"),
        (
            "media_types = [\"a/b\"]\nstarts_with = [\"hex:0\"]",
            "`hex:0`",
        ),
    ] {
        folder.manifest(&entry(&guest, more));
        let refusal = folder.refusal();
        assert!(refusal.contains(expected), "{refusal}");
    }
    folder.manifest("allow_native = true\n[[decoder]]\nname = \"x\"\nnative = \"x.so\"\nmedia_types = [\"a/b\"]\n");
    assert!(folder.refusal().contains("never native code"));
}

async fn world() -> (TestApp, FakeSite) {
    (TestApp::start().await, FakeSite::start().await)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_document_of_each_type_is_markdown() {
    let (app, site) = world().await;
    let documents = [
        ("/feed", "application/rss+xml", FEED, "feed", "## [Low]("),
        (
            "/xml",
            "text/xml; charset=utf-8",
            FEED,
            "feed",
            "Mud **only**",
        ),
        ("/ships.csv", "text/csv", SHIPS, "table", "| Anna | 12"),
        (
            "/list",
            "application/vnd.api+json",
            "[{\"a\": 1, \"b\": \"x\"}, {\"a\": 2, \"b\": \"y\"}]",
            "data",
            "| 2 | y",
        ),
        (
            "/config",
            "application/vnd.api+json",
            "{\"a\": {\"b\": 1}}",
            "data",
            "```json\n{\"a\"",
        ),
        (
            "/other",
            "application/xml",
            "<a><b/><c/></a>",
            "data",
            "```xml\n<a>",
        ),
        (
            "/main.py",
            "text/x-python",
            "if a < b: pass",
            "data",
            "```python\nif a < b",
        ),
        (
            "/c.yaml",
            "application/yaml",
            "a: [1]\n",
            "data",
            "```yaml\na: [1]",
        ),
    ];
    for (path, media_type, text, decoder, expected) in documents {
        let url = site.put(path, media_type, text);
        let request = json!({
            "url": url, "return_format": ["markdown", "raw", "bytes"], "metadata": true,
        });
        let entry = app.fine(request).await;
        let content = &entry["content"];
        let markdown = content["markdown"].as_str().unwrap();
        assert!(markdown.contains(expected), "{path}: {markdown}");
        assert_eq!(content["raw"], text, "{path}");
        assert_eq!(content["bytes"], json!(text.as_bytes()), "{path}");
        assert_eq!(entry["metadata"]["decoded_by"], decoder, "{path}");
        assert_eq!(entry["metadata"].get("decode_warnings"), None, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn archives_are_told_apart_by_their_parts() {
    let (app, site) = world().await;
    let text =
        include_bytes!("../../../plugins/decoder-office/src/__fuzz__/office/corpus/text.docx");
    let sheet =
        include_bytes!("../../../plugins/decoder-office/src/__fuzz__/office/corpus/sheet.xlsx");
    let book =
        include_bytes!("../../../plugins/decoder-office/src/__fuzz__/office/corpus/book.epub");
    let files: [(&str, &str, &[u8], &str, Value); 4] = [
        (
            "/a",
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
            text,
            "# Title",
            Value::Null,
        ),
        ("/b", "application/octet-stream", sheet, "## A", Value::Null),
        ("/c", "application/epub+zip", book, "x", json!(1)),
        ("/d", "application/zip", text, "# Title", Value::Null),
    ];
    for (path, media_type, bytes, expected, page_count) in files {
        let url = site.put(path, media_type, bytes.to_vec());
        let request = json!({"url": url, "return_format": ["markdown", "bytes"], "metadata": true});
        let entry = app.fine(request).await;
        let markdown = entry["content"]["markdown"].as_str().unwrap();
        assert!(markdown.contains(expected), "{path}: {markdown}");
        assert_eq!(entry["content"]["bytes"], json!(bytes), "{path}");
        assert_eq!(entry["metadata"]["decoded_by"], "office");
        assert_eq!(entry["metadata"]["page_count"], page_count, "{path}");
    }
    let cut = site.put("/cut", "application/epub+zip", book[..200].to_vec());
    let (_, reason) = app
        .failure(json!({"url": cut, "return_format": "text"}))
        .await;
    assert_eq!(
        reason,
        "decoder `office` cannot read the document: the archive has no directory, it may be cut off"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pdf_is_a_page_with_its_pages_links_and_tables() {
    let (app, site) = world().await;
    let bytes = include_bytes!("../../../plugins/decoder-pdf/src/__fuzz__/pdf/corpus/tides.pdf");
    for media_type in ["application/pdf", "application/octet-stream"] {
        let url = site.put("/tides", media_type, bytes.to_vec());
        let entry = app
            .fine(json!({
                "url": url, "return_format": "markdown", "metadata": true,
                "return_page_links": true, "css_extraction_map": {"second": "[data-page='2'] h2"},
            }))
            .await;
        let markdown = entry["content"].as_str().unwrap();
        for expected in ["# Tides of the harbour", "| Anna | 12 |", "- rope"] {
            assert!(markdown.contains(expected), "{markdown}");
        }
        assert_eq!(entry["metadata"]["decoded_by"], "pdf");
        assert_eq!(entry["metadata"]["page_count"], 2);
        assert_eq!(entry["metadata"]["title"], "Tides of the harbour");
        assert_eq!(entry["css_extracted"]["second"], "Ships");
        assert_eq!(entry["links"], json!(["https://tides.example/"]));
    }
    let cut = site.put("/cut", "application/pdf", b"%PDF-1.7\n".to_vec());
    let (_, reason) = app
        .failure(json!({"url": cut, "return_format": "text"}))
        .await;
    assert!(
        reason.starts_with("decoder `pdf` cannot read the document: "),
        "{reason}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pdf_that_an_empty_password_opens_is_read_and_others_say_why_not() {
    let (app, site) = world().await;
    let open = include_bytes!("../../../plugins/decoder-pdf/cases/open.pdf");
    let url = site.put("/open", "application/pdf", open.to_vec());
    let request = json!({"url": url, "return_format": "text", "metadata": true});
    let entry = app.fine(request).await;
    let text = entry["content"].as_str().unwrap();
    assert!(text.contains("Low water at three"), "{text}");
    assert_eq!(entry["metadata"]["encrypted"], true);
    let secret = include_bytes!("../../../plugins/decoder-pdf/cases/secret.pdf");
    let url = site.put("/secret", "application/pdf", secret.to_vec());
    let (_, reason) = app
        .failure(json!({"url": url, "return_format": "text"}))
        .await;
    assert_eq!(
        reason,
        "decoder `pdf` cannot open the document: it needs a password"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn filters_selectors_and_links_work_on_documents() {
    let (app, site) = world().await;
    let url = site.put("/feed.xml", "application/rss+xml", FEED);
    let entry = app
        .fine(json!({
            "url": url, "return_format": "text", "root_selector": "article h2",
            "return_page_links": true, "metadata": true,
            "css_extraction_map": {"when": "time@datetime", "bold": "article b"},
        }))
        .await;
    assert_eq!(entry["content"].as_str().unwrap().trim(), "Low");
    assert_eq!(entry["links"], json!([site.url("/low")]));
    assert_eq!(entry["metadata"]["title"], "Tides");
    assert_eq!(entry["metadata"]["resource_type"], "xml");
    assert_eq!(entry["metadata"]["feed_format"], "rss 2.0");
    // The fields come from what the filter left.
    assert_eq!(entry["css_extracted"]["when"], Value::Null);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fields_of_xml_are_read_from_its_own_tree() {
    let (app, site) = world().await;
    let feed = site.put("/feed.xml", "application/rss+xml", FEED);
    let map = json!({
        "titles": "count(//title)", "item": "//item/title", "date": "item > pubDate", "whole": "//item",
        "link": "item > link", "when": "time@datetime", "none": "//entry",
    });
    let asked = json!({"url": feed, "return_format": "empty", "css_extraction_map": map});
    let entry = app.fine(asked).await;
    let fields = &entry["css_extracted"];
    assert_eq!(fields["titles"], "2", "{fields}");
    assert_eq!(fields["item"], "Low", "{fields}");
    assert_eq!(fields["date"], "Mon, 02 Jun 2008 09:00:00 GMT", "{fields}");
    let whole = fields["whole"].as_str().unwrap();
    assert!(whole.starts_with("Low /low Mon, 02 Jun"), "{fields}");
    assert_eq!(fields["link"], "/low", "{fields}");
    assert_eq!(fields["none"], Value::Null, "{fields}");
    // Of the decoder's page.
    let when = fields["when"].as_str().unwrap();
    assert!(when.starts_with("2008-06-02"), "{fields}");
    let data =
        "<?xml version='1.0'?><a xmlns='urn:a' xmlns:m='urn:m'><b id='1'>x</b><m:b>y</m:b></a>";
    let data = site.put("/data", "application/xml", data);
    let lists = json!({"*": [
        {"name": "b", "selectors": ["//b"]},
        {"name": "id", "selectors": ["b@id"]},
        {"name": "prefixed", "selectors": ["m\\:b", "//*[name()='m:b']"]},
        {"name": "local", "selectors": ["//*[local-name()='b']"]},
    ]});
    let asked = json!({"url": data, "return_format": "empty", "css_extraction_map": lists});
    let entry = app.fine(asked).await;
    let fields = &entry["css_extracted"];
    let expected = json!({"b": ["x"], "id": ["1"], "prefixed": ["y"], "local": ["x", "y"]});
    assert_eq!(*fields, expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_bytes_decide_where_the_type_says_nothing() {
    let app = TestApp::start().await;
    let site = FakeSite::start().await;
    let pdf = site.put("/a.csv", "application/octet-stream", b"\0\x01,2\n".to_vec());
    let (_, reason) = app
        .failure(json!({"url": pdf, "return_format": "markdown"}))
        .await;
    assert!(reason.contains("application/octet-stream"), "{reason}");
    // The ending of a URL decides nothing.
    let text = site.put("/b.csv", "text/plain", SHIPS);
    let entry = app
        .fine(json!({"url": text, "return_format": "text"}))
        .await;
    assert_eq!(entry["content"].as_str().unwrap().trim(), SHIPS.trim());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn crawls_follow_the_links_of_documents() {
    let (app, site) = world().await;
    let feed = site.put("/feed.xml", "application/rss+xml", FEED);
    let table = format!("place,page\nKiel,{}\n", site.url("/kiel"));
    let low = format!(
        "<p>Mud</p><a href=\"{}\">ships</a>",
        site.put("/t.csv", "text/csv", table)
    );
    site.put("/", "text/html", "<p>Home");
    site.put("/low", "text/html", low);
    site.put("/kiel", "text/html", "<p>Kiel");
    let request = json!({"url": feed, "request": "http", "return_format": "text", "limit": 10});
    let answer = app.post("/crawl", &[], &request).await.json();
    let entries = answer.as_array().unwrap();
    let urls: BTreeSet<&str> = entries
        .iter()
        .map(|entry| entry["url"].as_str().unwrap())
        .collect();
    let paths = ["/", "/feed.xml", "/kiel", "/low", "/t.csv"].map(|path| site.url(path));
    assert_eq!(urls, paths.iter().map(String::as_str).collect());
    assert!(
        entries
            .iter()
            .all(|entry| entry.get("error").is_none_or(Value::is_null))
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bombs_end_with_a_sentence_and_harm_nobody() {
    let (app, site) = world().await;
    let mut entities = "<!DOCTYPE x [<!ENTITY e0 \"aaaaaaaaaa\">".to_owned();
    for level in 1..12 {
        let inner = format!("&e{};", level - 1).repeat(10);
        write!(entities, "<!ENTITY e{level} \"{inner}\">").unwrap();
    }
    entities += "]><rss><channel><title>&e11;</title></channel></rss>";
    let bombs = [
        ("/entities", "application/rss+xml", entities, None),
        (
            "/deep.xml",
            "application/xml",
            "<a>".repeat(300_000),
            Some("levels deep"),
        ),
        (
            "/deep.json",
            "application/vnd.api+json",
            "[".repeat(1_000_000),
            Some("recursion limit"),
        ),
        (
            "/wide.csv",
            "text/csv",
            "x,".repeat(500_000),
            Some("500001 cells"),
        ),
        (
            "/cells.csv",
            "text/csv",
            "1,2\n".repeat(1_000_000),
            Some("rows are left out"),
        ),
    ];
    for (path, media_type, body, expected) in bombs {
        let url = site.put(path, media_type, body);
        let entry = app
            .fine(json!({"url": url, "return_format": "text", "max_size": 1000}))
            .await;
        let warnings = entry["metadata"]["decode_warnings"].to_string();
        let expected = expected.unwrap_or("null");
        assert!(warnings.contains(expected), "{path}: {warnings}");
    }
    let after = site.put("/after.csv", "text/csv", SHIPS);
    let entry = app
        .fine(json!({"url": after, "return_format": "text"}))
        .await;
    assert!(entry["content"].as_str().unwrap().contains("Anna"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn documents_can_be_sent() {
    let app = TestApp::start().await;
    let request = json!({
        "data": [
            {"base64": SHIPS_BASE64, "content_type": "text/csv"},
            {"content": FEED, "content_type": "application/rss+xml", "url": "https://tides.example/feed"},
            {"html": "<h1>Hello</h1>"},
        ],
        "return_format": "markdown", "return_page_links": true,
    });
    let answer = app.post("/transform", &[], &request).await;
    assert_eq!(answer.status, 200);
    let answer = answer.json();
    assert_eq!(answer["error"], Value::Null);
    let content = |index: usize| answer["content"][index].as_str().unwrap();
    assert!(content(0).contains("| Bert | 30"), "{}", content(0));
    assert!(
        content(1).contains("[Low](https://tides.example/low)"),
        "{}",
        content(1)
    );
    assert_eq!(content(2).trim(), "# Hello");
    assert!(
        answer["links"][1]
            .to_string()
            .contains("https://tides.example/low")
    );
}
