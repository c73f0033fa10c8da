//! The scanner compared with the parsed document, and the fast path compared with the `url` crate.

use std::collections::HashMap;

use proptest::prelude::*;

use super::super::tests::doc_pages;
use super::super::{ParseLimits, kind, namespace, parse};
use super::*;
use crate::resolve;

pub(super) fn page_url() -> Url {
    Url::parse("https://site.example/a/b?q").expect("a URL")
}

fn scanned(html: &str) -> Vec<(String, bool)> {
    let found = scan(&Page::html(html, &page_url()));
    assert_eq!(found.n_dropped, 0);
    found
        .iter()
        .map(|(link, nofollow)| (link.to_owned(), nofollow))
        .collect()
}

#[test]
fn the_first_canonical_url_is_noted() {
    let canonical = |html: &str| scan(&Page::html(html, &page_url())).canonical;
    let absolute = |path: &str| page_url().join(path).expect("a URL").to_string();
    let links = "<base href='/b/'><link rel=next href=n><link rel='x Canonical' href='c?a&amp;b#d'><link rel=canonical href=e>";
    assert_eq!(canonical(links), Some(absolute("/b/c?a&b")));
    for none in [
        "<link rel=next href=n>",
        "<template><link rel=canonical href=c></template>",
        "<link rel=canonical href=mailto:a>",
        "<link rel=canonical>",
    ] {
        assert_eq!(canonical(none), None, "{none}");
    }
}

#[track_caller]
fn check(html: &str, expected: &[&str]) {
    let found = scanned(html);
    let links: Vec<&str> = found.iter().map(|(link, _)| link.as_str()).collect();
    assert_eq!(links, expected, "{html}");
}

/// The links of the parsed document, resolved by the `url` crate.
pub(super) fn from_tree(html: &str, url: &Url) -> Vec<(String, bool)> {
    let document = parse(&Page::html(html, url), &ParseLimits::default()).expect("within limits");
    let base = Url::parse(&document.base).expect("a base is a URL");
    let mut links: Vec<(String, bool)> = Vec::new();
    let mut indices = HashMap::new();
    let mut page_nofollow = false;
    let mut node = 0;
    while node < document.kinds.len() {
        let here = node;
        node += 1;
        match document.kinds[here] {
            kind::TEMPLATE_CONTENTS => node = document.ends[here] as usize,
            kind::ELEMENT => {
                let space = document.name_spaces[document.names[here] as usize];
                let is_html = space == namespace::HTML;
                let of = |wanted: &str| {
                    let mut attributes = document.attributes(here);
                    attributes.find_map(|(name, value)| (name == wanted).then_some(value))
                };
                let rel = of("rel").unwrap_or("").to_ascii_lowercase();
                let rel: Vec<&str> = rel.split_ascii_whitespace().collect();
                let content = of("content").unwrap_or("");
                let href = match document.name(here) {
                    "a" if space == namespace::SVG => of("href").or(of("xlink:href")),
                    _ if !is_html => None,
                    "a" | "area" => of("href"),
                    "iframe" | "frame" => of("src"),
                    "link" => {
                        let is_html = of("type").is_none_or(|name| name == "text/html");
                        let is_page = ["next", "prev", "canonical"]
                            .iter()
                            .any(|page| rel.contains(page));
                        let is_alternate =
                            is_html && rel.contains(&"alternate") && !rel.contains(&"stylesheet");
                        of("href").filter(|_| is_page || is_alternate)
                    }
                    "meta" if of("http-equiv") == Some("refresh") => {
                        meta::refresh(content).map(|refresh| refresh.target)
                    }
                    "meta" if of("name") == Some("robots") => {
                        page_nofollow |= meta::forbids_following(content);
                        None
                    }
                    _ => None,
                };
                let nofollow =
                    matches!(document.name(here), "a" | "area") && rel.contains(&"nofollow");
                let Some(link) = href.and_then(|href| resolved(&base, url, href)) else {
                    continue;
                };
                match indices.get(&link) {
                    Some(&index) => {
                        let entry: &mut (String, bool) = &mut links[index];
                        entry.1 &= nofollow;
                    }
                    None => {
                        indices.insert(link.clone(), links.len());
                        links.push((link, nofollow));
                    }
                }
            }
            _ => {}
        }
    }
    links.iter_mut().for_each(|link| link.1 |= page_nofollow);
    links
}

