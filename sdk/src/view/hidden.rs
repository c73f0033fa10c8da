//! What a person does not see, as far as the page's own attributes tell it.
//!
//! Style sheets are not read: an element is hidden by its attributes and its inline style or not at all. Where these leave a doubt, it is shown.

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
    /// The attribute `hidden`; `hidden=until-found` does not hide.
    HiddenAttribute,
    /// A `<dialog>` that is not open.
    ClosedDialog,
    /// `display: none`.
    Display,
    /// `visibility: hidden` or `collapse`. What is inside counts as hidden too, even where it says `visible`.
    Visibility,
    /// `opacity: 0`, where nothing tells of a script that makes the element appear.
    Transparent,
    /// A box or a font without size.
    ZeroSize,
    /// `clip` or `clip-path` that leaves nothing.
    Clipped,
    /// A place far outside the page.
    OffScreen,
    /// Text in the colour of what it stands on.
    SameColour,
    /// `aria-hidden=true` on text that is decoration, a double or put away; not on the panels and slides of a widget.
    AriaHidden,
}

impl HiddenBy {
    /// Its name in answers: `display`, `zero_size` and so on.
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
    /// What hides the element with all that is in it; `None` when it is shown as far as its own attributes tell. What surrounds it is
    /// not asked, so go from the outside inwards.
    ///
    /// Not hidden in this sense is what shows nothing by nature (scripts), and what a page hides only for a while: `<html>` and `<body>`,
    /// a wrapper around most of the page, content that was streamed to be moved into its place, a closed `<details>`, and the
    /// panels of tabs and accordions by their roles, which are one click away like it.
    pub fn hidden_by(self) -> Option<HiddenBy> {
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
        let is_shut = !is_open && self.tag() == Tag::Dialog;
        if style.is_none() && !hidden && !is_aria && !is_shut {
            return None;
        }
        let style = style.map(Style::of).unwrap_or_default();
        // An inline `display` outdoes what browsers do for `hidden` and for dialogs.
        let is_displayed = style.is_displayed();
        let by = if is_shut && !is_displayed {
            Some(HiddenBy::ClosedDialog)
        } else if hidden && !is_displayed {
            Some(HiddenBy::HiddenAttribute)
        } else {
            style
                .hides(self)
                .or((is_aria && widgets::is_decoration(self)).then_some(HiddenBy::AriaHidden))
        };
        by.filter(|&by| by == HiddenBy::ClosedDialog || !widgets::is_for_a_while(self, by))
    }

    /// Whether the element's text is the name of a picture: icon fonts show `navigate_next` as an arrow.
    pub fn is_icon(self) -> bool {
        const FONTS: &[&str] = &["material-icons", "material-symbols"];
        let is_inline = matches!(self.tag(), Tag::I | Tag::Span | Tag::Other);
        is_inline
            && self
                .attr("class")
                .is_some_and(|class| FONTS.iter().any(|font| class.contains(font)))
    }

    /// Whether a reader does not see the element: it is never shown (a script, say) or something hides it
    /// ([`hidden_by`](Self::hidden_by)). What surrounds it is not asked.
    pub fn is_hidden(self) -> bool {
        self.tag().is_never_shown() || self.hidden_by().is_some()
    }
}
