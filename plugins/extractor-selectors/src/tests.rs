use serde_json::{Value, json};
use trawl_sdk::{Failure, testkit};

use super::{MATCHES_MAX, Selectors, TEXT_BYTES_MAX};

const PAGE: &str = "<!DOCTYPE html><title>Boots</title><meta name=description content=' For  hills '><meta name=none>
    <h1>Walking <em>boots</em>\n now</h1><p class=price>£89</p><p class=price>£89</p><p class=price> £99 </p><p class=empty></p>
    <a class=more href='/a?b#c' title=' More '>more</a><a class=more href=https://other.example/>other</a><a class=more>none</a>
    <img src=i.png><script>var a = 1;</script><div id=mixed>x<script>y</script><style>z</style><template>t</template><!--c--><b>b</b></div>
    <form action=go></form>";

#[track_caller]
fn extract(map: Value) -> Result<Value, Failure> {
    let page = testkit::page(PAGE).url("https://shop.example/blog/post/?q");
    page.extract::<Selectors>(json!({ "map": map }))
}

#[track_caller]
fn check_one(selector: &str, expected: Value) {
    assert_eq!(
        extract(json!({ "x": selector })),
        Ok(json!({ "x": expected })),
        "{selector}"
    );
}

#[track_caller]
fn check_all(selectors: &[&str], expected: &[&str]) {
    let map = json!({"*": [{"name": "x", "selectors": selectors}]});
    let expected = match expected {
        [] => json!({}),
        expected => json!({ "x": expected }),
    };
    assert_eq!(extract(map), Ok(expected), "{selectors:?}");
}

#[track_caller]
fn refusal(map: Value) -> String {
    match extract(map.clone()) {
        Err(Failure::InvalidOptions(reason)) => reason,
        other => panic!("{map}: {other:?}"),
    }
}

#[test]
fn a_flat_map_gives_the_first_match_of_each_field_or_null() {
    assert_eq!(
        extract(
            json!({"title": "h1", "price": ".price", "none": ".none", "link": "a.more@href", "by_path": "//p[3]"})
        ),
        Ok(
            json!({"title": "Walking boots now", "price": "£89", "none": null, "link": "https://shop.example/a?b#c", "by_path": "£99"})
        )
    );
}

#[test]
fn a_map_by_path_gives_all_matches_and_leaves_out_fields_without() {
    let fields = json!([
        {"name": "title", "selectors": ["h1", "//title"]},
        {"name": "none", "selectors": [".none", "//none"]},
        {"name": "nothing", "selectors": []},
        {"name": "link", "selectors": ["a@href"]},
    ]);
    assert_eq!(
        extract(json!({ "/blog": fields })),
        Ok(
            json!({"title": ["Walking boots now", "Boots"], "link": ["https://shop.example/a?b#c", "https://other.example/"]})
        )
    );
}

#[test]
fn a_map_by_path_counts_the_exact_path_first_then_the_longest_beginning_then_the_star() {
    let field =
        |text: &str| json!([{"name": "x", "selectors": [format!("//*[.='{text}']"), "//title"]}]);
    let map = |keys: &[&str]| -> Value {
        // Each key has a field named after it.
        keys.iter()
            .map(|key| {
                (
                    (*key).to_owned(),
                    json!([{"name": key, "selectors": ["title"]}]),
                )
            })
            .collect::<serde_json::Map<_, _>>()
            .into()
    };
    for (keys, expected) in [
        (
            &["*", "/", "/blog", "/blog/post/", "/blog/po"][..],
            Some("/blog/post/"),
        ),
        (&["*", "/", "/blog", "/blog/po"], Some("/blog/po")),
        (&["/blog", "*", "/other"], Some("/blog")),
        (&["*", "/", "/other"], Some("*")),
        (&["/"], None),
        (&["blog"], Some("blog")),
        (&["/Blog"], None),
    ] {
        let expected = expected.map_or(json!({}), |key| json!({ key: ["Boots"] }));
        assert_eq!(extract(map(keys)), Ok(expected), "{keys:?}");
    }
    let root = testkit::page(PAGE).url("https://shop.example");
    let map = json!({"map": {"*": field("£99"), "/": field("£89")}});
    assert_eq!(
        root.extract::<Selectors>(map),
        Ok(json!({"x": ["£89", "£89", "Boots"]}))
    );
    let coded = testkit::page(PAGE).url("https://shop.example/caf%C3%A9/1");
    let map = json!({"map": {"/café": field("£89")}});
    assert_eq!(
        coded.extract::<Selectors>(map),
        Ok(json!({"x": ["£89", "£89", "Boots"]}))
    );
}