/// A link of a page, resolved by the `url` crate.
pub(super) fn resolved(base: &Url, page: &Url, href: &str) -> Option<String> {
    let trimmed = href.trim_matches(|character| character <= ' ');
    let mut url = resolve::join(base, href)?;
    url.set_fragment(None);
    let mut page = page.clone();
    page.set_fragment(None);
    let mut own = base.clone();
    own.set_fragment(None);
    if (trimmed.is_empty() || trimmed.starts_with('#')) && own == page {
        return None;
    }
    let _ = url.set_username("");
    let _ = url.set_password(None);
    matches!(url.scheme(), "http" | "https").then(|| url.into())
}

#[test]
fn links_are_absolute_in_page_order_each_once() {
    check(
        "<a href='c'>1</a><map><area href=//other.example></map><a href=' /d\n'>2</a><A HREF=./c#x>3</A><a href='?r&amp;s=1'>4</a>",
        &[
            "https://site.example/a/c",
            "https://other.example/",
            "https://site.example/d",
            "https://site.example/a/b?r&s=1",
        ],
    );
}

#[test]
fn frames_and_links_in_the_head_count_too() {
    check(
        "<link rel=Canonical href=1><link rel='x next' href=2><link rel=prev href=3><link rel=alternate href=4>\
         <link rel='alternate stylesheet' href=no><link rel=alternate type=application/rss+xml href=no><link rel=icon href=no><meta http-equiv=Refresh content='0; URL=\"5\"'>\
         <frame src=6><iframe src=7><a href=no></iframe>",
        &[1, 2, 3, 4, 5, 6, 7]
            .map(|n| format!("https://site.example/a/{n}"))
            .iter()
            .map(String::as_str)
            .collect::<Vec<_>>(),
    );
}

#[test]
fn text_that_is_no_markup_contains_no_links() {
    for html in [
        "<!-- <a href=no> --><a href=x>",
        "<!-- <a href=no> --!><a href=x>",
        "<!--><a href=x>-->",
        "<script>'<a href=no>'</script><a href=x>",
        "<script><!--<script></script><a href=no></script>--></script><a href=x>",
        "<style><a href=no></style><a href=x>",
        "<textarea><a href=no></textarea ><a href=x>",
        "<TITLE><a href=no></Title><a href=x>",
        "<xmp><a href=no></xmp><noembed><a href=no></noembed><noframes><a href=no></noframes><a href=x>",
        "<template><a href=no><template></template><a href=no></template><a href=x>",
        "<svg><![CDATA[<a href=no>]]></svg><a href=x>",
        "<svg><style/><a href=x></a></svg>",
        "<svg/><style><a href=no></style><a href=x>",
        "<p title='<a href=no>'><a href=x>",
        "</p title='<a href=no>'><a href=x>",
        "<p a\"b><a href=x>",
        "<a href=x><plaintext><a href=no>",
        "<a href=x><a href='no",
        "<a href=x><!-- <a href=no>",
        "<a href=x><![CDATA[<a href=no]]>",
        "<noscript><a href=x></noscript>",
        "<a\r\nhref=x\r\n>",
        "<a href=x href=no>",
        "<a href=\"x\"title=é>é</a><é href=no></é>",
        "<?xml <a href=no><a href=x>",
        "<a/href=x>",
        "< a href=no><a href=x>",
    ] {
        check(html, &["https://site.example/a/x"]);
        assert_eq!(scanned(html), from_tree(html, &page_url()), "{html}");
    }
}

#[test]
fn the_first_base_applies_wherever_it_is() {
    for html in [
        "<base href=/d/><base href=/e/><a href=x>",
        "<a href=x><base href=/d/><base href=/e/>",
        "<base target=_top><template><base href=/f/></template><a href=x><base href=/d/>",
    ] {
        check(html, &["https://site.example/d/x"]);
    }
    check(
        "<base href='http://['><base href=/d/><a href=x>",
        &["https://site.example/a/x"],
    );
    check("<base href=mailto:a@b.example><a href=x>", &[]);
}

