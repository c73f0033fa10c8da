//! Tables: grids of drawn lines, and lines whose pieces stand in columns.

use crate::geometry::Area;
use crate::lines::{self, Line, Piece, Run, around, order};

/// How far apart lines may be that meet, in points.
const REACH: f32 = 3.0;
/// Most rows and columns of a grid, and most cells. A drawing has more.
const LINES_MAX: usize = 400;
const GRID_CELLS_MAX: usize = 20_000;
/// How far apart terms are at least, in sizes of their font: the rows of a table are as near as
/// lines.
const TERMS_APART: f32 = 1.45;
/// How far right of its term a text begins at most, likewise: a list has one indent for all its
/// terms, a column of a table is as wide as its cells.
const TERMS_INDENT_MAX: f32 = 6.3;
/// How far apart terms are, likewise, whose texts may begin at any distance: by a blank line.
const TERMS_FAR_APART: f32 = 1.9;
/// Fewest rows of a table without lines.
const ROWS_MIN: usize = 3;

/// A cell.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cell {
    pub(crate) runs: Vec<Run>,
    pub(crate) n_columns: usize,
    pub(crate) n_rows: usize,
}

/// A table: its rows of cells.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    pub(crate) rows: Vec<Vec<Cell>>,
    pub(crate) has_header: bool,
}

impl Cell {
    fn of(pieces: Vec<Piece>) -> Self {
        Self {
            runs: lines::joined(&lines::lines(pieces)),
            n_columns: 1,
            n_rows: 1,
        }
    }

    pub(crate) fn text(&self) -> String {
        self.runs.iter().map(|run| run.text.as_str()).collect()
    }

    fn is_bold(&self) -> bool {
        let mut runs = self.runs.iter().filter(|run| !run.text.trim().is_empty());
        runs.all(|run| run.style.is_bold)
    }
}

impl Table {
    fn of(mut rows: Vec<Vec<Cell>>) -> Self {
        let texts: Vec<String> = rows.iter().flatten().map(Cell::text).collect();
        if lines::is_mostly_right_to_left(texts.iter().map(String::as_str)) {
            rows.iter_mut().for_each(|row| row.reverse());
        }
        let mut table = Self {
            rows,
            has_header: false,
        };
        table.has_header = table.looks_headed();
        table
    }

    /// Whether another table is the rest of this one, on the next page: it has the same first row.
    pub(crate) fn is_continued_in(&self, next: &Self) -> bool {
        let (Some(first), Some(again)) = (self.rows.first(), next.rows.first()) else {
            return false;
        };
        let texts = |row: &[Cell]| -> Vec<String> { row.iter().map(Cell::text).collect() };
        let texts = [texts(first), texts(again)];
        first.len() > 1 && texts[0] == texts[1] && texts[0].iter().any(|text| !text.is_empty())
    }

    /// Appends the rest of a table.
    pub(crate) fn append(&mut self, rest: Self) {
        self.rows.extend(rest.rows.into_iter().skip(1));
    }

    /// The rows of two columns as terms and what is said of them.
    fn terms(self) -> Vec<[Vec<Run>; 2]> {
        let pairs = self.rows.into_iter().map(|row| {
            let mut cells = row.into_iter().map(|cell| cell.runs);
            [
                cells.next().unwrap_or_default(),
                cells.next().unwrap_or_default(),
            ]
        });
        pairs.collect()
    }

    /// Whether the first row is set apart: in bold, or of words above numbers.
    fn looks_headed(&self) -> bool {
        let Some((first, rest)) = self.rows.split_first() else {
            return false;
        };
        let has_text = |cell: &&Cell| !cell.text().trim().is_empty();
        let is_bold = |row: &[Cell]| row.iter().filter(has_text).all(Cell::is_bold);
        let is_number = |cell: &Cell| {
            let text = cell.text();
            text.chars().any(|c| c.is_ascii_digit()) && !text.chars().any(char::is_alphabetic)
        };
        let n_numbers = rest.iter().flatten().filter(|cell| is_number(cell)).count();
        let n_cells = rest.iter().flatten().filter(has_text).count();
        first.iter().any(|cell| has_text(&cell))
            && !rest.is_empty()
            && (is_bold(first) && !rest.iter().all(|row| is_bold(row))
                || !first.iter().any(is_number) && n_numbers * 3 >= n_cells.max(1))
    }
}

