use proptest::prelude::*;

use super::*;

fn links(html: &str) -> Vec<(String, bool)> {
    let url = Url::parse("https://a.example/dir/page?q=1").expect("an address");
    let found = scan(html, &url);
    found
        .iter()
        .map(|(url, nofollow)| (url.to_owned(), nofollow))
        .collect()
}

fn check(html: &str, expected: &[&str]) {
    let found = links(html);
    let found: Vec<&str> = found.iter().map(|(url, _)| url.as_str()).collect();
    assert_eq!(found, expected, "{html}");
}

#[test]
fn links_stand_in_these_elements() {
    check("<a href=one>", &["https://a.example/dir/one"]);
    check("<A\r\n HREF = '../two#x'>", &["https://a.example/two"]);
    check("<area href=/three alt=''>", &["https://a.example/three"]);
    check(
        "<iframe src=four><a href=no></iframe>",
        &["https://a.example/dir/four"],
    );
    check(
        "<frameset><frame src=five>",
        &["https://a.example/dir/five"],
    );
    check(
        "<link rel='next nofollow' href=six>",
        &["https://a.example/dir/six"],
    );
    check(
        "<link rel=canonical href=//b.example/c>",
        &["https://b.example/c"],
    );
    check(
        "<link rel=alternate hreflang=de href=/de>",
        &["https://a.example/de"],
    );
    check(
        "<link rel=alternate type=application/rss+xml href=/rss>",
        &[],
    );
    check("<link rel=stylesheet href=/css>", &[]);
    check(
        "<meta http-equiv=Refresh content=\"3; URL='/seven?a=1&amp;b=2'\">",
        &["https://a.example/seven?a=1&b=2"],
    );
    check("<meta http-equiv=refresh content=10>", &[]);
    check(
        "<a href=x><a href=./x><a href=x#y>",
        &["https://a.example/dir/x"],
    );
    check(
        "<a href='a&amp;b'><a href=' c\n'>",
        &["https://a.example/dir/a&b", "https://a.example/dir/c"],
    );
    check("<a href=one href=two>", &["https://a.example/dir/one"]);
    check("<a href=\"\">", &["https://a.example/dir/page?q=1"]);
    check(
        "<a href=mailto:x@y><a href='javascript:void(0)'><a href=ftp://a/>",
        &[],
    );
}

#[test]
fn what_is_text_is_no_link() {
    check(
        "<!-- <a href=x> --><a href=y>",
        &["https://a.example/dir/y"],
    );
    check(
        "<script>'<a href=x>'</script><style><a href=x></style>",
        &[],
    );
    check(
        "<textarea><a href=x></textarea><title><a href=x></title><xmp><a href=x></xmp>",
        &[],
    );
    check(
        "<template><a href=x><template></template></template><a href=y>",
        &["https://a.example/dir/y"],
    );
    check(
        "<noscript><a href=x></noscript>",
        &["https://a.example/dir/x"],
    );
    check(
        "<p title='<a href=x>'><p title=it's><a href=y>",
        &["https://a.example/dir/y"],
    );
    check("<a href=x", &[]);
    check("<a href='x>", &[]);
    check(
        "a < b <a href=y> </ <!doctype html><?x?><plaintext><a href=x>",
        &["https://a.example/dir/y"],
    );
    check(
        "<script><!-- <script> </script> <a href=x> --></script><a href=y>",
        &["https://a.example/dir/y"],
    );
}

#[test]
fn the_first_base_counts_for_all() {
    check(
        "<a href=x><base href=/up/><base href=/no/>",
        &["https://a.example/up/x"],
    );
    check(
        "<base target=y><base href=http://b.example/><a href=x>",
        &["http://b.example/x"],
    );
    check("<base href=data:x><a href=x>", &["https://a.example/dir/x"]);
}