#[test]
fn selectors_of_a_field_are_appended_without_the_elements_that_earlier_ones_took() {
    check_all(&[".price"], &["£89", "£89", "£99"]);
    check_all(&["//p[@class='price']", ".price"], &["£89", "£89", "£99"]);
    check_all(
        &["//p[3]", ".price:nth-of-type(3)", ".price"],
        &["£99", "£89", "£89"],
    );
    // Only an element with a value is taken.
    check_all(
        &["a[title]@title", "//a/@href", "a"],
        &["More", "https://other.example/", "none"],
    );
    check_all(
        &["//a[1]/@*"],
        &["more", "https://shop.example/a?b#c", "More"],
    );
    let twice = json!({"*": [{"name": "x", "selectors": ["//p[3]"]}, {"name": "x", "selectors": ["//p[3]", "title"]}]});
    assert_eq!(extract(twice), Ok(json!({"x": ["£99", "Boots"]})));
}

#[test]
fn the_text_of_an_element_is_what_its_reader_sees() {
    check_one("#mixed", json!("xb"));
    check_one("//*[@id='mixed']", json!("xb"));
    check_one(".empty", json!(""));
    check_one("img", json!(""));
    check_one("script", json!("var a = 1;"));
    check_one("meta[name=description]", json!("For hills"));
    check_one("//meta", json!("For hills"));
    check_one("meta[name=none]", json!(null));
}

#[test]
fn attributes_are_verbatim_and_urls_absolute() {
    check_one("a@title", json!("More"));
    check_one("a@TITLE", json!("More"));
    check_one("img@src", json!("https://shop.example/blog/post/i.png"));
    check_one("form@action", json!("https://shop.example/blog/post/go"));
    check_one("a:nth-of-type(3)@href", json!(null));
    check_one("a[href*='?b#']@class", json!("more"));
    check_all(
        &["a@href"],
        &["https://shop.example/a?b#c", "https://other.example/"],
    );
    check_all(
        &["//a/@href"],
        &["https://shop.example/a?b#c", "https://other.example/"],
    );
    check_all(
        &["//a@href"],
        &["https://shop.example/a?b#c", "https://other.example/"],
    );
    check_all(&["//img/@src"], &["https://shop.example/blog/post/i.png"]);
}

#[test]
fn xpath_gives_nodes_texts_numbers_and_booleans() {
    check_one("(//p)[last()]", json!(""));
    check_one("./html//h1", json!("Walking boots now"));
    check_one("//h1/text()", json!("Walking"));
    check_one("//comment()", json!("c"));
    check_one(
        "/",
        json!("Boots Walking boots now £89 £89 £99 moreothernone xb"),
    );
    check_one("count(//p)", json!("4"));
    check_one("//p[1] = '£89'", json!("true"));
    check_one("normalize-space(//h1)", json!("Walking boots now"));
    check_one(
        "substring-after(//p[@class='price'], '£') div 2",
        json!("44.5"),
    );
    check_one("string(//none)", json!(null));
    check_one("number(//h1)", json!(null));
    check_all(&["//text()[normalize-space()='']"], &[]);
}

#[test]
fn a_selector_that_does_not_parse_is_named_whatever_the_page() {
    for (map, expected) in [
        (
            json!({"t": "h1["}),
            "`map`: field `t`: the selector `h1[` does not parse: ",
        ),
        (
            json!({"/other": [{"name": "t", "selectors": ["h1", "//h1["]}]}),
            "`map`: field `t`: the selector `//h1[` does not parse: expected a step, found the end at character 6",
        ),
        (
            json!({"t": ""}),
            "`map`: field `t`: the selector `` does not parse: ",
        ),
        (
            json!({"t": "@href"}),
            "`map`: field `t`: the selector `@href` does not parse: ",
        ),
        (
            json!({"t": "p:contains(x)"}),
            "`map`: field `t`: the selector `p:contains(x)` does not parse: the pseudo-class or pseudo-element `:contains()` is not supported",
        ),
        (
            json!({"t": "p::text"}),
            "`map`: field `t`: the selector `p::text` does not parse: the pseudo-class or pseudo-element `::text` is",
        ),
        (
            json!({"t": "count(//p"}),
            "`map`: field `t`: the selector `count(//p` does not parse: expected `)`, found the end",
        ),
        (
            json!({"t": "a//b"}),
            "`map`: field `t`: the selector `a//b` does not parse: ",
        ),
    ] {
        let reason = refusal(map.clone());
        assert!(reason.starts_with(expected), "{map}: {reason}");
    }
    assert!(
        refusal(json!({"t": "a//b"}))
            .ends_with("(an XPath expression begins with `/`, `.` or `(`)")
    );
    let long = "a,".repeat(2_000) + "a";
    assert!(refusal(json!({ "t": long })).ends_with("it is longer than 2000 bytes"));
}

#[test]
fn the_schema_is_json() {
    let schema: Value = serde_json::from_str(super::OPTIONS_SCHEMA).expect("JSON");
    assert_eq!(schema["properties"]["map"]["type"], "object");
}