/// The grids among drawn lines: their boxes, and the places of their vertical and horizontal lines.
#[derive(Debug)]
pub(crate) struct Grid {
    pub(crate) area: Area,
    rules: Vec<Area>,
    xs: Vec<f32>,
    ys: Vec<f32>,
}

/// Finds grids of at least two columns.
pub(crate) fn grids(rules: &[Area]) -> Vec<Grid> {
    // Lines that meet belong together.
    let mut groups: Vec<(Area, Vec<Area>)> = Vec::new();
    let mut sorted = rules.to_vec();
    sorted.sort_by(|one, other| order(one.y0, other.y0));
    for rule in sorted {
        let near = |area: &Area| {
            area.x0 - REACH <= rule.x1
                && rule.x0 <= area.x1 + REACH
                && area.y0 - REACH <= rule.y1
                && rule.y0 <= area.y1 + REACH
        };
        let (mut joined, mut area) = (vec![rule], rule);
        let mut at = 0;
        while at < groups.len() {
            if near(&groups[at].0) && groups[at].1.iter().any(near) {
                let (other, rules) = groups.swap_remove(at);
                joined.extend(rules);
                area = around(area, other);
            } else {
                at += 1;
            }
        }
        groups.push((area, joined));
        if groups.len() > LINES_MAX {
            return Vec::new();
        }
    }
    let grids = groups.into_iter().filter_map(|(area, rules)| {
        let xs = edged(
            rules
                .iter()
                .filter(|rule| rule.width() == 0.0)
                .map(|rule| rule.x0),
            [area.x0, area.x1],
        );
        let ys = edged(
            rules
                .iter()
                .filter(|rule| rule.height() == 0.0)
                .map(|rule| rule.y0),
            [area.y0, area.y1],
        );
        let n_cells = xs.len().saturating_sub(1) * ys.len().saturating_sub(1);
        let is_grid = xs.len() > 2 && ys.len() > 1;
        let is_bounded = xs.len() <= LINES_MAX
            && ys.len() <= LINES_MAX
            && n_cells <= GRID_CELLS_MAX
            && area.height() > 8.0;
        (is_grid && is_bounded).then_some(Grid {
            area,
            rules,
            xs,
            ys,
        })
    });
    grids.collect()
}

/// Distinct places of lines, with the edges of the grid: many tables have no line at their sides.
/// Empty if there are no lines.
fn edged(lines: impl Iterator<Item = f32>, edges: [f32; 2]) -> Vec<f32> {
    let mut lines = lines.peekable();
    match lines.peek() {
        Some(_) => places(lines.chain(edges)),
        None => Vec::new(),
    }
}

/// Distinct places, in order.
fn places(all: impl Iterator<Item = f32>) -> Vec<f32> {
    let mut all: Vec<f32> = all.collect();
    all.sort_by(|one, other| order(*one, *other));
    all.dedup_by(|one, other| (*one - *other).abs() < REACH);
    all
}

