//! What is on every page and is not a part of the text: running headers and footers, page
//! numbers.

use std::collections::{HashMap, HashSet};

use crate::lines::Line;

/// The part of a page's height, at its top and its bottom, where headers and footers are.
const ZONE: f32 = 0.13;
/// On how many pages a line must be to be a header.
const PAGES_MIN: usize = 3;

/// The lines of a page.
#[derive(Debug, Default)]
pub(crate) struct PageLines {
    /// The number of the page, from 1.
    pub(crate) number: u32,
    pub(crate) height: f32,
    pub(crate) columns: Vec<Vec<Line>>,
    /// Tables with drawn lines, by the number that their piece has.
    pub(crate) tables: Vec<crate::tables::Table>,
}

/// Removes headers, footers and page numbers.
pub(crate) fn remove(pages: &mut [PageLines]) {
    let known = Known::of(pages);
    let mut n_lines: HashMap<i32, (usize, usize)> = HashMap::new();
    for page in &*pages {
        for line in page.outer() {
            let (n_known, n_all) = n_lines.entry(place(line)).or_default();
            *n_known += usize::from(known.has(line, page));
            *n_all += 1;
        }
    }
    // What stands where running headers do is one, though the title of its section is short.
    n_lines.retain(|_, (n_known, n_all)| *n_known >= PAGES_MIN && *n_known * 3 >= *n_all);
    for page in pages {
        let mut columns = std::mem::take(&mut page.columns);
        let is_furniture = |line: &Line| {
            is_outer(line, page.height)
                && (n_lines.contains_key(&place(line)) || known.has(line, page))
        };
        for column in &mut columns {
            column.retain(|line| !is_furniture(line));
        }
        columns.retain(|column| !column.is_empty());
        page.columns = columns;
    }
}

/// What repeats at the top and the bottom of pages.
struct Known {
    /// On how many pages a text is at a place.
    n_repeated: HashMap<String, usize>,
    /// What the printed numbers of pages differ in from those of the file.
    offset: Option<i64>,
    n_pages: usize,
}

impl Known {
    fn of(pages: &[PageLines]) -> Self {
        let mut n_repeated: HashMap<String, usize> = HashMap::new();
        let mut n_offsets: HashMap<i64, usize> = HashMap::new();
        for page in pages {
            let (mut own, mut offsets) = (HashSet::new(), HashSet::new());
            for line in page.outer() {
                let text = line.text();
                own.insert(key(line, &text));
                offsets.extend(numbers(&text).map(|number| number - i64::from(page.number)));
            }
            for key in own {
                *n_repeated.entry(key).or_default() += 1;
            }
            for offset in offsets {
                *n_offsets.entry(offset).or_default() += 1;
            }
        }
        let n_pages = pages.len();
        let usual = n_offsets
            .into_iter()
            .filter(|(_, count)| *count >= PAGES_MIN && *count * 2 >= n_pages)
            .max_by_key(|(_, count)| *count);
        Self {
            n_repeated,
            offset: usual.map(|(offset, _)| offset),
            n_pages,
        }
    }

    /// Whether an outer line of a page repeats, or is its number.
    fn has(&self, line: &Line, page: &PageLines) -> bool {
        let text = line.text();
        let count = self.n_repeated.get(&key(line, &text));
        let is_repeated = count.is_some_and(|count| *count >= PAGES_MIN);
        let number = i64::from(page.number);
        let is_own = |offset| numbers(&text).any(|own| own - number == offset);
        let is_counted = self.offset.is_some_and(is_own);
        let is_number = text.len() <= 8
            && numbers(&text).next().is_some()
            && self.n_pages > 1
            && !text.chars().any(char::is_alphabetic);
        is_repeated
            || is_counted && text.chars().count() <= 120
            || is_number && is_last(line, page.height)
    }
}

impl PageLines {
    /// The lines at the top and the bottom.
    fn outer(&self) -> impl Iterator<Item = &Line> {
        let lines = self.columns.iter().flatten();
        lines.filter(move |line| is_outer(line, self.height))
    }
}

/// Where a line is, in half points.
fn place(line: &Line) -> i32 {
    (line.v * 2.0).round() as i32
}

fn is_outer(line: &Line, height: f32) -> bool {
    line.table().is_none() && (line.v < height * ZONE || line.v > height * (1.0 - ZONE))
}

fn is_last(line: &Line, height: f32) -> bool {
    line.v < height * 0.07 || line.v > height * 0.91
}

/// A line's place and text, without what numbers differ in.
fn key(line: &Line, text: &str) -> String {
    let text: String = text
        .chars()
        .map(|c| if c.is_ascii_digit() { '0' } else { c })
        .collect();
    let text = text.replace("00", "0").replace("00", "0");
    format!("{} {text}", (line.v / 6.0).round())
}

/// The numbers at the ends of a text.
fn numbers(text: &str) -> impl Iterator<Item = i64> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let ends = [words.first().copied(), words.last().copied()];
    ends.into_iter()
        .flatten()
        .filter_map(|word| {
            let digits = word.trim_matches(|c: char| !c.is_ascii_digit());
            (digits.len() <= 5 && word.len() <= digits.len() + 2)
                .then(|| digits.parse().ok())
                .flatten()
        })
        .collect::<Vec<i64>>()
        .into_iter()
}