#[test]
fn foreign_content_has_no_raw_text() {
    for html in [
        "<svg><title><a href=x>",
        "<svg><style><a href=x></style></svg>",
        "<math><script></script></math><svg><script><a href=x>",
        "<svg><a xlink:href=x>",
        "<svg><a xlink:href=no href=x>",
        "<a xlink:href=no><a href=x>",
        "<math><a href=no></a></math><a href=x>",
        "<svg><p><style><a href=no></style></p><a href=x>",
        "<svg><foreignObject><style><a href=no></style></foreignObject><style><a href=x>",
        "<svg><desc/><style><a href=x></style>",
        "<svg><iframe src=no></iframe><link rel=next href=no></svg><a href=x>",
        "<svg><svg></svg><style><a href=x></style></svg>",
        "<svg></math><style><a href=x></style></svg>",
    ] {
        check(html, &["https://site.example/a/x"]);
        assert_eq!(scanned(html), from_tree(html, &page_url()), "{html}");
    }
}

#[test]
fn shadow_trees_contain_links() {
    for html in [
        "<x-a><template shadowrootmode=open><a href=x></a></template></x-a>",
        "<p><template shadowrootmode='closed'><a href=x></a></template></p>",
        "<x-a><template shadowrootmode=open><template><a href=no></a></template><a href=x></a></template></x-a>",
        "<template><x-a><template shadowrootmode=open><a href=no></a></template></x-a></template><a href=x>",
        "<template shadowrootmode=other><a href=no></a></template><a href=x>",
    ] {
        check(html, &["https://site.example/a/x"]);
        assert_eq!(scanned(html), from_tree(html, &page_url()), "{html}");
    }
}

#[test]
fn the_base_is_another_page() {
    check(
        "<base href=/dir/><a href='#x'>",
        &["https://site.example/dir/"],
    );
    check(
        "<base href=/dir/?r><a href>",
        &["https://site.example/dir/?r"],
    );
    check("<base href='/a/b?q#x'><a href='#y'><a href=''>", &[]);
    check("<base href='mailto:a@b.example'><a href='#y'>", &[]);
}

#[test]
fn a_link_is_resolved_by_the_standard() {
    check(
        "<a href='///h.example/x'><a href='/a^b'><a href='/a?b #x'>",
        &[
            "https://h.example/x",
            "https://site.example/a%5Eb",
            "https://site.example/a?b%20",
        ],
    );
}

#[test]
fn links_that_are_written_often_are_resolved_alike() {
    let mut html = String::new();
    for n in 0..2_000 {
        let rel = if n % 3 == 0 { "rel=nofollow" } else { "" };
        html += &format!("<a href='p{}.html#{n}' {rel}>", n % 700);
    }
    html += "<a href='xy '><a href='xy #1'><a href='xy#2' rel=nofollow><a href=' xy'><a href='./xy'>\
             <a href='a\nb'><a href='a\nb#c'><a href='../a/xy'><a href='#xy'><a href='HTTP://b/#c'>";
    assert_eq!(scanned(&html), from_tree(&html, &page_url()));
}

#[test]
fn a_query_is_in_the_character_set_of_the_page() {
    let url = page_url();
    for (charset, expected) in [
        ("windows-1251", "%EB%EE%E4%EA%E0"),
        ("koi8-r", "%CC%CF%C4%CB%C1"),
        ("utf-8", "%D0%BB%D0%BE%D0%B4%D0%BA%D0%B0"),
        ("utf-16le", "%D0%BB%D0%BE%D0%B4%D0%BA%D0%B0"),
    ] {
        let html = "<a href='/п?q=лодка#к'><base href='/д?лодка'><a href='#x'>\
                    <meta http-equiv=refresh content='0;url=?лодка'>";
        let page = Page {
            charset,
            ..Page::html(html, &url)
        };
        let found = scan(&page);
        let links: Vec<&str> = found.iter().map(|link| link.0).collect();
        let expected = [
            format!("https://site.example/%D0%BF?q={expected}"),
            format!("https://site.example/%D0%B4?{expected}"),
        ];
        assert_eq!(links, expected, "{charset}");
        let document = parse(&page, &ParseLimits::default()).expect("within limits");
        assert_eq!(document.base, expected[1]);
        let a = document.elements_named("a").next().expect("a link");
        let (_, href) = document.attributes(a).next().expect("an attribute");
        let base = Url::parse(&document.base).expect("a URL");
        assert_eq!(resolved(&base, &url, href).as_ref(), Some(&expected[0]));
    }
}

