//! Tables whose cells may be merged.

use trawl_sdk::decoder::{Failure, Html};
use trawl_sdk::xml::Element;

/// Most columns of a table.
const COLUMNS_MAX: usize = 1_000;
/// Tables within tables; deeper ones are left out.
pub(crate) const DEPTH_MAX: usize = 8;

/// A row.
#[derive(Debug, Default)]
pub(crate) struct Row<'a> {
    pub(crate) is_header: bool,
    pub(crate) cells: Vec<Cell<'a>>,
}

/// A cell.
#[derive(Debug)]
pub(crate) struct Cell<'a> {
    pub(crate) element: &'a Element,
    /// Columns that it spans, at least 1.
    pub(crate) n_columns: usize,
    /// Whether it is the rest of the cell above.
    pub(crate) is_continued: bool,
}

/// Writes a table; `write_cell` writes what is in a cell.
pub(crate) fn write(
    html: &mut Html,
    rows: &[Row<'_>],
    write_cell: &mut dyn FnMut(&mut Html, &Element) -> Result<(), Failure>,
) -> Result<(), Failure> {
    // Where each cell begins.
    let mut starts: Vec<Vec<usize>> = Vec::with_capacity(rows.len());
    for row in rows {
        let mut column = 0;
        let mut of_row = Vec::with_capacity(row.cells.len());
        for cell in &row.cells {
            of_row.push(column);
            column += cell.n_columns.clamp(1, COLUMNS_MAX);
        }
        if column > COLUMNS_MAX {
            let reason = format!("a table has {column} columns, at most {COLUMNS_MAX} are read");
            return Err(Failure::Limit(reason));
        }
        starts.push(of_row);
    }
    let is_continued = |row: usize, column: usize| {
        let of_row = starts.get(row)?;
        let index = of_row.binary_search(&column).ok()?;
        Some(rows[row].cells[index].is_continued)
    };
    html.open("table");
    for (index, row) in rows.iter().enumerate() {
        html.open("tr");
        let name = if row.is_header { "th" } else { "td" };
        for (cell, column) in row.cells.iter().zip(&starts[index]) {
            if cell.is_continued && index > 0 {
                continue;
            }
            let below = (index + 1..).take_while(|row| is_continued(*row, *column) == Some(true));
            let (n_rows, n_columns) = (1 + below.count(), cell.n_columns.clamp(1, COLUMNS_MAX));
            html.open_cell(name, n_rows, n_columns);
            write_cell(html, cell.element)?;
            html.close();
        }
        html.close();
    }
    html.close();
    Ok(())
}