impl Grid {
    /// The table of these pieces, which are inside; `None` if it has less than two cells with text.
    pub(crate) fn table(&self, pieces: Vec<Piece>) -> Option<Table> {
        if pieces.len() < 2 {
            return None;
        }
        let (n_columns, n_rows) = (self.xs.len() - 1, self.ys.len() - 1);
        let mut cells: Vec<Vec<Piece>> = vec![Vec::new(); n_columns * n_rows];
        let at = |places: &[f32], place: f32| {
            let after = places.partition_point(|start| *start <= place);
            after.clamp(1, places.len() - 1) - 1
        };
        for piece in pieces {
            let x = f32::midpoint(piece.area.x0, piece.area.x1);
            let y = f32::midpoint(piece.area.y0, piece.area.y1);
            cells[at(&self.ys, y) * n_columns + at(&self.xs, x)].push(piece);
        }
        let mut is_taken = vec![false; cells.len()];
        let mut rows = Vec::new();
        for row in 0..n_rows {
            let mut made = Vec::new();
            for column in 0..n_columns {
                if is_taken[row * n_columns + column] {
                    continue;
                }
                let y = f32::midpoint(self.ys[row], self.ys[row + 1]);
                let mut wide = 1;
                while column + wide < n_columns
                    && !self.has_vertical(self.xs[column + wide], y)
                    && !is_taken[row * n_columns + column + wide]
                {
                    wide += 1;
                }
                let x = f32::midpoint(self.xs[column], self.xs[column + wide]);
                let mut high = 1;
                while row + high < n_rows && !self.has_horizontal(x, self.ys[row + high]) {
                    high += 1;
                }
                let mut inside = Vec::new();
                for row in row..row + high {
                    for column in column..column + wide {
                        is_taken[row * n_columns + column] = true;
                        inside.append(&mut cells[row * n_columns + column]);
                    }
                }
                let mut cell = Cell::of(inside);
                (cell.n_columns, cell.n_rows) = (wide, high);
                made.push(cell);
            }
            rows.push(made);
        }
        let n_filled = rows
            .iter()
            .flatten()
            .filter(|cell| !cell.runs.is_empty())
            .count();
        (n_filled >= 2).then(|| Table::of(rows))
    }

    fn has_vertical(&self, x: f32, y: f32) -> bool {
        let is = |rule: &Area| {
            rule.width() == 0.0
                && (rule.x0 - x).abs() < REACH
                && rule.y0 - 1.0 <= y
                && y <= rule.y1 + 1.0
        };
        self.rules.iter().any(is)
    }

    fn has_horizontal(&self, x: f32, y: f32) -> bool {
        let is = |rule: &Area| {
            rule.height() == 0.0
                && (rule.y0 - y).abs() < REACH
                && rule.x0 - 1.0 <= x
                && x <= rule.x1 + 1.0
        };
        self.rules.iter().any(is)
    }
}

/// A stretch of a line without text.
type Gap = (f32, f32);

/// The parts that two lists of gaps share, those wider than `width_min`.
fn shared(gaps: &[Gap], others: &[Gap], width_min: f32) -> Vec<Gap> {
    let pairs = gaps
        .iter()
        .flat_map(|gap| others.iter().map(move |other| (gap, other)));
    pairs
        .map(|(gap, other)| (gap.0.max(other.0), gap.1.min(other.1)))
        .filter(|(from, to)| to - from > width_min)
        .collect()
}

