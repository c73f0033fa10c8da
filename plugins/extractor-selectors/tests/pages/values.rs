//! Values of fields: texts, URLs and results of XPath functions.

use extractor_selectors::Selectors;
use serde_json::{Value, json};
use trawl_sdk::testkit;

fn field(html: &str, selector: &str) -> Value {
    let page = testkit::page(html).url("https://shop.example/a/");
    let found = page.extract::<Selectors>(json!({"map": {"x": selector}}));
    found.expect("a selector that parses")["x"].clone()
}

#[track_caller]
fn check(html: &str, selector: &str, expected: Value) {
    assert_eq!(field(html, selector), expected, "{selector} of {html}");
}

#[test]
fn inline_markup_does_not_split_a_text() {
    for (html, expected) in [
        ("<p>$<!-- -->19<!-- -->.99</p>", "$19.99"),
        ("<p>Micro<b>soft</b>", "Microsoft"),
        ("<p>H<sub>2</sub>O", "H2O"),
        ("<p>see <a>this</a>.", "see this."),
        ("<p>super<wbr>cali", "supercali"),
        ("<p>中<b>文</b>字", "中文字"),
        ("<p>From&lt;<a>T</a>&gt;", "From<T>"),
    ] {
        check(html, "p", json!(expected));
        check(html, "//p", json!(expected));
    }
}

#[test]
fn blocks_cells_and_line_breaks_split_a_text() {
    check("<div>a<p>b</p>c<br>d</div>", "div", json!("a b c d"));
    check(
        "<table><tr><td>a<td>b<tr><td>c</table>",
        "table",
        json!("a b c"),
    );
    check("<dl><dt>a<dd>b</dl>", "dl", json!("a b"));
    check(
        "<nav><button>a</button><button>b</button></nav>",
        "nav",
        json!("a b"),
    );
}

#[test]
fn only_the_white_space_of_the_source_is_folded() {
    check("<p>1&nbsp;234&nbsp;€", "p", json!("1\u{a0}234\u{a0}€"));
    check("<p>東\u{3000}京", "p", json!("東\u{3000}京"));
    check("<p title=' a\u{a0}'>", "p@title", json!("a\u{a0}"));
}

#[test]
fn strings_of_xpath_are_as_in_a_browser() {
    check("<pre>a\n  b</pre>", "string(//pre)", json!("a\n  b"));
    check("", "concat('a','\u{a0}','b')", json!("a\u{a0}b"));
    check(
        "<p> a \u{a0} b </p>",
        "normalize-space(//p)",
        json!("a \u{a0} b"),
    );
    check("<p>a  b", "substring(//p, 2)", json!("  b"));
    for html in ["", "<h2></h2>", "<h2> </h2>"] {
        check(html, "string(//h2)", json!(null));
    }
}

#[test]
fn equal_texts_of_different_elements_stay() {
    let page = testkit::page("<table><tr><td>A<td>5<tr><td>B<td>5<tr><td>C<td>6</table>");
    let map = json!({"*": [
        {"name": "name", "selectors": ["td:first-child"]},
        {"name": "price", "selectors": ["td:last-child", "td + td", "//td[2]"]},
    ]});
    let found = page.extract::<Selectors>(json!({ "map": map }));
    assert_eq!(
        found,
        Ok(json!({"name": ["A", "B", "C"], "price": ["5", "5", "6"]}))
    );
}

#[test]
fn every_attribute_with_a_url_is_absolute() {
    for (html, name) in [
        ("<img data-src=b>", "data-src"),
        ("<img data-lazy-src=b>", "data-lazy-src"),
        ("<a data-href=b>", "data-href"),
        ("<object data=b></object>", "data"),
        ("<blockquote cite=b></blockquote>", "cite"),
        ("<td background=b>", "background"),
        ("<video poster=b></video>", "poster"),
        ("<img longdesc=b>", "longdesc"),
        ("<meta property=og:image content=b>", "content"),
        ("<meta name=twitter:player content=b>", "content"),
        ("<meta itemprop=thumbnailUrl content=b>", "content"),
        ("<div itemscope itemid=b></div>", "itemid"),
    ] {
        let html = format!("<table><tr>{html}");
        let absolute = json!("https://shop.example/a/b");
        check(
            &html,
            &format!("[{}]@{name}", name.replace(':', "\\:")),
            absolute.clone(),
        );
        check(&html, &format!("//@{name}"), absolute);
    }
    check(
        "<a ping='b /c'>",
        "a@ping",
        json!("https://shop.example/a/b https://shop.example/c"),
    );
    check(
        "<meta property=og:image content=b>",
        "meta",
        json!("https://shop.example/a/b"),
    );
}

#[test]
fn image_candidates_keep_their_descriptors() {
    check(
        "<img srcset=' b 1x, /c,d 2x,\n//e.example/f  (max,1) ,g'>",
        "img@srcset",
        json!(
            "https://shop.example/a/b 1x, https://shop.example/c,d 2x, https://e.example/f (max,1), https://shop.example/a/g"
        ),
    );
    check(
        "<img data-srcset='b, c'>",
        "img@data-srcset",
        json!("https://shop.example/a/b, https://shop.example/a/c"),
    );
    check("<img srcset=''>", "img@srcset", json!(""));
}

#[test]
fn other_attributes_stay_as_they_are() {
    for (html, selector, expected) in [
        ("<b data-original=19.99>", "b@data-original", "19.99"),
        ("<b data-image=red>", "b@data-image", "red"),
        ("<b data-src='{{a}}'>", "b@data-src", "{{a}}"),
        ("<b data=x>", "b@data", "x"),
        (
            "<meta property=og:image:width content=200>",
            "meta@content",
            "200",
        ),
        ("<meta property=og:title content=b>", "meta@content", "b"),
        ("<meta name=description content=b>", "meta", "b"),
    ] {
        check(html, selector, json!(expected));
    }
}
