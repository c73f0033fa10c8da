//! Headings above people: of team sections and of table columns.

use std::collections::HashSet;

use super::fold::plain_word;
use super::lines::{EDGE, Line, Place};
use crate::words::{NAME_COLUMNS, PERSON_COLUMNS, TEAM_HEADING_SIGNS, TEAM_HEADING_STEMS, Words};

/// Whether a heading introduces a list of people, such as `Our team`.
pub(super) fn is_team_heading(text: &str) -> bool {
    text.split([' ', EDGE])
        .any(|word| TEAM_HEADING_STEMS.starts(&plain_word(word)))
        || TEAM_HEADING_SIGNS.is_part_of(text)
}

/// Name columns, as table and column: the header says `name`, and the table has another header
/// about people, such as `role` or `phone`.
pub(super) fn name_columns(lines: &[&Line]) -> HashSet<(u32, u16)> {
    let headers: Vec<(&Line, u16)> = lines
        .iter()
        .filter_map(|line| Some((*line, header_column(line)?)))
        .collect();
    let tables: HashSet<u32> = headers
        .iter()
        .filter(|(line, _)| has_word(&line.text, &PERSON_COLUMNS))
        .map(|(line, _)| line.group)
        .collect();
    headers
        .into_iter()
        .filter(|(line, _)| tables.contains(&line.group) && has_word(&line.text, &NAME_COLUMNS))
        .map(|(line, column)| (line.group, column))
        .collect()
}

/// The column that a line is the header of.
fn header_column(line: &Line) -> Option<u16> {
    match line.place {
        Place::Cell {
            is_heading: true,
            column,
        } => Some(column),
        _ => None,
    }
}

fn has_word(text: &str, words: &Words) -> bool {
    text.split([' ', EDGE, '/', '-'])
        .any(|word| words.has(&plain_word(word)))
}