/// The places between the columns of the table that begins at the first of these lines and has no
/// drawn grid, and how many lines it takes.
fn columns(lines: &[Line]) -> Option<(Vec<f32>, usize)> {
    // What is left of the first and right of the last column is not a gap between two.
    let is_between = |gap: &&Gap| gap.0.is_finite() && gap.1.is_finite();
    let mut gaps: Option<Vec<Gap>> = None;
    let (mut n_lines, mut n_full, mut last): (usize, usize, Option<&Line>) = (0, 0, None);
    for line in lines {
        let leading = last.map_or(0.0, |last| line.v - last.v);
        if line.table().is_some() || leading > 3.2 * line.size {
            break;
        }
        let own = spaces(line);
        if own.len() == 2 && n_lines == 0 {
            break;
        }
        let next = match &gaps {
            None => own,
            Some(gaps) => shared(gaps, &own, 0.7 * line.size),
        };
        let n_between = next.iter().filter(is_between).count();
        let loses = gaps
            .as_ref()
            .is_some_and(|gaps| n_between < gaps.iter().filter(is_between).count());
        if n_between == 0 || loses && n_lines >= ROWS_MIN {
            break;
        }
        n_full += usize::from(line.pieces.len() > 1);
        gaps = Some(next);
        n_lines += 1;
        last = Some(line);
    }
    let gaps = gaps?;
    let borders = gaps
        .iter()
        .filter(is_between)
        .map(|gap| f32::midpoint(gap.0, gap.1));
    let borders: Vec<f32> = borders.collect();
    // The end may be text below the table.
    let is_wrapped = |pair: &[Line]| {
        let (before, line) = (&pair[0], &pair[1]);
        let is_inside = borders.first().is_some_and(|border| *border < line.area.x0);
        is_inside && line.v - before.v < TERMS_APART * line.size
    };
    while n_lines > 0
        && lines[n_lines - 1].pieces.len() < 2
        && !(n_lines > 1 && is_wrapped(&lines[n_lines - 2..n_lines]))
    {
        n_lines -= 1;
    }
    // What has been cut off may stand left of all that remains.
    let divides = |border: &f32| {
        let mut pieces = lines[..n_lines].iter().flat_map(|line| &line.pieces);
        pieces.any(|piece| piece.area.x1 < *border)
    };
    let borders: Vec<f32> = borders.into_iter().filter(divides).collect();
    let is_table = n_full >= ROWS_MIN && n_full * 2 > n_lines && !borders.is_empty();
    is_table.then_some((borders, n_lines))
}

/// What stands in columns without a drawn grid.
#[derive(Debug)]
pub(crate) enum Aligned {
    Table(Table),
    /// Terms, each with the text beside it.
    Terms(Vec<[Vec<Run>; 2]>),
}

/// What begins at the first of these lines and stands in columns without a drawn grid, and how many
/// lines it takes.
pub(crate) fn aligned(lines: &[Line]) -> Option<(Aligned, usize)> {
    let (borders, n_lines) = columns(lines)?;
    if is_listing(&lines[..n_lines]) {
        return None;
    }
    let (rows, starts) = rows(&lines[..n_lines], &borders);
    // A label and a text beside it are a list.
    let is_label =
        |row: &Vec<Vec<Piece>>| row[0].iter().map(Piece::n_characters).sum::<usize>() <= 3;
    if rows.len() < ROWS_MIN || borders.len() == 1 && rows.iter().all(is_label) {
        return None;
    }
    let rows = rows
        .into_iter()
        .map(|row| row.into_iter().map(Cell::of).collect());
    let table = Table::of(rows.collect());
    if borders.len() > 1 {
        return Some((Aligned::Table(table), n_lines));
    }
    if is_kind(&table) {
        return None;
    }
    let size = lines[0].size;
    let are_apart = starts > TERMS_FAR_APART * size
        || starts > TERMS_APART * size
            && indent(&lines[..n_lines], borders[0]) < TERMS_INDENT_MAX * size;
    let aligned = match !table.has_header && are_apart && has_words(&table) {
        true => Aligned::Terms(table.terms()),
        false => Aligned::Table(table),
    };
    Some((aligned, n_lines))
}

