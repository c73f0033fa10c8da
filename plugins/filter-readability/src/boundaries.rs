//! Which elements interrupt the flow of text, and which of them are only wrappers.

use trawl_sdk::{Element, Node, Tag};

/// Whether an element interrupts the flow of text.
pub(crate) fn is_region(element: Element<'_>) -> bool {
    match element.tag() {
        Tag::Td | Tag::Th | Tag::Button | Tag::Noscript | Tag::Label => true,
        Tag::Other => element.name().contains('-'),
        tag => tag.is_block(),
    }
}

/// Whether an element says nothing about what is in it: a `div` without attributes that is alone
/// in its parent, or has nothing but blocks. A page has the same main content without it.
pub(crate) fn is_wrapper(element: Element<'_>) -> bool {
    element.tag() == Tag::Div
        && element.attrs().next().is_none()
        && (is_alone(element) || has_blocks_only(element))
}

/// Whether nothing is beside an element but what is left out of the main content anyway. Elements
/// with the same parent look at the same nodes at most twice.
fn is_alone(element: Element<'_>) -> bool {
    let node = element.node();
    let mut before = std::iter::successors(node.previous_sibling(), |node| node.previous_sibling());
    let mut after = std::iter::successors(node.next_sibling(), |node| node.next_sibling());
    before.all(is_beside) && after.all(is_beside)
}

fn is_beside(node: Node<'_>) -> bool {
    match node.as_element().map(Element::tag) {
        Some(Tag::Nav | Tag::Aside | Tag::Footer) => true,
        _ => is_nothing(node),
    }
}

fn has_blocks_only(element: Element<'_>) -> bool {
    let mut has_block = false;
    for child in element.children().filter(|&child| !is_nothing(child)) {
        if !child.as_element().is_some_and(is_region) {
            return false;
        }
        has_block = true;
    }
    has_block
}

/// Whether a node is never visible.
fn is_nothing(node: Node<'_>) -> bool {
    match (node.as_text(), node.as_element()) {
        (Some(text), _) => text.chars().all(char::is_whitespace),
        (_, Some(element)) => element.tag().is_never_shown() && element.tag() != Tag::Noscript,
        _ => true,
    }
}
