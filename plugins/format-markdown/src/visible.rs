//! What a browser would not show.

use trawl_sdk::{Element, Tag};

/// Whether an element and all in it stay out of sight.
pub(crate) fn is_hidden(element: Element<'_>) -> bool {
    let is_shut = element.tag() == Tag::Dialog && !element.has_attr("open");
    is_shut
        || element.attrs().any(|(name, value)| match name {
            "hidden" => !value.eq_ignore_ascii_case("until-found"),
            "style" => is_styled_away(value),
            // The picture of a formula for the eye, beside the formula itself.
            "aria-hidden" => value == "true" && element.has_class("katex-html"),
            _ => false,
        })
}

fn is_styled_away(style: &str) -> bool {
    style_value(style, "display").is_some_and(|value| value.eq_ignore_ascii_case("none"))
        || style_value(style, "visibility").is_some_and(|value| {
            value.eq_ignore_ascii_case("hidden") || value.eq_ignore_ascii_case("collapse")
        })
}

/// The last value an inline style gives a property, without `!important`.
pub(crate) fn style_value<'a>(style: &'a str, property: &str) -> Option<&'a str> {
    style
        .rsplit(';')
        .filter_map(|declaration| declaration.split_once(':'))
        .find(|(name, _)| name.trim().eq_ignore_ascii_case(property))
        .map(|(_, value)| value.split('!').next().unwrap_or_default().trim())
}

/// Whether an element's inline style keeps line breaks.
pub(crate) fn keeps_breaks(element: Element<'_>) -> bool {
    element
        .attr("style")
        .and_then(|style| style_value(style, "white-space"))
        .is_some_and(|value| value.starts_with("pre") || value == "break-spaces")
}
