//! The fallback for the main content.

use trawl_sdk::{Document, Element, Mask, Step, Tag};

/// The whole page without navigation, asides, forms, and the header and footer around it; the
/// unfiltered page if nothing else has text.
pub(crate) fn of(document: &Document<'_>) -> Mask {
    let mut mask = Mask::of(document);
    for element in document.elements().filter(|&element| is_around(element)) {
        mask.drop_tree(element.node());
    }
    let shows_text = shows_text(document, &mask);
    if shows_text { mask } else { Mask::of(document) }
}

/// Whether the kept part has any visible text.
pub(crate) fn shows_text(document: &Document<'_>, mask: &Mask) -> bool {
    let mut walk = document.root().walk();
    while let Some(step) = walk.next() {
        let Step::Enter(node) = step else { continue };
        if node.as_element().is_some_and(Element::is_hidden) && mask.keeps(node) {
            walk.skip_tree();
        }
        if mask.keeps(node) && node.as_text().is_some_and(|text| !text.trim().is_empty()) {
            return true;
        }
    }
    false
}

fn is_around(element: Element<'_>) -> bool {
    match (element.tag(), element.attr("role")) {
        (Tag::Nav | Tag::Aside | Tag::Form | Tag::Search | Tag::Dialog, _)
        | (_, Some("navigation" | "complementary" | "search")) => true,
        (Tag::Header | Tag::Footer, _) | (_, Some("banner" | "contentinfo")) => !element
            .ancestors()
            .any(|outer| matches!(outer.tag(), Tag::Article | Tag::Main | Tag::Section)),
        _ => false,
    }
}
