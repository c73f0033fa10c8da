//! Style declarations that hide an element.

use super::{HiddenBy, colour};
use crate::view::style::{Declaration, Declarations};
use crate::view::{Element, Node};

/// Offset in pixels that moves a box of usual size off the page, to the left or upwards.
const FAR_PX: f32 = 999.0;
/// Width in pixels of a strip wider than a screen: a slider that is moved sideways by its own
/// script.
const STRIP_PX: f32 = 2000.0;
/// Maximum number of descendants to examine for their own style.
const INSIDE_MAX: usize = 200;

/// Maximum length of another element's style, in bytes.
const STYLE_BYTES_MAX: usize = 500;
/// Maximum number of another element's attributes to examine.
const ATTRIBUTES_MAX: usize = 8;

macro_rules! properties {
    ($($field:ident $name:literal)*) => {
        /// Values of the properties that can hide an element.
        #[derive(Clone, Copy, Debug, Default)]
        pub(super) struct Style<'a> {
            $($field: Value<'a>,)*
            /// Whether the style animates the element.
            is_animated: bool,
        }

        impl<'a> Style<'a> {
            fn value_mut(&mut self, property: &str) -> Option<&mut Value<'a>> {
                $(if property.eq_ignore_ascii_case($name) {
                    return Some(&mut self.$field);
                })*
                None
            }
        }
    };
}

properties! {
    background "background"
    background_color "background-color"
    clip "clip"
    clip_path "clip-path"
    color "color"
    display "display"
    font_size "font-size"
    height "height"
    left "left"
    margin_left "margin-left"
    margin_top "margin-top"
    max_height "max-height"
    max_width "max-width"
    opacity "opacity"
    overflow "overflow"
    overflow_x "overflow-x"
    overflow_y "overflow-y"
    padding "padding"
    padding_bottom "padding-bottom"
    padding_top "padding-top"
    pointer_events "pointer-events"
    position "position"
    right "right"
    text_indent "text-indent"
    top "top"
    visibility "visibility"
    width "width"
}

#[derive(Clone, Copy, Debug, Default)]
struct Value<'a> {
    text: Option<&'a str>,
    is_important: bool,
}

impl Value<'_> {
    fn is(self, word: &str) -> bool {
        self.text
            .is_some_and(|text| text.eq_ignore_ascii_case(word))
    }

    fn is_any(self, words: &[&str]) -> bool {
        words.iter().any(|word| self.is(word))
    }

    fn pixels(self) -> Option<f32> {
        pixels(self.text?)
    }
}

impl<'a> Style<'a> {
    pub(super) fn of(style: &'a str) -> Self {
        let mut values = Self::default();
        for declaration in Declarations::of(style) {
            values.set(declaration);
        }
        values
    }

    fn set(&mut self, declaration: Declaration<'a>) {
        if let Some(value) = self.value_mut(declaration.property)
            && (declaration.is_important || !value.is_important)
        {
            value.text = Some(declaration.value);
            value.is_important = declaration.is_important;
        } else {
            self.is_animated |= is_animation(declaration.property);
        }
    }

    /// Whether the style sets a visible `display`.
    pub(super) fn is_displayed(&self) -> bool {
        self.display.text.is_some() && !self.display.is("none")
    }

    /// What in this style hidden_by the element.
    pub(super) fn hidden_by(&self, element: Element<'a>) -> Option<HiddenBy> {
        if self.display.is("none") {
            Some(HiddenBy::Display)
        } else if self.visibility.is_any(&["hidden", "collapse"]) {
            Some(HiddenBy::Visibility)
        } else if self.is_transparent() && !self.may_appear(element) {
            Some(HiddenBy::Transparent)
        } else if self.has_zero_size() || self.has_zero_font_size(element) {
            Some(HiddenBy::ZeroSize)
        } else if self.is_clipped() {
            Some(HiddenBy::Clipped)
        } else if self.is_off_screen() {
            Some(HiddenBy::OffScreen)
        } else if self.is_same_colour(element) {
            Some(HiddenBy::SameColour)
        } else {
            None
        }
    }