#[test]
fn a_key_that_is_no_path_or_name_is_named_with_the_reason() {
    let fields = json!([{"name": "x", "selectors": ["b"]}]);
    let check = |map: Value, expected: &str| {
        let reason = refusal(map);
        assert!(reason.contains(expected), "{reason}");
    };
    for (key, why) in [
        ("", "is empty, write `/`"),
        (
            "https://shop.example/blog",
            "is a URL, write its path alone",
        ),
        ("/blog?page=2", "has a query"),
        ("/blog/*", "has a `*` next to other characters"),
    ] {
        let expected = format!("the key `{key}` {why}");
        check(json!({"/": fields, key: fields}), &expected);
    }
    check(json!({" ": "b"}), "the key ` ` is empty, write the name");
    let nameless = json!({"*": [{"name": "", "selectors": ["b"]}]});
    check(nameless, "the key `` is empty, write the name");
    let long = refusal(json!({"x?".repeat(1_000): fields}));
    assert!(long.len() < 300, "{long}");
    // A path may be written without its slash, and a field may be called anything.
    assert!(extract(json!({"blog": fields})).is_ok());
    assert!(extract(json!({"https://x/?#*": "b"})).is_ok());
}

#[test]
fn a_map_has_one_shape() {
    let mixed = json!({"a": "h1", "/x": [{"name": "b", "selectors": ["p"]}]});
    assert_eq!(
        refusal(mixed),
        "`map`: `a` has a selector and `/x` a list of fields: a map has one shape, by field or by URL path"
    );
    for (map, named) in [
        (json!({"a": 3}), "`a`"),
        (json!({"a": "h1", "b": null}), "`b`"),
        (json!({"/": ["h1"]}), "`/`"),
        (json!({"/": [{"name": "a"}]}), "selectors"),
        (json!({"/": [{"name": "a", "selectors": "h1"}]}), "`/`"),
        (
            json!({"/": [{"name": "a", "selectors": [], "more": 1}]}),
            "more",
        ),
        (json!("h1"), "an object from field name"),
    ] {
        let reason = refusal(map.clone());
        assert!(
            reason.starts_with("`map`: ") && reason.contains(named),
            "{map}: {reason}"
        );
    }
    assert_eq!(extract(json!({})), Ok(json!({})));
}

#[test]
fn a_filtered_page_shows_what_is_left() {
    let page = testkit::page(PAGE).without("em, .price");
    assert_eq!(
        page.extract::<Selectors>(
            json!({"map": {"a": "h1", "b": "//h1", "c": ".price", "d": "//p[1]"}})
        ),
        Ok(json!({"a": "Walking now", "b": "Walking now", "c": null, "d": ""}))
    );
}

#[test]
fn a_page_without_a_tree_has_no_fields() {
    let page = testkit::page("").content_type("image/png");
    assert_eq!(
        page.extract::<Selectors>(json!({"map": {"a": "h1", "b": "//h1"}})),
        Ok(json!({"a": null, "b": null}))
    );
}

#[test]
fn the_number_of_texts_per_field_is_limited() {
    let rows: String = (0..MATCHES_MAX + 10)
        .map(|row| format!("<li>{row}"))
        .collect();
    let page = testkit::page(&rows);
    for selector in ["li", "//li"] {
        let map = json!({"map": {"*": [{"name": "x", "selectors": [selector, "li"]}]}});
        let found = page.extract::<Selectors>(map).expect("lists");
        assert_eq!(
            found["x"].as_array().map(Vec::len),
            Some(MATCHES_MAX),
            "{selector}"
        );
    }
}

#[test]
fn too_much_text_and_too_many_steps_are_failures() {
    let text = "<p>".to_owned() + &"long text ".repeat(TEXT_BYTES_MAX / 40);
    let page = testkit::page(&text.repeat(5));
    let failure = |selector: &str| {
        let map =
            json!({"map": {"*": [{"name": "x", "selectors": [selector, "title", selector]}]}});
        page.extract::<Selectors>(map)
            .expect_err("too much")
            .to_string()
    };
    let reason = failure("body, p");
    assert!(
        reason.starts_with("field `x`: the selectors match more than"),
        "{reason}"
    );
    let page = testkit::page(&"<p>x</p>".repeat(20_000));
    for selector in [
        "b ~ p",
        "p:has(~ b)",
        "//p[count(preceding-sibling::p) = count(following-sibling::b)]",
    ] {
        let found = page.extract::<Selectors>(json!({"map": {"x": selector}}));
        let reason = found.expect_err(selector).to_string();
        assert!(
            reason.contains("too many steps on this page"),
            "{selector}: {reason}"
        );
    }
}

#[test]
fn deep_selectors_fit_on_a_small_stack() {
    // A plugin in the server has a stack of half a mebibyte.
    let run = || {
        let page = testkit::page(&"<b>".repeat(400));
        let css = "* ".repeat(900) + "b";
        let siblings = "*~".repeat(900) + "b";
        let nested = ":not(".repeat(200) + "a" + &")".repeat(200);
        let xpath = "(".repeat(39).replace('(', "(//b[") + "1" + &"])".repeat(39);
        for selector in [css, siblings, nested, xpath] {
            let _ = page.extract::<Selectors>(json!({"map": {"x": selector}}));
        }
    };
    let thread = std::thread::Builder::new().stack_size(512 << 10).spawn(run);
    thread.expect("a thread").join().expect("no overflow");
}