#[test]
fn a_link_is_nofollow_only_if_all_its_occurrences_are() {
    let flags = |html: &str| -> Vec<bool> { scanned(html).iter().map(|link| link.1).collect() };
    assert_eq!(
        flags("<a href=1 rel='noopener NoFollow'><a href=2>"),
        [true, false]
    );
    assert_eq!(flags("<a href=1 rel=nofollow><a href='./1'>"), [false]);
    assert_eq!(
        flags("<a href=1><meta name=ROBOTS content='noindex, nofollow'>"),
        [true]
    );
    assert_eq!(flags("<meta name=robots content=none><a href=1>"), [true]);
    assert_eq!(
        flags("<meta name=robots content=nofollow><base href=/d/><a href=1>"),
        [true]
    );
}

#[test]
fn what_is_said_to_one_crawler_is_a_robots_tag() {
    let url = page_url();
    let tags = |html: &str| {
        let found = scan(&Page::html(html, &url));
        assert!(found.iter().all(|(_, nofollow)| !nofollow), "{html}");
        found.robots_tags
    };
    assert_eq!(
        tags("<meta name=' Own-Bot ' content='noindex,nofollow'><base href=/d/><a href=1>"),
        ["Own-Bot: nofollow"]
    );
    assert_eq!(
        tags("<a href=1><base href=/d/><meta name=own content=none>"),
        ["own: nofollow"]
    );
    for html in [
        "<a href=1><meta name=own content=noindex>",
        "<a href=1><meta name='own, other: x' content=nofollow>",
        "<a href=1><meta name='' content=nofollow>",
    ] {
        assert!(tags(html).is_empty(), "{html}");
    }
    let many = "<meta name=own content=nofollow>".repeat(1_000);
    assert_eq!(tags(&many).len(), 20);
}

#[test]
fn refreshes_are_read_as_browsers_read_them() {
    for (content, expected) in [
        ("5", None),
        ("0;url=x", Some((0, "x"))),
        (" 5 ; URL = 'x y' z", Some((5, "x y"))),
        ("0, x", Some((0, "x"))),
        ("1.5;url=\"x", Some((1, "x"))),
        (".5 url=x", Some((0, "x"))),
        ("0;urlx", Some((0, "urlx"))),
        ("0;url", Some((0, "url"))),
        ("99999999999999999999;x", Some((u64::MAX, "x"))),
        ("x;url=y", None),
        ("0x;url=y", None),
        ("0;url=", None),
        ("0;é", Some((0, "é"))),
        ("", None),
    ] {
        let found = meta::refresh(content).map(|found| (found.seconds, found.target));
        assert_eq!(found, expected, "{content}");
    }
}

#[test]
fn only_web_links_count_and_their_number_is_bounded() {
    check(
        "<a href='mailto:a@b.example'><a href=' java\nscript:x()'><a href=tel:1><a href='http://['><a href='#top'><a href><a>",
        &[],
    );
    let many: String = (0..=LINKS_MAX).map(|n| format!("<a href={n}>")).collect();
    let found = scan(&Page::html(&many, &page_url()));
    assert_eq!((found.len(), found.n_dropped), (LINKS_MAX, 1));
    let long =
        Url::parse(&format!("https://site.example/{}/", "x".repeat(1 << 20))).expect("a URL");
    let found = scan(&Page::html(&many, &long));
    assert_eq!(found.len() + found.n_dropped as usize, LINKS_MAX + 1);
    assert!(found.len() < 20);
}

#[test]
fn hostile_pages_are_scanned_in_time() {
    const N: usize = 200_000;
    for part in [
        "<a href=\u{e9}:/>",
        "<title>",
        "<!--",
        "<a href='",
        "<svg><![CDATA[",
        "<script><!--<script>",
        "<a href=../../../x>",
        "<base href=x><a href=x>",
        "<svg>",
        "<svg><desc>",
        "<svg></math>",
        "<svg><p>",
        "<p a=1 ",
        "</",
    ] {
        let started = std::time::Instant::now();
        scan(&Page::html(&part.repeat(N), &page_url()));
        assert!(started.elapsed().as_secs() < 10, "{part}");
    }
}

#[test]
fn real_pages_have_the_links_of_their_tree() {
    /// As many as the benchmarks use.
    const PAGES: usize = 66;
    let pages = doc_pages(PAGES);
    if pages.is_empty() {
        eprintln!(
            "skipped: the toolchain's documentation is not installed (`rustup component add rust-docs`)"
        );
    }
    for page in &pages {
        assert_eq!(scanned(page), from_tree(page, &page_url()));
    }
}

