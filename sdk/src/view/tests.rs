//! Tests the view on small pages.

use crate::testkit::{self, Page};
use crate::{Kind, Mask, Namespace, Node, Selector, Step, Steps, Tag};

/// Text of the matching elements, or the error.
fn selected(page: &Page, css: &str) -> String {
    let document = page.document();
    match document.select(css) {
        Ok(found) => found.map(|e| e.text()).collect::<Vec<_>>().join("|"),
        Err(error) => error.to_string(),
    }
}

#[track_caller]
fn check(html: &str, cases: &[(&str, &str)]) {
    let page = testkit::page(html);
    for (css, expected) in cases {
        assert_eq!(selected(&page, css), *expected, "{css}");
    }
}

#[test]
fn selectors_find_elements_in_document_order() {
    check(
        "<!doctype html><ul id=l class='a B'><li>1<li class=x>2<li>3</ul><a href=/x>k</a><a>n</a><p lang=en-GB><i>e</i></p>",
        &[
            ("li", "1|2|3"),
            ("LI", "1|2|3"),
            ("#l > li:nth-child(2n+1)", "1|3"),
            ("li:nth-last-child(1)", "3"),
            ("li:nth-child(1 of .x)", "2"),
            ("li:first-of-type, li:last-of-type", "1|3"),
            (".x + li", "3"),
            ("li ~ li", "2|3"),
            ("ul:has(.x) li:not(.x)", "1|3"),
            (":is(li, a)[href]", "k"),
            ("a:any-link", "k"),
            ("a[href='/X' i]", "k"),
            ("a[href='/X']", ""),
            ("[class~=B] li.x", "2"),
            (".b li", ""),
            ("i:lang(en)", "e"),
            ("li:hover", ""),
            (":root:has(i) i", "e"),
            ("&:has(i) i", "e"),
            ("a&", ""),
        ],
    );
}

#[test]
fn quirks_mode_ignores_the_case_of_classes_and_ids() {
    check("<p class=Big id=One>1", &[(".big", "1"), ("#one", "1")]);
    check(
        "<!doctype html><p class=Big id=One>1",
        &[(".big", ""), ("#one", "")],
    );
}

#[test]
fn forms_answer_their_pseudo_classes() {
    check(
        "<fieldset disabled><legend><button>a</button></legend><button>b</button></fieldset><button disabled>c</button>
         <select required><option selected>d<option>e</select>",
        &[
            ("button:disabled", "b|c"),
            ("button:enabled", "a"),
            ("option:checked", "d"),
            ("select:required option", "d|e"),
        ],
    );
}

/// The ids of the matching elements, each with `#`, or the error.
#[track_caller]
fn check_ids(html: &str, cases: &[(&str, &str)]) {
    let page = testkit::page(html);
    let document = page.document();
    for (css, expected) in cases {
        let found = document.select(css).expect("a selector");
        let ids: Vec<_> = found
            .filter_map(|it| Some(format!("#{}", it.id()?)))
            .collect();
        assert_eq!(ids.join("|"), *expected, "{css}");
    }
}

#[test]
fn a_drop_down_shows_one_option() {
    check(
        "<select><option>a<option>b</select><select><option disabled>c<option>d</select>
         <select><optgroup disabled><option>e</optgroup><option>f</select><select size=2><option>g</select>
         <select multiple><option>h<option selected>i<option selected>j</select>
         <select><option selected>k<option selected>l<option>m</select>",
        &[("option:checked", "a|d|f|i|j|l")],
    );
}

#[test]
fn fields_are_read_or_written() {
    check_ids(
        "<input id=a><input id=b readonly><input id=c type=checkbox><textarea id=d disabled></textarea>
         <p id=e contenteditable><b id=f></b><i id=g contenteditable=false></i></p><input id=h type=HIDDEN required>",
        &[
            ("[id]:read-write", "#a|#e|#f"),
            ("p :read-only", "#g"),
            ("input:required", ""),
            ("input:optional", "#a|#b|#c"),
        ],
    );
}

#[test]
fn states_are_those_before_any_script() {
    check_ids(
        "<form><button type=button id=a></button><input type=submit id=b><button id=c></button>
         <input type=radio checked id=d><select><option id=e><option id=f selected></select></form><button id=g></button>",
        &[(":default", "#b|#d|#f")],
    );
    check_ids(
        "<progress id=a></progress><progress id=b value=1></progress><input type=radio name=x id=c>
         <form><input type=radio name=x id=d><input type=radio name=x id=e checked></form><input type=radio id=f>",
        &[(":indeterminate", "#a|#c|#f")],
    );
    check_ids(
        "<input placeholder=x id=a><input placeholder=x value=y id=b><textarea placeholder id=c></textarea><input id=d>
         <input type=date placeholder=x id=e>",
        &[(":placeholder-shown", "#a|#c")],
    );
    check_ids(
        "<input type=number min=1 max=9.5 value=9 id=a><input type=number max=9 value=10 id=b><input type=number value=1 id=c>
         <input type=date min=2020-01-02 value=2020-01-01 id=d><input type=range id=e><input type=number min=2 id=f>
         <input type=number min=2 value=1 disabled id=g>",
        &[(":in-range", "#a|#e|#f"), (":out-of-range", "#b|#d")],
    );
    check_ids(
        "<details open id=a></details><details id=b></details><dialog open id=c></dialog><x-y id=d></x-y><svg><a-b/></svg>",
        &[
            (":open", "#a|#c"),
            ("[id]:defined", "#a|#b|#c"),
            (":not(:defined)", "#d"),
        ],
    );
}

