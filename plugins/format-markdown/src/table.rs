//! Tables: which ones hold data, and the positions of their cells.

use trawl_sdk::{Element, Tag};

use crate::lines::Lines;
use crate::visible::is_left_out;

/// Maximum number of columns of a table; a wider one is not data for a reader.
const COLUMNS_MAX: usize = 400;
/// Maximum number of columns or rows that a cell may span.
const SPAN_MAX: usize = 100;
/// Maximum number of empty cells caused by spans, in total and per cell. Otherwise a few cells that
/// span thousands of rows would fill gigabytes.
const PADDING_MAX: usize = 2000;
const PADDING_PER_CELL: usize = 8;

/// Alignment of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Align {
    Unsaid,
    Left,
    Centre,
    Right,
}

/// A data table being written.
#[derive(Debug)]
pub(crate) struct Grid {
    n_columns: usize,
    /// Whether the first row is a header.
    pub(crate) has_header: bool,
    /// Whether the current row is the first.
    pub(crate) is_first_row: bool,
    /// End of the last row in the output.
    end: usize,
    /// Whether the current row has a cell.
    pub(crate) in_row: bool,
    aligns: Vec<Align>,
    places: Places,
    /// Number of cells written in the current row.
    n_written: usize,
}

/// Position of the next cell, given the row spans of the rows above.
#[derive(Debug)]
struct Places {
    row: usize,
    column: usize,
    /// For each column, the first free row.
    free_from: Vec<usize>,
    padding: usize,
}

impl Default for Places {
    fn default() -> Self {
        Self {
            row: 0,
            column: 0,
            free_from: Vec::new(),
            padding: PADDING_MAX,
        }
    }
}

impl Places {
    fn next_row(&mut self) {
        self.row += 1;
        self.column = 0;
    }

    /// Places a cell; returns its column.
    fn take(&mut self, cell: Element<'_>) -> usize {
        let taken = |places: &Self| {
            places
                .free_from
                .get(places.column)
                .is_some_and(|&row| row > places.row)
        };
        while self.padding > 0 && taken(self) {
            self.column += 1;
            self.padding -= 1;
        }
        let column = self.column;
        self.padding += PADDING_PER_CELL;
        let wide = span(cell, "colspan").min(self.padding);
        let until = self.row + span(cell, "rowspan");
        let end = self.column + wide;
        if self.free_from.len() < end && end <= COLUMNS_MAX + SPAN_MAX {
            self.free_from.resize(end, 0);
        }
        for free_from in self.free_from.iter_mut().take(end).skip(self.column) {
            *free_from = until;
        }
        self.column = end;
        column
    }
}

fn span(cell: Element<'_>, name: &str) -> usize {
    let span = cell.attr(name).and_then(|value| value.trim().parse().ok());
    span.unwrap_or(1_usize).clamp(1, SPAN_MAX)
}

impl Grid {
    /// Examines a table; `None` for a layout table: one that has a single row or column, or that
    /// contains another table or lies in one without a sign that it holds data, or whose inner
    /// tables hold most of its text.
    pub(crate) fn of(table: Element<'_>, with_hidden: bool) -> Option<Self> {
        if matches!(table.attr("role"), Some("presentation" | "none")) {
            return None;
        }
        let mut places = Places::default();
        let (mut n_columns, mut n_rows, mut in_row) = (0, 0, false);
        let (mut has_header, mut is_marked, mut aligns) = (true, false, Vec::new());
        let mut inner_bytes = 0;
        let mut inside = table.descendants();
        while let Some(node) = inside.next() {
            let Some(element) = node.as_element() else {
                continue;
            };
            match element.tag() {
                _ if is_left_out(element, with_hidden) => inside.skip_inside(node),
                Tag::Table => {
                    inner_bytes += text_bytes(element).max(1);
                    inside.skip_inside(node);
                }
                Tag::Tr => {
                    places.next_row();
                    in_row = false;
                }
                Tag::Caption | Tag::Thead => is_marked = true,
                Tag::Td | Tag::Th => {
                    is_marked |= element.tag() == Tag::Th;
                    places.take(element);
                    n_rows += usize::from(!in_row);
                    in_row = true;
                    n_columns = n_columns.max(places.column);
                    if n_rows == 1 {
                        has_header &= element.tag() == Tag::Th || is_in_head(element);
                        aligns.resize(places.column.min(COLUMNS_MAX), Align::Unsaid);
                        if let Some(last) = aligns.last_mut() {
                            *last = align(element);
                        }
                    }
                }
                _ => {}
            }
        }
        let has_sign = is_marked || has_border(table);
        let is_data = n_rows > 1
            && (2..=COLUMNS_MAX).contains(&n_columns)
            && (has_sign || inner_bytes == 0 && !is_nested(table))
            && (inner_bytes == 0 || 2 * inner_bytes < text_bytes(table));
        is_data.then(|| Self {
            n_columns,
            has_header,
            is_first_row: true,
            end: 0,
            in_row: false,
            aligns,
            places: Places::default(),
            n_written: 0,
        })
    }

