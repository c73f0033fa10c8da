//! Definition lists. GFM has none: a term is a paragraph, and its definition follows below,
//! indented by three blanks. Parsers ignore the indentation; readers of the source see what belongs
//! together.

use super::{After, Renderer};
use crate::lines::Marker;

impl<'a> Renderer<'a> {
    pub(super) fn enter_definition(&mut self) -> After {
        self.writer.boundary();
        if self.writer.is_one_line() || !self.can_indent() {
            return After::Boundary;
        }
        self.writer.lines.enter(Marker::Indent);
        After::Definition
    }

    /// Whether blanks before a line would be ignored by a parser: not a continuation of a list, not
    /// code.
    fn can_indent(&self) -> bool {
        let written = self.writer.lines.out.len();
        let follows_list = self.last_list.is_some_and(|(.., at)| at == written);
        !follows_list && !self.writer.lines.is_indented()
    }

    pub(super) fn leave_definition(&mut self) {
        self.writer.boundary();
        self.writer.lines.leave();
    }
}
