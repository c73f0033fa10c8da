//! States of form controls and others that a page has before any script or user changes it. Source:
//! WHATWG HTML, "Pseudo-classes".

use super::{Element, Kind, Namespace, Node, Steps, Tag};

/// Types of `input` that have no value to require. Source: WHATWG HTML, "The required attribute".
const NOT_REQUIRED: [&str; 7] = [
    "hidden", "range", "color", "submit", "image", "reset", "button",
];
/// Types of `input` whose value cannot be typed: `readonly` has no effect.
const NOT_TYPED: [&str; 10] = [
    "hidden", "range", "color", "checkbox", "radio", "file", "submit", "image", "reset", "button",
];
/// Types of `input` that have a range.
const RANGED: [&str; 7] = [
    "number",
    "range",
    "date",
    "month",
    "week",
    "time",
    "datetime-local",
];
/// Types of `input` with a placeholder.
const PROMPTED: [&str; 7] = [
    "text", "search", "url", "tel", "email", "password", "number",
];
/// All types of `input`; any other is `text`.
#[rustfmt::skip]
const TYPES: [&str; 22] = [
    "hidden", "text", "search", "tel", "url", "email", "password", "date", "month", "week", "time",
    "datetime-local", "number", "range", "color", "checkbox", "radio", "file", "submit", "image",
    "reset", "button",
];

