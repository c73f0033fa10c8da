//! Lists of like records, and their tables.

use std::collections::HashMap;

use trawl_sdk::decoder::Html;

use crate::value::Data;

/// Fewest records of a table.
const RECORDS_MIN: usize = 2;
/// Most columns of a table.
const COLUMNS_MAX: usize = 50;
/// Most cells that are written: each is an element and a text.
const CELLS_MAX: usize = 400_000;
/// Longest text of a cell, in bytes; records with longer ones are not a table.
const CELL_BYTES_MAX: usize = 2_000;

/// A list of like records, with the plain values beside it.
pub(crate) struct Records<'a> {
    facts: Vec<(&'a str, &'a Data)>,
    columns: Vec<&'a str>,
    /// Values by column.
    pub(crate) rows: Vec<Vec<Option<&'a Data>>>,
}

impl<'a> Records<'a> {
    /// The records of a file: of a list, or of a record with one list and plain values beside it.
    /// `None` if there is no such list.
    pub(crate) fn of(data: &'a Data) -> Option<Self> {
        match data {
            Data::List(values) => Self::of_list(Vec::new(), values),
            Data::Record(fields) => {
                let (facts, others): (Vec<_>, Vec<_>) =
                    fields.iter().partition(|(_, value)| value.is_plain());
                let [(_, Data::List(values))] = others.as_slice() else {
                    return None;
                };
                let facts = facts
                    .into_iter()
                    .map(|(name, value)| (name.as_str(), value));
                Self::of_list(facts.collect(), values)
            }
            _ => None,
        }
    }

    fn of_list(facts: Vec<(&'a str, &'a Data)>, values: &'a [Data]) -> Option<Self> {
        if values.len() < RECORDS_MIN {
            return None;
        }
        let mut columns: Vec<&str> = Vec::new();
        let mut positions: HashMap<&str, usize> = HashMap::new();
        let (mut n_values, mut n_plain) = (0, 0);
        for value in values {
            let Data::Record(fields) = value else {
                return None;
            };
            for (name, value) in fields {
                positions.entry(name).or_insert_with(|| {
                    columns.push(name);
                    columns.len() - 1
                });
                n_values += 1;
                n_plain += usize::from(is_cell(value));
                if value.shown_bytes_max() > CELL_BYTES_MAX {
                    return None;
                }
            }
            if columns.len() > COLUMNS_MAX {
                return None;
            }
        }
        // Alike: half of the cells have a value, and four in five of these are plain.
        let is_full = n_values * 2 >= values.len() * columns.len() && !columns.is_empty();
        if !is_full || n_plain * 5 < n_values * 4 {
            return None;
        }
        let row = |value: &'a Data| {
            let mut row = vec![None; columns.len()];
            if let Data::Record(fields) = value {
                for (name, value) in fields {
                    row[positions[name.as_str()]] = Some(value);
                }
            }
            row
        };
        let rows = values.iter().map(row).collect();
        Some(Self {
            facts,
            columns,
            rows,
        })
    }

    /// Writes the values beside the list, then the table; returns how many records are left out.
    pub(crate) fn write(&self, html: &mut Html) -> usize {
        if !self.facts.is_empty() {
            html.open("dl");
            for (name, value) in &self.facts {
                html.element("dt", name).element("dd", &value.shown());
            }
            html.close();
        }
        html.open("table").open("thead").open("tr");
        for column in &self.columns {
            html.element("th", column);
        }
        html.close().close().open("tbody");
        let n_written = self.rows.len().min(CELLS_MAX / self.columns.len());
        for row in &self.rows[..n_written] {
            html.open("tr");
            for value in row {
                let shown = value.map(Data::shown).unwrap_or_default();
                html.cell("td", &shown);
            }
            html.close();
        }
        html.close().close();
        self.rows.len() - n_written
    }
}

/// Whether a value fits a cell: plain, or a list of plain values.
fn is_cell(value: &Data) -> bool {
    match value {
        Data::List(values) => values.iter().all(Data::is_plain),
        value => value.is_plain(),
    }
}

impl Data {
    /// About the longest that it is in a cell, in bytes.
    fn shown_bytes_max(&self) -> usize {
        match self {
            Self::Null | Self::Bool(_) => 5,
            Self::Number(text) | Self::Text(text) => text.len(),
            Self::List(values) => values.iter().map(|value| value.shown_bytes_max() + 2).sum(),
            Self::Record(fields) => {
                let fields = fields.iter();
                fields
                    .map(|(name, value)| name.len() + value.shown_bytes_max() + 6)
                    .sum()
            }
        }
    }
}
