//! Definition lists. GFM has none: a term stands in bold on a line of its own, and what is said of it in a list below.

use trawl_sdk::{Element, Tag};

use super::{After, Place, Renderer};
use crate::inline::Mark;
use crate::lines::{Gap, Marker};
use crate::lists::n_blocks;

impl<'a> Renderer<'a> {
    pub(super) fn enter_term(&mut self) -> After {
        self.writer.boundary();
        self.writer.enter_mark(Mark::Strong);
        After::Term
    }

    pub(super) fn leave_term(&mut self) {
        self.writer.leave_mark();
        self.writer.boundary();
    }

    pub(super) fn enter_definition(&mut self, definition: Element<'a>) -> After {
        self.writer.boundary();
        if self.writer.is_one_line() {
            return After::Boundary;
        }
        let written = self.writer.lines.out.len();
        let before = self.last_list.filter(|&(.., at)| at == written);
        let sibling = definition
            .previous_element()
            .filter(|sibling| sibling.tag() == Tag::Dd);
        let is_alternate = match (before, sibling) {
            (Some((false, alternate, _)), Some(sibling)) => {
                if n_blocks(sibling) < 2 && n_blocks(definition) < 2 {
                    self.writer.lines.gap = Gap::Line;
                }
                alternate
            }
            (Some((false, alternate, _)), None) => !alternate,
            _ => false,
        };
        let bullet = if is_alternate { '*' } else { '-' };
        self.writer.lines.enter(Marker::Bullet(bullet));
        self.containers.push(Place::Item);
        After::Definition(is_alternate)
    }

    pub(super) fn leave_definition(&mut self, is_alternate: bool) {
        self.writer.boundary();
        let was_written = !self.writer.lines.is_container_empty();
        self.writer.lines.leave();
        self.containers.pop();
        self.writer.lines.gap = Gap::Blank;
        if was_written {
            self.last_list = Some((false, is_alternate, self.writer.lines.out.len()));
        }
    }
}
