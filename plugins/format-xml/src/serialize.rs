//! Serializes a tree as XHTML. XML 1.0 defines the permitted characters, Namespaces in XML the
//! prefixes.

use std::borrow::Cow;

use trawl_sdk::{Document, Element, Kind, Namespace, Node, Step};

const XHTML: &str = "http://www.w3.org/1999/xhtml";

/// Serializes the kept part of a page as a well-formed XML document.
pub(crate) fn page(document: &Document) -> String {
    let mut out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE html>\n".to_owned();
    // A filter may have removed `<html>`, but a document needs exactly one root.
    let has_root = document.html().is_some();
    if !has_root {
        out.extend(["<html xmlns=\"", XHTML, "\">"]);
    }
    for step in document.root().walk() {
        match step {
            Step::Enter(node) => enter(&mut out, node, has_root),
            Step::Leave(node) => {
                if let Some(element) = node.as_element()
                    && !element.tag().is_void()
                {
                    out.extend(["</", &xml_name(element.name(), false), ">"]);
                }
            }
        }
    }
    if !has_root {
        out.push_str("</html>");
    }
    out.push('\n');
    out
}

fn enter(out: &mut String, node: Node<'_>, has_root: bool) {
    match node.kind() {
        Kind::Element(element) => open(out, element, has_root),
        Kind::Text(text) => escape(out, text, false),
        Kind::Comment(comment) => {
            out.push_str("<!--");
            push_comment(out, comment);
            out.push_str("-->");
        }
        // The doctype is already written; a processing instruction in HTML is a mistake in the
        // page.
        _ => {}
    }
}

fn open(out: &mut String, element: Element<'_>, has_root: bool) {
    out.extend(["<", &xml_name(element.name(), false)]);
    let outer = match element.parent_element() {
        Some(parent) => Some(parent.namespace()),
        None => (!has_root).then_some(Namespace::Html),
    };
    if outer != Some(element.namespace()) {
        out.extend([" xmlns=\"", namespace_url(element.namespace()), "\""]);
    }
    let mut written: Vec<Cow<'_, str>> = Vec::new();
    for (name, value) in element.attrs() {
        if name == "xmlns" || name.starts_with("xmlns:") {
            continue;
        }
        let is_foreign = element.namespace() != Namespace::Html;
        if is_foreign
            && name.starts_with("xlink:")
            && !written.iter().any(|n| n.starts_with("xlink:"))
        {
            out.push_str(" xmlns:xlink=\"http://www.w3.org/1999/xlink\"");
        }
        let name = xml_name(name, is_foreign);
        // Two names may have become the same.
        if written.contains(&name) {
            continue;
        }
        out.extend([" ", &name, "=\""]);
        escape(out, value, true);
        out.push('"');
        written.push(name);
    }
    // Only void elements are self-closed: a browser that reads this as HTML treats `<p/>` as an
    // open paragraph.
    out.push_str(if element.tag().is_void() { "/>" } else { ">" });
}

const fn namespace_url(namespace: Namespace) -> &'static str {
    match namespace {
        Namespace::Svg => "http://www.w3.org/2000/svg",
        Namespace::MathMl => "http://www.w3.org/1998/Math/MathML",
        _ => XHTML,
    }
}

/// Replaces everything that is not permitted in an XML name. Declared prefixes are kept where they
/// are permitted.
fn xml_name(name: &str, may_have_prefix: bool) -> Cow<'_, str> {
    if name == "xml:lang" || name == "xml:space" {
        return Cow::Borrowed(name);
    }
    if may_have_prefix && let Some(local) = name.strip_prefix("xlink:") {
        return Cow::Owned(format!("xlink:{}", xml_name(local, false)));
    }
    let is_right = name.starts_with(is_name_start) && name.chars().all(is_name_character);
    if is_right {
        return Cow::Borrowed(name);
    }
    let mut right: String = name
        .chars()
        .map(|c| if is_name_character(c) { c } else { '_' })
        .collect();
    if !right.starts_with(is_name_start) {
        right.insert(0, '_');
    }
    Cow::Owned(right)
}

/// XML 1.0 `NameStartChar`, without the colon.
fn is_name_start(c: char) -> bool {
    matches!(c, 'A'..='Z' | '_' | 'a'..='z' | '\u{C0}'..='\u{D6}' | '\u{D8}'..='\u{F6}' | '\u{F8}'..='\u{2FF}' | '\u{370}'..='\u{37D}'
        | '\u{37F}'..='\u{1FFF}' | '\u{200C}'..='\u{200D}' | '\u{2070}'..='\u{218F}' | '\u{2C00}'..='\u{2FEF}' | '\u{3001}'..='\u{D7FF}'
        | '\u{F900}'..='\u{FDCF}' | '\u{FDF0}'..='\u{FFFD}' | '\u{10000}'..='\u{EFFFF}')
}

/// XML 1.0 `NameChar`, without the colon.
fn is_name_character(c: char) -> bool {
    is_name_start(c)
        || matches!(c, '-' | '.' | '0'..='9' | '\u{B7}' | '\u{300}'..='\u{36F}' | '\u{203F}'..='\u{2040}')
}

/// XML 1.0 `Char`.
fn is_character(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='\u{FFFD}' | '\u{10000}'..)
}

/// Escapes text or, with `in_value`, the value of an attribute.
fn escape(out: &mut String, text: &str, in_value: bool) {
    let is_special = |c: char| match c {
        '&' | '<' | '>' | '\r' => true,
        '"' | '\n' | '\t' => in_value,
        c => !is_character(c),
    };
    let mut rest = text;
    while let Some(at) = rest.find(is_special) {
        let special = rest[at..].chars().next().unwrap_or_default();
        out.push_str(&rest[..at]);
        out.push_str(match special {
            '&' => "&amp;",
            '<' => "&lt;",
            '>' => "&gt;",
            '"' => "&quot;",
            '\n' => "&#10;",
            '\t' => "&#9;",
            '\r' => "&#13;",
            _ => "\u{fffd}",
        });
        rest = &rest[at + special.len_utf8()..];
    }
    out.push_str(rest);
}

/// Writes a comment without double hyphens and without a hyphen at the end.
fn push_comment(out: &mut String, comment: &str) {
    let mut was_hyphen = false;
    for c in comment.chars() {
        if was_hyphen && c == '-' {
            out.push(' ');
        }
        out.push(if is_character(c) { c } else { '\u{fffd}' });
        was_hyphen = c == '-';
    }
    if was_hyphen {
        out.push(' ');
    }
}
