use serde_json::{Value, json};
use trawl_sdk::decoder::{Decoded, Failure};
use trawl_sdk::testkit::{self, body};

use crate::Feeds;

fn decode(text: &str) -> Result<Decoded, Failure> {
    let document = testkit::document("application/xml", text);
    document
        .url("https://harbour.example/feed.xml")
        .decode::<Feeds>(json!({}))
}

#[test]
fn rss_has_items_with_links_dates_and_content() {
    let decoded = decode(include_str!("../cases/rss.xml")).expect("a feed");
    assert_eq!(
        body(&decoded),
        "<header><h1><a href=\"https://harbour.example/\">Harbour news</a></h1>\
         <p>Tides &amp; ships</p></header><main>\
         <article><h2><a href=\"https://harbour.example/tides/low\">Low tide &amp; mud</a></h2>\
         <p><time datetime=\"2008-06-02T09:00:00Z\">Mon, 02 Jun 2008 09:00:00 GMT</time> by Ann Boat in tides</p>\
         <div><p>The <a href=\"/mud\">mud</a> is <b>deep.</b></p></div>\
         <p><audio src=\"https://harbour.example/low.mp3\"></audio>\
         <a href=\"https://harbour.example/low.mp3\">low.mp3</a> (audio/mpeg, 1234 bytes)</p></article>\
         <article><h2><a href=\"https://harbour.example/ships/1\">A ship without a title</a></h2>\
         <p>A ship without a title</p>\
         <p><a href=\"https://harbour.example/ships/1#comments\">Comments</a></p></article></main>"
    );
    assert_eq!(
        Value::Object(decoded.metadata),
        json!({
            "title": "Harbour news", "description": "Tides & ships", "language": "en-GB",
            "modified": "2008-06-03T11:05:30+02:00", "generator": "Quay 3",
            "feed_format": "rss 2.0", "item_count": 2,
        })
    );
    assert!(
        decoded
            .html
            .starts_with("<!DOCTYPE html><html lang=\"en-GB\">")
    );
    assert!(decoded.warnings.is_empty());
}

#[test]
fn atom_resolves_against_its_bases() {
    let decoded = decode(include_str!("../cases/atom.xml")).expect("a feed");
    assert_eq!(
        body(&decoded),
        "<header><h1><a href=\"https://hafen.example/blog/\">Hafen &amp; See</a></h1>\
         <p>Ebbe und Flut</p></header><main>\
         <article><h2><a href=\"https://hafen.example/blog/flut\">Flut</a></h2>\
         <p><time datetime=\"2008-06-01T10:00:00Z\">2008-06-01T10:00:00Z</time> by Bert in Tiden</p>\
         <div><div><p>Das <em>Wasser</em> &lt; <a href=\"steigt\">steigt</a></p></div></div>\
         <p><a href=\"https://hafen.example/blog/flut.pdf\">flut.pdf</a> (application/pdf, 99 bytes)</p>\
         <p><a href=\"https://hafen.example/blog/flut#c\">Comments</a></p></article>\
         <article><h2><a href=\"https://hafen.example/alt/ebbe.html\">Ebbe</a></h2>\
         <p>Das Wasser geht</p></article></main>"
    );
    assert_eq!(decoded.metadata["authors"], json!(["Anna Boot"]));
    assert_eq!(decoded.metadata["language"], "de");
}

#[test]
fn names_of_atom_may_have_a_prefix() {
    let xml = "<a:feed xmlns:a='http://www.w3.org/2005/Atom'><a:title>T</a:title>\
               <a:entry><a:title>E</a:title><a:link href='e'/></a:entry></a:feed>";
    let decoded = decode(xml).expect("a feed");
    assert!(
        decoded
            .html
            .contains("<a href=\"https://harbour.example/e\">E</a>")
    );
}

