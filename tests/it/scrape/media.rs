//! Other media types than HTML, and other character sets than UTF-8.

use serde_json::json;
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
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    let dvi = b"\xf7\x02\x01\x83\x92\xc0\x1c;\0".to_vec();
    for (path, bytes, media_type) in [
        ("/typed/png", png, "image/png"),
        ("/typed/dvi", dvi, "application/x-dvi"),
    ] {
        let url = site.url(path);
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
