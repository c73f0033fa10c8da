//! The columns of a page: where a gutter divides its lines into text on both sides.

use crate::lines::{self, Line, Piece, order};

/// Fewest lines on each side of a gutter between columns.
const COLUMN_LINES_MIN: usize = 4;
/// Fewest lines of a column of an index.
const INDEX_LINES_MIN: usize = 12;
/// Deepest nesting of columns in columns.
const COLUMNS_MAX: usize = 4;
/// Most places that are tried for a gutter.
const GUTTERS_MAX: usize = 48;

/// The columns of a page in reading order, each a list of lines.
pub(crate) fn of(pieces: Vec<Piece>) -> Vec<Vec<Line>> {
    let mut columns = Vec::new();
    divide(lines::lines(pieces), 0, &mut columns);
    columns
}

fn divide(lines: Vec<Line>, depth: usize, columns: &mut Vec<Vec<Line>>) {
    if lines.is_empty() {
        return;
    }
    let Some(gutter) = (depth < COLUMNS_MAX).then(|| gutter(&lines)).flatten() else {
        columns.push(lines);
        return;
    };
    // Lines across the gutter are read where they stand; those beside it belong to columns.
    let mut rest = lines.into_iter().peekable();
    while let Some(line) = rest.next() {
        let is_across = crosses(&line, gutter);
        let mut part = vec![line];
        while let Some(line) = rest.next_if(|line| crosses(line, gutter) == is_across) {
            part.push(line);
        }
        let sides = |line: &Line| line.pieces.iter().any(|piece| piece.area.x0 >= gutter);
        if is_across || part.len() < COLUMN_LINES_MIN && !part.iter().any(sides) {
            match columns.last_mut().filter(|_| !is_across && depth == 0) {
                Some(last) if last.last().is_some_and(|last| crosses(last, gutter)) => {
                    last.extend(part)
                }
                _ => columns.push(part),
            }
            continue;
        }
        let n_right = part.iter().filter(|line| line.is_right_to_left).count();
        let is_right_first = 2 * n_right > part.len();
        let pieces = part.into_iter().flat_map(|line| line.pieces);
        let (left, right): (Vec<Piece>, Vec<Piece>) =
            pieces.partition(|piece| piece.area.x0 < gutter);
        let sides = match is_right_first {
            true => [right, left],
            false => [left, right],
        };
        for side in sides {
            divide(lines::lines(side), depth + 1, columns);
        }
    }
}

fn crosses(line: &Line, x: f32) -> bool {
    line.pieces
        .iter()
        .any(|piece| piece.area.x0 < x && piece.area.x1 > x)
}

/// Where two columns of text meet, if there are two.
fn gutter(lines: &[Line]) -> Option<f32> {
    if lines.len() < COLUMN_LINES_MIN {
        return None;
    }
    let mut places: Vec<f32> = Vec::new();
    for line in lines {
        for pair in line.pieces.windows(2) {
            let (end, start) = (pair[0].area.x1, pair[1].area.x0);
            if start - end > 0.8 * pair[1].size {
                places.push(f32::midpoint(end, start));
            }
        }
    }
    places.sort_by(|one, other| order(*one, *other));
    places.dedup_by(|one, other| (*one - *other).abs() < 2.0);
    let step = places.len().div_ceil(GUTTERS_MAX).max(1);
    let scored = places
        .into_iter()
        .step_by(step)
        .filter_map(|x| Some((score(lines, x)?, x)));
    scored
        .max_by(|one, other| order(one.0, other.0))
        .map(|(_, x)| x)
}

/// How many lines a gutter divides into text on both sides; `None` if these are not columns.
fn score(lines: &[Line], x: f32) -> Option<f32> {
    let (mut left, mut right) = (Side::default(), Side::default());
    let mut n_across = 0;
    for line in lines {
        if crosses(line, x) {
            n_across += 1;
            continue;
        }
        let (before, after): (Vec<&Piece>, Vec<&Piece>) =
            line.pieces.iter().partition(|piece| piece.area.x0 < x);
        left.add(&before);
        right.add(&after);
    }
    let n_beside = left.n_lines.min(right.n_lines);
    let is_text = left.is_text() && right.is_text() || left.is_index() && right.is_index();
    (n_beside >= COLUMN_LINES_MIN && n_across * 2 <= lines.len() && is_text)
        .then(|| (left.n_lines + right.n_lines) as f32 - n_across as f32)
}

/// Whether a line from one piece to another has words, and a number at its end.
fn is_entry(first: &Piece, last: &Piece) -> bool {
    let (start, end) = (first.text(), last.text());
    let number = end.trim_end_matches(|c: char| c.is_ascii_digit());
    number.len() < end.len()
        && number.ends_with([' ', ',', '.'])
        && start.chars().any(char::is_alphabetic)
}

/// The lines on one side of a gutter.
#[derive(Debug, Default)]
struct Side {
    n_lines: usize,
    n_pieces: usize,
    n_characters: usize,
    /// Lines that end as the entries of an index do: with a number after words.
    n_entries: usize,
    widths: Vec<f32>,
}

impl Side {
    fn add(&mut self, pieces: &[&Piece]) {
        let (Some(first), Some(last)) = (pieces.first(), pieces.last()) else {
            return;
        };
        self.n_lines += 1;
        self.n_entries += usize::from(is_entry(first, last));
        self.n_pieces += pieces.len();
        self.n_characters += pieces
            .iter()
            .map(|piece| piece.n_characters())
            .sum::<usize>();
        self.widths.push(last.area.x1 - first.area.x0);
    }

    /// Whether these are entries of an index: most of many lines end with the number of a page.
    fn is_index(&self) -> bool {
        self.n_lines >= INDEX_LINES_MIN && self.n_entries * 5 >= self.n_lines * 3
    }

    /// Whether these are lines of text that fill their column, not the cells of a table.
    fn is_text(&self) -> bool {
        let widest = self.widths.iter().copied().fold(0.0, f32::max);
        let n_full = self
            .widths
            .iter()
            .filter(|width| **width > 0.7 * widest)
            .count();
        self.n_lines > 0
            && self.n_characters >= 18 * self.n_lines
            && n_full * 2 >= self.n_lines
            && self.n_pieces <= 2 * self.n_lines
    }
}