#[test]
fn directions_are_inherited_or_found_in_the_text() {
    check_ids(
        "<p id=a dir=rtl><i id=b></i><bdi id=c>x</bdi></p><p id=d dir=auto>1 \u{5d0} x</p><p id=e></p>
         <p id=f dir=auto><b dir=ltr>x</b>\u{5d0}</p>",
        &[
            ("[id]:dir(rtl)", "#a|#b|#d|#f"),
            ("[id]:dir(ltr)", "#c|#e"),
        ],
    );
}

#[test]
fn languages_match_by_their_parts() {
    check_ids(
        "<meta http-equiv=content-language content=en><p id=a></p><p id=b lang=de-CH></p><p id=c lang=de-Latn-DE></p>
         <p id=d lang></p><p id=e lang=fr-x-CH></p>",
        &[
            ("p:lang(en)", "#a"),
            ("p:lang('*-CH')", "#b"),
            ("p:lang(\\*-ch)", "#b"),
            ("p:lang('de-DE')", "#c"),
            ("p:lang(en, fr)", "#a|#e"),
            ("p:lang('')", "#d"),
            ("p:lang(d)", ""),
            ("p:lang('*')", "#a|#b|#c|#e"),
        ],
    );
    check_ids(
        "<meta http-equiv=content-language content='en, de'><p id=a></p>",
        &[("p:lang(en)", ""), ("p:lang('')", "#a")],
    );
}

#[test]
fn links_and_attributes_have_namespaces() {
    check_ids(
        "<svg><a id=a xlink:href=x></a><a id=b href=x></a><a id=c></a></svg><a id=d href=x></a><a id=e xlink:href=x></a>",
        &[
            (":any-link", "#a|#b|#d"),
            ("[xlink\\:href]", "#e"),
            ("[*|href]", "#a|#b|#d"),
            ("[href]", "#b|#d"),
        ],
    );
}

#[test]
fn lists_that_forgive_ignore_what_is_invalid() {
    check_ids(
        "<p id=a></p>",
        &[
            (":is(p, :colour)", "#a"),
            (":where(p,)", "#a"),
            ("p:is()", ""),
            ("p:not(:is(:colour))", "#a"),
        ],
    );
}

#[test]
fn a_selector_that_does_not_parse_says_why() {
    check(
        "",
        &[
            ("", "a selector is missing"),
            ("a >", "a combinator has nothing after it"),
            (
                "a:colour",
                "the pseudo-class or pseudo-element `:colour` is not supported",
            ),
            (
                "p::before",
                "the pseudo-class or pseudo-element `::before` is not supported",
            ),
            ("a:not(", "a selector is missing"),
            (
                "svg|a",
                "a namespace prefix is not declared (only `*|` can be used)",
            ),
            ("a!", "unexpected character"),
        ],
    );
    let deep = ":not(".repeat(100_000);
    assert_eq!(
        Selector::parse(&deep).unwrap_err().to_string(),
        "nested too deeply"
    );
}

#[test]
fn template_contents_are_not_searched() {
    let page = testkit::page("<template><b>no</b></template><b>yes</b>");
    assert_eq!(selected(&page, "b"), "yes");
    let document = page.document();
    assert_eq!(document.root().text(), "yes");
    let texts: Vec<String> = document.elements().map(|e| e.text()).collect();
    assert!(texts.iter().any(|text| text == "no"));
    let mut live = document.live_elements();
    assert!(live.all(|element| element.text() != "no"));
}

#[test]
fn foreign_elements_keep_their_names() {
    let page = testkit::page("<svg viewBox='0 0 1 1'><foreignObject/><use xlink:href='#a'/></svg>");
    let document = page.document();
    let svg = document.select("svg").unwrap().next().unwrap();
    assert_eq!((svg.namespace(), svg.tag()), (Namespace::Svg, Tag::Other));
    assert_eq!(svg.attr("viewBox"), Some("0 0 1 1"));
    assert_eq!(svg.select("foreignObject").unwrap().count(), 1);
    assert_eq!(svg.select(r"[xlink\:href], [*|href]").unwrap().count(), 1);
}

