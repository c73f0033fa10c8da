//! What a long siege measures, a row for each period: neither an expectation that fails at its end
//! nor one that fails in the middle costs the figures.

use std::path::Path;
use std::time::{Duration, Instant};

use trawl_tests::process::{n_descriptors, status};

use crate::field::Field;
use crate::innocent::Suffered;

/// Time between two rows.
const PERIOD: Duration = Duration::from_secs(5 * 60);

/// Names of the columns. The first five after the minutes are the innocent account's; then come the
/// server's memory at the moment and at its peak so far, the descriptors of the server and of this
/// process, and what the server's folder has on the disk.
const COLUMNS: [&str; 11] = [
    "minutes",
    "answers",
    "wrong",
    "median ms",
    "p99 ms",
    "worst ms",
    "MiB",
    "peak MiB",
    "descriptors",
    "the test's",
    "disk MiB",
];

/// The figures of an attack. When they are dropped, however it ends, they are printed as a table.
pub(crate) struct Figures<'a> {
    field: &'a Field,
    begun: Instant,
    /// What the innocent account had gone through at the last row.
    before: Suffered,
    table: Table,
}

impl<'a> Figures<'a> {
    /// Those of an attack that begins now.
    pub(crate) fn begin(field: &'a Field) -> Self {
        Self {
            field,
            begun: Instant::now(),
            before: field.suffered(),
            table: Table::default(),
        }
    }

    /// Adds and prints a row for each period, for ever.
    pub(crate) async fn note_periods(&mut self) {
        let first = tokio::time::Instant::now() + PERIOD;
        let mut periods = tokio::time::interval_at(first, PERIOD);
        loop {
            periods.tick().await;
            let so_far = self.field.suffered();
            self.table.add(self.row(&so_far.since(&self.before)));
            self.before = so_far;
            eprintln!("siege:\n{}", self.table.last());
        }
    }

    /// The row of what the innocent account went through, and of this moment.
    fn row(&self, suffered: &Suffered) -> Row {
        let server = &self.field.server;
        let (process, folder) = (server.id().to_string(), server.world.path(""));
        let minutes = self.begun.elapsed().as_secs_f64() / 60.0;
        let mebibytes = |name: &str| in_words(status(&process, name).map(|kib| kib / 1024));
        let [answers, wrong, median, most, worst] = suffered.figures().map(|n| n.to_string());
        [
            format!("{minutes:.1}"),
            answers,
            wrong,
            median,
            most,
            worst,
            mebibytes("VmRSS:"),
            mebibytes("VmHWM:"),
            in_words(n_descriptors(&process)),
            in_words(n_descriptors("self")),
            (bytes_below(&folder) >> 20).to_string(),
        ]
    }
}

impl Drop for Figures<'_> {
    fn drop(&mut self) {
        let so_far = self.field.suffered();
        self.table.add(self.row(&so_far.since(&self.before)));
        let mut all = self.row(&so_far);
        "all".clone_into(&mut all[0]);
        self.table.add(all);
        eprintln!(
            "siege: by periods of {} s\n{}",
            PERIOD.as_secs(),
            self.table.all()
        );
    }
}

/// A cell for each of [`COLUMNS`].
type Row = [String; COLUMNS.len()];

/// Rows below the names of their columns.
#[derive(Debug, Default)]
struct Table(Vec<Row>);

impl Table {
    fn add(&mut self, row: Row) {
        self.0.push(row);
    }

    /// The last row.
    fn last(&self) -> String {
        let rows = self.0.iter().rev().take(1);
        lines(rows)
    }

    fn all(&self) -> String {
        lines(self.0.iter())
    }
}

/// Names of columns and rows, one a line.
fn lines<'a>(rows: impl Iterator<Item = &'a Row>) -> String {
    let line = |cells: &Row| {
        let cells = cells.iter().zip(COLUMNS);
        let cells = cells.map(|(cell, name)| format!("{cell:>width$}", width = name.len()));
        cells.collect::<Vec<_>>().join("  ")
    };
    let names = COLUMNS.map(str::to_owned);
    let lines = std::iter::once(line(&names)).chain(rows.map(line));
    lines.collect::<Vec<_>>().join("\n")
}

/// A number; a dash for what cannot be read, since a process has ended or may open nothing more.
fn in_words(number: Option<impl ToString>) -> String {
    number.map_or_else(|| "-".to_owned(), |number| number.to_string())
}

/// Size of the files below a folder; links are not followed, and what cannot be read counts
/// nothing.
fn bytes_below(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.metadata() {
        Ok(found) if found.is_dir() => bytes_below(&entry.path()),
        Ok(found) if found.is_file() => found.len(),
        _ => 0,
    });
    sizes.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_its_names_and_all_rows() {
        let mut table = Table::default();
        let row = |minutes: &str| {
            let mut row = COLUMNS.map(|_| "7".to_owned());
            minutes.clone_into(&mut row[0]);
            row
        };
        table.add(row("5.0"));
        table.add(row("10.0"));
        let all = table.all();
        let lines: Vec<&str> = all.lines().collect();
        assert!(lines[0].starts_with("minutes  answers  wrong  median ms"));
        assert!(lines[1].starts_with("    5.0        7      7          7"));
        assert!(lines[2].starts_with("   10.0        7"));
        assert_eq!(lines.len(), 3);
        assert!(lines.iter().all(|line| line.len() == lines[0].len()));
        assert_eq!(table.last(), format!("{}\n{}", lines[0], lines[2]));
    }

    #[test]
    fn what_a_process_uses_is_read() {
        let resident = status("self", "VmRSS:").unwrap();
        assert!((1_024..1 << 30).contains(&resident), "{resident}");
        assert!(status("self", "VmHWM:").unwrap() > 1_024);
        assert!(n_descriptors("self").unwrap() > 2);
        assert_eq!(status("none", "VmRSS:"), None);
        assert_eq!(in_words(n_descriptors("none")), "-");
    }

    #[test]
    fn the_files_of_a_folder_are_added_up() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("inner");
        std::fs::create_dir(&inner).unwrap();
        std::fs::write(folder.path().join("one"), [0; 1_000]).unwrap();
        std::fs::write(inner.join("two"), [0; 500]).unwrap();
        std::os::unix::fs::symlink("/proc", inner.join("link")).unwrap();
        assert_eq!(bytes_below(folder.path()), 1_500);
        assert_eq!(bytes_below(&inner.join("none")), 0);
    }
}
