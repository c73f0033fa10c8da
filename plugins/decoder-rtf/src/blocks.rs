//! What a document consists of.

use std::collections::BTreeMap;
use std::rc::Rc;

/// Text of one look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) text: String,
    pub(crate) is_bold: bool,
    pub(crate) is_italic: bool,
    /// URL of a link.
    pub(crate) link: Option<Rc<str>>,
    /// The number of a footnote, from 1, that stands here in place of text.
    pub(crate) note: Option<usize>,
}

/// A paragraph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Paragraph {
    pub(crate) runs: Vec<Run>,
    /// 1 to 6 for headings.
    pub(crate) level: Option<u8>,
    /// The number or bullet of a list item as written.
    pub(crate) label: Option<String>,
}

/// A part of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Block {
    Paragraph(Paragraph),
    /// A row of a table.
    Row(Vec<Cell>),
}

/// A cell of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) paragraphs: Vec<Paragraph>,
    /// Where it ends on the right, in twips; `None` if its row does not say.
    pub(crate) edge: Option<i32>,
    /// Whether it is the rest of the cell on its left.
    pub(crate) is_after: bool,
    /// Whether it is the rest of the cell above.
    pub(crate) is_below: bool,
}

/// A comment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Comment {
    /// Who wrote it; empty if the document does not say.
    pub(crate) author: String,
    pub(crate) runs: Vec<Run>,
}

/// A document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Document {
    pub(crate) blocks: Vec<Block>,
    /// Footnotes in order.
    pub(crate) notes: Vec<Vec<Run>>,
    /// Comments in order, if they are wanted.
    pub(crate) comments: Vec<Comment>,
    /// What it says about itself, by the names of its control words: `title`, `author`.
    pub(crate) info: BTreeMap<String, String>,
    /// Whether groups are open at its end.
    pub(crate) is_cut: bool,
}

impl Paragraph {
    /// Whether it has no text.
    pub(crate) fn is_blank(&self) -> bool {
        let is_blank = |run: &Run| run.note.is_none() && run.text.trim().is_empty();
        self.runs.iter().all(is_blank)
    }
}
