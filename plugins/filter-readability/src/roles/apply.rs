//! Adds and removes parts by their roles.

use trawl_sdk::{Document, Kind, Mask, Tag};

use super::outline::Outline;
use super::role::{Role, Wanted};

/// What is kept of a page once the roles that are wanted are added, and the others are taken out.
/// Elements that lose all their content go with it.
pub(crate) fn apply<'a>(
    document: &'a Document<'a>,
    mask: &Mask,
    (outline, roles): (&Outline<'a>, &[Option<Role>]),
    wanted: Wanted,
) -> Mask {
    let nodes = &outline.nodes;
    let mut is_kept: Vec<bool> = nodes.iter().map(|node| mask.keeps(*node)).collect();
    let had_content = with_content(outline, &is_kept);
    let mut is_added = vec![false; nodes.len()];
    for (at, role) in roles.iter().enumerate() {
        let Some(role) = *role else { continue };
        if wanted.left_out.has(role) {
            is_kept[at] = false;
        } else if wanted.added.has(role) && is_shown(outline, at) {
            is_added[at] = true;
            is_kept[at] = true;
        }
    }
    for at in (0..nodes.len()).rev().filter(|&at| is_added[at]) {
        keep_around(outline, at, &mut is_kept);
    }
    let has_content = with_content(outline, &is_kept);
    let mut changed = Mask::of(document);
    for (at, node) in nodes.iter().enumerate() {
        let is_emptied = had_content[at] && !has_content[at];
        if !is_kept[at] || is_emptied {
            changed.drop_node(*node);
        }
    }
    changed
}

/// Whether a node is shown, and is not of a script.
fn is_shown(outline: &Outline<'_>, at: usize) -> bool {
    let tag = outline.nodes[at].as_element().map(|element| element.tag());
    outline.is_shown[at] && !matches!(tag, Some(Tag::Noscript))
}

/// Keeps the elements around a node, up to the first that is kept. A `noscript` would hide it.
fn keep_around(outline: &Outline<'_>, at: usize, is_kept: &mut [bool]) {
    let mut around = outline.parents[at];
    while let Some(outer) = around {
        let tag = outline.nodes[outer].as_element().map(|it| it.tag());
        if tag != Some(Tag::Noscript) {
            if is_kept[outer] {
                return;
            }
            is_kept[outer] = true;
        }
        around = outline.parents[outer];
    }
}

/// For each node whether kept text or a kept picture is in it.
fn with_content(outline: &Outline<'_>, is_kept: &[bool]) -> Vec<bool> {
    let mut has_content = vec![false; is_kept.len()];
    for at in (0..is_kept.len()).rev() {
        let own = match outline.nodes[at].kind() {
            Kind::Text(text) => !text.trim().is_empty(),
            Kind::Element(element) => is_picture(element.tag()),
            _ => false,
        };
        has_content[at] |= own && is_kept[at];
        if let Some(parent) = outline.parents[at] {
            has_content[parent] |= has_content[at];
        }
    }
    has_content
}

fn is_picture(tag: Tag) -> bool {
    matches!(
        tag,
        Tag::Img | Tag::Video | Tag::Audio | Tag::Iframe | Tag::Object | Tag::Embed | Tag::Canvas
    )
}
