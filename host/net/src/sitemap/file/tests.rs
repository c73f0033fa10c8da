use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::*;

fn entries(body: impl Into<Vec<u8>>) -> Vec<SitemapEntry> {
    let mut file = File::new(Bytes::from(body.into()));
    let mut all = Vec::new();
    while let Some(found) = file.step(3) {
        all.extend(found);
    }
    all
}

fn pages(body: impl Into<Vec<u8>>) -> Vec<String> {
    let pages = entries(body).into_iter();
    pages
        .map(|entry| match entry {
            SitemapEntry::Page(page) => page.url,
            SitemapEntry::Sitemap(url) => panic!("{url} is a sitemap"),
        })
        .collect()
}

fn gzip(body: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(body).expect("memory");
    encoder.finish().expect("memory")
}

const TWO: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">
  <url><loc> http://a.example/1?a=1&amp;b=&#50; </loc><lastmod>2026-01-01</lastmod>
    <image:image><image:loc>http://a.example/1.png</image:loc></image:image></url>
  <url>
    <image:image><image:loc>http://a.example/2.png</image:loc></image:image>
    <loc><![CDATA[http://a.example/2?a&b]]></loc>
  </url>
</urlset>"#;
const TWO_PAGES: [&str; 2] = ["http://a.example/1?a=1&b=2", "http://a.example/2?a&b"];

#[test]
fn pages_of_a_set_are_found_and_their_images_are_not() {
    assert_eq!(pages(TWO), TWO_PAGES);
    assert_eq!(pages(format!("\u{feff}\n{TWO}")), TWO_PAGES);
    assert_eq!(
        pages(
            TWO.replace("<url", "<s:url")
                .replace("<loc", "<s:loc")
                .replace("/url>", "/s:url>")
                .replace("/loc>", "/s:loc>")
        ),
        TWO_PAGES
    );
}

#[test]
fn a_page_has_its_date_and_its_alternates_in_any_order() {
    let set = r#"<urlset xmlns:xhtml="http://www.w3.org/1999/xhtml">
        <url><lastmod>2026-01-02</lastmod><loc>http://a.example/en</loc>
            <xhtml:link rel="alternate" hreflang="de" href="http://a.example/de?a&amp;b"/>
            <xhtml:link rel="stylesheet" href="http://a.example/x.css"/></url>
        <url><xhtml:link rel="alternate" media="(max-width: 640px)" href="http://m.a.example/"></xhtml:link>
            <loc>http://a.example/</loc><lastmod> 2026-01-03T04:05:06Z </lastmod></url>
        <url><lastmod>2020-01-01</lastmod></url>
        <url><loc>http://a.example/plain</loc><lastmod></lastmod>"#;
    let alternate = |language: Option<&str>, url: &str| Alternate {
        language: language.map(str::to_owned),
        url: url.to_owned(),
    };
    let page = |url: &str, last_modified: Option<&str>, alternates| {
        SitemapEntry::Page(SitemapPage {
            url: url.to_owned(),
            last_modified: last_modified.map(str::to_owned),
            alternates,
        })
    };
    let german = alternate(Some("de"), "http://a.example/de?a&b");
    let mobile = alternate(None, "http://m.a.example/");
    let expected = [
        page("http://a.example/en", Some("2026-01-02"), vec![german]),
        page(
            "http://a.example/",
            Some("2026-01-03T04:05:06Z"),
            vec![mobile],
        ),
        page("http://a.example/plain", None, Vec::new()),
    ];
    assert_eq!(entries(set), expected);
}

#[test]
fn dates_and_alternates_are_bounded() {
    let link = r#"<xhtml:link rel="alternate" hreflang="de" href="http://a.example/de"/>"#;
    let set = format!(
        "<urlset><url><loc>http://a.example/</loc><lastmod>{}</lastmod>{}</url></urlset>",
        "2".repeat(LAST_MODIFIED_BYTES_MAX + 1),
        link.repeat(ALTERNATES_MAX + 1)
    );
    let found = entries(set);
    let [SitemapEntry::Page(page)] = &found[..] else {
        panic!("{} entries", found.len())
    };
    assert_eq!(page.last_modified, None);
    assert_eq!(page.alternates.len(), ALTERNATES_MAX);
}

#[test]
fn a_file_may_be_compressed_or_utf_16() {
    assert_eq!(pages(gzip(TWO.as_bytes())), TWO_PAGES);
    let halves: Vec<u8> = [&TWO[..200], &TWO[200..]]
        .iter()
        .flat_map(|half| gzip(half.as_bytes()))
        .collect();
    assert_eq!(pages(halves), TWO_PAGES);
    let wide = "\u{feff}".chars().chain(TWO.chars());
    let wide: Vec<u8> = wide
        .flat_map(|character| (character as u16).to_le_bytes())
        .collect();
    assert_eq!(pages(wide), TWO_PAGES);
}

#[test]
fn an_index_names_sitemaps() {
    let index = "<sitemapindex><sitemap><loc>http://a.example/s1.xml.gz</loc></sitemap>\
        <sitemap><lastmod/><loc>http://a.example/s2.xml</loc></sitemap></sitemapindex>";
    let sitemap = |name: &str| SitemapEntry::Sitemap(format!("http://a.example/{name}"));
    assert_eq!(entries(index), [sitemap("s1.xml.gz"), sitemap("s2.xml")]);
}

#[test]
fn a_text_file_has_one_url_per_line() {
    let text = "\u{feff}http://a.example/1\r\n\n  https://a.example/2  \nftp://a.example/\nnonsense\nhttp://a.example/3";
    assert_eq!(
        pages(text),
        [
            "http://a.example/1",
            "https://a.example/2",
            "http://a.example/3"
        ]
    );
    let long = format!(
        "http://a.example/{}\nhttp://a.example/x\n",
        "a".repeat(1_000_000)
    );
    assert_eq!(pages(long), ["http://a.example/x"]);
}

#[test]
fn feeds_name_the_pages_of_their_entries() {
    let rss = "<rss><channel><link>http://a.example/</link><item><title>t</title><link>http://a.example/1</link></item></channel></rss>";
    assert_eq!(pages(rss), ["http://a.example/1"]);
    let atom = "<feed><link href='http://a.example/'/><entry><link rel='self' href='http://a.example/f'/>\
        <link href='http://a.example/1?a=1&amp;b'/><link rel='alternate' href='http://a.example/2'/></entry></feed>";
    assert_eq!(
        pages(atom),
        ["http://a.example/1?a=1&b", "http://a.example/2"]
    );
}

#[test]
fn a_broken_file_yields_the_entries_before_the_fault() {
    let cut = TWO.find("CDATA").expect("there");
    assert_eq!(pages(&TWO[..cut]), TWO_PAGES[..1]);
    let zipped = gzip(TWO.repeat(50).as_bytes());
    let found = pages(&zipped[..zipped.len() - 60]);
    assert!(!found.is_empty() && found.len() <= 100);
    // Unclosed elements do not hide the entries after them.
    let open = "<urlset><url><lastmod><loc>http://a.example/0</loc></url><url><loc>http://a.example/1</loc></url></urlset>";
    assert_eq!(pages(open), ["http://a.example/1"]);
    let wrong = "<urlset></b></a><url><loc>http://a.example/a&b</loc></url>";
    assert_eq!(pages(wrong), ["http://a.example/a&b"]);
    assert!(pages("").is_empty());
    assert!(pages("<").is_empty());
    assert!(pages(&b"\x1f\x8b"[..]).is_empty());
    assert!(pages("<html><body><a href='/x'>no sitemap</a></body></html>").is_empty());
}

#[test]
fn text_in_another_character_set_hides_no_entries() {
    let latin = b"<rss><channel><title>caf\xe9</title><item><title>\xe9</title><link>http://a.example/1</link></item>\
        <item><link>http://a.example/2</link></item></channel></rss>";
    assert_eq!(
        pages(&latin[..]),
        ["http://a.example/1", "http://a.example/2"]
    );
    let lines = b"http://a.example/1\n\xe9\nhttp://a.example/2";
    assert_eq!(pages(&lines[..]).len(), 2);
    let declared = b"<?xml version='1.0' encoding='iso-8859-1'?><urlset><url><loc>http://a.example/\xe9</loc></url></urlset>";
    assert_eq!(pages(&declared[..]), ["http://a.example/\u{e9}"]);
}

#[test]
fn entities_are_not_expanded() {
    let bomb = "<!DOCTYPE urlset [<!ENTITY a 'aaaaaaaaaa'><!ENTITY b '&a;&a;&a;&a;'><!ENTITY x SYSTEM 'file:///etc/passwd'>]>\
        <urlset><url><loc>http://a.example/&b;&x;</loc></url></urlset>";
    assert_eq!(pages(bomb), ["http://a.example/&b;&x;"]);
}

#[test]
fn urls_that_are_too_long_are_skipped() {
    let set = |len: usize| format!("<urlset><url><loc>{}</loc></url></urlset>", "a".repeat(len));
    assert_eq!(pages(set(URL_BYTES_MAX)).len(), 1);
    assert!(pages(set(URL_BYTES_MAX + 1)).is_empty());
    assert!(pages(set(5_000_000)).is_empty());
}

#[test]
fn a_decompression_bomb_ends_at_the_size_limit() {
    let entry = "<url><loc>http://a.example/1234567890</loc></url>\n";
    let body = format!("<urlset>{}", entry.repeat(1_200_000));
    let found = entries(gzip(body.as_bytes())).len() as u64;
    let fit = FILE_BYTES_MAX / entry.len() as u64;
    assert!((fit - 2..=fit).contains(&found), "{found} of {fit}");
}

#[test]
fn a_url_of_one_byte_too_many_in_a_text_file_is_dropped() {
    let longest = format!("http://a.example/{}", "x".repeat(URL_BYTES_MAX - 17));
    assert_eq!(
        pages(format!("{longest}\nhttp://b.example/")),
        [&longest, "http://b.example/"]
    );
    assert_eq!(
        pages(format!("{longest}y\nhttp://b.example/")),
        ["http://b.example/"]
    );
}
