//! Makes declarative shadow trees part of their page, as its reader sees them: the shadow tree
//! takes the place of its host's children, and those children the place of its slots. A browser's
//! page comes the same way. Source: WHATWG HTML, "A start tag whose tag name is "template""; DOM,
//! "find flattened slottables". Decision D332.

use html5ever::{QualName, local_name, ns};
use rustc_hash::FxHashMap;

use super::arena::{Arena, NONE};
use super::kind;
use super::names::Names;

/// A shadow tree and the element that it is attached to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shadow {
    pub(super) host: u32,
    /// The node whose children are the shadow tree.
    pub(super) contents: u32,
}

/// Whether an element can have a shadow tree. Source: DOM, "valid shadow host name".
pub(super) fn can_host(name: &QualName) -> bool {
    const NAMES: [&str; 18] = [
        "article",
        "aside",
        "blockquote",
        "body",
        "div",
        "footer",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "header",
        "main",
        "nav",
        "p",
        "section",
        "span",
    ];
    let local = &*name.local;
    name.ns == ns!(html) && (local.contains('-') || NAMES.contains(&local))
}

/// Flattens all shadow trees of a page, which are in the order of their hosts' start tags. Takes
/// time linear in the page.
pub(super) fn flatten(arena: &mut Arena, names: &Names, shadows: &[Shadow]) {
    // While the trees are still separate, each element belongs to one of them.
    let parts: Vec<Parts> = shadows
        .iter()
        .map(|shadow| Parts::of(arena, names, shadow.contents))
        .collect();
    // A slot may be a child of a host inside its own tree: it is moved there first, then filled.
    for (shadow, parts) in shadows.iter().zip(&parts).rev() {
        fill(arena, names, *shadow, parts);
    }
}

/// The elements of a shadow tree that are not shown themselves, in document order.
#[derive(Default)]
struct Parts {
    slots: Vec<u32>,
    /// Style sheets, which apply to the shadow tree alone.
    styles: Vec<u32>,
}

impl Parts {
    fn of(arena: &Arena, names: &Names, contents: u32) -> Self {
        let mut parts = Self::default();
        let mut node = contents;
        while let Some(next) = next_inside(arena, contents, node) {
            node = next;
            let found = &arena.nodes[node as usize];
            if found.kind != kind::ELEMENT || names.get(found.name).ns != ns!(html) {
                continue;
            }
            match names.get(found.name).local {
                local_name!("slot") => parts.slots.push(node),
                local_name!("style") | local_name!("link") => parts.styles.push(node),
                _ => {}
            }
        }
        parts
    }
}

/// The node after `node` in the tree of `root`.
fn next_inside(arena: &Arena, root: u32, node: u32) -> Option<u32> {
    let mut at = &arena.nodes[node as usize];
    if at.first != NONE {
        return Some(at.first);
    }
    let mut index = node;
    while index != root {
        if at.next != NONE {
            return Some(at.next);
        }
        index = at.parent;
        at = &arena.nodes[index as usize];
    }
    None
}

/// Puts the host's children into the slots, and the shadow tree into the host.
fn fill(arena: &mut Arena, names: &Names, shadow: Shadow, parts: &Parts) {
    for &style in &parts.styles {
        arena.detach(style);
    }
    let mut assigned = assigned(arena, names, shadow.host);
    for &slot in &parts.slots {
        let name = attribute(arena, names, slot, "name").to_owned();
        // A slot in the fallback of another one that was filled is shown nowhere.
        if arena.nodes[slot as usize].parent == NONE {
            continue;
        }
        let own = detach_children(arena, slot);
        for node in assigned.remove(&name).unwrap_or(own) {
            arena.insert_before(slot, node);
        }
        arena.detach(slot);
    }
    arena.move_children(shadow.contents, shadow.host);
}

/// The host's children by the name of their slot; all are detached.
fn assigned(arena: &mut Arena, names: &Names, host: u32) -> FxHashMap<String, Vec<u32>> {
    let mut assigned: FxHashMap<String, Vec<u32>> = FxHashMap::default();
    for child in detach_children(arena, host) {
        let slot = match arena.nodes[child as usize].kind {
            kind::ELEMENT => attribute(arena, names, child, "slot"),
            kind::TEXT => "",
            _ => continue,
        };
        match assigned.get_mut(slot) {
            Some(nodes) => nodes.push(child),
            None => {
                let slot = slot.to_owned();
                assigned.insert(slot, vec![child]);
            }
        }
    }
    assigned
}

fn detach_children(arena: &mut Arena, parent: u32) -> Vec<u32> {
    let mut children = Vec::new();
    let mut child = arena.nodes[parent as usize].first;
    while child != NONE {
        let next = arena.nodes[child as usize].next;
        arena.detach(child);
        children.push(child);
        child = next;
    }
    children
}

