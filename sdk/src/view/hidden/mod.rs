//! Detects hidden elements from the page's own attributes.
//!
//! Style sheets are not evaluated: only attributes and inline styles can hide an element. In case
//! of doubt an element counts as visible.

mod colour;
mod rules;
#[cfg(all(test, feature = "testkit"))]
mod tests;
mod widgets;

use super::{Element, Tag};
use rules::Style;

/// What hides an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum HiddenBy {
    /// The `hidden` attribute; `hidden=until-found` does not hide.
    HiddenAttribute,
    /// A `<dialog>` that is not open.
    ClosedDialog,
    /// `display: none`.
    Display,
    /// `visibility: hidden` or `collapse`. Descendants count as hidden too, even with `visibility:
    /// visible`.
    Visibility,
    /// `opacity: 0`, unless a script is likely to make the element appear.
    Transparent,
    /// A box or a font without a size.
    ZeroSize,
    /// A `clip` or `clip-path` that leaves nothing visible.
    Clipped,
    /// A position far outside the page.
    OffScreen,
    /// Text in the colour of its background.
    SameColour,
    /// `aria-hidden=true` on a closed overlay or menu, a place-holder, the copy of a slide, the
    /// name of an icon, or text for screen readers. On anything else it does not hide text from
    /// readers.
    AriaHidden,
}

impl HiddenBy {
    /// Name in results: `display`, `zero_size` and so on.
    pub const fn name(self) -> &'static str {
        match self {
            Self::HiddenAttribute => "hidden_attribute",
            Self::ClosedDialog => "closed_dialog",
            Self::Display => "display",
            Self::Visibility => "visibility",
            Self::Transparent => "transparent",
            Self::ZeroSize => "zero_size",
            Self::Clipped => "clipped",
            Self::OffScreen => "off_screen",
            Self::SameColour => "same_colour",
            Self::AriaHidden => "aria_hidden",
        }
    }
}

impl<'a> Element<'a> {
    /// What hides this element and its content; `None` if its own attributes do not hide it.
    /// Ancestors are not considered, so walk from the outside inwards.
    ///
    /// Elements that never render (scripts) do not count as hidden, and neither do those that a
    /// page hides only temporarily: `<html>` and `<body>`, a wrapper around most of the page,
    /// streamed content that a script moves into place, a closed `<details>`, and the panels of
    /// tabs and accordions, which are one click away.
    pub fn hidden_by(self) -> Option<HiddenBy> {
        let is_dialog = self.tag() == Tag::Dialog;
        if !is_dialog && !self.may_be_hidden() {
            return None;
        }
        let (mut style, mut hidden, mut is_aria, mut is_open) = (None, false, false, false);
        for (name, value) in self.attrs() {
            match name {
                "style" => style = Some(value),
                "hidden" => hidden = !value.eq_ignore_ascii_case("until-found"),
                "aria-hidden" => is_aria = value.trim_ascii().eq_ignore_ascii_case("true"),
                "open" => is_open = true,
                _ => {}
            }
        }
        let is_closed = is_dialog && !is_open;
        if style.is_none() && !hidden && !is_aria && !is_closed {
            return None;
        }
        let style = style.map(Style::of).unwrap_or_default();
        // An inline `display` overrides the browser's rules for `hidden` and for dialogs.
        let is_displayed = style.is_displayed();
        let by = if is_closed && !is_displayed {
            Some(HiddenBy::ClosedDialog)
        } else if hidden && !is_displayed {
            Some(HiddenBy::HiddenAttribute)
        } else {
            style
                .hidden_by(self)
                .or((is_aria && widgets::is_closed(self)).then_some(HiddenBy::AriaHidden))
        };
        by.filter(|&by| by == HiddenBy::ClosedDialog || !widgets::is_temporary(self, by))
    }

    /// Whether the element's text is the name of an icon: icon fonts render `navigate_next` as an
    /// arrow.
    pub fn is_icon(self) -> bool {
        const FONTS: &[&str] = &["material-icons", "material-symbols"];
        let is_inline = matches!(self.tag(), Tag::I | Tag::Span | Tag::Other);
        is_inline
            && self.attr("class").is_some_and(|class| {
                // Most classes are shorter.
                class.len() >= FONTS[0].len() && FONTS.iter().any(|font| class.contains(font))
            })
    }

    /// Whether a reader does not see the element: it is never rendered (a script, for example) or
    /// something hides it ([`hidden_by`](Self::hidden_by)). Ancestors are not considered.
    pub fn is_hidden(self) -> bool {
        self.tag().is_never_shown() || self.hidden_by().is_some()
    }
}
