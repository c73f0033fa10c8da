//! What a table of text does not say: its delimiter, and whether its first row is a header.

use std::collections::HashSet;

use csv::StringRecord;

/// Delimiters in use, the most usual one first.
const DELIMITERS: [u8; 4] = *b",;\t|";
/// Lines that are looked at.
const LINES_MAX: usize = 50;
/// Rows after the first that are compared with it.
const ROWS_MAX: usize = 50;

/// The delimiter that divides the first lines most evenly, quoted text left out.
pub(crate) fn delimiter(text: &str) -> u8 {
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .take(LINES_MAX)
        .collect();
    let score = |delimiter: u8| {
        let counts: Vec<usize> = lines.iter().map(|line| count(line, delimiter)).collect();
        let first = counts.first().copied().unwrap_or(0);
        let n_same = counts.iter().filter(|count| **count == first).count();
        if first == 0 { (0, 0) } else { (n_same, first) }
    };
    // Of equal ones the first.
    let mut best = (DELIMITERS[0], score(DELIMITERS[0]));
    for delimiter in &DELIMITERS[1..] {
        let score = score(*delimiter);
        if score > best.1 {
            best = (*delimiter, score);
        }
    }
    best.0
}

/// How often a delimiter is outside of quotes.
fn count(line: &str, delimiter: u8) -> usize {
    let (mut count, mut is_quoted) = (0, false);
    for byte in line.bytes() {
        match byte {
            b'"' => is_quoted = !is_quoted,
            _ if byte == delimiter && !is_quoted => count += 1,
            _ => {}
        }
    }
    count
}

/// The parameter `header` of `text/csv`. Source: RFC 4180.
pub(crate) fn header_parameter(content_type: &str) -> Option<bool> {
    let mut parameters = content_type.split(';').skip(1);
    parameters.find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        if !name.trim().eq_ignore_ascii_case("header") {
            return None;
        }
        match value.trim().trim_matches('"').to_ascii_lowercase().as_str() {
            "present" => Some(true),
            "absent" => Some(false),
            _ => None,
        }
    })
}

/// Whether the first row is a header: names, each once, of as many columns as there are, none of
/// them a number; and not the only row.
pub(crate) fn has_header(rows: &[StringRecord]) -> bool {
    let [first, rest @ ..] = rows else {
        return false;
    };
    if rest.is_empty() {
        return false;
    }
    let mut names = HashSet::new();
    let are_names = first.iter().all(|cell| {
        let cell = cell.trim();
        !cell.is_empty() && !is_number(cell) && names.insert(cell.to_lowercase())
    });
    // A first row whose texts come again below is one of many.
    let repeats = rest.iter().take(ROWS_MAX).any(|row| {
        let cells = first.iter().zip(row.iter());
        cells.clone().count() > 0 && cells.into_iter().all(|(name, cell)| name == cell)
    });
    are_names && !repeats
}

/// Whether a cell holds a number or a date rather than a name.
fn is_number(cell: &str) -> bool {
    let digits = cell.bytes().filter(u8::is_ascii_digit).count();
    let others = cell
        .bytes()
        .filter(|byte| b".,-+/:%$ eE'".contains(byte))
        .count();
    digits > 0 && digits + others == cell.trim_start_matches(['€', '£']).len()
}
