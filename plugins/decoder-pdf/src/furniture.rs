//! What is on every page and is not a part of the text: running headers and footers, page
//! numbers.

use std::collections::HashMap;

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
    let mut n_repeated: HashMap<String, usize> = HashMap::new();
    let mut n_offsets: HashMap<i64, usize> = HashMap::new();
    for page in &*pages {
        let mut own: Vec<String> = Vec::new();
        let mut offsets: Vec<i64> = Vec::new();
        for line in page
            .columns
            .iter()
            .flatten()
            .filter(|line| is_outer(line, page.height))
        {
            let text = line.text();
            own.push(key(line, &text));
            offsets.extend(numbers(&text).map(|number| number - i64::from(page.number)));
        }
        own.sort();
        own.dedup();
        offsets.sort_unstable();
        offsets.dedup();
        own.into_iter()
            .for_each(|key| *n_repeated.entry(key).or_default() += 1);
        offsets
            .into_iter()
            .for_each(|offset| *n_offsets.entry(offset).or_default() += 1);
    }
    let n_pages = pages.len();
    let offset = n_offsets
        .into_iter()
        .filter(|(_, count)| *count >= PAGES_MIN && *count * 2 >= n_pages)
        .max_by_key(|(_, count)| *count);
    for page in pages {
        let (number, height) = (i64::from(page.number), page.height);
        let is_furniture = |line: &Line| {
            if !is_outer(line, height) {
                return false;
            }
            let text = line.text();
            let is_repeated = n_repeated
                .get(&key(line, &text))
                .is_some_and(|count| *count >= PAGES_MIN);
            let is_counted =
                offset.is_some_and(|(offset, _)| numbers(&text).any(|own| own - number == offset));
            let is_number = text.len() <= 8
                && numbers(&text).next().is_some()
                && n_pages > 1
                && !text.chars().any(char::is_alphabetic);
            is_repeated
                || is_counted && text.chars().count() <= 120
                || is_number && is_last(line, height)
        };
        for column in &mut page.columns {
            column.retain(|line| !is_furniture(line));
        }
        page.columns.retain(|column| !column.is_empty());
    }
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
