//! Trees of HTML. The judge is the data of the parser tests that browsers share, as the source of
//! the package `html5lib` ships it.

use std::fmt::Write as _;
use std::fs;

use trawl_sdk::{Document, Element, Kind, Namespace, Node};

use crate::parsed::Parsed;
use crate::trial::{Exception, Trial};

/// What `cargo xtask judges` has put aside.
const DATA: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../target/conformance/tree-construction"
);

const EXCEPTIONS: [Exception; 3] = [
    Exception {
        reason: "the standard has dropped `isindex`, `menuitem` and `keygen` since",
        covers: |it| {
            let source = it.input.to_ascii_lowercase();
            ["<isindex", "<menuitem", "<keygen"]
                .iter()
                .any(|tag| source.contains(tag))
        },
    },
    Exception {
        reason: "the standard has changed what may be in a `select` since",
        covers: |it| it.input.to_ascii_lowercase().contains("<select"),
    },
    Exception {
        reason: "the standard has changed `ruby`, `menu` and `dialog` since",
        covers: |it| {
            let source = it.input.to_ascii_lowercase();
            ["<rt", "<rb", "<menu", "<search"]
                .iter()
                .any(|tag| source.contains(tag))
        },
    },
];

/// A test of the data.
#[derive(Debug, Default)]
struct Case {
    source: String,
    tree: String,
    is_fragment: bool,
    has_scripts: bool,
}

#[test]
#[cfg_attr(no_judges, ignore = "no judges: cargo xtask judges")]
fn trees_are_those_of_the_shared_tests() {
    let mut files: Vec<_> = fs::read_dir(DATA)
        .expect("run `cargo xtask judges`")
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "dat"))
        .collect();
    files.sort();
    let mut trial = Trial::of("HTML: the shared parser tests", &EXCEPTIONS);
    // Nothing is drawn: one round.
    let _draw = trial.round();
    for file in files {
        let octets = fs::read(&file).expect("a file");
        // A few sources are not UTF-8.
        let text = String::from_utf8_lossy(&octets);
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        for case in cases(&text) {
            // Pages are parsed whole, and as if scripting were off.
            if case.is_fragment || case.has_scripts {
                continue;
            }
            let page = Parsed::of(&case.source);
            let input = format!("{name}: {}", case.source);
            trial.compare(&input, &case.tree, &dump(&page.document()));
        }
    }
    trial.close();
}

/// The tests of a file: sections that begin with a line of `#name`.
fn cases(text: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    let mut section = "";
    for line in text.split('\n') {
        let is_name = matches!(
            line,
            "#data"
                | "#errors"
                | "#new-errors"
                | "#document-fragment"
                | "#document"
                | "#script-on"
                | "#script-off"
        );
        if is_name && !(section == "#data" && line == "#data") {
            section = line;
            match line {
                "#data" => cases.push(Case::default()),
                "#document-fragment" => last(&mut cases).is_fragment = true,
                "#script-on" => last(&mut cases).has_scripts = true,
                _ => {}
            }
            continue;
        }
        match section {
            "#data" => last(&mut cases).source += &format!("{line}\n"),
            "#document" => last(&mut cases).tree += &format!("{line}\n"),
            _ => {}
        }
    }
    for case in &mut cases {
        case.source.pop();
        case.tree = plain(case.tree.trim_end_matches('\n'));
    }
    cases
}

fn last(cases: &mut [Case]) -> &mut Case {
    cases.last_mut().expect("a file begins with `#data`")
}

/// The parts of a tree that the server keeps: of a doctype its name, and names with their prefix.
fn plain(tree: &str) -> String {
    let lines = tree.split('\n').map(|line| {
        if let Some(rest) = line.strip_prefix("| <!DOCTYPE ") {
            let name = rest.split([' ', '>']).next().unwrap_or_default();
            return format!("| <!DOCTYPE {name}>");
        }
        for prefix in ["xlink", "xml", "xmlns"] {
            let own = line.trim_start_matches(['|', ' ']);
            if own.starts_with(&format!("{prefix} ")) {
                return line.replacen(&format!("{prefix} "), &format!("{prefix}:"), 1);
            }
        }
        line.to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The tree in the form of the tests.
fn dump(document: &Document<'_>) -> String {
    let mut text = String::new();
    dump_children(document.root(), 0, &mut text);
    text.trim_end_matches('\n').to_owned()
}

fn dump_children(node: Node<'_>, depth: usize, text: &mut String) {
    for child in node.children() {
        let indent = "  ".repeat(depth);
        let line = match child.kind() {
            Kind::Doctype(name) => format!("<!DOCTYPE {name}>"),
            Kind::Element(element) => format!("<{}{}>", prefix(element), element.name()),
            Kind::Text(content) => format!("\"{content}\""),
            Kind::Comment(content) => format!("<!-- {content} -->"),
            Kind::TemplateContents => "content".to_owned(),
            Kind::ProcessingInstruction(content) => format!("<?{content}>"),
            Kind::Document => "document".to_owned(),
        };
        writeln!(text, "| {indent}{line}").expect("a string takes all");
        if let Kind::Element(element) = child.kind() {
            let mut attributes: Vec<(&str, &str)> = element.attrs().collect();
            attributes.sort_unstable();
            for (name, value) in attributes {
                writeln!(text, "|   {indent}{name}=\"{value}\"").expect("a string takes all");
            }
        }
        dump_children(child, depth + 1, text);
    }
}

fn prefix(element: Element<'_>) -> &'static str {
    match element.namespace() {
        Namespace::Svg => "svg ",
        Namespace::MathMl => "math ",
        _ => "",
    }
}
