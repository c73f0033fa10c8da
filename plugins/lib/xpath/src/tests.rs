use super::{Item, Value, XPath, query};
use trawl_sdk::Kind;
use trawl_sdk::testkit::{self, Random};
use trawl_sdk::view::arrays::Arrays;
use trawl_sdk::view::{Document, Mask, Steps};

const PAGE: &str = "<!DOCTYPE html><html lang=en><title>T</title><body><ul id=u><li class=x>1<li>2 <b>two</b><li>3</ul><p id=a>one<!--c--><a href=h title=t>more</a></p><p>two";

/// Element names, attributes with `@`, and quoted texts.
fn show(value: &Value<'_>) -> String {
    match value {
        Value::Nodes(items) => {
            let names = items.iter().map(|item| match item {
                Item::Attribute(attribute) => format!("@{}={}", attribute.name, attribute.value),
                Item::Node(node) => match node.kind() {
                    Kind::Element(element) => element.name().to_owned(),
                    Kind::Text(text) => format!("'{text}'"),
                    Kind::Comment(text) => format!("<!--{text}-->"),
                    Kind::Document => "/".to_owned(),
                    other => format!("{other:?}"),
                },
            });
            names.collect::<Vec<_>>().join(" ")
        }
        other => other.to_text(),
    }
}

#[track_caller]
fn check_on(document: &Document<'_>, expression: &str, expected: &str) {
    let value = query(document, expression);
    assert_eq!(
        value.as_ref().map(show).as_deref(),
        Ok(expected),
        "{expression}"
    );
}

#[track_caller]
fn check(expression: &str, expected: &str) {
    let page = testkit::page(PAGE);
    check_on(&page.document(), expression, expected);
}

#[test]
fn nodes_are_unique_and_in_document_order() {
    check("//li | //ul | //li/@class | //li", "ul li @class=x li li");
    check("//a/@* | //a | //a/text()", "a @href=h @title=t 'more'");
    check("//p/.. | //body", "body");
    check("//b/ancestor::* | //title", "html title body ul li");
}

#[test]
fn elements_of_xml_data_are_found_by_their_names_as_written() {
    const OTHER: u8 = 3;
    let page = testkit::page("<media:b>x</media:b><b>y</b>");
    let html = page.document();
    // The same tree, of elements that are not HTML.
    let spaces = vec![OTHER; html.arrays().name_spaces.len()];
    let document = Document::new(Arrays {
        name_spaces: &spaces,
        ..html.arrays()
    });
    check_on(&document, "//b", "b");
    check_on(&document, "//B", "");
    check_on(&html, "//B", "b");
    check_on(&document, "//*[name()='media:b']", "media:b");
    check_on(&document, "//*[local-name()='b']", "media:b b");
    check_on(&html, "//*[local-name()='b']", "b");
    assert_eq!(document.root().line_text(), "x y");
    assert_eq!(html.root().line_text(), "xy");
}

#[test]
fn positions_on_reverse_axes_count_backwards() {
    check("//p[2]/preceding::*[1]", "a");
    check("//b/ancestor::*[1]", "li");
    check("(//b/ancestor::*)[1]", "html");
    check("//li[3]/preceding-sibling::li[1]", "li");
    check("string(//li[3]/preceding-sibling::li[1]/b)", "two");
    check(
        "//li[last()]/preceding-sibling::*[last()]/@class",
        "@class=x",
    );
}

#[test]
fn a_node_can_be_the_context() {
    let page = testkit::page(PAGE);
    let document = page.document();
    let list = document.select("ul").unwrap().next().unwrap();
    let evaluate = |text: &str| show(&XPath::parse(text).unwrap().evaluate(list.node()).unwrap());
    assert_eq!(evaluate("li[2]/b"), "b");
    assert_eq!(evaluate(".//b/text()"), "'two'");
    assert_eq!(evaluate("/html/body/p[1]/@id"), "@id=a");
    assert_eq!(evaluate("following-sibling::p[2]"), "p");
    assert_eq!(evaluate("count(li)"), "3");
    assert_eq!(evaluate("@id"), "@id=u");
    assert_eq!(evaluate("position() + last()"), "2");
}

