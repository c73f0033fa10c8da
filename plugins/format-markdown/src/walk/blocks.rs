//! Lists, quotes, rules and code blocks.

use trawl_sdk::{Element, Tag};

use super::{After, Place, Renderer};
use crate::code;
use crate::inline::longest_run;
use crate::lines::{Gap, Marker};
use crate::lists::List;

impl<'a> Renderer<'a> {
    pub(super) fn enter_list(&mut self, list: Element<'a>) -> After {
        self.writer.boundary();
        if self.writer.is_one_line() {
            return After::Boundary;
        }
        let is_nested = self.containers.last() == Some(&Place::List);
        if let Some(outer) = self
            .lists
            .last()
            .filter(|outer| is_nested && outer.n_items > 0)
        {
            self.writer.lines.enter_again(outer.width);
        }
        let is_again = is_nested && self.lists.last().is_some_and(|outer| outer.n_items > 0);
        let is_ordered = list.tag() == Tag::Ol;
        let written = self.writer.lines.out.len();
        let is_alternate = self.last_list.is_some_and(|(ordered, alternate, at)| {
            ordered == is_ordered && at == written && !alternate
        });
        self.lists.push(List::of(list, is_alternate));
        self.containers.push(Place::List);
        if is_again {
            After::NestedList
        } else {
            After::List
        }
    }

    pub(super) fn leave_list(&mut self) {
        self.writer.boundary();
        self.containers.pop();
        self.writer.lines.gap = Gap::Blank;
        if let Some(list) = self.lists.pop() {
            let written = self.writer.lines.out.len();
            self.last_list = Some((list.is_ordered, list.is_alternate, written));
        }
    }

    pub(super) fn enter_item(&mut self, item: Element<'a>) -> After {
        self.writer.boundary();
        if self.writer.is_one_line() {
            return After::Boundary;
        }
        let is_in_tight = self.lists.len() > 1 && self.lists[self.lists.len() - 2].is_tight;
        let marker = match self.lists.last_mut() {
            Some(list) => {
                let follows_text = is_in_tight && list.can_follow_text();
                if list.is_tight && (list.n_items > 0 || follows_text) {
                    self.writer.lines.gap = Gap::Line;
                }
                list.next_marker(item)
            }
            None => Marker::Bullet('-'),
        };
        self.writer.lines.enter(marker);
        self.containers.push(Place::Item);
        After::Item
    }

    pub(super) fn enter_quote(&mut self) -> After {
        self.writer.boundary();
        if self.writer.is_one_line() {
            return After::Boundary;
        }
        self.writer.lines.enter(Marker::Quote);
        After::Quote
    }

    pub(super) fn rule(&mut self) {
        self.writer.boundary();
        if !self.writer.is_one_line() {
            self.writer.lines.begin_block();
            // After a bullet, dashes would be parsed as part of a thematic break.
            let rule = if self.writer.lines.is_contained() {
                "***"
            } else {
                "---"
            };
            self.writer.lines.out.push_str(rule);
        }
    }

    pub(super) fn code_block(&mut self, pre: Element<'a>) {
        self.writer.boundary();
        let text = code::text_of(pre, self.options.hidden);
        if text.is_empty() {
            return;
        }
        if self.writer.is_one_line() {
            for line in text.lines().filter(|line| !line.trim_ascii().is_empty()) {
                self.writer.code_line(line);
                self.writer.line_break();
            }
            return;
        }
        let fence = "`".repeat(longest_run(&text, b'`').max(2) + 1);
        let lines = &mut self.writer.lines;
        lines.begin_block();
        lines.out.push_str(&fence);
        lines.out.push_str(code::language(pre).unwrap_or_default());
        for line in text.split('\n') {
            if line.is_empty() {
                lines.empty_line();
            } else {
                lines.next_line();
                lines.out.push_str(line);
            }
        }
        lines.next_line();
        lines.out.push_str(&fence);
    }
}
