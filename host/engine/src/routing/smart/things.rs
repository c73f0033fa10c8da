//! Content of a page that is not text: links, images, fields, media and frames.

use super::tokens::Tag;

/// Elements that are content without being text, links aside.
const THINGS: [&str; 6] = ["img", "video", "audio", "object", "embed", "frame"];

/// Elements that are filled in or pressed.
const FIELDS: [&str; 3] = ["input", "button", "select"];

/// Content that is not text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Thing {
    /// What is filled in or pressed.
    Field,
    /// Anything else.
    Other,
}

/// What a start tag adds to a page that is not text.
pub(super) fn thing(tag: &Tag<'_>) -> Option<Thing> {
    let is_one_of = |names: &[&str]| names.iter().any(|name| tag.is(name));
    match tag.name {
        b"a" | b"A" => tag.attribute("href").map(|_| Thing::Other),
        _ if is_one_of(&THINGS) => Some(Thing::Other),
        _ if tag.is("input") && is_hidden(tag) => None,
        _ if is_one_of(&FIELDS) => Some(Thing::Field),
        _ => None,
    }
}

fn is_hidden(tag: &Tag<'_>) -> bool {
    tag.attribute("type")
        .is_some_and(|kind| kind.eq_ignore_ascii_case(b"hidden"))
}