#[test]
fn rss_1_has_its_items_beside_the_channel() {
    let decoded = decode(include_str!("../cases/rss1.xml")).expect("a feed");
    assert!(
        decoded
            .html
            .contains("<h2><a href=\"https://old.example/1\">One</a></h2>")
    );
    assert_eq!(decoded.metadata["feed_format"], "rss 1.0");
    assert_eq!(decoded.metadata["item_count"], 1);
}

#[test]
fn json_feeds_are_feeds() {
    let decoded = decode(include_str!("../cases/feed.json")).expect("a feed");
    assert_eq!(
        body(&decoded),
        "<header><h1><a href=\"https://notes.example/\">Notes</a></h1><p>Short ones</p></header><main>\
         <article><h2><a href=\"https://harbour.example/1\">A note that has no title &amp; is rather long, so that what is shown of it in its he…</a></h2>\
         <p><time datetime=\"2020-01-02T03:04:05Z\">2020-01-02T03:04:05Z</time></p>\
         <p>A note that has no title &amp; is rather long, so that what is shown of it in its heading has to end somewhere.</p></article>\
         <article><h2><a href=\"https://notes.example/2\">Two</a></h2><p> in a, b</p><div><p>two</div>\
         <p><img src=\"https://harbour.example/2.png\" alt=\"\"><a href=\"https://harbour.example/2.png\">2.png</a> (image/png, 7 bytes)</p></article></main>"
    );
}

#[test]
fn sitemaps_are_lists_of_links() {
    let decoded = decode(include_str!("../cases/sitemap.xml")).expect("a sitemap");
    assert_eq!(
        body(&decoded),
        "<h1>Sitemap</h1><ul><li><a href=\"https://harbour.example/\">https://harbour.example/</a> \
         <time datetime=\"2024-01-02\">2024-01-02</time></li>\
         <li><a href=\"https://harbour.example/a?b=1&amp;c=2\">A ship</a></li></ul>"
    );
    assert_eq!(decoded.metadata["item_count"], 2);
    let index =
        "<sitemapindex><sitemap><loc>https://a.example/s.xml</loc></sitemap></sitemapindex>";
    let decoded = decode(index).expect("an index");
    assert_eq!(decoded.metadata["title"], "Index of sitemaps");
}

#[test]
fn other_documents_are_left_to_other_decoders() {
    for text in [
        "{\"a\": 1}",
        "[]",
        "<note><title>x</title></note>",
        "a,b\n1,2",
        "",
        "{\"about\": \"https://jsonfeed.org/version/1\"}",
    ] {
        assert!(
            matches!(decode(text), Err(Failure::Unsupported(_))),
            "{text}"
        );
    }
    assert!(matches!(decode("<rss/>"), Err(Failure::Damaged(_))));
    assert!(matches!(
        decode("{\"jsonfeed.org"),
        Err(Failure::Damaged(_))
    ));
}

#[test]
fn a_damaged_feed_has_its_items_so_far() {
    let cut = include_str!("../cases/rss.xml")
        .split_once("<dc:creator>")
        .expect("an author")
        .0;
    let decoded = decode(cut).expect("a feed");
    assert!(decoded.html.contains("Low tide"));
    assert_eq!(decoded.metadata["item_count"], 1);
    assert!(
        decoded.warnings[0].contains("damaged"),
        "{:?}",
        decoded.warnings
    );
}

#[test]
fn bombs_are_small() {
    let entities = include_str!("__fuzz__/feed/corpus/entities.xml");
    let decoded = decode(entities).expect("a feed");
    assert!(decoded.html.len() < 1_000, "{}", decoded.html);
    let deep = format!("<rss>{}", "<channel>".repeat(100_000));
    assert!(matches!(decode(&deep), Err(Failure::Limit(_))));
    let many = format!("<rss><channel>{}</channel></rss>", "<item/>".repeat(20_000));
    let decoded = decode(&many).expect("a feed");
    assert_eq!(decoded.warnings, ["10000 of 20000 items are left out"]);
}
