//! XPath: the results of expressions on pages. The judge is libxml2.

use serde_json::json;
use trawl_sdk::{Document, Kind};
use trawl_xpath::{Item, Value, XPath};

use crate::draw::Draw;
use crate::pages::Page;
use crate::parsed::Parsed;
use crate::python::PythonJudge;
use crate::trial::{Exception, Trial};

/// What both read differently by intent (the doctype, `lang()`, `id()`, texts of numbers beyond six
/// digits) is not drawn.
const EXCEPTIONS: [Exception; 1] = [Exception {
    reason: "outside of predicates, the judge has no position: `last()` is an error, not 1",
    covers: |it| {
        let expression = it.input.split(" on <html").next().unwrap_or_default();
        let asks = |function: &&str| expression.contains(*function);
        it.judge == "error" && ["last()", "position()"].iter().any(asks)
    },
}];

/// Expressions a page.
const EXPRESSIONS: usize = 60;
const AXES: [&str; 10] = [
    "child",
    "descendant",
    "descendant-or-self",
    "parent",
    "ancestor",
    "ancestor-or-self",
    "following",
    "following-sibling",
    "preceding",
    "preceding-sibling",
];
const TESTS: [&str; 16] = [
    "*",
    "*",
    "*",
    "node()",
    "text()",
    "comment()",
    "div",
    "p",
    "span",
    "li",
    "ul",
    "td",
    "tr",
    "a",
    "b",
    "h2",
];
const ATTRIBUTES: [&str; 6] = ["@id", "@class", "@title", "@href", "@lang", "@*"];
const COMPARISONS: [&str; 6] = ["=", "!=", "<", ">", "<=", ">="];
const STRINGS: [&str; 9] = [
    "'a'", "'b c'", "'Price'", "'de'", "''", "'n1'", "'42'", "\"it's\"", "'é'",
];

#[test]
#[cfg_attr(no_judges, ignore = "no judges: cargo xtask judges")]
fn libxml2_gives_the_same_results() {
    let mut judge = PythonJudge::start("libxml2.py");
    let mut trial = Trial::of("XPath: libxml2", &EXCEPTIONS);
    while let Some(mut draw) = trial.round() {
        let xml = Page::draw(&mut draw).xml();
        let page = Parsed::of(&xml);
        let document = page.document();
        let expressions: Vec<String> = (0..EXPRESSIONS).map(|_| expression(&mut draw)).collect();
        let question = json!({"page": xml, "expressions": expressions});
        let answers = judge.ask(&question);
        for (expression, theirs) in expressions.iter().zip(answers.as_array().unwrap()) {
            let (theirs, ours) = (theirs.as_str().unwrap(), answer(&document, expression));
            // Rust writes numbers otherwise than Python does.
            let number = theirs.strip_prefix("number ");
            let theirs = number.map_or_else(
                || theirs.to_owned(),
                |number| number_text(number.parse().expect("a number")),
            );
            trial.compare(&format!("{expression} on {xml}"), &theirs, &ours);
        }
    }
    trial.close();
}

/// What the expression is on the page's root element: the judge begins there, too.
fn answer(document: &Document<'_>, expression: &str) -> String {
    let root = document.html().expect("a page has a root").node();
    let value = XPath::parse(expression).and_then(|xpath| xpath.evaluate(root));
    match value {
        Err(_) => "error".to_owned(),
        Ok(Value::Boolean(boolean)) => format!("boolean {boolean}"),
        Ok(Value::Number(number)) => number_text(number),
        Ok(Value::String(text)) => format!("string {text}"),
        Ok(Value::Nodes(items)) => {
            assert!(are_in_order(&items), "not in order: {expression}");
            let mut described: Vec<String> = items.iter().filter_map(describe).collect();
            described.sort_unstable();
            let described = described.iter().map(|text| json!(text).to_string());
            format!("nodes [{}]", described.collect::<Vec<_>>().join(", "))
        }
    }
}

fn number_text(number: f64) -> String {
    // Zero has one spelling.
    format!("number {}", number + 0.0)
}