    fn is_transparent(&self) -> bool {
        let opacity = self.opacity.text.map(|text| text.trim_end_matches('%'));
        opacity.is_some_and(|text| text.parse::<f32>().is_ok_and(|opacity| opacity <= 0.0))
    }

    /// Whether a script is likely to make the element appear: its style animates it, or it has a
    /// class or id by which a script can find it. An element without pointer events is not meant to
    /// be used.
    fn may_appear(&self, element: Element<'a>) -> bool {
        let is_handle = |name: &str| matches!(name, "class" | "id") || name.starts_with("data-");
        !self.pointer_events.is("none")
            && (self.is_animated || element.attrs().any(|(name, _)| is_handle(name)))
    }

    /// Whether the box has no height or width and its content does not overflow. Padding gives the
    /// box a size (aspect-ratio boxes), and a transition suggests that it expands.
    fn has_zero_size(&self) -> bool {
        let clips = [self.overflow, self.overflow_x, self.overflow_y]
            .iter()
            .any(|overflow| overflow.is_any(&["hidden", "clip"]));
        let sizes = [self.height, self.width, self.max_height, self.max_width];
        let is_none = |size: &Value<'_>| size.pixels().is_some_and(|pixels| pixels <= 1.0);
        let paddings = [self.padding, self.padding_top, self.padding_bottom];
        let is_padded = paddings
            .iter()
            .any(|padding| padding.text.is_some() && padding.pixels() != Some(0.0));
        clips && !is_padded && !self.is_animated && sizes.iter().any(is_none)
    }

    /// Whether the font size is zero and no descendant sets its own: containers use this to remove
    /// the gaps between inline blocks.
    fn has_zero_font_size(&self, element: Element<'a>) -> bool {
        let is_none = self.font_size.pixels().is_some_and(|pixels| pixels <= 0.0);
        let has_own = |inside: Element<'_>| may_be_styled(inside) || sets(inside, "font-size");
        is_none && !any_descendant(element, has_own)
    }

    fn is_clipped(&self) -> bool {
        let is_out_of_flow = self.position.is_any(&["absolute", "fixed"]);
        is_out_of_flow && self.clip.text.is_some_and(is_empty_rect)
            || self.clip_path.text.is_some_and(is_empty_path)
    }

    fn is_off_screen(&self) -> bool {
        let is_far = |value: Value<'_>| value.pixels().is_some_and(|pixels| pixels <= -FAR_PX);
        let is_placed = self.position.text.is_some() && !self.position.is("static");
        let is_strip = self.width.pixels().is_some_and(|pixels| pixels >= STRIP_PX);
        if is_strip {
            return false;
        }
        is_far(self.text_indent)
            || is_far(self.margin_left)
            || is_far(self.margin_top)
            || is_placed && (is_far(self.left) || is_far(self.top) || is_far(self.right))
    }

    fn is_same_colour(&self, element: Element<'a>) -> bool {
        let Some(text_colour) = self.color.text.and_then(colour::parse) else {
            return false;
        };
        let background = match self.colour_behind() {
            Background::None => background_around(element),
            own => own,
        };
        matches!(background, Background::Plain(colour) if colour == text_colour)
            && !any_descendant(element, |inside| {
                may_be_styled(inside) || sets(inside, "color")
            })
    }

    fn colour_behind(&self) -> Background {
        let backgrounds = [self.background_color, self.background];
        let mut values = backgrounds.iter().filter_map(|value| value.text).peekable();
        if values.peek().is_none() {
            return Background::None;
        }
        let mut colours = values.map(colour::parse);
        match (colours.next().flatten(), colours.next()) {
            (Some(colour), None) => Background::Plain(colour),
            (Some(colour), Some(Some(other))) if colour == other => Background::Plain(colour),
            _ => Background::Unknown,
        }
    }
}

/// Background behind a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Background {
    /// Not specified.
    None,
    Plain(colour::Colour),
    /// An image, a gradient, or something translucent.
    Unknown,
}

/// Background around an element, up to the first ancestor whose class could set another one.
fn background_around(element: Element<'_>) -> Background {
    const LEVELS_MAX: usize = 8;
    let mut inner = element;
    for outer in element.ancestors().take(LEVELS_MAX) {
        if may_be_styled(inner) {
            return Background::Unknown;
        }
        match Style::of(short_style(outer)).colour_behind() {
            Background::None => {}
            background => return background,
        }
        inner = outer;
    }
    Background::None
}

