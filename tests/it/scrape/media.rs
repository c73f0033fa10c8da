//! Other media types than HTML, and other character sets than UTF-8.

use serde_json::json;
use trawl_tests::TestApp;
use trawl_tests::coding::encoded;

use super::world;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn json_and_plain_text_are_returned_as_text() {
    let (app, site) = world().await;
    for (path, text) in [
        ("/typed/json", "{\"a\": [1, 2]}"),
        ("/typed/plain", "plain"),
    ] {
        for format in ["markdown", "text", "raw"] {
            let entry = app
                .fine(json!({"url": site.url(path), "return_format": format}))
                .await;
            let content = entry["content"].as_str().unwrap();
            assert_eq!(
                content.trim_end().replace('\\', ""),
                text,
                "{path} {format}"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn binary_types_without_a_decoder_are_returned_as_bytes_only() {
    let (app, site) = world().await;
    let clip = b"\0\0\0\x18ftypmp42".to_vec();
    let dvi = b"\xf7\x02\x01\x83\x92\xc0\x1c;\0".to_vec();
    for (url, bytes, media_type) in [
        (
            site.put("/clip", "video/mp4", clip.clone()),
            clip,
            "video/mp4",
        ),
        (site.url("/typed/dvi"), dvi, "application/x-dvi"),
    ] {
        let entry = app
            .fine(json!({"url": url, "return_format": "bytes"}))
            .await;
        assert_eq!(entry["content"], json!(bytes));
        for format in ["markdown", "text"] {
            let body = json!({"url": url, "return_format": format});
            let entry = app.page(body.clone()).await;
            assert_eq!(
                (&entry["status"], &entry["content"]),
                (&json!(200), &json!(""))
            );
            let (_, reason) = app.failure(body).await;
            assert!(reason.contains(media_type), "{reason}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn character_sets_are_detected_by_header_bom_meta_and_content() {
    let (app, site) = world().await;
    let meta = b"<meta charset=windows-1252><p>\x80 5".to_vec();
    let mut mark = b"\xef\xbb\xbf".to_vec();
    mark.extend("<p>für".bytes());
    let pages = [
        (site.url("/typed/latin1"), "café"),
        (site.url("/typed/shift-jis"), "日本"),
        (site.url("/typed/utf-16"), "hi"),
        (site.put("/meta", "text/html", meta), "€ 5"),
        (
            site.put("/mark", "text/html; charset=iso-8859-1", mark),
            "für",
        ),
        (
            site.put("/guess", "text/html", "<p>Grüße, Jürgen. Schöne Träume"),
            "Grüße, Jürgen. Schöne Träume",
        ),
    ];
    for (url, text) in pages {
        let entry = app.fine(json!({"url": url, "return_format": "text"})).await;
        assert_eq!(entry["content"].as_str().unwrap().trim(), text, "{url}");
    }
    // Bytes that are not text in any of them pass through every format.
    let broken = site.put(
        "/broken",
        "text/html; charset=utf-8",
        b"<p>a\xff\xfe\xc3b\xf0\x9f".to_vec(),
    );
    let formats = ["markdown", "text", "raw", "xml"];
    let entry = app
        .fine(json!({"url": broken, "return_format": formats, "max_size": 5}))
        .await;
    assert_eq!(entry["content"].as_object().unwrap().len(), 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn queries_of_links_are_in_the_character_set_of_their_page() {
    let (app, site) = world().await;
    let html =
        "<meta charset=windows-1251><p><a href='/п?q=лодка#в'>x</a><img alt=y src='/к?лодка'></p>";
    let html: Vec<u8> = html
        .chars()
        .map(|letter| match letter {
            'а'..='я' => (u32::from(letter) - u32::from('а')) as u8 + 0xE0,
            _ => letter as u8,
        })
        .collect();
    let url = site.put("/legacy", "text/html", html);
    let link = site.url("/%D0%BF?q=%EB%EE%E4%EA%E0");
    let image = site.url("/%D0%BA?%EB%EE%E4%EA%E0");
    let entry = app
        .fine(json!({
            "url": url, "return_format": "markdown", "return_page_links": true,
            "css_extraction_map": {"css": "a@href", "xpath": "//a/@href", "image": "img@src"},
        }))
        .await;
    assert_eq!(entry["links"], json!([link]));
    let linked = format!("{link}#в");
    assert_eq!(
        entry["css_extracted"],
        json!({"css": format!("{link}#%D0%B2"), "xpath": format!("{link}#%D0%B2"), "image": image})
    );
    let markdown = entry["content"].as_str().unwrap();
    assert_eq!(markdown.trim(), format!("[x]({linked})![y]({image})"));
    // A crawl asks for what a browser asks for.
    let body = json!({"url": url, "request": "http", "return_format": "empty", "cache": false, "respect_robots": false});
    let answer = app.post("/crawl", &[], &body).await;
    assert_eq!(answer.status, 200);
    let asked = site.requests();
    assert!(
        asked
            .iter()
            .any(|line| line.contains("/%D0%BF?q=%EB%EE%E4%EA%E0")),
        "{asked:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn text_is_not_decoded_again() {
    let app = TestApp::start().await;
    let html = "<meta charset=gbk><p>Zürich 中文";
    let data = json!({"data": [
        {"html": html},
        {"html": html, "content_type": "text/html; charset=gbk"},
        {"html": html.as_bytes()},
    ], "return_format": "text"});
    let answer = app.post("/transform", &[], &data).await.json();
    let content = |at: usize| answer["content"][at].as_str().unwrap().trim().to_owned();
    assert_eq!(content(0), "Zürich 中文", "{answer}");
    assert_eq!(content(1), "Zürich 中文");
    // Bytes are in the character set that they declare.
    assert_ne!(content(2), "Zürich 中文");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_last_valid_media_type_counts_and_an_invalid_one_is_as_none() {
    let (app, site) = world().await;
    for media_type in [
        "text/html, text/html; charset=utf-8",
        "text/plain\r\nContent-Type: text/html",
        "text/html charset=utf-8",
        "html",
        "(null)",
        "charset=utf-8",
    ] {
        let url = site.put("/typed", media_type, "<p>a <b>b</b></p><a href=/x>c</a>");
        for request in ["http", "smart"] {
            let entry = app
                .fine(json!({"url": url, "request": request, "return_format": "text", "return_page_links": true, "cache": false}))
                .await;
            let content = entry["content"].as_str().unwrap().trim().to_owned();
            assert_eq!(content, "a b\n\nc", "{media_type} {request}");
            assert_eq!(entry["links"], json!([site.url("/x")]), "{media_type}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shadow_trees_and_xhtml_are_what_a_reader_sees() {
    let (app, site) = world().await;
    let card = "<x-card><template shadowrootmode=open><p>19 EUR</p><slot></slot></template><a href=/buy>buy</a></x-card>";
    let xhtml = "<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'><head><script src='x.js'/><title/></head>\
                 <body><p>a<![CDATA[<b>&amp;]]></p><a href='/buy'>buy</a></body></html>";
    for (path, media_type, html, expected) in [
        ("/card", "text/html", card, "19 EUR\n\nbuy"),
        ("/xhtml", "application/xhtml+xml", xhtml, "a<b>&amp;\n\nbuy"),
        ("/xml", "text/xml", xhtml, "a<b>&amp;\n\nbuy"),
    ] {
        let url = site.put(path, media_type, html);
        let entry = app
            .fine(json!({"url": url, "request": "smart", "return_format": "text", "return_page_links": true}))
            .await;
        assert_eq!(
            entry["content"].as_str().unwrap().trim(),
            expected,
            "{path}"
        );
        assert_eq!(entry["links"], json!([site.url("/buy")]), "{path}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn content_codings_are_decoded_at_any_size() {
    let (app, site) = world().await;
    // Text that compresses well, text that does not, and a run longer than any window.
    let words: String = (0..40_000_u32)
        .map(|n| format!("{:x} ", n.wrapping_mul(2_654_435_761)))
        .collect();
    let bodies = [
        "<p>again and again</p>".repeat(9_000),
        words,
        "x".repeat(5 << 20),
    ];
    for coding in [
        "gzip",
        "deflate",
        "raw-deflate",
        "br",
        "zstd",
        "gzip,br",
        "deflate,zstd",
    ] {
        for (n, body) in bodies.iter().enumerate() {
            let label = coding.replace("raw-", "");
            let content_type = format!("text/plain\r\nContent-Encoding: {label}");
            let coded = encoded(coding, body.as_bytes());
            let url = site.put(&format!("/{n}"), &content_type, coded);
            let entry = app.fine(json!({"url": url, "return_format": "raw"})).await;
            let content = entry["content"].as_str().unwrap();
            assert!(
                content == body,
                "{coding} of text {n}: {} bytes",
                content.len()
            );
        }
    }
}
