//! Elements that are hidden only temporarily, or only from screen readers.

use super::HiddenBy;
use crate::view::{Element, Node, Tag};

/// Minimum number of nodes in a wrapper around most of a page.
const WRAPPER_NODES_MIN: u32 = 200;
/// Maximum number of a wrapper's nodes to search for the page's title or main part.
const WRAPPER_LOOK_MAX: usize = 4000;
/// Maximum number of an element's nodes to search for text.
const TEXT_LOOK_MAX: usize = 50;

/// Maximum number of bytes of a `class` or `id` to examine.
const NAME_BYTES_MAX: usize = 500;

/// Whether a script or a click reveals the element: the page's own wrapper, streamed content, or a
/// panel.
pub(super) fn is_temporary(element: Element<'_>, by: HiddenBy) -> bool {
    matches!(element.tag(), Tag::Html | Tag::Body | Tag::Main)
        || by == HiddenBy::HiddenAttribute && is_streamed(element)
        || is_panel(element)
        || is_wrapper(element)
}

/// Whether `aria-hidden` marks decoration. It hides content from screen readers, which is usually
/// decorative, duplicated or collapsed, but may also be an inactive slide. Elements without text
/// are irrelevant here, and section numbers are visible to readers.
pub(super) fn is_decoration(element: Element<'_>) -> bool {
    let is_slide =
        is_named(element, &["carousel", "-slide"]) && !is_named(element, &["clone", "duplicate"]);
    let mut text = element
        .descendants()
        .take(TEXT_LOOK_MAX)
        .filter_map(Node::as_text);
    !is_slide && text.any(|text| !is_numbering(text))
}

/// Whether a text is blank or a section number: digits with at least one dot.
fn is_numbering(text: &str) -> bool {
    let text = text.trim_ascii();
    let is_part = |byte: u8| byte.is_ascii_digit() || byte == b'.';
    text.is_empty() || text.contains('.') && text.bytes().all(is_part)
}

/// Whether the element is the panel of a tab or an accordion, judging by its role or its name.
/// Menus collapse too, but are not content.
fn is_panel(element: Element<'_>) -> bool {
    match element.attr("role") {
        Some("tabpanel" | "region") => true,
        None | Some("") => {
            let is_box = matches!(element.tag(), Tag::Div | Tag::Section | Tag::Dd);
            is_box && (element.has_attr("aria-labelledby") || is_fold(element))
        }
        Some(_) => false,
    }
}

fn is_fold(element: Element<'_>) -> bool {
    is_named(element, &["accordion", "collaps"]) && !is_named(element, &["nav", "menu"])
}

/// Whether `class` or `id` contains one of these lower-case strings.
fn is_named(element: Element<'_>, parts: &[&str]) -> bool {
    let names = [element.attr("class"), element.id()];
    names.into_iter().flatten().any(|name| {
        let start = &name.as_bytes()[..name.len().min(NAME_BYTES_MAX)];
        parts.iter().any(|part| {
            let mut places = start.windows(part.len());
            places.any(|place| place.eq_ignore_ascii_case(part.as_bytes()))
        })
    })
}

/// Whether the element holds content that React streams late and a script moves into place.
fn is_streamed(element: Element<'_>) -> bool {
    let number = element.id().and_then(|id| id.rsplit_once("S:"));
    number.is_some_and(|(_, number)| {
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

/// Whether the element contains most of the page, with its title or main part: hiding it for good
/// would leave no page.
fn is_wrapper(element: Element<'_>) -> bool {
    let n_nodes = element.n_nodes();
    let is_most = n_nodes >= WRAPPER_NODES_MIN && n_nodes > element.document().root().n_nodes() / 2;
    is_most
        && element
            .descendants()
            .take(WRAPPER_LOOK_MAX)
            .filter_map(Node::as_element)
            .any(|inside| matches!(inside.tag(), Tag::H1 | Tag::Main))
}
