//! Serializes a tree as HTML. HTML Standard, "Serializing HTML fragments".

use trawl_sdk::{Document, Element, HiddenBy, Kind, Node, Step, Tag};

/// Serializes the kept part of a page; `clean` omits what only a browser needs.
pub(crate) fn page(document: &Document, clean: bool) -> String {
    let mut out = String::new();
    let mut walk = document.root().walk();
    while let Some(step) = walk.next() {
        match step {
            Step::Enter(node) => match node.kind() {
                Kind::Element(element) if clean && is_for_browsers(element) => walk.skip_tree(),
                Kind::Element(element) => open(&mut out, element, clean),
                Kind::Text(text) if is_raw(node) => out.push_str(text),
                Kind::Text(text) => escape(&mut out, text, is_special_in_text),
                Kind::Comment(comment) if !clean => push_all(&mut out, ["<!--", comment, "-->"]),
                Kind::Doctype(name) => push_all(&mut out, ["<!DOCTYPE ", name, ">"]),
                Kind::ProcessingInstruction(text) if !clean => {
                    push_all(&mut out, ["<?", text, ">"])
                }
                _ => {}
            },
            Step::Leave(node) => {
                if let Some(element) = node.as_element()
                    && !element.tag().is_void()
                {
                    push_all(&mut out, ["</", element.name(), ">"]);
                }
            }
        }
    }
    out
}

fn open(out: &mut String, element: Element<'_>, clean: bool) {
    push_all(out, ["<", element.name()]);
    let loses_hiding = clean && is_hidden_by_style(element);
    for (name, value) in element.attrs() {
        if clean && is_attribute_for_browsers(name, value) {
            continue;
        }
        if loses_hiding && name == "hidden" {
            continue;
        }
        push_all(out, [" ", name, "=\""]);
        escape(out, value, is_special_in_value);
        out.push('"');
    }
    // What a style attribute hides stays hidden without it.
    if loses_hiding {
        out.push_str(" hidden=\"\"");
    }
    out.push('>');
}

fn push_all<const N: usize>(out: &mut String, parts: [&str; N]) {
    out.extend(parts);
}

/// Whether a text belongs to an element whose text is written without escaping.
fn is_raw(text: Node<'_>) -> bool {
    text.parent_element()
        .is_some_and(|parent| parent.tag().is_raw_text())
}

fn is_special_in_text(c: char) -> bool {
    matches!(c, '&' | '<' | '>' | '\u{a0}')
}

fn is_special_in_value(c: char) -> bool {
    c == '"' || is_special_in_text(c)
}

fn escape(out: &mut String, text: &str, is_special: fn(char) -> bool) {
    let mut rest = text;
    while let Some(at) = rest.find(is_special) {
        out.push_str(&rest[..at]);
        let special = rest[at..].chars().next().unwrap_or_default();
        out.push_str(match special {
            '&' => "&amp;",
            '<' => "&lt;",
            '>' => "&gt;",
            '"' => "&quot;",
            _ => "&nbsp;",
        });
        rest = &rest[at + special.len_utf8()..];
    }
    out.push_str(rest);
}

fn is_for_browsers(element: Element<'_>) -> bool {
    match element.tag() {
        Tag::Script | Tag::Style | Tag::Noscript | Tag::Template => true,
        Tag::Link => {
            let kinds = element.attr("rel").unwrap_or_default();
            let mut kinds = kinds.split_ascii_whitespace();
            kinds.any(|kind| {
                LOADED
                    .iter()
                    .any(|loaded| kind.eq_ignore_ascii_case(loaded))
            })
        }
        _ => false,
    }
}

/// Values of `rel` for resources that a browser loads or connects to.
const LOADED: [&str; 6] = [
    "dns-prefetch",
    "modulepreload",
    "preconnect",
    "prefetch",
    "preload",
    "stylesheet",
];

/// Whether only the `style` attribute hides the element, which stays out of clean HTML.
fn is_hidden_by_style(element: Element<'_>) -> bool {
    element.hidden_by().is_some_and(|by| {
        !matches!(
            by,
            HiddenBy::HiddenAttribute | HiddenBy::ClosedDialog | HiddenBy::AriaHidden
        )
    })
}

fn is_attribute_for_browsers(name: &str, value: &str) -> bool {
    let is_script = |value: &str| {
        let scheme = value.trim_ascii_start().get(..11);
        scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case("javascript:"))
    };
    name.starts_with("on") || matches!(name, "style" | "nonce" | "integrity") || is_script(value)
}
