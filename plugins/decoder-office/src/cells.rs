//! Sheets of a spreadsheet as tables: of the rows and columns that have a value, whatever the size
//! of the sheet.

use std::collections::{BTreeMap, BTreeSet};

use trawl_sdk::decoder::{Failure, Html};

/// Most cells that are written: each is an element and a text.
pub(crate) const CELLS_MAX: usize = 400_000;

/// Most bytes of text of a sheet, and of the HTML of all: many cells may share one long text.
const TEXT_BYTES_MAX: usize = 48 << 20;
const HTML_BYTES_MAX: usize = 96 << 20;

/// A value in a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Value {
    /// As it is shown.
    pub(crate) text: String,
    /// Whether it is a text rather than a number or a date.
    pub(crate) is_text: bool,
    pub(crate) link: Option<String>,
}

/// A sheet.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sheet {
    pub(crate) name: String,
    /// Values by row and column, from 0.
    pub(crate) rows: BTreeMap<u32, BTreeMap<u32, Value>>,
    /// Merged cells: the first and the last row and column.
    pub(crate) merged: Vec<[(u32, u32); 2]>,
    text_bytes: usize,
}

impl Sheet {
    pub(crate) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            ..Self::default()
        }
    }

    /// Puts a value into a cell.
    ///
    /// # Errors
    /// [`Failure::Limit`] if the sheet has too much text.
    pub(crate) fn put(&mut self, row: u32, column: u32, value: Value) -> Result<(), Failure> {
        self.text_bytes += value.text.len();
        if self.text_bytes > TEXT_BYTES_MAX {
            let mib = TEXT_BYTES_MAX >> 20;
            return Err(Failure::Limit(format!(
                "a sheet has more than {mib} MiB of text"
            )));
        }
        self.rows.entry(row).or_default().insert(column, value);
        Ok(())
    }

    /// Writes a sheet; returns how many of its rows are left out because no more than `room` cells
    /// may be written.
    ///
    /// # Errors
    /// [`Failure::Limit`] if all sheets together are too long.
    pub(crate) fn write(&self, html: &mut Html, room: &mut usize) -> Result<usize, Failure> {
        let n_left_out = self.write_rows(html, room);
        if html.bytes() > HTML_BYTES_MAX {
            let mib = HTML_BYTES_MAX >> 20;
            return Err(Failure::Limit(format!(
                "the sheets have more than {mib} MiB of HTML"
            )));
        }
        Ok(n_left_out)
    }

    fn write_rows(&self, html: &mut Html, room: &mut usize) -> usize {
        html.open("section").element("h2", &self.name);
        let columns: BTreeSet<u32> = self
            .rows
            .values()
            .flat_map(BTreeMap::keys)
            .copied()
            .collect();
        let columns: Vec<u32> = columns.into_iter().collect();
        let mut n_left_out = 0;
        if !self.rows.is_empty() {
            html.open("table");
            let has_header = self.has_header(&columns);
            for (index, (row, values)) in self.rows.iter().enumerate() {
                if *room < columns.len() {
                    n_left_out += 1;
                    continue;
                }
                *room -= columns.len();
                let is_header = has_header && index == 0;
                if index < 2 {
                    match (index, has_header) {
                        (0, true) => html.open("thead"),
                        (1, true) => html.close().open("tbody"),
                        (0, false) => html.open("tbody"),
                        _ => html,
                    };
                }
                self.write_row(html, (*row, values), &columns, is_header);
            }
            html.close().close();
        }
        html.close();
        n_left_out
    }

    fn write_row(
        &self,
        html: &mut Html,
        (row, values): (u32, &BTreeMap<u32, Value>),
        columns: &[u32],
        is_header: bool,
    ) {
        html.open("tr");
        let name = if is_header { "th" } else { "td" };
        for column in columns {
            let merge = self.merged.iter().find(|[first, last]| {
                (first.0..=last.0).contains(&row) && (first.1..=last.1).contains(column)
            });
            let (mut n_rows, mut n_columns) = (1, 1);
            if let Some([first, last]) = merge {
                let has = |column: &&u32| (first.1..=last.1).contains(*column);
                // Only what is shown counts.
                n_columns = columns.iter().filter(has).count();
                n_rows = self.rows.range(first.0..=last.0).count();
                let first_row = self.rows.range(first.0..).next().map(|(row, _)| *row);
                let is_first = first_row == Some(row) && columns.iter().find(has) == Some(column);
                if !is_first {
                    continue;
                }
            }
            html.open_cell(name, n_rows, n_columns);
            if let Some(value) = values.get(column) {
                html.link(value.link.as_deref(), &value.text);
            }
            html.close();
        }
        html.close();
    }

    /// Whether the first row is a header: names in all columns, each once, and rows below.
    fn has_header(&self, columns: &[u32]) -> bool {
        let Some(first) = self.rows.values().next() else {
            return false;
        };
        let mut names = BTreeSet::new();
        let are_names = first.values().all(|value| {
            value.is_text && !value.text.trim().is_empty() && names.insert(value.text.as_str())
        });
        self.rows.len() > 1 && first.len() == columns.len() && are_names
    }
}