/// Parts of pages that mean the same in any order.
const PARTS: &[&str] = &[
    "<a href=x>t</a>",
    "<A HREF='../y?a=1&amp;b=2#f' REL=nofollow>t</A>",
    "<a href=\"http://other.example/z\" class=\"a b\">t</a>",
    "<div title='<a href=no>'>t</div>",
    "<p>t &lt; u",
    "<!-- <a href=no> -->",
    "<script>if (a < b) '<a href=no>'</script>",
    "<style>a > b {}</style>",
    "<textarea><a href=no></textarea>",
    "<template><a href=no></template>",
    "<svg><a href=s><title>t</title></a><path d='M0 0'/></svg>",
    "<svg><a xlink:href=u rel=nofollow><text>t</text></a></svg>",
    "<svg><style><a href=v></a></style><desc><style><a href=no></style></desc></svg>",
    "<math><mi><a href=w>t</a></mi><a href=no></a></math>",
    "<div><template shadowrootmode=open><a href=d>t</a></template></div>",
    "<iframe src=/i></iframe>",
    "<noscript><a href=n>t</a></noscript>",
    "<area href='/\n m'>",
    "<img src=no alt='>'>",
    "<br/>",
    "\u{e9}\u{1f600}",
    "<meta name=robots content=nofollow>",
    "<link rel=next href=//h.example>",
    "<base href=/other/>",
    "\r\n",
];

/// Parts of URLs.
const REFERENCES: &[&str] = &[
    "a",
    "b.html",
    "/",
    "//",
    "./",
    "../",
    "..",
    ".",
    "?",
    "q=1",
    "&",
    "=",
    "#",
    "f",
    ":",
    "http:",
    "https:",
    "http://",
    "HTTPS://",
    "host.example",
    "1.2.3",
    "0x7f",
    "xn--a",
    "@",
    "%20",
    "%2e",
    "%2E%2e",
    "\\",
    " ",
    "\t",
    "\n",
    "\u{e9}",
    "'",
    "\"",
    "<",
    "{",
    "|",
    "^",
    "~",
    ";",
    ",",
    "..a",
    ".a",
    "[",
    "]",
    "*",
    "-",
    ":80",
    ":8080",
    "mailto:",
    "\u{0}",
    "localhost",
    "site.example",
    "https://site.example",
    "A",
    "+",
];

pub(super) const BASES: &[&str] = &[
    "https://site.example/",
    "https://site.example/a/b/c.html?q=1#f",
    "http://user:pass@site.example:8080/a//b",
    "http://127.0.0.1:80/x/",
    "https://[::1]/x",
    "https://site.example/a//",
    "https://site.example//",
    "https://site.example/a%20b/%C3%A9;x/y?",
    "ftp://site.example/a/b",
    "mailto:a@b.example",
    "data:text/html,x",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn well_formed_pages_have_the_links_of_their_tree(parts in prop::collection::vec(prop::sample::select(PARTS), 0..20)) {
        let html = parts.concat();
        prop_assert_eq!(scanned(&html), from_tree(&html, &page_url()), "{}", html);
    }

    #[test]
    fn broken_source_has_links_that_can_be_fetched_or_none(parts in prop::collection::vec(prop::sample::select(PARTS), 0..6), soup in "[<>/!a-c&;#='\" \n\u{e9}-]{0,60}", cut in 0..400usize) {
        let mut html = parts.concat();
        html.truncate(html.floor_char_boundary(cut));
        html += &soup;
        let links = scanned(&html);
        prop_assert!(links.len() <= html.matches('<').count(), "{}", html);
        for (link, _) in links {
            let url = Url::parse(&link).expect("links are absolute");
            prop_assert!(matches!(url.scheme(), "http" | "https"), "{} in {}", link, html);
            prop_assert!(url.fragment().is_none() && url.username().is_empty(), "{} in {}", link, html);
        }
    }

    #[test]
    fn links_resolve_as_the_url_crate_resolves_them(base in prop::sample::select(BASES), parts in prop::collection::vec(prop::sample::select(REFERENCES), 0..7)) {
        let base = Url::parse(base).expect("a URL");
        let href = parts.concat();
        let mut links = Links::new(Joiner::new(base.clone(), &base));
        links.take(&href, false);
        let found = links.into_discovered();
        let expected = resolved(&base, &base, &href);
        prop_assert_eq!(found.iter().next().map(|link| link.0), expected.as_deref(), "{} {:?}", base, href);
    }
}