#[test]
fn the_children_of_a_dropped_node_take_its_place() {
    let page = testkit::page("<body><p>a</p><div><p>b</p>c<p>d</p></div><p>e</p>");
    let document = page.document();
    let mut mask = Mask::of(&document);
    mask.drop_node(document.select("div").unwrap().next().unwrap().node());
    let page = page.masked(mask);
    let document = page.document();
    let body = document.body().unwrap();
    let texts: Vec<String> = body.children().map(Node::text).collect();
    assert_eq!(texts, ["a", "b", "c", "d", "e"]);
    assert_eq!(selected(&page, "p:nth-child(2), p:last-child"), "b|e");
    assert_eq!(selected(&page, "body > p + p"), "b|d|e");
    let d = body.child_elements().nth(2).unwrap();
    assert_eq!(d.previous_sibling().and_then(Node::as_text), Some("c"));
    assert_eq!(d.next_sibling().map(Node::text).as_deref(), Some("e"));
    assert_eq!(d.parent_element(), Some(body));
    assert!(document.is_filtered());
}

#[test]
fn keep_only_keeps_nodes_and_their_ancestors() {
    let page = testkit::page("<title>t</title><body><nav>n</nav><main><p>m<b>b</b></p></main>");
    let document = page.document();
    let mut mask = Mask::of(&document);
    let all = mask.n_kept();
    mask.keep_only(document.select("main").unwrap().map(|e| e.node()));
    assert_eq!((all, mask.n_kept()), (13, 8));
    let page = page.masked(mask);
    let document = page.document();
    assert_eq!(document.root().text(), "mb");
    assert!(document.body().is_some() && document.head().is_none());
}

#[test]
fn a_walk_reports_where_elements_begin_and_end() {
    let page = testkit::page("<body><p>a<br>b</p><i>c</i>").without("i");
    let document = page.document();
    let steps: String = document
        .body()
        .unwrap()
        .walk()
        .map(|step| match step {
            Step::Enter(node) => match node.kind() {
                Kind::Element(element) => format!("<{}>", element.name()),
                Kind::Text(text) => text.to_owned(),
                other => format!("{other:?}"),
            },
            Step::Leave(node) => format!("</{}>", node.as_element().unwrap().name()),
        })
        .collect();
    assert_eq!(steps, "<body><p>a<br></br>b</p></body>");
}

#[test]
fn a_walk_can_skip_the_content_of_an_element() {
    let page = testkit::page("<body><p>a<b>b</b></p>c");
    let document = page.document();
    let mut walk = document.body().unwrap().walk();
    let mut seen = Vec::new();
    while let Some(step) = walk.next() {
        if let Step::Enter(node) = step {
            if node.as_element().is_some_and(|e| e.tag() == Tag::P) {
                walk.skip_children();
            }
            seen.push(node.text());
        }
    }
    assert_eq!(seen, ["abc", "ab", "c"]);
}

#[test]
fn urls_resolve_against_the_base_url() {
    let page = testkit::page("<base href='/docs/'><p>").url("https://example.com/a/b?c");
    let document = page.document();
    assert_eq!(document.base_url(), "https://example.com/docs/");
    for (href, expected) in [
        (" x.html\n", Some("https://example.com/docs/x.html")),
        ("//other.example/", Some("https://other.example/")),
        ("#top", Some("https://example.com/docs/#top")),
        ("mailto:a@b.example", Some("mailto:a@b.example")),
        ("http://[", None),
    ] {
        assert_eq!(document.resolve(href).as_deref(), expected, "{href}");
    }
}

#[test]
fn many_siblings_are_matched_in_linear_time() {
    // Quadratic time would only show in a release build; in debug builds the selectors crate's own
    // assertions are quadratic.
    let n_siblings = if cfg!(debug_assertions) { 500 } else { 100_000 };
    let page = testkit::page(&"<p>x</p>".repeat(n_siblings));
    let document = page.document();
    let count = |css| document.select(css).unwrap().count();
    let start = std::time::Instant::now();
    assert_eq!(count("p:nth-child(odd)"), n_siblings / 2);
    assert_eq!(count("p:nth-last-of-type(even)"), n_siblings / 2);
    assert_eq!(count("p:last-child, p:first-child"), 2);
    assert!(start.elapsed().as_secs() < 10, "{:?}", start.elapsed());
}

#[test]
fn a_search_ends_when_its_steps_are_used_up() {
    let page = testkit::page(&"<p class=c>x</p>y".repeat(300));
    let document = page.document();
    let root = document.root();
    for css in [
        "b ~ p",
        "p:has(~ b)",
        "p:not(:has(~ b))",
        "p + p + p",
        "[class=x]",
        ".x",
        "p",
    ] {
        let selector = Selector::parse(css).unwrap();
        let error = root.select_within(&selector, &Steps::new(300)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "matching took too many steps on this page",
            "{css}"
        );
        let found = root.select_within(&selector, &Steps::default()).unwrap();
        assert_eq!(
            found,
            root.select_with(&selector).collect::<Vec<_>>(),
            "{css}"
        );
    }
}

#[test]
fn plain_text_is_in_a_pre_and_binary_pages_are_empty() {
    let json = testkit::page("{}\n").content_type("application/json");
    assert_eq!(selected(&json, "html > body > pre"), "{}\n");
    let image = testkit::page("").content_type("image/png");
    assert_eq!(image.document().descendants().count(), 0);
}
