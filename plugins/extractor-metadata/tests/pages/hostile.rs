//! Hostile pages: extraction succeeds, still finds what stands before the hostile part, and takes
//! time linear in the page size; otherwise these tests would not finish.

use extractor_metadata::PageMetadata;
use serde_json::{Value, json};
use trawl_sdk::testkit::{self, Random};

fn metadata(html: &str) -> Value {
    let page = testkit::page(html);
    page.extract::<PageMetadata>(json!({}))
        .expect("metadata never fails")
}

/// A page whose first element names the site, followed by `rest`: whatever follows must not take it
/// away, and the fields that are always present are there.
fn marked(rest: &str) {
    let found = metadata(&format!("<meta property=og:site_name content=Mark>{rest}"));
    assert_eq!(found["site_name"], "Mark", "{rest:.200}");
    assert!(
        found["title"].is_string() && found["description"].is_string(),
        "{rest:.200}"
    );
}

#[test]
fn many_candidates_of_every_kind_are_read_to_their_end() {
    const N: usize = 100_000;
    for piece in [
        "<h1>x</h1>",
        "<time datetime=x></time>",
        "<p class=byline></p>",
        "<p class=byline>x</p>",
        "<p class=date>1</p>",
        "<a rel=author>x</a>",
        "<meta name=author content=x>",
        "<meta name=a content=b>",
        "<link rel=alternate type=application/rss+xml href=x>",
        "<link rel=icon href=x>",
        "<i itemprop=author>x</i>",
        "<div itemscope itemprop=author></div>",
        "<div class=author><b><i></i></b></div>",
        "<p>by</p>",
        "x<br>",
        "<article></article>",
        "<title>x</title>",
    ] {
        marked(&piece.repeat(N));
        marked(&format!("<h1>x</h1>{}", piece.repeat(N)));
    }
}

#[test]
fn candidates_in_each_other_are_read_to_their_end() {
    const DEPTH: usize = 500;
    let text = "<b>x</b>".repeat(100_000);
    for piece in [
        "<div itemscope itemprop=author>",
        "<div class='author byline date'>",
        "<a rel=author>",
        "<article>",
        "<h1>",
        "<time>",
    ] {
        marked(&(piece.repeat(DEPTH) + &text));
    }
}

#[test]
fn long_attributes_and_texts_are_read_to_their_end() {
    const BYTES: usize = 1 << 20;
    for value in [
        "author ", "a", "date-", "byline", "comment", " - ", "| ", "1", "2024-", "May ", "é", "by ",
    ] {
        let value = value.repeat(BYTES / value.len());
        marked(&format!(
            "<p class='{value}' id='{value}' itemprop='{value}' rel='{value}'>x</p>"
        ));
        marked(&format!(
            "<title>{value}</title><h1>{value}</h1><time datetime='{value}'>{value}</time><meta name=author content='{value}'>"
        ));
        marked(&format!(
            "<html lang='{value}'><meta name=date content='{value}'><p class=byline>{value}</p><p class=date>{value}</p>"
        ));
        marked(&format!(
            "<script type=application/ld+json>{{\"@type\":\"Article\",\"headline\":\"{value}\",\"author\":\"{value}\",\"datePublished\":\"{value}\"}}</script>"
        ));
    }
}

#[test]
fn mutated_pages_lose_nothing_that_came_before() {
    const PAGE: &str = r##"<html lang=en_US><title>Ä title – of words | Sité</title><meta property=og:title content="Ä title"><meta name=date content="17 mai 2024 à 10h"><h1>Ä title – of words</h1>
        <p class="post-byline">By Ada Pérson · 5 min</p><time class=published datetime="2024-05-17T10:00:00.5+02:00">17. května 2024</time><p class=date>2024年5月17日</p>
        <script type="application/ld+json">{"@graph":[{"@type":"Article","author":{"@id":"#é"},"datePublished":"1715940000"},{"@id":"#é","name":"É"}]}</script>
        <link rel="shortcut icon" sizes="32x32 any" href="é"><meta http-equiv=last-modified content="2024-05-17 1:00 -0530"><p>作者：山田</p>"##;
    const PIECES: [&str; 20] = [
        "é", "月", "：", " ", "-", "|", "<", ">", "\"", "1", "99", "T", "+", ":", ".", "By", "&",
        "\u{a0}", "İ", "ß",
    ];
    let mut random = Random::new(5);
    for _ in 0..5_000 {
        marked(&random.mutated(PAGE, &PIECES, 10));
    }
}