#[test]
fn a_filtered_page_shows_what_is_left() {
    let page = testkit::page(PAGE);
    let mask = {
        let document = page.document();
        let mut mask = Mask::of(&document);
        mask.drop_node(document.select("ul").unwrap().next().unwrap().node());
        mask.drop_tree(document.select("li").unwrap().nth(1).unwrap().node());
        mask.drop_tree(document.select("a").unwrap().next().unwrap().node());
        mask
    };
    let page = page.masked(mask);
    let document = page.document();
    check_on(&document, "/html/body/*", "li li p p");
    check_on(&document, "/html/body/li[2]", "li");
    check_on(&document, "//li[2]/preceding-sibling::node()", "li");
    check_on(&document, "//li[1]/following-sibling::*[1]", "li");
    check_on(&document, "//li/parent::*", "body");
    check_on(&document, "//p[1]/node()", "'one' <!--c-->");
    check_on(&document, "//p[2]/preceding::*", "head title li li p");
    check_on(&document, "//title/following::*", "body li li p p");
    check_on(&document, "string(//body)", "13onetwo");
    check_on(&document, "id('u')", "");
    check_on(&document, "//b | //a | //@title", "");
}

#[test]
fn contents_of_a_template_are_a_tree_of_their_own() {
    let page = testkit::page("<b>0</b><template><b>1</b><i><b>2</b></i></template><p>x</p>");
    let document = page.document();
    check_on(&document, "//b", "b");
    check_on(&document, "string(/)", "0x");
    check_on(&document, "//p/preceding::*", "head b template");
    check_on(&document, "//b/following::node()", "template p 'x'");
    check_on(&document, "//template/node()", "");
    let inside = document
        .elements()
        .find(|element| element.name() == "i")
        .unwrap();
    let evaluate = |text: &str| show(&XPath::parse(text).unwrap().evaluate(inside.node()).unwrap());
    assert_eq!(evaluate("//b"), "b b");
    assert_eq!(evaluate("preceding::*"), "b");
    assert_eq!(evaluate("count(ancestor::node())"), "1");
    assert_eq!(evaluate("string(/)"), "12");
}

#[test]
fn names_follow_the_rules_of_html_pages() {
    let page = testkit::page("<p CLASS=x><svg viewBox=v xmlns=n xlink:href=l><p2/></svg>");
    let document = page.document();
    check_on(&document, "//P/@Class", "@class=x");
    check_on(&document, "//svg | //p2", "");
    check_on(
        &document,
        "//*[name()='svg']/@*",
        "@viewBox=v @xlink:href=l",
    );
    check_on(&document, "//@viewbox | //@xmlns | //@href", "");
    check_on(&document, "local-name(//@*[contains(name(), ':')])", "href");
    check_on(
        &document,
        "namespace-uri(//*[name()='p2'])",
        "http://www.w3.org/2000/svg",
    );
}

#[test]
fn numbers_are_written_without_an_exponent() {
    for (expression, expected) in [
        ("string(1 div 3)", "0.3333333333333333"),
        ("string(12345678.5)", "12345678.5"),
        (
            "string(10000000000 * 10000000000 * 10)",
            "1000000000000000000000",
        ),
        ("string(1 div 10000000)", "0.0000001"),
        ("string(-0)", "0"),
        ("string(-1 div 0)", "-Infinity"),
        ("string(0 div 0)", "NaN"),
        ("string-length('a😀')", "2"),
        ("substring('a😀b', 2, 1)", "😀"),
        ("round(-0.5)", "0"),
        ("round(2.5)", "3"),
        ("round(-2.5)", "-2"),
        ("1 div round(-0.2)", "-Infinity"),
        ("number('\u{3000}1')", "NaN"),
    ] {
        check(expression, expected);
    }
}

