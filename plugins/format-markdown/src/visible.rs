//! What a reader would not see, and what inline styles do to white space.

use trawl_sdk::Element;

/// Whether inline style keeps an element's line breaks.
pub(crate) fn keeps_breaks(element: Element<'_>) -> bool {
    element
        .style("white-space")
        .is_some_and(|value| value.starts_with("pre") || value == "break-spaces")
}

/// Whether an element and all in it stay out of the text: hidden, unless the caller asked for that too.
pub(crate) fn is_left_out(element: Element<'_>, with_hidden: bool) -> bool {
    !with_hidden && element.hidden_by().is_some()
        || element.is_icon()
        // The picture of a formula for the eye, beside the formula itself.
        || with_hidden && element.has_class("katex-html") && element.has_attr("aria-hidden")
}
