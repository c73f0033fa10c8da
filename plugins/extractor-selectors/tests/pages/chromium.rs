//! Compares XPath with Chromium's `document.evaluate`: `tests/fixtures/xpath` holds the
//! expressions, the pages, the script that queries Chromium, and its results.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use trawl_sdk::{Kind, Node, testkit};
use trawl_xpath::{Item, Value, XPath};

const PAGES: [&str; 4] = ["guide", "manual", "shop", "tables"];

/// Expressions with different results, for the reasons given in `trawl_xpath`.
const DIFFERENT: [&str; 14] = [
    "count(//@id[//h1])",
    "string-length()",
    "string(1 div 3)",
    "string(1234567.5)",
    "string(0.1 + 0.2)",
    "string(1000000)",
    "string(0.0000001)",
    "string(12345678901234567890)",
    "string-length('😀')",
    "substring('a😀b', 4)",
    "number('\u{3000}1')",
    "false() and count('x')",
    "$x",
    "//p[$x]",
];

#[test]
fn expressions_give_what_chromium_gives() {
    let text = read("expressions.txt");
    let is_expression = |line: &&str| !line.trim().is_empty() && !line.starts_with("# ");
    let expressions: Vec<&str> = text.lines().filter(is_expression).collect();
    let mut differences = String::new();
    let mut explained = BTreeSet::new();
    for name in PAGES {
        let page = testkit::page(&read(&format!("pages/{name}.html")));
        let document = page.document();
        let expected = read(&format!("expected/{name}.json"));
        let expected: Vec<String> = serde_json::from_str(&expected).expect("a list of answers");
        assert_eq!(expressions.len(), expected.len(), "{name}");
        for (expression, expected) in expressions.iter().zip(expected) {
            let own = answer(document.root(), expression);
            if own != expected && DIFFERENT.contains(expression) {
                explained.insert(*expression);
            } else if own != expected {
                writeln!(
                    differences,
                    "{name}: {expression}\n  chromium {expected}\n  trawl    {own}"
                )
                .expect("a string takes all");
            }
        }
    }
    assert!(differences.is_empty(), "{differences}");
    assert_eq!(
        explained,
        BTreeSet::from(DIFFERENT),
        "differences that are none"
    );
}

fn read(file: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/xpath");
    fs::read_to_string(folder.join(file)).expect("a fixture")
}

/// The canonical form of a result, as `evaluate.js` writes it.
fn answer(root: Node<'_>, expression: &str) -> String {
    let value = XPath::parse(expression).and_then(|xpath| xpath.evaluate(root));
    match value {
        Err(_) => "error".to_owned(),
        Ok(Value::Number(number)) => format!("number {}", Value::Number(number + 0.0).to_text()),
        Ok(Value::String(text)) => format!("string {}", short(&text, 100)),
        Ok(Value::Boolean(boolean)) => format!("boolean {boolean}"),
        Ok(Value::Nodes(items)) => {
            let paths: Vec<String> = items.iter().map(path_of).collect();
            format!("nodes {} {}", paths.len(), short(&paths.join(" "), 200))
        }
    }
}

fn path_of(item: &Item<'_>) -> String {
    match item {
        Item::Attribute(attribute) => {
            format!(
                "{}/@{}",
                path_of_node(attribute.element.node()),
                attribute.name
            )
        }
        Item::Node(node) => path_of_node(*node),
    }
}

fn path_of_node(node: Node<'_>) -> String {
    let Some(parent) = node.parent() else {
        return "/".to_owned();
    };
    let label = label(node);
    let before = std::iter::successors(node.previous_sibling(), |node| node.previous_sibling());
    let number = 1 + before
        .filter(|sibling| self::label(*sibling) == label)
        .count();
    let parent = match parent.kind() {
        Kind::Document => String::new(),
        _ => path_of_node(parent),
    };
    format!("{parent}/{label}[{number}]")
}

fn label(node: Node<'_>) -> &str {
    match node.kind() {
        Kind::Element(element) => element.name(),
        Kind::Text(_) => "text()",
        Kind::Comment(_) => "comment()",
        Kind::Doctype(_) => "doctype()",
        _ => "other()",
    }
}

fn short(text: &str, limit: usize) -> String {
    let n_characters = text.chars().count();
    if n_characters <= limit {
        return text.to_owned();
    }
    let start: String = text.chars().take(limit).collect();
    let hash = text.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    format!("{start}… {n_characters} {hash:08x}")
}