/// The type of an `input`.
fn input_type(element: Element<'_>) -> Option<&'static str> {
    if element.tag() != Tag::Input {
        return None;
    }
    let written = element.attr("type").unwrap_or_default();
    let known = TYPES.iter().find(|name| written.eq_ignore_ascii_case(name));
    Some(known.copied().unwrap_or("text"))
}

pub(super) fn is_checked(element: Element<'_>, steps: &Steps) -> bool {
    match element.tag() {
        Tag::Option => is_selected(element, steps),
        Tag::Input => {
            matches!(input_type(element), Some("checkbox" | "radio")) && element.has_attr("checked")
        }
        _ => false,
    }
}

/// Source: WHATWG HTML, "selectedness setting algorithm": a drop-down shows one option, the last
/// that is `selected`, else the first that is not disabled.
fn is_selected(option: Element<'_>, steps: &Steps) -> bool {
    let is_marked = option.has_attr("selected");
    let select = ancestors(option, steps).find(|outer| outer.tag() == Tag::Select);
    let Some(select) = select.filter(|select| !select.has_attr("multiple")) else {
        return is_marked;
    };
    let mut options = options(select, steps);
    if is_marked {
        let mut later = options.skip_while(|other| *other != option).skip(1);
        return !later.any(|other| other.has_attr("selected"));
    }
    let rows: Option<u32> = select
        .attr("size")
        .and_then(|size| size.trim().parse().ok());
    rows.unwrap_or(1) <= 1
        && !is_disabled(option, steps)
        && options.find(|other| !is_disabled(*other, steps)) == Some(option)
        && !self::options(select, steps).any(|other| other.has_attr("selected"))
}

fn options<'a>(select: Element<'a>, steps: &'a Steps) -> impl Iterator<Item = Element<'a>> {
    inside(select.node(), steps).filter(|inner| inner.tag() == Tag::Option)
}

/// The elements inside a node, as far as the steps go.
fn inside<'a>(node: Node<'a>, steps: &'a Steps) -> impl Iterator<Item = Element<'a>> {
    node.descendants()
        .take_while(|_| steps.spend(1))
        .filter_map(Node::as_element)
}

fn ancestors<'a>(element: Element<'a>, steps: &'a Steps) -> impl Iterator<Item = Element<'a>> {
    element.ancestors().take_while(|_| steps.spend(1))
}

pub(super) fn can_be_disabled(element: Element<'_>) -> bool {
    matches!(
        element.tag(),
        Tag::Button
            | Tag::Input
            | Tag::Select
            | Tag::Textarea
            | Tag::Optgroup
            | Tag::Option
            | Tag::Fieldset
    )
}

pub(super) fn can_be_required(element: Element<'_>) -> bool {
    match input_type(element) {
        Some(kind) => !NOT_REQUIRED.contains(&kind),
        None => matches!(element.tag(), Tag::Select | Tag::Textarea),
    }
}

/// Whether the element is disabled as defined by HTML: by its own attribute, by a disabled
/// `optgroup` around an option, or by a disabled `fieldset` around it, unless it is inside that
/// fieldset's first legend.
pub(super) fn is_disabled(element: Element<'_>, steps: &Steps) -> bool {
    if element.has_attr("disabled") {
        return true;
    }
    if element.tag() == Tag::Option {
        return element
            .parent_element()
            .is_some_and(|parent| parent.tag() == Tag::Optgroup && parent.has_attr("disabled"));
    }
    if element.tag() == Tag::Optgroup {
        return false;
    }
    let mut inner = element;
    for outer in element.ancestors() {
        let shuts_off = outer.tag() == Tag::Fieldset && outer.has_attr("disabled");
        let first_legend = || {
            outer
                .child_elements()
                .take_while(|_| steps.spend(1))
                .find(|child| child.tag() == Tag::Legend)
        };
        if shuts_off && first_legend() != Some(inner) {
            return true;
        }
        inner = outer;
    }
    false
}

/// Whether a user can edit the element: a field, or what is `contenteditable`.
pub(super) fn is_editable(element: Element<'_>, steps: &Steps) -> bool {
    let is_field = match input_type(element) {
        Some(kind) => !NOT_TYPED.contains(&kind),
        None => element.tag() == Tag::Textarea,
    };
    if is_field {
        return !element.has_attr("readonly") && !is_disabled(element, steps);
    }
    let mut outward = std::iter::once(element).chain(ancestors(element, steps));
    let state = outward.find_map(|outer| {
        let written = outer.attr("contenteditable")?;
        let is = |state: &str| written.eq_ignore_ascii_case(state);
        let is_on = is("") || is("true") || is("plaintext-only");
        (is_on || is("false")).then_some(is_on)
    });
    state.unwrap_or(false)
}

/// Whether the element is its form's default: the first button that submits it, or what is chosen
/// at first.
pub(super) fn is_default(element: Element<'_>, steps: &Steps) -> bool {
    match element.tag() {
        Tag::Option => element.has_attr("selected"),
        _ if submits(element) => {
            let form = ancestors(element, steps).find(|outer| outer.tag() == Tag::Form);
            let first = form.and_then(|form| inside(form.node(), steps).find(|it| submits(*it)));
            first == Some(element)
        }
        _ => {
            matches!(input_type(element), Some("checkbox" | "radio")) && element.has_attr("checked")
        }
    }
}

fn submits(element: Element<'_>) -> bool {
    match element.tag() {
        Tag::Button => {
            let kind = element.attr("type").unwrap_or_default();
            !kind.eq_ignore_ascii_case("button") && !kind.eq_ignore_ascii_case("reset")
        }
        _ => matches!(input_type(element), Some("submit" | "image")),
    }
}

/// Whether it is not known how far or which: a progress bar without a value, or a radio button none
/// of whose group is checked.
pub(super) fn is_indeterminate(element: Element<'_>, steps: &Steps) -> bool {
    if element.tag() == Tag::Progress {
        return !element.has_attr("value");
    }
    if input_type(element) != Some("radio") || element.has_attr("checked") {
        return false;
    }
    let Some(name) = element.attr("name").filter(|name| !name.is_empty()) else {
        return true;
    };
    let form_of = |element| ancestors(element, steps).find(|outer| outer.tag() == Tag::Form);
    let form = form_of(element);
    let root = form.map_or_else(|| element.document().root(), Element::node);
    !inside(root, steps).any(|other| {
        input_type(other) == Some("radio")
            && other.has_attr("checked")
            && other.attr("name") == Some(name)
            && form_of(other) == form
    })
}

pub(super) fn shows_placeholder(element: Element<'_>) -> bool {
    let is_empty = match input_type(element) {
        Some(kind) => PROMPTED.contains(&kind) && element.attr("value").is_none_or(str::is_empty),
        None => element.tag() == Tag::Textarea && element.text().is_empty(),
    };
    is_empty && element.has_attr("placeholder")
}

/// Whether the value is in the range of its field; `None` if there is none.
pub(super) fn is_in_range(element: Element<'_>, steps: &Steps) -> Option<bool> {
    let kind = input_type(element).filter(|kind| RANGED.contains(kind))?;
    let bound = |name| {
        element
            .attr(name)
            .and_then(|written| Value::of(written, kind))
    };
    let (least, most) = (bound("min"), bound("max"));
    // A slider always has a range, and its value is always moved into it.
    let is_limited = least.is_some() || most.is_some() || kind == "range";
    if !is_limited || element.has_attr("readonly") || is_disabled(element, steps) {
        return None;
    }
    let value = bound("value").filter(|_| kind != "range");
    Some(value.is_none_or(|value| {
        least.is_none_or(|least| value >= least) && most.is_none_or(|most| value <= most)
    }))
}

/// A number, or a point in time in the form of its field, which sorts as text.
#[derive(PartialEq, PartialOrd)]
enum Value<'a> {
    Number(f64),
    Time(&'a str),
}

impl<'a> Value<'a> {
    fn of(written: &'a str, kind: &str) -> Option<Self> {
        if matches!(kind, "number" | "range") {
            let is_number =
                |c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.' | 'e' | 'E');
            let number = written.chars().all(is_number).then(|| written.parse().ok());
            return number.flatten().map(Self::Number);
        }
        let is_part =
            |c: char| c.is_ascii_digit() || matches!(c, '-' | ':' | 'T' | 'W' | '.' | ' ');
        let is_time =
            written.starts_with(|c: char| c.is_ascii_digit()) && written.chars().all(is_part);
        is_time.then_some(Self::Time(written))
    }
}

/// Whether it is shown open: `details` and `dialog`.
pub(super) fn is_open(element: Element<'_>) -> bool {
    matches!(element.tag(), Tag::Details | Tag::Dialog) && element.has_attr("open")
}

/// Whether no script is needed to define the element.
pub(super) fn is_defined(element: Element<'_>) -> bool {
    element.namespace() != Namespace::Html
        || !(element.name().contains('-') || element.has_attr("is"))
}

/// Whether the text of an element runs from right to left. Source: WHATWG HTML, "The
/// directionality".
pub(super) fn is_right_to_left(element: Element<'_>, steps: &Steps) -> bool {
    for outer in std::iter::once(element).chain(ancestors(element, steps)) {
        let written = outer.attr("dir").unwrap_or_default();
        let is = |direction: &str| written.eq_ignore_ascii_case(direction);
        if is("ltr") || is("rtl") {
            return is("rtl");
        }
        if is("auto") || outer.tag() == Tag::Bdi {
            return is_text_right_to_left(outer, steps).unwrap_or(false);
        }
        if input_type(outer) == Some("tel") {
            return false;
        }
    }
    false
}

/// By the first letter that has a direction.
fn is_text_right_to_left(element: Element<'_>, steps: &Steps) -> Option<bool> {
    if input_type(element).is_some() {
        return element.attr("value").and_then(direction_of);
    }
    let mut nodes = element.descendants();
    while let Some(node) = nodes.next() {
        let text = node.as_text().unwrap_or_default();
        if !steps.spend(1 + (text.len() / 32) as u64) {
            return None;
        }
        if let Some(direction) = direction_of(text) {
            return Some(direction);
        }
        let is_apart = node.as_element().is_some_and(|inner| {
            matches!(
                inner.tag(),
                Tag::Bdi | Tag::Script | Tag::Style | Tag::Textarea
            ) || inner.has_attr("dir")
        });
        if is_apart || matches!(node.kind(), Kind::TemplateContents) {
            nodes.skip_inside(node);
        }
    }
    None
}

/// Whether the first letter with a direction is one of a script written from right to left.
fn direction_of(text: &str) -> Option<bool> {
    let is_right_to_left = |letter: char| matches!(letter, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{feff}' | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}');
    let letter = text.chars().find(|letter| letter.is_alphabetic())?;
    Some(is_right_to_left(letter))
}

/// Whether a language matches one of these ranges. Source: Selectors 4, "The Language
/// Pseudo-class"; RFC 4647, 3.3.2.
pub(super) fn matches_language(language: &str, ranges: &[Box<str>]) -> bool {
    ranges.iter().any(|range| match &**range {
        "" => language.is_empty(),
        range => !language.is_empty() && matches_range(language, range),
    })
}

fn matches_range(language: &str, range: &str) -> bool {
    let mut tags = language.split('-');
    let mut wanted = range.split('-');
    let is = |tag: &str, wanted: &str| wanted == "*" || tag.eq_ignore_ascii_case(wanted);
    let is_first = tags
        .next()
        .zip(wanted.next())
        .is_some_and(|(tag, wanted)| is(tag, wanted));
    is_first
        && wanted.filter(|wanted| *wanted != "*").all(|wanted| {
            loop {
                match tags.next() {
                    None => return false,
                    Some(tag) if tag.eq_ignore_ascii_case(wanted) => return true,
                    // What follows a single letter belongs to it.
                    Some(tag) if tag.len() == 1 => return false,
                    Some(_) => {}
                }
            }
        })
}

/// The language of an element: that of the nearest `lang`, else that of the page; empty if it is
/// not known.
pub(super) fn language<'a>(element: Element<'a>, steps: &Steps) -> &'a str {
    let mut outward = std::iter::once(element).chain(element.ancestors());
    let own = outward.find_map(|outer| {
        steps.spend(1);
        let is_html = outer.namespace() == Namespace::Html;
        let xml = outer.attr("xml:lang").filter(|_| !is_html);
        xml.or_else(|| outer.attr("lang"))
    });
    own.unwrap_or_else(|| element.document().default_language())
}