#[test]
fn sets_compare_by_any_of_their_nodes() {
    for (expression, expected) in [
        ("//li = '1'", "true"),
        ("//li != '1'", "true"),
        ("//li = //li", "true"),
        ("//p != //p", "true"),
        ("//title != //title", "false"),
        ("//none != //li", "false"),
        ("//li != //none", "false"),
        ("//li > 2", "true"),
        ("2 > //li", "true"),
        ("//li > 3", "false"),
        ("//li > //none", "false"),
        ("//li[1] < //li[3]", "true"),
        ("//p < //p", "false"),
        ("//none = false()", "true"),
        ("true() > //none", "true"),
    ] {
        check(expression, expected);
    }
}

#[test]
fn errors_have_a_reason_and_a_position() {
    for (expression, expected) in [
        ("", "expected a step, found the end at character 1"),
        ("//a[", "expected a step, found the end at character 5"),
        (
            "//a]",
            "expected an operator or the end, found `]` at character 4",
        ),
        (
            "//é/a b",
            "expected an operator or the end, found `b` at character 7",
        ),
        ("//a[@b='c]", "unterminated string at character 8"),
        ("$x", "variables are not supported at character 1"),
        (
            "//x:a",
            "the namespace prefix `x` is not declared: HTML has none at character 3",
        ),
        ("foo(1)", "XPath 1.0 has no function `foo` at character 1"),
        ("count()", "`count` takes 1 argument, not 0 at character 1"),
        (
            "concat('a')",
            "`concat` takes at least 2 arguments, not 1 at character 1",
        ),
        (
            "substring('a')",
            "`substring` takes 2 to 3 arguments, not 1 at character 1",
        ),
        ("true(1)", "`true` takes no arguments, not 1 at character 1"),
        (
            "count('a')",
            "the argument of `count` must be a node-set, not a string, number or boolean at character 1",
        ),
        (
            "//a | 'b'",
            "an operand of `|` must be a node-set, not a string, number or boolean at character 7",
        ),
        (
            "'a'[1]",
            "the expression before `[` or `/` must be a node-set, not a string, number or boolean at character 1",
        ),
        ("foo::a", "unknown axis `foo` at character 1"),
        ("(//a", "expected `)`, found the end at character 5"),
        ("//a[1 2]", "expected `]`, found a number at character 7"),
        ("a ! b", "unexpected character `!` at character 3"),
    ] {
        let error = XPath::parse(expression).unwrap_err();
        assert_eq!(error.to_string(), expected, "{expression}");
        assert!(error.position().is_some());
    }
}

#[test]
fn long_and_deep_expressions_are_rejected() {
    let error = |text: &str| XPath::parse(text).unwrap_err().to_string();
    let long = "a".repeat(10_001);
    assert_eq!(error(&long), "the expression is longer than 10000 bytes");
    let deep = "(".repeat(41) + "1" + &")".repeat(41);
    assert_eq!(
        error(&deep),
        "the expression is nested more than 40 levels deep at character 41"
    );
    // Chains are flat, so only the length of the expression limits them.
    check(&("1".to_owned() + &"+1".repeat(4_000)), "4001");
    check(&("-".repeat(9_000) + "1"), "1");
    check(&("//li".to_owned() + &"/.".repeat(4_000)), "li li li");
    check(&("//li".to_owned() + &"[1]".repeat(3_000)), "li");
    check(&("1".to_owned() + &" or 1".repeat(1_500)), "true");
}

#[test]
fn the_deepest_expression_fits_on_a_small_stack() {
    // A plugin in the server has a stack of half a mebibyte.
    let run = || {
        let page = testkit::page(&"<b>".repeat(500));
        for (open, close) in [
            ("//b[", "]"),
            ("(", ")"),
            ("not(", ")"),
            ("-(", ")"),
            ("//b[1=count(", ")]"),
        ] {
            for depth in 0..40 {
                let text = open.repeat(depth) + "//b" + &close.repeat(depth);
                let _ = query(&page.document(), &text);
            }
        }
    };
    let thread = std::thread::Builder::new().stack_size(512 << 10).spawn(run);
    thread.unwrap().join().unwrap();
}