/// Style of another element; empty if it is too long to parse repeatedly.
fn short_style(element: Element<'_>) -> &str {
    let mut attributes = element.attrs().take(ATTRIBUTES_MAX);
    let style = attributes.find(|(name, _)| *name == "style");
    let style = style.map_or("", |(_, style)| style);
    if style.len() <= STYLE_BYTES_MAX {
        style
    } else {
        ""
    }
}

fn sets(element: Element<'_>, property: &str) -> bool {
    Declarations::of(short_style(element))
        .value(property)
        .is_some()
}

/// Whether a style sheet is likely to target this element.
fn may_be_styled(element: Element<'_>) -> bool {
    let mut attributes = element.attrs().take(ATTRIBUTES_MAX);
    attributes.any(|(name, _)| matches!(name, "class" | "id"))
}

/// Whether a property animates an element.
fn is_animation(property: &str) -> bool {
    const NAMES: &[&str] = &[
        "transition",
        "transform",
        "animation",
        "will-change",
        "filter",
    ];
    let property = property
        .trim_start_matches("-webkit-")
        .trim_start_matches("-moz-");
    NAMES.iter().any(|name| {
        let start = property.get(..name.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(name))
    })
}

/// Whether the predicate holds for a descendant, or there are too many to examine.
fn any_descendant(element: Element<'_>, predicate: impl Fn(Element<'_>) -> bool) -> bool {
    let mut inside = element.descendants();
    let is_any = inside
        .by_ref()
        .take(INSIDE_MAX)
        .filter_map(Node::as_element)
        .any(predicate);
    is_any || inside.next().is_some()
}

/// Converts a length to CSS pixels, assuming common font and screen sizes; `None` for percentages
/// and anything that is not a length.
fn pixels(text: &str) -> Option<f32> {
    let is_part = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '+');
    let (number, unit) = text.split_at(text.find(|c| !is_part(c)).unwrap_or(text.len()));
    let number: f32 = number.parse().ok()?;
    let factor = match unit.to_ascii_lowercase().as_str() {
        "px" => 1.0,
        "" => 1.0,
        "em" | "rem" => 16.0,
        "ex" | "ch" => 8.0,
        "pt" => 4.0 / 3.0,
        "cm" => 38.0,
        "in" => 96.0,
        "vw" | "vh" => 10.0,
        _ if number == 0.0 => 0.0,
        _ => return None,
    };
    Some(number * factor)
}

/// Whether a `clip` leaves at most one pixel.
fn is_empty_rect(clip: &str) -> bool {
    let Some(edges) = arguments(clip, "rect") else {
        return false;
    };
    let mut edges = edges
        .split([',', ' '])
        .filter(|edge| !edge.is_empty())
        .map(pixels);
    let mut next = || edges.next().flatten();
    match (next(), next(), next(), next()) {
        (Some(top), Some(right), Some(bottom), Some(left)) => {
            right - left <= 1.0 || bottom - top <= 1.0
        }
        _ => false,
    }
}

/// Whether a `clip-path` leaves nothing visible: `inset` of at least 50 %, or a circle of size
/// zero.
fn is_empty_path(path: &str) -> bool {
    let percent = |text: &str| text.strip_suffix('%')?.parse::<f32>().ok();
    if let Some(inset) = arguments(path, "inset") {
        return percent(inset.trim_ascii()).is_some_and(|percent| percent >= 50.0);
    }
    let first = arguments(path, "circle").and_then(|circle| circle.split_ascii_whitespace().next());
    first.is_some_and(|radius| {
        radius
            .trim_start_matches('0')
            .trim_end_matches(['p', 'x', '%'])
            .is_empty()
    })
}

/// Arguments of the CSS function `name(…)`.
fn arguments<'v>(value: &'v str, name: &str) -> Option<&'v str> {
    let (function, rest) = value.split_once('(')?;
    let is_match = function.trim_ascii().eq_ignore_ascii_case(name);
    is_match
        .then(|| rest.trim_end().strip_suffix(')'))
        .flatten()
}
