//! What is hidden only for a while, or only from some.

use super::HiddenBy;
use crate::view::{Element, Node, Tag};

/// Nodes of the smallest wrapper around most of a page.
const WRAPPER_NODES_MIN: u32 = 200;
/// Nodes of a wrapper that are searched for the page's title or main part.
const WRAPPER_LOOK_MAX: usize = 4000;
/// Nodes of an element that are searched for text.
const TEXT_LOOK_MAX: usize = 50;

/// Bytes of a `class` or `id` that are looked at.
const NAME_BYTES_MAX: usize = 500;

/// Whether a script or a click shows it: the page's own frame, streamed content, a panel.
pub(super) fn is_for_a_while(element: Element<'_>, by: HiddenBy) -> bool {
    matches!(element.tag(), Tag::Html | Tag::Body | Tag::Main)
        || by == HiddenBy::HiddenAttribute && is_streamed(element)
        || is_panel(element)
        || is_wrapper(element)
}

/// Whether `aria-hidden` is taken at its word. It hides from screen readers; what is kept from them is decoration, a double or put
/// away, but also the slides that are not in front. A picture without text is none of the
/// text's business, and the number of a chapter is seen.
pub(super) fn is_decoration(element: Element<'_>) -> bool {
    let is_slide =
        is_named(element, &["carousel", "-slide"]) && !is_named(element, &["clone", "duplicate"]);
    let mut text = element
        .descendants()
        .take(TEXT_LOOK_MAX)
        .filter_map(Node::as_text);
    !is_slide && text.any(|text| !is_numbering(text))
}

/// Whether a text is blank or the number of a chapter: digits with points, at least one.
fn is_numbering(text: &str) -> bool {
    let text = text.trim_ascii();
    let is_part = |byte: u8| byte.is_ascii_digit() || byte == b'.';
    text.is_empty() || text.contains('.') && text.bytes().all(is_part)
}

/// Whether it is the panel of a tab or an accordion, by what it says of its role or by its name. Menus fold too, but nobody reads them.
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

/// Whether `class` or `id` has one of these in it, given in lower case.
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

/// Whether it holds content that came late in the stream of a page rendered by React, whose script moves it into its place.
fn is_streamed(element: Element<'_>) -> bool {
    let number = element.id().and_then(|id| id.rsplit_once("S:"));
    number.is_some_and(|(_, number)| {
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

/// Whether it holds most of the page, with its title or main part: were it hidden for good, there would be no page.
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
