//! Tables and their parts.

use trawl_sdk::{Element, Tag};

use super::{After, Renderer};
use crate::table::Grid;

impl<'a> Renderer<'a> {
    pub(super) fn enter_table(&mut self, table: Element<'a>) -> After {
        self.writer.boundary();
        if self.writer.is_one_line() || self.table.is_some() {
            return After::Boundary;
        }
        self.table = Grid::of(table, self.options.hidden);
        if self.table.is_some() {
            After::Table
        } else {
            After::Boundary
        }
    }

    pub(super) fn enter_table_part(&mut self, part: Element<'a>) -> After {
        let Some(grid) = self.table.as_mut().filter(|_| !self.writer.is_one_line()) else {
            // A table within a cell: its rows are lines there.
            if part.tag() != Tag::Tr && self.table.is_some() {
                self.writer.space();
                return After::Space;
            }
            self.writer.boundary();
            return After::Boundary;
        };
        if part.tag() == Tag::Tr {
            self.writer.boundary();
            grid.next_row();
            return After::Row;
        }
        if !grid.in_row {
            self.writer.boundary();
            grid.begin_row(&mut self.writer.lines);
        }
        let n_before = grid.take(part);
        let is_header = grid.has_header && grid.is_first_row;
        self.writer
            .lines
            .out
            .extend(std::iter::repeat_n(" |", n_before));
        self.writer.lines.out.push(' ');
        self.writer.begin_cell(is_header);
        After::Cell
    }

    pub(super) fn leave_cell(&mut self) {
        let has_content = self.writer.end_cell();
        self.writer
            .lines
            .out
            .push_str(if has_content { " |" } else { "|" });
    }

    pub(super) fn leave_row(&mut self) {
        if let Some(grid) = &mut self.table {
            grid.end_row(&mut self.writer.lines);
        }
    }
}
