//! Documents of every type through the server: some of their pages, and documents within.

use serde_json::{Value, json};
use trawl_tests::coding::{encoded, gzip_bomb};
use trawl_tests::{FakeSite, TestApp};

const ZIP: &[u8] = include_bytes!("../../../plugins/decoder-archive/cases/ships.zip");
const TAR_GZ: &[u8] = include_bytes!("../../../plugins/decoder-archive/cases/ships.tar.gz");
const MAIL: &[u8] = include_bytes!("../../../plugins/decoder-mail/cases/tide.eml");
const MAILBOX: &[u8] = include_bytes!("../../../plugins/decoder-mail/cases/box.mbox");
const CALENDAR: &[u8] = include_bytes!("../../../plugins/decoder-calendar/cases/tides.ics");
const CONTACTS: &[u8] = include_bytes!("../../../plugins/decoder-calendar/cases/people.vcf");
const RTF: &[u8] = include_bytes!("../../../plugins/decoder-rtf/cases/ships.rtf");
const IMAGE: &[u8] = include_bytes!("../../../plugins/decoder-image/cases/tide.jpg");
const PDF: &[u8] = include_bytes!("../../../plugins/decoder-pdf/src/__fuzz__/pdf/corpus/tides.pdf");
const UNTYPED: &str = "application/octet-stream";

