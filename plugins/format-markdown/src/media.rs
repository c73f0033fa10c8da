//! The real URL of an image: lazy-loading pages put a placeholder in `src`.

use trawl_sdk::Element;

use crate::url::is_followable;

const LATE: &[&str] = &[
    "data-src",
    "data-original",
    "data-lazy-src",
    "data-lazy",
    "data-url",
];
const LATE_SETS: &[&str] = &["srcset", "data-srcset", "data-lazy-srcset"];

/// The URL of an image, unresolved; `None` if it has none that a reader could open.
pub(crate) fn source(image: Element<'_>) -> Option<&str> {
    let usable = |name: &&str| image.attr(name).filter(|src| is_followable(src));
    let from_set = |name: &&str| image.attr(name).and_then(largest);
    usable(&"src")
        .or_else(|| LATE.iter().find_map(usable))
        .or_else(|| LATE_SETS.iter().find_map(from_set))
}

/// Whether an image is a tracking pixel. One with an alternative text gets its size from a style.
pub(crate) fn is_pixel(image: Element<'_>) -> bool {
    let is_tiny = ["width", "height"]
        .iter()
        .all(|name| matches!(image.attr(name), Some("0" | "1")));
    is_tiny
        && image
            .attr("alt")
            .is_none_or(|alt| alt.trim_ascii().is_empty())
}

/// The `srcset` candidate with the greatest width or density.
fn largest(set: &str) -> Option<&str> {
    let size = |descriptor: Option<&str>| {
        let number = descriptor?.trim_end_matches(['w', 'x', ',']);
        number.parse::<f32>().ok()
    };
    let mut best: Option<(&str, f32)> = None;
    // A comma separates candidates only before white space: URLs may contain commas.
    for candidate in set.split(", ").flat_map(|part| part.split(",\n")) {
        let mut words = candidate.split_ascii_whitespace();
        let Some(url) = words.next().map(|word| word.trim_end_matches(',')) else {
            continue;
        };
        let size = size(words.next()).unwrap_or(1.0);
        if is_followable(url) && best.is_none_or(|(_, largest)| size > largest) {
            best = Some((url, size));
        }
    }
    best.map(|(url, _)| url)
}
