//! Decoys: invisible text inside words, such as `info<span class="x">.nospam</span>@acme.de` with
//! `.x { display: none }`.

use std::collections::HashMap;

use trawl_sdk::{Document, Element, Mask, Node, Selector, Tag};

/// Maximum number of hiding rules, and of bytes of style sheets, that are read.
const RULES_MAX: usize = 200;
const STYLE_BYTES_MAX: usize = 500_000;
/// Maximum length of a decoy, in bytes; longer text stands for itself.
const DECOY_BYTES_MAX: usize = 40;

/// Classes that common style sheets hide, and common names for decoys.
const CLASSES: [&str; 16] = [
    "hidden",
    "d-none",
    "hide",
    "visually-hidden",
    "visuallyhidden",
    "sr-only",
    "screen-reader-text",
    "nospam",
    "no-spam",
    "antispam",
    "spam",
    "spamprotection",
    "honeypot",
    "displaynone",
    "display-none",
    "invisible",
];

/// Calls `read` with the page without its decoys.
pub(crate) fn without<T>(document: &Document<'_>, read: impl FnOnce(&Document<'_>) -> T) -> T {
    match mask(document).map(Mask::into_bits) {
        Some(bits) => {
            let mut arrays = document.arrays();
            arrays.kept = &bits;
            read(&Document::new(arrays))
        }
        None => read(document),
    }
}

/// The mask that removes the decoys; `None` for a page without any.
fn mask(document: &Document<'_>) -> Option<Mask> {
    let rules = rules(document);
    let mut mask = None;
    for element in document.elements().filter(|element| is_inline(*element)) {
        let is_hidden_by = |key: &str| {
            let selectors = rules.get(key).map_or(&[][..], Vec::as_slice);
            selectors
                .iter()
                .any(|selector| element.matches_with(selector))
        };
        let is_ruled = !rules.is_empty()
            && (element.classes().any(is_hidden_by) || is_hidden_by(element.name()));
        let is_called = || element.classes().any(|class| CLASSES.contains(&class));
        if !is_ruled && !is_called() {
            continue;
        }
        let joins = (
            joins(element.node().previous_sibling(), true),
            joins(element.node().next_sibling(), false),
        );
        let is_inside = if is_ruled {
            joins.0 || joins.1
        } else {
            joins.0 && joins.1
        };
        let is_short = || element.text().len() <= DECOY_BYTES_MAX;
        if is_inside && is_short() {
            mask.get_or_insert_with(|| Mask::of(document))
                .drop_tree(element.node());
        }
    }
    mask
}

fn is_inline(element: Element<'_>) -> bool {
    matches!(
        element.tag(),
        Tag::Span
            | Tag::B
            | Tag::I
            | Tag::Em
            | Tag::Strong
            | Tag::Small
            | Tag::Font
            | Tag::U
            | Tag::S
            | Tag::Del
            | Tag::Ins
            | Tag::Code
            | Tag::Other
    )
}

/// Whether the text of a neighbour continues without white space.
fn joins(neighbour: Option<Node<'_>>, is_before: bool) -> bool {
    let Some(node) = neighbour else {
        return false;
    };
    match node.as_text() {
        Some(text) if is_before => text.ends_with(|c: char| !c.is_whitespace()),
        Some(text) => text.starts_with(|c: char| !c.is_whitespace()),
        None => node.as_element().is_some_and(is_inline) || node.as_comment().is_some(),
    }
}

/// The selectors of hiding rules by the class or element name that they end with.
fn rules(document: &Document<'_>) -> HashMap<String, Vec<Selector>> {
    let mut rules: HashMap<String, Vec<Selector>> = HashMap::new();
    let (mut n_rules, mut n_bytes) = (0, 0);
    let styles = document
        .elements()
        .filter(|element| element.tag() == Tag::Style);
    for style in styles {
        let css = style.text();
        n_bytes += css.len();
        if n_bytes > STYLE_BYTES_MAX {
            break;
        }
        each_rule(&css, &mut |selectors, declarations| {
            if n_rules >= RULES_MAX || !hides(declarations) {
                return;
            }
            for selector in selectors.split(',').map(str::trim) {
                n_rules += 1;
                let last = selector
                    .rsplit([' ', '>', '+', '~'])
                    .next()
                    .unwrap_or_default();
                let key = last.rsplit_once('.').map_or(last, |(_, class)| class);
                if !key.is_empty()
                    && !last.contains([':', '[', '*', '#'])
                    && let Ok(parsed) = Selector::parse(selector)
                {
                    rules.entry(key.to_owned()).or_default().push(parsed);
                }
            }
        });
    }
    rules
}

/// Calls `found` with the selectors and declarations of each rule outside of `@media`.
fn each_rule(css: &str, found: &mut dyn FnMut(&str, &str)) {
    let mut start = 0;
    let mut at = 0;
    while let Some(length) = css[at..].find(['{', '}', ';']) {
        let place = at + length;
        at = place + 1;
        if !css[place..].starts_with('{') {
            start = at;
            continue;
        }
        let head = css[start..place].trim();
        let head = head.rsplit("*/").next().unwrap_or_default().trim();
        if head.starts_with('@') {
            at = block_end(css, at);
        } else {
            let end = css[at..].find('}').map_or(css.len(), |length| at + length);
            found(head, &css[at..end]);
            at = (end + 1).min(css.len());
        }
        start = at;
    }
}

/// The end of the block that contains the offset.
fn block_end(css: &str, at: usize) -> usize {
    let mut depth = 1;
    for (place, sign) in css[at..].match_indices(['{', '}']) {
        depth = if sign == "{" { depth + 1 } else { depth - 1 };
        if depth == 0 {
            return at + place + 1;
        }
    }
    css.len()
}

fn hides(declarations: &str) -> bool {
    let plain: String = declarations
        .chars()
        .filter(|c| !c.is_whitespace())
        .map(|c| c.to_ascii_lowercase())
        .collect();
    [
        "display:none",
        "visibility:hidden",
        "font-size:0;",
        "font-size:0px",
        "left:-9999",
        "left:-999",
    ]
    .iter()
    .any(|way| plain.contains(way))
        || plain.ends_with("font-size:0")
}
