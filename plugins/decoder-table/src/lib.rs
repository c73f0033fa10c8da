//! The `table` decoder: CSV and TSV as a table.
//!
//! The delimiter is the one that divides the first lines most evenly; the first row is a header if
//! it looks like one, or the `Content-Type` says so.

mod sniff;

use csv::{ReaderBuilder, StringRecord};
use trawl_sdk::decoder::{Decoded, Decoder, Failure, File, Html};
use trawl_sdk::{Info, Needs};

/// Most columns of a table.
const COLUMNS_MAX: usize = 1_000;
/// Most cells that are written: each is an element and a text.
const CELLS_MAX: usize = 400_000;

/// Decodes tables of text.
pub struct Tables;

trawl_sdk::export!(decoder: Tables);

impl Decoder for Tables {
    type Options = ();

    fn info() -> Info {
        Info::new(
            "table",
            env!("CARGO_PKG_VERSION"),
            "CSV and TSV: one table, with its header if there is one",
        )
        .needs(Needs::SOURCE)
    }

    fn decode(file: &File<'_>, (): ()) -> Result<Decoded, Failure> {
        let delimiter = match file.media_type.as_ref() {
            "text/tab-separated-values" | "text/tsv" => b'\t',
            _ => sniff::delimiter(&file.text),
        };
        let Rows {
            rows,
            n_columns,
            n_left_out,
        } = Rows::read(&file.text, delimiter)?;
        let title = file.name().unwrap_or(&file.url);
        let header = match sniff::header_parameter(&file.content_type) {
            Some(has_header) => has_header,
            None => sniff::has_header(&rows),
        };
        let (header, rows) = match rows.split_first() {
            Some((first, rest)) if header => (Some(first), rest),
            _ => (None, rows.as_slice()),
        };
        let mut html = Html::new(title, None);
        html.open("table");
        if let Some(header) = header {
            html.open("thead");
            write_row(&mut html, header, n_columns, "th");
            html.close();
        }
        html.open("tbody");
        for row in rows {
            write_row(&mut html, row, n_columns, "td");
        }
        let columns: Vec<String> = header
            .into_iter()
            .flat_map(StringRecord::iter)
            .map(|cell| cell.trim().to_owned())
            .collect();
        let decoded = Decoded::new(html.finish())
            .with("title", title)
            .with("columns", columns)
            .with("column_count", n_columns)
            .with("row_count", rows.len() + n_left_out);
        Ok(match n_left_out {
            0 => decoded,
            count => decoded.warn(format!("{count} rows are left out")),
        })
    }
}

/// The rows of a file.
#[derive(Default)]
struct Rows {
    /// Those that are written, without blank ones.
    rows: Vec<StringRecord>,
    /// Cells of the longest row.
    n_columns: usize,
    /// Rows beyond the most cells.
    n_left_out: usize,
}

impl Rows {
    fn read(text: &str, delimiter: u8) -> Result<Self, Failure> {
        let mut reader = ReaderBuilder::new()
            .delimiter(delimiter)
            .has_headers(false)
            .flexible(true)
            .from_reader(text.as_bytes());
        let mut read = Self::default();
        let mut n_cells = 0;
        for row in reader.records() {
            let row = row.map_err(|error| Failure::Damaged(error.to_string()))?;
            if row.iter().all(|cell| cell.trim().is_empty()) {
                continue;
            }
            if row.len() > COLUMNS_MAX {
                let reason = format!(
                    "a row has {} cells, at most {COLUMNS_MAX} are read",
                    row.len()
                );
                return Err(Failure::Limit(reason));
            }
            n_cells += row.len();
            if n_cells > CELLS_MAX {
                read.n_left_out += 1;
                continue;
            }
            read.n_columns = read.n_columns.max(row.len());
            read.rows.push(row);
        }
        Ok(read)
    }
}

/// Writes a row with as many cells as the longest one has, as long as there are not too many.
fn write_row(html: &mut Html, row: &StringRecord, n_columns: usize, name: &'static str) {
    html.open("tr");
    for cell in row.iter().map(str::trim) {
        html.cell(name, cell);
    }
    let n_missing = n_columns.saturating_sub(row.len());
    if n_missing > 0 {
        let span = n_missing.to_string();
        html.open_with(name, &[("colspan", &span)]).close();
    }
    html.close();
}

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod tests;