#[test]
fn nofollow_is_told_unless_another_link_does_not_say_it() {
    let found = links("<a href=x rel='a NoFollow'><a href=y><a href=z rel=nofollow><a href=z>");
    let flags: Vec<bool> = found.iter().map(|(_, nofollow)| *nofollow).collect();
    assert_eq!(flags, [false, false, true]);
    assert!(found[2].0.ends_with("/x"));
    assert!(links("<meta name=robots content='noindex, nofollow'><a href=x>")[0].1);
    assert!(links("<meta name=robots content=none><a href=x>")[0].1);
    assert!(!links("<meta name=robots content=index><a href=x>")[0].1);
}

#[test]
fn a_page_has_so_many_links_and_no_more() {
    let many: String = (0..LINKS_MAX + 10)
        .map(|n| format!("<a href={n}>"))
        .collect();
    let found = scan(&many, &Url::parse("http://a.example/").expect("an address"));
    assert_eq!((found.len(), found.n_dropped), (LINKS_MAX, 10));
}

/// What a browser would follow, from the parsed tree.
fn by_tree(html: &str, page: &Url) -> std::collections::BTreeSet<String> {
    let tree = scraper::Html::parse_document(html);
    let selector = |css| scraper::Selector::parse(css).expect("a selector");
    let base = tree.select(&selector("base[href]")).next();
    let base = base.and_then(|base| page.join(base.attr("href")?).ok());
    let base = base.filter(is_web).unwrap_or_else(|| page.clone());
    let with_href = selector("a[href], area[href]");
    tree.select(&with_href)
        .filter_map(|element| base.join(element.attr("href")?).ok())
        .filter(is_web)
        .map(|mut url| {
            url.set_fragment(None);
            let _ = url.set_username("");
            let _ = url.set_password(None);
            url.into()
        })
        .collect()
}

proptest! {
    #[test]
    fn by_hand_and_by_the_book_are_the_same(
        base in prop::sample::select(vec![
            "https://a.example/", "http://a.example:81/x/y/z.html?q#f", "https://a.example/a/b/", "http://[::1]/x", "http://127.0.0.1:8000/d/e",
        ]),
        link in "(http|https|mailto|//|/|\\.\\./|\\./|\\?|x|\\.)?[a-zA-Z0-9:/.?=&%#@ü ~'\\-_]{0,24}",
    ) {
        let url = Url::parse(base).expect("an address");
        let base = Base::new(&url);
        prop_assert_eq!(base.resolve(&link), base.by_the_book(&link), "{}", link);
    }

    #[test]
    fn generated_pages_have_the_links_of_their_trees(
        parts in prop::collection::vec(prop::sample::select(vec![
            "<p>", "</p>", "text ", "<a href=\"x1\">", "</a>", "<a class=b href='../x2?y=1&amp;z'>", "<div title=\"a > b\">", "</div>",
            "<!-- <a href=no> -->", "<script>if (a < b) { '<a href=no>' }</script>", "<a href=/x3#f>", "<img alt='>' src=i>", "<br/>",
            "<a\nhref\n=\nx4 >", "<title>t <a href=no></title>", "<textarea><a href=no></textarea>", "<area href=x5>", "&lt;a href=no&gt;",
            "<a data-x=\"<a href=no>\" href=\"http://b.example/q\">", "<ul><li>", "</ul>", "<h1>ü</h1>", "<a href>", "<a href=mailto:m>",
        ]), 0..40),
    ) {
        let html = format!("<!doctype html><html><head></head><body>{}</body></html>", parts.concat());
        let page = Url::parse("https://a.example/dir/page").expect("an address");
        let found: std::collections::BTreeSet<String> =
            scan(&html, &page).iter().map(|(url, _)| url.to_owned()).collect();
        prop_assert_eq!(found, by_tree(&html, &page));
    }

    #[test]
    fn any_text_is_scanned(text in "(?s)[<>a-c/!\\-=\"' \\n&;ü]{0,200}") {
        let page = Url::parse("https://a.example/").expect("an address");
        let _ = scan(&text, &page);
    }
}
