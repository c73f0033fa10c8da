//! Tables: rows of cells of which only the right edges are known, and which may be merged.

use std::collections::HashMap;

use trawl_sdk::decoder::Html;

use crate::blocks::Cell;

/// Edges that are as near as this are one, in twips.
const NEAR: i32 = 20;
/// Most columns and rows that a cell spans.
const SPAN_MAX: usize = 1_000;

/// A cell with its place.
#[derive(Clone, Copy, Debug)]
struct Placed<'a> {
    cell: &'a Cell,
    column: usize,
    n_columns: usize,
    n_rows: usize,
    /// Whether it is a part of the cell above.
    is_below: bool,
}

/// Writes a table; `write_cell` writes what is in a cell.
pub(crate) fn write(
    html: &mut Html,
    rows: &[&[Cell]],
    write_cell: &mut dyn FnMut(&mut Html, &Cell),
) {
    let mut placed = placed(rows);
    merge_down(&mut placed);
    html.open("table");
    for row in &placed {
        html.open("tr");
        for cell in row.iter().filter(|cell| !cell.is_below) {
            html.open_cell("td", cell.n_rows, cell.n_columns);
            write_cell(html, cell.cell);
            html.close();
        }
        html.close();
    }
    html.close();
}

/// The cells of each row with their columns. A column is what is between two edges of any row.
fn placed<'a>(rows: &[&'a [Cell]]) -> Vec<Vec<Placed<'a>>> {
    let mut edges: Vec<i32> = Vec::new();
    let mut has_edges = true;
    for cell in rows.iter().copied().flatten() {
        match cell.edge {
            Some(edge) => edges.push(edge),
            None => has_edges = false,
        }
    }
    edges.sort_unstable();
    edges.dedup_by(|next, before| next.saturating_sub(*before) <= NEAR);
    let place = |row: &&'a [Cell]| {
        let mut cells: Vec<Placed<'a>> = Vec::with_capacity(row.len());
        let mut column = 0;
        for cell in *row {
            let end = match cell.edge.filter(|_| has_edges) {
                Some(edge) => edges.partition_point(|own| own.saturating_add(NEAR) < edge) + 1,
                None => column + 1,
            };
            let n_columns = end.saturating_sub(column).clamp(1, SPAN_MAX);
            match cells.last_mut().filter(|_| cell.is_after) {
                Some(before) => {
                    before.n_columns = (before.n_columns + n_columns).min(SPAN_MAX);
                }
                None => cells.push(Placed {
                    cell,
                    column,
                    n_columns,
                    n_rows: 1,
                    is_below: false,
                }),
            }
            column += n_columns;
        }
        cells
    };
    rows.iter().map(place).collect()
}

/// Joins cells that go on in the row below.
fn merge_down(rows: &mut [Vec<Placed<'_>>]) {
    // Where the cell that each column belongs to begins.
    let mut owners: HashMap<usize, (usize, usize)> = HashMap::new();
    for row in 0..rows.len() {
        for at in 0..rows[row].len() {
            let (column, goes_on) = (rows[row][at].column, rows[row][at].cell.is_below);
            match owners.get(&column).copied().filter(|_| goes_on) {
                Some((above, index)) if rows[above][index].n_rows < SPAN_MAX => {
                    rows[above][index].n_rows += 1;
                    rows[row][at].is_below = true;
                }
                _ => {
                    owners.insert(column, (row, at));
                }
            }
        }
    }
}