/// The value of an element's attribute; empty if it has none.
fn attribute<'a>(arena: &'a Arena, names: &Names, element: u32, name: &str) -> &'a str {
    let element = &arena.nodes[element as usize];
    let attributes = element.start as usize..(element.start + element.count) as usize;
    for at in attributes {
        if *names.get(arena.attribute_names[at]).local == *name {
            let start = arena.attribute_starts[at] as usize;
            return &arena.text[start..start + arena.attribute_lengths[at] as usize];
        }
    }
    ""
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::time::{Duration, Instant};

    use url::Url;

    use super::super::tests::check_consistent;
    use super::super::{DEPTH_MAX, Document, Page, ParseLimits, parse};
    use super::*;

    fn parsed(html: &str) -> Document {
        let url = Url::parse("https://a.example/").expect("a URL");
        let document = parse(&Page::html(html, &url), &ParseLimits::default());
        let document = document.expect("within limits");
        check_consistent(&document);
        document
    }

    /// The body with elements as `name(…)`.
    fn outline(document: &Document) -> String {
        let mut out = String::new();
        let body = document.elements_named("body").next().expect("a body");
        let mut ends = Vec::new();
        for node in body + 1..document.ends[body] as usize {
            while ends.last().is_some_and(|&end| end <= node) {
                ends.pop();
                out.push(')');
            }
            let _ = match document.kinds[node] {
                kind::ELEMENT => {
                    ends.push(document.ends[node] as usize);
                    write!(out, "{}(", document.name(node))
                }
                kind::TEMPLATE_CONTENTS => {
                    ends.push(document.ends[node] as usize);
                    write!(out, "#(")
                }
                _ => write!(out, "{}", document.node_text(node)),
            };
        }
        out + &")".repeat(ends.len())
    }

    #[track_caller]
    fn check(html: &str, expected: &str) {
        assert_eq!(outline(&parsed(html)), expected, "{html}");
    }

    #[test]
    fn a_shadow_tree_is_part_of_the_page() {
        check(
            "<x-card><template shadowrootmode=open><style>p{}</style><p>19 EUR</p></template></x-card>y",
            "x-card(p(19 EUR))y",
        );
        check(
            "<div><template shadowrootmode=closed>a</template></div>",
            "div(a)",
        );
    }

    #[test]
    fn slots_show_the_children_of_the_host() {
        check(
            "<x-a><template shadowrootmode=open>1<slot name=b>no</slot>2<slot>no</slot>3<slot name=c>yes</slot></template>\
             <i>x</i>y<b slot=b>z</b><u slot=none>no</u></x-a>",
            "x-a(1b(z)2i(x)y3yes)",
        );
        // The slot of the outer tree is assigned to one of the inner tree.
        check(
            "<x-a><template shadowrootmode=open><x-b><template shadowrootmode=open>[<slot name=t></slot>]</template>\
             <slot slot=t></slot></x-b></template>text</x-a>",
            "x-a(x-b([text]))",
        );
        check(
            "<x-a><template shadowrootmode=open><slot>no<slot name=b>no</slot></slot></template>x<b slot=b>no</b></x-a>",
            "x-a(x)",
        );
        check(
            "<x-a><template shadowrootmode=open><slot>1<slot name=b>2</slot></slot></template></x-a>",
            "x-a(12)",
        );
    }

    #[test]
    fn other_templates_stay_inert() {
        for (html, expected) in [
            ("<div><template>a</template></div>", "div(template(#(a)))"),
            (
                "<div><template shadowrootmode=x>a</template></div>",
                "div(template(#(a)))",
            ),
            (
                "<ul><template shadowrootmode=open>a</template></ul>",
                "ul(template(#(a)))",
            ),
            (
                "<p><template shadowrootmode=open>a</template><template shadowrootmode=open>b</template></p>",
                "p(a)",
            ),
        ] {
            check(html, expected);
        }
    }

    #[test]
    fn hostile_shadow_trees_take_linear_time() {
        const N: usize = 100_000;
        let part = "<x-a><template shadowrootmode=open>";
        for html in [
            part.repeat(N),
            format!("{part}<slot></slot>").repeat(N),
            format!(
                "{}{}",
                part.repeat(N),
                "<slot></slot></template>x</x-a>".repeat(N)
            ),
            format!(
                "{part}{}</template>{}",
                "<slot></slot>".repeat(N),
                "x<i></i>".repeat(N)
            ),
            format!(
                "<div>{}",
                "<template shadowrootmode=open></template>".repeat(N)
            ),
        ] {
            let started = Instant::now();
            let document = parsed(&html);
            let mut depths = vec![0; document.kinds.len()];
            for node in 1..depths.len() {
                depths[node] = depths[document.parents[node] as usize] + 1;
            }
            assert!(depths.iter().max() <= Some(&(DEPTH_MAX + 1)));
            assert!(
                started.elapsed() < Duration::from_secs(20),
                "{}",
                &html[..60]
            );
        }
    }
}