/// The cells of these lines row by row, each with its pieces, and the usual distance of two rows.
fn rows(lines: &[Line], borders: &[f32]) -> (Vec<Vec<Vec<Piece>>>, f32) {
    let column_of = |x: f32| borders.iter().filter(|border| **border < x).count();
    let mut rows: Vec<Vec<Vec<Piece>>> = Vec::new();
    let (mut starts, mut last): (Vec<f32>, f32) = (Vec::new(), 0.0);
    for line in lines {
        let mut cells: Vec<Vec<Piece>> = vec![Vec::new(); borders.len() + 1];
        for piece in &line.pieces {
            cells[column_of(f32::midpoint(piece.area.x0, piece.area.x1))].push(piece.clone());
        }
        let n_filled = cells.iter().filter(|cell| !cell.is_empty()).count();
        let is_near = line.v - last < TERMS_APART * line.size;
        let is_more =
            cells[0].is_empty() && (n_filled < cells.len() - 1 || cells.len() == 2 && is_near);
        match rows.last_mut().filter(|_| is_more) {
            Some(row) => row
                .iter_mut()
                .zip(cells)
                .for_each(|(cell, more)| cell.extend(more)),
            None => {
                starts.push(line.v - last);
                rows.push(cells);
            }
        }
        last = line.v;
    }
    let mut starts = starts.split_off(starts.len().min(1));
    starts.sort_by(|one, other| order(*one, *other));
    let usual = starts.get(starts.len() / 2).copied().unwrap_or(0.0);
    (rows, usual)
}

/// How far the second of two columns begins from where the first begins.
fn indent(lines: &[Line], border: f32) -> f32 {
    let is_right_to_left = lines.iter().any(|line| line.is_right_to_left);
    let start = |is_right: bool| {
        let pieces = lines.iter().flat_map(|line| &line.pieces);
        let middle = |piece: &Piece| f32::midpoint(piece.area.x0, piece.area.x1);
        let of_column = pieces.filter(|piece| (middle(piece) > border) == is_right);
        match is_right_to_left {
            true => of_column.map(|piece| -piece.area.x1).reduce(f32::min),
            false => of_column.map(|piece| piece.area.x0).reduce(f32::min),
        }
    };
    match (start(false), start(true)) {
        (Some(left), Some(right)) => (right - left).abs(),
        _ => 0.0,
    }
}

/// Whether these are lines of code: with comments, or with all that stands apart at a multiple of
/// the width of a character.
fn is_listing(lines: &[Line]) -> bool {
    if !lines.iter().all(Line::is_code) {
        return false;
    }
    if !lines.iter().all(|line| line.is_all(|style| style.is_mono)) {
        return true;
    }
    let pieces = || lines.iter().flat_map(|line| &line.pieces);
    let Some(longest) = pieces().max_by_key(|piece| piece.n_characters()) else {
        return false;
    };
    let width = longest.area.width() / longest.n_characters().max(1) as f32;
    let is_on_grid = |piece: &Piece| {
        let n_characters = (piece.area.x0 - longest.area.x0) / width;
        (n_characters - n_characters.round()).abs() < 0.13
    };
    pieces().all(is_on_grid)
}

/// Whether the second of two columns says in each row the same within brackets: what kind of thing
/// the first column defines.
fn is_kind(table: &Table) -> bool {
    let mut kinds = table
        .rows
        .iter()
        .filter_map(|row| row.get(1).map(Cell::text));
    let Some(first) = kinds.next().filter(|kind| kind.starts_with('[')) else {
        return false;
    };
    kinds.all(|kind| kind == first || kind.is_empty())
}

/// Whether the second of two columns has words rather than numbers.
fn has_words(table: &Table) -> bool {
    let texts: Vec<String> = table
        .rows
        .iter()
        .filter_map(|row| Some(row.get(1)?.text()))
        .collect();
    let n_of_words = texts
        .iter()
        .filter(|text| text.chars().filter(|c| c.is_alphabetic()).count() > 3);
    n_of_words.count() * 2 > texts.len()
}

/// The gaps of a line, with those left and right of it.
fn spaces(line: &Line) -> Vec<Gap> {
    let mut spaces = Vec::with_capacity(line.pieces.len() + 1);
    let mut end = f32::NEG_INFINITY;
    for piece in &line.pieces {
        if piece.area.x0 > end {
            spaces.push((end, piece.area.x0));
        }
        end = end.max(piece.area.x1);
    }
    spaces.push((end, f32::INFINITY));
    spaces
}
