//! Elements that are hidden only temporarily, or only from screen readers.

use super::HiddenBy;
use crate::view::{Element, Node, Tag};

/// Minimum size of the text in a wrapper around most of a page, in bytes without white space.
const WRAPPER_BYTES_MIN: u32 = 400;

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

/// Whether an element with `aria-hidden` is also invisible to readers. The attribute only hides it
/// from screen readers: prices, units, arrows and opened answers that have it are on the screen.
/// Not there are closed overlays and menus, place-holders, texts for screen readers, the copies
/// that a carousel makes of its slides, and the names of icons.
pub(super) fn is_closed(element: Element<'_>) -> bool {
    const ROLES: &[&str] = &["alertdialog", "dialog", "menu", "menubar", "tooltip"];
    const COPIES: &[&str] = &["clone", "duplicate"];
    let is_slide = is_named(element, &["carousel", "-slide"]);
    let names = if is_slide { COPIES } else { CLOSED };
    let is_closed = matches!(element.tag(), Tag::Dialog | Tag::Nav)
        || element
            .attr("role")
            .is_some_and(|role| ROLES.contains(&role))
        || is_named(element, names)
        || is_named(element, &["icon"]) && is_icon_name(element);
    // Without text it is irrelevant whether it is hidden.
    is_closed && element.has_shown_text()
}

/// Whether the element's text, and there is nothing else in it, reads as the name of an icon, which
/// its font shows as a picture.
fn is_icon_name(element: Element<'_>) -> bool {
    let is_plain = |inner: Element<'_>| inner.is_neutral() || inner.is_unseen();
    let mut inside = element.descendants().filter_map(Node::as_element);
    let is_name = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
    let mut texts = element.shown_texts();
    inside.all(is_plain) && texts.all(|text| text.trim_ascii().bytes().all(is_name))
}

/// Parts of the names of elements that are closed, or never shown to readers.
#[rustfmt::skip]
const CLOSED: &[&str] = &[
    "blind", "canvas", "clone", "cookie", "drawer", "dropdown", "duplicate", "flyin", "flyout",
    "hidden", "loader", "loading", "menu", "modal", "overlay", "placeholder", "popover", "popup",
    "screen-reader", "screenreader", "skeleton", "spinner", "sr-only", "tooltip",
];

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
    let (n_bytes, n_all) = (
        element.n_shown_bytes(),
        element.document().root().n_shown_bytes(),
    );
    n_bytes >= WRAPPER_BYTES_MIN && n_bytes > n_all / 2 && element.has_main_start()
}
