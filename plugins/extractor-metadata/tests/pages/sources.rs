//! The sources of each field.

use extractor_metadata::PageMetadata;
use serde_json::{Value, json};
use trawl_sdk::testkit;

fn metadata(html: &str) -> Value {
    let page = testkit::page(html).url("https://www.example.com/a/");
    page.extract::<PageMetadata>(json!({}))
        .expect("metadata never fails")
}

#[track_caller]
fn check(field: &str, html: &str, expected: Value) {
    assert_eq!(metadata(html)[field], expected, "{html}");
}

fn ld(json: &str) -> String {
    format!("<script type=application/ld+json>{json}</script>")
}

#[test]
fn all_values_are_flat_and_unknown_ones_are_omitted() {
    let html = format!(
        "<title>T</title><link rel=icon href=/i.png><link rel=alternate type=application/rss+xml href=f>{}<meta name=robots content=noindex>
         <meta name=viewport content=width=1><meta name=theme-color content=red><meta name=generator content=g><meta name=twitter:card content=c>
         <meta property=og:type content=article><meta property=og:url content=/u><meta property=article:section content=s>",
        ld(r#"{"@type": "Article", "author": [{"name": "A B"}], "datePublished": "2024-05-17", "headline": "H"}"#)
    );
    let Value::Object(found) = metadata(&html) else {
        panic!("metadata is an object");
    };
    let is_flat = |value: &Value| match value {
        Value::Array(values) => values.iter().all(Value::is_string),
        other => !other.is_object(),
    };
    assert!(found.values().all(is_flat), "{found:?}");
    for (field, expected) in [
        ("headline", "H"),
        ("robots", "noindex"),
        ("viewport", "width=1"),
        ("theme_color", "red"),
        ("generator", "g"),
        ("twitter_card", "c"),
        ("og_type", "article"),
        ("og_url", "https://www.example.com/u"),
        ("section", "s"),
        ("author", "A B"),
        ("published_time", "2024-05-17"),
    ] {
        assert_eq!(found[field], expected, "{field}");
    }
    assert_eq!(found.get("modified_time"), None);
}

#[test]
fn structured_data_takes_precedence_for_the_author() {
    check(
        "author",
        &ld(
            r#"{"@type": "NewsArticle", "author": [{"@type": "Person", "name": "Ada &amp; Co"}, "Bob"]}"#,
        ),
        json!("Ada & Co; Bob"),
    );
    check(
        "author",
        &ld(
            r##"{"@graph": [{"@type": "BlogPosting", "author": {"@id": "#ada"}}, {"@type": "Person", "@id": "#ada", "name": "Ada Person"}]}"##,
        ),
        json!("Ada Person"),
    );
    for html in [
        "<meta name=author content='Ada Person'><p class=byline>By Other Person</p>",
        "<meta name=DC.creator content='Ada Person'>",
        "<meta property=article:author content=https://example.com/ada><meta name=parsely-author content='Ada Person'>",
        "<div itemscope><span itemprop=author itemscope>by <b itemprop=name>Ada Person</b></span></div>",
        "<a rel=author href=x>Ada Person</a>",
        "<p class='post-byline'>By <a>Ada Person</a><span>May 17, 2024</span></p>",
        "<p class=entry-author>Written by Ada Person on May 17</p>",
        "<h1>Title</h1><p>By <b>Ada Person</b></p>",
        "<h1>Title</h1><p>Written by Ada Person</p>",
        "<nav class=author>Menu</nav><h1>Title</h1><div class=comments><p class=author>Bob</p></div><p class=author>Ada Person</p>",
    ] {
        check("author", html, json!("Ada Person"));
    }
    assert_eq!(
        metadata("<h1>T</h1><p>By the way, this is a sentence.</p>").get("author"),
        None
    );
}

#[test]
fn several_authors_are_joined_without_those_of_comments() {
    check(
        "author",
        "<meta name=citation_author content='Ada P.'><meta name=citation_author content='Bob Q.'>",
        json!("Ada P.; Bob Q."),
    );
    check(
        "author",
        "<div itemscope><i itemprop=author>Ada</i><i itemprop=author>Bob</i><div itemscope><i itemprop=author>Eve</i></div></div>",
        json!("Ada; Bob"),
    );
    check(
        "author",
        "<div itemscope itemtype=https://schema.org/Answer><i itemprop=author>Eve</i></div><div itemscope><i itemprop=author>Ada</i></div>",
        json!("Ada"),
    );
}

#[test]
fn a_person_is_preferred_to_a_site_that_names_itself() {
    check(
        "author",
        "<meta property=og:site_name content='The Site'><meta name=author content='The Site'><p class=byline>Ada Person</p>",
        json!("Ada Person"),
    );
    check(
        "author",
        "<meta property=og:site_name content='The Site'><meta name=author content='The Site'>",
        json!("The Site"),
    );
}

#[test]
fn structured_data_takes_precedence_for_the_publication_date() {
    for html in [
        &*ld(r#"{"@type": "Article", "datePublished": "2024-05-17"}"#),
        "<meta property=article:published_time content=2024-05-17><time datetime=2020-01-01>x</time>",
        "<meta name=citation_publication_date content=2024/05/17>",
        "<meta name=dcterms.date content=2024-05-17>",
        "<b itemprop=datePublished content=2024-05-17>x</b>",
        "<time datetime=2020-01-01 class=updated>x</time><time datetime=2024-05-17 class=published>x</time>",
        "<time datetime=2024-05-17>x</time>",
        "<p class=post-date>May 17, 2024</p>",
        "<p>May 17, 2024</p><h1>T</h1>",
        "<html lang=de><h1>T</h1><p>Von Ada, 17. Mai 2024</p>",
        "<html lang=fr><h1>T</h1><p>17/05/2024</p>",
    ] {
        check("published_time", html, json!("2024-05-17"));
    }
    let page = testkit::page("<time datetime=2020-01-01>x</time>")
        .url("https://example.com/2024/05/17/title");
    let found = page
        .extract::<PageMetadata>(json!({}))
        .expect("metadata never fails");
    assert_eq!(found["published_time"], "2024-05-17");
}

#[test]
fn a_date_that_a_sentence_tells_is_not_that_of_the_page() {
    for html in [
        "<h1>T</h1><p>This book assumes that you are using Rust 1.90.0 (released 2025-09-18) or later with <code>x</code>.",
        "<h1>T</h1><p>It was first released here on 18 September 2025.",
    ] {
        assert_eq!(metadata(html).get("published_time"), None, "{html}");
    }
}

#[test]
fn a_date_far_from_the_headline_needs_to_be_the_only_one() {
    let text = "<p>The river had been rising for three days when the council met.</p>".repeat(40);
    let comments = "<div><time datetime=2024-06-01>1</time></div><div><time datetime=2024-06-02>2</time></div>";
    let found = metadata(&format!("<h1>T</h1>{text}{comments}"));
    assert_eq!(found.get("published_time"), None);
    check(
        "published_time",
        &format!("<h1>T</h1><time datetime=2024-05-17>x</time>{text}{comments}"),
        json!("2024-05-17"),
    );
    let same = "<time datetime=2024-05-17T10:00>a</time><time datetime=2024-05-17T11:00>b</time>";
    check(
        "published_time",
        &format!("<h1>T</h1>{text}{same}"),
        json!("2024-05-17T10:00:00"),
    );
}

#[test]
fn the_dates_of_a_list_are_those_of_its_entries() {
    let entry = |at: u32| {
        format!(
            "<li class='result card'><a href=/job/{at}><h3>Job {at}</h3></a><time datetime=2024-05-{at}>{at} May</time>\
             <img src=/{at}.png><a class=tag href=/t>Tag</a></li>"
        )
    };
    let entries: String = (10..29).map(entry).collect();
    let html = format!(
        "<script type=application/ld+json>{{\"@type\": \"ItemList\"}}</script><h1>Jobs</h1>\
         <form class=filters><select></select><label>Place<input></label></form><ul class=results>{entries}</ul>\
         <nav class=pagination><a href=/2>2</a></nav>"
    );
    let page = testkit::page(&html).url("https://www.example.com/search/listing");
    let found = page
        .extract::<PageMetadata>(json!({}))
        .expect("metadata never fails");
    let is_list = ["listing", "collection"].contains(&found["page_type"].as_str().unwrap_or(""));
    assert!(is_list, "{found}");
    assert!(
        found["page_type_confidence"].as_f64() > Some(0.6),
        "{found}"
    );
    assert_eq!(found.get("published_time"), None, "{found}");
}

#[test]
fn the_modification_date_is_distinguished() {
    for html in [
        &*ld(r#"{"@type": "Article", "dateModified": "2024-05-17T10:00:00Z"}"#),
        "<meta property=article:modified_time content=2024-05-17T10:00:00Z>",
        "<meta http-equiv=last-modified content='2024-05-17 10:00:00 GMT'>",
        "<b itemprop=dateModified content=2024-05-17T10:00:00Z>x</b>",
        "<span class=updated><time datetime=2024-05-17T10:00:00Z>x</time></span>",
    ] {
        check("modified_time", html, json!("2024-05-17T10:00:00Z"));
        assert_eq!(metadata(html).get("published_time"), None, "{html}");
    }
}

#[test]
fn the_site_has_a_name_an_icon_and_feeds() {
    check(
        "site_name",
        "<meta property=og:site_name content=S>",
        json!("S"),
    );
    check(
        "site_name",
        &ld(r#"{"@type": "WebSite", "name": "S"}"#),
        json!("S"),
    );
    check(
        "site_name",
        &ld(r#"{"@type": "Article", "publisher": {"@type": "Organization", "name": "S"}}"#),
        json!("S"),
    );
    check(
        "icon",
        "<link rel='shortcut icon' href=/a.ico><link rel=icon sizes=32x32 href=/b.png><link rel=icon sizes='16x16' href=/c.png><link rel=apple-touch-icon sizes=180x180 href=/d.png>",
        json!("https://www.example.com/b.png"),
    );
    check(
        "icon",
        "<link rel=apple-touch-icon href=/d.png><link rel=mask-icon href=/m.svg>",
        json!("https://www.example.com/d.png"),
    );
    check(
        "feeds",
        "<link rel=alternate type=application/rss+xml href=/rss><link rel=alternate type='application/atom+xml; charset=utf-8' href=atom><link rel=alternate hreflang=de href=/de>",
        json!([
            "https://www.example.com/rss",
            "https://www.example.com/a/atom"
        ]),
    );
}

#[test]
fn the_language_is_found_in_many_places() {
    for html in [
        "<html lang=de-AT>",
        "<html xml:lang=de-AT>",
        "<meta http-equiv=content-language content='de-AT, en'>",
        "<meta property=og:locale content=de_AT>",
        &*ld(r#"{"@type": "WebPage", "inLanguage": "de-AT"}"#),
    ] {
        check("language", html, json!("de-AT"));
    }
}

#[test]
fn the_canonical_url_may_come_from_the_preview() {
    check(
        "canonical",
        "<meta property=og:url content=/b><link rel=canonical href=/c>",
        json!("https://www.example.com/c"),
    );
    check(
        "canonical",
        "<meta property=og:url content=/b>",
        json!("https://www.example.com/b"),
    );
}

#[test]
fn the_headline_is_the_title_without_the_site() {
    check(
        "headline",
        "<title>A title of words | Example</title>",
        json!("A title of words"),
    );
    check(
        "headline",
        "<title>The Site - A title of words</title><meta property=og:site_name content='The Site'>",
        json!("A title of words"),
    );
    check(
        "headline",
        "<title>A title, in short - Site</title><h1>Site</h1><h1>A title, in short</h1>",
        json!("A title, in short"),
    );
    check(
        "headline",
        "<title>x</title><meta property=og:title content='A title of words'><h1>A title of other words</h1>",
        json!("A title of other words"),
    );
    assert_eq!(
        metadata("<title>A title</title><h1>A title</h1>").get("headline"),
        None
    );
}

#[test]
fn a_headline_in_the_main_part_is_preferred_to_the_name_of_a_book() {
    for (title, html, expected) in [
        (
            "E0620 - Error codes index",
            "<h1 class=menu-title>Error codes index</h1><main><h1>Error code E0620</h1></main>",
            Some("Error code E0620"),
        ),
        (
            "Closures - A book of Rust",
            "<h1>A book of Rust</h1><div role=main><h1>Functions without a name</h1></div>",
            Some("Functions without a name"),
        ),
        (
            "Closures - A book of Rust",
            "<main><h1>Functions</h1><h1>Their names</h1></main>",
            None,
        ),
        (
            "The site - All about kettles",
            "<h1>All about kettles</h1><p>No main part",
            Some("All about kettles"),
        ),
        (
            "Kettle X - Shop of kettles",
            "<header><h1>Kettle X</h1></header><main><h1>Reviews of Kettle X</h1></main>",
            Some("Kettle X"),
        ),
    ] {
        let html = format!("<title>{title}</title>{html}");
        let found = metadata(&html);
        let found = found.get("headline").and_then(Value::as_str);
        assert_eq!(found, expected, "{html}");
    }
}

#[test]
fn a_name_or_date_is_the_same_however_the_source_breaks_it() {
    for html in [
        "<div class=the-author>Ada\n    Person</div>",
        "<div class=the-author>Ada Per<!-- -->son</div>",
        "<div class=the-author>Ada <span>Per</span>son</div>",
        "<h1>T</h1><p>By Ad<!-- -->a Person</p>",
        "<h1>T</h1><p>By Ad<script>x</script>a <span>Person</span></p>",
        "<h1>T</h1><p>By\n Ada\n Person</p>",
    ] {
        check("author", html, json!("Ada Person"));
    }
    let description = "<p>She writes about walking.</p>".repeat(12);
    let card = format!("<div class=author-card><b>Ada Person</b>{description}</div>");
    check("author", &card, json!("Ada Person"));
    let indented = card.replace("><", ">\n                                        <!-- --><");
    check("author", &indented, json!("Ada Person"));
    for html in [
        "<h1>T</h1><p>Updated 3/0<!-- -->3/2026",
        "<h1>T</h1><p>Updated 3/<span>03</span>/2026",
        "<p class=post-date>March<!-- --> 3, 20<!-- -->26",
        "<p class=post-date>March\n3,\n2026",
    ] {
        check("published_time", html, json!("2026-03-03"));
    }
}

#[test]
fn a_headline_is_read_as_its_reader_sees_it() {
    check(
        "headline",
        "<title>Microsoft buys a farm | Site</title><h1>Micro<b>soft</b> buys\n a farm<a href=#x>¶</a></h1>",
        json!("Microsoft buys a farm"),
    );
}

#[test]
fn descriptions_keywords_and_images_have_other_sources_too() {
    check(
        "description",
        &ld(r#"{"@type": "Product", "description": "d"}"#),
        json!("d"),
    );
    check(
        "description",
        "<meta name=twitter:description content=d>",
        json!("d"),
    );
    check(
        "keywords",
        "<meta property=article:tag content=a><meta property=article:tag content=b>",
        json!(["a", "b"]),
    );
    check(
        "og_image",
        "<meta name=twitter:image content=/i.png>",
        json!("https://www.example.com/i.png"),
    );
}