#[test]
fn evaluation_stops_when_its_steps_are_used_up() {
    let page = testkit::page(&"<p>x</p>".repeat(2_000));
    let document = page.document();
    let root = document.root();
    for text in [
        "//p[count(preceding::p) = count(following::b)]",
        "//*[contains(string(//body), 'y')]",
        "//p[following::b]",
        "//text()[. < //p]",
        "sum(//p[sum(preceding-sibling::p) = 1])",
    ] {
        let steps = Steps::new(100_000);
        let error = XPath::parse(text)
            .unwrap()
            .evaluate_within(root, &steps)
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "evaluation took too many steps on this page",
            "{text}"
        );
        assert!(steps.are_spent());
    }
}

#[test]
fn typical_paths_take_a_few_steps_per_node() {
    let html = "<div class=x><ul><li><a href=h>t</a><li>u</ul></div>".repeat(5_000);
    let page = testkit::page(&html);
    let document = page.document();
    let n_nodes = document.descendants().count() as u64;
    for text in [
        "//a",
        "//div[@class='x']//a/@href",
        "//li[3]",
        "//li[last()]",
        "//a/following::a",
        "//a/preceding::a",
        "//li/following-sibling::li",
        "//div/following-sibling::div",
        "//div/preceding-sibling::div",
        "//div/preceding-sibling::div[1]",
        "//a/ancestor::*",
        "//a/ancestor-or-self::node()/@class",
        "//li[a]/..",
        "//li[following::a]",
        "//div[count(//a) > 1]",
        "//li = //a",
        "//li != //a",
        "//li < //a",
        "//*[contains(@class, 'x')]",
        "//text()[normalize-space()]",
        "//a[. = 't']",
        "(//a)[last()]",
        "id('x y z')",
        "//a | //li | //div",
        "//*[not(*)]",
        "//body/descendant::node()/descendant::a",
    ] {
        let steps = Steps::new(12 * n_nodes);
        let value = XPath::parse(text)
            .unwrap()
            .evaluate_within(document.root(), &steps);
        assert!(value.is_ok(), "{text}");
    }
}

/// Fragments of expressions, valid and invalid, between bars.
const PIECES: &str = "//¦/¦[¦]¦(¦)¦@¦|¦..¦.¦*¦+¦-¦=¦!=¦<¦<=¦>¦>=¦,¦::¦a¦li¦b¦ul¦node()¦text()¦comment()¦\
    position()¦last()¦count(¦string(¦contains(¦not(¦id(¦1¦2¦0.5¦'x'¦'1'¦\"¦'¦ and ¦ or ¦ div ¦ mod ¦\
    ancestor::¦following::¦preceding::¦following-sibling::¦preceding-sibling::¦\
    descendant-or-self::¦self::¦parent::¦attribute::¦namespace::¦$¦:¦é¦😀¦\u{0}¦\
    processing-instruction(¦substring(¦translate(";

#[test]
fn random_expressions_neither_panic_nor_hang() {
    let page = testkit::page(PAGE);
    let document = page.document();
    let mut random = Random::new(1);
    let pieces: Vec<&str> = PIECES.split('¦').collect();
    let seeds = [
        "//ul/li[position() = last()]/preceding-sibling::li[1]",
        "substring(concat(//a/@href, 'x'), 2, count(//p))",
        "//*[@id = 'a' or contains(., 'two')]/ancestor-or-self::node()",
        "sum(//li) mod 2 = 0 and not(//b | //none)",
    ];
    let mut n_valid = 0;
    for round in 0..60_000 {
        let text = match round % 2 {
            0 => {
                let n_pieces = random.below(12);
                random.text(&pieces, n_pieces)
            }
            _ => seeds[random.below(seeds.len())].to_owned(),
        };
        let text = random.mutated(&text, &pieces, 2);
        let Ok(xpath) = XPath::parse(&text) else {
            continue;
        };
        n_valid += 1;
        let value = xpath.evaluate_within(document.root(), &Steps::new(200_000));
        if let Ok(Value::Nodes(items)) = value {
            assert!(items.len() < 100, "{text}");
        }
    }
    assert!(n_valid > 5_000, "only {n_valid} were expressions");
}
