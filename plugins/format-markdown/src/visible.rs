//! Visibility, and the effect of inline styles on white space.

use trawl_sdk::Element;

/// Whether inline style preserves the line breaks of an element.
pub(crate) fn keeps_breaks(element: Element<'_>) -> bool {
    element
        .style("white-space")
        .is_some_and(|value| value.starts_with("pre") || value == "break-spaces")
}

/// Whether an element is omitted with its content: hidden, unless the caller asked for hidden text.
pub(crate) fn is_left_out(element: Element<'_>, with_hidden: bool) -> bool {
    !with_hidden && element.hidden_by().is_some() || element.is_icon()
}