    /// Starts the next row; it is written with its first cell.
    pub(crate) fn next_row(&mut self) {
        self.places.next_row();
        self.in_row = false;
        self.n_written = 0;
    }

    /// Places a cell; returns the number of empty cells before it.
    pub(crate) fn take(&mut self, cell: Element<'_>) -> usize {
        let column = self.places.take(cell);
        let n_before = column - self.n_written;
        self.n_written = column + 1;
        n_before
    }

    /// Writes the start of the current row. A table without a header gets an empty one, which GFM
    /// requires.
    pub(crate) fn begin_row(&mut self, lines: &mut Lines) {
        let goes_on = !self.is_first_row && lines.out.len() == self.end;
        if !self.is_first_row && !goes_on {
            // A caption came in between: the rest is a table of its own.
            (self.is_first_row, self.has_header) = (true, false);
        }
        if goes_on {
            lines.next_line();
        } else {
            lines.begin_block();
        }
        if self.is_first_row && !self.has_header {
            self.write_missing(lines);
            self.write_delimiters(lines);
            lines.next_line();
        }
        lines.out.push('|');
        self.in_row = true;
    }

    /// Ends the current row.
    pub(crate) fn end_row(&mut self, lines: &mut Lines) {
        if !self.in_row {
            return;
        }
        if self.is_first_row && self.has_header {
            for _ in self.n_written..self.n_columns {
                lines.out.push_str(" |");
            }
            self.write_delimiters(lines);
        }
        self.is_first_row = false;
        self.in_row = false;
        self.end = lines.out.len();
    }

    fn write_missing(&self, lines: &mut Lines) {
        lines.out.push('|');
        for _ in 0..self.n_columns {
            lines.out.push_str(" |");
        }
    }

    /// The delimiter row between header and body.
    fn write_delimiters(&self, lines: &mut Lines) {
        lines.next_line();
        lines.out.push('|');
        for column in 0..self.n_columns {
            lines.out.push_str(match self.aligns.get(column) {
                Some(Align::Left) => " :-- |",
                Some(Align::Centre) => " :-: |",
                Some(Align::Right) => " --: |",
                _ => " --- |",
            });
        }
    }
}

/// Length of an element's text, in bytes without white space.
fn text_bytes(element: Element<'_>) -> usize {
    let words = element.shown_texts().flat_map(str::split_ascii_whitespace);
    words.map(str::len).sum()
}

/// Whether a table states a border.
fn has_border(table: Element<'_>) -> bool {
    table
        .attr("border")
        .is_some_and(|width| width.trim() != "0")
}

/// Whether a table lies in a cell of another one.
fn is_nested(table: Element<'_>) -> bool {
    const LEVELS_MAX: usize = 12;
    let mut around = table.ancestors().take(LEVELS_MAX);
    around.any(|element| matches!(element.tag(), Tag::Td | Tag::Th))
}

fn is_in_head(cell: Element<'_>) -> bool {
    cell.ancestors()
        .take(2)
        .any(|element| element.tag() == Tag::Thead)
}

fn align(cell: Element<'_>) -> Align {
    match cell
        .style("text-align")
        .or(cell.attr("align"))
        .map(str::to_ascii_lowercase)
        .as_deref()
    {
        Some("left") => Align::Left,
        Some("center") => Align::Centre,
        Some("right") => Align::Right,
        _ => Align::Unsaid,
    }
}
