//! Lists: markers and spacing of items.

use trawl_sdk::{Element, Node, Tag};

use crate::lines::Marker;

/// GFM allows nine digits.
const NUMBER_MAX: u32 = 999_999_999;

/// A list being written.
#[derive(Debug)]
pub(crate) struct List {
    pub(crate) is_ordered: bool,
    /// Whether its items are not separated by empty lines.
    pub(crate) is_tight: bool,
    /// Whether it uses the alternate marker, because it directly follows a list of the same kind.
    pub(crate) is_alternate: bool,
    pub(crate) n_items: usize,
    /// Length of the last item's marker in bytes.
    pub(crate) width: usize,
    number: u32,
}

impl List {
    pub(crate) fn of(list: Element<'_>, is_alternate: bool) -> Self {
        let is_ordered = list.tag() == Tag::Ol;
        Self {
            is_ordered,
            is_tight: is_tight(list),
            is_alternate,
            n_items: 0,
            width: 2,
            number: number(list, "start").unwrap_or(1),
        }
    }

    /// The marker of the next item.
    pub(crate) fn next_marker(&mut self, item: Element<'_>) -> Marker {
        let number = number(item, "value").unwrap_or(self.number);
        self.number = (number + 1).min(NUMBER_MAX);
        self.n_items += 1;
        match (self.is_ordered, self.is_alternate) {
            (true, alternate) => {
                self.width = number.to_string().len() + 2;
                Marker::Number(number, if alternate { ')' } else { '.' })
            }
            (false, true) => Marker::Bullet('*'),
            (false, false) => Marker::Bullet('-'),
        }
    }

    /// Whether the next item can follow a line of text without an empty line.
    pub(crate) fn can_follow_text(&self) -> bool {
        !self.is_ordered || self.number == 1
    }
}

fn number(element: Element<'_>, name: &str) -> Option<u32> {
    let number = element.attr(name)?.trim().parse().ok();
    number.filter(|&number| number <= NUMBER_MAX)
}

/// A list is tight unless an item has at least two visible blocks, not counting nested lists.
fn is_tight(list: Element<'_>) -> bool {
    list.child_elements()
        .filter(|item| item.tag() == Tag::Li)
        .all(|item| n_blocks(item) < 2)
}

/// Number of visible blocks of an item, not counting nested lists.
pub(crate) fn n_blocks(item: Element<'_>) -> usize {
    let (mut n_blocks, mut in_text) = (0, false);
    for child in item.children() {
        let is_block = child.as_element().is_some_and(|e| e.tag().is_block());
        let is_list = child.as_element().is_some_and(|e| is_list(e.tag()));
        if is_list {
            in_text = false;
        } else if is_block {
            n_blocks += 1;
            in_text = false;
        } else if !in_text && has_something(child) {
            n_blocks += 1;
            in_text = true;
        }
    }
    n_blocks
}

fn has_something(node: Node<'_>) -> bool {
    match node.as_text() {
        Some(text) => !text.trim_ascii().is_empty(),
        None => node.as_element().is_some_and(|e| match e.tag() {
            Tag::Input | Tag::Br | Tag::Wbr => false,
            Tag::Label => e.has_shown_text(),
            _ => !e.is_unseen(),
        }),
    }
}

pub(crate) fn is_list(tag: Tag) -> bool {
    matches!(tag, Tag::Ul | Tag::Ol | Tag::Menu | Tag::Dir)
}