async fn world() -> (TestApp, FakeSite) {
    (TestApp::start().await, FakeSite::start().await)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_type_is_markdown_by_its_media_type_or_its_first_bytes() {
    let (app, site) = world().await;
    let documents = [
        ("archive", "application/zip", ZIP, "| ships.csv | 28"),
        ("archive", "application/gzip", TAR_GZ, "| notes.txt | 14"),
        ("mail", "message/rfc822", MAIL, "# Ebbe für Sonntag"),
        ("mail", "application/mbox", MAILBOX, "# Two"),
        ("calendar", "text/calendar", CALENDAR, "## Low water, Kiel"),
        ("calendar", "text/vcard", CONTACTS, "## Bert Müller"),
        ("rtf", "application/rtf", RTF, "# Ships"),
        ("image", "image/jpeg", IMAGE, "Anna at low tide"),
    ];
    for (number, (decoder, media_type, bytes, expected)) in documents.into_iter().enumerate() {
        let has_signature = bytes != MAIL;
        for media_type in [media_type, UNTYPED] {
            if media_type == UNTYPED && !has_signature {
                continue;
            }
            let url = site.put(&format!("/{number}"), media_type, bytes);
            let request = json!({
                "url": url, "return_format": ["markdown", "bytes"], "metadata": true, "cache": false,
            });
            let entry = app.fine(request).await;
            let markdown = entry["content"]["markdown"].as_str().unwrap();
            assert!(markdown.contains(expected), "{media_type}: {markdown}");
            assert_eq!(entry["content"]["bytes"], json!(bytes), "{media_type}");
            assert_eq!(entry["metadata"]["decoded_by"], decoder, "{media_type}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_type_is_overruled_by_the_first_bytes() {
    let (app, site) = world().await;
    for media_type in ["application/x-unknown", "image/png", "application/msword"] {
        let url = site.put("/tides", media_type, PDF);
        let request = json!({
            "url": url, "return_format": "markdown", "metadata": true, "cache": false,
        });
        let entry = app.fine(request).await;
        assert_eq!(entry["metadata"]["decoded_by"], "pdf", "{media_type}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_the_wanted_pages_are_decoded() {
    let (app, site) = world().await;
    let pdf = site.put("/tides.pdf", "application/pdf", PDF);
    let mailbox = site.put("/box", "application/mbox", MAILBOX);
    for (url, first, second) in [
        (pdf, "Tides of the harbour", "Ships"),
        (mailbox, "# One", "# Two"),
    ] {
        for (pages, has_first, has_second) in [
            (Value::Null, true, true),
            (json!("1"), true, false),
            (json!("2-"), false, true),
            (json!("1-5,9"), true, true),
        ] {
            let request = json!({
                "url": url, "return_format": "markdown", "pages": pages, "metadata": true,
            });
            let entry = app.fine(request).await;
            let markdown = entry["content"].as_str().unwrap();
            assert_eq!(markdown.contains(first), has_first, "{pages}: {markdown}");
            assert_eq!(markdown.contains(second), has_second, "{pages}: {markdown}");
            assert_eq!(entry["metadata"]["page_count"], 2, "{pages}");
        }
    }
    let refused = json!({"url": "https://a.example/", "pages": "5-1"});
    let answer = app.post("/scrape", &[], &refused).await;
    assert_eq!(answer.status, 400);
    assert!(
        answer
            .json()
            .to_string()
            .contains("pages: `5-1` is not a page")
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_document_within_is_decoded_in_its_place() {
    let (app, site) = world().await;
    let zip = site.put("/ships.zip", "application/zip", ZIP);
    let mail = site.put("/tide.eml", "message/rfc822", MAIL);
    let request = |url: &str, decoder: &str, inner: &str| {
        json!({
            "url": url, "return_format": "markdown", "metadata": true,
            "decoder_options": {decoder: {"inner": inner}},
        })
    };
    for (url, decoder) in [(&zip, "archive"), (&mail, "mail")] {
        let entry = app.fine(request(url, decoder, "ships.csv")).await;
        let markdown = entry["content"].as_str().unwrap();
        assert!(markdown.contains("| Bert | 30"), "{markdown}");
        assert_eq!(entry["metadata"]["decoded_by"], "table");
        assert_eq!(entry["metadata"]["inner"], "ships.csv");
    }
    // Text without a decoder is code; of other members the name is left.
    let notes = app.fine(request(&zip, "archive", "docs/notes.txt")).await;
    assert!(notes["content"].as_str().unwrap().contains("Bert <b>"));
    let western = stored(
        "notes.txt",
        b"Die F\xe4hre f\xe4hrt \xfcber das Meer <b>.\n",
    );
    let western = site.put("/western.zip", "application/zip", western);
    let western = app.fine(request(&western, "archive", "notes.txt")).await;
    let markdown = western["content"].as_str().unwrap();
    assert!(
        markdown.contains("Die Fähre fährt über das Meer <b>."),
        "{markdown}"
    );
    let raw = app.fine(request(&zip, "archive", "raw.bin")).await;
    assert_eq!(
        raw["metadata"]["decode_warnings"],
        json!(["no decoder reads `raw.bin`"])
    );
    let (_, reason) = app.failure(request(&zip, "archive", "none")).await;
    assert!(reason.contains("there is no member `none`"), "{reason}");
    // An archive in an archive is listed, whatever the options say.
    let outer = stored("ships.zip", ZIP);
    let outer = site.put("/outer.zip", "application/zip", outer);
    let entry = app.fine(request(&outer, "archive", "ships.zip")).await;
    let markdown = entry["content"].as_str().unwrap();
    assert!(markdown.contains("| ships.csv | 28"), "{markdown}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_place_of_an_image_is_given_on_request() {
    let (app, site) = world().await;
    let url = site.put("/tide.jpg", "image/jpeg", IMAGE);
    for (options, expected) in [
        (json!({}), Value::Null),
        (
            json!({"image": {"place": true}}),
            json!("54.330000, -10.120000"),
        ),
    ] {
        let request = json!({
            "url": url, "return_format": "text", "metadata": true, "decoder_options": options,
        });
        let entry = app.fine(request).await;
        assert_eq!(entry["metadata"]["place"], expected);
        assert_eq!(entry["metadata"]["width"], 3);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_files_end_with_a_sentence_and_cost_nothing() {
    let (app, site) = world().await;
    let many = b"From x\n".repeat(20_001);
    let deep = format!("{{\\rtf1 {}", "{".repeat(100_000)).into_bytes();
    let nested = "BEGIN:VEVENT\n".repeat(100_000).into_bytes();
    let stream = encoded("deflate", &vec![b' '; 80 << 20]);
    let hostile = [
        (
            "application/pdf",
            pdf("[3 0 R]", &stream),
            "a page has more than 64 MiB",
        ),
        ("application/pdf", pdf("[2 0 R]", b""), "it has no pages"),
        (
            "application/gzip",
            gzip_bomb(),
            "has more than 96 MiB expanded",
        ),
        ("application/zip", ZIP[..40].to_vec(), "has no directory"),
        ("application/mbox", many, "more than 20000 messages"),
        ("application/rtf", deep, "more than 1000 levels deep"),
        ("application/ics", nested, "more than 16 levels deep"),
        ("image/jpeg", IMAGE[..20].to_vec(), "it may be cut off"),
    ];
    for (number, (media_type, bytes, expected)) in hostile.into_iter().enumerate() {
        let url = site.put(&format!("/{number}"), media_type, bytes);
        let (_, reason) = app
            .failure(json!({"url": url, "return_format": "markdown"}))
            .await;
        assert!(reason.contains(expected), "{media_type}: {reason}");
    }
    let after = site.put("/after.rtf", "application/rtf", RTF);
    let entry = app
        .fine(json!({"url": after, "return_format": "text"}))
        .await;
    assert!(entry["content"].as_str().unwrap().contains("Anna"));
}

/// A PDF without a table of objects whose pages are these, and whose page has this packed content.
fn pdf(kids: &str, stream: &[u8]) -> Vec<u8> {
    let mut file = format!(
        "%PDF-1.7\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n\
         2 0 obj<</Type/Pages/Count 1/Kids{kids}>>endobj\n\
         3 0 obj<</Type/Page/Parent 2 0 R/Contents 4 0 R>>endobj\n\
         4 0 obj<</Length {}/Filter/FlateDecode>>stream\n",
        stream.len()
    )
    .into_bytes();
    file.extend(stream);
    file.extend(b"\nendstream endobj\ntrailer<</Root 1 0 R>>\n");
    file
}

/// A ZIP archive with one member that is stored as it is.
fn stored(name: &str, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32).to_le_bytes();
    let mut common = vec![20, 0, 0, 0, 0, 0];
    common.extend([0; 8]);
    common.extend(length);
    common.extend(length);
    common.extend((name.len() as u16).to_le_bytes());
    common.extend([0, 0]);
    let mut bytes = b"PK\x03\x04".to_vec();
    bytes.extend(&common);
    bytes.extend(name.as_bytes());
    bytes.extend(body);
    let at = (bytes.len() as u32).to_le_bytes();
    let mut directory = b"PK\x01\x02\x14\0".to_vec();
    directory.extend(&common);
    directory.extend([0; 10]);
    directory.extend([0; 4]);
    directory.extend(name.as_bytes());
    let directory_bytes = (directory.len() as u32).to_le_bytes();
    bytes.extend(directory);
    bytes.extend(b"PK\x05\x06\0\0\0\0\x01\0\x01\0");
    bytes.extend(directory_bytes);
    bytes.extend(at);
    bytes.extend([0, 0]);
    bytes
}