/// Whether nodes and attributes are in the order of the page.
fn are_in_order(items: &[Item<'_>]) -> bool {
    let nodes: Vec<_> = items
        .iter()
        .map(|item| match item {
            Item::Node(node) => *node,
            Item::Attribute(attribute) => attribute.element.node(),
        })
        .collect();
    nodes.is_sorted()
}

/// A node as the judge describes it; the document is in no result of the judge.
fn describe(item: &Item<'_>) -> Option<String> {
    match item {
        Item::Attribute(attribute) => {
            let id = attribute.element.id().unwrap_or_default();
            Some(format!("attribute {id} {}", attribute.name))
        }
        Item::Node(node) => match node.kind() {
            Kind::Element(element) => Some(format!("element {}", element.id().unwrap_or_default())),
            Kind::Text(text) => Some(format!("text {text}")),
            Kind::Comment(text) => Some(format!("comment {text}")),
            Kind::Document => None,
            other => panic!("no drawn page has this: {other:?}"),
        },
    }
}

/// An expression of any type, now and then one that is none.
fn expression(draw: &mut Draw) -> String {
    match draw.below(20) {
        0..11 => path(draw, 2),
        11 => format!("({})[{}]", path(draw, 2), position(draw)),
        12 => format!("{} | {}", path(draw, 1), path(draw, 1)),
        13 | 14 => number(draw, 2),
        15 | 16 => string(draw, 2),
        17 | 18 => boolean(draw, 2),
        _ => draw
            .one(&[
                "//",
                "//p[",
                "//p]",
                "count('a')",
                "child::",
                "//@",
                "1 +",
                "'a",
                "//p[@]",
                "foo()",
                "..//*",
                "./*",
                "/..",
                "/.",
                "*",
                "//*[last()]/..",
                "string(/)",
                "2 * 3 div 4 mod 5",
                "-(-3)",
                "//div//p",
                "//p/..//b",
            ])
            .to_owned(),
    }
}

/// A location path whose predicates are so deep.
fn path(draw: &mut Draw, depth: usize) -> String {
    let mut text = draw
        .one(&["//", "//", "//", "/", "/html/body/", "descendant::"])
        .to_owned();
    if text == "descendant::" {
        text += draw.one(&TESTS);
    } else {
        text += &step(draw, depth);
    }
    for _ in 0..draw.below(3) {
        text += draw.one(&["/", "/", "//"]);
        text += &step(draw, depth);
    }
    if draw.often(15) {
        text += "/";
        text += draw.one(&ATTRIBUTES);
    }
    text
}

fn relative(draw: &mut Draw) -> String {
    let step = step(draw, 0);
    draw.one(&["", "", ".//", "../", "//"]).to_owned() + &step
}

fn step(draw: &mut Draw, depth: usize) -> String {
    let mut text = match draw.below(10) {
        0 => return draw.one(&[".", "..", "..", "text()"]).to_owned(),
        1..5 => draw.one(&TESTS).to_owned(),
        _ => format!("{}::{}", draw.one(&AXES), draw.one(&TESTS)),
    };
    for _ in 0..draw.one(&["", "", "1", "11"]).len() {
        text += &format!("[{}]", predicate(draw, depth));
    }
    text
}

fn predicate(draw: &mut Draw, depth: usize) -> String {
    match draw.below(if depth == 0 { 6 } else { 9 }) {
        0 => position(draw),
        1 => draw.one(&ATTRIBUTES).to_owned(),
        2 => format!("{}={}", draw.one(&ATTRIBUTES), draw.one(&STRINGS)),
        3 => format!(
            "contains({}, {})",
            draw.one(&ATTRIBUTES),
            draw.one(&STRINGS)
        ),
        4 => format!("position() mod 2 {} 1", draw.one(&COMPARISONS)),
        5 => format!("text(){}{}", draw.one(&["=", "!="]), draw.one(&STRINGS)),
        6 => relative(draw),
        7 => number(draw, depth - 1),
        _ => boolean(draw, depth - 1),
    }
}

fn position(draw: &mut Draw) -> String {
    draw.one(&[
        "1",
        "2",
        "3",
        "last()",
        "last() - 1",
        "position() > 1",
        "0",
        "1.5",
    ])
    .to_owned()
}

fn number(draw: &mut Draw, depth: usize) -> String {
    let inner = |draw: &mut Draw| {
        if depth == 0 {
            draw.one(&["0", "1", "2", "3.5", ".5", "-1", "position()", "last()"])
                .to_owned()
        } else {
            number(draw, depth - 1)
        }
    };
    match draw.below(8) {
        0 | 1 => format!("count({})", path(draw, 0)),
        2 => format!("string-length({})", string(draw, 0)),
        3 => format!("floor({} div 2)", inner(draw)),
        4 => format!("round({})", inner(draw)),
        5 => format!("number({})", string(draw, 0)),
        6 => format!("sum({}/@data-x)", path(draw, 0)),
        _ => {
            let operator = draw.one(&["+", "-", "*", "div", "mod"]);
            format!("({} {operator} {})", inner(draw), inner(draw))
        }
    }
}

fn string(draw: &mut Draw, depth: usize) -> String {
    if depth == 0 {
        return match draw.below(3) {
            0 => draw.one(&STRINGS).to_owned(),
            1 => format!("string({})", path(draw, 0)),
            _ => "string()".to_owned(),
        };
    }
    let (one, other) = (string(draw, depth - 1), string(draw, depth - 1));
    match draw.below(9) {
        0 => format!("concat({one}, {other})"),
        1 => format!("normalize-space({one})"),
        2 => format!(
            "substring({one}, {})",
            draw.one(&["1", "2", "0", "1.5", "-1", "3"])
        ),
        3 => format!(
            "substring({one}, {}, {})",
            draw.one(&["1", "2", "0"]),
            draw.one(&["1", "2.5", "0"])
        ),
        4 => format!("substring-before({one}, {other})"),
        5 => format!("substring-after({one}, {other})"),
        6 => format!("translate({one}, {other}, 'xy')"),
        7 => format!("name({})", path(draw, 0)),
        _ => format!("local-name({})", path(draw, 0)),
    }
}

fn boolean(draw: &mut Draw, depth: usize) -> String {
    if depth == 0 {
        return draw
            .one(&["true()", "false()", "@class", "1", "'a'", "*"])
            .to_owned()
            + " = true()";
    }
    let comparison = draw.one(&COMPARISONS);
    match draw.below(8) {
        0 => format!("not({})", relative(draw)),
        1 => format!("{} {comparison} {}", number(draw, 0), number(draw, 0)),
        2 => format!("{} {comparison} {}", relative(draw), number(draw, 0)),
        3 => format!("{} {comparison} {}", relative(draw), string(draw, 0)),
        4 => format!("{} {comparison} {}", relative(draw), relative(draw)),
        5 => format!("starts-with({}, {})", string(draw, 0), draw.one(&STRINGS)),
        6 => format!(
            "({} and {})",
            boolean(draw, depth - 1),
            boolean(draw, depth - 1)
        ),
        _ => format!(
            "({} or {})",
            boolean(draw, depth - 1),
            boolean(draw, depth - 1)
        ),
    }
}
